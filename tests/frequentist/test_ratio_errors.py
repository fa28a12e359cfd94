"""The likelihood ratio with a nuisance parameter: how often it refuses what is true."""

import jax
import numpy as np
import pytest

import confide as cf

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("method", "count"), [("ratio", 300), ("bootstrap", 40)])
def test_errors_of_the_first_kind(method, count):
    """The mean of a normal population of unknown variance, from noisy means of x and x² of the same records."""
    population, truth = cf.populations.normal(), [0.7, 2.0]
    channel = cf.Channel(cf.Mean(["x", "x**2"], bounds=(-4, 6)), cf.Gaussian(cf.GDP(1.0)), n=200)
    values = np.asarray(cf.Model(population, channel).simulate(2, truth, shape=(count,)))
    options = {"method": method, "route": "normal", "replicates": 99}
    found = [cf.estimate(population, cf.Release(channel, value), **options).p_value({"mean": 0.7}) for value in values]
    refused = np.mean(np.asarray(found) <= 0.05)
    jax.clear_caches()
    print(f"{method}: {refused:.4f} of {count} refused at .05")
    assert refused <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
