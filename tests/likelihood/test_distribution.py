"""`Model.distribution`: the law of a published value inside somebody else's numpyro model."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import Predictive
from numpyro.infer.util import log_density

import confide as cf
from confide.errors import ApproximationWarning, ParameterError

LAPLACE, GAUSSIAN = cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.ZCDP(0.5))
NORMAL, BERNOULLI = cf.populations.normal(), cf.populations.bernoulli()
THETA = [[0.2, 1.0], [0.5, 2.0], [-0.3, 0.5]]


def model(population, statistic, mechanism, n):
    return cf.Model(population, cf.Channel(statistic, mechanism, n))


#: route -> a model that it serves, θ of a batch, and a value per θ
CASES = {
    "share": (model(BERNOULLI, cf.Mean("x", (0, 1)), LAPLACE, 20), [[0.2], [0.3], [0.6]], [0.1, 0.4, 0.5]),
    "spectral": (model(NORMAL, cf.Mean("x", (-2, 3)), LAPLACE, 20), THETA, [0.1, 0.4, -0.2]),
    "lattice": (model(NORMAL, cf.Mean("x", (-2, 3)), cf.Laplace(scale=0.2, step=0.1), 20), THETA, [0.1, 0.4, -0.2]),
    "order": (model(NORMAL, cf.Median("x", (-2, 3)), LAPLACE, 21), THETA, [0.1, 0.4, -0.2]),
    "records": (model(NORMAL, cf.Each("x", (-2, 3)), LAPLACE, 2), THETA, [[0.1, 1.0], [0.4, 0.0], [2.0, 9.0]]),
    "response": (
        model(BERNOULLI, cf.Each("x", (0, 1)), cf.RandomizedResponse(cf.PureDP(1.0)), 3),
        [[0.2], [0.3], [0.6]],
        [[0, 1, 1], [0, 0, 0], [1, 1, 1]],
    ),
    "normal": (
        model(NORMAL, cf.Mean(["x", "x**2"], (-2, 3)), GAUSSIAN, 200),
        THETA,
        [[0.1, 1.0], [0.4, 2.0], [-0.2, 0.7]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_value_at_its_own_theta(name):
    """Against `log_likelihood`, which computes all of them with all of them, by code for concrete θ."""
    asked, thetas, values = CASES[name]
    route = "normal" if name == "normal" else "auto"
    law = asked.distribution(thetas, route)
    assert law.batch_shape == (3,)
    assert law.event_shape == asked.channel.value_shape
    expected = np.diagonal(asked.log_likelihood(thetas, values, route=route))
    with jax.enable_x64(True):
        np.testing.assert_allclose(law.log_prob(jnp.asarray(values)), expected, rtol=1e-8, atol=1e-8)
        two = jnp.stack([jnp.asarray(values)] * 2)
        assert law.log_prob(two).shape == (2, 3)
        assert law.sample(jax.random.key(0), (2,)).shape == (2, 3, *law.event_shape)
    if name not in ("share", "records", "response"):  # the others differ in nothing that a precision could meet
        return
    single = jax.jit(lambda theta, value: asked.distribution(theta, route).log_prob(value))
    found = single(jnp.asarray(thetas, dtype=jnp.float32), jnp.asarray(values, dtype=jnp.float32))
    assert found.dtype == jnp.float32
    # a lattice's values are off it by single precision's rounding, and a density moves by as much
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_gradients_in_both_precisions():
    asked, thetas, values = CASES["share"]
    score = jax.grad(lambda theta, value: asked.distribution(theta).log_prob(value))
    with jax.enable_x64(True):
        exact = jax.jacfwd(lambda theta: asked.log_likelihood(theta, values[0]))(jnp.asarray(thetas[0]))
        double = score(jnp.asarray(thetas[0]), values[0])
        np.testing.assert_allclose(double, exact, rtol=1e-8)
    batched = jax.vmap(score)(jnp.asarray(thetas, jnp.float32), jnp.asarray(values, jnp.float32))
    assert batched.dtype == jnp.float32
    np.testing.assert_allclose(batched[0], exact, rtol=1e-5)


def test_work_on_gradients_grows_with_the_plate_and_not_with_its_square():
    asked = CASES["share"][0]

    def work(count):
        theta, value = jnp.full((count, 1), 0.3, jnp.float32), np.full(count, 0.4)
        slope = jax.jit(jax.grad(lambda theta: asked.distribution(theta).log_prob(value).sum()))
        return slope.lower(theta).compile().cost_analysis()["flops"]

    assert work(64) < 20 * work(4)


def test_whole_numbers_inside_a_program_of_the_caller():
    asked, thetas, values = CASES["response"]
    slope = jax.jit(jax.grad(lambda theta, value: asked.distribution(theta).log_prob(value).sum()))
    found = slope(jnp.asarray(thetas, jnp.float32), jnp.asarray(values))
    # three answers, told truly with probability e/(1 + e)
    keep = 1 / (1 + np.exp(-1.0))
    yes = 1 - keep + (2 * keep - 1) * np.asarray(thetas)
    expected = (2 * keep - 1) * np.where(np.asarray(values) == 1, 1 / yes, -1 / (1 - yes)).sum(axis=1)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5)


def _wards(channel_model, y=None):
    mean = numpyro.sample("mean", dist.Normal(-1.0, 1.0))
    with numpyro.plate("ward", 3):
        shift = numpyro.sample("shift", dist.Normal(0.0, 0.5))
        probability = numpyro.deterministic("probability", jax.nn.sigmoid(mean + shift))
        numpyro.sample("y", channel_model.distribution({"probability": probability}), obs=y)


def test_in_a_plate_and_predicted():
    asked = CASES["share"][0]
    y = np.asarray([0.2, 0.5, 0.3])
    given = {"mean": jnp.asarray(-0.5), "shift": jnp.asarray([0.1, -0.2, 0.3])}
    total, _ = log_density(_wards, (asked, y), {}, given)
    theta = 1 / (1 + np.exp(-(-0.5 + np.asarray(given["shift"]))))
    prior = dist.Normal(-1.0, 1.0).log_prob(-0.5) + dist.Normal(0.0, 0.5).log_prob(given["shift"]).sum()
    assert float(total - prior) == pytest.approx(np.trace(asked.log_likelihood(theta, y)), abs=1e-5)
    draws = {"mean": jnp.linspace(-1.0, 0.0, 400), "shift": jnp.zeros((400, 3))}
    for double in (False, True):
        with jax.enable_x64(double):
            simulated = Predictive(_wards, draws)(jax.random.key(3), asked)["y"]
        assert simulated.shape == (400, 3)
        assert simulated.dtype == (jnp.float64 if double else jnp.float32)
        # the standard error of 1,200 values with sd √(p(1−p)/20 + 2/20²) ≈ .13 is .004
        assert np.mean(np.asarray(simulated)) == pytest.approx(float(jax.nn.sigmoid(draws["mean"]).mean()), abs=0.02)


def test_isolated_values_are_no_site_for_nuts():
    assert CASES["lattice"][0].distribution(THETA[0]).support.is_discrete
    assert CASES["response"][0].distribution(0.2).support.is_discrete
    assert CASES["spectral"][0].distribution(THETA[0]).support is dist.constraints.real


def test_theta_by_name():
    asked = CASES["spectral"][0]
    named = asked.distribution({"variance": [1.0, 2.0], "mean": 0.2})
    np.testing.assert_array_equal(named.theta, [[0.2, 1.0], [0.2, 2.0]])
    with pytest.raises(ParameterError, match=r"does not name the parameters.*give mean, variance"):
        asked.distribution({"mu": 0.2, "variance": 1.0})
    with pytest.raises(ParameterError, match="variance = -1"):
        asked.distribution({"mean": 0.2, "variance": -1.0})


def test_no_approximation_without_a_word():
    asked = model(NORMAL, cf.Mean(["x", "x**2"], (-2, 3)), GAUSSIAN, 200)
    with pytest.warns(ApproximationWarning, match="normal approximation"):
        asked.distribution(THETA[0])
