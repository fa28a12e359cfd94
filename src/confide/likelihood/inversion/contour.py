"""The contour of the inversion integral: through the saddlepoint, on the right side of the poles; and log M_S along it.

Laplace noise has poles at ±1/b. A contour that would pass within `margin` of one would see aliasing of its slow
exponential tail; it is moved to either side, and where it passes the pole, the residue is added, which is the tail
itself in closed form. So wide noise needs no more frequencies than narrow noise.

Large n: log M is computed as log1p of Σ w (e^{iu(s−r)} − 1), which keeps n·log M accurate where u ~ n^{−1/2} is tiny;
r is a fixed reference near the mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from confide.likelihood.noise.transform import DiscreteTransform, NoiseTransform

#: Aliasing of an exponential tail is below e^{-34} = 2e-15.
_ALIAS = 34.0
#: The steepest tilt worth looking for, times the range of s: beyond it all mass is at an end of the range.
_STEEPEST = 60.0


class FrequencyGrid(NamedTuple):
    """Frequencies kδ, k = 0, 1, …, in units of 1/y. A periodic integrand ends at k = half, the middle of its period."""

    step: jax.Array | float
    half: jax.Array | float | None = None  # known before anything is traced: no program holds what the other kind needs

    @property
    def end(self) -> jax.Array:
        """The middle of the period; infinite if there is none."""
        return jnp.asarray(jnp.inf if self.half is None else self.half * self.step)

    def trapezoid(self, k: jax.Array) -> jax.Array:
        """The weight of each frequency, by its number, over the step: of half of a symmetric integral."""
        weight = jnp.where(k == 0, 0.5, 1.0)
        return weight if self.half is None else jnp.where(k < self.half, weight, jnp.where(k == self.half, 0.5, 0.0))


class Centred(NamedTuple):
    """One record's values around the reference, and everything that depends on frequencies alone."""

    s: jax.Array  # (J,)
    u: jax.Array  # (F+1,)
    cosine: jax.Array  # (J, F+1): cos(u s) − 1
    sine: jax.Array
    atoms: jax.Array  # (J,): 1 where s may have positive probability, 0 where it has a density


def centre(
    s: jax.Array, n: jax.Array | float, grid: FrequencyGrid, frequencies: int, atoms: jax.Array | None = None
) -> Centred:
    """The values s − r of one record and the frequencies that they meet; `atoms` are values of positive probability."""
    u = grid.step * jnp.arange(frequencies + 1) / n
    phase = s[:, None] * u
    mask = jnp.zeros_like(s)
    if atoms is not None:
        near = 1e-12 * (jnp.max(s) - jnp.min(s))
        mask = jnp.any(jnp.abs(s[:, None] - atoms) <= near, axis=1).astype(s.dtype)
    return Centred(s, u, -2.0 * jnp.sin(0.5 * phase) ** 2, jnp.sin(phase), mask)


#: log |M| where M vanishes (a fair coin at half its period): its n-th power contributes nothing, whatever n ≥ 2
_VANISHED = -1e4


def log_power(x: jax.Array, y: jax.Array, n: jax.Array | float) -> jax.Array:
    """n log(1 + x + iy), accurate where x and y are small."""
    square = 2.0 * x + x * x + y * y  # |1 + x + iy|² − 1
    gone = (1.0 + x) ** 2 + y * y < 1e-200
    modulus = jnp.where(gone, _VANISHED, 0.5 * jnp.log1p(jnp.where(gone, 0.0, square)))
    argument = jnp.arctan2(jnp.where(gone, 0.0, y), jnp.where(gone, 1.0, 1.0 + x))
    return jax.lax.complex(n * modulus, n * argument)


