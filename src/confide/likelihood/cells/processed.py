"""Tables that were clamped, rounded or partly left out after the noise: their exact likelihood.

Of each cell it is known between which numbers the noisy count lay, and the weight of a true count c is the probability
of that, g_j(c) = P(low_j ≤ c + V ≤ high_j), in the place of a density. What follows is as in `sums`: with tilted
Poisson weights w_j(c) ∝ μᶜ/c!·g_j(c), μ_j = λq_j,

    p = n!/λⁿ · Π_j Σ_c μ_jᶜ/c!·g_j(c) · P(Σ_j c_j = n),

λ so that the means add up to n. Here the law of the sum is made by fast transforms, over a circle that is wider than
all that the sum may be off n: weights are log-concave, as intervals and noise are, so that the sum lies within x
standard deviations but for e^{1−x}. And ∂ log p/∂q_j = E[c_j | Σc = n]/q_j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.special import gammaln

from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.cells.probabilities import cell_law
from confide.likelihood.cells.route import count_noise
from confide.likelihood.cells.window import DROP, CountNoise, middle, window
from confide.likelihood.noise.between import ends_on, log_between
from confide.likelihood.route import Derived, Floats, Route, require_finite
from confide.model import Model
from confide.processing import Processed

#: standard deviations of the sum beyond which a log-concave law has less than rounding
_BEYOND = 42.0
#: counts so far from all that were looked at are begun with anew
_APART = 100_000
#: steps of the search for the saddlepoint, and how many standard deviations its sum of means may be off n
_STEPS, _OFF = 100, 1.0


@dataclass(frozen=True)
class ProcessedTable:
    """What is known of each noisy count: between which numbers it lay; and how many records there are."""

    noise: CountNoise
    low: Floats
    high: Floats
    n: int
    #: of each cell, the first count whose log g is known, and these of it and all that follow: no θ changes them
    seen: dict[int, tuple[int, Floats]] = field(default_factory=dict)

    def log_p_and_slopes(self, q: Floats) -> tuple[Floats, Floats]:
        """log p (T,) at cell probabilities (T, J), and its derivatives in them."""
        each = [self._one(row) for row in q]
        return np.asarray([log_p for log_p, _ in each]), np.stack([slope for _, slope in each])

    def _one(self, q: Floats) -> tuple[float, Floats]:
        log_radius, below, above = self._start(q), -math.inf, math.inf
        for _ in range(_STEPS):
            cells = [self._weights(j, q[j], log_radius) for j in range(q.size)]
            mean, variance = (math.fsum(cell[part] for cell in cells) for part in (3, 4))
            off = mean - self.n
            if abs(off) <= _OFF * math.sqrt(variance) + 1e-9:
                return self._closed(q, log_radius, cells, off, variance)
            below, above = (below, min(above, log_radius)) if off > 0 else (max(below, log_radius), above)
            step = log_radius - min(max(off / max(variance, 1e-12), -2.0), 2.0)
            bracketed = math.isfinite(below) and math.isfinite(above)
            log_radius = 0.5 * (below + above) if bracketed and not below < step < above else step
        raise AccuracyError("the saddlepoint of processed counts was not found; please report it")

    def _start(self, q: Floats) -> float:
        """log λ by the middles of what is known: any start converges, and this one is near."""
        y = np.where(
            np.isfinite(self.low), np.where(np.isfinite(self.high), 0.5 * (self.low + self.high), self.low), self.high
        )
        found = math.log(self.n)
        for _ in range(8):
            mean, spread = middle(np, self.noise, math.exp(found) * q, y)
            found += min(max((self.n - mean.sum()) / max(spread.sum(), 1e-3), -1.0), 1.0)
        return found

    def _weights(self, j: int, q: float, log_radius: float) -> tuple[float, Floats, float, float, float]:
        """First count, weights that add up to one, the log of their sum, mean and variance of cell j.

        The window holds those of all points between the ends; what is negligible at its ends is left out.
        """
        if q == 0:
            return 0.0, np.ones(1), float(self._log_g(j, np.zeros(1))[0]), 0.0, 0.0
        mu = np.exp(log_radius + math.log(q))
        first, last = 0.0, 2.0
        ends = np.asarray([max(self.low[j], -1e15), min(self.high[j], 1e15)])
        starts, stops = window(np, self.noise, np.full(2, mu), ends)
        first, last = float(starts[0]), float(stops[1])
        if not math.isfinite(self.high[j]):  # then counts are those of Poisson weights, or above the lower end
            last = float(np.max(window(np, self.noise, np.full(1, mu), np.asarray([max(mu, ends[0])]))[1]))
        if not math.isfinite(self.low[j]):
            first = float(np.min(window(np, self.noise, np.full(1, mu), np.asarray([min(mu, ends[1])]))[0]))
        counts = np.arange(first, last + 1.0)
        log_w = counts * (log_radius + math.log(q)) - gammaln(counts + 1) + self._log_g(j, counts)
        top = log_w.max()
        if not math.isfinite(top):
            raise AccuracyError("no counts explain what was published of a cell; check the value and its units")
        kept = np.flatnonzero(log_w > top - DROP - 2)
        counts, w = counts[kept[0] : kept[-1] + 1], np.exp(log_w[kept[0] : kept[-1] + 1] - top)
        total = w.sum()
        w /= total
        mean = float(w @ counts)
        return float(counts[0]), w, top + math.log(total), mean, float(w @ (counts - mean) ** 2)

    def _log_g(self, j: int, counts: Floats) -> Floats:
        """log g_j of successive whole numbers, computed once."""
        first, last = int(counts[0]), int(counts[-1])
        start, known = self.seen.get(j, (first, np.zeros(0)))
        if last < start - _APART or first > start + known.size + _APART:  # nothing between would ever be asked for
            start, known = first, known[:0]
        if first < start:
            known, start = np.concatenate([self._computed(j, np.arange(first, start, dtype=float)), known]), first
        if last >= start + known.size:
            more = np.arange(start + known.size, last + 1, dtype=float)
            known = np.concatenate([known, self._computed(j, more)])
        self.seen[j] = start, known
        return known[first - start : last + 1 - start]

    def _computed(self, j: int, counts: Floats) -> Floats:
        """Of a number that was published as it is, log g(y − c); else the probability of where it lay."""
        if self.low[j] == self.high[j]:
            return self.noise.log_g(np, self.low[j], counts)
        return log_between(self.noise, self.low[j] - counts, self.high[j] - counts)

    def _closed(self, q: Floats, log_radius: float, cells: Any, off: float, variance: float) -> tuple[float, Floats]:
        """log p and its derivatives from the weights at the saddlepoint."""
        spans = sum(cell[1].size - 1 for cell in cells) + 1
        widest = max(cell[1].size for cell in cells)
        reach = 2 * _BEYOND * math.sqrt(variance) + 2 * abs(off) + 4
        size = fft.next_fast_len(max(min(spans, math.ceil(reach)), widest) + 1, real=True)
        transforms = np.stack([fft.rfft(cell[1], size) for cell in cells])
        place = int(self.n - sum(cell[0] for cell in cells)) % size
        turn = np.exp(2j * math.pi / size * np.mod(np.arange(transforms.shape[1]) * float(place), size))
        twice = np.full(turn.size, 2.0)
        twice[0] = 1.0
        if size % 2 == 0:
            twice[-1] = 1.0
        turn *= twice / size
        mass = float(np.real(np.prod(transforms, axis=0) @ turn))
        if not mass > 0:
            raise AccuracyError("the integral of processed counts lost its digits; please report it")
        log_p = gammaln(self.n + 1) - self.n * log_radius + sum(cell[2] for cell in cells) + math.log(mass)
        ones = np.ones_like(transforms[:1])
        before = np.concatenate([ones, np.cumprod(transforms[:-1], axis=0)])
        after = np.concatenate([ones, np.cumprod(transforms[:0:-1], axis=0)])[::-1]
        slopes = np.empty(q.size)
        for j, (first, w, *_) in enumerate(cells):
            if q[j] == 0:  # one record in it, c = 1, is all that a probability near 0 adds
                rise = math.exp(log_radius + float(np.diff(self._log_g(j, np.arange(2.0)))[0]))
                own = rise * np.exp(-2j * math.pi / size * np.arange(transforms.shape[1]))
            else:
                own = fft.rfft(w * (first + np.arange(w.size)), size) / q[j]
            slopes[j] = float(np.real((own * before[j] * after[j]) @ turn)) / mass
        return float(log_p), slopes


@dataclass(frozen=True)
class ProcessedCells(Derived):
    """The route `cells` for counts of which it is known between which numbers they lay before they were published."""

    inner: Route
    processed: Processed

    def refuses(self, model: Model) -> str | None:
        """A histogram of a public number of records."""
        return self.inner.refuses(model)

    def impossible(self, model: Model, values: Any) -> str | None:
        """Numbers that were published as they are, as the route has it; of others nothing is impossible."""
        known = [each for each in np.ravel(values) if self.processed.lies(float(each)) is None]
        noise = model.channel.law.added
        if not known or noise is None:
            return None
        plain = np.resize(
            np.asarray(known), (len(known) // model.channel.value_shape[0] + 1, *model.channel.value_shape)
        )
        return self.inner.impossible(model, plain)

    def table(self, model: Model, value: Any) -> ProcessedTable:
        """What is known of one published table."""
        return _table(*self._how(model), np.asarray(value, dtype=np.float64).tobytes())

    def _how(self, model: Model) -> _How:
        assert model.channel.n is not None
        return self.processed, count_noise(model), model.channel.n

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """All θ (M, d), one published table after the other."""
        thetas, values = np.asarray(thetas), np.asarray(values)
        q = cell_law(model.population, model.channel.statistic).at(thetas)
        found = [self.table(model, value).log_p_and_slopes(q)[0] for value in values]
        return require_finite(model, thetas, values, np.stack(found, axis=1))

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """Inside a trace: the same computation outside of it, with its derivative."""
        q = cell_law(model.population, model.channel.statistic).traced(jnp.asarray(theta))
        return _outside(q, jnp.asarray(value), self._how(model))

    def information(self, model: Model, thetas: Any) -> NoReturn:
        """Refused: information is asked of a channel, which processes nothing."""
        raise IncompatibleError("the information of clamped or rounded counts is not computed; ask it of the channel")


@lru_cache(maxsize=32)
def _table(processed: Processed, noise: CountNoise, n: int, content: bytes) -> ProcessedTable:
    low, high = [], []
    for each in np.frombuffer(content).tolist():
        between = processed.lies(each)
        closed = between is not None and processed.lies(between[1]) == between
        ends = (each, each) if between is None else ends_on(noise.step, *between, closed=closed)
        low.append(ends[0])
        high.append(ends[1])
    return ProcessedTable(noise, np.asarray(low), np.asarray(high), n)


#: how a table is computed outside of a trace: what was done to it, its noise, and how many records there are
_How = tuple[Processed, CountNoise, int]


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _outside(q: jax.Array, value: jax.Array, how: _How) -> jax.Array:
    return _called(q, value, how)[0]


@_outside.defjvp
def _outside_jvp(how: _How, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    q, value = primals
    log_p, slopes = _called(q, value, how)
    return log_p, jnp.sum(slopes * tangents[0])


def _called(q: jax.Array, value: jax.Array, how: _How) -> tuple[jax.Array, jax.Array]:
    """log p and its derivatives by a call of NumPy, which nothing of JAX takes part in.

    The call runs in a thread where double precision was not entered, and which would round all numbers to single: they
    pass as the words that they are made of.
    """
    q, value = (jax.lax.stop_gradient(part).astype(jnp.float64) for part in (q, value))

    def compute(words: Any) -> NDArray[np.uint32]:
        both = np.ascontiguousarray(words).view(np.float64)[..., 0]
        found = np.full((*both.shape[:-2], both.shape[-1] + 1), np.nan)
        for place in np.ndindex(both.shape[:-2]):
            row, each = both[place]
            if np.all(row >= 0) and np.isfinite(row.sum()):
                log_p, slopes = _table(*how, each.tobytes()).log_p_and_slopes(row[None])
                found[place] = [log_p[0], *slopes[0]]
        return found[..., None].view(np.uint32)

    words = jax.lax.bitcast_convert_type(jnp.stack([q, value]), jnp.uint32)
    shape = jax.ShapeDtypeStruct((q.shape[-1] + 1, 2), jnp.uint32)
    back = jax.pure_callback(compute, shape, words, vmap_method="expand_dims")
    found = jax.lax.bitcast_convert_type(back, jnp.float64)
    return found[0], found[1:]
