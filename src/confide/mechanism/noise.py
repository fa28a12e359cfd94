"""The laws of additive noise: Laplace and Gaussian on the line; their lattice versions are in `lattice`.

Each knows its density, its distribution function and its characteristic function φ(t) = E e^{itV}, which is
real because the noise is symmetric: that is what the exact routes to p(y | θ) are made of.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float
from scipy.special import erfinv

from confide._final import final


class Noise(eqx.Module):
    """Symmetric noise V, independent of the records."""

    scale: float
    #: how it is spoken of
    kind: ClassVar[str]
    #: the step of the lattice that it lies on; None on the line
    step: ClassVar[float | None] = None
    #: whether it is normal: then a normal statistic with it is normal
    normal: ClassVar[bool] = False
    #: whether its tails decay like e^{−|v|/scale}; if not, like those of a Gaussian
    exponential: ClassVar[bool] = False

    @property
    def kinked(self) -> bool:
        """Whether it has a density, with a kink at 0."""
        return self.exponential and self.step is None

    @abstractmethod
    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Independent draws."""

    @abstractmethod
    def log_prob(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """The log density, or the log mass on a lattice."""

    @abstractmethod
    def cdf(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """P(V ≤ v)."""

    @property
    @abstractmethod
    def variance(self) -> Float[Array, ""]:
        """E V²."""

    @abstractmethod
    def within(self, probability: float) -> float:
        """The smallest v with P(|V| ≤ v) of at least this probability."""

    @abstractmethod
    def log_characteristic(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """log φ(t); φ is positive for all noise here."""

    def characteristic(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """φ(t) = E cos(tV)."""
        return jnp.exp(self.log_characteristic(t))


#: what to do instead of deriving from a law that the routes know
OWN = "derive a law of your own from Law"


@final(OWN)
class LaplaceNoise(Noise):
    """The density exp(−|v|/b)/(2b) with b the scale (not the standard deviation, which is b√2).

    >>> float(LaplaceNoise(2.0).cdf(0.0)), float(LaplaceNoise(2.0).variance)
    (0.5, 8.0)
    """

    kind = "Laplace"
    exponential = True

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Independent draws."""
        return self.scale * jax.random.laplace(key, shape)

    def log_prob(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """−|v|/b − log 2b."""
        return -jnp.abs(v) / self.scale - jnp.log(2 * self.scale)

    def cdf(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """½e^{v/b} below 0, and by symmetry."""
        tail = 0.5 * jnp.exp(-jnp.abs(v) / self.scale)
        return jnp.where(jnp.asarray(v) < 0, tail, 1 - tail)

    @property
    def variance(self) -> Float[Array, ""]:
        """2b²."""
        return 2 * jnp.square(self.scale)

    def within(self, probability: float) -> float:
        """P(|V| > v) = e^{−v/b}."""
        return -float(self.scale) * math.log1p(-probability)

    def log_characteristic(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """−log(1 + b²t²)."""
        return -jnp.log1p(jnp.square(self.scale * jnp.asarray(t)))


@final(OWN)
class GaussianNoise(Noise):
    """The normal density with mean 0 and standard deviation `scale`.

    >>> float(GaussianNoise(2.0).variance)
    4.0
    """

    kind = "Gaussian"
    normal = True

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Independent draws."""
        return self.scale * jax.random.normal(key, shape)

    def log_prob(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """−v²/2σ² − log σ√(2π)."""
        return -0.5 * jnp.square(v / self.scale) - jnp.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def cdf(self, v: Float[Array, "..."]) -> Float[Array, "..."]:
        """Φ(v/σ)."""
        return ndtr(jnp.asarray(v) / self.scale)

    @property
    def variance(self) -> Float[Array, ""]:
        """σ²."""
        return jnp.square(self.scale)

    def within(self, probability: float) -> float:
        """σ·Φ⁻¹((1+p)/2)."""
        return float(self.scale) * math.sqrt(2) * float(erfinv(probability))

    def log_characteristic(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """−σ²t²/2."""
        return -0.5 * jnp.square(self.scale * jnp.asarray(t))
