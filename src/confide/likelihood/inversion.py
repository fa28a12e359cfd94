"""The inversion integral, on a contour through the saddlepoint.

    p(y) = 1/2π ∫ exp( n log M(ζ/n) + log N(ζ; y) − ζy ) dt,      ζ = τ + it

with M the transform of one record's s, from the law of a clipped record. The trapezoidal rule with step δ is exact up
to aliasing, p(y ± 2π/δ), which the tilt e^{τ·} makes small relative to p(y) itself, not only to the mode: tails keep
their digits. With fixed nodes the matrix e^{its_j/n} knows neither θ nor y, and a θ costs one row of a matrix
product.

Laplace noise has poles at ±1/b. A contour that would pass within `margin` of one would see aliasing of its slow
exponential tail; it is moved to either side, and where it passes the pole, the residue is added, which is the tail
itself in closed form. So wide noise needs no more frequencies than narrow noise.

Large n: log M is computed as log1p of Σ w (e^{iu(s−r)} − 1), which keeps n·log M accurate where u ~ n^{−1/2} is tiny;
r is a fixed reference near the mean.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from confide._compile import QUICKLY
from confide.likelihood.law import Nodes
from confide.likelihood.transforms import DiscreteTransform, NoiseTransform

#: Aliasing of an exponential tail is below e^{-34} = 2e-15.
_ALIAS = 34.0
#: The steepest tilt worth looking for, times the range of s: beyond it all mass is at an end of the range.
_STEEPEST = 60.0


class Grid(NamedTuple):
    """Frequencies kδ, k = 0, 1, …, in units of 1/y. A periodic integrand ends at k = half, the middle of its period."""

    step: jax.Array | float
    half: jax.Array | float = jnp.inf


class Density(NamedTuple):
    """log p(y | θ); and relative to p, the size of the integrand where it was cut off and the cost of rounding."""

    log_prob: jax.Array
    truncation: jax.Array
    rounding: jax.Array

    def moved(self, log_share: jax.Array) -> Density:
        """The same density times e^{log_share}."""
        return self._replace(log_prob=self.log_prob + log_share)


class Centred(NamedTuple):
    """One record's values around the reference, and everything that depends on frequencies alone."""

    s: jax.Array  # (J,)
    u: jax.Array  # (F+1,)
    cosine: jax.Array  # (J, F+1): cos(u s) − 1
    sine: jax.Array


def centre(s: jax.Array, n: jax.Array | float, grid: Grid, frequencies: int) -> Centred:
    """The values s − r of one record and the frequencies that they meet."""
    u = grid.step * jnp.arange(frequencies + 1) / n
    phase = s[:, None] * u
    return Centred(s, u, -2.0 * jnp.sin(0.5 * phase) ** 2, jnp.sin(phase))


#: log |M| where M vanishes (a fair coin at half its period): its n-th power contributes nothing, whatever n ≥ 2
_VANISHED = -1e4


def _log_power(x: jax.Array, y: jax.Array, n: jax.Array | float) -> jax.Array:
    """n log(1 + x + iy), accurate where x and y are small."""
    square = 2.0 * x + x * x + y * y  # |1 + x + iy|² − 1
    gone = (1.0 + x) ** 2 + y * y < 1e-200
    modulus = jnp.where(gone, _VANISHED, 0.5 * jnp.log1p(jnp.where(gone, 0.0, square)))
    argument = jnp.arctan2(jnp.where(gone, 0.0, y), jnp.where(gone, 1.0, 1.0 + x))
    return jax.lax.complex(n * modulus, n * argument)


