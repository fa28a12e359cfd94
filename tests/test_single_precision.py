"""`log_likelihood` for callers who compute in single precision, JAX's default."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import confide as cf

CHANNEL = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
MODEL = cf.Model(cf.populations.normal_variance(), CHANNEL)
SHARE = cf.Model(cf.populations.bernoulli(), cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=100))


@pytest.mark.parametrize(("model", "theta", "y"), [(MODEL, 1.5, 0.9), (SHARE, 0.4, 0.3)], ids=["mean", "share"])
@pytest.mark.filterwarnings("error")
def test_derivatives_in_single_precision(model, theta, y):
    """The derivative failed: it is transposed where numbers are single again."""
    step = 1e-5
    wanted = (model.log_likelihood(theta + step, y) - model.log_likelihood(theta - step, y)) / (2 * step)
    both = jax.vmap(jax.value_and_grad(lambda t: model.log_likelihood(t, y)))(jnp.asarray([theta, theta]))
    np.testing.assert_allclose(both[0], model.log_likelihood(theta, y), rtol=1e-5)
    assert both[1].dtype == jnp.float32
    np.testing.assert_allclose(both[1], wanted, rtol=1e-5)


def test_derivatives_inside_a_compiled_function():
    slope = jax.grad(lambda t: SHARE.log_likelihood(t, 0.3))
    np.testing.assert_allclose(slope(0.4), jax.jit(slope)(0.4), rtol=1e-5)


def test_the_derivative_in_the_value():
    step = 1e-6
    wanted = (MODEL.log_likelihood(1.5, 0.9 + step) - MODEL.log_likelihood(1.5, 0.9 - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(lambda y: MODEL.log_likelihood(1.5, y))(0.9), wanted, rtol=1e-4)
