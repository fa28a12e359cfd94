"""Noise scaled by the smooth sensitivity of an order statistic (Nissim, Raskhodnikova and Smith 2007)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from confide._final import final
from confide.mechanism.base import (
    Calibrated,
    Law,
    accept_privacy,
    options_repr,
    order_range,
    set_cap,
    set_positive,
    window_cap,
)
from confide.mechanism.dilation import smooth_cauchy_pair, smooth_laplace_pair
from confide.mechanism.noise import OWN
from confide.mechanism.sensitivity import smooth_sensitivity
from confide.privacy import ApproxDP, Privacy, PureDP
from confide.statistic import Statistic
from confide.statistic.size import check_count


class SmoothLaw(Law):
    """y = u + (S/α)·Z, u the middle of the window and S its smooth sensitivity, capped at K = `cap`.

    The scale S/α depends on the records: it is part of the law of y, and must never be published.
    """

    alpha: float
    beta: float
    low: float
    high: float
    cap: int = eqx.field(static=True)
    smooths = True
    #: how Z is spoken of
    kind: ClassVar[str]

    @property
    def window(self) -> int:
        """K."""
        return self.cap

    @abstractmethod
    def _draw(self, key: jax.Array, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draws of Z."""

    @abstractmethod
    def _log_density(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        """The log density of Z."""

    @abstractmethod
    def _within(self, probability: float) -> float:
        """z with P(|Z| ≤ z) = probability."""

    def least_margin(self, statistic: Statistic, n: int, probability: float = 0.9) -> float:
        """What S/α is at least for a statistic in the middle of the range, times the quantile of |Z|.

        Records make the gaps A_k smallest when all are equal. Then a gap is left only to the ends of the range, half
        of it away, which ranks below 1 and above n hold: damped by their distance, if they are within the window.
        """
        rank, width = statistic.rank(n), self.high - self.low
        gaps = [0.5 * width * math.exp(-self.beta * k) for k in (n - rank, rank - 1) if k < self.cap]
        least = max([*gaps, width * math.exp(-self.beta * self.cap)])
        return self._within(probability) * least / float(self.alpha)

    @property
    def description(self) -> str:
        """The noise and the public constants of its scale."""
        constants = f"alpha {self.alpha:.4g}, beta {self.beta:.4g}, capped at {self.cap} ranks"
        return f"{self.kind} noise on the smooth sensitivity ({constants})"

    def scale(self, summary: Float[Array, "*batch ranks"]) -> Float[Array, "*batch"]:
        """S/α, at least e^{−Kβ}(high − low)/α."""
        return smooth_sensitivity(summary, self.beta, self.low, self.high) / self.alpha

    def sample(self, key: jax.Array, summary: Float[Array, "*batch ranks"]) -> Float[Array, "*batch"]:
        """A released value for each window."""
        u = jnp.asarray(summary)[..., self.cap]
        return u + self.scale(summary) * self._draw(key, u.shape)

    def log_prob(self, value: Float[Array, "..."], summary: Float[Array, "*batch ranks"]) -> Float[Array, "..."]:
        """The log density, differentiable in the window."""
        u, scale = jnp.asarray(summary)[..., self.cap], self.scale(summary)
        return self._log_density((value - u) / scale) - jnp.log(scale)

    @abstractmethod
    def _below(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        """P(Z ≤ z)."""

    def cdf(self, value: Float[Array, "..."], summary: Float[Array, "*batch ranks"]) -> Float[Array, "..."]:
        """P(Y ≤ value) given the window."""
        return self._below((value - jnp.asarray(summary)[..., self.cap]) / self.scale(summary))


@final(OWN)
class SmoothLaplaceLaw(SmoothLaw):
    """Z with density ½e^{−|z|}."""

    kind = "Laplace"

    def _within(self, probability: float) -> float:
        return -math.log1p(-probability)

    def _draw(self, key: jax.Array, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return jax.random.laplace(key, shape)

    def _log_density(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return -jnp.abs(z) - math.log(2)

    def _below(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        tail = 0.5 * jnp.exp(-jnp.abs(z))
        return jnp.where(z < 0, tail, 1 - tail)


@final(OWN)
class SmoothCauchyLaw(SmoothLaw):
    """Z with density 1/(π(1+z²)): no mean, no variance."""

    kind = "Cauchy"

    def _within(self, probability: float) -> float:
        return math.tan(0.5 * math.pi * probability)

    def _draw(self, key: jax.Array, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return jax.random.cauchy(key, shape)

    def _log_density(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return -jnp.log1p(jnp.square(z)) - math.log(math.pi)

    def _below(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return 0.5 + jnp.arctan(z) / math.pi


@dataclass(frozen=True, repr=False)
class SmoothMechanism(Calibrated):
    """What the two mechanisms share: a pair (α, β), given or calibrated, and the number of ranks to look at."""

    privacy: Privacy
    alpha: float | None = field(default=None, kw_only=True)
    beta: float | None = field(default=None, kw_only=True)
    cap: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_positive(self, "alpha", "beta")
        set_cap(self)
        self.smoothing()  # a pair that breaks the promise is refused here

    @abstractmethod
    def smoothing(self) -> tuple[float, float]:
        """The pair (α, β): the noise scale is S/α, and S changes by at most e^β between neighbours. Public."""

    @abstractmethod
    def calibrate(self, statistic: Statistic, n: int | None) -> SmoothLaw:
        """The law of the released value, with a window of K ranks on either side (at most n)."""

    def _parameters(self, statistic: Statistic, n: int | None) -> tuple[float, float, float, float, int]:
        _, low, high = order_range(self, statistic)
        alpha, beta = self.smoothing()
        return alpha, beta, low, high, window_cap(self, beta, check_count(n))

    __repr__ = options_repr


@dataclass(frozen=True, repr=False)
class SmoothLaplace(SmoothMechanism):
    """Laplace noise on the smooth sensitivity of an order statistic, (ε, δ)-differentially private.

    (α, β) is calibrated by the divergence of the two Laplace laws themselves, for every ε: α = ε/2 and the
    largest β that keeps δ, never below the classical ε/(2 log(2/δ)), which is proved for small ε only and
    spends a fraction of δ. A given `alpha` or `beta` is checked, and what is not given is as large as the
    promise allows. `cap` bounds the ranks that are looked at on either side.

    >>> from confide.statistic import Median
    >>> law = SmoothLaplace(ApproxDP(5.0, 1e-4)).calibrate(Median("abs(x)", bounds=(-10, 10)), n=100)
    >>> law.alpha, round(law.beta, 4), law.window
    (2.5, 0.3296, 28)
    """

    def __post_init__(self) -> None:
        remedy = "its tails need a δ: give an ApproxDP, or use SmoothCauchy for PureDP"
        accept_privacy("SmoothLaplace", self.privacy, (ApproxDP,), remedy)
        super().__post_init__()

    def smoothing(self) -> tuple[float, float]:
        """The pair (α, β)."""
        assert isinstance(self.privacy, ApproxDP)
        return smooth_laplace_pair(self.privacy.epsilon, self.privacy.delta, self.alpha, self.beta)

    def calibrate(self, statistic: Statistic, n: int | None) -> SmoothLaplaceLaw:
        """The law of the released value, with a window of K ranks on either side (at most n)."""
        return SmoothLaplaceLaw(*self._parameters(statistic, n))

    def __str__(self) -> str:
        return f"Laplace noise on the smooth sensitivity, for {self.privacy}"


@dataclass(frozen=True, repr=False)
class SmoothCauchy(SmoothMechanism):
    """Cauchy noise on the smooth sensitivity of an order statistic, ε-differentially private.

    (α, β) is calibrated by the largest log-ratio of the two Cauchy laws: α = ε/2 and the largest β that keeps
    ε, far above the classical α = β = ε/6, which spends 0.23ε. The noise has no mean: prefer `SmoothLaplace`
    where a δ is allowed.

    >>> print(SmoothCauchy(PureDP(1.0)))
    Cauchy noise on the smooth sensitivity, for 1-differential privacy (pure)
    """

    def __post_init__(self) -> None:
        accept_privacy("SmoothCauchy", self.privacy, (PureDP,), "give a PureDP, or use SmoothLaplace for ApproxDP")
        super().__post_init__()

    def smoothing(self) -> tuple[float, float]:
        """The pair (α, β)."""
        assert isinstance(self.privacy, PureDP)
        return smooth_cauchy_pair(self.privacy.epsilon, self.alpha, self.beta)

    def calibrate(self, statistic: Statistic, n: int | None) -> SmoothCauchyLaw:
        """The law of the released value, with a window of K ranks on either side (at most n)."""
        return SmoothCauchyLaw(*self._parameters(statistic, n))

    def __str__(self) -> str:
        return f"Cauchy noise on the smooth sensitivity, for {self.privacy}"
