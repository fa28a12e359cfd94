"""The slope tests of Awan and Wang: is there a slope at all, from five noisy moments of a regression?

1-GDP in all, split evenly over the means of x, x², y, xy and y², with x and y clamped to ±2; x ~ N(½, 1),
y = −½ + b x + N(0, ¼). Noise on xy is twice as wide as on the others, so that xy/2 with equal noise is the same.
"""

import math

import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints

import confide as cf

pytestmark = pytest.mark.slow
LINE = cf.Population(
    {
        "x": lambda centre, spread: dist.Normal(loc=centre, scale=spread),
        "y": lambda x, intercept, slope, error: dist.Normal(intercept + slope * x, error),
    },
    {
        "centre": constraints.real,
        "spread": constraints.positive,
        "intercept": constraints.real,
        "slope": constraints.real,
        "error": constraints.positive,
    },
)
MOMENTS = cf.Mean(["x", "x**2", "y", "x * y / 2", "y**2"], bounds={"x": (-2, 2), "y": (-2, 2)})
#: n, slope -> the power that they publish
PUBLISHED = {(100, 1.0): 0.762, (100, 0.8): 0.566, (100, 0.4): 0.074, (200, 0.4): 0.666}


@pytest.mark.parametrize(
    ("value", "p"),
    [
        # the first climb stops at 4.48, the maximum is 6.07; p = χ² of 1.734
        ([0.51941531, 1.00360238, -0.12246947, 0.0952092, 0.64880995], 0.1879),
        # the largest likelihood is at an error variance of 0, from where no slope leads back; p = χ² of 8.765
        ([0.36510144, 1.25765916, -0.46661034, 0.19759869, 0.54764708], 0.0031),
    ],
)
def test_maxima_that_are_hard_to_find(value, p):
    """Against climbs that begin at the truth; they were 1 and 0."""
    channel = cf.Channel(MOMENTS, cf.Gaussian(scale=4 * math.sqrt(5) / 100), n=100)
    found = cf.estimate(LINE, cf.Release(channel, value), method="ratio", route="normal")
    assert found.p_value({"slope": 0.0}) == pytest.approx(p, abs=1e-4)


def refused(n, slope, count):
    """How often the hypothesis of no slope is refused at .05."""
    channel = cf.Channel(MOMENTS, cf.Gaussian(scale=4 * math.sqrt(5) / n), n=n)
    truth = {"centre": 0.5, "spread": 1.0, "intercept": -0.5, "slope": slope, "error": 0.5}
    values = np.asarray(cf.Model(LINE, channel).simulate(1, truth, shape=(count,)))
    releases = [cf.Release(channel, value) for value in values]
    chances = [cf.estimate(LINE, each, method="ratio", route="normal").p_value({"slope": 0.0}) for each in releases]
    share = float(np.mean(np.asarray(chances) <= 0.05))
    print(f"n = {n}, slope {slope}: {share:.3f} of {count} refused")
    return share


@pytest.mark.parametrize(("n", "slope"), PUBLISHED)
def test_power_is_not_below_what_was_published(n, slope):
    published = PUBLISHED[n, slope]
    assert refused(n, slope, 60) >= published - 2 * math.sqrt(published * (1 - published) / 60)


@pytest.mark.parametrize("n", [100, 200])
def test_without_a_slope_it_is_rarely_seen(n):
    assert refused(n, 0.0, 300) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
