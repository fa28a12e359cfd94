"""Randomized response: each record answers truly with some probability, and otherwise with another of k answers."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

from confide._final import final
from confide.mechanism.base import Calibrated, Law, accept_privacy, misfit, options_repr
from confide.mechanism.calibration import largest, refuse_noise
from confide.mechanism.noise import OWN
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.privacy.rounding import outward, round_down
from confide.statistic import Statistic
from confide.statistic.size import check_count

# Rényi orders on which the concentrated guarantee is computed: how many, the first less one (and over one the last, in
# units of 1/t), the t from which on a closed form serves below them, and what is lost where chords are subtracted.
_COUNT = 10_000
_FIRST = 1e-7
_SMALL = 1e-6
_CHORD_SLACK = 1e-10
# Nodes of the integral that is the Gaussian guarantee.
_POINTS = 257
# Log-ratios beyond this leave the other answers no probability that a float could hold.
_MOST = 700.0


@final(OWN)
class ResponseLaw(Law):
    """The true level with probability `keep`, each of the other k−1 levels with probability (1−keep)/(k−1).

    >>> law = ResponseLaw((0.0, 1.0), keep=0.75)
    >>> jnp.exp(law.log_prob(jnp.array([1.0, 0.0, 0.5]), jnp.ones(3))).round(4).tolist()
    [0.75, 0.25, 0.0]
    """

    levels: tuple[float, ...]
    keep: float

    @property
    def answers(self) -> tuple[float, ...]:
        """The levels."""
        return self.levels

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
class RandomizedResponse(Calibrated):
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

    def calibrate(self, statistic: Statistic, n: int | None) -> ResponseLaw:
        """The law of one record's answer."""
        if not statistic.per_record:
            misfit(self, statistic, "each record answers for itself", "use Each, or Laplace for a single number")
        levels = statistic.levels
        if levels is None or len(levels) < 2:
            problem = "s has no finite set of at least two values" if levels is None else "s is constant"
            misfit(self, statistic, problem, "use a comparison such as 'x > 2', or Laplace")
        check_count(n)
        return ResponseLaw(levels, keep_probability(self.privacy, len(levels)))

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

    Everything is rounded against the promise: what is stored is a float, and the probability of the other answers is
    the exact rest of it.

    >>> round(keep_probability(GDP(2.0), 2), 6)                                              # Φ(μ/2)
    0.841345
    """
    match privacy:
        case PureDP(epsilon=epsilon):
            return _keep(privacy, k, epsilon, 0.0)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return _keep(privacy, k, epsilon, delta)
        case GDP(mu=mu):
            return _keep(privacy, k, largest(lambda t: outward(_gaussian(t, k)) <= mu, mu, privacy, _MOST), 0.0)
        case ZCDP(rho=rho):
            guess = math.sqrt(2 * rho)
            return _keep(privacy, k, largest(lambda t: _concentrated(t, k) <= rho, guess, privacy, _MOST), 0.0)
    raise NotImplementedError(f"no randomized response for {privacy!r}")


def _keep(privacy: Privacy, k: int, epsilon: float, delta: float) -> float:
    """The largest float below (e^ε + (k−1)δ)/(e^ε + k − 1), refused where floats next to 1/k are too far apart.

    The power is rounded down by two last places, for the library's may be off by one; the rest is exact.
    """
    power = Fraction(math.nextafter(math.nextafter(math.exp(min(epsilon, _MOST)), 1.0), 1.0))
    keep = round_down((power + (k - 1) * Fraction(delta)) / (power + k - 1))
    truth, other = Fraction(keep), (1 - Fraction(keep)) / (k - 1)
    # the largest power that is not above e^ε, where that is hardly above 1
    power = max(power, 1 + Fraction(epsilon))
    if max(truth - power * other, other - power * truth) > Fraction(delta):
        refuse_noise(privacy)
    return keep


def _gaussian(t: float, k: int) -> float:
    """μ = Φ⁻¹(keep) − Φ⁻¹(q) of a log-ratio t among k answers, an upper bound where the two are close.

    It is the integral of 1/φ(Φ⁻¹(p)) from q to keep = e^t·q, and that is convex in p: the trapezoidal rule is above it.
    """
    log_q = -t - math.log1p((k - 1) * math.exp(-t))
    if t < 0.1:
        q = math.exp(log_q)
        normal = ndtri(q + q * math.expm1(t) * np.linspace(0.0, 1.0, _POINTS))
        inverse = np.exp(0.5 * normal**2) * math.sqrt(2 * math.pi)
        return q * math.expm1(t) * float(np.mean((inverse[1:] + inverse[:-1]) / 2))
    # Φ⁻¹(keep) = −Φ⁻¹(1−keep), both from the small side
    return float(-ndtri_exp(log_q + math.log(k - 1)) - ndtri_exp(log_q))


def _concentrated(t: float, k: int) -> float:
    """ρ of a log-ratio t among k answers, an upper bound: the largest D_α/α over all orders α > 1.

    With s = α − 1, K(s) = s·D_α = log(1 + x) and x = e^t(e^{st} − 1)(1 − e^{−(1+s)t})/(e^t + k − 1). K is convex and 0
    at 0: between two orders it is below its chord a + bs, with a ≤ 0, and (a + bs)/(s(1+s)) is greatest where bs² +
    2as + a = 0. D_α rises in α up to t, which bounds what is below the first order and beyond the last. Where t is
    small, the first order is a large one, and below it x ≤ e^t·s(1+s)t²·(1 + st)/(e^t + k − 1) serves.
    """
    span = max(1.0, 1 / t)
    if t < _SMALL:
        orders = np.geomspace(_FIRST * span, span / _FIRST, _COUNT)
        below = t * t * (1 + _FIRST) * math.exp(t) / (math.exp(t) + k - 1)
    else:
        orders = np.geomspace(_FIRST, span / _FIRST, _COUNT)
        below = float(_cumulant(orders[:1], t, k)[0]) / _FIRST
    values = _cumulant(orders, t, k)
    low, high = orders[:-1], orders[1:]
    slope = np.diff(values) / np.diff(orders)
    offset = np.minimum(values[:-1] - slope * low, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = -offset / slope
        worst = np.clip(ratio + np.sqrt(ratio**2 + ratio), low, high)
    # a slope that underflowed leaves nothing to bound
    chords = np.where(slope > 0, (offset / worst + slope) / (1 + worst), 0.0)
    return outward(max(below, float(np.max(chords)), t / (1 + orders[-1])), _CHORD_SLACK)


def _cumulant(s: NDArray[np.float64], t: float, k: int) -> NDArray[np.float64]:
    """K(s) = log(1 + x); x itself may be beyond floats."""
    with np.errstate(under="ignore"):
        log_x = np.log(-np.expm1(-s * t)) + s * t + np.log(-np.expm1(-(1 + s) * t)) - math.log1p((k - 1) * math.exp(-t))
        return np.asarray(np.where(log_x > 40, log_x, np.log1p(np.exp(np.minimum(log_x, 40)))))
