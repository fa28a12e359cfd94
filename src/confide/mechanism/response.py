"""Randomized response: each record answers truly with some probability, and otherwise with another of k answers."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import ndtri_exp

from confide.mechanism.base import Law, Mechanism, accept_privacy, misfit, options_repr
from confide.mechanism.calibration import largest
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.statistic import Each, Statistic
from confide.statistic.statistic import check_count

# Rényi orders on which the concentrated guarantee is maximised, and how far it may lie above the largest value on them.
_ORDERS = 1 + np.logspace(-7, 5, 6000)
_BETWEEN_ORDERS = 1 + 1e-5


class ResponseLaw(Law):
    """The true level with probability `keep`, each of the other k−1 levels with probability (1−keep)/(k−1).

    >>> law = ResponseLaw((0.0, 1.0), keep=0.75)
    >>> jnp.exp(law.log_prob(jnp.array([1.0, 0.0, 0.5]), jnp.ones(3))).round(4).tolist()
    [0.75, 0.25, 0.0]
    """

    levels: tuple[float, ...]
    keep: float

    @property
    def window(self) -> int:
        """Ranks play no part."""
        return 0

    @property
    def description(self) -> str:
        """How often the truth is told."""
        return f"each answer randomized (kept with probability {self.keep:.4g} among {len(self.levels)})"

    def _match(self, value: Float[Array, "..."]) -> tuple[Int[Array, "..."], Bool[Array, "..."]]:
        """The nearest level, and whether the value is that level up to rounding."""
        levels = jnp.asarray(self.levels)
        distance = jnp.abs(jnp.asarray(value)[..., None] - levels)
        index = jnp.argmin(distance, axis=-1)
        gap = jnp.min(jnp.diff(levels))
        rounding = 1e-9 * gap + 4 * jnp.finfo(levels.dtype).eps * jnp.max(jnp.abs(levels))
        return index, jnp.min(distance, axis=-1) <= rounding

    def sample(self, key: jax.Array, summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """An answer for each record."""
        key_keep, key_other = jax.random.split(key)
        index, _ = self._match(summary)
        kept = jax.random.bernoulli(key_keep, self.keep, index.shape)
        other = jax.random.randint(key_other, index.shape, 1, len(self.levels))
        return jnp.asarray(self.levels)[jnp.where(kept, index, index + other) % len(self.levels)]

    def log_prob(self, value: Float[Array, "..."], summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """The log probability of each record's answer; −inf for a value that is no level."""
        answer, is_level = self._match(value)
        truth, _ = self._match(summary)
        log_keep = jnp.log(self.keep)
        log_other = jnp.log1p(-jnp.asarray(self.keep)) - math.log(len(self.levels) - 1)
        return jnp.where(is_level, jnp.where(answer == truth, log_keep, log_other), -jnp.inf)


@dataclass(frozen=True, repr=False)
class RandomizedResponse(Mechanism):
    """Randomized response on `Each` record's s(x), where s takes finitely many values.

    The levels themselves are released, so that the value is on the scale of the statistic.

    >>> from confide.statistic import Each
    >>> law = RandomizedResponse(PureDP(math.log(3))).calibrate(Each("x > 2", bounds=(0, 5)), n=100)
    >>> law.levels, round(law.keep, 12)
    ((0.0, 1.0), 0.75)
    """

    privacy: Privacy

    def __post_init__(self) -> None:
        accept_privacy("RandomizedResponse", self.privacy, (PureDP, ApproxDP, ZCDP, GDP), "")

    def calibrate(self, statistic: Statistic, n: int) -> ResponseLaw:
        """The law of one record's answer."""
        if not isinstance(statistic, Each):
            misfit(self, statistic, "each record answers for itself", "use Each, or Laplace for a single number")
        levels = statistic.levels
        if levels is None or len(levels) < 2:
            problem = "s has no finite set of at least two values" if levels is None else "s is constant"
            misfit(self, statistic, problem, "use a comparison such as 'x > 2', or Laplace")
        check_count(n)
        return ResponseLaw(levels, keep_probability(self.privacy, len(levels)))

    def guarantee(self, statistic: Statistic, n: int) -> Privacy:
        """The promised guarantee: a record takes part in its own answer only."""
        self.calibrate(statistic, n)
        return self.privacy

    __repr__ = options_repr

    def __str__(self) -> str:
        return f"randomized response, for {self.privacy}"


@functools.lru_cache(maxsize=1024)
def keep_probability(privacy: Privacy, k: int) -> float:
    """The largest probability of a true answer among k that keeps the promise.

    Let t be the log-ratio of a true to a given other answer, so that q = 1/(e^t + k − 1) is the probability
    of the latter and e^t·q that of the former. Only the two true answers tell neighbours apart.

    Pure (Warner 1965; Kairouz, Oh and Viswanath 2016): t = ε. Approximate: the divergence at ε is keep − e^ε
    q, which is δ for keep = (e^ε + (k−1)δ)/(e^ε + k − 1). Gaussian: the trade-off function has the corners
    (q, 1−keep) and (1−keep, q), so that μ = Φ⁻¹(keep) − Φ⁻¹(q). Concentrated: D_α = log[(e^{αt} + e^{(1−α)t}
    + k − 2)/(e^t + k − 1)]/(α−1), and the largest D_α/α is sought over all orders: it is the limit α → 1 for
    two answers, but not for many.

    It is rounded down by two last places: next to 1 the other answers would otherwise lose their last digits, and for a
    large ε all of their probability.

    >>> round(keep_probability(GDP(2.0), 2), 6)                                              # Φ(μ/2)
    0.841345
    """
    match privacy:
        case PureDP(epsilon=epsilon):
            return _rounded_down(1 / (1 + (k - 1) * math.exp(-epsilon)))
        case ApproxDP(epsilon=epsilon, delta=delta):
            odds = (k - 1) * math.exp(-epsilon)
            return _rounded_down((1 + odds * delta) / (1 + odds))
        case GDP(mu=mu):
            return keep_probability(PureDP(largest(lambda t: _gaussian(t, k) <= mu, mu)), k)
        case ZCDP(rho=rho):
            return keep_probability(PureDP(largest(lambda t: _concentrated(t, k) <= rho, math.sqrt(2 * rho))), k)
    raise NotImplementedError(f"no randomized response for {privacy!r}")


def _rounded_down(probability: float) -> float:
    return math.nextafter(math.nextafter(probability, 0.0), 0.0)


def _gaussian(t: float, k: int) -> float:
    """μ of a log-ratio t among k answers: Φ⁻¹(keep) = −Φ⁻¹(1−keep), both from the small side."""
    log_q = -t - math.log1p((k - 1) * math.exp(-t))
    log_lie = log_q + math.log(k - 1)
    return float(-ndtri_exp(log_lie) - ndtri_exp(log_q))


def _concentrated(t: float, k: int) -> float:
    """ρ of a log-ratio t among k answers, rounded up by what may be missed between the orders."""
    log_others = math.log(k - 2) if k > 2 else -math.inf
    total = np.logaddexp(np.logaddexp(_ORDERS * t, (1 - _ORDERS) * t), log_others)
    divergence = (total - np.logaddexp(t, math.log(k - 1))) / (_ORDERS * (_ORDERS - 1))
    # the limit of order 1 in closed form: differences of logarithms lose their digits next to it
    order_one = t * math.expm1(t) / (math.exp(t) + k - 1) if t < 700 else t
    return _BETWEEN_ORDERS * max(order_one, float(np.max(divergence[_ORDERS > 1.001])))
