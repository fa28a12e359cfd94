"""What there is to know about the law of a clipped row before any θ: which columns matter, and how each is integrated.

A column that neither the statistic nor a column of it depends on integrates to one and is left out. A *driver* is one
that later columns depend on: they see its value as it is, and the statistic sees it clipped. What no later column
depends on is seen clipped only, and has an atom at either bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from confide.errors import AccuracyError
from confide.expression.switches import jumps, switches, variables
from confide.expression.tree import Call, Number, Tree, Variable
from confide.likelihood.cached import once
from confide.likelihood.noise.values_of_rows import bounds_by_name
from confide.population import Population
from confide.population.rows import ColumnLaw, RowLaw
from confide.statistic import Statistic
from confide.statistic.transform import Function

Pair = tuple[float, float]

#: values of a discrete column that are listed
_MOST_POINTS = 1024
#: continuous columns that are integrated on panels, each with each
MOST_ON_PANELS = 2
#: later columns whose bounds a kink is looked for at, all together
_MOST_LATER = 3


@dataclass(frozen=True)
class Cut:
    """A switching sub-expression, read along one column where later columns of it sit at these values."""

    tree: Tree
    later: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Axis:
    """A column that matters: its law, what it is clipped to (if the statistic sees it), and where kinks may be."""

    name: str
    law: ColumnLaw
    ends: Pair | None
    driver: bool
    #: values at which a branch changes whatever the other columns are
    kinks: tuple[float, ...] = ()
    cuts: tuple[Cut, ...] = ()
    #: later columns whose distribution functions at these values may turn sharply along this one
    seen_by: tuple[tuple[ColumnLaw, tuple[float, ...]], ...] = ()

    @property
    def population(self) -> Population:
        """The law of one value, given parameters and earlier columns."""
        return self.law.population

    @property
    def discrete(self) -> bool:
        """Whether its values are whole numbers."""
        return self.population.discrete

    @property
    def points(self) -> tuple[float, ...]:
        """The values of a discrete column that are listed; the last stands for all from there on if it is clipped."""
        first, last = self.population.facts.fixed_ends or (-math.inf, math.inf)
        if not self.driver and self.ends is not None:
            last = min(last, max(math.ceil(self.ends[1]), first))
        if not last - first < _MOST_POINTS:
            raise AccuracyError(
                f"the column {self.name!r} takes more than {_MOST_POINTS:,} whole numbers, which are not listed; "
                "narrow its bounds if nothing depends on it, or give it a law with few values (a categorical one)"
            )
        return tuple(first + k for k in range(int(last - first) + 1))

    @property
    def open_above(self) -> bool:
        """Whether the last of its points stands for more of them."""
        return self.points[-1] < (self.population.facts.fixed_ends or (0.0, math.inf))[1]


@dataclass(frozen=True)
class RowLayout:
    """The columns that matter, in their order."""

    axes: tuple[Axis, ...]
    #: the bounds of the statistic by column
    bounds: tuple[tuple[str, Pair], ...]
    jumps: bool

    @property
    def continuous(self) -> int:
        """How many columns are no whole numbers."""
        return sum(not axis.discrete for axis in self.axes)

    @property
    def sampled(self) -> bool:
        """Whether there are too many of them for panels."""
        return self.continuous > MOST_ON_PANELS


@once
def layout(population: Population, statistic: Statistic) -> RowLayout:
    """The layout of a row's law for a statistic."""
    rows = population.rows
    assert rows is not None
    bounds = bounds_by_name(statistic)
    needed = _needed(rows, set(bounds))
    trees = [part.tree for part in statistic.transforms if not isinstance(part, Function)]
    found = tuple(dict.fromkeys(switch for tree in trees for switch in switches(tree)))
    laws = dict(rows.columns)
    order = [name for name in rows.names if name in needed]
    axes = []
    for place, name in enumerate(order):
        later = order[place + 1 :]
        kinks, cuts = _cuts(name, later, found, bounds)
        axes.append(Axis(name, laws[name], bounds.get(name), any(name in laws[o].needs for o in later), kinks, cuts))
    with_seen = tuple(_seen(axis, axes[place + 1 :]) for place, axis in enumerate(axes))
    return RowLayout(with_seen, tuple(bounds.items()), any(map(jumps, trees)) or len(trees) < statistic.dimension)


def moved(at: RowLayout, ends: Mapping[str, tuple[Any, Any]]) -> RowLayout:
    """The same with columns clipped elsewhere, within the bounds that it was made for: ends may be traced.

    What is known without θ stays: which columns are integrated, where expressions switch, which values of discrete
    columns are listed.
    """
    old = dict(at.bounds)
    new = {name: ends.get(name, pair) for name, pair in old.items()}

    def elsewhere(name: str, value: Any) -> Any:
        return next((end for end, before in zip(new[name], old[name], strict=True) if value == before), value)

    def of(axis: Axis) -> Axis:
        later = [tuple((name, elsewhere(name, value)) for name, value in cut.later) for cut in axis.cuts]
        cuts = tuple(Cut(cut.tree, values) for cut, values in zip(axis.cuts, later, strict=True))
        if axis.ends is None or axis.discrete:
            return replace(axis, cuts=cuts)
        kinks = tuple(elsewhere(axis.name, kink) for kink in axis.kinks)
        return replace(axis, ends=new[axis.name], kinks=kinks, cuts=cuts)

    axes = [of(axis) for axis in at.axes]
    with_seen = tuple(_seen(axis, axes[place + 1 :]) for place, axis in enumerate(axes))
    return RowLayout(with_seen, tuple(new.items()), at.jumps)


def _needed(rows: RowLaw, wanted: set[str]) -> set[str]:
    """These columns and all that they depend on."""
    needed: set[str] = set()
    for name, law in reversed(rows.columns):
        if name in wanted or name in needed:
            needed |= {name, *(each for each in law.needs if each in rows.names)}
    return needed


def _cuts(
    name: str, later: list[str], found: tuple[Tree, ...], bounds: Mapping[str, Pair]
) -> tuple[tuple[float, ...], tuple[Cut, ...]]:
    """The kinks of a column that are known, and the cuts that depend on other columns."""
    if name not in bounds:
        return (), ()
    kinks, cuts = list(bounds[name]), []
    for tree in found:
        used = variables(tree)
        if name not in used:
            continue
        match tree:
            case Variable():
                kinks.append(0.0)
                continue
            case Call("subtract", (Variable(), Number(value))):
                kinks.append(value)
                continue
        others = [each for each in later if each in used][:_MOST_LATER]
        cuts += [
            Cut(tree, tuple(zip(others, at, strict=True))) for at in itertools.product(*(bounds[o] for o in others))
        ]
    low, high = bounds[name]
    return tuple(sorted({each for each in kinks if low <= each <= high})), tuple(dict.fromkeys(cuts))


def _seen(axis: Axis, later: list[Axis]) -> Axis:
    """The axis with those later columns that depend on it, and on nothing later than it, and their kinks."""
    seen = []
    between = {each.name for each in later}
    for other in later:
        if axis.name in other.law.needs and not between & set(other.law.needs) and not other.discrete and other.kinks:
            seen.append((other.law, other.kinks))
    return Axis(axis.name, axis.law, axis.ends, axis.driver, axis.kinks, axis.cuts, tuple(seen))
