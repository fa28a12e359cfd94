"""Importance sampling from a normal fit, for posteriors that are nearly normal: as many parameters as there are.

The density of the free coordinates is maximised, and its curvature there makes a multivariate t law of seven degrees of
freedom. Points of it are weighed by the density over the law's own; the law is moved to where the weights are, once,
or more often where they are not to be trusted yet.
Weights are smoothed as Vehtari, Simpson, Gelman, Yao and Gabry (2024) do, whose k̂ says whether they can be trusted:
where it is above 0.7, or few draws would be effective, this is no posterior to be had so, and NUTS takes over.

Near its mode such a log density is a polynomial: with up to nine coordinates a quartic through a few hundred points
stands for it, if it is right at others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE
from confide._random import split_in_two
from confide.errors import AccuracyError
from confide.inference.diagnostics import Diagnostics, independent
from confide.inference.method import Lengths, Method
from confide.inference.problem import Problem
from confide.inference.sampling import nuts
from confide.inference.sampling.assemble import marginal_target
from confide.inference.target import Target
from confide.likelihood.joint_law import Joint
from confide.posterior import Posterior

Floats = NDArray[np.float64]

#: points of the prior that are looked at, and of these the starts of a search
_LOOKS, _STARTS = 96, 3
#: degrees of freedom of the law that points are drawn from, and points for each draw that is wanted
_FREEDOM, _SPARE = 7.0, 2
#: how often points are weighed, with the law moved to the weights in between, and how often where weights are not to be
#: trusted: another round costs seconds, and NUTS a minute (Laplace noise, five covariates: k-hat .71 after two)
_ROUNDS, _MOST_ROUNDS = 2, 4
#: the largest k̂ at which weights are trusted, and the least share of points that must be effective
_TRUSTED, _LEAST = 0.7, 0.1
#: coordinates up to which a quartic has few terms, points for each term, points to try it at, and its
#: error there, as a root mean square and at most
_MOST_COORDINATES, _PER_TERM, _TRIED, _RIGHT, _LARGEST = 9, 2.5, 64, 0.02, 0.1
#: points whose density is computed by one call
_BLOCK = 256
#: steps of differences, in standard deviations
_STEP = 0.02


@dataclass(frozen=True)
class FitOrNUTS(Method):
    """What `auto` means for rows with three parameters and more."""

    name = "importance"
    on_likelihood = True

    def posterior(self, problem: Problem, joint: Joint | None, key: jax.Array, lengths: Lengths) -> Posterior:
        """By importance sampling if possible."""
        assert joint is not None
        target = marginal_target(problem, joint)
        for_fit, for_chains = split_in_two(key)
        generator = np.random.default_rng(np.asarray(jax.random.key_data(for_fit)).ravel().tolist())
        try:
            return _by_weights(problem, joint, target, generator, lengths)
        except AccuracyError as failure:
            reason = f"importance sampling from a normal fit did not serve ({failure}); this is NUTS"
        found = nuts.posterior(problem, joint, for_chains, lengths, seconds=nuts.PATIENCE)
        warnings = (reason, *found.diagnostics.warnings)
        return replace(found, diagnostics=replace(found.diagnostics, warnings=warnings))


def _by_weights(
    problem: Problem, joint: Joint, target: Target, generator: np.random.Generator, lengths: Lengths
) -> Posterior:
    mode, root = _fit(target)
    wanted = lengths.chains * lengths.draws
    for number in range(1, _MOST_ROUNDS + 1):
        density = _near(target, mode, root, generator)
        points, log_weight = _weighed(density, mode, root, _SPARE * wanted, generator)
        weights, shape = smoothed(log_weight)
        effective = 1.0 / float(np.sum(weights**2))
        served = shape < _TRUSTED and effective > _LEAST * len(points)
        if number >= _ROUNDS and served:
            break
        mode, root = _moved(points, weights)
    if not served:
        raise AccuracyError(f"k-hat {shape:.2f}, {effective:,.0f} effective of {len(points):,} points")
    chosen = points[_resampled(weights, wanted, generator)]
    theta = np.asarray(target.prior.constrain(jax.numpy.asarray(generator.permutation(chosen))))
    named = target.prior.by_name(theta.reshape(lengths.chains, lengths.draws, -1))
    return Posterior(named, "importance", joint.name, _diagnosed(named, effective, wanted), problem.prior)


def _diagnosed(named: Any, effective: float, wanted: int) -> Diagnostics:
    """As of independent draws, of which weights leave so many effective."""
    found = independent(named, [])
    size = min(effective, float(wanted))
    return replace(found, ess=dict.fromkeys(named, size), iac=dict.fromkeys(named, wanted / size))


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _log_densities(target: Target, free: jax.Array) -> jax.Array:
    """log p(free | y) up to a constant, at many points."""
    found: jax.Array = jax.lax.map(partial(_log_density, target), free)
    return found


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _value_and_slope(target: Target, free: jax.Array) -> Any:
    return jax.value_and_grad(partial(_log_density, target))(free)


def _log_density(target: Target, free: jax.Array) -> jax.Array:
    prior = target.prior
    return prior.log_prob_free(free) + target.log_density(prior.constrain(free), jax.numpy.zeros((0,)))


def _at(target: Target, free: Floats) -> Floats:
    """In blocks of one size; −∞ for what is no number."""
    spare = -len(free) % _BLOCK
    padded = np.concatenate([free, np.repeat(free[-1:], spare, axis=0)]).reshape(-1, _BLOCK, free.shape[1])
    found = np.concatenate([np.asarray(_log_densities(target, block)) for block in padded])[: len(free)]
    return np.where(np.isnan(found), -np.inf, found)


def _fit(target: Target) -> tuple[Floats, Floats]:
    """The mode, and the root of the inverse curvature there."""
    from scipy.optimize import minimize

    probes = np.asarray(target.prior.unconstrain(target.prior.probes))[:_LOOKS]
    first = _at(target, probes)
    starts = probes[np.argsort(-first)[:_STARTS]]
    if not np.any(np.isfinite(first)):
        raise AccuracyError("the published value has density zero at all draws from the prior that were looked at")

    def cost(free: Floats) -> tuple[float, Floats]:
        value, slope = (np.asarray(part) for part in _value_and_slope(target, free))
        usable = np.isfinite(value) and np.all(np.isfinite(slope))
        return (-float(value), -slope) if usable else (1e300, np.zeros_like(free))

    found = min((minimize(cost, start, jac=True, method="BFGS") for start in starts), key=lambda each: float(each.fun))
    mode, scale = found.x, np.sqrt(np.maximum(np.diag(found.hess_inv), 1e-300))
    steps = _STEP * scale * np.eye(mode.size)
    slopes = [(cost(mode + step)[1] - cost(mode - step)[1]) / (2.0 * np.max(step)) for step in steps]
    curvature = 0.5 * (np.asarray(slopes) + np.asarray(slopes).T)
    try:
        return mode, np.linalg.cholesky(np.linalg.inv(curvature))
    except np.linalg.LinAlgError:
        raise AccuracyError("the posterior has no curvature at its mode") from None


def _drawn(mode: Floats, root: Floats, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Points of the t law, and their log density."""
    d = mode.size
    z = generator.standard_normal((count, d)) / np.sqrt(generator.chisquare(_FREEDOM, (count, 1)) / _FREEDOM)
    log_q = -0.5 * (_FREEDOM + d) * np.log1p(np.sum(z**2, axis=1) / _FREEDOM)
    return mode + z @ root.T, log_q


