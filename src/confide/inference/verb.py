"""`infer`: what a release says about the population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax

from confide._call import remembered
from confide._checks import whole
from confide._precision import float64
from confide._random import as_key, fused_key
from confide.errors import IncompatibleError
from confide.inference.choose import quickest
from confide.inference.kernel import Kernel
from confide.inference.method import Lengths, Method
from confide.inference.methods import as_method
from confide.inference.problem import Problem, read
from confide.inference.sampling.normality import edgeworth
from confide.inference.sampling.number import joint_of_private, with_number
from confide.inference.sampling.separate import by_prior, separated, together
from confide.likelihood import Route, as_route
from confide.likelihood.joint import joint_route
from confide.likelihood.joint_law import Joint
from confide.likelihood.mean.regular import require_regular
from confide.likelihood.record_law.rows.points import why_not_exact
from confide.population import Population
from confide.posterior import Posterior
from confide.published import Release

#: ranks on either side that can still be simulated: a pool holds thousands of windows
_MOST_RANKS = 2**13
#: noise, as a share of the largest value, of which a square is still far from underflow
_LEAST_NOISE = 1e-30
#: θ of the prior at which means without noise must have a density together
_LOOKS = 4


@remembered
@float64
def infer(
    population: Population,
    releases: Release | Sequence[Release],
    prior: Any,
    *,
    same_records: bool | None = None,
    same_quantity: bool | None = None,
    method: str | Method | Kernel = "auto",
    route: str | Route = "auto",
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

    Each name stands for an object that holds the method's options, `MHAAR(copies=5, latent="z")`, and either may be
    given; so may a route, as a name or as an object such as `Spectral()`, also one of your own.

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
    chosen = None if isinstance(method, str) and method == "auto" else as_method(method, options)
    lengths = Lengths(_count("chains", chains, 1), _count("warmup", warmup, 0), _count("draws", draws, 1))
    if any(problem.processed) and chosen is not None and not chosen.on_likelihood:
        raise IncompatibleError(
            f"method {chosen.name!r} simulates what was published, which here was clamped, rounded or left out; use "
            "method='grid'"
        )
    parts = separated(problem) if chosen is None else []
    if not parts:
        return _answered(problem, route, chosen, options, as_key(key), lengths)
    found = []
    for number, part in enumerate(parts):
        own = jax.random.fold_in(as_key(key), number)
        if part.problem.models:
            found.append(_answered(part.problem, route, None, options, own, lengths))
        else:
            found.append(by_prior(part.problem.prior, part.names, own, lengths))
    return together(problem, parts, found)


def _answered(
    problem: Problem,
    route: str | Route,
    chosen: Method | None,
    options: dict[str, Any],
    key: jax.Array,
    lengths: Lengths,
) -> Posterior:
    """The posterior of a checked problem, by a method or the quickest."""
    asked = chosen is None or chosen.on_likelihood or problem.number is not None
    joint = _joint(problem, route, chosen) if asked else None
    if chosen is None:
        chosen = quickest(problem, joint, options)
    found = chosen.posterior(problem, joint, fused_key(key), lengths)
    if problem.number is not None:
        return with_number(found, joint, key)
    if joint is None:
        return found
    if chosen.on_likelihood:
        found = _with_notes(found, joint)
    if not joint.approximate:
        return found
    return replace(found, diagnostics=replace(found.diagnostics, clt=edgeworth(problem, found)))


def _with_notes(found: Posterior, joint: Joint) -> Posterior:
    """Says so where the law of a row is an average over points."""
    each = (why_not_exact(model.population, model.channel.statistic) for model in joint.models)
    words = tuple(dict.fromkeys(told for told in each if told is not None))
    if not words:
        return found
    return replace(found, diagnostics=replace(found.diagnostics, warnings=found.diagnostics.warnings + words))


def _joint(problem: Problem, route: str | Route, method: Method | None) -> Joint | None:
    """The joint likelihood; None where `auto`, which is no method yet, has to go without one."""
    free = method is None and as_route(route) is None and not any(problem.processed)
    if problem.number is not None:
        return joint_of_private(problem, as_route(route), method)
    try:
        joint = joint_route(problem.models, route, problem.same_records, problem.processed)
    except IncompatibleError:
        if free:
            return None
        raise
    if free and joint.approximate and not _normal_is_all(problem):
        return None
    for model in problem.models if joint.approximate else ():
        require_regular(model, problem.prior.probes[:_LOOKS])
    joint = joint.for_a_posterior()
    # a value that the channel cannot publish is found here, before any work
    joint.check(problem.values)
    return joint


def _normal_is_all(problem: Problem) -> bool:
    """Whether the central limit theorem may stand in for the exact law: not for few records, where z is cheap."""
    return all(channel.n is None or channel.n >= 1000 for channel in problem.channels)


def _affordable(problem: Problem) -> None:
    """Refuse what would take hours or more memory than there is, before any array is made."""
    for channel in problem.channels:
        if channel.law.window > _MOST_RANKS:
            raise IncompatibleError(
                f"the published value depends on {2 * channel.law.window + 1:,} ranks of the records, and at most "
                f"{2 * _MOST_RANKS + 1:,} can be simulated; infer from a release whose mechanism has a cap, such as "
                "cap=1000"
            )
        scale = math.inf if channel.law.added is None else float(channel.law.added.scale)
        largest = max(abs(end) for ends in channel.statistic.ranges for end in ends)
        if scale < _LEAST_NOISE * largest:
            raise IncompatibleError(
                f"noise of scale {scale:g} on values up to {largest:g} cannot be told from none in double precision; "
                "infer from a release whose noise is not below the last digit of its values"
            )


def _count(name: str, value: Any, least: int) -> int:
    return whole(name, value, least, f"give a whole number of at least {least}")
