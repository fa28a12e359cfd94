"""The exponential mechanism on the ranks of an order statistic (inverse sensitivity; Asi and Duchi 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from confide._final import final
from confide.mechanism.base import Calibrated, Law, accept_privacy, options_repr, order_range, set_cap, window_cap
from confide.mechanism.calibration import refuse_noise
from confide.mechanism.noise import OWN
from confide.privacy import Privacy, PureDP
from confide.statistic import Statistic
from confide.statistic.size import check_count


@final(OWN)
class ExponentialLaw(Law):
    """The density ∝ exp(−rate·min(K, steps(y))) on [low, high], constant between neighbouring ranks of the window.

    The 2K+1 values of the window cut [low, high] into 2K+2 intervals, i = 0, …, 2K+1, with steps max(K−i,
    i−K−1): K outside the window, 0 on both sides of its middle. So the window of ranks m−K, …, m+K is exactly
    what the capped utility depends on. Ties give intervals of length 0, and ranks below 1 or above n, which
    hold the ends of the range, do too.
    """

    rate: float
    low: float
    high: float
    cap: int = eqx.field(static=True)
    selects = True

    @property
    def window(self) -> int:
        """K."""
        return self.cap

    @property
    def description(self) -> str:
        """The rate at which ranks lose probability."""
        return f"a point drawn by the exponential mechanism on ranks (rate {self.rate:g}, capped at {self.cap} ranks)"

    def least_margin(self, statistic: Statistic, n: int, probability: float = 0.9) -> float | None:
        """The whole range, where no records can make one point twice as likely as another; else None is known."""
        del statistic, probability
        return self.high - self.low if self.rate * min(self.cap, n) < math.log(2) else None

    @property
    def _steps(self) -> Int[Array, " intervals"]:
        index = jnp.arange(2 * self.cap + 2)
        return jnp.maximum(self.cap - index, index - self.cap - 1)

    def _edges(self, summary: Float[Array, "*batch ranks"]) -> Float[Array, "*batch edges"]:
        ends = [(0, 0)] * (jnp.ndim(summary) - 1)
        window = jnp.pad(jnp.asarray(summary), [*ends, (1, 0)], constant_values=self.low)
        return jnp.pad(window, [*ends, (0, 1)], constant_values=self.high)

    def sample(self, key: jax.Array, summary: Float[Array, "*batch ranks"]) -> Float[Array, "*batch"]:
        """An interval, then a uniform point in it."""
        edges = self._edges(summary)
        key_interval, key_point = jax.random.split(key)
        logits = jnp.log(jnp.diff(edges, axis=-1)) - self.rate * self._steps
        interval = jax.random.categorical(key_interval, logits)[..., None]
        left = jnp.take_along_axis(edges, interval, axis=-1)[..., 0]
        right = jnp.take_along_axis(edges, interval + 1, axis=-1)[..., 0]
        return left + (right - left) * jax.random.uniform(key_point, left.shape)

    def log_prob(self, value: Float[Array, "..."], summary: Float[Array, "*batch ranks"]) -> Float[Array, "..."]:
        """The log density; −inf outside [low, high]. Differentiable in the window through the intervals' lengths."""
        value, steps = jnp.asarray(value), self._steps
        # the lower end belongs to the first interval that has a length
        below = (jnp.asarray(summary) < value[..., None]) | (jnp.asarray(summary) <= self.low)
        interval = jnp.sum(below & (value[..., None] >= self.low), axis=-1)
        # intervals of length 0 have no part in the sum, however large their weight
        log_total = logsumexp(-self.rate * steps, b=jnp.diff(self._edges(summary), axis=-1), axis=-1)
        inside = (value >= self.low) & (value <= self.high)
        return jnp.where(inside, -self.rate * steps[interval] - log_total, -jnp.inf)

    def cdf(self, value: Float[Array, "..."], summary: Float[Array, "*batch ranks"]) -> Float[Array, "..."]:
        """P(Y ≤ value): the share of what the intervals hold below it."""
        edges = self._edges(summary)
        weight = jnp.exp(-self.rate * self._steps)
        below = jnp.clip(jnp.asarray(value)[..., None] - edges[..., :-1], 0.0, jnp.diff(edges, axis=-1))
        return jnp.sum(weight * below, axis=-1) / jnp.sum(weight * jnp.diff(edges, axis=-1), axis=-1)


@dataclass(frozen=True, repr=False)
class Exponential(Calibrated):
    """A point of the range, each with a probability that falls with the ranks between it and the order statistic.

    Let j(y) be the number of records below y. The number of ranks between y and the two intervals next to s_m
    is steps(y) = max(m−1−j, j−m): 0 between s_{m−1} and s_{m+1}. It is the least number of records to replace
    before y can be the statistic, less one: the inverse sensitivity of Asi and Duchi (2020). Replacing one
    record moves it past some y's, all in one direction, so that j(y) changes by 0 or 1 there, and steps,
    which is |j − (m−½)| − ½, by as much: sensitivity 1. Capping it at K changes none of this.

    With a density ∝ e^{−rate·steps} the log-ratio between neighbours is at most rate from the point and rate from the
    normaliser, so that rate = ε/2 keeps ε. If 1 < m < n it is needed, for both can happen at once: let m−1 records lie
    at low, two just above it and the rest at high, and move one from low to high. Then steps grows from 0 to 1 on the
    short interval and falls from 1 to 0 on the long one.

    For the minimum and the maximum (m = 1 or n) steps is monotone in j: it changes in one direction for all y, the
    point and the normaliser pull against each other, and rate = ε keeps ε.

    >>> from confide.statistic import Maximum, Median
    >>> Exponential(PureDP(1.0)).calibrate(Median("abs(x)", bounds=(-10, 10)), n=100)
    ExponentialLaw(rate=0.5, low=0.0, high=10.0, cap=19)
    >>> Exponential(PureDP(1.0)).calibrate(Maximum("abs(x)", bounds=(-10, 10)), n=100)
    ExponentialLaw(rate=1.0, low=0.0, high=10.0, cap=10)
    """

    privacy: Privacy
    cap: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        remedy = "it promises a pure ε: give a PureDP, or use SmoothLaplace for ApproxDP"
        accept_privacy("Exponential", self.privacy, (PureDP,), remedy)
        set_cap(self)

    def calibrate(self, statistic: Statistic, n: int | None) -> ExponentialLaw:
        """The law of the released value, with a window of K ranks on either side (at most n)."""
        order, low, high = order_range(self, statistic)
        assert isinstance(self.privacy, PureDP)
        count = check_count(n)
        monotone = order.rank(count) in (1, count)
        rate = self.privacy.epsilon if monotone else self.privacy.epsilon / 2
        return ExponentialLaw(rate or refuse_noise(self.privacy), low, high, window_cap(self, rate, count))

    __repr__ = options_repr

    def __str__(self) -> str:
        return f"the exponential mechanism on ranks, for {self.privacy}"
