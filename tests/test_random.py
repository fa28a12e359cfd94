"""Random numbers: JAX's own, bit for bit, whichever way they are made."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide._random import as_key, fused_key, jax_key
from confide.errors import InvalidArgument
from confide.population import noise

SEEDS = [0, 1, 2**31 - 1, -5, 2**40 + 3]


def data(key):
    return np.asarray(jax.random.key_data(key))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_are_jax_keys(seed):
    np.testing.assert_array_equal(data(as_key(seed)), data(jax.random.key(seed)))


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 10**30])
def test_a_seed_beyond_64_bits_is_refused(seed):
    with pytest.raises(InvalidArgument, match="64 bits"):
        as_key(seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("shape", [(2,), (3, 2), (5000,)])  # by NumPy, and by a program of their own
def test_splits_and_folds_are_those_of_jax(seed, compiled, shape):
    def keys(key):
        return jax.random.key_data(jax.random.split(key, shape)), jax.random.key_data(jax.random.fold_in(key, 77))

    ours, theirs = fused_key(as_key(seed)), jax.random.key(seed)
    for found, wanted in zip((jax.jit(keys) if compiled else keys)(ours), keys(theirs), strict=True):
        np.testing.assert_array_equal(found, wanted)


DRAWS = {
    "uniform": lambda key: jax.random.uniform(key, (5, 3)),
    "single": lambda key: jax.random.uniform(key, (5, 3), dtype=jnp.float32),
    "normal": lambda key: jax.random.normal(key, (7,)),
    "exponential": lambda key: jax.random.exponential(key, (7,)),
    "gamma": lambda key: jax.random.gamma(key, 2.0, (50,)),
    "permutation": lambda key: jax.random.permutation(key, 20),
    "bytes": lambda key: jax.random.bits(key, (9,), jnp.uint8),
    "words": lambda key: jax.random.bits(key, (9,), jnp.uint16),
    "long": lambda key: jax.random.bits(key, (9,), jnp.uint64),
    "none": lambda key: jax.random.uniform(key, (0,)),
    "by_key": lambda key: jax.vmap(lambda each: jax.random.normal(each, (3,)))(jax.random.split(key, 4)),
    "folded": lambda key: jax.vmap(lambda i: jax.random.normal(jax.random.fold_in(key, i)))(jnp.arange(5)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_jax(name):
    for draw in (DRAWS[name], jax.jit(DRAWS[name])):
        np.testing.assert_array_equal(draw(fused_key(as_key(12))), DRAWS[name](jax.random.key(12)))


def test_other_generators_stay_what_they_are():
    key = jax.random.key(3, impl="rbg")
    assert as_key(key) is key
    assert fused_key(key) is key
    assert jax_key(key) is key


def test_keys_come_back_for_samplers_that_know_jax_keys_only():
    key = jax.random.key(3)
    np.testing.assert_array_equal(data(as_key(jax.random.PRNGKey(3))), data(key))
    back = jax_key(fused_key(key))
    assert back.dtype == key.dtype
    np.testing.assert_array_equal(data(back), data(key))
    with pytest.raises(NotImplementedError):  # should JAX come to take them, `rolled` is not needed any more
        jax.random.poisson(fused_key(key), 2.0)


def test_a_population_may_have_any_noise():
    """A chain's keys are unrolled, and NumPyro draws Poisson numbers with JAX's own keys only."""

    population = cf.Population(
        lambda shift: dist.Normal(shift, 1.0),
        {"shift": dist.constraints.real},
        noise=dist.Poisson(3.0),
        transform=lambda z, shift: z + shift,
    )
    assert noise.draw(population, fused_key(as_key(0)), (4,)).shape == (4,)
