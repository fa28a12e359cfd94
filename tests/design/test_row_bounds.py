"""`optimize` of rows: bounds of each column, against brute force that shares nothing with it but the question."""

import itertools

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.design.search.rows import pattern_search

ROWS = cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
TRUTH = {"intercept": 0.2, "coefficients": [0.5], "variance": 0.6}
TEXTS = ["x", "x**2", "y", "x * y", "y**2"]
FUNCTIONS = [lambda x, y: x, lambda x, y: x**2, lambda x, y: y, lambda x, y: x * y, lambda x, y: y**2]
N, RHO, EPSILON = 2000, 0.05, 1.0

#: a fine grid of rows with their probabilities and scores about (intercept, slope, variance)
X, Y = (each.ravel() for each in np.meshgrid(np.linspace(-7, 7, 281), np.linspace(-8, 8, 401), indexing="ij"))
ERROR = Y - 0.2 - 0.5 * X
MASS = stats.norm.pdf(X) * stats.norm.pdf(ERROR, scale=0.6**0.5)
MASS /= MASS.sum()
SCORE = np.stack([ERROR, X * ERROR, 0.5 * (ERROR**2 / 0.6 - 1)]) / 0.6


def moved(ends, norm):
    """How far the moments of two rows can lie apart: the largest distance between points of a grid."""
    sides = [np.unique(np.append(np.linspace(*pair, 17), 0.0 if pair[0] < 0 < pair[1] else pair[0])) for pair in ends]
    x, y = (each.ravel() for each in np.meshgrid(*sides, indexing="ij"))
    s = np.stack([f(x, y) for f in FUNCTIONS])
    return np.max(np.linalg.norm(s[:, :, None] - s[:, None, :], ord=norm, axis=0))


def expected_variance(ends):
    """tr F⁻¹ of five moments under Gaussian noise, by sums over the grid."""
    x, y = np.clip(X, *ends[0]), np.clip(Y, *ends[1])
    s = np.stack([f(x, y) for f in FUNCTIONS])
    mean = s @ MASS
    centred = s - mean[:, None]
    slope = centred @ (MASS * SCORE).T
    covariance = (centred * MASS) @ centred.T / N
    d_covariance = np.stack([(centred * (MASS * each)) @ centred.T for each in SCORE]) / N
    noise = moved(ends, 2) / N / (2 * RHO) ** 0.5
    inverse = np.linalg.inv(covariance + noise**2 * np.eye(5))
    spread = 0.5 * np.einsum("ab,ibc,cd,jda->ij", inverse, d_covariance, inverse, d_covariance)
    return np.trace(np.linalg.inv(slope.T @ inverse @ slope + spread))


def test_bounds_are_those_of_brute_force():
    """Never below 98% of the best of 216 pairs of bounds, and as good as the search says."""
    options = {"families": [cf.families.RowMeans(TEXTS)], "mechanisms": [cf.Gaussian], "exact": False}
    found = cf.optimize(ROWS, theta=TRUTH, privacy=cf.ZCDP(RHO), n=N, **options)
    bounds = found.best.statistic.bounds.by_name
    reached = expected_variance([bounds["x"], bounds["y"]])
    assert found.table["expected_variance"][0] == pytest.approx(reached, rel=2e-3)
    sizes = np.asarray([0.5, 0.8, 1.0, 1.25, 1.6, 2.2])
    grid = [[(-a, a), (0.1 - b, 0.1 + c)] for a, b, c in itertools.product(sizes, sizes * 1.2, sizes * 1.2)]
    best = min(expected_variance(ends) for ends in grid)
    assert reached <= best / 0.98


@pytest.mark.slow
def test_noise_is_of_the_certified_sensitivity():
    """Whatever the search saw between points: what is published is calibrated to what is proved."""
    family = cf.families.RowMeans(["a", "a * b", "abs(a - b)"], {"b": (-1, 2)})
    rows = cf.populations.independent(a=cf.populations.normal(), b=cf.populations.normal())
    theta = {"a_mean": 0.0, "a_variance": 1.0, "b_mean": 0.0, "b_variance": 1.0}
    found = cf.optimize(
        rows, theta=theta, criterion="information", privacy=cf.ZCDP(1.0), n=500, families=[family], exact=False
    )
    for channel in found.channels:
        assert channel.statistic.bounds.by_name["b"] == (-1.0, 2.0)
        ends = channel.statistic.bounds.ends
        a, b = (each.ravel() for each in np.meshgrid(*(np.linspace(*pair, 25) for pair in ends)))
        s = np.stack([a, a * b, abs(a - b)])
        laplace = isinstance(channel.mechanism, cf.Laplace)
        apart = np.max(np.linalg.norm(s[:, :, None] - s[:, None, :], ord=1 if laplace else 2, axis=0))
        assert channel.statistic.sensitivity(1, 1 if laplace else 2) >= apart


