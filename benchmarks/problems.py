"""The tasks: a release, a prior and the size, for every contender the same.

| task | what |
|---|---|
| a | Sec 5.2: variance of N(0, θ) from a mean of abs(x), Laplace noise at ε = 5 |
| b | Sec 5.4: median or maximum of abs(x), Laplace noise on the smooth sensitivity at (5, 10⁻⁴) |
| c | Sec 5.5: one noisy abs(x) per record, ε = 5 |
| d | mean and variance of a normal population from two noisy moments |
| h | a regression with five parameters from five noisy moments of two columns |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpyro.distributions as dist
from scipy.special import ndtri

import confide as cf

VARIANCE = cf.populations.normal_variance()
BOUND = 10.0
#: ranks on either side that the mechanism sees in task b: the same for every n, so that times per step compare
CAP = 28


@dataclass(frozen=True)
class Problem:
    """What is asked of a contender."""

    task: str
    name: str
    n: int
    population: cf.Population
    channel: cf.Channel
    #: the published value, or a function that simulates it
    publish: Callable[[], Any]
    prior: dict[str, Any]
    #: log prior density of a scalar θ for plain NumPy
    log_prior: Callable[[float], float]
    #: a θ at which information is asked
    theta: Any = 2.0

    @cached_property
    def value(self) -> np.ndarray:
        """The published value."""
        return np.asarray(self.publish())

    @cached_property
    def release(self) -> cf.Release:
        """What the analyst has."""
        return cf.Release(self.channel, self.value)

    @property
    def model(self) -> cf.Model:
        """Population and channel."""
        return cf.Model(self.population, self.channel)


def _inverse_gamma(theta: float) -> float:
    return -3.0 * math.log(theta) - 2.0 / theta


def _uniform(theta: float) -> float:
    return 0.0 if 0.01 < theta < 60.0 else -math.inf


def mean(n: int) -> Problem:
    """Task a."""
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-BOUND, BOUND)), cf.Laplace(cf.PureDP(5.0)), n=n)
    prior = {"variance": dist.InverseGamma(2.0, 2.0)}
    return Problem("a", "mean", n, VARIANCE, channel, lambda: 1.128379, prior, _inverse_gamma)


def median(n: int) -> Problem:
    """Task b, the median: y is the population's median at θ = 2."""
    return _order("median", cf.Median("abs(x)", bounds=(-BOUND, BOUND)), n, 0.954)


def maximum(n: int) -> Problem:
    """Task b, the maximum: y is the value that one of n records exceeds on average at θ = 2."""
    value = math.sqrt(2.0) * float(ndtri(1 - 0.5 / n))
    return _order("maximum", cf.Maximum("abs(x)", bounds=(-BOUND, BOUND)), n, value)


def _order(name: str, statistic: cf.Statistic, n: int, value: float) -> Problem:
    mechanism = cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4), cap=CAP)
    prior = {"variance": dist.Uniform(0.01, 60.0)}
    return Problem("b", name, n, VARIANCE, cf.Channel(statistic, mechanism, n=n), lambda: value, prior, _uniform)


def local(n: int) -> Problem:
    """Task c."""
    channel = cf.Channel(cf.Each("abs(x)", bounds=(-BOUND, BOUND)), cf.Laplace(cf.PureDP(5.0)), n=n)
    prior = {"variance": dist.Uniform(0.01, 60.0)}

    def publish() -> Any:
        return cf.Model(VARIANCE, channel).simulate(0, 2.0)

    return Problem("c", "local", n, VARIANCE, channel, publish, prior, _uniform)


def moments(n: int) -> Problem:
    """Task d."""
    channel = cf.Channel(cf.Mean(["x", "x**2"], bounds=(-8, 8)), cf.Gaussian(cf.GDP(2.0)), n=n)
    prior = {"mean": dist.Normal(0.0, 2.0), "variance": dist.InverseGamma(3.0, 4.0)}
    population = cf.populations.normal()
    return Problem("d", "moments", n, population, channel, lambda: [0.4, 2.3], prior, lambda _: 0.0, [0.4, 2.14])


def regression(n: int) -> Problem:
    """Task h: five moments of two columns."""
    from benchmarks.rows import MOMENTS, PRIOR, ROWS, TRUTH

    channel = cf.Channel(MOMENTS, cf.Gaussian(cf.ZCDP(0.5)), n=n)
    return Problem(
        "h", "regression", n, ROWS, channel, lambda: cf.Model(ROWS, channel).simulate(0, TRUTH), PRIOR, lambda _: 0.0
    )


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "mean": mean,
    "median": median,
    "maximum": maximum,
    "local": local,
    "moments": moments,
    "regression": regression,
}
