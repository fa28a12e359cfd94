"""Frequency grids of the spectral route: θ in groups that share one, chosen from moments and checked.

In one group the spread of y differs by less than a factor, for one grid that serves a wide range either aliases or
wastes. A shorter step must not move log p by more than 1e-9 at the extremes of each group.
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
from confide.likelihood.batched import blocks
from confide.likelihood.inversion import integral as inv
from confide.likelihood.inversion.atoms import atom_values, nearest_atom
from confide.likelihood.inversion.contour import FrequencyGrid
from confide.likelihood.noise.channel import lattice_period, noise_step, noise_transform
from confide.likelihood.noise.lattice import lattice_spacing
from confide.likelihood.noise.transform import LaplaceTransform, NoiseTransform
from confide.likelihood.record_law.levels import on_levels, slopes_on_levels
from confide.likelihood.record_law.moments import (
    AnyRecordLaw,
    MovingLaw,
    Nodes,
    law_for,
    moments_at,
    nodes_at,
    slopes_at,
)
from confide.likelihood.record_law.rows.law import ClippedRows, clipped_rows

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

PER_SPREAD = 6.4  # frequencies per 1/sd(y): steps that alias at 40 sd
FIRST = 96  # frequencies to begin with: they reach t = 15/sd
_GROUP = 1.5  # largest ratio of spreads in a group of θ
#: what may be cut off, relative to p, and how far a shorter step may move log p
CUT, SETTLED = 1e-10, 1e-9
#: the period of the density on the grid of slow inversions, in spreads of y and in scales of Laplace noise, of which
#: fewer do if its poles can be passed
SPREADS, SCALES, _SCALES_PASSED = 48.0, 140.0, 80.0
_MANY = 300
#: the least spread of y that a grid is made for, in ranges of s: a law of one point has none
_NARROWEST = 1e-9
#: the probability that all records sit in atoms, above which a few frequencies cannot suffice: it does not decay
_IN_ATOMS = 1e-6


#: a mean whose spread is less than so many steps of the noise has most of its transform left when that has come back
_COMES_BACK = 0.5


@dataclass(frozen=True)
class Group:
    """A run of θ that share a frequency grid."""

    index: NDArray[np.intp]
    model: Model
    thetas: Floats
    law: AnyRecordLaw
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
    def on_lattice(self) -> bool:
        """Whether the statistic has a lattice, and the integral an end."""
        return self.inversion.grid.half is not None


def reference_of(model: Model, mean: Any) -> Any:
    """The point from which s is measured: near the mean, and on the lattice if there is one."""
    lattice = lattice_spacing(model.population, model.channel.statistic)
    if lattice is None:
        return mean
    xp: Any = jnp if isinstance(mean, jax.Array) else np
    return lattice[0] + lattice[1] * xp.round((mean - lattice[0]) / lattice[1])


def frequency_grid(transform: NoiseTransform, spread: Any, n: float) -> FrequencyGrid:
    """Steps of the frequency for a group of laws, where `spread` is the smallest standard deviation of s."""
    xp: Any = jnp if isinstance(spread, jax.Array) else np  # numbers that are known need no compiled program
    spread = xp.sqrt((spread / math.sqrt(n)) ** 2 + transform.variance)
    step = 1.0 / (PER_SPREAD * spread)
    if not transform.crossable:  # keep the contour well between the poles
        step = xp.minimum(step, 2.0 * xp.pi * transform.pole / 70.0)
    h = lattice_period(transform)
    if h == 0.0:
        return FrequencyGrid(step)
    # on a lattice the period 2π/h holds a whole, even number of steps, at least sixteen
    half = xp.maximum(8.0, xp.ceil(xp.pi / h / step))
    return FrequencyGrid(xp.pi / h / half, half)


def plan(model: Model, thetas: Floats, *, checked: bool = True) -> tuple[Group, ...]:
    """Groups of θ with their grids, chosen and checked once for a model and its θ; `at_once` checks them by itself."""
    return _plan(model, thetas.tobytes(), checked)


@functools.lru_cache(maxsize=64)
def _plan(model: Model, content: bytes, checked: bool) -> tuple[Group, ...]:
    thetas = np.frombuffer(content).reshape(-1, model.population.dimension)
    law = law_for(model.population, model.channel.statistic, thetas, *tilt_of(model))
    transform = noise_transform(model)
    assert transform is not None
    means, covariances = moments_at(law, thetas)
    if isinstance(law, ClippedRows):
        law = _of_rows(model, thetas, float(np.sqrt(covariances[:, 0, 0].min())), transform)
    mean, spread = means[:, 0], np.sqrt(covariances[:, 0, 0])
    low, high = model.channel.statistic.ranges[0]
    spread = np.maximum(spread, _NARROWEST * (high - low) * math.sqrt(model.channel.n))
    width = np.sqrt(spread**2 / model.channel.n + transform.variance)
    slow = _hardly_decays(model, law, thetas)
    if (
        lattice_spacing(model.population, model.channel.statistic) is None
    ):  # when the noise comes back the mean is there
        slow |= spread / math.sqrt(model.channel.n) < _COMES_BACK * noise_step(transform)
    groups = []
    # widths that make no difference to a slow group do not part it
    runs = _runs(np.flatnonzero(slow), np.maximum(width, unnoticed_width(transform)))
    for index in [*runs, *_runs(np.flatnonzero(~slow), width)]:
        n = float(model.channel.n)
        grid = frequency_grid(transform, float(spread[index].min()), n)
        reference = float(reference_of(model, float(np.median(mean[index]))))
        grid = FrequencyGrid(float(grid.step), None if grid.half is None else float(grid.half))
        inversion = inv.Inversion(transform, reference, n, grid, FIRST, _padded_atoms(model))
        ends = float(width[index].min()), float(width[index].max())
        groups.append(Group(index, model, thetas[index], law, inversion, *ends, bool(slow[index[0]])))
    return tuple(
        group if group.slow or not checked else _verified(model, group, thetas, mean, width) for group in groups
    )


def _of_rows(model: Model, thetas: Floats, spread: float, transform: NoiseTransform) -> ClippedRows:
    """The law of rows, as fine as the highest of the first frequencies asks for, given the least spread of s."""
    low, high = model.channel.statistic.ranges[0]
    n = float(model.channel.n)
    spread = max(spread, _NARROWEST * (high - low) * math.sqrt(n))
    step = float(frequency_grid(transform, spread, n).step)
    return clipped_rows(model.population, model.channel.statistic, thetas, step * FIRST / n * (high - low))


def _hardly_decays(model: Model, law: AnyRecordLaw, thetas: Floats) -> NDArray[np.bool_]:
    """At which θ all records may well sit in atoms, so that under Laplace noise the transform decays like t⁻² only.

    At all of them, where the noise has no transform that serves.
    """
    atoms = atom_values(model.population, model.channel.statistic)
    transform = noise_transform(model)
    if transform is None or not transform.invertible:
        return np.ones(len(thetas), dtype=bool)
    if type(transform) is not LaplaceTransform or atoms.size == 0:
        return np.zeros(len(thetas), dtype=bool)
    nodes = nodes_at(law, thetas)
    in_atoms = nearest_atom(np.asarray(nodes.s), atoms) >= 0
    mass = np.sum(np.where(in_atoms, np.asarray(nodes.weights), 0.0), axis=-1)
    return np.asarray(mass > _IN_ATOMS ** (1.0 / model.channel.n))


def _padded_atoms(model: Model) -> Any:
    """Values of s that may have positive probability, in an array of few sizes."""
    atoms = atom_values(model.population, model.channel.statistic)
    return np.pad(atoms, (0, -atoms.size % 4), mode="edge")


def unnoticed_width(transform: NoiseTransform) -> float:
    """The spread of y below which the noise alone decides on the period of a slow inversion."""
    return (_SCALES_PASSED if transform.crossable else SCALES) / float(transform.pole) / SPREADS


def tilt_of(model: Model) -> tuple[float, float]:
    """How far records are tilted, in spreads of s, and the steepest slope that the noise allows.

    y ten spreads out tilts each record by up to ten over the root of n; for many records that is nothing. But noise
    takes its part of the distance: the contour of Laplace noise of scale b stays near its pole at 1/b, and with
    Gaussian noise the saddlepoint τ is below (y − μ)/σ².
    """
    n = model.channel.n
    if n >= _MANY:
        return 0.0, math.inf
    noise = model.channel.law.added
    low, high = model.channel.statistic.ranges[0]
    if noise is None:
        steepest = math.inf
    elif noise.exponential:
        steepest = 2.0 / (n * noise.scale)
    else:
        steepest = 12.0 * math.hypot((high - low) / (2 * math.sqrt(n)), noise.scale) / (n * noise.scale**2)
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
    value, cut = in_blocks(group, current, thetas[ends], y)
    for _ in range(6):
        half, shorter = None, 0.7
        if current.grid.half is not None:
            half = float(np.ceil(current.grid.half / 0.7))
            shorter = float(current.grid.half) / half
        finer = _with_grid(current, current.grid.step * shorter, half)
        better, finer_cut = in_blocks(group, finer, thetas[ends], y)
        sure = (cut < CUT) & (finer_cut < CUT)
        if np.max(np.abs(np.where(sure, better, 0.0) - np.where(sure, value, 0.0))) < SETTLED:
            return replace(group, inversion=current)
        current, value, cut = finer, better, finer_cut
    raise AccuracyError(
        f"the spectral route does not settle for {model.channel.statistic} with n = {model.channel.n}; "
        "use route 'normal', or latent methods (infer with method='mhaar')"
    )


def _with_grid(inversion: inv.Inversion, step: Any, half: Any, frequencies: int = FIRST) -> inv.Inversion:
    return replace(inversion, grid=FrequencyGrid(step, half), frequencies=frequencies)


def in_blocks(group: Group, inversion: inv.Inversion, thetas: Floats, y: Floats) -> tuple[Floats, Floats]:
    """log p and the bound on the cut-off at (θ, y) pairs (B, Y)."""
    log_prob, cut = np.empty(y.shape), np.empty(y.shape)
    for block in blocks(thetas, y, dear=isinstance(group.law, MovingLaw)):  # each row has nodes of its own
        found = inv.invert(inversion, group.nodes(block.thetas), block.y)
        block.scatter(log_prob, found.log_prob)
        truncation, rounding = np.asarray(found.truncation), np.asarray(found.rounding)
        # digits that are lost in cancellation are as good as cut off
        block.scatter(cut, truncation + np.where(rounding < SETTLED, 0.0, rounding))
    return log_prob, cut
