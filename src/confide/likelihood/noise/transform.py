"""Noise in the frequency domain: what the inversion integral multiplies the transform of the statistic by.

With M_S(ζ) = E e^{ζU} the transform of the statistic, the density of the published value is

    p(y) = 1/2πi ∫ M_S(ζ) N(ζ; y) e^{−ζy} dζ        along Re ζ = τ

where N says how the noise, and any lattice, enters. For continuous noise on a continuous statistic N is the noise's
own transform. Where the statistic lives on a lattice of spacing h, M_S is periodic with period 2π/h in the imaginary
direction, the integral runs over one period, and N collects what all periods contribute: a closed geometric sum for
Laplace noise, a fast theta series for Gaussian noise. Noise on a lattice of its own, met by a continuous statistic,
is rounding (the transform of a box) times a periodic transform. All are analytic, up to the two poles of Laplace
noise at ±1/b.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp


class NoiseTransform(eqx.Module):
    """N(ζ; y) and what a contour must know about it."""

    @abstractmethod
    def __call__(self, zeta: jax.Array, y: jax.Array) -> jax.Array:
        """log N(ζ; y), up to multiples of 2πi."""

    @property
    def pole(self) -> float:
        """Where on the real axis N has its poles, ±pole; infinite if it has none."""
        return jnp.inf

    @property
    def crossable(self) -> bool:
        """Whether a contour may pass a pole: only if it is alone on its line, so that one residue makes up for it."""
        return True

    @property
    def invertible(self) -> bool:
        """Whether there is an integral at all; a law on a lattice can be summed without (`sums`)."""
        return True

    @property
    def variance(self) -> float:
        """The variance of Gaussian noise, which moves the saddlepoint; 0 for noise with poles, which does not."""
        return 0.0

    def log_residue(self, y: jax.Array, side: jax.Array) -> jax.Array:
        """log of the residue of N(ζ; y) e^{−ζy} at ζ = side·pole, without M_S."""
        del side
        return jnp.full_like(y, -jnp.inf)

    def log_tail(self, tau: jax.Array, y: jax.Array, last: jax.Array, end: jax.Array) -> jax.Array:
        """A bound on log ∫ |N(τ + it; y)/N(τ; y)| dt from the last frequency to the end, the middle of a period.

        There |N| changes as slowly as a single bump of the noise's width does, so that a few frequencies show its size.
        """
        t = jnp.where(jnp.isinf(end), last, last + jnp.linspace(0.0, 1.0, 5) * (end - last))
        zeta = jax.lax.complex(jnp.broadcast_to(tau, (6,)), jnp.concatenate([jnp.zeros(1), t]))
        size = self(zeta, jnp.broadcast_to(y, (6,))).real
        return jnp.max(size[1:]) - size[0] + jnp.log(2.0 * jnp.maximum(end - last, 1e-300))


def _log1mexp(z: jax.Array) -> jax.Array:
    """log(1 − e^z) for complex z."""
    return jnp.log(-jnp.expm1(z))


class LaplaceTransform(NoiseTransform):
    """Laplace noise of scale b on a continuum: 1/(1 − b²ζ²)."""

    scale: float

    def __call__(self, zeta: jax.Array, y: jax.Array) -> jax.Array:
        """−log(1 − b²ζ²)."""
        del y
        return -jnp.log(1.0 - (self.scale * zeta) ** 2 + 0j)

    @property
    def pole(self) -> float:
        """1/b."""
        return 1.0 / self.scale

    def log_residue(self, y: jax.Array, side: jax.Array) -> jax.Array:
        """e^{−|…|/b}/2b: the exponential tail beyond the statistic."""
        return -side * y / self.scale - jnp.log(2.0 * self.scale)

    def log_tail(self, tau: jax.Array, y: jax.Array, last: jax.Array, end: jax.Array) -> jax.Array:
        """∫ dt/b²t², over |N(τ)|."""
        del y, end
        return jnp.log(jnp.abs(1.0 - (self.scale * tau) ** 2)) - 2.0 * jnp.log(self.scale) - jnp.log(last)


class LaplaceOnLattice(LaplaceTransform):
    """Laplace noise around the points of a lattice of spacing h: two geometric series.

    Σ_k g(y − kh) e^{−ζkh} over the points below and above y, times e^{ζy}; y is measured from a lattice point. With a
    `step` the noise is discrete, on a lattice that holds the statistic's: its masses fall like the density.
    """

    spacing: float
    step: float = 0.0

    @property
    def _log_peak(self) -> jax.Array:
        """log g(0)."""
        mass = jnp.tanh(0.5 * self.step / self.scale)
        return jnp.log(jnp.where(jnp.asarray(self.step) > 0, mass, 0.5 / self.scale))

    def log_residue(self, y: jax.Array, side: jax.Array) -> jax.Array:
        """The exponential tail beyond the statistic."""
        return -side * y / self.scale + self._log_peak

    def log_tail(self, tau: jax.Array, y: jax.Array, last: jax.Array, end: jax.Array) -> jax.Array:
        """The rest of the period."""
        return NoiseTransform.log_tail(self, tau, y, last, end)

    def __call__(self, zeta: jax.Array, y: jax.Array) -> jax.Array:
        """The log of the sum of both series."""
        h, b = self.spacing, self.scale
        fraction = y - h * jnp.floor(y / h)
        below = -fraction / b + zeta * fraction - _log1mexp(h * (zeta - 1.0 / b) + 0j)
        above = -(h - fraction) / b - zeta * (h - fraction) - _log1mexp(-h * (zeta + 1.0 / b) + 0j)
        # N is normalised to a density: the integral over one period carries h
        return _logadd(below, above) + jnp.log(h) + self._log_peak


class GaussianTransform(NoiseTransform):
    """Gaussian noise of standard deviation σ on a continuum: e^{σ²ζ²/2}."""

    scale: float

    def __call__(self, zeta: jax.Array, y: jax.Array) -> jax.Array:
        """σ²ζ²/2."""
        del y
        return 0.5 * (self.scale * zeta) ** 2 + 0j

    @property
    def variance(self) -> float:
        """σ²."""
        return self.scale**2

    def log_tail(self, tau: jax.Array, y: jax.Array, last: jax.Array, end: jax.Array) -> jax.Array:
        """∫ e^{−σ²t²/2} dt, by Mills' bound."""
        del tau, y, end
        return -0.5 * (self.scale * last) ** 2 - jnp.log(self.scale**2 * last)


