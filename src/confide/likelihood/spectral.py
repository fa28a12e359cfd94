"""The spectral route: the exact law of a noisy mean, by inverting its transform.

p(y | θ) for `Mean` of a scalar s with Laplace or Gaussian noise, continuous or on a lattice, for any n ≥ 2 at which the
transform decays. No central limit theorem: clipping, skewness and lattices are all in it. What is chosen here is the
frequency grid; `inversion` does the integral.

θ are grouped so that in one group the spread of y differs by less than a factor, for one grid that serves a wide
range either aliases or wastes. Errors are checked, not assumed: the integrand must have decayed below 1e-10 of the
integral at the last frequency (else twice as many are used, and finally the route refuses), and a shorter step must
not move log p by more than 1e-9 at the extremes of each group.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood import inversion as inv
from confide.likelihood import runs
from confide.likelihood.blocks import blocks, filled
from confide.likelihood.contour import Grid, centre
from confide.likelihood.lattice import lattice_spacing
from confide.likelihood.law import MovingLaw, law_for, moments_at, nodes_at
from confide.likelihood.moving import moving_law
from confide.likelihood.record import RecordLaw, record_law
from confide.likelihood.route import Route, require_finite
from confide.likelihood.transforms import (
    DiscreteTransform,
    GaussianOnLattice,
    GaussianTransform,
    LaplaceOnLattice,
    LaplaceTransform,
    NoiseTransform,
)
from confide.mechanism.additive import AdditiveLaw
from confide.mechanism.lattice import DiscreteGaussian, DiscreteLaplace
from confide.mechanism.noise import GaussianNoise, LaplaceNoise
from confide.statistic import Mean

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

_PER_SPREAD = 6.4  # frequencies per 1/sd(y): steps that alias at 40 sd
_FIRST = 96  # frequencies to begin with: they reach t = 15/sd
_MOST, _MOST_MOVING = 6144, 768  # nodes that move with θ are not made denser for high frequencies
_GROUP = 1.5  # largest ratio of spreads in a group of θ
_CUT = 1e-10
_SETTLED = 1e-9
_SURE = 4  # of the seven values at which the step is checked, how many must be free of the cut-off
_MANY = 300


@dataclass(frozen=True)
class Group:
    """A run of θ that share a frequency grid."""

    index: NDArray[np.intp]
    model: Model
    thetas: Floats
    law: RecordLaw | MovingLaw
    inversion: inv.Inversion
    spread: float  # the least standard deviation of y, without the noise if that has poles

    def with_more(self) -> list[Group]:
        """The group with eight times as many frequencies, if it may have them."""
        most = _MOST_MOVING if isinstance(self.law, MovingLaw) else _MOST
        if self.inversion.frequencies >= most:
            return []
        grid = self.inversion.grid
        return [replace(self, inversion=_with_grid(self.inversion, grid.step, grid.half, more=8))]

    def law_for(self, inversion: inv.Inversion) -> RecordLaw | MovingLaw:
        """The record's law with nodes dense enough for the inversion's highest frequency."""
        if inversion.frequencies <= _FIRST or isinstance(self.law, MovingLaw):
            return self.law
        highest = inversion.frequencies * float(inversion.grid.step) / inversion.n
        tilt, steepest = _tilt(self.model)
        return record_law(self.model.population, self.model.channel.statistic, self.thetas, tilt, highest, steepest)


class SpectralRoute(Route):
    """Exact inversion of the transform of a noisy scalar mean."""

    name = "spectral"
    error = "none (checked to 1e-9)"

    def refuses(self, model: Model) -> str | None:
        """A scalar mean with additive noise, of two records or more."""
        channel = model.channel
        if not isinstance(channel.statistic, Mean) or channel.statistic.dimension > 1:
            return "the spectral route serves a scalar Mean; use route 'order', 'records' or 'normal'"
        if channel.n == 1:
            return "the mean of one record is the record itself; use route 'records'"
        if not isinstance(channel.law, AdditiveLaw) or noise_transform(model) is None:
            return (
                "the spectral route serves Laplace and Gaussian noise (on a lattice only if the statistic is "
                "continuous or on the same lattice); use latent methods for other noise"
            )
        return None

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """Grouped, checked inversion at concrete θ and y."""
        thetas, values = np.asarray(thetas), np.asarray(values)
        result, cut = np.empty((2, len(thetas), len(values)))
        pending = list(plan(model, thetas))
        while pending:
            for group in pending:
                result[group.index], cut[group.index] = _at_values(group, thetas[group.index], values)
            lost = _lost(result, cut)
            pending = [more for group in pending if np.any(lost[group.index] > _CUT) for more in group.with_more()]
        require_finite(model, thetas, values, result)
        _require_decay(model, values, result, cut)
        return result

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """One θ inside a trace: nodes move with θ, and the grid is chosen from its moments."""
        transform, n = noise_transform(model), float(model.channel.n)
        assert transform is not None
        s, weights = moving_law(model.population, model.channel.statistic, theta)
        frozen, values = jax.lax.stop_gradient((weights, s[0]))
        mean = frozen @ values
        spread = jnp.sqrt(frozen @ (values - mean) ** 2)
        reference = _reference(model, mean)
        grid = frequency_grid(transform, spread, n)
        c = centre(s[0] - reference, n, grid, 3 * _FIRST)
        return inv.invert_one(transform, c, weights, value - reference, n, grid).log_prob

    def information(self, model: Model, thetas: Any) -> jax.Array:
        """∫ score scoreᵀ p dy on panels of y."""
        from confide.likelihood.spectral_information import spectral_information

        return spectral_information(model, np.asarray(thetas))


def noise_transform(model: Model) -> NoiseTransform | None:
    """How the channel's noise enters the inversion; None where it cannot."""
    law, n = model.channel.law, model.channel.n
    statistic = model.channel.statistic
    assert isinstance(law, AdditiveLaw)
    assert isinstance(statistic, Mean)
    lattice = lattice_spacing(model.population, statistic)
    noise = law.noise
    if isinstance(noise, DiscreteLaplace | DiscreteGaussian):
        gaussian = isinstance(noise, DiscreteGaussian)
        matched = lattice is not None and _matches(lattice, noise.step, n)
        if lattice is not None and not matched:
            return None
        return DiscreteTransform(noise.scale, noise.step, gaussian=gaussian, box=not matched)
    if isinstance(noise, LaplaceNoise):
        return LaplaceTransform(noise.scale) if lattice is None else LaplaceOnLattice(noise.scale, lattice[1] / n)
    if isinstance(noise, GaussianNoise):
        return GaussianTransform(noise.scale) if lattice is None else GaussianOnLattice(noise.scale, lattice[1] / n)
    return None


