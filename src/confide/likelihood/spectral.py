"""The spectral route: the exact law of a noisy mean, by inverting its transform.

p(y | θ) for `Mean` of a scalar s with Laplace or Gaussian noise, continuous or on a lattice, for any n ≥ 2 at which the
transform decays. No central limit theorem: clipping, skewness and lattices are all in it. What is chosen here is the
frequency grid; `inversion` does the integral.

θ are grouped so that in one group the spread of y differs by less than a factor, for one grid that serves a wide
range either aliases or wastes. Errors are checked, not assumed: a bound on the integral beyond the last frequency must
be below 1e-10 of the whole, and a shorter step must not move log p by more than 1e-9 at the extremes of each group.
Where the bound is not met the atoms of the record's law are taken out and as many frequencies used as it takes
(`slow`); on a lattice, the whole period.
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
from confide.likelihood.atoms import atom_values
from confide.likelihood.blocks import blocks, filled
from confide.likelihood.channel_noise import lattice_period, noise_step, noise_transform
from confide.likelihood.contour import Grid, centre
from confide.likelihood.lattice import lattice_spacing
from confide.likelihood.law import MovingLaw, Nodes, law_for, moments_at, nodes_at, slopes_at
from confide.likelihood.levels import on_levels, slopes_on_levels
from confide.likelihood.moving import moving_law
from confide.likelihood.record import RecordLaw
from confide.likelihood.route import Route, require_finite
from confide.likelihood.slow import SETTLED, hardly_decays, in_whole_periods, invert_slowly
from confide.likelihood.transforms import NoiseTransform
from confide.mechanism.additive import AdditiveLaw
from confide.mechanism.lattice import DiscreteGaussian, DiscreteLaplace
from confide.mechanism.noise import GaussianNoise, LaplaceNoise
from confide.statistic import Mean

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

_PER_SPREAD = 6.4  # frequencies per 1/sd(y): steps that alias at 40 sd
_FIRST = 96  # frequencies to begin with: they reach t = 15/sd
_WHOLE = 1024  # the fewest for a whole period; then eight times as many, and so on, so that little is compiled
_GROUP = 1.5  # largest ratio of spreads in a group of θ
_CUT = 1e-10
_SETTLED = 1e-9
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
    widest: float  # and the largest
    slow: bool  # whether more frequencies than a few are needed in any case

    def nodes(self, thetas: Floats) -> Nodes:
        """The laws at θ; of a statistic on a lattice as masses of its levels."""
        return on_levels(self.model, nodes_at(self.law, thetas))

    def slopes(self, thetas: Floats) -> Nodes:
        """Their derivatives in θ."""
        return slopes_on_levels(self.model, nodes_at(self.law, thetas), slopes_at(self.law, thetas))

    @property
    def whole(self) -> inv.Inversion:
        """The inversion over a whole period, with a step half as long as that which was checked where little is cut."""
        grid = self.inversion.grid
        frequencies = _WHOLE
        while frequencies < 2 * grid.half:
            frequencies *= 8
        return _with_grid(self.inversion, 0.5 * grid.step, 2.0 * grid.half, frequencies)


class SpectralRoute(Route):
    """Exact inversion of the transform of a noisy scalar mean."""

    name = "spectral"
    error = "none (checked to 1e-7)"

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
                "continuous, or if of its lattice and the noise's one holds the other); use latent methods for other "
                "noise"
            )
        return None

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """Grouped, checked inversion at concrete θ and y."""
        thetas, values = np.asarray(thetas), np.asarray(values)
        result, cut = np.full((len(thetas), len(values)), -np.inf), np.full((len(thetas), len(values)), np.inf)
        groups = plan(model, thetas)
        for group in (each for each in groups if not each.slow):
            result[group.index], cut[group.index] = _at_values(group, thetas[group.index], values)
        lost = _lost(result, cut)
        for group in groups:
            if np.any(lost[group.index]):
                _decide(group, lost[group.index], values, result, cut)
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
    law = law_for(model.population, model.channel.statistic, thetas, *tilt_of(model))
    transform = noise_transform(model)
    assert transform is not None
    means, covariances = (part[: len(thetas)] for part in moments_at(law, filled(thetas)))
    mean, spread = means[:, 0], np.sqrt(covariances[:, 0, 0])
    width = np.sqrt(spread**2 / model.channel.n + transform.variance)
    slow = hardly_decays(model, law, thetas)
    groups = []
    for index in [run for part in (slow, ~slow) for run in _runs(np.flatnonzero(part), width)]:
        n = float(model.channel.n)
        grid = frequency_grid(transform, float(spread[index].min()), n)
        reference = float(_reference(model, float(np.median(mean[index]))))
        grid = Grid(float(grid.step), float(grid.half))
        inversion = inv.Inversion(transform, reference, n, grid, _FIRST, _padded_atoms(model))
        ends = float(width[index].min()), float(width[index].max())
        groups.append(Group(index, model, thetas[index], law, inversion, *ends, bool(slow[index[0]])))
    return tuple(group if group.slow else _verified(model, group, thetas, mean, width) for group in groups)


def _padded_atoms(model: Model) -> Any:
    """Values of s that may have positive probability, in an array of few sizes."""
    atoms = atom_values(model.population, model.channel.statistic)  # type: ignore[arg-type]
    return np.pad(atoms, (0, -atoms.size % 4), mode="edge")


def tilt_of(model: Model) -> tuple[float, float]:
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


def _runs(chosen: NDArray[np.intp], width: Floats) -> list[NDArray[np.intp]]:
    order, runs, start = chosen[np.argsort(width[chosen])], [], 0
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
    step = noise_step(group.inversion.transform)
    if step > 0:
        y = step * np.round(y / step)
    current = group.inversion
    value, cut = _in_blocks(group, current, thetas[ends], y)
    for _ in range(6):
        half = float(np.ceil(current.grid.half / 0.7))
        shorter = 0.7 if np.isinf(half) else current.grid.half / half
        finer = _with_grid(current, current.grid.step * shorter, half)
        better, finer_cut = _in_blocks(group, finer, thetas[ends], y)
        sure = (cut < _CUT) & (finer_cut < _CUT)
        if np.max(np.abs(np.where(sure, better, 0.0) - np.where(sure, value, 0.0))) < _SETTLED:
            return replace(group, inversion=current)
        current, value, cut = finer, better, finer_cut
    raise AccuracyError(
        f"the spectral route does not settle for {model.channel.statistic} with n = {model.channel.n}; "
        "use route 'normal', or latent methods (infer with method='mhaar')"
    )


def _with_grid(inversion: inv.Inversion, step: Any, half: Any, frequencies: int = _FIRST) -> inv.Inversion:
    return replace(inversion, grid=Grid(step, half), frequencies=frequencies)


def _lost(log_prob: Floats, cut: Floats) -> NDArray[np.bool_]:
    """Where too much may have been cut off, unless p is negligible beside its largest sure value even with that."""
    sure = cut < _CUT
    best = np.max(np.where(sure, log_prob, -np.inf), axis=0, keepdims=True)
    with np.errstate(invalid="ignore"):
        most = np.where(np.isfinite(cut), log_prob + np.log1p(cut), np.inf)
    return ~sure & ~(most < best + math.log(_CUT))


def _require_decay(model: Model, values: Floats, log_prob: Floats, cut: Floats) -> None:
    """Refuse where what was cut off matters: at a θ whose likelihood is not negligible beside that of the best."""
    lost = np.any(_lost(log_prob, cut), axis=0)
    if np.any(lost):
        raise AccuracyError(
            f"the transform of {model.channel.statistic} with n = {model.channel.n} does not decay fast enough to be "
            f"inverted to {SETTLED:g} at y = {values[np.argmax(lost)]:g} (few records, a continuous law with atoms, "
            "and Laplace noise; or a value far from all that theta explains); use latent methods (infer with "
            "method='mhaar'), or route 'normal' for an approximation"
        )


def _in_blocks(group: Group, inversion: inv.Inversion, thetas: Floats, y: Floats) -> tuple[Floats, Floats]:
    """log p and the bound on the cut-off at (θ, y) pairs (B, Y)."""
    log_prob, cut = np.empty(y.shape), np.empty(y.shape)
    for block in blocks(thetas, y):
        found = inv.invert(inversion, group.nodes(block.thetas), block.y)
        block.scatter(log_prob, found.log_prob)
        block.scatter(cut, found.truncation)
    return log_prob, cut


def _decide(group: Group, lost: NDArray[np.bool_], values: Floats, result: Floats, cut: Floats) -> None:
    """Put log p and its error at the θ and values of the pairs that are lost where they belong."""
    rows = group.index[np.any(lost, axis=1)]
    columns = np.flatnonzero(np.any(lost, axis=0))
    y = np.broadcast_to(values[columns], (len(rows), len(columns)))
    thetas = group.thetas[np.any(lost, axis=1)]
    if np.isinf(group.inversion.grid.half):
        found = invert_slowly(group, thetas, y)
    else:
        found = in_whole_periods(group, group.whole, thetas, y)
    result[np.ix_(rows, columns)], cut[np.ix_(rows, columns)] = found


def _at_values(group: Group, thetas: Floats, values: Floats) -> tuple[Floats, Floats]:
    """log p and cut-off at all θ and values: many values share contours, but one by one where that costs digits."""
    inversion = group.inversion
    each = np.broadcast_to(values, (len(thetas), len(values)))
    if len(values) < runs.FEWEST or not runs.serve(inversion):
        return _in_blocks(group, inversion, thetas, each)
    log_prob, cut, rounding = runs.in_runs(inversion, group.law, thetas, values, group.spread)
    spoilt = np.any(rounding > _SETTLED, axis=1)
    if np.any(spoilt):
        log_prob[spoilt], cut[spoilt] = _in_blocks(group, inversion, thetas[spoilt], each[spoilt])
    return log_prob, cut
