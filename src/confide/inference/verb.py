"""`infer`: what a release says about the population."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from confide._call import remembered
from confide._precision import float64
from confide._random import as_key, unrolled
from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.inference.choose import quickest
from confide.inference.kernel import Kernel
from confide.inference.problem import Problem, read
from confide.inference.quadrature import grid
from confide.inference.sampling import assemble, nuts
from confide.inference.sampling.longer import long_enough
from confide.likelihood.joint import Disjoint, Joint, joint_route
from confide.likelihood.rank.pool import PoolRoute
from confide.population import Population
from confide.posterior import Posterior
from confide.published import Release

#: windows in the pool of a posterior
_POOL = 2**13
#: ranks on either side that can still be simulated: a pool holds thousands of windows
_MOST_RANKS = 2**13
#: noise, as a share of the largest value, of which a square is still far from underflow
_LEAST_NOISE = 1e-30
METHODS = ("grid", "nuts", "mh", *assemble.KERNELS)


@remembered
@float64
def infer(
    population: Population,
    releases: Release | Sequence[Release],
    prior: Any,
    *,
    same_records: bool | None = None,
    same_quantity: bool | None = None,
    method: str | Kernel = "auto",
    route: str = "auto",
    key: Any = 0,
    chains: int = 4,
    warmup: int = 1000,
    draws: int = 1000,
    **options: Any,
) -> Posterior:
    """The posterior of a population's parameters given what was published, noise and clipping included.

    `prior` maps each parameter to a proper numpyro distribution. With several releases, `same_records` says whether
    they are about the same records, unless their data set and part record it, and `same_quantity=True` that they
    measure the same thing, where they name different columns, or data sets without a column in common. A release that
    replaced missing values by a number is read as if these were records, with an `ImputationWarning`, unless the prior
    has a law for their share too, as in `{"rate": …, "missing": dist.Beta(1, 19)}`: it is then one more parameter. The
    methods are

    - `auto`: the quickest that serves: `grid` where p(y | θ) can be computed (one or two parameters; `nuts` beyond),
      `mhaar` where it cannot or where simulating it takes long, up to four times as many draws as asked for if these
      say too little; refused at once where none would;
    - `grid`: quadrature, independent draws;  `nuts`: NumPyro's sampler on p(y | θ);
    - `mh`: Algorithm 4 of the paper, Metropolis–Hastings on p(y | θ) by `route`;
    - `pmmh`: Algorithm 5;  `mhaar`: Algorithms 6 (`latent="u"`), 7 (`latent="z"`, `subset=m`) and 8 (for `Each`);
    - `gibbs`: Metropolis–Hastings within Gibbs;  `correlated`: the correlated pseudo-marginal algorithm;
    - a `Kernel` of your own, from `confide.inference.kernel`, on the same latent variables.

    Options of the latent methods: `latent` ("u" is the normal approximation of a mean, "z" is exact), `copies` (the
    paper's N), `subset`, `walk` (a `Walk`, else one is adapted during warm-up), `refresh`, `centre`
    ("midpoint" or "maximum"), `conditional` (draw u given y where its law is known), `correlation`, `anchored`.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
    >>> release, prior = cf.Release(channel, 0.31), {"probability": dist.Beta(1.0, 1.0)}
    >>> posterior = cf.infer(cf.populations.bernoulli(), release, prior)
    >>> round(posterior.mean["probability"], 4), round(posterior.sd["probability"], 4)
    (0.3104, 0.0147)
    """
    problem = read(population, releases, prior, same_records, same_quantity)
    _affordable(problem)
    if not isinstance(method, Kernel) and method != "auto" and method not in METHODS:
        raise InvalidArgument("method", method, "is not a method", f"use 'auto' or one of {', '.join(METHODS)}")
    chains, warmup, draws = _count("chains", chains), _count("warmup", warmup), _count("draws", draws)
    random = unrolled(as_key(key))
    run = partial(assemble.posterior, problem, key=random, chains=chains, warmup=warmup, draws=draws, **options)
    if isinstance(method, Kernel):
        return run(joint=None, method=method)
    joint = None
    if method in ("auto", "grid", "nuts", "mh"):
        joint = _joint(problem, route, method)
    if method == "auto":
        method = quickest(problem, joint)
        if method == "grid":
            _no_options(method, options)
            return _by_grid_or_nuts(problem, joint, random, chains, warmup, draws)
        if method == "mhaar":
            return long_enough(lambda count: run(joint=None, method="mhaar", draws=count), chains, draws)
    if joint is not None and method in ("grid", "nuts"):
        _no_options(method, options)
        if method == "grid":
            return grid.posterior(problem, joint, random, chains, draws)
        return nuts.posterior(problem, joint, random, chains, warmup, draws)
    return run(joint=joint, method=method)


def _by_grid_or_nuts(
    problem: Problem, joint: Joint | None, key: Any, chains: int, warmup: int, draws: int
) -> Posterior:
    """By quadrature; where that does not resolve a posterior of two parameters, by NUTS, which is said."""
    assert joint is not None
    try:
        return grid.posterior(problem, joint, key, chains, draws)
    except AccuracyError as failure:
        if problem.prior.free_dimension == 1 or joint.simulated:
            raise
        reason = f"quadrature did not serve ({failure}); this is NUTS"
    found = nuts.posterior(problem, joint, key, chains, warmup, draws)
    warnings = (reason, *found.diagnostics.warnings)
    return replace(found, diagnostics=replace(found.diagnostics, warnings=warnings))


def _joint(problem: Problem, route: str, method: str) -> Joint | None:
    """The joint likelihood; None where `auto` has to go without one."""
    try:
        joint = joint_route(problem.models, route, problem.same_records)
    except IncompatibleError:
        if method == "auto" and route == "auto":
            return None
        raise
    if method == "auto" and route == "auto" and joint.name == "normal" and not _normal_is_all(problem):
        return None
    joint = _smaller_pools(joint)
    # a value that the channel cannot publish is found here, before any work
    joint.check(problem.values)
    return joint


def _smaller_pools(joint: Joint) -> Joint:
    """The same with as many simulated windows as a posterior needs, which is fewer than an information does."""
    if not isinstance(joint, Disjoint) or not joint.simulated:
        return joint
    routes = tuple(replace(route, size=_POOL) if isinstance(route, PoolRoute) else route for route in joint.routes)
    return replace(joint, routes=routes)


def _normal_is_all(problem: Problem) -> bool:
    """Whether the central limit theorem may stand in for the exact law: not for few records, where z is cheap."""
    return all(channel.n >= 1000 for channel in problem.channels)


def _affordable(problem: Problem) -> None:
    """Refuse what would take hours or more memory than there is, before any array is made."""
    for channel in problem.channels:
        if channel.law.window > _MOST_RANKS:
            raise IncompatibleError(
                f"the published value depends on {2 * channel.law.window + 1:,} ranks of the records, and at most "
                f"{2 * _MOST_RANKS + 1:,} can be simulated; infer from a release whose mechanism has a cap, such as "
                "cap=1000"
            )
        scale = float(getattr(getattr(channel.law, "noise", None), "scale", math.inf))
        largest = max(abs(end) for ends in channel.statistic.ranges for end in ends)
        if scale < _LEAST_NOISE * largest:
            raise IncompatibleError(
                f"noise of scale {scale:g} on values up to {largest:g} cannot be told from none in double precision; "
                "infer from a release whose noise is not below the last digit of its values"
            )


def _count(name: str, value: Any) -> int:
    least = 0 if name == "warmup" else 1
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        raise InvalidArgument(name, value, "is not a count", f"give a whole number of at least {least}")
    return number


def _no_options(method: str, options: dict[str, Any]) -> None:
    if options:
        raise InvalidArgument("options", sorted(options), f"are not options of method {method!r}", "leave them out")
