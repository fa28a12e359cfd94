"""`optimize`: the best channel for a population, a guarantee and n."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from confide._call import remembered
from confide._precision import float64
from confide.design.criteria import Criterion, directions, find_criterion
from confide.design.evaluate import Evaluation, evaluate
from confide.design.families import Clip, ClippedScore, Moments, Power, QuantileLevel, Threshold
from confide.design.family import Family
from confide.design.optimum import Candidate, Optimum
from confide.design.points import points
from confide.design.problem import Found, Problem
from confide.design.tabulated import tabulate
from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.mechanism import (
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    Noiseless,
    RandomizedResponse,
    SmoothCauchy,
    SmoothLaplace,
)
from confide.model import Model
from confide.population import Population
from confide.privacy import Privacy
from confide.statistic import Mean
from confide.statistic.statistic import check_count

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
MECHANISMS: tuple[type[Mechanism], ...] = (
    Laplace,
    Gaussian,
    RandomizedResponse,
    Exponential,
    SmoothLaplace,
    SmoothCauchy,
    Noiseless,
)
#: how far the approximation that searches may be off, for candidates still to be judged: a share, and one of 1/n
_DOUBT, _DOUBT_FEW = 0.1, 3.0
_MOST_EXACT = 8


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
    criterion: str = "expected_variance",
    exact: bool = True,
    key: Any = 0,
) -> Optimum:
    """The channel that says the most about θ at one guarantee and n, over families of statistics and mechanisms.

    Give one `theta`, a grid of them, or a `prior` to average over; `criterion="minimum"` with a grid is the worst case.
    Every family is searched globally under every mechanism by an approximation in closed form (from four moments of a
    mean; from the asymptotic law of a rank); the leaders are then ranked by their exact information, unless
    `exact=False`. A search is deterministic. To add a family, see `MeanFamily`.

    >>> import confide as cf
    >>> from confide.design import optimize
    >>> found = optimize(cf.populations.normal_variance(), privacy=cf.GDP(1.0), n=100, theta=2.0, exact=False)
    >>> print(found.best.statistic)                                                         # doctest: +ELLIPSIS
    the mean of clip(x**2, 0.3..., 9...) with x clipped to ...
    >>> round(float(found.table["normal"].iloc[0]), 1)
    10.2
    """
    if not isinstance(population, Population):
        raise InvalidArgument("population", population, "is not a population", "use populations.normal_variance()")
    if not isinstance(privacy, Privacy):
        raise InvalidArgument("privacy", privacy, "is not a guarantee", "give for example PureDP(1.0)")
    ranked = find_criterion(criterion)
    at = points(population, theta, prior)
    problem = Problem(tabulate(population, at), privacy, check_count(n), ranked)
    found = _search(problem, _families(families), _mechanisms(mechanisms))
    candidates = [Candidate.of(problem, each) for each in found]
    if exact:
        candidates = _judge(candidates, ranked, problem, key)
    order = sorted(candidates, key=lambda each: each.loss(ranked))
    if not np.isfinite(order[0].loss(ranked)):
        raise InvalidArgument(
            "criterion",
            criterion,
            "diverges for every candidate",
            "use another criterion, or a prior with lighter tails",
        )
    return Optimum(tuple(order), problem)


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


def _search(problem: Problem, families: list[Family], mechanisms: list[type[Mechanism]]) -> list[Found]:
    # one number tells several parameters apart only through the shape of its law
    several = directions(problem.law.population).shape[1] > 1 and problem.criterion.name != "information"
    able = [family for family in families if not (several and family.scalar)]
    found = [each for family in able for kind in mechanisms if (each := family.search(problem, kind)) is not None]
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


def _judge(candidates: list[Candidate], criterion: Criterion, problem: Problem, key: Any) -> list[Candidate]:
    """The leaders by their exact information: from the best on, until the next is too far behind to matter."""
    doubt = _DOUBT + _DOUBT_FEW / problem.n
    waiting = sorted(candidates, key=lambda each: each.loss(criterion))
    judged: list[Candidate] = []
    best = np.inf
    while waiting and len(judged) < _MOST_EXACT:
        each = waiting[0]
        if best < np.inf and _behind(each.loss(criterion), best, doubt, criterion):
            break
        waiting.pop(0)
        judged.append(each.judged(_evaluate(each, problem, key)))
        best = min(best, judged[-1].loss(criterion))
    return judged + waiting


def _behind(loss: float, best: float, doubt: float, criterion: Criterion) -> bool:
    """Whether a candidate would still lose if its approximation were too low by that share."""
    if criterion.name == "log_det":
        return loss - doubt > best
    return loss / (1 + doubt) > best if criterion.smaller else loss * (1 + doubt) > best


def _evaluate(each: Candidate, problem: Problem, key: Any) -> Evaluation | None:
    """The exact information of a candidate; None where there is no better figure than the search's own."""
    statistic = each.channel.statistic
    if isinstance(statistic, Mean) and statistic.dimension > 1 and isinstance(each.channel.mechanism, Laplace):
        return None
    try:
        return evaluate(Model(problem.law.population, each.channel), problem.law.points, "auto", key)
    except (AccuracyError, IncompatibleError):
        return None
