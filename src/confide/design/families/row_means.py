"""Means of rows: expressions in several columns, whose bounds are to be chosen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from confide.design.search.approximate import laplace_weights
from confide.design.search.family import Family, Floats, ordered
from confide.design.search.problem import MEANS, SearchProblem, SearchResult
from confide.design.search.rows import WIDEST, RowTable, moves_of, pattern_search
from confide.errors import InvalidArgument
from confide.expression import Expression
from confide.expression.evaluate import evaluate
from confide.expression.switches import variables
from confide.likelihood.record_law.rows.within import information_within
from confide.mechanism import Laplace, Mechanism
from confide.population import Population
from confide.population.rows import RowLaw
from confide.statistic import Mean
from confide.statistic.columns import as_pair, bounds_by_name

Pair = tuple[float, float]

#: θ at which a search looks: the winner is looked at at all of them
_MOST_POINTS = 32
#: points along each column between which a record is moved to find out how far s moves, by the number of columns
_PER_COLUMN = {1: 33, 2: 9, 3: 5}
#: components up to which signs are tried for the sensitivity in L1, as `Mean.sensitivity` does
_MOST_SIGNS = 12
#: leaders whose sensitivity is certified
_CERTIFIED = 4
#: log(√v/b) at which what Laplace noise leaves is tabulated
_KNOTS = np.linspace(-7.0, 7.0, 113)


@dataclass(frozen=True, eq=False, repr=False)
class RowMeans(Family):
    """Means of expressions in the columns of a row, each column clipped to bounds of its own, which are searched.

    `bounds` gives columns the bounds that they keep; columns of few whole numbers keep their ends. Without
    `expressions` these are the means, squares and products of all columns, each read as (x − middle)/(half the width)
    of its bounds, so that noise is alike beside all of them: what a regression is read off.

    >>> import confide as cf, numpyro.distributions as dist
    >>> rows = cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
    >>> cf.families.RowMeans().texts(rows, {"x": (-2.0, 2.0), "y": (0.0, 8.0)})
    ['x / 2', '(x / 2)**2', '(y - 4) / 4', '((y - 4) / 4)**2', '(x / 2) * ((y - 4) / 4)']
    """

    expressions: str | Sequence[str] | None = None
    bounds: Mapping[str, Pair] | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """Whose bounds are searched."""
        return "moments of the columns" if self.expressions is None else "bounds of the columns"

    def texts(self, population: Population, bounds: Mapping[str, Pair]) -> list[str]:
        """The expressions of a statistic with these bounds.

        >>> import confide as cf
        >>> rows = cf.populations.independent(a=cf.populations.normal(), b=cf.populations.bernoulli())
        >>> cf.families.RowMeans().texts(rows, {"a": (-2.0, 2.0), "b": (0.0, 1.0)})
        ['a / 2', '(a / 2)**2', 'b', '(a / 2) * b']
        """
        if self.expressions is not None:
            return _listed(self.expressions)
        return _moments(population, in_units(population, bounds))

    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best bounds with noise of one kind."""
        mechanism = problem.mechanism(kind)
        table: Any = problem.law
        if not isinstance(table, RowTable) or problem.private or mechanism is None or kind not in MEANS:
            return None
        return _Bounds(self, table, problem, kind).best(mechanism)


