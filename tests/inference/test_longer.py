"""`auto` runs chains longer where they have few effective draws, and says so."""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference.diagnostics import diagnose
from confide.inference.sampling.longer import long_enough
from confide.posterior import Posterior


def chains(stickiness):
    """A run of an autoregressive chain, and how often it was asked for."""
    asked = []

    def run(draws):
        asked.append(draws)
        rng = np.random.default_rng(0)
        x = np.zeros((4, draws))
        for t in range(1, draws):
            x[:, t] = stickiness * x[:, t - 1] + np.sqrt(1 - stickiness**2) * rng.normal(size=4)
        return Posterior({"a": x}, "mhaar", "z", diagnose({"a": x}, 0.4, None, []), None)

    return run, asked


@pytest.mark.parametrize(("stickiness", "expected"), [(0.2, [1000]), (0.88, [1000, 2000]), (0.99, [1000, 4000])])
def test_chains_are_run_as_long_as_they_ask_for(stickiness, expected):
    run, asked = chains(stickiness)
    found = long_enough(run, 4, 1000)
    assert asked == expected
    assert found.draws["a"].shape == (4, 1000)
    assert ("of chains of" in " ".join(found.diagnostics.warnings)) == (len(expected) > 1)


def test_auto_says_that_it_ran_longer():
    channel = cf.Channel(cf.Mean(["log(x)", "log(x)**2"], (1, 50_000)), cf.Gaussian(cf.ZCDP(0.5)), 50)
    prior = {"loc": dist.Normal(5.0, 5.0), "scale": dist.HalfNormal(2.0)}
    found = cf.infer(cf.populations.lognormal(), cf.Release(channel, [7.8, 64.0]), prior)
    assert found.method == "mhaar"
    assert "1,000 draws of each chain were" in found.diagnostics.warnings[0]
    assert found.draws["loc"].shape[1] == 1000
