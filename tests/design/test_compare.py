"""Comparing channels: figures, orders, errors and refusals."""

import functools
from dataclasses import replace

import matplotlib
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, optimize, stats

import confide as cf
from confide.design import compare
from confide.design.comparing.comparison import Comparison
from confide.errors import InvalidArgument, ParameterError, PrivacyError

matplotlib.use("Agg")

VARIANCE = cf.populations.normal_variance()


def model(s, mechanism=None, bounds=(-10, 10), n=100, population=VARIANCE):
    mechanism = cf.Gaussian(cf.GDP(1.0)) if mechanism is None else mechanism
    return cf.Model(population, cf.Channel(cf.Mean(s, bounds=bounds), mechanism, n=n))


PAIR = {"abs": model("abs(x)"), "square": model("x**2")}


@functools.cache
def moment(k):
    """E|Z|^k of a standard normal."""
    return stats.norm.expect(lambda z: np.abs(z) ** k)


def gaussian_information(theta, power, sigma, n=100):
    """Sec 3.1 without clipping: E|X|^k of N(0, θ) in closed form, derivatives by hand."""
    m1, m2 = moment(power), moment(2 * power)
    mean_slope = m1 * power / 2 * theta ** (power / 2 - 1)
    variance, slope = (m2 - m1**2) * theta**power / n, (m2 - m1**2) * power * theta ** (power - 1) / n
    total = variance + sigma**2
    return mean_slope**2 / total + 0.5 * (slope / total) ** 2


def test_the_papers_example_at_one_theta():
    found = compare(PAIR, theta=2.0, method="normal")
    assert found.best == "abs"
    assert found.table["information"]["abs"] == pytest.approx(4.63, abs=0.005)
    assert found.table["information"]["square"] == pytest.approx(0.929, abs=0.0005)
    assert found.dominates("abs", "square")
    assert not found.dominates("square", "abs")
    # the table: efficiency against n·I = 100/8, and the standard deviation to expect
    assert found.table["efficiency"]["abs"] == pytest.approx(found.table["information"]["abs"] / 12.5)
    assert found.table["sd variance"]["abs"] == pytest.approx(found.table["information"]["abs"] ** -0.5)
    assert list(found.table.index) == ["abs", "square"]


def test_squares_win_without_privacy():
    found = compare([model("abs(x)", cf.Noiseless()), model("x**2", cf.Noiseless())], theta=[1.0, 2.0, 4.0])
    assert found.best == "mean x**2 on [-10, 10], Noiseless"
    assert found.table["method"].tolist() == ["normal", "normal"]


def test_who_wins_where_and_the_crossing_point():
    bounds, strong = (-200, 200), cf.Gaussian(scale=0.1)
    pair = {"abs": model("abs(x)", strong, bounds), "square": model("x**2", strong, bounds)}
    found = compare(pair, theta=np.linspace(0.05, 1.0, 60), method="normal", unequal=True)
    cross = optimize.brentq(lambda t: gaussian_information(t, 1, 0.1) - gaussian_information(t, 2, 0.1), 0.05, 1.0)
    assert [stretch.name for stretch in found.winners] == ["abs", "square"]
    assert found.crossings == pytest.approx([cross], abs=1e-3)
    assert not found.dominates("abs", "square")
    assert not found.dominates("square", "abs")
    assert f"variance from 0.05 to {cross:.3g}" in str(found)


def test_a_prior_averages_the_variance():
    found = compare(
        {"a": PAIR["abs"], "b": PAIR["square"]}, prior={"variance": dist.LogNormal(0.0, 0.3)}, method="normal"
    )
    law = stats.lognorm(0.3)
    known = (np.diff(stats.norm.ppf([0.25, 0.75]))[0] / np.diff(law.ppf([0.25, 0.75]))[0]) ** 2
    for name, power in (("a", 1), ("b", 2)):
        sigma = 10.0**power / 100
        expected = integrate.quad(
            lambda t, p=power, s=sigma: law.pdf(t) / (known + gaussian_information(t, p, s)), 0.05, 12
        )[0]
        assert found.table["expected_variance"][name] == pytest.approx(expected, rel=2e-3)
        mean = integrate.quad(lambda t, p=power, s=sigma: law.pdf(t) * gaussian_information(t, p, s), 0.05, 12)[0]
        assert found.table["information"][name] == pytest.approx(mean, rel=2e-3)