def _matches(lattice: tuple[float, float], step: float, n: int) -> bool:
    """Whether the statistic's lattice is the noise's own, origin included."""
    origin, spacing = lattice[0] / step, lattice[1] / n / step
    return abs(spacing - 1.0) < 1e-9 / n and abs(origin - round(origin)) < 1e-9


def lattice_period(transform: NoiseTransform) -> float:
    """The spacing of the lattice on which the transform of the statistic is periodic; 0 for a continuum."""
    if isinstance(transform, LaplaceOnLattice | GaussianOnLattice):
        return transform.spacing
    return transform.step if isinstance(transform, DiscreteTransform) and not transform.box else 0.0


def _reference(model: Model, mean: Any) -> Any:
    """The point from which s is measured: near the mean, and on the lattice if there is one."""
    lattice = lattice_spacing(model.population, model.channel.statistic)  # type: ignore[arg-type]
    if lattice is None:
        return mean
    xp: Any = jnp if isinstance(mean, jax.Array) else np
    return lattice[0] + lattice[1] * xp.round((mean - lattice[0]) / lattice[1])


def frequency_grid(transform: NoiseTransform, spread: Any, n: float) -> Grid:
    """Steps of the frequency for a group of laws, where `spread` is the smallest standard deviation of s."""
    xp: Any = jnp if isinstance(spread, jax.Array) else np  # numbers that are known need no compiled program
    spread = xp.sqrt((spread / math.sqrt(n)) ** 2 + transform.variance)
    step = 1.0 / (_PER_SPREAD * spread)
    if not transform.crossable:  # keep the contour well between the poles
        step = xp.minimum(step, 2.0 * xp.pi * transform.pole / 70.0)
    h = lattice_period(transform)
    if h == 0.0:
        return Grid(step, xp.inf)
    # on a lattice the period 2π/h holds a whole, even number of steps, at least sixteen
    half = xp.maximum(8.0, xp.ceil(xp.pi / h / step))
    return Grid(xp.pi / h / half, half)


