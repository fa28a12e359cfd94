"""`estimate`: distribution functions against closed forms and quadrature, and sets against what they invert."""

import jax
import numpy as np
import pytest
from scipy import integrate, stats

import confide as cf
from confide.frequentist.exact import p_values
from confide.likelihood import choose_route
from confide.likelihood.cumulative import tails

P, LAPLACE, GAUSSIAN = cf.populations, cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.GDP(1.0))
#: of each test of uniformity
ALPHA = 1e-4


def model_of(population, statistic, mechanism, n):
    return cf.Model(population, cf.Channel(statistic, mechanism, n=n))


def both(model, theta, y):
    with jax.enable_x64(True):
        below, above = tails(choose_route(model), model, np.asarray([[theta]]), np.asarray(y, dtype=float))
    return below[0], above[0]


def test_share_is_a_binomial_sum():
    model = model_of(P.bernoulli(), cf.Mean("x", bounds=(0, 1)), LAPLACE, 20)
    y, k = np.asarray([-0.1, 0.2, 0.9]), np.arange(21)
    expected = [np.sum(stats.binom.pmf(k, 20, 0.3) * stats.laplace.cdf(v, k / 20, 1 / 20)) for v in y]
    below, above = both(model, 0.3, y)
    np.testing.assert_allclose(below, expected, atol=1e-12)
    np.testing.assert_allclose(below + above, 1.0, atol=1e-12)


def test_lattice_noise_holds_the_value_in_both_tails():
    model = model_of(P.bernoulli(), cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0), step=0.05), 20)
    rate = 0.05 / float(model.channel.law.noise.scale)
    k, j = np.arange(21), np.arange(-600, 620)
    mass = np.tanh(rate / 2) * np.exp(-rate * np.abs(j[:, None] - k)) @ stats.binom.pmf(k, 20, 0.3)
    below, above = both(model, 0.3, [0.4])
    assert below[0] == pytest.approx(mass[j <= 8].sum(), abs=1e-10)
    assert above[0] == pytest.approx(mass[j >= 8].sum(), abs=1e-10)


def test_one_record_by_quadrature():
    model = model_of(P.normal_mean(), cf.Mean("x", bounds=(-5, 5)), LAPLACE, 1)
    scale = float(model.channel.law.noise.scale)
    inner = [
        integrate.quad(lambda x, v=v: stats.norm.pdf(x, 0.2) * stats.laplace.cdf(v, x, scale), -5, 5, points=[v], epsabs=1e-13)[0]
        for v in (-1.0, 3.0)
    ]  # fmt: skip
    ends = [
        stats.norm.cdf(-5, 0.2) * stats.laplace.cdf(v, -5, scale) + stats.norm.sf(5, 0.2) * stats.laplace.cdf(v, 5, scale)
        for v in (-1.0, 3.0)
    ]  # fmt: skip
    np.testing.assert_allclose(both(model, 0.2, [-1.0, 3.0])[0], np.add(inner, ends), atol=1e-9)


def test_spectral_without_clipping_is_normal():
    model = model_of(P.normal_mean(), cf.Mean("x", bounds=(-40, 40)), cf.Gaussian(scale=0.2), 25)
    y = np.asarray([-0.4, 0.3, 1.0])
    expected = stats.norm.cdf(y, 0.3, np.sqrt(1 / 25 + 0.04))
    np.testing.assert_allclose(both(model, 0.3, y)[0], expected, atol=1e-8)


def test_normal_laplace_by_quadrature():
    model = model_of(P.normal_mean(), cf.Mean("x", bounds=(-40, 40)), cf.Laplace(scale=0.3), 25)
    expected = integrate.quad(
        lambda u: stats.norm.pdf(u, 0, 0.2) * stats.laplace.cdf(0.25, u, 0.3), -3, 3, points=[0.25]
    )
    assert both(model, 0.0, [0.25])[0][0] == pytest.approx(expected[0], abs=1e-8)
    with jax.enable_x64(True):
        below, above = cf.Normal().tails(model, np.asarray([[0.0]]), np.asarray([0.25]))
    assert below[0, 0] == pytest.approx(expected[0], abs=1e-8)
    assert below[0, 0] + above[0, 0] == pytest.approx(1.0, abs=1e-12)


