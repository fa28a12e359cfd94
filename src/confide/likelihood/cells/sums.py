"""p(y | θ) of noisy counts at known cell probabilities: one contour integral, whatever the number of cells.

Given θ the counts c of n records are multinomial with probabilities q, and y_j = c_j + V_j. With Poisson weights

    G_j(w) = Σ_{c ≥ 0} wᶜ/c!·g(y_j − c),        p(y | θ) = n!·[zⁿ] Π_j G_j(q_j z).

The coefficient is a mean over the circle |z| = λ. For λ at the saddlepoint the tilted weights of c_j, those at μ_j =
λq_j, have means that add up to n, and what is averaged is the probability that independent c_j with these laws add up
to n, the most probable sum: nothing cancels. The trapezoidal rule with M points adds P(Σc = n ± M), … to it, which
Chernoff's bound for log-concave laws puts below rounding. Frequencies end where the product of transforms has decayed;
where few cells or narrow noise keep it from that, the circle is closed by fast transforms.

The derivative is that of the cell's own weights, n!·[zⁿ] z G_j'(q_j z) Π_{i≠j} G_i(q_i z), which is finite at q_j = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.special import gammaln

from confide.errors import AccuracyError
from confide.likelihood.cells.window import CountNoise, middle, window

Floats = NDArray[np.float64]

#: frequencies at a time; after this many blocks the circle is closed by fast transforms
_BLOCK, _MOST_BLOCKS = 32, 6
#: a product of transforms below this adds nothing any more
_DECAYED = 1e-18
#: what Chernoff's bound leaves of a sum that is M away, in logarithms
_ALIASED = 44.0
#: numbers in an array of weights, and how much wider a shared window may be than its widest member
_ROOM, _WIDER = 2**21, 2.0
#: standard deviations that the mean of the sum may be off n: e^{1.5²/2} is half a digit
_OFF = 1.5
#: steps of the search for the saddlepoint: each at least halves its bracket, once it has one
_STEPS = 200


@dataclass(frozen=True)
class Counted:
    """Published numbers of the cells, their noise, and how many records there are."""

    y: Floats
    noise: CountNoise
    n: int

    def log_p(self, q: Floats) -> Floats:
        """log p(y | q) at cell probabilities (T, J)."""
        return self._all(q, slopes=False)[0]

    def log_p_and_slopes(self, q: Floats) -> tuple[Floats, Floats]:
        """The same, and its derivatives in q, each coordinate by itself: (T,) and (T, J)."""
        return self._all(q, slopes=True)

    def _all(self, q: Floats, *, slopes: bool) -> tuple[Floats, Floats]:
        log_p, derivative = np.empty(len(q)), np.empty(q.shape if slopes else (len(q), 0))
        log_radius = self._start(q)
        waiting = [np.arange(len(q))]
        while waiting:
            rows = waiting.pop()
            parts = self._parted(q[rows], log_radius[rows])
            if parts is not None:
                waiting += [rows[part] for part in parts]
                continue
            tilted = _Tilted(self, q[rows], self._saddle(q[rows], log_radius[rows]))
            log_p[rows], derivative[rows] = tilted.result(slopes=slopes)
        return log_p, derivative

    def _start(self, q: Floats) -> Floats:
        """log λ where the means add up to n as far as `middle` knows them."""
        found = np.full(len(q), math.log(self.n))
        for _ in range(8):
            mean, spread = middle(np, self.noise, np.exp(found)[:, None] * q, self.y)
            step = (self.n - mean.sum(axis=1)) / np.maximum(spread.sum(axis=1), 1e-3)
            found = found + np.clip(step, -1.0, 1.0)
        return found

    def _parted(self, q: Floats, log_radius: Floats) -> list[NDArray[np.intp]] | None:
        """Two halves of θ whose windows are too far apart, or too many, to share arrays."""
        if len(q) == 1:
            return None
        first, last = window(np, self.noise, np.exp(log_radius)[:, None] * q, self.y)
        shared = last.max(axis=0) - first.min(axis=0) + 1
        widest = (last - first + 1).max()
        if shared.max() <= _WIDER * widest and len(q) * q.shape[1] * shared.max() <= _ROOM:
            return None
        order = np.argsort(first[:, int(np.argmax(shared))], kind="stable")
        return np.array_split(order, 2)

    def _saddle(self, q: Floats, start: Floats) -> Floats:
        """log λ with the sum of the means within a standard deviation or so of n; the mean grows with λ."""
        found = start.copy()
        below, above = np.full(len(q), -np.inf), np.full(len(q), np.inf)
        open_ = np.arange(len(q))
        for _ in range(_STEPS):
            weights = _Tilted(self, q[open_], found[open_])
            off, spread = weights.mean.sum(axis=1) - self.n, np.sqrt(weights.variance.sum(axis=1))
            far = np.abs(off) > _OFF * spread + 1e-9
            if not np.any(far):
                return found
            open_, off, spread = open_[far], off[far], spread[far]
            here = found[open_]
            above[open_] = np.where(off > 0, np.minimum(above[open_], here), above[open_])
            below[open_] = np.where(off < 0, np.maximum(below[open_], here), below[open_])
            step = here - np.clip(off / np.maximum(spread**2, 1e-12), -2.0, 2.0)
            bracketed = np.isfinite(below[open_]) & np.isfinite(above[open_])
            outside = bracketed & ((step <= below[open_]) | (step >= above[open_]))
            with np.errstate(invalid="ignore"):
                found[open_] = np.where(outside, 0.5 * (below[open_] + above[open_]), step)
        raise AccuracyError("the saddlepoint of noisy counts was not found; please report it")


class _Tilted:
    """The weights of every cell at μ = λq, on windows that all θ share."""

    def __init__(self, counted: Counted, q: Floats, log_radius: Floats) -> None:
        self.counted, self.q, self.log_radius = counted, q, log_radius
        first, last = window(np, counted.noise, np.exp(log_radius)[:, None] * q, counted.y)
        self.first = first.min(axis=0)
        self.span = last.max(axis=0) - self.first
        self.places = np.arange(self.span.max() + 1)
        counts = self.first[:, None] + self.places
        fixed = counted.noise.log_g(np, counted.y[:, None], counts) - gammaln(counts + 1)
        with np.errstate(divide="ignore"):
            log_mu = log_radius[:, None] + np.log(q)
        none = q == 0
        log_w = np.where(none, 0.0, log_mu)[..., None] * counts
        log_w += fixed
        if np.any(none):
            log_w[none] = np.where(counts[np.nonzero(none)[1]] == 0, log_w[none], -np.inf)
        self.top = log_w.max(axis=-1)
        log_w -= self.top[..., None]
        self.w = np.exp(log_w, out=log_w)
        self.total = self.w.sum(axis=-1)
        self.above = (self.w @ self.places) / self.total
        self.mean = self.first + self.above
        self.variance = np.maximum((self.w @ self.places**2) / self.total - self.above**2, 0.0)

    def points(self) -> int:
        """M: how many points of the circle keep what is aliased below rounding."""
        variance = self.variance.sum(axis=1)
        largest = np.sqrt(self.variance.max(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            many = 2 * _ALIASED * largest + np.where(largest > 0, 0.5 * variance / largest, 0.0)
        apart = np.minimum(_ALIASED * np.sqrt(variance), many) + _OFF * np.sqrt(variance) + 40.0
        # sums lie between those of the windows' ends, and n among them
        low, high = self.first.sum(), self.first.sum() + self.span.sum()
        return int(min(np.ceil(apart.max()), max(high - self.counted.n, self.counted.n - low) + 1))

    def result(self, *, slopes: bool) -> tuple[Floats, Floats]:
        """log p and its derivatives."""
        m, n = self.points(), self.counted.n
        mass, slope = self._by_blocks(m, slopes=slopes) or self._by_fft(m, slopes=slopes)
        if not np.all(mass > 0):
            raise AccuracyError("the integral of noisy counts lost its digits; please report it")
        log_p = gammaln(n + 1) - n * self.log_radius + self.top.sum(axis=1) + np.log(self.total).sum(axis=1)
        return log_p + np.log(mass), slope / mass[:, None] if slopes else np.empty((len(mass), 0))

    def _by_blocks(self, m: int, *, slopes: bool) -> tuple[Floats, Floats] | None:
        mass, slope = np.zeros(len(self.q)), np.zeros(self.q.shape)
        for block in range(_MOST_BLOCKS):
            k = np.arange(block * _BLOCK, min((block + 1) * _BLOCK, m // 2 + 1))
            angle = (2 * math.pi / m) * (np.outer(self.places, k) % m)
            waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
            transforms = _complex(self.w @ waves)
            ahead = _complex((self.w * self.places) @ waves) if slopes else None
            product = self._add(k, m, transforms, ahead, mass, slope)
            if k[-1] == m // 2 or np.all(np.abs(product[:, -4:]) < _DECAYED):
                return mass, slope
        return None

    def _by_fft(self, m: int, *, slopes: bool) -> tuple[Floats, Floats]:
        size = fft.next_fast_len(max(m, self.places.size), real=True)
        mass, slope = np.zeros(len(self.q)), np.zeros(self.q.shape)
        transforms = fft.rfft(self.w, size).conj()
        ahead = fft.rfft(self.w * self.places, size).conj() if slopes else None
        self._add(np.arange(size // 2 + 1), size, transforms, ahead, mass, slope)
        return mass, slope

    def _add(self, k: Floats, m: int, transforms: Floats, ahead: Floats | None, mass: Floats, slope: Floats) -> Floats:
        """The share of frequencies k in the mass at n, and in its derivatives."""
        transforms = transforms / self.total[..., None]
        product = np.prod(transforms, axis=1)
        angle = (2 * math.pi / m) * ((k * int(self.first.sum() - self.counted.n)) % m)
        twice = np.where((k == 0) | (2 * k == m), 1.0, 2.0) / m
        phase = twice * np.exp(1j * angle)
        mass += np.real(product @ phase)
        if ahead is not None:
            slope += np.real(self._derivatives(k, m, transforms, ahead) @ phase)
        return product

    def _derivatives(self, k: Floats, m: int, transforms: Floats, ahead: Floats) -> Floats:
        """z G_j'(q_j z) Π_{i≠j} G_i(q_i z), in units of Π G_i at the radius; (T, J, K)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            own = (ahead / self.total[..., None] + self.first[:, None] * transforms) / self.q[..., None]
        none = self.q == 0
        if np.any(none):  # then c = 1 is all there is, as c = 0 is of the cell itself
            noise, y = self.counted.noise, self.counted.y
            rise = self.log_radius[:, None] + noise.log_g(np, y, 1.0) - noise.log_g(np, y, 0.0)
            own[none] = np.exp(rise[none])[:, None] * np.exp(2j * math.pi / m * k)
        ones = np.ones_like(transforms[:, :1])
        before = np.concatenate([ones, np.cumprod(transforms[:, :-1], axis=1)], axis=1)
        after = np.concatenate([ones, np.cumprod(transforms[:, :0:-1], axis=1)], axis=1)[:, ::-1]
        return np.asarray(own * before * after)


def _complex(both: Floats) -> Floats:
    """Cosine and sine sums, one after the other on the last axis, as complex numbers."""
    half = both.shape[-1] // 2
    return np.asarray(both[..., :half] + 1j * both[..., half:])
