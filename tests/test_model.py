"""Simulation from a model: shapes, reproducibility, and the law of what comes out."""

import jax
import numpy as np
import pytest
from scipy import stats

import confide as cf

ALPHA = 1e-6
LAPLACE = cf.Laplace(cf.PureDP(1.0))


def model(statistic=None, mechanism=LAPLACE, n=20, population=None):
    statistic = statistic or cf.Mean("abs(x)", bounds=(-10, 10))
    return cf.Model(population or cf.populations.normal_variance(), cf.Channel(statistic, mechanism, n))


@pytest.mark.parametrize(
    ("theta", "shape", "expected"),
    [
        (2.0, (), ()),
        ([2.0], (), ()),
        ([1.0, 2.0, 3.0], (), (3,)),
        ([[1.0], [2.0]], (4,), (2, 4)),
        (2.0, (2, 3), (2, 3)),
    ],
)
def test_shapes(theta, shape, expected):
    values = model().simulate(0, theta, shape)
    assert values.shape == expected
    assert values.dtype == np.float64


def test_vector_and_local_shapes():
    two = model(cf.Mean(["x", "x**2"], (-9, 9)), cf.Gaussian(cf.GDP(1.0)), 30, cf.populations.normal())
    assert two.simulate(0, [0.0, 1.0], (5,)).shape == (5, 2)
    assert two.simulate(0, [[0.0, 1.0], [1.0, 2.0]]).shape == (2, 2)
    local = model(cf.Each("abs(x)", (-10, 10)), n=7)
    assert local.simulate(0, [1.0, 2.0], (3,)).shape == (2, 3, 7)


def test_the_same_key_gives_the_same_values():
    first = model().simulate(3, 2.0, (5,))
    np.testing.assert_array_equal(first, model().simulate(jax.random.key(3), 2.0, (5,)))
    assert not np.array_equal(first, model().simulate(4, 2.0, (5,)))
    assert len(np.unique(first)) == 5


def test_a_new_guarantee_does_not_recompile():
    from confide.model import _simulate

    model(mechanism=cf.Laplace(cf.PureDP(1.0)), n=33).simulate(0, 2.0)
    before = _simulate._cache_size()
    model(mechanism=cf.Laplace(cf.PureDP(0.3)), n=33).simulate(1, 3.0)
    assert _simulate._cache_size() == before


def check_law(values, cdf):
    assert stats.kstest(values, cdf).pvalue > ALPHA


def test_the_law_of_a_noisy_mean_of_normals():
    """The mean of unclipped normals plus Gaussian noise is normal."""
    gaussian = model(cf.Mean("x", (-100, 100)), cf.Gaussian(scale=0.5), 10, cf.populations.normal())
    values = gaussian.simulate(1, [1.0, 4.0], (20_000,))
    check_law(values, stats.norm(1.0, np.sqrt(0.4 + 0.25)).cdf)


def test_a_planted_wrong_scale_is_caught():
    gaussian = model(cf.Mean("x", (-100, 100)), cf.Gaussian(scale=2.0 * 1.1), 10, cf.populations.normal())
    values = gaussian.simulate(1, [1.0, 4.0], (20_000,))
    assert stats.kstest(values, stats.norm(1.0, np.sqrt(0.4 + 4.0)).cdf).pvalue < ALPHA


def test_the_law_of_a_noisy_maximum():
    """max of n uniforms on (−w, w) of |x|/w has cdf v^n; the noise is independent of it."""
    maximum = model(cf.Maximum("abs(x)", (-5, 5)), cf.Noiseless(), 10, cf.populations.uniform_width())
    values = maximum.simulate(2, 2.0, (20_000,))
    check_law(values, lambda v: np.clip(v / 2.0, 0, 1) ** 10)


def test_many_records_are_summed_in_blocks():
    """n = 200,003 does not fit one block and is not a multiple of one; the mean of exponentials is a gamma variable."""
    large = model(cf.Mean("x", (0, 1000)), cf.Noiseless(), 200_003, cf.populations.exponential())
    values = large.simulate(0, 1.0, (200,))
    check_law(values, stats.gamma(200_003, scale=1 / 200_003).cdf)


def test_bad_input():
    with pytest.raises(cf.InvalidArgument, match="population"):
        cf.Model("normal", model().channel)
    with pytest.raises(cf.InvalidArgument, match="channel"):
        cf.Model(cf.populations.normal(), 3)
    with pytest.raises(cf.ParameterError):
        model().simulate(0, -1.0)
    with pytest.raises(cf.InvalidArgument, match="key"):
        model().simulate("zero", 2.0)


def test_a_model_prints_its_population_and_its_channel():
    assert str(model()).startswith("Records from normal_variance")