def tilted_weights(weights: jax.Array, s: jax.Array, kappa: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weights tilted by e^{κs} and normalised, and the log of their total.

    A gentle tilt's total is 1 + Σ w (e^{κs} − 1): n times its logarithm keeps its digits at n = 10⁹.
    """
    top = jnp.max(kappa * s)
    raw = weights * jnp.exp(kappa * s - top)
    total = jnp.sum(raw)
    gentle = jnp.max(jnp.abs(kappa * s)) < 1.0
    small = weights @ jnp.expm1(jnp.where(gentle, kappa * s, 0.0))
    return raw / total, jnp.where(gentle, jnp.log1p(small), jnp.log(total) + top)


def saddle(weights: jax.Array, s: jax.Array, target: jax.Array, n: jax.Array | float, variance: jax.Array) -> jax.Array:
    """κ = τ/n at which the tilted mean (and Gaussian noise) reaches the target, to within half a spread of y.

    It need not be exact, for any contour gives the same integral and a good one keeps the digits; so a normal law's
    guess mostly serves at once. Otherwise Newton's method inside a bracket, which only halves where Newton would
    leave it.
    """
    width = jnp.max(s) - jnp.min(s)
    first = weights @ s
    guess = (target - first) / (weights @ (s - first) ** 2 + variance * n)

    def excess(kappa: jax.Array) -> tuple[jax.Array, jax.Array]:
        tilted, _ = tilted_weights(weights, s, kappa)
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
    transform: NoiseTransform, tau: jax.Array, mean: jax.Array, y: jax.Array, grid: FrequencyGrid
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


def near(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float
) -> tuple[jax.Array, jax.Array]:
    """y pulled in to where a mean of n records, tilted to the pole, can be: ten standard deviations, more for few."""
    if not isinstance(transform, DiscreteTransform) or transform.gaussian:
        return y, jnp.zeros(())
    side, (s, frozen) = jnp.where(y >= 0, 1.0, -1.0), jax.lax.stop_gradient((c.s, weights))
    tilted, _ = tilted_weights(frozen, s, side * transform.pole / n)
    mean = tilted @ s
    reach = side * mean + (10.0 + 30.0 / jnp.sqrt(n)) * jnp.sqrt(tilted @ (s - mean) ** 2 / n)
    return pulled_in(transform, y, jnp.minimum(reach, jnp.max(side * s)) + transform.step)


class Path(NamedTuple):
    """One θ's transform along one y's contour."""

    tau: jax.Array
    crossed: jax.Array
    tilted: jax.Array  # weights tilted by e^{τs/n}, normalised
    log_total: jax.Array
    real: jax.Array  # M(ζ/n)/M(τ/n) − 1
    imaginary: jax.Array
    at_pole: jax.Array  # log M at the pole passed, of one record
    log_cut: jax.Array  # log of a bound on the integral beyond the last frequency, over the integrand at the first


#: spreads of a tilted law that must fit in half a period of the frequency grid
_ROOM = 10.0
#: the log of the mass that may be outside of it: what is aliased is a density there, and smaller still
_ALIASED = -20.7
#: frequencies, in units of π, at which the transform is looked at to bound it from there on: in ranges of s for its
#: decay, in steps of the noise for a rounded statistic
_FAR = (1.0, 1.13, 1.29, 1.51, 1.77, 2.03, 2.4, 2.9, 3.5, 4.1, 5.2, 6.1)
#: frequencies at which the transform of a law on a lattice is looked at, up to the middle of its period
_IN_A_PERIOD = 128


def log_of_rest(c: Centred, tilted: jax.Array, n: Any, grid: FrequencyGrid) -> jax.Array:
    """A bound on log |M(ζ/n)/M(τ/n)| at all frequencies after the last, for one record.

    A law on a lattice is nothing but atoms, and is looked at over its period.
    """
    last, width = c.u[-1], jnp.max(c.s) - jnp.min(c.s) + 1e-300
    mean = tilted @ c.s
    variance = tilted @ (c.s - mean) ** 2
    if grid.half is None:
        return jnp.asarray(log_beyond(c.s, tilted, c.atoms, last, variance))
    spacing = jnp.pi * n / (grid.half * grid.step)
    later = _log_in_period(c, tilted, variance, spacing, jnp.maximum(last, jnp.pi / width))
    return jnp.where(last * width < jnp.pi, jnp.maximum(_log_near(last, variance), later), later)


def _log_near(last: Any, variance: Any) -> Any:
    """With D the range of s and v its variance, |M|² = E cos(u(s − s′)) ≤ 1 − 4u²v/π² up to u = π/D."""
    xp: Any = jnp if isinstance(variance, jax.Array) else np
    return 0.5 * xp.log1p(-xp.minimum(4.0 / xp.pi**2 * last**2 * variance, 1.0 - 2.0**-52))


def log_beyond(s: Any, tilted: Any, atoms: Any, last: Any, variance: Any) -> Any:
    """The bound where s has a density but for its atoms, which a mask shows.

    From u = π/D on the atoms' part comes back to their mass A, and the rest decays: |M| ≤ A + sup |ψ|.
    """
    xp: Any = jnp if isinstance(s, jax.Array) else np
    width = xp.max(s) - xp.min(s) + 1e-300
    far = xp.maximum(xp.asarray(_FAR) * xp.pi / width, last * xp.linspace(0.8, 1.0, len(_FAR)))
    later = xp.log(xp.minimum(tilted @ atoms + _largest(s, tilted * (1.0 - atoms), far), 1.0))
    return xp.where(last * width < xp.pi, xp.maximum(_log_near(last, variance), later), later)


def _log_in_period(c: Centred, tilted: jax.Array, variance: jax.Array, spacing: Any, first: jax.Array) -> jax.Array:
    """A bound on log |M| of a law on a lattice, from a frequency on to the middle of the period.

    |M|² has a second derivative of at most 2v, and none of the first at its largest: between points that are δ apart it
    exceeds what it is at them by no more than vδ²/4. Where the points are too few for a wide law,

        |M|² ≤ 1 − 4 sin²(uh/2) Σ w_j w_{j+1}

    over neighbouring points of the lattice of spacing h.
    """
    first, middle = jnp.minimum(first, jnp.pi / spacing), jnp.pi / spacing
    u = jnp.linspace(first, middle, _IN_A_PERIOD)
    seen = _largest(c.s, tilted, u) ** 2 + 0.25 * variance * (u[1] - u[0]) ** 2
    next_to = jnp.abs(jnp.abs(jnp.diff(c.s)) - spacing) < 1e-6 * spacing
    neighbours = jnp.sum(jnp.where(next_to, tilted[1:] * tilted[:-1], 0.0))
    beside = 1.0 - jnp.minimum(4.0 * neighbours * jnp.sin(0.5 * first * spacing) ** 2, 1.0)
    return 0.5 * jnp.log(jnp.minimum(jnp.minimum(seen, beside), 1.0))


def _largest(s: Any, weights: Any, u: Any) -> Any:
    """max |Σ w e^{ius}| over some frequencies."""
    xp: Any = jnp if isinstance(s, jax.Array) else np
    turns = xp.outer(u, s)
    return xp.max(xp.hypot(xp.cos(turns) @ weights, xp.sin(turns) @ weights))


def _log_outside(tilted: jax.Array, s: jax.Array, n: Any, reach: Any) -> jax.Array:
    """Chernoff's bound on the log of the mass that a mean of n centred records has beyond ±reach; −∞ if it has none."""
    tilts = jnp.asarray([[-1.0], [1.0]]) / (reach * n)

    def bound(nats: float) -> jax.Array:
        return jnp.max(n * jnp.log(jnp.sum(jnp.exp(nats * tilts * s) * tilted, axis=1))) - nats

    inside = jnp.max(jnp.where(tilted > 0, jnp.abs(s), 0.0)) < reach
    return jnp.where(inside, -jnp.inf, jnp.minimum(bound(24.0), bound(32.0)))


def _log_cut(
    transform: NoiseTransform, c: Centred, tilted: jax.Array, tau: jax.Array, y: jax.Array, n: Any, grid: FrequencyGrid
) -> jax.Array:
    """log of a bound on ∫ |M_S N| beyond the last frequency, over |M_S N| at the first."""
    cut = n * log_of_rest(c, tilted, n, grid) + transform.log_tail(tau, y, n * c.u[-1], grid.end)
    if isinstance(transform, DiscreteTransform) and grid.half is None:
        # the noise comes back at every period, and meets the box, which falls like 2/(step·t), and M_S
        far = jnp.maximum(jnp.asarray(_FAR) * jnp.pi / transform.step, n * c.u[-1])
        half = 0.5 * transform.step * jnp.abs(tau)
        again = n * jnp.log(_largest(c.s, tilted, far / n)) + half + jnp.log(2.0 / transform.step)
        cut = jnp.logaddexp(cut, again)
    return jnp.where(n * c.u[-1] < 0.999 * grid.end, cut, -jnp.inf)


def _path(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float, grid: FrequencyGrid
) -> Path:
    frozen = jax.lax.stop_gradient(weights)
    kappa = saddle(frozen, jax.lax.stop_gradient(c.s), y, n, jnp.asarray(transform.variance))
    tau, crossed = jax.lax.stop_gradient(contour(transform, n * kappa, frozen @ c.s, y, grid))
    tilted, log_total = tilted_weights(weights, c.s, tau / n)
    _, at_pole = tilted_weights(weights, c.s, jnp.where(crossed == 0, 0.0, crossed * transform.pole / n))
    log_cut = _log_cut(transform, c, jax.lax.stop_gradient(tilted), tau, y, n, grid)
    # the law, tilted, and y must fit in a period of the frequency grid; beyond a pole y has the noise's tail to itself,
    # and Gaussian noise, which is tilted too, has its mean at σ²τ: most of the way to a y far out
    known, half, variance = jax.lax.stop_gradient(tilted), jnp.pi / grid.step, jnp.asarray(transform.variance)
    middle = known @ c.s
    off = jnp.where(crossed == 0, jnp.abs(middle + variance * tau - y), 0.0)
    reach = off + _ROOM * jnp.sqrt(known @ (c.s - middle) ** 2 / n + variance)
    fits = (reach < half) & (_log_outside(known, c.s - middle, n, half) < _ALIASED)
    log_cut = jnp.where(fits, log_cut, jnp.inf)
    return Path(tau, crossed, tilted, log_total, tilted @ c.cosine, tilted @ c.sine, at_pole, log_cut)


def along(
    transform: NoiseTransform, c: Centred, weights: jax.Array, y: jax.Array, n: jax.Array | float, grid: FrequencyGrid
) -> tuple[Path, jax.Array]:
    """The contour that suits y, and log M_S along it."""
    path = _path(transform, c, weights, y, n, grid)
    return path, n * path.log_total + log_power(path.real, path.imaginary, n)
