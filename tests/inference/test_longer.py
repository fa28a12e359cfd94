"""`auto` runs chains longer where they have few effective draws, and says so."""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference.diagnostics import diagnose
from confide.inference.methods import LongEnough
from confide.inference.sampling import run as runner
from confide.inference.sampling.longer import one_in_so_many, times
from confide.posterior import Posterior


def chains(stickiness, draws):
    """Autoregressive chains."""
    rng = np.random.default_rng(0)
    x = np.zeros((4, draws))
    for t in range(1, draws):
        x[:, t] = stickiness * x[:, t - 1] + np.sqrt(1 - stickiness**2) * rng.normal(size=4)
    return {"a": x}


@pytest.mark.parametrize(("stickiness", "expected"), [(0.2, 1), (0.88, 2), (0.99, 4)])
def test_chains_are_as_long_as_they_ask_for(stickiness, expected):
    assert times(chains(stickiness, 1000), 4) == expected
    assert times(chains(stickiness, 1000), 1) == 1
    draws = chains(stickiness, 1000 * expected)
    found = one_in_so_many(Posterior(draws, "mhaar", "z", diagnose(draws, 0.4, None, []), None), 1000)
    assert found.draws["a"].shape == (4, 1000)
    assert ("of chains of" in " ".join(found.diagnostics.warnings)) == (expected > 1)


def test_what_chains_lack_is_said_once_and_of_the_draws_that_are_there():
    """R-hat stood there twice, as 1.016 of the draws that are kept and as 1.015 of all; notes stay."""
    draws = chains(0.99, 4000)
    said = diagnose(draws, 0.4, None, ["started far out"])
    warnings = one_in_so_many(Posterior(draws, "mhaar", "z", said, None), 1000).diagnostics.warnings
    assert "started far out" in warnings
    for begins in ("R-hat of a", "only "):
        assert sum(each.startswith(begins) for each in warnings) == 1
    assert diagnose({"a": draws["a"][:, 3::4]}, 0.4, None, []).warnings[0] in warnings


def test_chains_go_on_where_they_stopped(monkeypatch):
    """They were started anew: of five thousand steps each, two thousand were for nothing."""
    steps = []
    for name in ("_advance", "_advance_little"):
        real = getattr(runner, name)
        monkeypatch.setattr(runner, name, lambda *given, real=real: steps.append(given[6].shape[0]) or real(*given))
    monkeypatch.setattr("confide.inference.sampling.assemble.times", lambda draws, most: most)
    channel = cf.Channel(cf.Mean("x", (0, 5)), cf.Laplace(cf.PureDP(1.0)), 100)
    given = cf.populations.exponential(), cf.Release(channel, 0.7), {"rate": dist.Gamma(2.0, 2.0)}
    by_u = cf.MHAAR(latent="u")
    found = cf.infer(*given, method=LongEnough(by_u), warmup=100, draws=100)
    assert sum(steps) == 100 + 4 * 100
    assert found.draws["rate"].shape == (4, 100)
    monkeypatch.undo()
    whole = cf.infer(*given, method=by_u, warmup=100, draws=400)
    np.testing.assert_allclose(found.draws["rate"], whole.draws["rate"][:, 3::4])


def test_auto_says_that_it_ran_longer():
    channel = cf.Channel(cf.Mean(["log(x)", "log(x)**2"], (1, 50_000)), cf.Gaussian(cf.ZCDP(0.5)), 50)
    prior = {"loc": dist.Normal(5.0, 5.0), "scale": dist.HalfNormal(2.0)}
    found = cf.infer(cf.populations.lognormal(), cf.Release(channel, [7.8, 64.0]), prior)
    assert found.method == "mhaar"
    assert "1,000 draws of each chain were" in found.diagnostics.warnings[0]
    assert found.draws["loc"].shape[1] == 1000
