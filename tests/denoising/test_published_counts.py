"""Tables that others published, with the variance of each number: against dense least squares and enumeration."""

import itertools

import jax
import numpy as np
import pandas
import pytest

import confide as cf


def test_a_tree_with_a_variance_for_each_number_is_dense_least_squares():
    """Three levels, of which one lists only some of its groups; one total has no noise."""
    rng = np.random.default_rng(3)
    cells = pandas.DataFrame(
        [(f"c{i}", f"t{i}{j}", rng.normal(300, 60), rng.uniform(15, 90)) for i in range(3) for j in range(4)],
        columns=["county", "tract", "count", "variance"],
    )
    counties = {"county": ["c0", "c2"], "count": [1190.0, 1215.0], "variance": [12.0, 9.0]}
    found = cf.denoise(
        cf.published_counts(cells, variance="variance", step=None),
        totals=[cf.published_counts(counties, variance="variance", step=None),
                cf.published_counts({"count": [3600]}, variance=0)],
    )  # fmt: skip
    sums = np.vstack([np.eye(12), np.repeat([1.0, 0, 0], 4), np.repeat([0, 0, 1.0], 4)])
    y = np.concatenate([cells["count"], counties["count"]])
    weights = 1 / np.concatenate([cells["variance"], counties["variance"]])
    inverse = np.linalg.inv(sums.T @ (weights[:, None] * sums))
    mean, ones = inverse @ (sums.T @ (weights * y)), np.ones(12)
    # given the total, which is known exactly
    gain = inverse @ ones / (ones @ inverse @ ones)
    mean, covariance = mean + gain * (3600 - ones @ mean), inverse - np.outer(gain, ones @ inverse)
    # whole numbers, of which sums of normal densities are integrals to e^{−2π²·variance}
    assert found.mean == pytest.approx(mean, abs=1e-10)
    assert found.sd == pytest.approx(np.sqrt(np.diag(covariance)), abs=1e-10)
    assert found.cells[1] == "county=c0, tract=t01"
    assert found.mean.sum() == pytest.approx(3600, abs=1e-9)


def test_lattice_noise_of_several_variances_is_as_enumerated():
    counts = np.array(list(itertools.product(range(-25, 35), repeat=3)), dtype=float)
    y, variances = np.array([4.0, 9.0, -2.0]), np.array([2.0, 5.0, 0.7])
    total, of_total = 12.0, 1.5
    scales, of_sum = 1 / (2 * np.arcsinh(1 / np.sqrt(2 * variances))), 1 / (2 * np.arcsinh(1 / np.sqrt(2 * of_total)))
    log_p = -(np.abs(y - counts) / scales).sum(axis=1) - np.abs(total - counts.sum(axis=1)) / of_sum
    p = np.exp(log_p)
    mean = p @ counts / p.sum()
    table = {"x": ["a", "b", "c"], "n": y, "v": variances}
    known = cf.denoise(
        cf.published_counts(table, count="n", variance="v", noise=cf.Laplace),
        totals=cf.published_counts({"n": [total]}, count="n", variance=of_total, noise=cf.Laplace),
    )
    assert known.mean == pytest.approx(mean, abs=1e-9)
    assert known.sd == pytest.approx(np.sqrt(p @ (counts - mean) ** 2 / p.sum()), abs=1e-9)


@pytest.mark.parametrize("noise", [cf.Gaussian, cf.Laplace])
@pytest.mark.parametrize("step", [None, 1, 0.5])
@pytest.mark.parametrize("variance", [1e-4, 0.1, 1.0, 9.0, 1e6])
def test_noise_of_a_variance_has_it(noise, step, variance):
    """By the sum over its own masses; on the line by the closed forms."""
    scale = noise.of_variance(variance, step=step).scale
    if step is None:
        expected = np.sqrt(variance if noise is cf.Gaussian else variance / 2)
        assert scale == pytest.approx(expected, rel=1e-14)
        return
    v = step * np.arange(-40_000, 40_001)
    log_mass = -np.abs(v) / scale if noise is cf.Laplace else -0.5 * (v / scale) ** 2
    mass = np.exp(log_mass)
    assert mass @ v**2 / mass.sum() == pytest.approx(variance, rel=1e-9)
    with jax.enable_x64(True):
        assert float(noise(scale=scale, step=step).given_noise.variance) == pytest.approx(variance, rel=1e-10)


def test_a_release_of_ours_has_totals_of_others():
    sexes = cf.Histogram("sex", categories=["f", "m"])
    ours = cf.Release(cf.Channel(sexes, cf.Gaussian(scale=3.0, step=1)), [412.0, 187.0, 6.0])
    theirs = cf.published_counts({"sex": ["f"], "count": [409]}, variance=0)
    known = cf.denoise(ours, totals=theirs)
    assert known.mean[0] == 409 and known.sd[0] == 0
    assert known.mean[1] == pytest.approx(187, abs=1e-9)


def test_what_was_done_afterwards():
    table = {"north": 410, "south": None}
    known = cf.denoise(cf.published_counts(table, variance=4.0, processed=cf.Suppressed(below=5)), nonnegative=True)
    assert known.interval(0.9)[1, 1] < 10
    counts, points = np.arange(40), np.arange(-40, 5)
    weights = np.exp(-0.5 * (points[:, None] - counts) ** 2 / 4).sum(axis=0)
    assert known.mean[1] == pytest.approx(weights @ counts / weights.sum(), rel=1e-8)


@pytest.mark.parametrize(("table", "options", "word"), [
    ({"a": 1.5}, {"variance": 0}, "no whole number"), ({"a": 1}, {"variance": -1.0}, "below 0"),
    ({"a": 1}, {"variance": "v"}, "no column"), ({"a": np.nan}, {"variance": 1.0}, "not finite"),
    ({"a": 1}, {"variance": 1.0, "noise": "gaussian"}, "kind of noise"), ({}, {"variance": 1.0}, "no column"),
    ({"x": ["a", "a"], "count": [1, 2]}, {"variance": 1.0}, "two rows"),
    ({"count": [1, 2]}, {"variance": 1.0}, "no column that says"),
    ({"x": ["a"], "count": [1, 2]}, {"variance": 1.0}, "different lengths"), (7, {"variance": 1.0}, "no column"),
    ({"a": "many"}, {"variance": 1.0}, "no number"),
])  # fmt: skip
def test_what_is_no_table(table, options, word):
    with pytest.raises(cf.InvalidArgument, match=word):
        cf.published_counts(table, **options)


def test_tables_that_do_not_belong_together():
    cells = cf.published_counts({"x": ["a", "b"], "count": [3, 4]}, variance=1.0)
    with pytest.raises(cf.InvalidArgument, match="none of the cells"):
        cf.denoise(cells, totals=cf.published_counts({"x": ["c"], "count": [3]}, variance=1.0))
    with pytest.raises(cf.InvalidArgument, match="other cells"):
        cf.denoise(cells, totals=cf.published_counts({"y": ["a"], "count": [3]}, variance=1.0))
    with pytest.raises(cf.IncompatibleError, match="add up to such totals"):
        exact = [cf.published_counts({"count": [n]}, variance=0) for n in (3, 4)]
        cf.denoise(cells, totals=exact)
