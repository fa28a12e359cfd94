"""The best channel: targets, brute force, the optimality of the clipped score, refusals."""

import functools

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints

import confide as cf
from confide.design import MeanFamily, families, optimize
from confide.design.criteria import find_criterion
from confide.design.points import points
from confide.design.search.problem import SearchProblem
from confide.design.search.simplex import minimise
from confide.design.search.tabulated import tabulate
from confide.errors import IncompatibleError, InvalidArgument, ParameterError

VARIANCE = cf.populations.normal_variance()
MEANS = (families.Power(), families.Clip(), families.ClippedScore())


def laplace_scale(scale):
    return dist.Laplace(0.0, scale)


def half_normal(scale):
    return dist.HalfNormal(scale)


ONE_PARAMETER = {
    "normal variance": (VARIANCE, 2.0),
    "normal mean": (cf.populations.normal_mean(), 0.5),
    "exponential": (cf.populations.exponential(), 1.0),
    "poisson": (cf.populations.poisson(), 3.0),
    "uniform width": (cf.populations.uniform_width(), 1.0),
    "Laplace scale": (cf.Population(laplace_scale, {"scale": constraints.positive}), 1.0),
    "half-normal": (cf.Population(half_normal, {"scale": constraints.positive}), 1.5),
}


@functools.cache
def problem(name, privacy):
    population, theta = ONE_PARAMETER[name]
    with jax.enable_x64(True):
        return SearchProblem(
            tabulate(population, points(population, theta, None)), privacy, 100, find_criterion("information")
        )


def test_the_clip_matters_more_than_the_exponent():
    found = optimize(VARIANCE, privacy=cf.GDP(1.0), n=100, theta=2.0, exact=False)
    table = found.table
    assert table["family"][0] == "clipped score"
    assert table["normal"][0] >= 10.0
    squares = cf.Model(VARIANCE, found.best)
    assert cf.information(squares, 2.0, method="normal").matrix[0, 0] == pytest.approx(table["normal"][0], rel=1e-3)
    assert table["efficiency"][0] == pytest.approx(table["information"][0] / 12.5)
    assert (np.diff(table["expected_variance"]) >= 0).all()
    assert table["share of best"][0] == 1.0
    assert found.best == found.channels[0]
    assert all(channel.guarantee == cf.GDP(1.0) for channel in found.channels)
    text = found.explain()
    assert text.startswith("At variance = 2, the mean of clip(x**2,")
    assert "sampling error" in text
    assert "power" in text


def test_pure_privacy_with_laplace_noise():
    found = optimize(VARIANCE, privacy=cf.PureDP(1.0), n=100, theta=2.0, exact=False)
    assert found.table["normal"][0] >= 8.8
    assert isinstance(found.best.mechanism, cf.Laplace)
    assert {"Exponential", "SmoothCauchy", "RandomizedResponse"} <= set(found.table["mechanism"])
    again = optimize(VARIANCE, privacy=cf.PureDP(1.0), n=100, theta=2.0, exact=False)
    assert found.table.equals(again.table)


@pytest.mark.slow
def test_leaders_are_judged_by_the_exact_route():
    found = optimize(VARIANCE, privacy=cf.GDP(1.0), n=100, theta=2.0)
    assert found.table["method"][0] == "spectral"
    assert found.table["exact"][0] == pytest.approx(10.0, abs=0.005)
    assert cf.information(cf.Model(VARIANCE, found.best), 2.0).matrix[0, 0] == pytest.approx(found.table["exact"][0])


@pytest.mark.parametrize(
    ("name", "privacy"),
    [(name, cf.GDP(1.0)) for name in ONE_PARAMETER]
    + [(name, cf.PureDP(0.5)) for name in ("exponential", "half-normal")],
    ids=str,
)
def test_brute_force_does_not_beat_the_search(name, privacy):
    stated = problem(name, privacy)
    kind = cf.Gaussian if isinstance(privacy, cf.GDP) else cf.Laplace
    side = 24
    for family in MEANS:
        found = family.search(stated, kind)
        if found is None:
            continue
        box = np.asarray(family.box(stated.law))
        # off the grid that the search itself begins with
        unit = (np.arange(side) + 0.37) / side
        grid = np.stack(np.meshgrid(unit, unit), axis=-1).reshape(-1, 2) * (box[:, 1] - box[:, 0]) + box[:, 0]
        losses = np.concatenate(
            [stated.loss(stated.mean_information(family.values(stated.law, part), kind)) for part in np.split(grid, 12)]
        )
        assert -found.loss >= -losses.min() * 0.995


