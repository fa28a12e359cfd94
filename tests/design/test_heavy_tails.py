"""What a search looks at where tails are heavy. What it finds is judged in `tests/audit/test_optimize.py`."""

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
from confide.design.search.tabulated import tabulate
from tests.audit import choices

EVERYTHING = choices.light() | choices.heavy()


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
    population, theta = choices.population(name), EVERYTHING[name][1]
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
