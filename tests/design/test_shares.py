"""What the table of `optimize` says beside the best, in words, under priors that reach where nothing is said."""

import dataclasses

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.design import families, optimize
from confide.design.optimizing import MECHANISMS

VARIANCE = cf.populations.normal_variance()


def demo_families():
    return [families.Clip(), families.Threshold()]


def test_shares_have_the_order_of_the_scores_and_the_words_name_the_right_rival():
    """Visits to a doctor under a prior that reaches zero: the first table that a new user sees."""
    found = optimize(
        cf.populations.negative_binomial(concentration=0.7),
        privacy=cf.PureDP(0.2),
        n=2019,
        prior={"mean": dist.Gamma(4.0, 1.0)},
        families=demo_families(),
        exact=False,
    )
    table = found.table
    np.testing.assert_allclose(table["share of best"], table["expected_variance"][0] / table["expected_variance"])
    assert (np.diff(table["share of best"]) <= 0).all()
    assert table["share of best"].iloc[-1] > 0.01
    rival = table[table["family"] != table["family"][0]].iloc[0]
    text = found.explain()
    assert text.startswith("Averaged over the prior, the mean of x")
    assert f"The next best family, {rival['family']}" in text
    assert f"is worth {rival['share of best']:.1%} of it by expected variance." in text


REACHING = {
    "a rate of zero": (cf.populations.poisson(), {"rate": dist.Gamma(3.0, 1.0)}),
    "half its mass near zero": (cf.populations.poisson(), {"rate": dist.Gamma(0.5, 1.0)}),
    "tails without a variance": (cf.populations.normal_mean(), {"mean": dist.StudentT(1.0, 0.0, 1.0)}),
    "shares of none and all": (cf.populations.bernoulli(), {"probability": dist.Beta(0.5, 0.5)}),
    "scales of all sizes": (VARIANCE, {"variance": dist.LogNormal(0.0, 3.0)}),
}


@pytest.mark.parametrize("name", REACHING)
@pytest.mark.parametrize("criterion", ["expected_variance", "log_det"])
def test_priors_that_reach_where_nothing_is_said(name, criterion):
    population, prior = REACHING[name]
    found = optimize(
        population,
        privacy=cf.PureDP(1.0),
        n=100,
        prior=prior,
        families=demo_families(),
        criterion=criterion,
        exact=False,
    )
    shares = found.table["share of best"]
    assert shares[0] == 1.0
    assert (np.diff(shares) <= 0).all()
    # no single node of the prior decides
    if criterion == "expected_variance":
        assert np.isfinite(found.table[criterion]).all()
        assert shares.iloc[-1] > 1e-3


def test_what_was_dropped_has_no_share_and_is_no_rival():
    found = optimize(VARIANCE, privacy=cf.GDP(1.0), n=100, theta=2.0, exact=False)
    second = found.candidates[1]
    told = dataclasses.replace(
        found, candidates=(found.candidates[0], *found.candidates[2:], second.dropped("it is false"))
    )
    assert np.isnan(told.table["share of best"].iloc[-1])
    assert "it is false" in told.notes[0]


def test_a_search_shows_how_far_it_is(monkeypatch):
    seen = {}

    def watched(items, what, total=None):
        seen[what] = len(items)
        yield from items

    monkeypatch.setattr("confide.design.optimizing.progress", watched)
    monkeypatch.setattr("confide.design.judging.progress", watched)
    optimize(cf.populations.normal_mean(), privacy=cf.GDP(1.0), n=50, theta=0.0, families=[families.Clip()])
    assert seen["families and mechanisms"] == len(MECHANISMS)
    assert seen["exact information of the leaders"] >= 1
