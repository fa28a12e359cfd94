"""The joint law of a noisy sum and of how many records it is over.

    p(n, y | θ) = w(n) p_n(y | θ),      w(n) = π(n) Π_j g_j(y_j − c_j n),

where w holds the prior of n and what noisy counts say of it. All n share one contour: with M the transform of s of one
record and N that of the noise,

    w(n) p_n(y | θ) = 1/2π ∫ w(n) M(ζ)ⁿ N(ζ) e^{−ζy} dt,      ζ = τ + it,

and their sum over n is taken inside the integral, which decays as the smallest n that count let it. τ is the
saddlepoint of the sum: the law that is tilted by it has y for its mean. A window of n follows both the counts and y, so
that the sum over n is finite, and the geometric series of Laplace counts have no pole. Laplace noise of the sum has
poles at ±1/b, which are kept at a distance or passed, and then their residue is added: the noise's own tail.

Where s is on a lattice the integral is a finite sum over one period, and N that over the points of the lattice. Few
records of a continuum have no decaying transform: they are left to the routes for a public n (`peeled`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.mechanism.noise import Noise

Floats = NDArray[np.float64]

#: nats below the largest at which a number of records is left out
_WINDOW = 48.0
#: numbers of records that are looked at to find those that count, and how far beyond what the counts say
_LOOKED_AT, _FURTHEST = 150, 1e7
#: what is left out of a tilted law, and the nats of that
LEFT_OUT, _NATS = 1e-18, 41.0
#: numbers of records, and frequencies, that are summed at most
MOST_NUMBERS, MOST_FREQUENCIES = 40_000, 2**14
#: the distance of a contour from a pole, in units of one over the spread: what that costs is e
FROM_POLE = 1.5
#: steps of the search for a saddlepoint, which a per cent of the spread is near enough to, and where it ends
_HALVINGS, _STEEPEST = 36, 120.0
#: numbers of records that are left to other routes, one by one, until the transform of more decays
PEELED = (0, 8, 16, 32, 64)
PROBES = np.geomspace(1e-3, 1e9, 240)


@dataclass(frozen=True)
class TiltedRecords:
    """The law of s of one record at some θ: values (M, J) and masses (M, J)."""

    s: Floats
    mass: Floats

    def tilted(self, tau: Floats) -> tuple[Floats, Floats]:
        """log M(τ) (M,), and the masses of the tilted law."""
        exponent = tau[:, None] * self.s
        top = np.max(np.where(self.mass > 0, exponent, -np.inf), axis=1, keepdims=True)
        with np.errstate(over="ignore", invalid="ignore"):
            mass = np.where(self.mass > 0, self.mass * np.exp(np.minimum(exponent - top, 0.0)), 0.0)
        total = mass.sum(axis=1, keepdims=True)
        return (np.log(total) + top)[:, 0], mass / total

    def moments(self, mass: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of tilted laws."""
        mean = np.sum(mass * self.s, axis=1)
        return mean, np.sum(mass * np.square(self.s - mean[:, None]), axis=1)

    def __getitem__(self, chosen: Any) -> TiltedRecords:
        return TiltedRecords(self.s[chosen], self.mass[chosen])


def log_noise(noise: Noise, y: float, u: Any) -> Any:
    """log g(y − u), by NumPy: all noise here falls from its peak by |v|/b or v²/2σ². A lattice is rounded to first."""
    with jax.enable_x64(True):
        peak = float(noise.log_prob(jnp.asarray(0.0)))
    u = np.asarray(u, dtype=np.float64)
    if noise.step is not None:
        step = float(noise.step)
        away = step * (round(y / step) - np.floor(u / step + 0.5))
    else:
        away = y - u
    scaled = np.abs(away) / float(noise.scale)
    return peak - (scaled if noise.exponential else 0.5 * scaled**2)


@dataclass(frozen=True)
class NumberTerms:
    """log w(n) p_n(y | θ) for each n of a window (M, n)."""

    numbers: Floats
    log_terms: Floats
    #: whether the normal law stands in for the exact one
    approximate: bool = False


def windows(
    records: TiltedRecords, y: float, noise: Noise, log_weight: Callable[[Floats], Floats], hull: Floats
) -> Floats:
    """The first and last n that count at each θ (M, 2): from w(n), and from how far y lies from the sum of n records.

    At the saddlepoint τ of the sum over few n, e^{log w(n) + n log M(τ)} bounds what each n can contribute relative to
    all. The hull is where the counts alone would have n; the range that is looked at reaches to where y would.
    """
    mean, variance = records.moments(records.mass)
    gaussian = 0.0 if noise.exponential else float(noise.scale) ** 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reached = np.where(mean == 0, hull[1], np.clip(y / mean, -1e12, 1e12))
        spread = np.sqrt(variance * np.maximum(np.abs(reached), 1.0) + float(noise.scale) ** 2) / np.abs(mean)
    spread = np.where(np.isfinite(spread), spread, 0.0)
    low = np.maximum(0.0, np.minimum(hull[0], reached - 12 * spread))
    high = np.maximum(hull[1], np.minimum(reached + 12 * spread, hull[1] + _FURTHEST))
    share = np.linspace(0.0, 1.0, _LOOKED_AT)
    by_counts = np.broadcast_to(hull[0] + share * (hull[1] - hull[0]), (len(low), share.size))
    every = np.concatenate([low[:, None] + share * (high - low)[:, None], by_counts], axis=1)
    numbers = np.sort(np.round(every), axis=1)
    log_w = log_weight(numbers)
    tau = saddle(records, y, gaussian, numbers, log_w)
    if noise.exponential:
        tau = np.clip(tau, -1 / float(noise.scale), 1 / float(noise.scale))
    score = log_w + numbers * records.tilted(tau)[0][:, None]
    kept = score > score.max(axis=1, keepdims=True) - _WINDOW
    first = np.maximum(np.argmax(kept, axis=1) - 1, 0)
    last = numbers.shape[1] - np.maximum(np.argmax(kept[:, ::-1], axis=1) - 1, 0) - 1
    return np.take_along_axis(numbers, np.stack([first, last], axis=1), axis=1)


