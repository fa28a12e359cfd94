"""What is tabulated for chains is what it stands for."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference.quadrature.table import tabulated
from confide.inference.target import ConditionalTarget, StatisticTarget
from confide.inference.target.normal_table import normal_table
from confide.prior import Prior

VARIANCE = cf.populations.normal_variance()
ABSOLUTE = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
BOTH = cf.Channel(cf.Mean(["abs(x)", "x**2"], bounds=(-10, 10)), cf.Gaussian(cf.GDP(2.0)), n=100)
TINY = cf.Channel(cf.Mean("abs(x)", bounds=(-1e-3, 1e-3)), cf.Laplace(cf.PureDP(5.0)), n=10**6)


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def test_a_table_is_right_between_its_knots_and_says_where_it_ends():
    def function(x):
        return np.stack([np.sin(3 * x), 5.0 / (1.0 + x**2)], axis=-1)

    table = tabulated(function, -1.0, 4.0)
    x = np.random.default_rng(0).uniform(-1.0, 4.0, 1000)
    found, inside = jax.vmap(table.at)(jnp.asarray(x))
    np.testing.assert_allclose(found, function(x), atol=2e-7)
    assert np.all(inside)
    for beyond in (-1.01, 4.01, np.inf, -np.inf, np.nan):
        found, inside = table.at(jnp.asarray(beyond))
        assert not inside
        assert np.all(np.isfinite(found))


@pytest.mark.parametrize("function", [np.sign, lambda x: np.where(x > 0.3, np.nan, x)], ids=["a step", "not a number"])
def test_what_is_not_smooth_is_refused(function):
    with pytest.raises(cf.AccuracyError, match="not smooth enough"):
        tabulated(function, -1.0, 1.1)


@pytest.mark.parametrize(
    ("kind", "channel", "value"),
    [
        (StatisticTarget, ABSOLUTE, 1.128379),
        (ConditionalTarget, ABSOLUTE, 1.128379),
        (StatisticTarget, BOTH, (1.1, 2.0)),
        (StatisticTarget, TINY, 6.4e-4),
        (ConditionalTarget, TINY, 6.4e-4),
    ],
    ids=["scalar", "scalar, conditional", "vector", "tiny", "tiny, conditional"],
)
def test_moments_by_a_table_are_those_of_the_quadrature(kind, channel, value):
    scale = 1e-6 if channel is TINY else 1.0
    prior = Prior.of(VARIANCE, {"variance": dist.InverseGamma(2.0, 2.0 * scale)})
    model, published = cf.Model(VARIANCE, channel), jnp.asarray(value)
    table = normal_table(model, published, prior)
    assert table is not None
    exact, quick = kind(prior, model, published), kind(prior, model, published, "midpoint", table)
    low = float(table.low)
    high = low + float(table.step) * table.coefficients.shape[1]
    inside = np.random.default_rng(1).uniform(low, high, (6, 2))
    pairs = np.asarray(prior.constrain(jnp.asarray(inside.reshape(-1, 1)))).reshape(6, 2, 1)
    noise = exact.noise(jax.random.key(3), 5)
    for first, second in jnp.asarray(pairs):
        latents = exact.place(noise, exact.reference(first, second))
        (mean, root), (known_mean, known_root) = quick.normal(first), exact.normal(first)
        assert np.max(np.abs(mean - known_mean)) < 1e-6 * np.max(known_root)
        np.testing.assert_allclose(root, known_root, rtol=1e-6, atol=1e-9 * np.max(known_root))
        np.testing.assert_allclose(
            quick.log_weight(first, latents, first, second),
            exact.log_weight(first, latents, first, second),
            rtol=1e-6,
            atol=1e-5,
        )
    outside = prior.constrain(jnp.asarray([high + 0.1]))
    assert np.all(quick.log_weight(outside, latents, first, outside) == -np.inf)


def test_no_table_for_two_parameters():
    two = cf.populations.normal()
    prior = Prior.of(two, {"mean": dist.Normal(0.0, 1.0), "variance": dist.InverseGamma(2.0, 2.0)})
    assert normal_table(cf.Model(two, ABSOLUTE), jnp.asarray(1.0), prior) is None