def _tilted(weights: jax.Array, s: jax.Array, kappa: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weights tilted by e^{κs} and normalised, and the log of their total.

    A gentle tilt's total is 1 + Σ w (e^{κs} − 1): n times its logarithm keeps its digits at n = 10⁹.
    """
    top = jnp.max(kappa * s)
    raw = weights * jnp.exp(kappa * s - top)
    total = jnp.sum(raw)
    gentle = jnp.max(jnp.abs(kappa * s)) < 1.0
    small = weights @ jnp.expm1(jnp.where(gentle, kappa * s, 0.0))
    return raw / total, jnp.where(gentle, jnp.log1p(small), jnp.log(total) + top)


def _saddle(
    weights: jax.Array, s: jax.Array, target: jax.Array, n: jax.Array | float, variance: jax.Array
) -> jax.Array:
    """κ = τ/n at which the tilted mean (and Gaussian noise) reaches the target, to within half a spread of y.

    It need not be exact, for any contour gives the same integral and a good one keeps the digits; so a normal law's
    guess mostly serves at once. Otherwise Newton's method inside a bracket, which only halves where Newton would
    leave it.
    """
    width = jnp.max(s) - jnp.min(s)
    first = weights @ s
    guess = (target - first) / (weights @ (s - first) ** 2 + variance * n)

    def excess(kappa: jax.Array) -> tuple[jax.Array, jax.Array]:
        tilted, _ = _tilted(weights, s, kappa)
        mean = tilted @ s
        spread = tilted @ (s - mean) ** 2 + variance * n
        return mean + variance * n * kappa - target, spread

    def unsettled(state: tuple[jax.Array, ...]) -> jax.Array:
        _, low, high, gap, spread, count = state
        return (gap**2 > 0.25 * spread / n) & (high - low > 1e-6 / width) & (count < 60)

    def improve(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        kappa, low, high, gap, spread, count = state
        low, high = jnp.where(gap < 0, kappa, low), jnp.where(gap < 0, high, kappa)
        newton = kappa - gap / spread
        kappa = jnp.where((newton > low) & (newton < high) & (spread > 0), newton, 0.5 * (low + high))
        return (kappa, low, high, *excess(kappa), count + 1)

    steepest = jnp.maximum(_STEEPEST / width, 2.0 * jnp.abs(guess))
    limit = jnp.where(variance > 0, jnp.maximum(steepest, 2.0 * jnp.abs(target) / (variance * n)), steepest)
    start: tuple[jax.Array, ...] = (guess, -limit, limit, *excess(guess), jnp.asarray(0))
    return jax.lax.while_loop(unsettled, improve, start)[0]


def contour(
    transform: NoiseTransform, tau: jax.Array, mean: jax.Array, y: jax.Array, grid: Grid
) -> tuple[jax.Array, jax.Array]:
    """τ, moved away from the poles, and on which side of which pole it passes (−1, 0, 1)."""
    pole = transform.pole
    margin = _ALIAS * grid.step / (2.0 * jnp.pi)
    if not transform.crossable:
        return jnp.clip(tau, -pole + margin, pole - margin), jnp.zeros_like(tau)
    side = jnp.where(y >= mean, 1.0, -1.0)
    size = jnp.maximum(side * tau, 0.0)
    cross = size > pole - margin
    # once past the pole there is no need to go further: the residue is p(y) but for a remainder that is smaller already
    return side * jnp.where(cross, pole + margin, size), jnp.where(cross, side, 0.0)


def pulled_in(transform: NoiseTransform, y: jax.Array, edge: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A y so near that a contour short of the poles keeps its digits, and log p(y) minus log p there.

    Further from the reference than the `edge`, where the statistic has no mass even if tilted to the pole, noise on a
    lattice has a geometric tail: e^{−step/b} a point.
    """
    if not isinstance(transform, DiscreteTransform):
        return y, jnp.zeros(())
    points = jnp.maximum(jnp.ceil((jnp.abs(y) - edge) / transform.step), 0.0)
    return y - jnp.sign(y) * points * transform.step, -points * transform.step * transform.pole


def _near(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float
) -> tuple[jax.Array, jax.Array]:
    """y pulled in to where a mean of n records, tilted to the pole, can be: ten standard deviations, more for few."""
    if not isinstance(transform, DiscreteTransform) or transform.gaussian or not transform.box:
        return y, jnp.zeros(())
    side, (s, frozen) = jnp.where(y >= 0, 1.0, -1.0), jax.lax.stop_gradient((c.s, weights))
    tilted, _ = _tilted(frozen, s, side * transform.pole / n)
    mean = tilted @ s
    reach = side * mean + (10.0 + 30.0 / jnp.sqrt(n)) * jnp.sqrt(tilted @ (s - mean) ** 2 / n)
    return pulled_in(transform, y, jnp.minimum(reach, jnp.max(side * s)) + transform.step)


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
    grid: Grid,
) -> Integral:
    """The integral along a contour (τ, side of the pole passed), given log M_S on it and at the pole."""
    tau, crossed = contour
    terms, peak = integrand(transform, log_m, tau, y, grid)
    residue = log_residue(transform, log_at_pole, crossed, y)
    top = jnp.maximum(peak, jax.lax.stop_gradient(residue))
    terms = terms * jnp.exp(peak - top)
    tail = jnp.exp(residue - top)
    total = jnp.sum(terms.real) + tail
    usable = total > 0
    safe = jnp.where(usable, total, 1.0)
    cut = jnp.where(log_m.shape[0] - 1 < grid.half, jnp.max(jnp.abs(terms[-3:])), 0.0)
    rounded = 2.0**-52 * (jnp.sum(jnp.abs(terms)) + tail)
    found = density(total, top, cut, rounded)
    return Integral(found, jnp.where(usable, terms / safe, 0.0), jnp.where(usable, tail / safe, 0.0))