def test_a_divergent_criterion_is_named():
    """The information of abs(x) and its powers below 2 is like 1/θ or more near zero, where this prior has mass."""
    pair, near_zero = {"abs": PAIR["abs"], "root": model("abs(x)**0.5")}, {"variance": dist.Gamma(0.9, 1.0)}
    with pytest.raises(InvalidArgument, match="criterion = 'information' diverges for every channel under this"):
        compare(pair, prior=near_zero, method="normal", criterion="information")
    assert np.isfinite(compare(pair, prior=near_zero, method="normal").table["expected_variance"]).all()


def test_no_single_value_of_theta_decides():
    """The variance that a posterior has is no more than its prior's, however little is said far out."""
    heavy = {"variance": dist.InverseGamma(2.0, 2.0)}
    found = compare(PAIR, prior=heavy, method="normal")
    spread = np.diff(stats.invgamma(2.0, scale=2.0).ppf([0.25, 0.75]))[0] / np.diff(stats.norm.ppf([0.25, 0.75]))[0]
    assert found.best == "abs"
    assert (found.table["expected_variance"] < spread**2).all()
    assert (found.table["sd variance"] < spread).all()


def test_different_guarantees_are_refused_or_priced():
    pair = {"abs": model("abs(x)", cf.Laplace(cf.PureDP(1.0))), "square": model("x**2")}
    with pytest.raises(PrivacyError, match=r"different guarantees.*unequal=True"):
        compare(pair, theta=2.0)
    found = compare(pair, theta=2.0, unequal=True, method="normal")
    price = found.table["cost: mu (GDP)"]
    assert price["abs"] == pytest.approx(cf.PureDP(1.0).convert(cf.GDP).mu)
    assert price["square"] == 1.0
    assert "guarantees differ" in found.verdict
    at = compare(pair, theta=2.0, unequal=True, method="normal", delta=1e-5).table
    assert at["cost: epsilon at delta=1e-05"]["square"] == pytest.approx(cf.GDP(1.0).epsilon_at(1e-5))
    free = compare({**pair, "free": model("x**2", cf.Noiseless())}, theta=2.0, unequal=True, method="normal").table
    assert np.isinf(free["cost: mu (GDP)"]["free"])


def test_equal_promises_in_other_words_are_equal():
    pair = {"a": model("abs(x)", cf.Gaussian(cf.GDP(1.0))), "b": model("abs(x)", cf.Gaussian(scale=0.1), n=100)}
    assert compare(pair, theta=2.0, method="normal").best is None  # the same channel twice


def test_matrices_are_compared_in_the_loewner_order():
    normal = cf.populations.normal()

    def both(mu):
        return model(["x", "0.2 * x**2"], cf.Gaussian(cf.GDP(mu)), population=normal)

    found = compare({"strong": both(2.0), "weak": both(1.0)}, theta=[[0.0, 1.0], [1.0, 2.0]], unequal=True)
    assert found.dominates("strong", "weak")
    assert not found.dominates("weak", "strong")
    other = model(["x", "2 * x**2"], cf.Gaussian(cf.GDP(1.0)), population=normal)
    mixed = compare({"mean": both(1.0), "spread": other}, theta=[[0.0, 1.0]])
    assert not mixed.dominates("mean", "spread")
    assert not mixed.dominates("spread", "mean")
    assert {"sd mean", "sd variance"} <= set(mixed.table.columns)
    inverse = np.linalg.inv(mixed.information["mean"].matrix[0])
    assert mixed.table["expected_variance"]["mean"] == pytest.approx(np.trace(inverse), rel=1e-9)
    assert mixed.table["sd mean"]["mean"] == pytest.approx(np.sqrt(inverse[0, 0]), rel=1e-9)


def test_a_simplex_is_compared_in_the_directions_it_can_move_in():
    population = cf.populations.categorical(3)
    bits = ["x < 0.5", "x > 1.5"]
    pair = {
        mu: cf.Model(population, cf.Channel(cf.Mean(bits, bounds=(0, 2)), cf.Gaussian(cf.GDP(mu)), n=500))
        for mu in (1, 2)
    }
    found = compare(pair, theta=[[0.2, 0.3, 0.5]], unequal=True)
    assert found.best == "2"
    assert np.isfinite(found.table["expected_variance"]).all()


