"""The inversion integral, on a contour through the saddlepoint.

    p(y) = 1/2π ∫ exp( n log M(ζ/n) + log N(ζ; y) − ζy ) dt,      ζ = τ + it

with M the transform of one record's s, from the law of a clipped record. The trapezoidal rule with step δ is exact up
to aliasing, p(y ± 2π/δ), which the tilt e^{τ·} makes small relative to p(y) itself, not only to the mode: tails keep
their digits. With fixed nodes the matrix e^{its_j/n} knows neither θ nor y, and a θ costs one row of a matrix
product.

Where the contour passes, and log M along it, is the business of `contour`; values share contours in
`shared_contours`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from confide._compile import FAST_COMPILE
from confide.likelihood.inversion.contour import Centred, FrequencyGrid, along, centre, near
from confide.likelihood.noise.transform import NoiseTransform
from confide.likelihood.record_law.moments import Nodes


class Density(NamedTuple):
    """log p(y | θ); and relative to p, a bound on what lies beyond the last frequency and the cost of rounding."""

    log_prob: jax.Array
    truncation: jax.Array
    rounding: jax.Array

    def moved(self, log_share: jax.Array) -> Density:
        """The same density times e^{log_share}."""
        return self._replace(log_prob=self.log_prob + log_share)


class Integral(NamedTuple):
    """An inversion, taken apart: log p, the cut-off, and the share that each frequency and the residue has in p."""

    density: Density
    shares: jax.Array  # (F+1,), complex
    residue: jax.Array


def integrate(
    transform: NoiseTransform,
    log_m: jax.Array,
    log_at_pole: jax.Array,
    contour: tuple[jax.Array, jax.Array],
    y: jax.Array,
    grid: FrequencyGrid,
    log_cut: jax.Array | float = -jnp.inf,
) -> Integral:
    """The integral along a contour (τ, side of the pole passed), given log M_S on it and at the pole.

    `log_cut` bounds what lies beyond the last frequency, relative to the integrand at the first.
    """
    tau, crossed = contour
    terms, peak = integrand(transform, log_m, tau, y, grid)
    residue = log_residue(transform, log_at_pole, crossed, y)
    top = jnp.maximum(peak, jax.lax.stop_gradient(residue))
    terms = terms * jnp.exp(peak - top)
    tail = jnp.exp(residue - top)
    total = jnp.sum(terms.real) + tail
    usable = total > 0
    safe = jnp.where(usable, total, 1.0)
    cut = jnp.exp(log_cut + peak - top) / jnp.pi
    rounded = 2.0**-52 * (jnp.sum(jnp.abs(terms)) + tail)
    found = density(total, top, cut, rounded)
    return Integral(found, jnp.where(usable, terms / safe, 0.0), jnp.where(usable, tail / safe, 0.0))


def integrand(
    transform: NoiseTransform, log_m: jax.Array, tau: jax.Array, y: jax.Array, grid: FrequencyGrid
) -> tuple[jax.Array, jax.Array]:
    """The terms of the trapezoidal rule along Re ζ = τ, given log M_S there, over e^{peak}; and the peak."""
    k = jnp.arange(log_m.shape[0])
    zeta = jax.lax.complex(jnp.broadcast_to(tau, k.shape), grid.step * k)
    exponent = log_m + transform(zeta, jnp.broadcast_to(y, k.shape)) - zeta * y
    peak = jax.lax.stop_gradient(exponent.real[0])
    return jnp.exp(exponent - peak) * (grid.trapezoid(k) * grid.step / jnp.pi), peak


def log_residue(transform: NoiseTransform, log_at_pole: jax.Array, crossed: jax.Array, y: jax.Array) -> jax.Array:
    """The residue of the pole that was passed, if one was: M_S there times the noise's own."""
    return jnp.where(crossed == 0, -jnp.inf, log_at_pole + transform.log_residue(y, crossed))


def density(total: jax.Array, top: jax.Array, cut: jax.Array, rounded: jax.Array) -> Density:
    """From an integral e^{top}·total, and what was cut off it and rounded on the same scale."""
    usable = total > 0
    safe = jnp.where(usable, total, 1.0)
    return Density(
        jnp.where(usable, top + jnp.log(safe), -jnp.inf),
        jnp.where(usable, cut / safe, jnp.inf),
        jnp.where(usable, rounded / safe, jnp.inf),
    )


def invert_one(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float, grid: FrequencyGrid
) -> Density:
    """log p(y) of a mean for one θ (through its weights) and one y (measured from the reference)."""
    y, log_share = near(transform, c, weights, y, n)
    path, log_m = along(transform, c, weights, y, n, grid)
    found = integrate(transform, log_m, n * path.at_pole, (path.tau, path.crossed), y, grid, path.log_cut).density
    return found.moved(log_share)


class Inversion(eqx.Module):
    """All that is chosen beforehand for a group of θ: the noise, the reference, and the frequencies."""

    transform: NoiseTransform
    reference: float
    n: float
    grid: FrequencyGrid
    frequencies: int = eqx.field(static=True)
    #: values of s that may have positive probability
    atoms: jax.Array

    def centred(self, s: jax.Array) -> Centred:
        """The values of one record around the reference, with the frequencies."""
        return centre(s - self.reference, self.n, self.grid, self.frequencies, self.atoms - self.reference)


@functools.partial(jax.jit, compiler_options=FAST_COMPILE)
def invert(inversion: Inversion, law: Nodes, y: jax.Array) -> Density:
    """log p(y | θ) for B laws and their values y (B, Y). Nothing here knows the population.

    Where all laws share their nodes, so do they share the matrix e^{its}: a θ costs one row of a matrix product.
    """
    transform, n, grid = inversion.transform, inversion.n, inversion.grid

    def one(s: jax.Array, weights: jax.Array, values: jax.Array) -> Density:
        c = inversion.centred(s)
        return jax.vmap(lambda v: invert_one(transform, c, weights, v - inversion.reference, n, grid))(values)

    return jax.vmap(one, in_axes=(law.batched, 0, 0))(law.s, law.weights, y)
