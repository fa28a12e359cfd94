"""A published file with an absurd channel gives an answer or a refusal in words, in seconds."""

import time

import numpyro.distributions as dist
import pytest

import confide as cf

VARIANCE = cf.populations.normal_variance()
PRIOR = {"variance": dist.InverseGamma(2.0, 2.0)}
MEDIAN = cf.Median("abs(x)", bounds=(-10, 10))
MOST = 2**53


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (cf.Exponential(cf.PureDP(1e-12)), MOST),
        (cf.Exponential(cf.PureDP(1e-300)), MOST),
        (cf.Exponential(cf.PureDP(1.0), cap=MOST), MOST),
        (cf.SmoothLaplace(cf.ApproxDP(1e-9, 1e-6)), MOST),
        (cf.SmoothLaplace(cf.ApproxDP(1.0, 5e-324), cap=MOST), MOST),
        (cf.SmoothCauchy(cf.PureDP(1e-9)), MOST),
    ],
    ids=str,
)
def test_a_window_that_nobody_could_hold_is_refused_before_it_is_made(mechanism, n):
    started = time.perf_counter()
    with pytest.raises(cf.IncompatibleError, match=r"ranks on either side.*cap"):
        cf.Channel(MEDIAN, mechanism, n)
    assert time.perf_counter() - started < 2


def test_the_smallest_epsilon_of_an_exponential_mechanism():
    with pytest.raises(cf.PrivacyError, match="more noise than can be stated"):
        cf.Channel(MEDIAN, cf.Exponential(cf.PureDP(5e-324)), 10)
    assert cf.Channel(MEDIAN, cf.Exponential(cf.PureDP(1e-300)), 10).law.window == 10


@pytest.mark.parametrize("epsilon", [1e-4, 2e-3])
def test_a_window_too_long_to_simulate_is_refused_by_infer(epsilon):
    release = cf.Release(cf.Channel(MEDIAN, cf.Exponential(cf.PureDP(epsilon)), MOST), 1.2)
    started = time.perf_counter()
    with pytest.raises(cf.IncompatibleError, match=r"ranks of the records.*cap"):
        cf.infer(VARIANCE, release, PRIOR)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "statistic", [cf.Mean("abs(x)", bounds=(-10, 10)), MEDIAN, cf.Each("x", bounds=(0, 1))], ids=str
)
@pytest.mark.parametrize("mechanism", [cf.Laplace(scale=1e-300), cf.Gaussian(scale=1e-300)], ids=str)
def test_noise_that_cannot_be_told_from_none_is_refused(statistic, mechanism):
    value = [0.5] * 101 if isinstance(statistic, cf.Each) else 1.2
    with pytest.raises(cf.IncompatibleError, match="cannot be told from none"):
        cf.infer(VARIANCE, cf.Release(cf.Channel(statistic, mechanism, 101), value), PRIOR)
