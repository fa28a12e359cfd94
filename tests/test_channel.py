"""Channels: fit of the parts, what is promised, what is seen, and how they print."""

import jax
import numpy as np
import pytest
from scipy import stats

import confide as cf

MEAN = cf.Mean("abs(x)", bounds=(-10, 10))
MEDIAN = cf.Median("abs(x)", bounds=(-10, 10))
PURE, APPROX = cf.PureDP(1.0), cf.ApproxDP(1.0, 1e-6)


def test_a_channel_prints_as_a_sentence_with_its_promise_and_neighbours():
    text = str(cf.Channel(MEAN, cf.Laplace(PURE), n=100))
    assert text.startswith(
        "Publish the mean of abs(x) with x clipped to [-10, 10] over 100 records, with Laplace noise"
    )
    assert "1-differential privacy (pure), when any one record is replaced by another and n is public" in text
    assert "No guarantee" in str(cf.Channel(MEAN, cf.Noiseless(), n=3))


def test_channels_are_hashable_values():
    first, second = (cf.Channel(MEAN, cf.Laplace(cf.PureDP(1)), n=100) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != cf.Channel(MEAN, cf.Laplace(cf.PureDP(2)), n=100)
    with pytest.raises(AttributeError):
        first.n = 3


@pytest.mark.parametrize(
    ("statistic", "mechanism", "promise"),
    [
        (MEAN, cf.Laplace(PURE), PURE),
        (MEAN, cf.Gaussian(APPROX), APPROX),
        (MEAN, cf.Laplace(scale=0.2), cf.PureDP(0.5)),
        (MEAN, cf.Gaussian(scale=0.1), cf.GDP(1.0)),
        (MEDIAN, cf.SmoothLaplace(APPROX), APPROX),
        (MEAN, cf.Noiseless(), cf.Unlimited()),
    ],
)
def test_guarantees(statistic, mechanism, promise):
    assert cf.Channel(statistic, mechanism, n=100).guarantee == promise


def test_value_shapes():
    assert cf.Channel(MEAN, cf.Laplace(PURE), n=7).value_shape == ()
    assert cf.Channel(cf.Mean(["x", "x**2"], (-1, 1)), cf.Gaussian(APPROX), n=7).value_shape == (2,)
    assert cf.Channel(cf.Each("x", (-1, 1)), cf.Laplace(PURE), n=7).value_shape == (7,)


def test_log_prob_given_records_is_the_noise_around_the_statistic():
    channel = cf.Channel(MEAN, cf.Laplace(PURE), n=4)
    records = np.array([[1.0, -2.0, 3.0, -50.0], [0.0, 0.0, 0.0, 0.0]])
    expected = stats.laplace.logpdf(1.5, [(1 + 2 + 3 + 10) / 4, 0.0], 2.5)
    np.testing.assert_allclose(channel.log_prob(1.5, records), expected, rtol=1e-14)
    each = cf.Channel(cf.Each("abs(x)", (-10, 10)), cf.Laplace(PURE), n=4)
    value = np.array([1.0, 2.0, 3.0, 4.0])
    expected = stats.laplace.logpdf(value, [1, 2, 3, 10], 10.0).sum()
    np.testing.assert_allclose(each.log_prob(value, records[0]), expected, rtol=1e-14)


def test_the_window_is_what_a_smooth_mechanism_sees():
    channel = cf.Channel(MEDIAN, cf.SmoothLaplace(APPROX, cap=2), n=5)
    np.testing.assert_array_equal(channel.summary(np.array([3.0, -1, 2, 9, -4])), [1, 2, 3, 4, 9])


def test_simulation_is_reproducible_and_float64():
    channel = cf.Channel(MEAN, cf.Laplace(PURE), n=4)
    first, second = (channel.simulate(key, np.ones((3, 4))) for key in (5, jax.random.key(5)))
    np.testing.assert_array_equal(first, second)
    assert first.dtype == np.float64
    assert first.shape == (3,)


MISFITS = [
    (MEAN, cf.RandomizedResponse(PURE)),
    (cf.Each("abs(x)", (-10, 10)), cf.RandomizedResponse(PURE)),
    (cf.Each("x", (-10, 10)), cf.RandomizedResponse(PURE)),
    (MEAN, cf.SmoothLaplace(APPROX)),
    (MEAN, cf.SmoothCauchy(PURE)),
    (MEAN, cf.Exponential(PURE)),
    (cf.Each("x", (0, 1.5)), cf.Exponential(PURE)),
]


@pytest.mark.parametrize(("statistic", "mechanism"), MISFITS, ids=lambda part: type(part).__name__)
def test_parts_that_do_not_fit_are_refused_in_words(statistic, mechanism):
    with pytest.raises(cf.IncompatibleError) as error:
        cf.Channel(statistic, mechanism, n=10)
    assert len(str(error.value)) > 40


@pytest.mark.parametrize(
    "build", [lambda: cf.SmoothLaplace(PURE), lambda: cf.Gaussian(PURE), lambda: cf.SmoothCauchy(APPROX)]
)
def test_mechanisms_that_cannot_give_a_guarantee_are_refused(build):
    with pytest.raises(cf.ConfideError):
        cf.Channel(MEDIAN, build(), n=10)


def test_laplace_from_an_approximate_guarantee_is_allowed_and_says_so():
    channel = cf.Channel(MEAN, cf.Laplace(APPROX), n=100)
    assert channel.law.noise.scale < 0.1
    assert "(1, 1e-06)-differential privacy" in str(channel)


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None, True])
def test_bad_counts(n):
    with pytest.raises(cf.InvalidArgument) as error:
        cf.Channel(MEAN, cf.Laplace(PURE), n=n)
    assert error.value.argument == "n"


def test_wrong_types_and_shapes():
    with pytest.raises(cf.InvalidArgument, match="statistic"):
        cf.Channel("abs(x)", cf.Laplace(PURE), n=3)
    with pytest.raises(cf.InvalidArgument, match="mechanism"):
        cf.Channel(MEAN, PURE, n=3)
    with pytest.raises(cf.InvalidArgument, match="records"):
        cf.Channel(MEAN, cf.Laplace(PURE), n=3).summary(np.ones(4))
