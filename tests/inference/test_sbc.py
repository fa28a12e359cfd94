"""Simulation-based calibration: the truth has a uniform rank among posterior draws, for every method that is exact.

Each test has the error probability ALPHA; a likelihood with half the noise must be caught.
"""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf

ALPHA = 1e-6
VARIANCE = cf.populations.normal_variance()
PRIOR = {"variance": dist.LogNormal(0.5, 0.6)}
SIZE, RELEASES = 15, 48

ABS = cf.Model(VARIANCE, cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100))
MEDIAN = cf.Model(VARIANCE, cf.Channel(cf.Median("abs(x)", (-6, 6)), cf.SmoothLaplace(cf.ApproxDP(4.0, 1e-3)), n=31))
EACH = cf.Model(VARIANCE, cf.Channel(cf.Each("abs(x)", (-5, 5)), cf.Laplace(cf.PureDP(5.0)), n=10))
CHAIN = {"warmup": 300, "thin": 12}
PAIRS = {
    "mean, grid": (ABS, {}),
    "mean, mh": (ABS, {"method": "mh", **CHAIN}),
    "mean, mhaar on z": (ABS, {"method": "mhaar", "copies": 5, **CHAIN}),
    "mean, mhaar on a subset": (ABS, {"method": "mhaar", "copies": 5, "subset": 5, **CHAIN}),
    "mean, pmmh": (ABS, {"method": "pmmh", "copies": 20, **CHAIN}),
    "median, mhaar": (MEDIAN, {"method": "mhaar", "copies": 4, **CHAIN}),
    "per record, mhaar": (EACH, {"method": "mhaar", "copies": 4, **CHAIN}),
    "per record, grid": (EACH, {}),
}


#: one of each kind of target; the others are many compilations of programs that tests of kernels see as well
QUICK = ("mean, grid", "mean, mhaar on z", "median, mhaar", "per record, grid")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PAIRS]
)
def test_calibrated(name):
    model, options = PAIRS[name]
    found = cf.sbc(model, PRIOR, releases=RELEASES, size=SIZE, **options)
    assert found.ranks.shape == (RELEASES, 1)
    assert found.p_value["variance"] > ALPHA


def test_too_little_noise_in_the_likelihood_is_caught(monkeypatch):
    """The releases have ten times the noise that the analyst reckons with."""
    noisy = cf.Model(VARIANCE, cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(0.5)), n=100))
    simulate = cf.Model.simulate
    monkeypatch.setattr(cf.Model, "simulate", lambda model, key, theta: np.abs(simulate(noisy, key, theta)))
    assert cf.sbc(ABS, PRIOR, releases=100, size=SIZE).p_value["variance"] < ALPHA