def leading_term(law, s, width, sigma, n):
    mean, slope = law.means(np.stack([s, s * s]))
    variance = mean[0, 1] - mean[0, 0] ** 2
    return slope[0, 0, 0] ** 2 / (variance / n + (sigma * width) ** 2)


@pytest.mark.parametrize("name", ["normal variance", "exponential", "Laplace scale"])
def test_no_bounded_statistic_beats_the_clipped_score(name):
    """μ'²/H is greatest for a clipped score; random bounded changes of it never help, nor the full F by 0.1%."""
    stated = problem(name, cf.GDP(1.0))
    law, n, family = stated.law, stated.n, families.ClippedScore()
    sigma = 1.0 / n  # of the range, for GDP(1)

    def losses(parameters):
        values = family.values(law, parameters)
        width = (values.high - values.low)[:, 0]
        return np.asarray(
            [-leading_term(law, s[0], w, sigma, n) if w > 0 else 0.0 for s, w in zip(values.s, width, strict=True)]
        )

    best = minimise(losses, np.asarray(family.box(law)))
    chosen = family.values(law, best[None])
    s, low, high = chosen.s[0, 0], chosen.low[0, 0], chosen.high[0, 0]
    top = leading_term(law, s, high - low, sigma, n)
    full = stated.mean_information(chosen, cf.Gaussian)[0, 0, 0, 0]
    random = np.random.default_rng(1)
    u = np.cumsum(law.mass[0])
    for _ in range(300):
        waves = sum(random.normal() * np.cos(np.pi * k * u + random.uniform(0, 7)) for k in range(1, 12))
        jumps = np.sign(np.sin(random.integers(2, 40) * u + random.uniform(0, 7)))
        size = (high - low) * 10.0 ** random.uniform(-3, 0)
        other = np.clip(s + size * (waves if random.random() < 0.5 else jumps), low, high)
        assert leading_term(law, other, high - low, sigma, n) <= top * (1 + 1e-6)
        from confide.design.search.family import Candidates

        changed = Candidates(other[None, None], np.asarray([[low]]), np.asarray([[high]]))
        assert stated.mean_information(changed, cf.Gaussian)[0, 0, 0, 0] <= full * 1.001