def plan(model: Model, thetas: Floats) -> tuple[Group, ...]:
    """Groups of θ with their grids, chosen and checked once for a model and its θ."""
    return _plan(model, thetas.tobytes())


@functools.lru_cache(maxsize=64)
def _plan(model: Model, content: bytes) -> tuple[Group, ...]:
    thetas = np.frombuffer(content).reshape(-1, model.population.dimension)
    law = law_for(model.population, model.channel.statistic, thetas, *_tilt(model))
    transform = noise_transform(model)
    assert transform is not None
    means, covariances = (part[: len(thetas)] for part in moments_at(law, filled(thetas)))
    mean, spread = means[:, 0], np.sqrt(covariances[:, 0, 0])
    width = np.sqrt(spread**2 / model.channel.n + transform.variance)
    order = np.argsort(width)
    groups = []
    for index in _runs(order, width):
        n = float(model.channel.n)
        grid = frequency_grid(transform, float(spread[index].min()), n)
        reference = float(_reference(model, float(np.median(mean[index]))))
        grid = Grid(float(grid.step), float(grid.half))
        inversion = inv.Inversion(transform, reference, n, grid, _FIRST)
        groups.append(Group(index, model, thetas[index], law, inversion, float(width[index].min())))
    return tuple(_verified(model, group, thetas, mean, width) for group in groups)


def _tilt(model: Model) -> tuple[float, float]:
    """How far records are tilted, in spreads of s, and the steepest slope that the noise allows.

    y ten spreads out tilts each record by up to ten over the root of n; for many records that is nothing. But noise
    takes its part of the distance: the contour of Laplace noise of scale b stays near its pole at 1/b, and with
    Gaussian noise the saddlepoint τ is below (y − μ)/σ².
    """
    n = model.channel.n
    if n >= _MANY:
        return 0.0, math.inf
    law = model.channel.law
    noise = getattr(law, "noise", None)
    low, high = model.channel.statistic.ranges[0]
    if isinstance(noise, LaplaceNoise | DiscreteLaplace):
        steepest = 2.0 / (n * noise.scale)
    elif isinstance(noise, GaussianNoise | DiscreteGaussian):
        steepest = 12.0 * math.hypot((high - low) / (2 * math.sqrt(n)), noise.scale) / (n * noise.scale**2)
    else:
        steepest = math.inf
    return 12.0 / math.sqrt(n), steepest


def _runs(order: NDArray[np.intp], width: Floats) -> list[NDArray[np.intp]]:
    runs, start = [], 0
    for i in range(1, len(order) + 1):
        if i == len(order) or width[order[i]] > _GROUP * width[order[start]]:
            runs.append(order[start:i])
            start = i
    return runs


def _verified(model: Model, group: Group, thetas: Floats, mean: Floats, width: Floats) -> Group:
    """Shorten the step until that moves nothing, at the narrowest and widest θ of the group."""
    ends = group.index[[0, -1]]
    reach = width[ends] + getattr(model.channel.law.noise, "scale", 0.0)  # type: ignore[attr-defined]
    y = mean[ends][:, None] + reach[:, None] * np.asarray([-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0])
    if isinstance(group.inversion.transform, DiscreteTransform):
        y = group.inversion.transform.step * np.round(y / group.inversion.transform.step)
    value, cut, current = _decayed(group, group.inversion, thetas[ends], y)
    for _ in range(6):
        half = math.ceil(current.grid.half / 0.7) if np.isfinite(current.grid.half) else np.inf
        shorter = 0.7 if np.isinf(half) else current.grid.half / half
        better, finer_cut, finer = _decayed(
            group, _with_grid(current, current.grid.step * shorter, half), thetas[ends], y
        )
        sure = (cut < _CUT) & (finer_cut < _CUT)
        if np.max(np.abs(better - value), where=sure, initial=0.0) < _SETTLED:
            return replace(group, inversion=current)
        current, value, cut = finer, better, finer_cut
    raise AccuracyError(
        f"the spectral route does not settle for {model.channel.statistic} with n = {model.channel.n}; "
        "use route 'normal', or latent methods (infer with method='mhaar')"
    )


