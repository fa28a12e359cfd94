"""The inversion for many values of y that all θ share.

A contour is chosen for a run of neighbouring values instead of for each. Any contour gives the same integral, and one
that suits a value δ away, in spreads of y, costs e^{δ²/2} in digits: two spreads cost less than one. On a contour that
does not move with y the integrand is C_k e^{−(τ + it_k)y}, so that all values of a run and all θ are one matrix
product with cos(t_k y) and sin(t_k y). It serves noise that has one transform for every y: Laplace and Gaussian noise
on a continuum.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE
from confide.likelihood.inversion import integral as inv
from confide.likelihood.inversion.contour import Centred, along
from confide.likelihood.noise.transform import GaussianTransform, LaplaceTransform
from confide.likelihood.record_law.moments import AnyRecordLaw, Nodes, nodes_at

Floats = NDArray[np.float64]

#: from so many values on they are worth it
FEWEST = 8
#: the widest run, in spreads of y
_WIDEST = 4.0
#: θ, runs and values of a run that are computed together: one shape, so that little is compiled
_ROWS, _RUNS, _VALUES = 32, 4, 32


def serve(inversion: inv.Inversion) -> bool:
    """Whether the noise has one transform for every y."""
    return type(inversion.transform) in (LaplaceTransform, GaussianTransform)


@functools.partial(jax.jit, compiler_options=FAST_COMPILE)
def invert_runs(inversion: inv.Inversion, law: Nodes, y: jax.Array) -> inv.Density:
    """log p(y | θ) for B laws and runs of values (R, K): each of shape (B, R, K)."""
    transform, n, grid = inversion.transform, inversion.n, inversion.grid
    middle = 0.5 * (y[:, 0] + y[:, -1]) - inversion.reference
    offset = y - inversion.reference - middle[:, None]
    k = jnp.arange(inversion.frequencies + 1)
    turns = grid.step * k * offset[..., None]  # (R, K, F+1)
    waves = jnp.cos(turns), jnp.sin(turns)

    def one(s: jax.Array, weights: jax.Array) -> inv.Density:
        c = inversion.centred(s)
        return jax.vmap(lambda m, d, cosine, sine: run(c, weights, m, d, cosine, sine))(middle, offset, *waves)

    def run(
        c: Centred, weights: jax.Array, y: jax.Array, offset: jax.Array, cosine: jax.Array, sine: jax.Array
    ) -> inv.Density:
        path, log_m = along(transform, c, weights, y, n, grid)
        terms, peak = inv.integrand(transform, log_m, path.tau, y, grid)
        residue = inv.log_residue(transform, n * path.at_pole, path.crossed, y + offset)
        tilt = peak - path.tau * offset
        top = jnp.maximum(tilt, residue)
        total = (cosine @ terms.real + sine @ terms.imag) * jnp.exp(tilt - top) + jnp.exp(residue - top)
        size = jnp.abs(terms)
        cut = jnp.exp(path.log_cut + tilt - top) / jnp.pi
        rounded = 2.0**-52 * (jnp.sum(size) * jnp.exp(tilt - top) + jnp.exp(residue - top))
        return inv.density(total, top, cut, rounded)

    return jax.vmap(one, in_axes=(law.batched, 0))(law.s, law.weights)


def in_runs(
    inversion: inv.Inversion, law: AnyRecordLaw, thetas: Floats, values: Floats, spread: float
) -> tuple[Floats, Floats, Floats]:
    """log p, the cut-off and the cost of rounding, each (M, Y); `spread` is the least standard deviation of y."""
    order = np.argsort(values)
    runs, place = _cut(values[order], _WIDEST * spread)
    found = np.empty((3, len(thetas), len(values)))
    for start in range(0, len(thetas), _ROWS):
        rows = np.arange(start, start + _ROWS).clip(max=len(thetas) - 1)
        nodes = nodes_at(law, thetas[rows])
        parts = [
            np.stack(invert_runs(inversion, nodes, runs[first : first + _RUNS])) for first in range(0, len(runs), _RUNS)
        ]
        together = np.concatenate(parts, axis=2).reshape(3, _ROWS, -1)[..., place]
        found[:, start : start + _ROWS, order] = together[:, : len(thetas) - start]
    return found[0], found[1], found[2]


def _cut(values: Floats, widest: float) -> tuple[Floats, NDArray[np.intp]]:
    """Sorted values in runs of one length, the last repeated where there are too few; and where each value is."""
    runs: list[Floats] = []
    place: list[NDArray[np.intp]] = []
    start = 0
    while start < len(values):
        stop = min(start + _VALUES, int(np.searchsorted(values, values[start] + widest, side="right")))
        place.append(len(runs) * _VALUES + np.arange(stop - start))
        runs.append(np.pad(values[start:stop], (0, _VALUES - (stop - start)), mode="edge"))
        start = stop
    runs += [runs[-1]] * (-len(runs) % _RUNS)
    return np.stack(runs), np.concatenate(place)
