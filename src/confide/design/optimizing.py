"""`optimize`: the best channel for a population, a guarantee and n."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from confide._call import remembered
from confide._precision import float64
from confide._progress import progress
from confide.channel import Channel
from confide.design.criteria import Criterion, directions, find_criterion
from confide.design.families import Clip, ClippedScore, EachClip, Moments, Power, QuantileLevel, RowMeans, Threshold
from confide.design.judging import judge, ranked
from confide.design.optimum import Candidate, Optimum
from confide.design.points import Points, points
from confide.design.search.family import Family
from confide.design.search.problem import SearchProblem, SearchResult
from confide.design.search.rows import RowTable
from confide.design.search.tabulated import tabulate
from confide.errors import IncompatibleError, InvalidArgument
from confide.mechanism import Mechanism
from confide.population import Population
from confide.privacy import Privacy
from confide.privacy.relation import ADD_REMOVE, NEIGHBOURS, REPLACE
from confide.registry import members
from confide.statistic.size import check_count

#: what `optimize` searches unless it is told
FAMILIES: tuple[Family, ...] = (
    Power(),
    Clip(),
    Clip("log(x)"),
    Clip("1/x"),
    Threshold(),
    QuantileLevel(),
    ClippedScore(),
    Moments(),
)
#: and of the local model, where each record is published by itself
LOCAL: tuple[Family, ...] = (EachClip(), Threshold())
#: under which mechanisms it does
MECHANISMS: tuple[type[Mechanism], ...] = tuple(members("mechanism").values())


@remembered
@float64
def optimize(
    population: Population,
    *,
    privacy: Privacy,
    n: int,
    theta: Any = None,
    prior: Any = None,
    families: Iterable[Family] = FAMILIES,
    mechanisms: Sequence[type[Mechanism]] = MECHANISMS,
    local: bool = False,
    criterion: str = "expected_variance",
    exact: bool = True,
    key: Any = 0,
    neighbours: str = REPLACE,
) -> Optimum:
    """The channel that says the most about θ at one guarantee and n, over families of statistics and mechanisms.

    Give one `theta`, a grid of them, or a `prior` to average over; `criterion="minimum"` with a grid is the worst case.
    Every family is searched globally under every mechanism by an approximation in closed form (from four moments of a
    mean; from the asymptotic law of a rank); the leaders are then ranked by their exact information, unless
    `exact=False`. A candidate that no exact route serves does not win over one that has an exact figure, and `notes`
    says which were dropped and why. A search is deterministic. To add a family, see `MeanFamily`.

    With `local=True` there is nobody who may see the records together: each is clipped and published with noise of its
    own, or answers with randomized response whether it is above a threshold. One record by itself (n=1) is that too.

    With `neighbours="add-remove"` the number of records is private, and n is the one that is assumed, as in
    `information`: sums of s are then published beside a count, and the split of the budget between them, the centre of
    s and its clips are searched together. They are ranked by the information of the normal law.

    Of a population of rows the bounds of each column are searched: for the expressions of `RowMeans`, and by default
    for the moments of all columns. They are ranked by the normal law of several means.

    >>> import confide as cf
    >>> from confide.design import optimize
    >>> found = optimize(cf.populations.normal_variance(), privacy=cf.GDP(1.0), n=100, theta=2.0, exact=False)
    >>> print(found.best.statistic)
    the mean of clip(x**2, 0.4, 9.85) with x clipped to [-3.14, 3.14]
    >>> round(float(found.table["normal"].iloc[0]), 1)
    10.2
    >>> options = {"privacy": cf.PureDP(1.0), "theta": 0.4, "families": [cf.families.Clip()]}
    >>> found = optimize(cf.populations.exponential(), n=2000, neighbours="add-remove", **options)
    >>> print(found.best.statistic)
    the sum of (1, (x - 2.5) / 0.326) with x clipped to [0, 13.5]
    """
    if not isinstance(population, Population):
        raise InvalidArgument("population", population, "is not a population", "use populations.normal_variance()")
    if not isinstance(privacy, Privacy):
        raise InvalidArgument("privacy", privacy, "is not a guarantee", "give for example PureDP(1.0)")
    chosen = find_criterion(criterion)
    at = points(population, theta, prior)
    private = _private(neighbours, local)
    if population.rows is not None:
        _require_means_of_rows(population.rows.names, private or local)
        families = (RowMeans(),) if families is FAMILIES else families
    law: Any = tabulate(population, at) if population.rows is None else RowTable(population, at)
    problem = SearchProblem(law, privacy, check_count(n), chosen, private)
    asked = _families(LOCAL if families is FAMILIES and (local or (problem.n == 1 and not private)) else families)
    if population.rows is not None and (others := [each for each in asked if not isinstance(each, RowMeans)]):
        raise InvalidArgument("families", others[0], "is about records of one number", "use RowMeans(expressions)")
    found = _search(problem, asked, _mechanisms(mechanisms), local)
    candidates = [Candidate.of(problem, each) for each in found]
    order = judge(candidates, problem, key) if exact else ranked(candidates, problem.criterion)
    if not np.isfinite(order[0].loss(problem.criterion)):
        raise InvalidArgument(
            "criterion",
            criterion,
            "diverges for every candidate",
            "use another criterion, or a prior with lighter tails",
        )
    return Optimum(tuple(order), problem)


def found_at(
    population: Population,
    at: Points,
    privacy: Privacy,
    n: int,
    families: Iterable[Family] | None,
    criterion: Criterion,
) -> Channel:
    """The best channel at some θ by the search's own approximation, for who asks often."""
    problem = SearchProblem(tabulate(population, at), privacy, n, criterion)
    found = _search(problem, _families(FAMILIES if families is None else families), list(MECHANISMS), local=False)
    best = ranked([Candidate.of(problem, each) for each in found], criterion)[0]
    return best.channel