def with_error(comparison, error):
    """The same comparison as if its information were estimates."""
    noisy = {
        name: replace(
            each, information=replace(each.information, standard_error=np.full_like(each.information.matrix, error))
        )
        for name, each in comparison.evaluations.items()
    }
    return Comparison(noisy, comparison.points, comparison.criterion)


def test_a_winner_must_win_by_its_errors():
    exact = compare(PAIR, theta=2.0, method="normal", criterion="information")
    gap = 4.632 - 0.929
    clear, unclear = with_error(exact, gap / 3.05 / np.sqrt(2)), with_error(exact, gap / 2.95 / np.sqrt(2))
    assert clear.best == "abs"
    assert clear.dominates("abs", "square")
    assert unclear.best is None
    assert unclear.leaders == ("abs", "square")
    assert not unclear.dominates("abs", "square")
    assert "No difference shown" in unclear.verdict
    assert unclear.winners[0].name is None


def test_errors_reach_the_expected_variance():
    exact = compare(PAIR, theta=2.0, method="normal")
    noisy = with_error(exact, 0.01)
    f = exact.information["abs"].matrix[0, 0, 0]
    assert noisy.errors[0] == pytest.approx(0.01 / f**2, rel=1e-9)


def test_pictures():
    found = compare(PAIR, theta=np.linspace(0.5, 4.0, 5), method="normal")
    axes = found.plot()
    assert axes.get_yscale() == "log"
    assert [line.get_label() for line in axes.lines] == ["abs", "square"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), found.information["abs"].matrix[:, 0, 0])
    against = found.plot(against="privacy", values=[0.5, 1.0], theta=2.0)
    assert against.get_xlabel() == "mu"
    assert against.lines[0].get_ydata()[1] == pytest.approx(4.63, abs=0.005)
    sizes = found.plot(against="n", values=[50, 100], theta=2.0)
    assert sizes.lines[1].get_ydata()[1] == pytest.approx(0.929, abs=0.0005)
    with pytest.raises(InvalidArgument, match="against"):
        found.plot(against="time")
    with pytest.raises(InvalidArgument, match="values"):
        found.plot(against="n")


@pytest.mark.parametrize(
    ("models", "given", "error"),
    [
        ({}, {"theta": 2.0}, InvalidArgument),
        ([PAIR["abs"]], {"theta": 2.0}, InvalidArgument),
        ("abs", {"theta": 2.0}, InvalidArgument),
        ([PAIR["abs"], 3], {"theta": 2.0}, InvalidArgument),
        ([PAIR["abs"], model("x", population=cf.populations.normal_mean())], {"theta": 2.0}, InvalidArgument),
        (PAIR, {}, InvalidArgument),
        (PAIR, {"theta": [1.0, -1.0]}, ParameterError),
        (PAIR, {"theta": 2.0, "criterion": "beauty"}, InvalidArgument),
        (PAIR, {"prior": {"mean": dist.Normal(0.0, 1.0)}}, InvalidArgument),
    ],
)
def test_bad_input_is_refused(models, given, error):
    with pytest.raises(error):
        compare(models, **given)
    with pytest.raises(InvalidArgument):
        compare(PAIR, theta=2.0, method="normal").dominates("abs", "nobody")


def test_sums_of_a_private_number_are_compared_at_an_assumed_one():
    population, noise = cf.populations.bernoulli(), cf.Laplace(cf.PureDP(1.0))
    models = {
        text: cf.Model(population, cf.Channel(cf.Sum(["1", text], bounds=(0, 1)), noise)) for text in ("x", "x/3")
    }
    found = cf.compare(models, theta=0.3, n=500)
    for text, model in models.items():
        expected = cf.information(model, 0.3, n=500).matrix[0, 0]
        assert found.table["information"][text] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(cf.InvalidArgument, match="must be assumed"):
        cf.compare(models, theta=0.3)
    cells = [
        cf.Model(population, cf.Channel(cf.Histogram("x", edges=[0.5]), cf.Laplace(scale=s), n=20)) for s in (1.0, 2.0)
    ]
    assert "histogram of x" in cf.compare(cells, theta=0.3, unequal=True).best