def test_moves_reach_a_corner_off_the_axes():
    """A valley that no column leads down by itself."""

    def losses(scores):
        a, b = scores[:, 0, 1], scores[:, 1, 0]
        return 1 + (a + b - 0.3) ** 2 * 50 + (a - 1.9) ** 2 + (scores[:, 0, 0] + 1) ** 2 + (scores[:, 1, 1] - 1) ** 2

    loss, scores = pattern_search(losses, 2)[0]
    assert loss < 1.02
    assert scores[0, 1] == pytest.approx(1.9, abs=0.15)


def test_several_means_with_laplace_noise_tell_what_each_does():
    """Of two independent columns, whose information is that of each by itself, which is integrated over y."""
    scale, n = 0.06, 400
    both = cf.populations.independent(a=cf.populations.normal(), b=cf.populations.normal())
    statistic = cf.Mean(["a", "b"], bounds={"a": (-1.0, 2.0), "b": (-0.5, 0.5)})
    theta = [0.3, 1.0, 0.0, 2.0]
    found = cf.information(cf.Model(both, cf.Channel(statistic, cf.Laplace(scale=scale), n=n)), theta)
    assert found.method == "normal" and not found.exact
    for place, bounds in ((0, (-1.0, 2.0)), (2, (-0.5, 0.5))):
        channel = cf.Channel(cf.Mean("x", bounds=bounds), cf.Laplace(scale=scale), n=n)
        alone = cf.information(cf.Model(cf.populations.normal(), channel), theta[place : place + 2], method="normal")
        one = found.matrix[place : place + 2, place : place + 2]
        np.testing.assert_allclose(np.diag(one), np.diag(alone.matrix), rtol=0.02)
        assert np.all(
            np.abs(one - alone.matrix) < 6 * found.standard_error[place : place + 2, place : place + 2] + 1e-9
        )
    assert np.max(np.abs(found.matrix[:2, 2:])) < 0.01 * np.max(found.matrix)


@pytest.mark.slow
def test_what_wins_has_a_figure_of_its_own():
    """With Gaussian and Laplace noise, over a prior; by the information of the channel itself, with its error."""
    prior = {"intercept": dist.Normal(0, 1), "coefficients": dist.Normal(0, 1), "variance": dist.InverseGamma(3, 2)}
    found = cf.optimize(ROWS, prior=prior, privacy=cf.PureDP(1.0), n=N)
    assert set(found.table["mechanism"]) == {"Laplace"}
    found = cf.optimize(ROWS, theta=TRUTH, privacy=cf.ApproxDP(1.0, 1e-6), n=N)
    assert set(found.table["mechanism"]) == {"Laplace", "Gaussian"}
    assert found.candidates[0].exact is not None and not found.candidates[0].reason
    again = cf.information(cf.Model(ROWS, found.best), TRUTH)
    assert np.trace(again.matrix) == pytest.approx(found.table["information"][0], rel=1e-9)
    assert "clipped to" in found.explain() and "clipped to" in str(found)


@pytest.mark.slow
def test_laplace_bounds_are_those_of_brute_force():
    """By the information of each channel of a grid, as `compare` has it."""

    def told(ends):
        statistic = cf.Mean(TEXTS, bounds=dict(zip("xy", ends, strict=True)))
        model = cf.Model(ROWS, cf.Channel(statistic, cf.Laplace(cf.PureDP(EPSILON)), n=N))
        return np.trace(np.linalg.inv(cf.information(model, TRUTH).matrix))

    options = {"families": [cf.families.RowMeans(TEXTS)], "mechanisms": [cf.Laplace], "privacy": cf.PureDP(EPSILON)}
    found = cf.optimize(ROWS, theta=TRUTH, n=N, **options)
    bounds = found.best.statistic.bounds.by_name
    reached = told([bounds["x"], bounds["y"]])
    sizes = (0.7, 1.0, 1.4)
    best = min(told([(-a, a), (0.1 - b, 0.1 + b)]) for a, b in itertools.product(sizes, sizes))
    assert reached <= best / 0.98


def test_what_is_not_searched_is_refused_in_words():
    """Families of numbers, private numbers of records, columns that are not asked about."""
    ask = {"theta": TRUTH, "privacy": cf.ZCDP(RHO), "n": N, "exact": False}
    with pytest.raises(cf.InvalidArgument, match="records of one number"):
        cf.optimize(ROWS, families=[cf.families.Clip()], **ask)
    with pytest.raises(cf.IncompatibleError, match="public number of records"):
        cf.optimize(ROWS, neighbours="add-remove", **ask)
    with pytest.raises(cf.InvalidArgument, match="is not searched about"):
        cf.optimize(ROWS, families=[cf.families.RowMeans("x", {"y": (0, 1)})], **ask)
    with pytest.raises(cf.InvalidArgument, match="z"):
        cf.optimize(ROWS, families=[cf.families.RowMeans("x * z")], **ask)
    with pytest.raises(cf.InvalidArgument, match="no columns"):
        cf.families.RowMeans().texts(cf.populations.normal(), {"x": (0.0, 1.0)})