def _private(neighbours: object, local: bool) -> bool:
    """Whether the number of records is private."""
    if neighbours not in NEIGHBOURS:
        raise InvalidArgument("neighbours", neighbours, "is no relation", f"use {' or '.join(NEIGHBOURS)}")
    if local and neighbours == ADD_REMOVE:
        problem = "keeps the number of records private, which values of single records tell"
        raise InvalidArgument("neighbours", neighbours, problem, "leave it out, or local=True")
    return neighbours == ADD_REMOVE


def _require_means_of_rows(names: tuple[str, ...], unlike: bool) -> None:
    """Refuse what is not searched where a record is a row."""
    if unlike:
        raise IncompatibleError(
            f"a record is a row of the columns {', '.join(names)}, for which optimize searches means over a public "
            "number of records; leave out local= and neighbours=, or compare channels of your own by cf.compare"
        )


def _families(families: object) -> list[Family]:
    remedy = "give objects of families, such as [Power(), ClippedScore()]"
    try:
        listed = list(families)  # type: ignore[call-overload]
    except TypeError:
        raise InvalidArgument("families", families, "is not a collection", remedy) from None
    for each in listed:
        if not isinstance(each, Family):
            raise InvalidArgument("families", each, "is not a family", remedy)
    if not listed:
        raise InvalidArgument("families", listed, "leaves nothing to choose from", remedy)
    return listed


def _mechanisms(mechanisms: object) -> list[type[Mechanism]]:
    remedy = f"give classes among {', '.join(kind.__name__ for kind in MECHANISMS)}"
    try:
        listed = list(mechanisms)  # type: ignore[call-overload]
    except TypeError:
        raise InvalidArgument("mechanisms", mechanisms, "is not a collection", remedy) from None
    for each in listed:
        if each not in MECHANISMS:
            raise InvalidArgument("mechanisms", each, "cannot be searched", remedy)
    return listed


def _search(
    problem: SearchProblem, families: list[Family], mechanisms: list[type[Mechanism]], local: bool
) -> list[SearchResult]:
    # one number tells several parameters apart only through the shape of its law
    several = directions(problem.law.population).shape[1] > 1 and problem.criterion.name != "information"
    able = [family for family in families if not (several and family.scalar)]
    pairs = [(family, kind) for family in able for kind in mechanisms]
    searched = (family.search(problem, kind) for family, kind in progress(pairs, "families and mechanisms"))
    found = [each for each in searched if each is not None and (each.statistic.per_record or not local)]
    # what needs n, such as a quantile
    found = [each for each in found if each.statistic.totals or not problem.private]
    # two families may find the same channel
    found = list(
        {(each.statistic, each.mechanism): each for each in reversed(found) if np.isfinite(each.loss)}.values()
    )
    if not found:
        names = ", ".join(family.name for family in families)
        kinds = ", ".join(kind.__name__ for kind in mechanisms)
        raise IncompatibleError(
            f"none of the families {names} can be published with {problem.privacy} by {kinds}; "
            "add a mechanism that gives this guarantee, or a family that fits"
        )
    return found
