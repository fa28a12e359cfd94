"""One sum beside counts of a private number of records, at one θ inside somebody's trace.

The integral of `inversion`, with the sum over n inside of it:

    p(y₀, y₁ | θ) = 1/2π ∫ W(M(ζ)) N(ζ; y₁) e^{−ζy₁} dt,      W(m) = Σ_{n ≥ 1} w(n) mⁿ,

and no record at all (n = 0) by itself, in closed form. The window of n follows θ, counts and sum, and frequencies are
added until what is beyond the last is bounded: both are loops of as many turns as the numbers ask for. JAX cannot
transpose such loops, and need not: ∂p/∂w_j of the weights of a record's nodes is a sum beside p,

    ∂p/∂w_j = 1/2π ∫ W′(M(ζ)) e^{ζs_j} N(ζ; y₁) e^{−ζy₁} dt,

and so are the derivatives in the published numbers. Where the bound is not small (few records, atoms and Laplace noise)
the answer is not a number, as for a public n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from confide.likelihood.inversion.atoms import atom_values
from confide.likelihood.inversion.contour import Centred, FrequencyGrid, log_of_rest, log_power, tilted_weights
from confide.likelihood.inversion.frequencies import frequency_grid
from confide.likelihood.noise.channel import lattice_period, transform_of
from confide.likelihood.noise.transform import NoiseTransform
from confide.likelihood.record_law.traced import moving_law
from confide.likelihood.totals.component import Component, spacing
from confide.likelihood.totals.counting import Counting, log_noise

#: numbers of records, and frequencies, that are summed at once; frequencies at most
_CHUNK, _BLOCK, _MOST = 64, 64, 2**11
#: nats below the largest at which a number of records is left out, and numbers that are looked at to find the others
_WINDOW, _LOOKED_AT, _LOOKS = 48.0, 192, 2
#: steps of the search for a saddlepoint, the steepest tilt times the range of s, and how far y may put n
_HALVINGS, _STEEPEST, _FURTHEST = 40, 60.0, 1e7
#: log of the share of p beyond the last frequency at which none is added, and of that which is let pass
_SETTLED, _BOUNDED = -18.4, -9.2
#: spreads beyond where a sum that is tilted to the noise's pole lies, from where the noise has its tail to itself; and
#: nats that its exponential tail, tilted, falls over half a period of the frequencies
_TAIL, _ALIAS = 20.0, 34.0


class CountedSum(NamedTuple):
    """What of a release is about θ: the law of s, the noise in the frequency domain, and where s has atoms."""

    part: Component
    transform: NoiseTransform
    atoms: Any
    counting: Counting

    @classmethod
    def of(cls, part: Component, counting: Counting) -> CountedSum:
        """Of a component and what counts the records beside it."""
        population, statistic = part.model.population, part.statistic
        lattice = spacing(population, statistic)
        transform = transform_of(part.noise, None if lattice is None else (0.0, lattice), 1)
        assert transform is not None
        return cls(part, transform, np.asarray(atom_values(population, statistic)), counting)

    def log_prob(self, theta: jax.Array, counts: jax.Array, y: jax.Array) -> jax.Array:
        """log p(counts, y | θ)."""
        s, weights = moving_law(self.part.model.population, self.part.statistic, theta)

        @jax.custom_jvp
        def of(weights: jax.Array, counts: jax.Array, y: jax.Array, s: jax.Array) -> jax.Array:
            return _Inverted(self, weights, counts, y, s).value_and_slopes()[0]

        @of.defjvp
        def _(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
            value, slopes = _Inverted(self, *primals).value_and_slopes()
            each = [jnp.sum(slope * moved) for slope, moved in zip(slopes, tangents[:3], strict=True)]
            return value, sum(each, jnp.zeros(()))

        return of(weights, counts, y, s[0])


class _Tilted(NamedTuple):
    """A record, tilted: its masses, their mean and variance, and log M(τ)."""

    mass: jax.Array
    mean: jax.Array
    variance: jax.Array
    log_m: jax.Array


@dataclass(frozen=True, eq=False)
class _Inverted:
    """One evaluation; nothing in it is differentiated."""

    given: CountedSum
    weights: jax.Array
    counts: jax.Array
    y: jax.Array
    s: jax.Array

    def tilted(self, tau: jax.Array) -> _Tilted:
        plain = self.weights @ self.s
        mass, log_total = tilted_weights(self.weights, self.s - plain, tau)
        mean = mass @ self.s
        return _Tilted(mass, mean, mass @ jnp.square(self.s - mean), log_total + tau * plain)

    def log_weight(self, numbers: jax.Array) -> jax.Array:
        return self.given.counting.log_weight(numbers, self.counts)

    def saddle(self, numbers: jax.Array) -> jax.Array:
        """τ at which the sum over these n, tilted, has the mean y, Gaussian noise moved along; by halving."""
        variance, log_w = jnp.asarray(self.given.transform.variance), self.log_weight(numbers)
        width = jnp.max(self.s) - jnp.min(self.s) + 1e-300
        limit = jnp.minimum(_STEEPEST / width, self.given.transform.pole)
        safe = jnp.where(variance > 0, variance, 1.0)
        limit = jnp.where(variance > 0, jnp.maximum(limit, 2.0 * jnp.abs(self.y) / safe), limit)

        def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            middle = 0.5 * (ends[0] + ends[1])
            at = self.tilted(middle)
            share = jax.nn.softmax(log_w + numbers * at.log_m)
            above = (share @ numbers) * at.mean + variance * middle > self.y
            return jnp.where(above, ends[0], middle), jnp.where(above, middle, ends[1])

        low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (-limit, limit))
        return 0.5 * (low + high)

    def window(self) -> tuple[jax.Array, jax.Array]:
        """The first and the last n that count: bounded by e^{log w(n) + n log M(τ)} at the saddlepoint of a few."""
        hull = self.given.counting.hull(self.counts)
        at, scale = self.tilted(jnp.zeros(())), self.given.part.noise.scale
        some = jnp.where(at.mean == 0, 1.0, at.mean)
        reached = jnp.where(at.mean == 0, hull[1], jnp.clip(self.y / some, -1e12, 1e12))
        spread = jnp.sqrt(at.variance * jnp.maximum(jnp.abs(reached), 1.0) + scale**2) / jnp.abs(some)
        spread = jnp.where(at.mean == 0, 0.0, jnp.minimum(spread, 1e12))
        low = jnp.maximum(0.0, jnp.minimum(hull[0], reached - 12 * spread))
        high = jnp.maximum(hull[1], jnp.minimum(reached + 12 * spread, hull[1] + _FURTHEST))
        share = jnp.linspace(0.0, 1.0, _LOOKED_AT)
        looked_at = jnp.concatenate([low + share * (high - low), hull[0] + share * (hull[1] - hull[0])])
        for _ in range(_LOOKS):
            numbers = jnp.round(looked_at)
            score = self.log_weight(numbers) + numbers * self.tilted(self.saddle(numbers)).log_m
            kept = score > jnp.max(score) - _WINDOW
            # those next to the outermost that count, by no index: indices are of the caller's precision
            least, most = jnp.min(jnp.where(kept, numbers, jnp.inf)), jnp.max(jnp.where(kept, numbers, -jnp.inf))
            first = jnp.max(jnp.where(numbers < least, numbers, jnp.min(numbers)))
            last = jnp.min(jnp.where(numbers > most, numbers, jnp.max(numbers)))
            looked_at = jnp.linspace(first, last, 2 * _LOOKED_AT)
        return first, last

    def value_and_slopes(self) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
        """log p, and its derivatives in the weights, the counts and the sum."""
        transform = self.given.transform
        first, last = self.window()
        numbers = jnp.round(jnp.linspace(first, last, 2 * _LOOKED_AT))
        log_w = self.log_weight(numbers)

        def spread_at(at: _Tilted) -> tuple[jax.Array, jax.Array]:
            share = jax.nn.softmax(log_w + numbers * at.log_m)
            mean = share @ numbers
            between = share @ jnp.square(numbers - mean)
            return mean * at.mean, jnp.sqrt(mean * at.variance + between * at.mean**2)

        tau, plain = self.saddle(numbers), self.tilted(jnp.zeros(()))
        spread = jnp.maximum(jnp.maximum(spread_at(plain)[1], spread_at(self.tilted(tau))[1]), 1e-300)
        grid = _grid(transform, spread)
        y, log_share = self.pulled_in(spread_at)
        furthest = transform.pole - _ALIAS * grid.step / (2 * np.pi)
        tau = jnp.clip(tau, -furthest, furthest)
        at = self.tilted(tau)
        top = jnp.max(log_w + numbers * at.log_m)
        total, slopes, log_scale, left, size = self.integral(self.sums(at.log_m, top, first, last), at, tau, y, grid)
        none, none_slopes, log_none = self.none(first)
        log_scale, log_none = log_scale + top, log_none - log_share
        scale = jnp.maximum(log_scale, log_none)
        scale = jnp.where(jnp.isfinite(scale), scale, 0.0)
        some, rest = jnp.exp(log_scale - scale), jnp.exp(log_none - scale)
        total = total * some + none * rest
        slopes = jax.tree.map(lambda one, other: one * some + other * rest, slopes, none_slopes)
        known = (total > 0) & (jnp.maximum(left, 2.0**-52 * size) * some < np.exp(_BOUNDED) * total)
        safe = jnp.where(known, total, jnp.nan)
        return log_share + scale + jnp.log(safe), tuple(slope / safe for slope in slopes)

    def pulled_in(self, spread_at: Callable[[_Tilted], tuple[jax.Array, jax.Array]]) -> tuple[jax.Array, jax.Array]:
        """A y so near that a contour short of the poles keeps its digits, and log p(y) minus log p there.

        Beyond where a sum that is tilted to the pole has mass, p falls by e^{−1/b} for each unit of y, and no contour
        need pass the pole.
        """
        transform, y = self.given.transform, self.y
        if not np.isfinite(float(transform.pole)):
            return y, jnp.zeros(())
        side = jnp.where(y >= spread_at(self.tilted(jnp.zeros(())))[0], 1.0, -1.0)
        middle, spread = spread_at(self.tilted(side * transform.pole))
        step = float(getattr(transform, "step", 0.0))
        away = jnp.maximum(side * (y - middle) - _TAIL * spread - step, 0.0)
        away = away if step == 0 else step * jnp.floor(away / step)
        return y - side * away, -away * transform.pole

    def sums(self, log_m: jax.Array, top: jax.Array, first: jax.Array, last: jax.Array) -> Callable[[jax.Array], Any]:
        """Σ_n w(n) e^{n log M − top} e^{nL} for n ≥ 1 of the window, and the same with n, and with ∂ log w/∂y_j."""
        begin = jnp.maximum(first, 1.0)
        chunks = jnp.ceil((last - begin + 1) / _CHUNK).astype(jnp.int32)
        size, places = 8, jnp.arange(8.0)

        def of(logs: jax.Array) -> jax.Array:
            low, high = jnp.exp(jnp.outer(places, logs)), jnp.exp(jnp.outer(size * places, logs))
            powers = (high[:, None] * low[None]).reshape(_CHUNK, logs.size)

            def add(i: jax.Array, total: jax.Array) -> jax.Array:
                start = begin + i * _CHUNK
                numbers = start + jnp.arange(float(_CHUNK))
                share = jnp.where(numbers <= last, jnp.exp(self.log_weight(numbers) + numbers * log_m - top), 0.0)
                rows = share * jnp.stack([jnp.ones(_CHUNK), numbers, *self.given.counting.slopes(numbers, self.counts)])
                return total + (rows @ powers) * jnp.exp(start * logs)

            return jax.lax.fori_loop(0, chunks, add, jnp.zeros((2 + self.counts.size, logs.size), dtype=complex))

        return of

    def integral(
        self, sums: Callable[[jax.Array], Any], at: _Tilted, tau: jax.Array, y: jax.Array, grid: FrequencyGrid
    ) -> tuple[Any, ...]:
        """The integral, its derivatives, the log of its scale; a bound on the rest, and the size of what was summed."""
        transform = self.given.transform
        centred, width = self.s - at.mean, jnp.max(self.s) - jnp.min(self.s)
        near = jnp.any(jnp.abs(self.s[:, None] - self.given.atoms) <= 1e-12 * width, axis=1)
        log_peak = transform(jax.lax.complex(tau, 0.0 * tau)[None], y[None])[0].real
        end = grid.end
        each = jnp.where(self.weights == 0, 0.0, at.mass / jnp.where(self.weights == 0, 1.0, self.weights))

        def rest(last: jax.Array) -> jax.Array:
            seen = Centred(centred, last[None], None, None, near.astype(float))  # type: ignore[arg-type]
            bound = sums(log_of_rest(seen, at.mass, 1.0, grid)[None] + 0j)[0, 0].real
            left = bound * jnp.exp(transform.log_tail(tau, y, last, end)) / jnp.pi
            return jnp.where(last < 0.999 * end, left, 0.0)

        def more(state: Any) -> jax.Array:
            block, total, *_, left, _ = state
            return (block * _BLOCK < _MOST) & (left > np.exp(_SETTLED) * jnp.abs(total)) & (left > 0)

        def add(state: Any) -> Any:
            block, total, by_weight, by_count, by_y, _, size = state
            k = block * _BLOCK + jnp.arange(float(_BLOCK))
            t = grid.step * k
            turns = jnp.outer(t, centred)
            cosine, sine = -2.0 * jnp.square(jnp.sin(0.5 * turns)), jnp.sin(turns)
            x, z = cosine @ at.mass, sine @ at.mass
            zeta = jax.lax.complex(jnp.broadcast_to(tau, t.shape), t)

            def noise(value: jax.Array) -> jax.Array:
                return transform(zeta, jnp.broadcast_to(value, t.shape))

            log_n, moves = jax.jvp(noise, (y,), (jnp.ones(()),))
            e = jnp.exp(log_n - log_peak - 1j * t * y) * (grid.trapezoid(k) * grid.step / jnp.pi)
            found = sums(log_power(x, z, 1.0) + 1j * t * at.mean)
            terms = found[0] * e
            # ∂ log M/∂w_j = e^{ζs_j}/M(ζ), where M(ζ)/M(τ) = (1 + x + iz) e^{itm}
            vanished = jnp.square(1.0 + x) + jnp.square(z) < 1e-200
            ratio = jnp.where(vanished, 0.0, found[1] * e / jnp.where(vanished, 1.0, 1.0 + x + 1j * z))
            turned = ratio.real @ (1.0 + cosine) - ratio.imag @ sine
            return (
                block + 1,
                total + jnp.sum(terms.real),
                by_weight + turned * each,
                by_count + jnp.sum((found[2:] * e).real, axis=1),
                by_y + jnp.sum((terms * (moves - zeta)).real),
                rest(t[-1]),
                size + jnp.sum(jnp.abs(terms)),
            )

        zero = jnp.zeros(())
        start = (jnp.zeros((), jnp.int32), zero, 0.0 * self.s, 0.0 * self.counts, zero, jnp.full((), jnp.inf), zero)
        _, total, by_weight, by_count, by_y, left, size = jax.lax.while_loop(more, add, start)
        return total, (by_weight, by_count, by_y), log_peak - tau * y, left, size

    def none(self, first: jax.Array) -> tuple[jax.Array, Any, jax.Array]:
        """No record at all: the noise alone."""
        log_p, moves = jax.value_and_grad(lambda y: log_noise(self.given.part.noise, y, jnp.zeros(())))(self.y)
        slopes = self.given.counting.slopes(jnp.zeros(1), self.counts)[:, 0]
        log_scale = jnp.where(first == 0, self.log_weight(jnp.zeros(1))[0] + log_p, -jnp.inf)
        return jnp.ones(()), (0.0 * self.s, slopes, moves), log_scale


def _grid(transform: NoiseTransform, spread: jax.Array) -> FrequencyGrid:
    """As for a mean, and fine enough for a contour between the poles."""
    step = jnp.minimum(frequency_grid(transform, spread, 1.0).step, 2 * np.pi * transform.pole / (2 * _ALIAS + 2))
    h = lattice_period(transform)
    if h == 0:
        return FrequencyGrid(step)
    half = jnp.maximum(8.0, jnp.ceil(np.pi / h / step))
    return FrequencyGrid(np.pi / h / half, half)
