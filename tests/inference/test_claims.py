"""`Posterior.probability` and `Posterior.predict`."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.errors import ExpressionError, InvalidArgument

BERNOULLI = cf.populations.bernoulli()
CHANNEL = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=1e-6), n=40)


@pytest.fixture(scope="module")
def known():
    """With next to no noise the posterior is Beta(1 + 12, 1 + 28)."""
    return cf.infer(BERNOULLI, cf.Release(CHANNEL, 0.3), {"probability": dist.Beta(1.0, 1.0)})


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("probability > 0.25", stats.beta(13, 29).sf(0.25)),
        ("0.4 >= probability", stats.beta(13, 29).cdf(0.4)),
        ("(probability > 0.2) * (probability < 0.31)", np.diff(stats.beta(13, 29).cdf([0.2, 0.31]))[0]),
        ("abs(log(probability / (1 - probability))) > 1", stats.beta(13, 29).cdf(1 / (1 + np.e))),
        ("max(probability > 0.4, probability < 0.2)", stats.beta(13, 29).sf(0.4) + stats.beta(13, 29).cdf(0.2)),
        ("probability > -1", 1.0),
        ("probability > 2", 0.0),
        ("1 > 2", 0.0),
    ],
)
def test_against_the_conjugate_posterior(known, claim, expected):
    assert known.probability(claim) == pytest.approx(expected, abs=2e-6)


def test_of_draws():
    draws = {
        "mean": np.array([[0.0, 1.0, 2.0, 3.0]]),
        "shares": np.array([[[0.2, 0.8], [0.5, 0.5], [0.6, 0.4], [1, 0]]]),
    }
    posterior = cf.Posterior(draws, "mh", "spectral", None, None)
    assert posterior.probability("mean * shares[0] > 1") == 0.5
    assert posterior.probability("shares[0] > shares[1]") == 0.5
    with pytest.raises(ExpressionError, match=r"unknown name 'shares\[2\]'.*the variables are mean, shares\[0\]"):
        posterior.probability("shares[2] > 0")


@pytest.mark.parametrize(
    "claim", ["probability", "probability + 1", "x > 1", "sign(probability)", "", 3, "probability >"]
)
def test_what_is_no_claim(known, claim):
    with pytest.raises(ExpressionError, match=r"expression|claim"):
        known.probability(claim)


def test_predicted_values_have_the_variance_of_all_three_sources(known):
    """Of θ, of 500 new records given θ, and of the noise."""
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.05), n=500)
    values = known.predict(cf.Model(BERNOULLI, channel), key=1)
    beta = stats.beta(13, 29)
    spread = np.sqrt(beta.var() + (beta.mean() - beta.moment(2)) / 500 + 2 * 0.05**2)
    assert values.shape == known.draws["probability"].shape
    # 4,000 draws: standard errors of the mean and of the sd are 1.6% and about 1.5% of the sd
    assert values.mean() == pytest.approx(beta.mean(), abs=5 * spread / 60)
    assert values.std() == pytest.approx(spread, rel=0.08)


def test_predictions_for_another_population_are_refused(known):
    other = cf.Model(cf.populations.normal(), cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=1.0), n=5))
    with pytest.raises(InvalidArgument, match="has the parameters probability"):
        known.predict(other)
    with pytest.raises(InvalidArgument, match="model"):
        known.predict(CHANNEL)
