"""`optimize` where tails are heavy: what it finds, against brute force that shares no code with it."""

import functools

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

import confide as cf
from confide.design import optimize
from confide.design.families.score import scores
from confide.design.points import points
from confide.design.tabulated import tabulate

from . import brute_force, populations

GUARANTEES = {
    "PureDP(1)": (cf.PureDP(1.0), ("pure", 1.0)),
    "ZCDP(.5)": (cf.ZCDP(0.5), ("zcdp", 0.5)),
    "GDP(1)": (cf.GDP(1.0), ("gdp", 1.0)),
}
SIZES = (20, 100, 10_000)
#: population, guarantee, and the information of a plain candidate with n = 100 that was tried by hand
PLAIN = [
    ("Cauchy loc", "ZCDP(.5)", 41.2),
    ("t 1.5", "PureDP(1)", 47.4),
    ("inverse gamma", "PureDP(1)", 27.9),
    ("Pareto 1.2", "PureDP(1)", 50.5),
    ("half-Cauchy", "PureDP(1)", 42.8),
]


EVERYTHING = populations.light() | populations.heavy()


@functools.cache
def records(name):
    _, theta, law = EVERYTHING[name]
    return brute_force.Records(law, theta)


def by_hand(name, channel, guarantee):
    """The information of a mean that was found, by the law of the sum on a lattice."""
    kind, scale = brute_force.noise_scale(guarantee, channel.n)
    statistic = channel.statistic
    assert isinstance(statistic, cf.Mean)
    assert type(channel.mechanism).__name__.lower() == kind
    low, high = statistic.range
    x = records(name).x
    s = (np.asarray(statistic.transforms[0](np.clip(x, *statistic.bounds)), dtype=float) - low) / (high - low)
    return brute_force.information(records(name), np.clip(s, 0, 1), channel.n, kind, scale)


@pytest.mark.parametrize(("name", "guarantee", "plain"), PLAIN)
def test_no_plain_candidate_says_more(name, guarantee, plain):
    population, theta = populations.population(name), EVERYTHING[name][1]
    privacy, known = GUARANTEES[guarantee]
    found = optimize(population, privacy=privacy, n=100, theta=theta, exact=False)
    truth = by_hand(name, found.best, known)
    assert truth >= plain
    assert found.table["information"][0] == pytest.approx(truth, rel=0.01)
    # bounds that people can read, within the bulk of the records
    assert len(str(found.best.statistic)) < 120
    assert np.max(np.abs(found.best.statistic.bounds)) < 100


@pytest.mark.slow
@pytest.mark.parametrize(("name", "guarantee", "plain"), PLAIN)
def test_the_winner_has_an_exact_figure_that_no_plain_candidate_has(name, guarantee, plain):
    population, theta = populations.population(name), EVERYTHING[name][1]
    privacy, known = GUARANTEES[guarantee]
    found = optimize(population, privacy=privacy, n=100, theta=theta)
    assert found.table["exact"][0] >= plain
    assert found.table["exact"][0] == pytest.approx(by_hand(name, found.best, known), rel=1e-3)
    assert not found.notes


@pytest.mark.slow
@pytest.mark.parametrize("name", list(EVERYTHING))
def test_the_search_is_never_below_brute_force(name):
    population, (_, theta, law) = populations.population(name), EVERYTHING[name]
    # next to a moving end of the support rare records say the most, which numeric slopes cannot follow for many
    sizes = SIZES[:2] if population.moving else SIZES
    for privacy, known in GUARANTEES.values():
        for n in sizes:
            found = optimize(population, privacy=privacy, n=n, theta=theta, exact=False)
            _, brute = brute_force.best(law, theta, known, n)
            assert by_hand(name, found.best, known) >= 0.98 * brute, (privacy, n)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "turn"), [(name, turn) for turn, name in enumerate(EVERYTHING)])
