"""`adapt`: a plan that asks batch after batch what the posterior so far says is best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.design.adaptive.plan import Adaptive
from confide.design.search.family import Family
from confide.errors import InvalidArgument
from confide.population import Population
from confide.prior import Prior
from confide.privacy import Privacy, Unlimited
from confide.statistic import Statistic
from confide.statistic.size import check_count

Floats = NDArray[np.float64]

#: ways of choosing the next question
_BY = ("expected", "draw")


def adapt(
    population: Population,
    prior: Any,
    *,
    privacy: Privacy,
    batches: Sequence[int],
    families: Sequence[Family | Statistic] | None = None,
    local: bool | None = None,
    weights: Any = None,
    by: str = "expected",
    key: int = 0,
) -> Adaptive:
    """A plan that asks batch after batch of records what the posterior so far says is best, each record once.

    `batches` are their sizes, in the order of the records. Batches of one are persons who answer for themselves: each
    is clipped and published with noise of their own, or answers by randomized response whether they are above a
    threshold (`families.EachClip()` and `families.Threshold()`, with the numbers chosen anew each time). With `local`
    the persons of larger batches are asked alike, one by one; otherwise a batch is published together, through a
    channel found by `optimize` over `families`, or chosen among statistics given there.

    The next channel makes tr(W(C⁻¹ + F)⁻¹) least, with C the posterior covariance and F the information of the next
    batch, averaged over the posterior. `weights` is W by parameter; left out it is 1/posterior variance: all relative
    uncertainties count alike, in whatever units and however wide the prior is. `by="draw"` takes F at one θ drawn from
    the posterior instead (Thompson sampling, as in Yıldırım 2023).

    >>> import confide as cf, numpyro.distributions as dist
    >>> plan = cf.adapt(cf.populations.normal_mean(variance=10.0), {"mean": dist.Normal(0, 100)},
    ...                 privacy=cf.PureDP(2.0), batches=[1] * 1000)
    >>> print(plan.channel.mechanism)
    randomized response, for 2-differential privacy (pure)
    """
    if not isinstance(population, Population):
        raise InvalidArgument("population", population, "is not a population", "use populations.normal_mean()")
    if not isinstance(privacy, Privacy) or isinstance(privacy, Unlimited):
        raise InvalidArgument("privacy", privacy, "is not a guarantee to plan for", "give for example PureDP(1.0)")
    believed = Prior.of(population, prior)
    sizes = _sizes(batches)
    if by not in _BY:
        raise InvalidArgument("by", by, "is not a way to choose", f"use one of {', '.join(_BY)}")
    alone = max(sizes) == 1 if local is None else bool(local)
    searched, candidates = _families(families, alone)
    return Adaptive(
        population, believed, privacy, sizes, families=searched, candidates=candidates,
        weights=_weights(population, weights), local=alone, by=by, key=int(key),
    )  # fmt: skip


def _sizes(batches: object) -> tuple[int, ...]:
    remedy = "give the sizes of the batches, such as [100, 900] or [1] * 1000"
    if isinstance(batches, str | int) or not hasattr(batches, "__iter__"):
        raise InvalidArgument("batches", batches, "is not a list of sizes", remedy)
    sizes = tuple(check_count(each) for each in batches)
    if not sizes:
        raise InvalidArgument("batches", batches, "is empty", remedy)
    return sizes


def _families(given: Any, local: bool) -> tuple[tuple[Family, ...] | None, tuple[Statistic, ...] | None]:
    """Families to search, or statistics to choose from."""
    if given is None:
        return None, None
    remedy = "give families, such as families.Clip(), or statistics, such as Mean('x', bounds=(0, 1))"
    listed = tuple(given) if hasattr(given, "__iter__") else ()
    if listed and all(isinstance(each, Family) for each in listed):
        return listed, None
    if listed and not local and all(isinstance(each, Statistic) for each in listed):
        return None, listed
    raise InvalidArgument("families", given, "are neither families nor statistics", remedy)


def _weights(population: Population, given: Any) -> Floats | None:
    """W in the order of θ."""
    if given is None:
        return None
    remedy = f"give a number of at least 0 for each of {', '.join(population.names)}"
    listed = [given.get(name) for name in population.names] if isinstance(given, dict) else given
    try:
        weights = np.asarray(listed, dtype=float)
    except (TypeError, ValueError):
        raise InvalidArgument("weights", given, "are not numbers", remedy) from None
    if weights.shape != (population.dimension,) or not np.all(weights >= 0) or not np.any(weights > 0):
        raise InvalidArgument("weights", given, "do not weigh the parameters", remedy)
    if not np.all(np.isfinite(weights)):
        raise InvalidArgument("weights", given, "are not finite", remedy)
    return weights
