"""The local model against figures that others can check: the best clip, and when a bit tells more than it."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize
from scipy.stats import norm

import confide as cf
from confide.design.search.answers import answer_rule

#: ε, the best symmetric clip of a standard normal record, the information of its mean there, and of the bit x > 0
FIELD = [
    (1.0, 0.0706, 0.1089, 0.1360),
    (2.0, 0.2234, 0.2860, 0.3693),
    (5.0, 0.7281, 0.6122, 0.6197),
    (10.0, 1.2244, 0.8044, 0.6365),
]


def by_quadrature(epsilon, half):
    """F of the mean of N(0, 1) clipped to ±half with Laplace noise, with nothing of the library."""
    b = 2 * half / epsilon

    def density(y, mean):
        cuts = sorted({-half, min(max(y, -half), half), half})
        inside = sum(
            integrate.quad(lambda x: norm.pdf(x - mean) * math.exp(-abs(y - x) / b), low, high, epsabs=1e-13)[0]
            for low, high in zip(cuts[:-1], cuts[1:], strict=True)
        )
        ends = norm.cdf(-half - mean) * math.exp(-abs(y + half) / b) + norm.sf(half - mean) * math.exp(
            -abs(y - half) / b
        )
        return (inside + ends) / (2 * b)

    def score_squared(y):
        step = 1e-4
        change = (density(y, step) - density(y, -step)) / (2 * step)
        return change**2 / density(y, 0.0)

    parts = [(-half - 40 * b, -half), (-half, 0.0)]
    return 2 * sum(integrate.quad(score_squared, low, high, epsabs=1e-9, limit=200)[0] for low, high in parts)


@pytest.mark.parametrize(("epsilon", "clip", "of_clip", "of_bit"), FIELD)
def test_the_best_local_channel_of_a_normal_mean(epsilon, clip, of_clip, of_bit):
    population = cf.populations.normal_mean()
    found = cf.optimize(population, privacy=cf.PureDP(epsilon), n=1000, theta=0.0, local=True)
    rows = found.table.set_index("family")
    exact = rows["information"] / 1000
    np.testing.assert_allclose(exact["clip, each record"], of_clip, atol=5.1e-5)
    np.testing.assert_allclose(exact["threshold bit"], of_bit, atol=5.1e-5)
    assert isinstance(found.best.mechanism, cf.RandomizedResponse if epsilon < 10 else cf.Laplace)
    clipped = cf.optimize(
        population, privacy=cf.PureDP(epsilon), n=1, theta=0.0, families=[cf.families.EachClip()], exact=False
    )
    np.testing.assert_allclose(clipped.best.statistic.bounds, (-clip, clip), rtol=0.01)


def test_compare_says_the_same():
    population = cf.populations.normal_mean()
    models = {
        "clip": cf.Model(population, cf.Channel(cf.Each("x", (-0.2234, 0.2234)), cf.Laplace(cf.PureDP(2.0)), n=1)),
        "bit": cf.Model(population, cf.Channel(cf.Each("x > 0", (-3, 3)), cf.RandomizedResponse(cf.PureDP(2.0)), n=1)),
    }
    table = cf.compare(models, theta=0.0).table
    np.testing.assert_allclose(table.loc[["clip", "bit"], "information"], [0.2860, 0.3693], atol=5.1e-5)
    np.testing.assert_allclose(table.loc["clip", "information"], by_quadrature(2.0, 0.2234), rtol=1e-5)


@pytest.mark.parametrize("laplace", [True, False])
def test_answers_have_density_one_whatever_the_record(laplace):
    rule = answer_rule(3.0, 80, laplace=laplace)
    total = rule.weights @ rule.matrix
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "clip", "of_mean", "of_spread", "of_wide"),
    [
        (1.0, 0.0706, 0.1089, 5.17e-5, 0.002364),
        (2.0, 0.2234, 0.2860, 0.00336, 0.008946),
        (5.0, 0.7281, 0.6122, 0.1751, 0.04755),
        (10.0, 1.2244, 0.8044, 0.7105, 0.14715),
    ],
)
def test_what_a_clip_tells_of_mean_and_spread(epsilon, clip, of_mean, of_spread, of_wide):
    """To the digits that the field's table has: of σ, not of σ², and ∂σ²/∂σ = 2 at 1."""

    def told(half):
        channel = cf.Channel(cf.Each("x", (-half, half)), cf.Laplace(cf.PureDP(epsilon)), n=1)
        return cf.information(cf.Model(cf.populations.normal(), channel), [0.0, 1.0]).matrix

    best, wide = told(clip), told(10.0)
    assert best[0, 0] == pytest.approx(of_mean, abs=5.1e-5)
    assert 4 * best[1, 1] == pytest.approx(of_spread, rel=2e-3)
    assert wide[0, 0] == pytest.approx(of_wide, rel=3e-4)


def test_half_the_width_of_the_best_clip_is_where_quadrature_has_it():
    best = optimize.minimize_scalar(
        lambda half: -by_quadrature(5.0, half), bounds=(0.4, 1.2), method="bounded", options={"xatol": 2e-3}
    )
    assert best.x == pytest.approx(0.7281, rel=0.01)