def test_many_theta_share_panels(monkeypatch):
    """The mean of exponential records is a gamma variable: a scan of rates, and two that are far from all others."""
    model = model_of(P.exponential(), cf.Mean("x", bounds=(0, 900)), cf.Laplace(scale=0.7), 25)
    route, asked = choose_route(model), []
    inverted = type(route).log_likelihood
    monkeypatch.setattr(type(route), "log_likelihood", lambda self, *args: asked.append(args) or inverted(self, *args))
    rates, y = np.concatenate([[0.05, 2.0], np.geomspace(0.8, 0.4, 24)]), np.asarray([0.4, 3.0, 12.0])
    with jax.enable_x64(True):
        below, above = tails(route, model, rates[:, None], y)
    assert len(asked) < len(rates)  # one by one it would be asked twice at each
    np.testing.assert_allclose(below + above, 1.0, atol=1e-8)
    for row in (0, 1, 2, 11, 12, 25):
        mean = stats.gamma(25, scale=1 / (25 * rates[row]))
        for column, v in enumerate(y):
            least, most = mean.ppf([1e-15, 1 - 1e-15])
            expected = integrate.quad(
                lambda u, v=v, law=mean: law.pdf(u) * stats.laplace.cdf(v, u, 0.7), least, most, points=[np.clip(v, least, most), mean.mean()], epsabs=1e-12, limit=400
            )[0]  # fmt: skip
            assert below[row, column] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_range_far_wider_than_the_law_of_y_is_not_gone_through(noise, monkeypatch):
    """Panels went to both ends of the range, where nothing is and an inversion is long, and gives up."""
    mechanism = cf.Laplace(scale=1.0) if noise == "laplace" else cf.Gaussian(scale=1.0)
    model = model_of(P.normal_mean(), cf.Mean("x", bounds=(0, 50_000)), mechanism, 100_000)
    route, asked = choose_route(model), []
    inverted = type(route).log_likelihood
    monkeypatch.setattr(
        type(route), "log_likelihood", lambda self, *args: asked.append(args[2]) or inverted(self, *args)
    )
    y = np.asarray([12_000.0, 12_338.0, 12_341.0])
    expected = stats.laplace.cdf(y, 12_340.0) if noise == "laplace" else stats.norm.cdf(y, 12_340.0, np.sqrt(1 + 1e-5))
    np.testing.assert_allclose(both(model, 12_340.0, y)[0], expected, rtol=2e-5, atol=1e-9)
    assert all(np.all(np.abs(each - 12_340.0) < 60.0) for each in asked)


CONTINUOUS = {
    "exponential": (P.exponential(), cf.Mean("x", bounds=(0, 20)), LAPLACE, 100, 0.1),
    "variance": (P.normal_variance(), cf.Mean("abs(x)", bounds=(-10, 10)), LAPLACE, 50, 2.0),
    "mean": (P.normal_mean(), cf.Mean("x", bounds=(-3, 3)), GAUSSIAN, 30, 0.5),
    "poisson": (P.poisson(), cf.Mean("x", bounds=(0, 9)), LAPLACE, 40, 2.0),
    "share": (P.bernoulli(), cf.Mean("x", bounds=(0, 1)), GAUSSIAN, 40, 0.2),
    "median": (P.normal_mean(), cf.Median("x", bounds=(-5, 5)), cf.Laplace(cf.PureDP(5.0)), 41, 0.2),
    "maximum": (P.normal_mean(), cf.Maximum("x", bounds=(-5, 5)), GAUSSIAN, 41, 0.2),
    "one record": (P.normal_mean(), cf.Mean("x", bounds=(-5, 5)), LAPLACE, 1, 0.2),
    "smooth median": (P.normal_mean(), cf.Median("x", bounds=(-5, 5)), cf.SmoothLaplace(cf.ApproxDP(2.0, 1e-4)), 41, 0.2),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTINUOUS)
def test_p_values_at_the_truth_are_uniform(name):
    *parts, theta = CONTINUOUS[name]
    model = model_of(*parts)
    values = np.asarray(model.simulate(3, theta, shape=(600,)))
    with jax.enable_x64(True):
        found = p_values(choose_route(model), model, np.asarray([[theta]]), values)[0]
    assert stats.kstest(found, "uniform").pvalue > ALPHA


def test_lattices_are_conservative():
    model = model_of(P.normal_mean(), cf.Mean("x", bounds=(-5, 5)), cf.Laplace(cf.PureDP(1.0), step=0.25), 41)
    values = np.asarray(model.simulate(3, 0.2, shape=(600,)))
    with jax.enable_x64(True):
        found = p_values(choose_route(model), model, np.asarray([[0.2]]), values)[0]
    for level in (0.05, 0.2, 0.5):
        assert np.mean(found <= level) <= level + 4 * np.sqrt(level * (1 - level) / 600)


@pytest.mark.slow
def test_a_set_in_two_pieces():
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Gaussian(scale=0.1), n=50)
    found = cf.estimate(P.normal_mean(), cf.Release(channel, 2.0))
    (below, above) = found.set["mean"]
    np.testing.assert_allclose(below, [-above[1], -above[0]], rtol=1e-6)  # |x| does not tell the sign
    for end in (*below, *above):
        assert found.p_value(end) == pytest.approx(0.05, abs=1e-6)
    assert found.interval["mean"] == (below[0], above[1])


def test_several_parameters_are_refused_where_one_is_asked_for():
    channel = cf.Channel(cf.Mean("x", bounds=(-5, 5)), GAUSSIAN, n=50)
    with pytest.raises(cf.IncompatibleError, match="2 parameters"):
        cf.estimate(P.normal(), cf.Release(channel, 0.3))
    with pytest.raises(cf.IncompatibleError, match="without noise"):
        cf.estimate(P.normal_mean(), cf.Release(cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Noiseless(), n=5), 0.3))
    with pytest.raises(cf.InvalidArgument, match="is not a method"):
        cf.estimate(P.normal_mean(), cf.Release(channel, 0.3), method="guess")


def test_ratio_and_wald_of_a_normal_mean_are_closed():
    channel = cf.Channel(cf.Mean("x", bounds=(-8, 8)), cf.Gaussian(scale=0.2), n=25)
    half = stats.norm.ppf(0.975) * np.sqrt(1 / 25 + 0.04)
    for method in ("ratio", "wald"):
        found = cf.estimate(P.normal_mean(), cf.Release(channel, 0.3), method=method)
        assert found.theta["mean"] == pytest.approx(0.3, abs=1e-5)
        np.testing.assert_allclose(found.interval["mean"], [0.3 - half, 0.3 + half], atol=1e-5)
