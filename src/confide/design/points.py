"""Where in the parameter space channels are compared: a grid of θ, or a rule that averages over a prior.

For one parameter the rule is Gauss–Legendre in the prior's own probability: two panels for the middle four fifths, and
in each tail one panel per factor of ten, in the logarithm of the tail probability. The contributions of successive
tail panels tell whether an average exists: those of an integrand that grows like (tail probability)^−a change by
10^(a−1) from panel to panel, so an average diverges where they do not fall. Where they fall, what lies beyond the last
panel is a geometric series. Several parameters are averaged over a scrambled Halton sequence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import biject_to

from confide._compile import FAST_COMPILE
from confide.errors import InvalidArgument
from confide.population import Population
from confide.prior import Prior, probe

Floats = NDArray[np.float64]

#: panels of each tail, a decade of probability each, from 0.1 to 1e-6: beyond, a geometric series; they take 30 of 40 θ
_DECADES = 5
#: Gauss rules of a panel: five nodes in the middle, where the prior's mass is, three in the tails
_BODY, _TAIL = np.polynomial.legendre.leggauss(5), np.polynomial.legendre.leggauss(3)
#: successive tail panels that fall by less than this are taken for a divergent integral
_FALL = 0.93
#: chosen: points of a Halton sequence for several parameters, each of which costs an information
_SEQUENCE = 256
#: the quartiles, and how many standard deviations lie between them in a normal law
_QUARTILES, _NORMAL_RANGE = np.asarray([0.25, 0.75]), 1.3489795003921634
#: the prior's distribution function is tabulated at quartile + interquartile range · sinh(t)
_SINH = np.linspace(-21.0, 21.0, 15001)


@dataclass(frozen=True, eq=False)
class Points:
    """θ (M, d) and weights that sum to one; `tails` lists a prior's tail panels from the inside out.

    `precision` (d,) is what a prior knows of each coordinate before anything is published, none without a prior.
    """

    thetas: Floats
    weights: Floats
    prior: bool = False
    tails: tuple[tuple[NDArray[np.intp], ...], ...] = field(default=(), repr=False)
    precision: Floats | None = None

    @property
    def body(self) -> NDArray[np.bool_]:
        """Which points lie in the middle 98% of a prior; all of them where there are no tail panels."""
        inside = np.ones(len(self.thetas), bool)
        for panels in self.tails:
            for panel in panels[1:]:
                inside[panel] = False
        return inside

    def average(self, values: Floats, *, bounded: bool = False) -> float:
        """The weighted mean over the last axis, extended into the tails; inf (or −inf) where it does not exist.

        Of several parameters the largest values tell whether it does, unless they are known to be `bounded`.
        """
        if not np.all(np.isfinite(values)):
            return float(np.sum(values * self.weights)) if np.all(values >= 0) else float("nan")
        total = float(values @ self.weights)
        for panels in self.tails:
            parts = [float(values[panel] @ self.weights[panel]) for panel in panels]
            beyond = _beyond(parts, total)
            if np.isinf(beyond):
                return beyond
            total += beyond
        return _heavy(values, total) if self.prior and not (self.tails or bounded) else total


def _beyond(parts: list[float], total: float) -> float:
    """What lies beyond the last of a sequence of tail panels: a geometric series, or ±inf."""
    *_, before, last = parts
    if abs(last) <= 1e-12 * abs(total) or before == 0:
        return 0.0
    ratio = last / before
    if ratio >= _FALL:
        return float(np.copysign(np.inf, last))
    return last * ratio / (1 - ratio) if ratio > 0 else 0.0


def _heavy(values: Floats, total: float) -> float:
    """inf where Hill's estimate from the largest values says that their law has no mean."""
    top = np.sort(np.abs(values))[-max(8, values.size // 16) :]
    if top[0] <= 0:
        return total
    index = 1.0 / max(float(np.mean(np.log(top / top[0]))), 1e-12)
    return float(np.copysign(np.inf, total)) if index < 1.0 / (1.0 + np.log10(_FALL)) else total


def points(population: Population, theta: Any, prior: Any) -> Points:
    """The points from what a verb was given: exactly one of a θ (or a grid of them) and a prior."""
    if (theta is None) == (prior is None):
        both = "is given beside a prior" if theta is not None else "is missing, and so is a prior"
        raise InvalidArgument("theta", theta, both, "give either theta= (one, or a grid) or prior=")
    if prior is not None:
        return prior_points(Prior.of(population, prior))
    grid = np.asarray(population.theta(theta)).reshape(-1, population.dimension)
    if len(grid) == 0:
        raise InvalidArgument("theta", theta, "is empty", "give at least one value of theta")
    return Points(grid, np.full(len(grid), 1.0 / len(grid)))


def prior_points(prior: Prior) -> Points:
    """A rule that averages over the prior."""
    with jax.enable_x64(True):
        if prior.dimension == 1:
            levels, weights, tails = _levels()
            found = quantiles(prior.parts[0], np.concatenate([_QUARTILES, levels]))[:, None]
            return Points(found[2:], weights, True, tails, _precision(found[:2]))
        # a third of the time that importing everything else takes
        from scipy.stats import qmc

        columns = []
        scalars = [part for part in prior.parts if not part.event_dim]
        cube = qmc.Halton(max(len(scalars), 1), rng=0).random(_SEQUENCE)
        for key, part in enumerate(prior.parts):
            if part.event_dim:
                columns.append(np.asarray(part.sample(jax.random.key(key), (_SEQUENCE,))).reshape(_SEQUENCE, -1))
            else:
                columns.append(quantiles(part, cube[:, scalars.index(part)])[:, None])
    thetas = np.concatenate(columns, axis=1)
    precision = _precision(np.quantile(thetas, _QUARTILES, axis=0))
    return Points(thetas, np.full(_SEQUENCE, 1.0 / _SEQUENCE), True, precision=precision)


def _precision(quartiles: Floats) -> Floats:
    """1/σ² of the normal laws with these quartiles (2, d): finite whatever a prior's tails are."""
    return np.asarray((_NORMAL_RANGE / np.diff(quartiles, axis=0)[0]) ** 2)


def _levels() -> tuple[Floats, Floats, tuple[tuple[NDArray[np.intp], ...], ...]]:
    """Probabilities, their weights, and which of them lie in which tail panel."""
    nodes, weights = _BODY
    body = np.concatenate([0.3 + 0.2 * nodes, 0.7 + 0.2 * nodes])
    mass = np.concatenate([0.2 * weights, 0.2 * weights])
    nodes, weights = _TAIL
    decades = np.arange(1, _DECADES + 1)[:, None]
    logs = np.log(10.0) * (-decades + 0.5 * (nodes - 1.0))
    tail, tail_mass = np.exp(logs), 0.5 * np.log(10.0) * weights * np.exp(logs)
    size = tail.shape[1]
    low = tuple(np.arange(size) + k * size for k in range(_DECADES))
    high = tuple(panel + tail.size + body.size for panel in low)
    levels = np.concatenate([tail.ravel(), body, 1.0 - tail.ravel()])
    masses = np.concatenate([tail_mass.ravel(), mass, tail_mass.ravel()])
    return levels, masses / masses.sum(), (low, high)


def quantiles(part: Any, levels: Floats) -> Floats:
    """Quantiles of a scalar distribution, from its density in free coordinates: numpyro lacks many of them."""
    low, middle, high = np.quantile(_freed(part, probe(part, 0)), [0.25, 0.5, 0.75])
    free = middle + max(high - low, 1e-12) * np.sinh(_SINH)
    value, log_density = (np.asarray(each) for each in _with_log_density(part, free))
    usable = np.isfinite(value) & np.isfinite(log_density)
    density = np.where(usable, np.exp(np.where(usable, log_density, 0.0)), 0.0) * np.cosh(_SINH)
    steps = 0.5 * (density[1:] + density[:-1])
    below = np.concatenate([[0.0], np.cumsum(steps)])
    above = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
    total = below[-1]
    at = np.where(
        levels < 0.5,
        np.interp(np.log(levels), *_increasing(np.log(np.maximum(below / total, 1e-300)))),
        -np.interp(np.log1p(-levels), *_increasing(np.log(np.maximum(above[::-1] / total, 1e-300)))),
    )
    return np.asarray(_values(part, middle + max(high - low, 1e-12) * np.sinh(at)), dtype=np.float64)


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _freed(part: Any, draws: jax.Array) -> jax.Array:
    return jnp.asarray(biject_to(part.support).inv(draws))


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _values(part: Any, free: jax.Array) -> jax.Array:
    return jnp.asarray(biject_to(part.support)(free))


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _with_log_density(part: Any, free: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Values of free coordinates, and the log density of these."""
    transform = biject_to(part.support)
    value = transform(free)
    return value, part.log_prob(value) + transform.log_abs_det_jacobian(free, value)


def _increasing(logs: Floats) -> tuple[Floats, Floats]:
    """A strictly increasing part of a table of log probabilities, against t."""
    keep = np.concatenate([[True], np.diff(logs) > 0])
    return logs[keep], _SINH[keep]