def integrand(
    transform: NoiseTransform, log_m: jax.Array, tau: jax.Array, y: jax.Array, grid: Grid
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
        jnp.where(usable, jnp.pi * cut / safe, jnp.inf),
        jnp.where(usable, rounded / safe, jnp.inf),
    )


class Path(NamedTuple):
    """One θ's transform along one y's contour."""

    tau: jax.Array
    crossed: jax.Array
    tilted: jax.Array  # weights tilted by e^{τs/n}, normalised
    log_total: jax.Array
    real: jax.Array  # M(ζ/n)/M(τ/n) − 1
    imaginary: jax.Array
    at_pole: jax.Array  # log M at the pole passed, of one record


def _path(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float, grid: Grid
) -> Path:
    frozen = jax.lax.stop_gradient(weights)
    kappa = _saddle(frozen, jax.lax.stop_gradient(c.s), y, n, jnp.asarray(transform.variance))
    tau, crossed = jax.lax.stop_gradient(contour(transform, n * kappa, frozen @ c.s, y, grid))
    tilted, log_total = _tilted(weights, c.s, tau / n)
    _, at_pole = _tilted(weights, c.s, jnp.where(crossed == 0, 0.0, crossed * transform.pole / n))
    return Path(tau, crossed, tilted, log_total, tilted @ c.cosine, tilted @ c.sine, at_pole)


def along(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float, grid: Grid
) -> tuple[Path, jax.Array]:
    """The contour that suits y, and log M_S along it."""
    path = _path(transform, c, weights, y, n, grid)
    return path, n * path.log_total + _log_power(path.real, path.imaginary, n)


def invert_one(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float, grid: Grid
) -> Density:
    """log p(y) of a mean for one θ (through its weights) and one y (measured from the reference)."""
    y, log_share = _near(transform, c, weights, y, n)
    path, log_m = along(transform, c, weights, y, n, grid)
    found = integrate(transform, log_m, n * path.at_pole, (path.tau, path.crossed), y, grid).density
    return found.moved(log_share)


def invert_run_with_score(
    transform: NoiseTransform,
    c: Centred,
    weights: jax.Array,
    slopes: tuple[jax.Array, jax.Array | None],
    y: jax.Array,
    n: jax.Array | float,
    grid: Grid,
) -> tuple[Density, jax.Array]:
    """log p(y) and its score for a run of y (K,), from the derivatives of the weights (d, J) and of values that move.

    One contour serves neighbouring y, so that they cost little more than one. ∂ log p is the average of ∂ n log M over
    the frequencies, each with its share in p; M' is a product like M itself.
    """
    y, log_share = jax.vmap(lambda v: _near(transform, c, weights, v, n))(y)
    path, log_m = along(transform, c, weights, y[y.shape[0] // 2], n, grid)
    chosen = (path.tau, path.crossed)
    whole = jax.vmap(lambda v: integrate(transform, log_m, n * path.at_pole, chosen, v, grid))(y)
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
    grid: Grid
    frequencies: int = eqx.field(static=True)

    def centred(self, s: jax.Array) -> Centred:
        """The values of one record around the reference, with the frequencies."""
        return centre(s - self.reference, self.n, self.grid, self.frequencies)


@functools.partial(jax.jit, compiler_options=QUICKLY)
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
