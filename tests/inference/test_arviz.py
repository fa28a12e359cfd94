"""What an ArviZ object holds."""

import numpy as np
import numpyro.distributions as dist

import confide as cf


def test_prior_observed_data_and_what_might_have_been_published():
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=200)
    prior = {"probability": dist.Beta(2.0, 2.0)}
    posterior = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), prior, route="normal", draws=300)
    data = posterior.to_arviz(predictive=True)
    assert set(data.groups()) == {"posterior", "prior", "observed_data", "posterior_predictive"}
    assert data.observed_data["release_0"].item() == 0.31
    drawn = data.prior["probability"].to_numpy()
    assert drawn.shape == (4, 300)
    assert abs(drawn.mean() - 0.5) < 4.9 * np.sqrt(0.05 / 1200)
    published = data.posterior_predictive["release_0"].to_numpy()
    # var y = var p + E p(1 − p)/n + 2b²
    mean, sd = posterior.mean["probability"], posterior.sd["probability"]
    variance = sd**2 + (mean * (1 - mean) - sd**2) / 200 + 2 * (1 / 200) ** 2
    assert abs(published.mean() - mean) < 4.9 * np.sqrt(variance / 1200)
    np.testing.assert_allclose(published.std(), np.sqrt(variance), rtol=0.15)