def test_the_winner_is_never_below_brute_force(name, turn):
    """The exact figure that crowns it, for one guarantee and n after another."""
    population, (_, theta, law) = populations.population(name), EVERYTHING[name]
    privacy, known = list(GUARANTEES.values())[turn % 3]
    n = SIZES[turn // 3 % 3]
    found = optimize(population, privacy=privacy, n=n, theta=theta)
    exact = found.table["exact"][0]
    assert exact >= 0.98 * brute_force.best(law, theta, known, n)[1]
    assert exact == pytest.approx(by_hand(name, found.best, known), rel=5e-3)


FORMS = [
    ("Cauchy loc", "(x - 0.3) / (1 + (x - 0.3)**2)"),
    ("t 1.5", "x / (1.5 + x**2)"),
    ("half-Cauchy", "1 / (1 + x**2)"),
    ("inverse gamma", "1 / x"),
    ("Pareto 1.2", "log(x)"),
    ("Weibull .5", "x**0.5"),
    ("Gumbel", "exp(-1 * x)"),
]


def law_of(name):
    population, theta = populations.population(name), EVERYTHING[name][1]
    with jax.enable_x64(True):
        return tabulate(population, points(population, theta, None))


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_scores_are_written_in_closed_form(name, form):
    law = law_of(name)
    with jax.enable_x64(True):
        assert [str(cf.Mean(each.text, bounds=(0.1, 1)).transforms[0]) for each in scores(law)] == [form]


@pytest.mark.parametrize("name", ["contaminated", "log-logistic shape", "Weibull shape"])
def test_other_scores_are_short_tables(name):
    """A table says as much as the score: ∂E s/∂θ is its covariance with the score, so the correlation is known."""
    law = law_of(name)
    with jax.enable_x64(True):
        (score,) = scores(law)
        mean, slope = law.means(np.stack([score.values, score.values**2]))
        whole = float(np.ravel(law.population.fisher(law.points.thetas))[0])
    assert score.text.startswith("interp(")
    assert score.text.count(",") < 2 * 30
    assert slope[0, 0, 0] ** 2 / (mean[0, 1] - mean[0, 0] ** 2) == pytest.approx(whole, rel=1e-3)


@pytest.mark.parametrize("name", ["Cauchy loc", "Weibull .5", "Pareto 1.2", "lognormal 2"])
def test_cells_are_small_in_probability(name):
    """However far out they reach: the middle of the law is as finely cut as that of a normal one."""
    law = law_of(name)
    assert law.mass.max() < 0.003
    assert law.mass.sum() == pytest.approx(1.0, abs=1e-12)
    _, theta, law_of_theta = EVERYTHING[name]
    scipys = law_of_theta(theta)
    levels = np.asarray([-2.0, -0.5, 0.5, 2.0])
    np.testing.assert_allclose(scipys.cdf(law.levels(law.x, levels)), stats.norm.cdf(levels), atol=2e-3)


def test_counts_that_are_too_many_to_list_are_cut_into_cells():
    """A Poisson law of rate 10⁵ is a normal one: the best clip says as much as that of a normal location."""
    rate, options = 1e5, {"privacy": cf.GDP(1.0), "n": 100, "families": [cf.families.Clip()], "exact": False}
    found = optimize(cf.populations.poisson(), theta=rate, **options)
    normal = optimize(cf.populations.normal_mean(), theta=0.0, **options)
    assert found.table["information"][0] * rate == pytest.approx(normal.table["information"][0], rel=2e-3)


def test_bounds_far_from_zero_are_rounded_by_their_distance():
    found = optimize(
        cf.Population(far_normal, {"loc": constraints.real}),
        privacy=cf.GDP(1.0),
        n=100,
        theta=1e6,
        families=[cf.families.Clip()],
        exact=False,
    )
    low, high = found.best.statistic.bounds
    assert 1.0 < 1e6 - low < 2.0
    assert 1.0 < high - 1e6 < 2.0


def far_normal(loc):
    return dist.Normal(loc, 1.0)