def test_a_search_looks_into_more_than_one_basin():
    """A wide basin beside a narrow, deeper one that the grid sees only the edge of."""

    def losses(points):
        x, y = points.T
        narrow = -1.3 * np.exp(-((x - 0.81) ** 2 + (y - 0.13) ** 2) / 0.0012)
        return narrow - np.exp(-((x - 0.3) ** 2 + (y - 0.6) ** 2) / 0.08)

    found = minimise(losses, np.asarray([[0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(found, [0.81, 0.13], atol=5e-3)


def test_two_parameters_get_two_numbers_with_a_split_budget():
    found = optimize(
        cf.populations.normal(),
        privacy=cf.GDP(1.0),
        n=100,
        theta=[0.5, 2.0],
        families=[families.Moments()],
        exact=False,
    )
    assert found.best.statistic.dimension == 2
    model = cf.Model(cf.populations.normal(), found.best)
    f = cf.information(model, [0.5, 2.0], method="normal").matrix
    best = np.trace(np.linalg.inv(f))
    assert found.table["expected_variance"][0] == pytest.approx(best, rel=0.01)
    # other splits of the same budget are worse
    text = str(found.best.statistic.transforms[1])
    k = float(text.split("*", maxsplit=1)[0])
    for factor in (0.5, 0.8, 1.25, 2.0):
        other = cf.Mean(["x", f"{k * factor} * x**2"], bounds=found.best.statistic.bounds)
        split = cf.Model(cf.populations.normal(), cf.Channel(other, cf.Gaussian(cf.GDP(1.0)), n=100))
        f = cf.information(split, [0.5, 2.0], method="normal").matrix
        assert np.trace(np.linalg.inv(f)) > best * 0.999


def test_a_prior_and_a_worst_case():
    near = {"rate": dist.LogNormal(0.0, 0.05)}
    population = cf.populations.exponential()
    chosen = {"families": [families.Clip()], "mechanisms": [cf.Laplace], "exact": False}
    average = optimize(population, privacy=cf.PureDP(1.0), n=100, prior=near, **chosen)
    point = optimize(population, privacy=cf.PureDP(1.0), n=100, theta=1.0, **chosen)
    np.testing.assert_allclose(average.best.statistic.bounds, point.best.statistic.bounds, rtol=0.1)
    worst = optimize(population, privacy=cf.PureDP(1.0), n=100, theta=[0.5, 1.0, 2.0], criterion="minimum", **chosen)
    fast = optimize(population, privacy=cf.PureDP(1.0), n=100, theta=2.0, **chosen)
    np.testing.assert_allclose(worst.best.statistic.bounds, fast.best.statistic.bounds, rtol=0.02)


def test_a_prior_that_reaches_where_nothing_is_said():
    """A rate near zero leaves a clipped count or a bit without information: that is one θ among many."""
    found = optimize(
        cf.populations.poisson(),
        privacy=cf.PureDP(1.0),
        n=100,
        prior={"rate": dist.Gamma(3.0, 1.0)},
        families=[families.Clip(), families.Threshold()],
        exact=False,
    )
    table = found.table
    assert table["family"][0] == "clip"
    assert np.isfinite(table["expected_variance"]).all()
    assert table["share of best"].between(0.01, 1.0).all()
    assert table["share of best"].is_monotonic_decreasing


def test_counts_are_clipped_at_counts():
    found = optimize(cf.populations.poisson(), privacy=cf.GDP(1.0), n=100, theta=3.0, exact=False)
    assert found.best.statistic == cf.Mean("x", bounds=(1, 6))
    bits = optimize(cf.populations.bernoulli(), privacy=cf.PureDP(1.0), n=100, theta=0.3, exact=False)
    assert bits.best.statistic == cf.Mean("x", bounds=(0, 1))


def test_no_privacy_needs_no_noise():
    found = optimize(VARIANCE, privacy=cf.Unlimited(), n=100, theta=2.0, families=[families.Power()], exact=False)
    assert isinstance(found.best.mechanism, cf.Noiseless)
    assert found.table["efficiency"][0] == pytest.approx(1.0, abs=0.01)


class Everything(MeanFamily):
    name = "everything"

    def box(self, law):
        return [(0.1, 2.0)]

    def statistic(self, law, parameters):
        return cf.Mean(f"exp(-abs(x) / {parameters[0]:.4g})", bounds=(-20, 20))


def test_a_family_of_ones_own():
    found = optimize(
        VARIANCE, privacy=cf.GDP(1.0), n=100, theta=2.0, families=[Everything(), families.Clip()], exact=False
    )
    assert found.table["family"][0] == "everything"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"privacy": 1.0}, InvalidArgument),
        ({"n": 0}, InvalidArgument),
        ({"theta": -2.0}, ParameterError),
        ({"theta": None}, InvalidArgument),
        ({"families": []}, InvalidArgument),
        ({"families": [3]}, InvalidArgument),
        ({"families": 3}, InvalidArgument),
        ({"mechanisms": ["Laplace"]}, InvalidArgument),
        ({"criterion": "beauty"}, InvalidArgument),
        ({"privacy": cf.PureDP(1.0), "mechanisms": [cf.Gaussian]}, IncompatibleError),
        ({"families": [families.QuantileLevel()], "mechanisms": [cf.SmoothLaplace]}, IncompatibleError),
    ],
)
def test_bad_input_is_refused(given, error):
    settings = {"privacy": cf.GDP(1.0), "n": 100, "theta": 2.0, "exact": False} | given
    with pytest.raises(error):
        optimize(VARIANCE, **settings)


def test_powers_of_counts_are_whole():
    """The sums of other powers lie on no lattice, and their law is costly to invert: many atoms, nothing between."""
    found = optimize(
        cf.populations.poisson(), privacy=cf.PureDP(1.0), n=20, theta=3.0, families=[families.Power()], exact=False
    )
    exponent = str(found.best.statistic.transforms[0]).partition("**")[2] or "1"
    assert exponent in {"1", "2", "3", "4"}
    assert found.table["efficiency"][0] > 0.5