#: periods, or points, on either side: the first point left out weighs e^{−(2·12.5)²/2} at σ = h/2, a period less
_PERIODS = 12


class GaussianOnLattice(GaussianTransform):
    """Gaussian noise around the points of a lattice: the contributions of all periods, or of all points near y.

    Σ_m e^{σ²ζ_m²/2 − (ζ_m − ζ)y} with ζ_m = ζ + 2πim/h is one theta series; Σ_k φ(y − kh) e^{ζ(y − kh)} is the same
    one by Poisson's formula. The first converges fast for σ ≥ h/2, the second for σ < h/2. With a `step` the noise is
    discrete, on a lattice that holds the statistic's: its masses fall like the density.
    """

    spacing: float
    step: float = 0.0

    @property
    def _log_mass(self) -> jax.Array:
        """log of the mass at 0 over the density there, for discrete noise; 0 for a density."""
        discrete = jnp.asarray(self.step) > 0
        step = jnp.where(discrete, self.step, self.scale)
        return jnp.where(discrete, jnp.log(step) - _log_theta(self.scale / step), 0.0)

    def log_tail(self, tau: jax.Array, y: jax.Array, last: jax.Array, end: jax.Array) -> jax.Array:
        """The rest of the period."""
        return NoiseTransform.log_tail(self, tau, y, last, end)

    def __call__(self, zeta: jax.Array, y: jax.Array) -> jax.Array:
        """The log of whichever series is short."""
        h, sigma = self.spacing, self.scale
        m = jnp.arange(-_PERIODS, _PERIODS + 1)
        shift = 2j * jnp.pi * m / h
        periods = 0.5 * (sigma * (zeta[..., None] + shift)) ** 2 - shift * y[..., None]
        # the points that the tilt favours, which for y beyond the statistic's range are not those next to y
        nearest = jnp.round((y - sigma**2 * zeta.real) / h)
        distance = y[..., None] - h * (nearest[..., None] + m)
        points = -0.5 * (distance / sigma) ** 2 + zeta[..., None] * distance + jnp.log(h / sigma / jnp.sqrt(2 * jnp.pi))
        return jnp.where(sigma >= 0.5 * h, _logsum(periods), _logsum(points)) + self._log_mass


def _log_theta(s: jax.Array) -> jax.Array:
    """log of Σ_k e^{−k²/2s²} over its integral, s√2π."""
    k = jnp.arange(-_PERIODS, _PERIODS + 1)
    points = jax.nn.logsumexp(-0.5 * (k / s) ** 2) - jnp.log(s * jnp.sqrt(2.0 * jnp.pi))
    return jnp.where(s >= 0.5, jax.nn.logsumexp(-2.0 * (jnp.pi * s * k) ** 2), points)