def saddle(records: TiltedRecords, y: float, variance: float, numbers: Floats, log_w: Floats) -> Floats:
    """τ at which the tilted sum, with Gaussian noise of a variance moved along, has the mean y; found by halving.

    The tilted mean grows with τ. At so many times one over the spread and beyond, all mass is at an end of the range.
    """
    variances = records.moments(records.mass)[1]
    largest = np.max(np.abs(np.where(records.mass > 0, records.s, 0.0)), axis=1) + 1e-300
    high = _STEEPEST / np.maximum(np.sqrt(variances), 1e-3 * largest)
    low = -high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        log_m, mass = records.tilted(middle)
        exponent = log_w + numbers * log_m[:, None]
        share = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        reached = np.sum(share * numbers, axis=1) / share.sum(axis=1) * records.moments(mass)[0] + variance * middle
        above = reached > y
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return np.asarray(0.5 * (low + high))


@dataclass
class TiltedSum:
    """The sum, tilted at each θ: log M(τ), the shares of the numbers of records, and the moments."""

    log_m: Floats
    mean: Floats
    variance: Floats
    mass: Floats
    #: log w(n) + n log M(τ), and the largest of them
    exponent: Floats
    top: Floats
    share: Floats

    @classmethod
    def at(cls, records: TiltedRecords, tau: Floats, numbers: Floats, log_w: Floats) -> TiltedSum:
        """TiltedSum by τ."""
        log_m, mass = records.tilted(tau)
        exponent = log_w + numbers * log_m[:, None]
        top = exponent.max(axis=1)
        return cls(log_m, *records.moments(mass), mass, exponent, top, np.exp(exponent - top[:, None]))

    def least(self, numbers: Floats) -> Floats:
        """The n below which next to nothing is left."""
        below = np.cumsum(self.share, axis=1) / self.share.sum(axis=1, keepdims=True)
        return numbers[np.argmax(below > LEFT_OUT, axis=1)]

    def ends(self, numbers: Floats) -> tuple[Floats, Floats]:
        """Where the tilted sum lies, but for what is left out."""
        seen = self.share > LEFT_OUT
        first, last = numbers[np.argmax(seen, axis=1)], numbers[::-1][np.argmax(seen[:, ::-1], axis=1)]
        far = [np.sqrt(2 * _NATS * n * self.variance) for n in (first, last)]
        corners = np.stack([first * self.mean - far[0], first * self.mean + far[0], last * self.mean - far[1],
                            last * self.mean + far[1]])  # fmt: skip
        return corners.min(axis=0), corners.max(axis=0)

    def log_phase(self, records: TiltedRecords, t: Floats) -> NDArray[np.complex128]:
        """log M(τ + it)/M(τ) (M, F), without the digits that 1 would take from a small difference."""
        centred = records.s - self.mean[:, None]
        shared = np.all(records.s == records.s[:1])
        if shared:  # one matrix for all θ, up to the phase of the mean
            s = records.s[0]
            phases = np.exp(1j * np.outer(s - s.mean(), t))
            shift = np.exp(-1j * np.outer(self.mean - s.mean(), t))
            ratio = (self.mass @ phases) * shift
            small = np.abs(ratio - 1) < 1e-3
            log = np.log(ratio)
            if np.any(small):
                columns = np.flatnonzero(small.any(axis=0))
                log[:, columns] = np.where(
                    small[:, columns], _near_one(centred, self.mass, t[columns]), log[:, columns]
                )
        else:
            log = np.concatenate([
                np.log(np.einsum("mj,mjf->mf", self.mass[i : i + 1], np.exp(1j * centred[i : i + 1, :, None] * t)))
                for i in range(len(self.mass))
            ])  # fmt: skip
        return np.asarray(log + 1j * np.outer(self.mean, t))


def _near_one(centred: Floats, mass: Floats, t: Floats) -> NDArray[np.complex128]:
    """log Σ m e^{itc} for small tc: −2 sin² and sin, so that small differences keep their digits."""
    angle = centred[:, :, None] * t
    real = -2 * np.einsum("mj,mjf->mf", mass, np.sin(0.5 * angle) ** 2)
    imaginary = np.einsum("mj,mjf->mf", mass, np.sin(angle))
    return np.asarray(np.log1p(real + 1j * imaginary))


def accumulated(
    log_z: NDArray[np.complex128], coefficients: NDArray[np.complex128], first: float, count: int
) -> Floats:
    """Σ_f Re(C_f e^{nL_f}) for n = first, first + 1, …: (M, count)."""
    current = coefficients * np.exp(first * log_z)
    z = np.exp(log_z)
    found = np.empty((len(z), count))
    for i in range(count):
        found[:, i] = current.real.sum(axis=1)
        np.multiply(current, z, out=current)
    return found