def _with_grid(inversion: inv.Inversion, step: Any, half: Any, more: int = 1) -> inv.Inversion:
    transform, reference, n = inversion.transform, inversion.reference, inversion.n
    return inv.Inversion(transform, reference, n, Grid(step, half), more * inversion.frequencies)


def _decayed(group: Group, inversion: inv.Inversion, thetas: Floats, y: Floats) -> tuple[Floats, Floats, inv.Inversion]:
    """log p at (θ, y) pairs (B, Y) with as many frequencies as let most of a row decay, up to a limit.

    Also the relative size of what was cut off, and the inversion used.
    """
    while True:
        log_prob, cut = _in_blocks(group, inversion, thetas, y)
        enough = np.all(np.count_nonzero(cut < _CUT, axis=1) >= _SURE)
        more = [] if enough else replace(group, inversion=inversion).with_more()
        if not more:
            return log_prob, cut, inversion
        inversion = more[0].inversion


def _lost(log_prob: Floats, cut: Floats) -> Floats:
    """What was cut off at each θ, relative to the best θ's likelihood: nothing, where it is small beside its own."""
    best = np.max(log_prob, axis=0, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        lost = np.where(cut < _CUT, 0.0, cut * np.exp(np.minimum(log_prob - best, 0.0)))
    return np.nan_to_num(lost, nan=np.inf)


def _require_decay(model: Model, values: Floats, log_prob: Floats, cut: Floats) -> None:
    """Refuse where what was cut off matters: at a θ whose likelihood is not negligible beside that of the best."""
    lost = np.any(_lost(log_prob, cut) > _CUT, axis=0)
    if np.any(lost):
        raise AccuracyError(
            f"the transform of {model.channel.statistic} with n = {model.channel.n} does not decay fast enough to be "
            f"inverted to {_CUT:g} at y = {values[np.argmax(lost)]:g} (few records, a continuous law with atoms, and "
            "Laplace noise; or a value far from all that theta explains); use latent methods (infer with "
            "method='mhaar'), or route 'normal' for an approximation"
        )


def _in_blocks(group: Group, inversion: inv.Inversion, thetas: Floats, y: Floats) -> tuple[Floats, Floats]:
    """log p and cut-off at (θ, y) pairs (B, Y)."""
    law = group.law_for(inversion)
    log_prob, cut = np.empty(y.shape), np.empty(y.shape)
    for block in blocks(thetas, y):
        found = inv.invert(inversion, nodes_at(law, block.thetas), block.y)
        block.scatter(log_prob, found.log_prob)
        block.scatter(cut, found.truncation)
    return log_prob, cut


def _at_values(group: Group, thetas: Floats, values: Floats) -> tuple[Floats, Floats]:
    """log p and cut-off at all θ and values: many values share contours, but one by one where that costs digits."""
    inversion = group.inversion
    each = np.broadcast_to(values, (len(thetas), len(values)))
    if len(values) < runs.FEWEST or not runs.serve(inversion):
        return _in_blocks(group, inversion, thetas, each)
    log_prob, cut, rounding = runs.in_runs(inversion, group.law_for(inversion), thetas, values, group.spread)
    spoilt = np.any(rounding > _SETTLED, axis=1)
    if np.any(spoilt):
        log_prob[spoilt], cut[spoilt] = _in_blocks(group, inversion, thetas[spoilt], each[spoilt])
    return log_prob, cut
