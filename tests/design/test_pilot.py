"""The pilot plan: what it publishes, what it chooses, what it promises."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.design import compare, pilot, study
from confide.design.choosing import posterior_points
from confide.errors import InvalidArgument
from confide.inference.batch import many_posteriors
from confide.prior import Prior
from confide.published import Release, Rows

POPULATION = cf.populations.exponential()
PRIOR = {"rate": dist.LogNormal(0.0, 1.0)}
CLIPS = [cf.Mean("x", bounds=(0.0, c)) for c in (0.5, 2.0, 8.0)]


def plan(**given):
    settings = {"prior": PRIOR, "privacy": cf.GDP(1.0), "n": 1000, "first": CLIPS[1], "candidates": CLIPS} | given
    return pilot(POPULATION, **settings)


def test_a_plan_is_channels_parts_and_a_promise():
    made = plan()
    assert made.channel == cf.Channel(CLIPS[1], cf.Gaussian(cf.GDP(1.0)), n=100)
    assert (made.part, made.rest) == (Rows(0, 100), Rows(100, 1000))
    assert not made.part.overlaps(made.rest)
    assert made.guarantee == cf.GDP(1.0)
    assert "compose in parallel" in str(made)
    assert plan(fraction=0.25).channel.n == 250
    pure = plan(privacy=cf.PureDP(1.0))
    assert isinstance(pure.channel.mechanism, cf.Laplace)
    assert made.with_privacy(2.0).guarantee == cf.GDP(2.0)


@pytest.mark.parametrize("rate", [0.3, 3.0])
def test_the_choice_is_the_one_that_compare_makes_over_the_posterior(rate):
    made = plan()
    value = float(made.channel.simulate(0, np.random.default_rng(1).exponential(1 / rate, 100)))
    chosen = made.choose(Release(made.channel, value), route="normal")
    assert chosen.n == 900
    with jax.enable_x64(True):
        prior = Prior.of(POPULATION, PRIOR)
        thetas = posterior_points([cf.Model(POPULATION, made.channel)], [np.asarray([value])], prior, "normal")[0, :, 0]
    models = {i: cf.Model(POPULATION, channel) for i, channel in enumerate(made.candidates)}
    best = compare(models, theta=thetas, method="normal").best
    assert chosen == made.candidates[int(best)]
    assert chosen.statistic == (CLIPS[2] if rate == 0.3 else CLIPS[1])


def test_posterior_points_are_quantiles():
    made = plan()
    model, prior = cf.Model(POPULATION, made.channel), Prior.of(POPULATION, PRIOR)
    with jax.enable_x64(True):
        found = posterior_points([model], [np.asarray([0.6, 0.9])], prior, "normal")
    assert found.shape == (2, 10, 1)
    assert (np.diff(found[..., 0], axis=1) > 0).all()
    mean = many_posteriors([model], [np.asarray([0.6, 0.9])], prior, route="normal").mean
    np.testing.assert_allclose(found.mean(axis=1), mean, rtol=0.01)


def test_without_candidates_the_search_chooses():
    made = plan(candidates=None)
    assert made.candidates is None
    second = made.choose(Release(made.channel, float(made.channel.simulate(0, np.full(100, 0.7)))), route="normal")
    assert second.n == 900
    assert second.guarantee == cf.GDP(1.0)
    with pytest.raises(InvalidArgument, match="candidates"):
        study(POPULATION, {"pilot": made}, prior=PRIOR, theta=1.0, releases=2)


def test_both_releases_are_learned_from():
    made = plan()
    first = Release(made.channel, 0.7)
    second = Release(made.choose(first, route="normal"), 0.65)
    both = made.infer(first, second, key=0, route="normal", method="grid")
    models = [cf.Model(POPULATION, release.channel) for release in (first, second)]
    expected = many_posteriors(models, [np.asarray([0.7]), np.asarray([0.65])], PRIOR, route="normal")
    assert both.mean["rate"] == pytest.approx(expected.mean[0, 0], rel=1e-3)
    alone = many_posteriors(models[:1], [np.asarray([0.7])], PRIOR, route="normal")
    assert both.sd["rate"] < alone.sd[0, 0]


@pytest.mark.parametrize(
    "given",
    [
        {"fraction": 0.0},
        {"fraction": 1.0},
        {"fraction": 1e-5},
        {"fraction": 0.9999},
        {"fraction": "half"},
        {"n": 1},
        {"privacy": cf.Unlimited()},
        {"privacy": 1.0},
        {"first": "x"},
        {"candidates": []},
        {"candidates": ["x"]},
        {"criterion": "beauty"},
        {"prior": {"speed": dist.LogNormal(0.0, 1.0)}},
    ],
)
def test_bad_plans_are_refused(given):
    with pytest.raises(InvalidArgument):
        plan(**given)


def test_releases_of_other_channels_are_refused():
    made = plan()
    other = cf.Channel(CLIPS[0], cf.Gaussian(cf.GDP(1.0)), n=100)
    with pytest.raises(InvalidArgument, match="plan's channel"):
        made.choose(Release(other, 0.4))
    with pytest.raises(InvalidArgument, match="not a release"):
        made.choose(0.4)
