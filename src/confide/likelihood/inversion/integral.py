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
from typing import Any, NamedTuple

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
    trapezoid = jnp.where(k == 0, 0.5, jnp.where(k < grid.half, 1.0, jnp.where(k == grid.half, 0.5, 0.0)))
    return jnp.exp(exponent - peak) * (trapezoid * grid.step / jnp.pi), peak


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


def invert_run_with_score(
    transform: NoiseTransform,
    c: Centred,
    weights: jax.Array,
    slopes: tuple[jax.Array, jax.Array | None],
    y: jax.Array,
    n: jax.Array | float,
    grid: FrequencyGrid,
) -> tuple[Density, jax.Array]:
    """log p(y) and its score for a run of y (K,), from the derivatives of the weights (d, J) and of values that move.

    One contour serves neighbouring y, so that they cost little more than one. ∂ log p is the average of ∂ n log M over
    the frequencies, each with its share in p; M' is a product like M itself.
    """
    y, log_share = jax.vmap(lambda v: near(transform, c, weights, v, n))(y)
    path, log_m = along(transform, c, weights, y[y.shape[0] // 2], n, grid)
    chosen = (path.tau, path.crossed)
    whole = jax.vmap(lambda v: integrate(transform, log_m, n * path.at_pole, chosen, v, grid, path.log_cut))(y)
    dw, ds = slopes
    tilt = jnp.exp(path.tau / n * c.s - path.log_total)
    moved = dw * tilt
    real, imaginary = moved @ c.cosine + jnp.sum(moved, axis=1, keepdims=True), moved @ c.sine
    slope = jax.lax.complex(real, imaginary)
    pole = jnp.where(path.crossed == 0, 0.0, path.crossed * transform.pole / n)
    at_pole = dw @ jnp.exp(pole * c.s - path.at_pole)
    if ds is not None:
        zeta = jax.lax.complex(jnp.broadcast_to(path.tau / n, c.u.shape), c.u)
        carried = ds * path.tilted
        slope = slope + zeta * jax.lax.complex(
            carried @ c.cosine + jnp.sum(carried, axis=1, keepdims=True), carried @ c.sine
        )
        at_pole = at_pole + pole * ((ds * weights) @ jnp.exp(pole * c.s - path.at_pole))
    m = jax.lax.complex(1.0 + path.real, path.imaginary)
    relative = jnp.where(jnp.abs(m) > 1e-100, slope / jnp.where(jnp.abs(m) > 1e-100, m, 1.0), 0.0)
    score = jnp.einsum("df,kf->kd", relative, whole.shares).real + whole.residue[:, None] * at_pole
    return whole.density.moved(log_share), n * score


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


@jax.jit
def invert_with_score(inversion: Inversion, law: Nodes, slopes: Nodes, y: jax.Array) -> tuple[Density, jax.Array]:
    """The same with the score ∂ log p/∂θ, from the derivatives of the law (B, d, J).

    y (B, R, K) comes in runs of K neighbours, within a spread or two of each other, that share a contour; densities
    have its shape and scores (B, R, K, d).
    """
    transform, n, grid = inversion.transform, inversion.n, inversion.grid

    def one(s: jax.Array, weights: jax.Array, ds: Any, dw: jax.Array, runs: jax.Array) -> tuple[Density, jax.Array]:
        c = inversion.centred(s)
        return jax.vmap(
            lambda run: invert_run_with_score(transform, c, weights, (dw, ds), run - inversion.reference, n, grid)
        )(runs)

    moving = law.batched is not None
    axes = (law.batched, 0, 0 if moving else None, 0, 0)
    return jax.vmap(one, in_axes=axes)(law.s, law.weights, slopes.s if moving else None, slopes.weights, y)