def _weighed(
    density: Any, mode: Floats, root: Floats, count: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    points, log_q = _drawn(mode, root, count, generator)
    return points, density(points) - log_q


def _near(target: Target, mode: Floats, root: Floats, generator: np.random.Generator) -> Any:
    """The log density, or a quartic that stands for it."""
    d = mode.size
    exact = partial(_at, target)
    if d > _MOST_COORDINATES:
        return exact
    terms = [term for degree in range(5) for term in combinations_with_replacement(range(d), degree)]
    count = math.ceil(_PER_TERM * len(terms) / _BLOCK) * _BLOCK + _BLOCK
    points, _ = _drawn(mode, root, count, generator)
    inverse = np.linalg.inv(root)

    def basis(free: Floats) -> Floats:
        z = (free - mode) @ inverse.T
        return np.stack([np.prod(z[:, term], axis=1) for term in map(list, terms)], axis=1)

    found = exact(points)
    if not np.all(np.isfinite(found)):
        return exact
    # near the middle the quartic must be right; far out it may be rough, where nothing weighs
    weight = np.exp(0.25 * np.maximum(found - found.max(), -60.0))
    used = slice(_TRIED, None)
    coefficients = np.linalg.lstsq(basis(points[used]) * weight[used, None], found[used] * weight[used], rcond=None)[0]
    off = np.abs(basis(points[:_TRIED]) @ coefficients - found[:_TRIED])
    seen = off[found[:_TRIED] > found.max() - 0.5 * d - 4.0]
    if seen.size < _TRIED // 4 or np.sqrt(np.mean(seen**2)) > _RIGHT or np.max(seen) > _LARGEST:
        return exact

    def distance(free: Floats) -> Floats:
        return np.asarray(np.sum(((free - mode) @ inverse.T) ** 2, axis=1))

    furthest = np.max(distance(points))

    def quartic(free: Floats) -> Floats:
        # beyond what was looked at a polynomial may turn up again
        return np.where(distance(free) > furthest, -np.inf, basis(free) @ coefficients)

    return quartic


def smoothed(log_weight: Floats) -> tuple[Floats, float]:
    """Weights whose largest follow the Pareto law that was fitted to them, adding up to one, and its shape k̂."""
    from scipy.stats import genpareto

    weights = np.exp(log_weight - np.max(log_weight))
    tail = min(int(0.2 * weights.size), int(3.0 * math.sqrt(weights.size)))
    order = np.argsort(weights)
    largest, cut = order[-tail:], weights[order[-tail - 1]]
    excess = weights[largest] - cut
    shape = _shape(excess[excess > 0])
    if np.isfinite(shape) and tail > 4:
        scale = _scale(excess[excess > 0], shape)
        levels = (np.arange(tail) + 0.5) / tail
        weights[largest] = np.minimum(cut + genpareto.ppf(levels, shape, scale=scale), 1.0)
    return weights / weights.sum(), shape


def _profile(excess: Floats) -> float:
    """θ of Zhang and Stephens (2009): the posterior mean of the Pareto law's −k/σ."""
    x = np.sort(excess)
    m = 30 + int(math.sqrt(x.size))
    quartile = x[max(int(x.size / 4 + 0.5) - 1, 0)]
    b = 1.0 / x[-1] + (1.0 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3.0 * quartile)
    k = np.mean(np.log1p(-b[:, None] * x), axis=1)
    likelihood = x.size * (np.log(-b / k) - k - 1.0)
    share = np.exp(likelihood - likelihood.max())
    return float(np.sum(b * share) / share.sum())


def _shape(excess: Floats) -> float:
    if excess.size < 5 or excess.max() <= 0:
        return 0.0
    k = float(np.mean(np.log1p(-_profile(excess) * excess)))
    return (excess.size * k + 5.0) / (excess.size + 10.0)  # a weak prior at ½


def _scale(excess: Floats, shape: float) -> float:
    b = _profile(excess)
    return max(abs(shape / b), 1e-300) if b != 0 else float(np.mean(excess))


def _moved(points: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The mean of the weighted points and the root of their covariance."""
    mean = np.asarray(weights @ points)
    centred = points - mean
    try:
        return mean, np.asarray(np.linalg.cholesky((centred * weights[:, None]).T @ centred), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise AccuracyError("the weights leave too few points") from None


def _resampled(weights: Floats, count: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Systematic resampling."""
    places = (np.arange(count) + generator.random()) / count
    return np.minimum(np.searchsorted(np.cumsum(weights), places), weights.size - 1)