class DiscreteTransform(NoiseTransform):
    """Noise on a lattice of spacing `step`, Laplace or Gaussian, around a statistic that is first rounded to it.

    Rounding a continuum multiplies by the transform of a box of width `step`. A statistic on a lattice of its own,
    finer by a whole factor, has `spacing` > 0, and the box is a sum over those of its points that are rounded to one:
    from `first` on, relative to it. The published value is a mass.
    """

    scale: float
    step: float
    gaussian: bool = eqx.field(static=True)
    spacing: float = 0.0
    first: float = 0.0

    def __call__(self, zeta: jax.Array, y: jax.Array) -> jax.Array:
        """log of the noise's transform, and of the box."""
        del y
        log = self._gaussian(zeta) if self.gaussian else self._laplace(zeta)
        fine = jnp.asarray(self.spacing) > 0
        h = jnp.where(fine, self.spacing, self.step)
        # Σ e^{−ζδ} over δ = first, first + h, …: a ratio of two such boxes, around the middle of the points
        middle = jnp.where(fine, self.first + 0.5 * (self.step - h), 0.0)
        box = self.step * _sinhc(0.5 * self.step * zeta) / jnp.where(fine, _sinhc(0.5 * h * zeta), 1.0)
        return log + jnp.log(box) - zeta * middle

    def _laplace(self, zeta: jax.Array) -> jax.Array:
        rate = self.step / self.scale
        log_q = -rate
        normaliser = jnp.log(jnp.tanh(0.5 * rate)) + jnp.log(-jnp.expm1(2.0 * log_q))
        z = self.step * zeta
        return normaliser - _log1mexp(log_q + z) - _log1mexp(log_q - z)

    def _gaussian(self, zeta: jax.Array) -> jax.Array:
        s = self.scale / self.step
        z = self.step * zeta[..., None]
        z = z - 2j * jnp.pi * jnp.round(z.imag / (2.0 * jnp.pi))  # it is periodic, and the series begins near 0
        m = jnp.arange(-_PERIODS, _PERIODS + 1)
        periods = 0.5 * (s * (z + 2j * jnp.pi * m)) ** 2
        # points around the tilted centre, so that a large tilt does not leave the window
        centre = jnp.round(s**2 * z.real)
        k = centre + m
        points = -0.5 * (k / s) ** 2 + z * k
        plain = jnp.arange(-_PERIODS, _PERIODS + 1)
        norm_points = jax.nn.logsumexp(-0.5 * (plain / s) ** 2)
        norm_periods = jax.nn.logsumexp(-2.0 * (jnp.pi * s * plain) ** 2)
        return jnp.where(s >= 0.5, _logsum(periods) - norm_periods, _logsum(points) - norm_points)

    @property
    def pole(self) -> float:
        """1/b for Laplace noise."""
        return jnp.inf if self.gaussian else 1.0 / self.scale

    @property
    def variance(self) -> float:
        """σ² for Gaussian noise."""
        return self.scale**2 if self.gaussian else 0.0

    @property
    def crossable(self) -> bool:
        """A rounded statistic meets a whole ladder of poles, one per period of the noise."""
        return False

    def log_tail(self, tau: jax.Array, y: jax.Array, last: jax.Array, end: jax.Array) -> jax.Array:
        """The rest of the period; on a continuum, of the first half period of the noise, in which it falls.

        In the period of a statistic on a lattice the noise comes back once in each of its own: neither it nor the box
        is ever larger than at τ, and what a period of the noise holds is at most √2π/σ, or π/b, or all of it.
        """
        here = jax.lax.complex(jnp.broadcast_to(tau, (2,)), jnp.stack([0.0 * last, last]))
        size = self(here, jnp.zeros(2)).real
        falling = size[1] - size[0] + jnp.log(2.5 * last)
        period = 2.0 * jnp.pi / self.step
        held = jnp.minimum(period, (math.sqrt(2.0 * math.pi) if self.gaussian else math.pi) / self.scale)
        rest = jnp.log(2.0 * held * (jnp.maximum(end - last, 0.0) / period + 1.0))
        return jnp.where(jnp.asarray(self.spacing) > 0, rest, falling)


class UnrelatedTransform(DiscreteTransform):
    """Noise on a lattice that neither holds that of the statistic nor is held by it: no rounding is periodic there."""

    @property
    def invertible(self) -> bool:
        """Only the sum over all means is left."""
        return False


def _sinhc(z: jax.Array) -> jax.Array:
    """sinh(z)/z."""
    small = jnp.abs(z) < 1e-3
    safe = jnp.where(small, 1.0, z)
    return jnp.where(small, 1.0 + z**2 / 6.0 + z**4 / 120.0, jnp.sinh(safe) / safe)


def _logadd(a: jax.Array, b: jax.Array) -> jax.Array:
    top = jnp.maximum(a.real, b.real)
    return top + jnp.log(jnp.exp(a - top) + jnp.exp(b - top))


def _logsum(terms: jax.Array) -> jax.Array:
    """log Σ e^{term} over the last axis, complex."""
    top = jnp.max(terms.real, axis=-1)
    return top + jnp.log(jnp.sum(jnp.exp(terms - top[..., None]), axis=-1))
