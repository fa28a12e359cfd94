"""Designing releases of a private number of records: the split of a budget, the centre and the clip, against grids."""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.design import families, optimize

ADDED = "add-remove"
EXPONENTIAL = cf.populations.exponential()


def found_for(privacy, *, population=EXPONENTIAL, theta=0.4, n=2000, **options):
    return optimize(population, privacy=privacy, n=n, theta=theta, neighbours=ADDED, **options)


@pytest.mark.parametrize("privacy", [pytest.param(cf.PureDP(1.0), marks=pytest.mark.slow), cf.GDP(0.5)], ids=str)
def test_no_split_or_centre_by_hand_is_better(privacy):
    """By `information` at the assumed n, over splits, centres and clips that are written down."""
    found = found_for(privacy, families=[families.Clip()])
    best = found.best
    assert best.n is None
    assert best.neighbours == ADDED
    assert best.guarantee == privacy
    kind, bounds = type(best.mechanism), best.statistic.bounds

    def told(low, high, centre, weight):
        statistic = cf.Sum(["1", f"(x - {centre:.6g}) / {weight:.6g}"], bounds=(low, high))
        model = cf.Model(EXPONENTIAL, cf.Channel(statistic, kind(privacy)))
        return float(cf.information(model, 0.4, n=2000).matrix[0, 0])

    reached = found.table["information"][0]
    low, high = bounds
    half = (high - low) / 2
    by_hand = [
        told(low, high, low + half * (1 + c), half * np.exp(w))
        for c in (-1, -0.6, -0.3, 0, 0.5)
        for w in (-2, -1, 0, 1)
    ]
    assert max(by_hand) < reached * (1 + 2e-3)
    assert reached > 1.05 * told(low, high, 0.0, high)
    for wider in (0.7, 1.4):  # and the clip is about right
        assert told(0.0, wider * high, (high - low) / 2, half) < reached * (1 + 2e-3)


def test_gaussian_noise_wants_the_middle_of_the_range():
    """Whatever two numbers are published of (1, s): nothing that is lengthened, turned or moved tells more."""
    rng = np.random.default_rng(0)
    variance, slope, n = 0.08, 1.0, 500.0  # of s in (−1, 1), and its mean's derivative; its mean is off the middle

    def left(matrix, mean):
        longest = max(np.linalg.norm(matrix @ [1.0, s]) for s in (-1.0, 1.0))
        covariance = n * variance * np.outer(matrix[:, 1], matrix[:, 1]) + (3.0 * longest) ** 2 * np.eye(2)
        slopes = np.stack([n * slope * matrix[:, 1], matrix @ [1.0, mean]])
        whole = slopes @ np.linalg.solve(covariance, slopes.T)
        return whole[0, 0] - whole[0, 1] ** 2 / whole[1, 1]

    for mean in (-0.7, 0.2, 0.9):
        centred = max(left(np.diag([1.0, np.exp(t)]), mean) for t in np.linspace(-4, 4, 801))
        anything = max(left(rng.normal(size=(2, 2)), mean) for _ in range(3000))
        assert anything <= centred * (1 + 1e-4)


def test_a_prior_keeps_a_share_for_the_count():
    """About the one mean of a single θ the count is hardly needed; where the mean is not known, it is."""
    options = {"families": [families.Clip()], "exact": False}
    one = found_for(cf.PureDP(1.0), **options).best
    prior = {"rate": dist.LogNormal(-1.0, 0.5)}
    many = optimize(EXPONENTIAL, privacy=cf.PureDP(1.0), n=2000, prior=prior, neighbours=ADDED, **options).best
    assert many.law.noise.scale < 0.25 * one.law.noise.scale


def test_what_needs_n_is_left_out_and_the_rest_is_searched():
    found = found_for(cf.GDP(1.0), population=cf.populations.normal_variance(), theta=2.0, n=500)
    table = found.table
    assert set(table["mechanism"]) <= {"Laplace", "Gaussian"}
    assert {"power", "clip", "threshold bit"} <= set(table["family"])
    assert all(channel.n is None and channel.guarantee == cf.GDP(1.0) for channel in found.channels)
    assert table["efficiency"].max() < 1
    assert "500 records" in found.explain()
    exact = cf.information(cf.Model(cf.populations.normal_variance(), found.best), 2.0, n=500)
    assert table["information"][0] == pytest.approx(float(exact.matrix[0, 0]))


def test_two_parameters_have_gaussian_noise():
    found = found_for(cf.GDP(1.0), population=cf.populations.normal(), theta=[1.0, 2.0], exact=False)
    assert found.best.statistic.dimension == 3
    assert str(found.best.statistic.transforms[0]) == "1"
    with pytest.raises(cf.IncompatibleError, match="none of the families"):
        found_for(cf.PureDP(1.0), population=cf.populations.normal(), theta=[1.0, 2.0])


def test_what_is_asked_is_checked():
    with pytest.raises(cf.InvalidArgument, match="neighbours"):
        optimize(EXPONENTIAL, privacy=cf.PureDP(1.0), n=100, theta=1.0, neighbours="either")
    with pytest.raises(cf.InvalidArgument, match="values of single records tell"):
        optimize(EXPONENTIAL, privacy=cf.PureDP(1.0), n=100, theta=1.0, neighbours=ADDED, local=True)


@pytest.mark.parametrize("neighbours", ["replace-one", ADDED])
def test_a_rare_bit_is_a_bit(neighbours):
    """A threshold with no other between a tenth and nine tenths of the records was an error of NumPy."""
    found = optimize(
        cf.populations.bernoulli(), privacy=cf.PureDP(1.0), n=2000, theta=0.1, neighbours=neighbours,
        families=[families.Threshold()], mechanisms=[cf.Laplace],
    )  # fmt: skip
    assert found.table["efficiency"][0] > 0.9
