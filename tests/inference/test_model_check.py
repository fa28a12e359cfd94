"""Posterior predictive checks: families that fit, families that do not, and the distance against dense algebra."""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.model_check import distance

EDGES = [-2.0, -1.0, 0.0, 1.0, 2.0]
POPULATION, PRIOR = cf.populations.normal_mean(), {"mean": dist.Normal(0.0, 1.0)}


def test_the_distance_is_that_of_the_covariance():
    rng = np.random.default_rng(0)
    q, apart = rng.dirichlet(np.ones(6), 3), rng.normal(size=(3, 6))
    for n, variance in ((5.0, 0.3), (400.0, 12.0)):
        found = distance(apart, np.full(3, n), q, variance)
        for i in range(3):
            sigma = n * (np.diag(q[i]) - np.outer(q[i], q[i])) + variance * np.eye(6)
            assert found[i] == pytest.approx(apart[i] @ np.linalg.solve(sigma, apart[i]), rel=1e-10)


@pytest.mark.parametrize(("sd", "fits"), [(1.0, True), (1.4, False)])
def test_records_of_another_spread_are_seen(sd, fits, tmp_path):
    channel = cf.Channel(cf.Histogram("x", edges=EDGES), cf.Laplace(cf.PureDP(1.0), step=1), n=2000)
    rng = np.random.default_rng(3)
    counts = np.bincount(np.searchsorted(EDGES, rng.normal(0.2, sd, 2000)), minlength=6)
    noisy = counts + rng.geometric(1 - np.exp(-0.5), 6) - rng.geometric(1 - np.exp(-0.5), 6)
    found = cf.infer(POPULATION, cf.Release(channel, noisy.astype(float)), PRIOR)
    check = found.check()
    assert check.p_value > 0.05 if fits else check.p_value < 0.005
    words = "nothing in the published counts speaks against" if fits else "does not fit"
    assert words in str(check).lower()
    assert words in cf.report(found, tmp_path / "page.html").read_text().lower()


def test_what_cannot_be_checked_is_said():
    mean = cf.Channel(cf.Mean("x", bounds=(-3, 3)), cf.Laplace(cf.PureDP(1.0)), n=200)
    with pytest.raises(cf.IncompatibleError, match="one histogram"):
        cf.infer(POPULATION, cf.Release(mean, 0.1), PRIOR).check()
