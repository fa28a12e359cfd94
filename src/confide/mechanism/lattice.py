"""Noise on the lattice {step·k : k integer}: the discrete Laplace and the discrete Gaussian.

With s = scale/step their masses are P(k) ∝ exp(−|k|/s) and P(k) ∝ exp(−k²/2s²) (Canonne, Kamath and Steinke
2020). Sums over the lattice that converge slowly for a fine lattice (large s) are replaced by their
Poisson-transformed sums, Σ_k f(k) = Σ_m ∫ f(x) e^{2πimx} dx, which then converge at once: five terms of
either are exact to rounding on their side of s = 0.4.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, ndtr
from jaxtyping import Array, Bool, Float

from confide._final import final
from confide.mechanism.noise import OWN, GaussianNoise, Noise

#: terms of a sum, and the s at which one series hands over to the other: the sixth
#: term, the first that is left out, is there e^{−112} of the whole in both
_FEW = tuple(range(1, 6))
_POISSON_FROM = 0.4
# The distribution function of the discrete Gaussian is summed up to this s, and by Euler–Maclaurin beyond. 39 standard
# deviations of the first are kept: the mass beyond underflows.
_SUMMED_TO = 32
_KEPT = 39 * _SUMMED_TO
# Beyond this s a lattice point more or less is nothing beside the noise.
_LINE_FROM = 1e5


def nearest_index(u: Float[Array, "..."], step: float) -> Float[Array, "..."]:
    """The lattice point that u is rounded to, ⌊u/step + ½⌋.

    Not rounding half to even: that sends 0.5 and 1.5, one step apart, to 0 and 2. Rounding half up commutes
    with shifts by whole steps, so that values at most k steps apart stay at most k steps apart.
    """
    return jnp.floor(jnp.asarray(u) / step + 0.5)


def lattice_index(v: Float[Array, "..."], step: float) -> tuple[Float[Array, "..."], Bool[Array, "..."]]:
    """The index of v on the lattice, and whether it lies on it: within 1e-9 steps and the rounding error of v."""
    position = jnp.asarray(v) / step
    index = jnp.floor(position + 0.5)
    rounding = 4 * jnp.finfo(position.dtype).eps * jnp.abs(position)
    return index, jnp.abs(position - index) <= 1e-9 + rounding


class LatticeNoise(Noise):
    """Noise on a lattice; the mass function and sampler in units of the step are what the subclasses give."""

    step: float = eqx.field()  # type: ignore[misc]  # a field without a default, where noise on the line has None

    @abstractmethod
    def log_mass(self, index: Float[Array, "..."]) -> Float[Array, "..."]:
        """log P(V = step·index) for whole numbers."""

    @abstractmethod
    def sample_index(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Draws of V/step."""

    @abstractmethod
    def cdf_index(self, index: Float[Array, "..."]) -> Float[Array, "..."]:
        """P(V ≤ step·index) for whole numbers."""

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Independent draws."""
        return self.step * self.sample_index(key, shape)

    def log_prob(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """The log mass; −inf off the lattice."""
        index, on_lattice = lattice_index(v, self.step)
        return jnp.where(on_lattice, self.log_mass(index), -jnp.inf)

    def cdf(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """P(V ≤ v)."""
        index, on_lattice = lattice_index(v, self.step)
        return self.cdf_index(jnp.where(on_lattice, index, jnp.floor(jnp.asarray(v) / self.step)))


@final(OWN)
class DiscreteLaplace(LatticeNoise):
    """P(step·k) = tanh(r/2)·e^{−r|k|}, r = step/scale: the difference of two geometric variables.

    >>> round(float(DiscreteLaplace(1.0, step=1.0).log_prob(0.0)), 4)     # tanh(1/2)
    -0.7719
    >>> float(DiscreteLaplace(1.0, step=1.0).log_prob(0.5))
    -inf
    """

    kind = "Laplace"
    exponential = True

    def sample_index(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """⌊sE⌋ − ⌊sE'⌋ with E, E' exponential: an exponential rounded down is geometric."""
        pair = jnp.floor(jax.random.exponential(key, (2, *shape)) * (self.scale / self.step))
        return pair[0] - pair[1]

    def log_mass(self, index: Float[Array, "..."]) -> Float[Array, "..."]:
        """log P(V = step·index) for whole numbers."""
        rate = self.step / self.scale
        return jnp.log(jnp.tanh(0.5 * rate)) - rate * jnp.abs(index)

    def cdf_index(self, index: Float[Array, "..."]) -> Float[Array, "..."]:
        """P(V ≤ step·index) for whole numbers: p^{−k}/(1+p) below 0 with p = e^{−r}, and by symmetry."""
        rate = self.step / self.scale
        below = jnp.asarray(index) < 0
        tail = jnp.exp(-rate * jnp.where(below, -index, index + 1)) / (1 + jnp.exp(-rate))
        return jnp.where(below, tail, 1 - tail)

    @property
    def variance(self) -> Float[Array, ""]:
        """step²/(2 sinh²(r/2))."""
        return 0.5 * jnp.square(self.step / jnp.sinh(0.5 * self.step / self.scale))

    def within(self, probability: float) -> float:
        """P(|V| > k·step) = 2e^{−r(k+1)}/(1+e^{−r}), at the first k where that is 1 − p or less."""
        rate = float(self.step) / float(self.scale)
        beyond = (1 - probability) * (1 + math.exp(-rate)) / 2
        return float(self.step) * max(math.ceil(-math.log(beyond) / rate - 1), 0)

    def log_characteristic(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """φ(t) = (1−p)²/(1 − 2p cos τ + p²) with τ = t·step, which is 1/(1 + (sin(τ/2)/sinh(r/2))²)."""
        ratio = jnp.sin(0.5 * self.step * jnp.asarray(t)) / jnp.sinh(0.5 * self.step / self.scale)
        return -jnp.log1p(jnp.square(ratio))


@final(OWN)
class DiscreteGaussian(LatticeNoise):
    """P(step·k) ∝ exp(−k²/2s²), s = scale/step. Its standard deviation is just below `scale`.

    >>> round(float(DiscreteGaussian(1.0, step=1.0).log_prob(0.0)), 4)    # almost the normal density
    -0.9189
    """

    kind = "Gaussian"

    @property
    def _s(self) -> Float[Array, ""]:
        return jnp.asarray(self.scale / self.step)

    def _log_normaliser(self) -> Float[Array, ""]:
        """log Σ_k exp(−k²/2s²) = log[ s√(2π) Σ_m exp(−2π²m²s²) ]."""
        few = jnp.asarray(_FEW, dtype=float)
        coarse, fine = jnp.minimum(self._s, _POISSON_FROM), jnp.maximum(self._s, _POISSON_FROM)
        direct = jnp.log1p(2 * jnp.sum(jnp.exp(-0.5 * jnp.square(few / coarse))))
        poisson = jnp.log1p(2 * jnp.sum(jnp.exp(-2 * jnp.square(math.pi * few * fine))))
        poisson = poisson + jnp.log(fine) + 0.5 * math.log(2 * math.pi)
        return jnp.where(self._s < _POISSON_FROM, direct, poisson)

    def log_mass(self, index: Float[Array, "..."]) -> Float[Array, "..."]:
        """log P(V = step·index) for whole numbers."""
        return -0.5 * jnp.square(index / self._s) - self._log_normaliser()

    def sample_index(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Exact rejection from the discrete Laplace of scale t = ⌊s⌋ + 1 (Canonne et al. 2020, Algorithm 3).

        exp(−k²/2s²) = exp(−|k|/t)·exp(−(|k| − s²/t)²/2s²)·constant, and the second factor is a probability.
        About three proposals in four are taken, fewer (46%) for a very coarse lattice.
        """
        s = self._s
        t = jnp.floor(s) + 1
        proposal = DiscreteLaplace(t, 1.0)  # type: ignore[arg-type]  # a traced scale

        def propose(state: tuple[jax.Array, Array, Array]) -> tuple[jax.Array, Array, Array]:
            key, drawn, open_ = state
            key, key_proposal, key_accept = jax.random.split(key, 3)
            index = proposal.sample_index(key_proposal, shape)
            # written as a rejection so that a scale that is not a number ends the loop and shows in the result
            rejected = jax.random.exponential(key_accept, shape) < 0.5 * jnp.square((jnp.abs(index) - s * s / t) / s)
            return key, jnp.where(open_, index, drawn), open_ & rejected

        start = (key, jnp.zeros(shape, s.dtype), jnp.ones(shape, bool))
        return jax.lax.while_loop(lambda state: jnp.any(state[2]), propose, start)[1]

    def cdf_index(self, index: Float[Array, "..."]) -> Float[Array, "..."]:
        """P(V ≤ step·index) for whole numbers, from the upper tail P(V ≥ step·j), j ≥ 1, and by symmetry."""
        below = jnp.asarray(index) < 0
        j = jnp.where(below, -index, index + 1)
        tail = jnp.where(self._s <= _SUMMED_TO, self._tail_by_sum(j), self._tail_by_integral(j))
        return jnp.where(below, tail, 1 - tail)

    def _tail_by_sum(self, j: Float[Array, "..."]) -> Float[Array, "..."]:
        coarse = jnp.minimum(self._s, _SUMMED_TO)
        mass = jnp.exp(-0.5 * jnp.square(jnp.arange(_KEPT, 0, -1) / coarse) - self._log_normaliser())
        tails = jnp.concatenate([jnp.zeros(1, mass.dtype), jnp.cumsum(mass)])
        return tails[jnp.clip(_KEPT + 1 - j, 0, _KEPT).astype(int)]

    def _tail_by_integral(self, j: Float[Array, "..."]) -> Float[Array, "..."]:
        """Euler–Maclaurin at midpoints, Σ_{i≥j} f(i) = ∫_{j−½} f + f'/24 − 7f'''/5760 + 31f⁗'/967680 − … at j−½.

        For f the normal density the derivatives are Hermite polynomials; at s = 32 the next term is below
        1e-16.
        """
        fine = jnp.maximum(self._s, _SUMMED_TO)
        z = (j - 0.5) / fine
        first, third = z, z * (z * z - 3)
        fifth = z * (z * z * (z * z - 10) + 15)
        series = first / (24 * fine) - 7 * third / (5760 * fine**3) + 31 * fifth / (967680 * fine**5)
        return ndtr(-z) - jnp.exp(-0.5 * z * z) / (fine * math.sqrt(2 * math.pi)) * series

    @property
    def variance(self) -> Float[Array, ""]:
        """Σ k²P(k)·step², of which the Poisson form is −φ''(0)."""
        few = jnp.asarray(_FEW, dtype=float)
        coarse, fine = jnp.minimum(self._s, _POISSON_FROM), jnp.maximum(self._s, _POISSON_FROM)
        mass = jnp.exp(-0.5 * jnp.square(few / coarse))
        direct = 2 * jnp.sum(few * few * mass) / (1 + 2 * jnp.sum(mass))
        square = jnp.square(2 * math.pi * few * fine)
        dual = jnp.exp(-0.5 * square)
        poisson = fine * fine * (1 - 2 * jnp.sum(square * dual) / (1 + 2 * jnp.sum(dual)))
        return jnp.square(self.step) * jnp.where(self._s < _POISSON_FROM, direct, poisson)

    def within(self, probability: float) -> float:
        """The first k·step at which the sum of the masses is enough; a fine lattice is a line."""
        s = float(self.scale) / float(self.step)
        if s > _LINE_FROM:
            return GaussianNoise(float(self.scale)).within(probability)
        mass = np.exp(-0.5 * np.square(np.arange(math.ceil(10 * s) + 2) / s))
        inside = (2 * np.cumsum(mass) - 1) / (2 * np.sum(mass) - 1)
        return float(self.step) * float(np.argmax(inside >= probability))

    def log_characteristic(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """φ(t) = Σ_m exp(−(τ−2πm)²s²/2) / Σ_m exp(−(2πm)²s²/2), τ = t·step reduced to [−π, π]."""
        tau = jnp.asarray(self.step * jnp.asarray(t))
        tau = (tau - 2 * math.pi * jnp.round(tau / (2 * math.pi)))[..., None]
        coarse, fine = jnp.minimum(self._s, _POISSON_FROM), jnp.maximum(self._s, _POISSON_FROM)
        k = jnp.asarray([-i for i in reversed(_FEW)] + [0, *_FEW], dtype=float)
        mass = jnp.exp(-0.5 * jnp.square(k / coarse))
        direct = jnp.log(jnp.sum(mass * jnp.cos(k * tau), -1)) - jnp.log(jnp.sum(mass))
        dual = logsumexp(-0.5 * jnp.square((tau - 2 * math.pi * k) * fine), axis=-1)
        poisson = dual - logsumexp(-0.5 * jnp.square(2 * math.pi * k * fine))
        return jnp.where(self._s < _POISSON_FROM, direct, poisson)
