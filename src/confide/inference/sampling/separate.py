"""Columns that have nothing to do with each other: a posterior for each of them, instead of one in all dimensions.

Where no parameter and no law ties two groups of columns together, what is published about the one is independent of
what is published about the other given θ, of the same records too, and so are their posteriors if the priors are:

    p(θ₁, θ₂ | y₁, y₂) = p(θ₁ | y₁) p(θ₂ | y₂).

Components of a vector of means have noise of their own, and go to the group that they are about. A group of one column
is a population of numbers, for which there is more than for rows: order statistics, quadrature, exact routes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from confide.channel import Channel
from confide.expression import Expression
from confide.inference.diagnostics import Diagnostics, independent
from confide.inference.method import Lengths
from confide.inference.problem import Problem
from confide.model import Model
from confide.population import Population
from confide.population.rows import RowLaw
from confide.posterior import Exact, Posterior
from confide.prior import Prior

#: what made a posterior of parameters of which nothing was published
_PRIOR = "prior"
_NOTHING = "nothing was published about {}: what is shown is the prior"


@dataclass(frozen=True, eq=False)
class ColumnGroup:
    """The problem of one group of columns, and what its parameters are called among those of the row."""

    problem: Problem
    names: tuple[str, ...]


def separated(problem: Problem) -> list[ColumnGroup]:
    """A part for each group of columns; none where there is one group only, or where n is private."""
    rows = problem.population.rows
    if rows is None or problem.number is not None:
        return []
    groups = list(_groups(rows, problem.population.names))
    if len(groups) < 2:
        return []
    told = [piece for at in range(len(problem.models)) for piece in _pieces(problem, at, groups)]
    if any(sum(bool(columns & group) for group in groups) > 1 for columns, *_ in told):
        return []  # a number about columns of two groups ties them
    return [_part(problem, rows, group, [each for each in told if each[0] & group]) for group in groups]


def together(problem: Problem, parts: Sequence[ColumnGroup], found: Sequence[Posterior]) -> Posterior:
    """One posterior of what was found for each part."""
    theirs = list(zip(parts, found, strict=True))

    def named(of: Callable[[Posterior], Any]) -> dict[str, Any]:
        every = {row: of(each)[name] for part, each in theirs for row, name in _renamed(part)}
        return {name: every[name] for name in problem.population.names}

    told = [each.diagnostics for each in found]
    clt = [each.clt for each in told if each.clt is not None]
    spread = [each.log_likelihood_variance for each in told if each.log_likelihood_variance is not None]
    diagnostics = Diagnostics(
        named(lambda each: each.diagnostics.ess),
        named(lambda each: each.diagnostics.r_hat),
        named(lambda each: each.diagnostics.iac),
        min(each.acceptance for each in told),
        max(spread, default=None),
        tuple(dict.fromkeys(warning for each in told for warning in each.warnings)),
        max(clt, default=None),
    )
    return Posterior(
        named(lambda each: each.draws),
        " and ".join(dict.fromkeys(each.method for each in found)),
        " and ".join(dict.fromkeys(each.route for each in found)),
        diagnostics,
        problem.prior,
        Exact(named(lambda each: each.mean), named(lambda each: each.sd)),
        all(each.complete for each in found),
    )


def by_prior(prior: Prior, names: Sequence[str], key: jax.Array, lengths: Lengths) -> Posterior:
    """The posterior of parameters of which nothing was published."""
    theta = np.asarray(prior.sample(key, (lengths.chains, lengths.draws)))
    draws = {name: np.asarray(each) for name, each in prior.by_name(theta).items()}
    return Posterior(draws, _PRIOR, _PRIOR, independent(draws, [_NOTHING.format(", ".join(names))]), prior)


def _renamed(part: ColumnGroup) -> Iterator[tuple[str, str]]:
    return zip(part.names, part.problem.population.names, strict=True)


def _groups(rows: RowLaw, parameters: Sequence[str]) -> Iterator[set[str]]:
    """Columns that share a parameter, or follow one another."""
    left = {name: {name, *law.needs, *(law.missing or ())[:1]} for name, law in rows.columns}
    while left:
        tied = left.pop(next(iter(left)))
        while near := [name for name, needs in left.items() if needs & tied]:
            tied |= set().union(*(left.pop(name) for name in near))
        yield tied - set(parameters)


def _pieces(problem: Problem, at: int, groups: Sequence[set[str]]) -> Iterator[tuple[set[str], Channel, Any, Any]]:
    """A release, or its components by group: the columns, the channel, the value and how it was processed."""
    channel, value = problem.models[at].channel, problem.values[at]
    statistic, processed = channel.statistic, problem.processed[at] if problem.processed else None
    used = [set(each.variables) if isinstance(each, Expression) else set() for each in statistic.transforms]
    places = [[group for group in groups if columns & group] for columns in used]
    noisy_means = statistic.averages and channel.law.added is not None and processed is None
    if len(used) < 2 or not noisy_means or any(len(each) != 1 for each in places):
        yield set(statistic.columns), channel, value, processed
        return
    for group in groups:
        index = [j for j, (each,) in enumerate(places) if each is group]
        if index:
            columns = set().union(*(used[j] for j in index))
            yield columns, _components(channel, index, columns), np.asarray(value)[..., index].squeeze(), None


def _components(channel: Channel, index: Sequence[int], columns: set[str]) -> Channel:
    """The channel of some of the components: the noise is what it was."""
    statistic: Any = channel.statistic
    noise: Any = channel.law.added
    bounds = {name: pair for name, pair in statistic.bounds.numbers.items() if name in columns}
    lists = {name: texts for name, texts in statistic.bounds.lists.items() if name in columns}
    texts: Any = [statistic.transforms[j].text for j in index]
    some = type(statistic)(texts if len(texts) > 1 else texts[0], bounds or None, categories=lists or None)
    mechanism: Any = type(channel.mechanism)
    return Channel(some, mechanism(scale=noise.scale, step=noise.step), n=channel.n)


def _part(
    problem: Problem, rows: RowLaw, group: set[str], told: Sequence[tuple[set[str], Channel, Any, Any]]
) -> ColumnGroup:
    laws = {name: law for name, law in rows.columns if name in group}
    needed = {each for law in laws.values() for each in (*law.needs, *(law.missing or ())[:1])}
    own = [part for part in problem.population.space if part.name in needed]
    names = tuple(part.name for part in own)
    (first, *others) = laws.values()
    if not others and first.missing is None and set(first.needs) == set(names):
        population, names = first.population, first.needs
    else:
        sizes = {part.name: part.shape[0] for part in own if part.vector}
        constraints = {part.name: part.constraint for part in own}
        population = Population(laws, constraints, f"{', '.join(laws)} of {problem.population.name}", sizes=sizes)
    laws_of_prior = dict(zip(problem.prior.names, problem.prior.parts, strict=True))
    given = {ours: laws_of_prior[name] for name, ours in zip(names, population.names, strict=True)}
    models = tuple(Model(population, channel) for _, channel, *_ in told)
    values, processed = tuple(each[2] for each in told), tuple(each[3] for each in told)
    shared = problem.same_records if len(told) > 1 else None
    return ColumnGroup(Problem(population, Prior.of(population, given), models, values, shared, None, processed), names)