class _Bounds:
    """The search of one family under one mechanism."""

    def __init__(self, family: RowMeans, table: RowTable, problem: SearchProblem, kind: type[Mechanism]) -> None:
        self.family, self.problem, self.kind, self.table = family, problem, kind, table
        population = table.population
        rows = _rows_of(population)
        given = {name: as_pair(f"bounds[{name!r}]", pair) for name, pair in (family.bounds or {}).items()}
        self.names: tuple[str, ...] = rows.names if family.expressions is None else _used(family, rows.names)
        if unknown := [name for name in given if name not in self.names]:
            raise InvalidArgument("bounds", unknown[0], "is not searched about", f"use {', '.join(self.names)}")
        ends = {name: given.get(name) or _ends(rows, name) for name in self.names}
        self.kept: dict[str, Pair] = {name: pair for name, pair in ends.items() if pair is not None}
        self.free: list[str] = [name for name in self.names if name not in self.kept]
        self.few: RowTable = table.some(_MOST_POINTS)
        self.quick: SearchProblem = replace(problem, law=cast(Any, self.few))
        widest = self._bounds(np.broadcast_to(WIDEST, (len(self.free), 2)))
        self.unit: tuple[str, ...] = _unit(family, population)
        plain = _moments(population, {}) if family.expressions is None else family.texts(population, widest)
        self.widest: Mean = Mean(plain if len(plain) > 1 else plain[0], bounds=widest)
        self._alike: float | None = None

    def best(self, mechanism: Mechanism) -> SearchResult:
        """The bounds found, certified."""
        met = pattern_search(self._losses, len(self.free)) if self.free else [(0.0, np.zeros((0, 2)))]
        found = []
        for statistic in self._statistics([scores for _, scores in met]):
            ends = np.asarray([bounds_by_name(statistic)[name] for name in self.names])[None]
            width = np.asarray([statistic.sensitivity(1, 1 if self.kind is Laplace else 2)])
            informations = self._informations(self.table, ends, width)
            found.append((float(self.problem.loss(informations)[0]), statistic, informations[0]))
        loss, statistic, information = min(found, key=lambda each: each[0])
        parameters = np.asarray(list(bounds_by_name(statistic).values())).ravel()
        return SearchResult(self.family.name, statistic, mechanism, information, loss, parameters)

    def _statistics(self, scores: list[Floats]) -> list[Mean]:
        """Statistics with these bounds, no two alike, the first few."""
        found: dict[Mean, None] = {}
        for each in scores:
            bounds = self._bounds(each)
            texts = self.family.texts(self.table.population, bounds)
            found[Mean(texts if len(texts) > 1 else texts[0], bounds=bounds)] = None
            if len(found) == _CERTIFIED:
                break
        return list(found)

    def _bounds(self, scores: Floats) -> dict[str, Pair]:
        """Bounds by column, those that are searched with three digits, or whole numbers where values are."""
        found = dict(self.kept)
        for name, pair in zip(self.free, scores, strict=True):
            low, high = self.table.levels(name, pair)
            if self.table.whole(name):
                found[name] = float(np.floor(low)), float(max(np.ceil(high), np.floor(low) + 1))
            else:
                found[name] = ordered(low, high)
        return {name: found[name] for name in self.names}

    def _losses(self, scores: Floats) -> Floats:
        """The losses of many candidates (B, columns, 2), with the sensitivity that is seen between points."""
        many = moves_of(len(self.free))
        found = []
        for block in np.array_split(scores, -(-len(scores) // many)):
            filled = np.concatenate([block, np.repeat(block[-1:], many - len(block), axis=0)])
            ends = np.asarray([list(self._bounds(each).values()) for each in filled])
            information = self._informations(self.few, ends, self._widths(ends))
            found.append(self.quick.loss(information)[: len(block)])
        return np.concatenate(found)

    def _informations(self, table: RowTable, ends: Floats, widths: Floats) -> Floats:
        """F (B, M, d, d)."""
        n = self.problem.n
        laplace = self.kind is Laplace
        scale = widths / (n * self.problem.ratio(self.kind))
        told = (_KNOTS, np.log(laplace_weights(np.exp(_KNOTS))[0])) if laplace else None
        thetas = np.asarray(table.points.thetas)
        found = information_within(table.population, self.widest, self.unit, thetas, ends, float(n), scale, told)
        return np.asarray(found)

    def _widths(self, ends: Floats) -> Floats:
        """How far s can move (B,), as seen between points of the bounds: what is certified may be a little more."""
        norm = 1 if self.kind is Laplace else 2
        if set(self.free) <= set(self.unit):  # the same wherever the bounds are
            if self._alike is None:
                bounds = {name: (-1.0, 1.0) if name in self.unit else self.kept[name] for name in self.names}
                texts = [str(each) for each in self.widest.transforms]
                self._alike = Mean(texts, bounds=bounds).sensitivity(1, norm)
            return np.full(len(ends), self._alike)
        side = np.linspace(-1.0, 1.0, _PER_COLUMN.get(ends.shape[1], 3))
        found = []
        for pairs in ends:
            each = [_with_zero(0.5 * (low + high) + 0.5 * (high - low) * side) for low, high in pairs]
            x = np.stack(np.meshgrid(*each, indexing="ij")).reshape(len(each), -1)
            read = dict(zip(self.names, x, strict=True))
            for i, name in enumerate(self.names):
                if name in self.unit:
                    read[name] = (x[i] - 0.5 * pairs[i].sum()) / (0.5 * (pairs[i, 1] - pairs[i, 0]))
            trees = [each.tree for each in self.widest.transforms if isinstance(each, Expression)]
            s = [np.broadcast_to(evaluate(tree, read), x[0].shape) for tree in trees]
            found.append(_diameter(np.stack(s), norm))
        return np.asarray(found)


def _with_zero(x: Floats) -> Floats:
    """The same with zero for the inner point next to it, if it lies between the ends: squares turn there."""
    if not x[0] < 0 < x[-1]:
        return x
    at = 1 + int(np.argmin(np.abs(x[1:-1])))
    return np.where(np.arange(x.size) == at, 0.0, x)


def _diameter(s: Floats, norm: int) -> float:
    """The greatest distance between two of the points of (k, N)."""
    if norm == 2:
        square = np.sum(s**2, axis=0)
        return float(np.sqrt(max(np.max(square[:, None] + square - 2.0 * (s.T @ s)), 0.0)))
    if len(s) > _MOST_SIGNS:
        return float(np.sum(np.ptp(s, axis=1)))
    signs = np.asarray(list(itertools.product([1.0], *[[1.0, -1.0]] * (len(s) - 1))))
    return float(np.max(np.ptp(signs @ s, axis=1)))


def _moments(population: Population, written: Mapping[str, str]) -> list[str]:
    """The means, squares and products of all columns, some of them written otherwise."""
    rows = _rows_of(population)
    texts = {name: written.get(name, name) for name in rows.names}
    inside = {name: text if text.isidentifier() else f"({text})" for name, text in texts.items()}
    found = []
    for name, text in texts.items():
        found += [text] if is_bit(rows, name) else [text, f"{inside[name]}**2"]
    return found + [f"{inside[a]} * {inside[b]}" for a, b in itertools.combinations(texts, 2)]


def in_units(population: Population, bounds: Mapping[str, Pair]) -> dict[str, str]:
    """Each column that has bounds as an expression, in units of them: all lie within ±1, and one noise serves them.

    >>> import confide as cf
    >>> rows = cf.populations.independent(a=cf.populations.normal(), b=cf.populations.bernoulli())
    >>> in_units(rows, {"b": (0.0, 1.0), "a": (1.0, 5.0)})
    {'b': 'b', 'a': '(a - 3) / 2'}
    """
    rows = _rows_of(population)
    return {name: name if is_bit(rows, name) else _standardised(name, *ends) for name, ends in bounds.items()}


def _standardised(name: str, low: float, high: float) -> str:
    """(x − middle)/(half the width), as an expression."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    about = name if middle == 0 else f"({name} {'-' if middle > 0 else '+'} {abs(middle):.12g})"
    return about if half == 1 else f"{about} / {half:.12g}"


def _rows_of(population: Population) -> RowLaw:
    """The columns of a population of rows."""
    if population.rows is None:
        raise InvalidArgument(
            "population", population.name, "has no columns", "use families of one number, such as Clip()"
        )
    return population.rows


def _listed(expressions: Any) -> list[str]:
    """Texts of one expression or several."""
    return [str(each) for each in ([expressions] if isinstance(expressions, str | Expression) else expressions or ())]


def _unit(family: RowMeans, population: Population) -> tuple[str, ...]:
    """The columns that are read in units of their bounds."""
    rows = _rows_of(population)
    return () if family.expressions is not None else tuple(name for name in rows.names if not is_bit(rows, name))


def _used(family: RowMeans, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that the expressions are about."""
    texts = _listed(family.expressions)
    if not texts:
        raise InvalidArgument("expressions", texts, "is empty", "give at least one expression, or leave it out")
    used = set().union(*(variables(Expression(text, names).tree) for text in texts))
    return tuple(name for name in names if name in used)


def _ends(rows: RowLaw, name: str) -> Pair | None:
    """The ends of a column of few whole numbers, which is not clipped."""
    column = dict(rows.columns)[name].population
    ends = column.facts.fixed_ends
    if not column.discrete or ends is None or not all(map(math.isfinite, ends)):
        return None
    return float(ends[0]), float(ends[1])


def is_bit(rows: RowLaw, name: str) -> bool:
    """Whether a column of rows is 0 or 1."""
    return _ends(rows, name) == (0.0, 1.0)
