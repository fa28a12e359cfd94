"""`infer` against closed forms, quadrature and its own methods; bad input; mechanics."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, stats

import confide as cf
from confide.inference.batch import many_posteriors
from confide.inference.kernel import Averaged
from confide.inference.sampling import nuts, start
from confide.inference.sampling import run as runner

VARIANCE = cf.populations.normal_variance()
PRIOR = {"variance": dist.InverseGamma(2.0, 2.0)}
#: the far tail of InverseGamma(2, 2) has no variance, which order statistics with clipped records do not mend
LIGHT = {"variance": dist.Gamma(3.0, 1.0)}
ABS = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
RELEASE = cf.Release(ABS, 1.128379)


def quadrature(log_likelihood, log_prior, low, high):
    """Mean and sd of a one-parameter posterior by adaptive quadrature."""
    top = max(log_likelihood(t) + log_prior(t) for t in np.linspace(low, high, 400)[1:-1])
    moments = [
        integrate.quad(lambda t, k=k: t**k * np.exp(log_likelihood(t) + log_prior(t) - top), low, high, limit=500)[0]
        for k in range(3)
    ]
    mean = moments[1] / moments[0]
    return mean, np.sqrt(moments[2] / moments[0] - mean**2)


def test_a_normal_mean_with_gaussian_noise_is_conjugate():
    """With wide bounds y ~ N(θ, 1/n + σ²), so that the posterior is normal."""
    channel = cf.Channel(cf.Mean("x", bounds=(-60, 60)), cf.Gaussian(scale=0.3), n=50)
    found = cf.infer(cf.populations.normal_mean(), cf.Release(channel, 0.7), {"mean": dist.Normal(0.5, 2.0)})
    precision = 1 / 4 + 1 / (1 / 50 + 0.09)
    mean = (0.5 / 4 + 0.7 / (1 / 50 + 0.09)) / precision
    assert found.method == "grid"
    np.testing.assert_allclose(found.mean["mean"], mean, rtol=1e-9)
    np.testing.assert_allclose(found.sd["mean"], precision**-0.5, rtol=1e-8)
    expected = stats.norm(mean, precision**-0.5).interval(0.95)
    np.testing.assert_allclose(found.interval(0.95)["mean"], expected, atol=1e-5)
    draws = found.draws["mean"]
    assert draws.shape == (4, 1000)
    assert stats.kstest(draws.ravel(), stats.norm(mean, precision**-0.5).cdf).pvalue > 1e-6


def test_a_noisy_count_against_enumeration():
    """Bernoulli records: p(y | θ) is a binomial mixture of Laplace densities."""
    n, scale = 12, 1 / (12 * 2.0)
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(2.0)), n=n)
    found = cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.3), {"probability": dist.Beta(2.0, 3.0)})
    k = np.arange(n + 1)

    def log_likelihood(t):
        return np.log(stats.binom.pmf(k, n, t) @ stats.laplace.pdf(0.3, k / n, scale))

    mean, sd = quadrature(log_likelihood, stats.beta(2, 3).logpdf, 0.0, 1.0)
    np.testing.assert_allclose([found.mean["probability"], found.sd["probability"]], [mean, sd], rtol=1e-7)


def test_a_narrow_posterior_is_found_in_a_wide_prior():
    """n = 10⁹: the posterior is a ten-thousandth of the prior's reach."""
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=10**9)
    value = float(np.sqrt(2 * 2.0 / np.pi))
    found = cf.infer(VARIANCE, cf.Release(channel, value), {"variance": dist.Uniform(0.01, 60.0)})
    spread = np.sqrt((2.0 - value**2) / 1e9) * 2 * np.sqrt(2.0) / np.sqrt(2 / np.pi)
    np.testing.assert_allclose(found.mean["variance"], 2.0, atol=3e-6)
    np.testing.assert_allclose(found.sd["variance"], spread, rtol=1e-3)


def test_two_parameters_against_quadrature_on_a_plane():
    population = cf.populations.normal()
    channel = cf.Channel(cf.Mean(["x", "x**2"], bounds=(-8, 8)), cf.Gaussian(cf.GDP(2.0)), n=400)
    prior = {"mean": dist.Normal(0.0, 2.0), "variance": dist.InverseGamma(3.0, 4.0)}
    release = cf.Release(channel, [0.4, 2.3])
    found = cf.infer(population, release, prior, method="grid", route="normal", draws=4000)
    mean, variance = np.linspace(-4, 4, 241), np.linspace(0.02, 9.0, 300)
    theta = np.stack(np.meshgrid(mean, variance, indexing="ij"), axis=-1).reshape(-1, 2)
    log_p = cf.Model(population, channel).log_likelihood(theta, [0.4, 2.3], route="normal")
    log_p = log_p + stats.norm(0, 2).logpdf(theta[:, 0]) + stats.invgamma(3, scale=4).logpdf(theta[:, 1])
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    centre = weight @ theta
    spread = np.sqrt(weight @ (theta - centre) ** 2)
    np.testing.assert_allclose(list(found.mean.values()), centre, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(list(found.sd.values()), spread, rtol=2e-3)
    for name, m, s in zip(found.names, centre, spread, strict=True):
        draws = found.draws[name].ravel()
        assert abs(draws.mean() - m) < 5 * s / np.sqrt(draws.size)
        np.testing.assert_allclose(draws.std(), s, rtol=0.05)


METHODS = [
    {"method": "mh"},
    {"method": "mhaar", "latent": "z", "copies": 5},
    {"method": "pmmh", "latent": "z", "copies": 30},
]


@pytest.mark.parametrize("options", METHODS, ids=lambda o: o["method"])
def test_methods_agree_with_quadrature(options):
    exact = cf.infer(VARIANCE, RELEASE, PRIOR)
    agree(exact, cf.infer(VARIANCE, RELEASE, PRIOR, key=1, warmup=500, draws=2000, **options))


def agree(exact, found):
    """Within 4 Monte Carlo standard errors, in mean and sd."""
    for name in exact.names:
        mean, sd, ess = exact.mean[name], exact.sd[name], found.diagnostics.ess[name]
        assert np.all(np.abs(found.mean[name] - mean) < 4 * sd / np.sqrt(ess)), (found.mean, mean)
        # the sd of a skewed posterior varies more than that of a normal one: kurtosis of the draws
        kurtosis = stats.kurtosis(found.draws[name].ravel(), fisher=False)
        error = sd * np.sqrt((kurtosis - 1) / 4 / ess)
        assert np.all(np.abs(found.sd[name] - sd) < 5 * error), (found.sd, sd, error)


MODELS = {
    "square, gaussian": (VARIANCE, cf.Mean("x**2", (-5, 5)), cf.Gaussian(cf.GDP(2.0)), 50, 2.2, PRIOR),
    "clipped": (VARIANCE, cf.Mean("clip(x**2, 0.4, 3)", (-5, 5)), cf.Laplace(cf.PureDP(4.0)), 30, 1.4, PRIOR),
    "mean": (
        cf.populations.normal_mean(),
        cf.Mean("x", (-3, 3)),
        cf.Laplace(cf.PureDP(2.0)),
        40,
        0.5,
        {"mean": dist.Normal(0.0, 1.0)},
    ),
    "poisson": (
        cf.populations.poisson(),
        cf.Mean("x", (0, 10)),
        cf.Laplace(cf.PureDP(2.0)),
        25,
        3.1,
        {"rate": dist.Gamma(2.0, 0.5)},
    ),
    "exponential": (
        cf.populations.exponential(),
        cf.Mean("x", (0, 5)),
        cf.Laplace(cf.PureDP(3.0)),
        30,
        0.8,
        {"rate": dist.Gamma(2.0, 1.0)},
    ),
    "uniform": (
        cf.populations.uniform_width(),
        cf.Mean("abs(x)", (-3, 3)),
        cf.Gaussian(cf.GDP(2.0)),
        30,
        0.6,
        {"width": dist.Uniform(0.1, 4.0)},
    ),
    "bernoulli": (
        cf.populations.bernoulli(),
        cf.Mean("x", (0, 1)),
        cf.Laplace(cf.PureDP(1.0)),
        30,
        0.4,
        {"probability": dist.Beta(1.0, 1.0)},
    ),
    "maximum": (VARIANCE, cf.Maximum("abs(x)", (-4, 4)), cf.Laplace(cf.PureDP(5.0)), 20, 2.5, LIGHT),
    "median": (VARIANCE, cf.Median("abs(x)", (-4, 4)), cf.Gaussian(scale=0.3), 31, 0.9, PRIOR),
    "smooth median": (VARIANCE, cf.Median("abs(x)", (-6, 6)), cf.SmoothLaplace(cf.ApproxDP(4.0, 1e-3)), 60, 0.9, LIGHT),
    "exponential mechanism": (VARIANCE, cf.Median("abs(x)", (-6, 6)), cf.Exponential(cf.PureDP(2.0)), 60, 0.9, LIGHT),
    "threshold": (VARIANCE, cf.Mean("abs(x) > 1", (-9, 9)), cf.Laplace(cf.PureDP(2.0)), 40, 0.5, PRIOR),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MODELS))
def test_models_agree_between_quadrature_and_chains(name):
    population, statistic, mechanism, n, value, prior = MODELS[name]
    release = cf.Release(cf.Channel(statistic, mechanism, n), value)
    exact = cf.infer(population, release, prior, method="grid")
    for options in ({"method": "mhaar", "copies": 8}, {"method": "mh"}, {"method": "pmmh", "copies": 60}):
        agree(exact, cf.infer(population, release, prior, key=3, warmup=1500, draws=4000, **options))


def test_one_noisy_value_per_record():
    """`records` + quadrature against Algorithm 8."""
    channel = cf.Channel(cf.Each("abs(x)", bounds=(-5, 5)), cf.Laplace(cf.PureDP(5.0)), n=40)
    value = cf.Model(VARIANCE, channel).simulate(0, 2.0)
    release = cf.Release(channel, value)
    exact = cf.infer(VARIANCE, release, PRIOR)
    assert (exact.method, exact.route) == ("grid", "records")
    agree(exact, cf.infer(VARIANCE, release, PRIOR, method="mhaar", copies=5, draws=2000))


def test_disjoint_releases_add_and_shared_records_do_not():
    square = cf.Channel(cf.Mean("x**2", bounds=(-5, 5)), cf.Gaussian(cf.GDP(3.0)), n=1000)
    plain = cf.Channel(cf.Mean("abs(x)", bounds=(-5, 5)), cf.Gaussian(cf.GDP(3.0)), n=1000)
    releases = [cf.Release(square, 1.9), cf.Release(plain, 1.1)]
    with pytest.raises(cf.InvalidArgument, match="same_records"):
        cf.infer(VARIANCE, releases, PRIOR)
    apart = cf.infer(VARIANCE, releases, PRIOR, same_records=False)
    together = cf.infer(VARIANCE, releases, PRIOR, same_records=True)

    theta = np.linspace(0.8, 4.0, 2001)
    log_p = sum(np.asarray(cf.Model(VARIANCE, c).log_likelihood(theta, v)) for c, v in ((square, 1.9), (plain, 1.1)))
    weight = np.exp(log_p + stats.invgamma(2, scale=2).logpdf(theta) - log_p.max())
    weight /= weight.sum()
    np.testing.assert_allclose(apart.mean["variance"], weight @ theta, rtol=1e-6)
    # the same records say less than twice as many
    assert together.sd["variance"] > 1.2 * apart.sd["variance"]
    assert together.route == "normal"


def test_what_the_releases_record_about_sharing():
    one, two = (cf.Release(ABS, 1.1, dataset="people", part=part) for part in ("pilot", "rest"))
    assert cf.infer(VARIANCE, [one, two], PRIOR).method == "grid"
    same = [cf.Release(ABS, 1.1, dataset="people"), cf.Release(ABS, 1.2, dataset="people")]
    with pytest.raises(cf.InvalidArgument, match="contradicts"):
        cf.infer(VARIANCE, same, PRIOR, same_records=False)


BAD = {
    "improper": ({"variance": dist.ImproperUniform(dist.constraints.positive, (), ())}, {}, "proper"),
    "wrong name": ({"sigma": dist.Gamma(1.0, 1.0)}, {}, "sigma"),
    "too wide": ({"variance": dist.Normal(0.0, 1.0)}, {}, "mass"),
    "not a prior": (3.0, {}, "prior"),
    "one copy": (PRIOR, {"method": "mhaar", "copies": 1}, "copies"),
    "subset": (PRIOR, {"method": "mhaar", "subset": 100}, "subset"),
    "chains": (PRIOR, {"chains": 0}, "chains"),
    "draws": (PRIOR, {"draws": 0}, "draws"),
    "method": (PRIOR, {"method": "magic"}, "method"),
    "no kernel": (PRIOR, {"method": Averaged}, "method"),
    "a kernel's option": (PRIOR, {"method": Averaged(2), "colour": 3}, "options"),
    "route": (PRIOR, {"route": "magic"}, "route"),
    "latent": (PRIOR, {"method": "mhaar", "latent": "w"}, "latent"),
    "walk": (PRIOR, {"method": "mhaar", "walk": 2.0}, "walk"),
    "option": (PRIOR, {"copies": 3}, "options"),
    "key": (PRIOR, {"key": "seed"}, "key"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_named(name):
    prior, options, words = BAD[name]
    with pytest.raises(cf.ConfideError, match=words):
        cf.infer(VARIANCE, RELEASE, prior, **options)


def test_a_prior_without_mass_where_the_likelihood_is():
    channel = cf.Channel(cf.Median("abs(x)", (-6, 6)), cf.Exponential(cf.PureDP(2.0)), 60)
    with pytest.raises(cf.InvalidArgument, match="range"):
        cf.infer(VARIANCE, cf.Release(channel, 7.0), PRIOR)
    with pytest.raises(cf.InvalidArgument, match="release"):
        cf.infer(VARIANCE, 1.1, PRIOR)


def test_mass_at_the_edge_of_the_prior_is_said():
    found = cf.infer(VARIANCE, cf.Release(ABS, 1.128379), {"variance": dist.Uniform(0.01, 1.0)})
    assert "upper edge" in found.diagnostics.warnings[0]


def test_a_standard_deviation_from_far_tails_is_said():
    """All records may have been clipped, whatever θ is beyond some size: the prior's tail is the posterior's."""
    release = cf.Release(cf.Channel(cf.Maximum("abs(x)", (-4, 4)), cf.Laplace(cf.PureDP(5.0)), 20), 2.5)
    heavy, light = (str(cf.infer(VARIANCE, release, prior)) for prior in (PRIOR, LIGHT))
    assert "far tails" in heavy and "quote quantiles" in heavy
    assert "far tails" not in light


def test_the_same_key_gives_the_same_draws_in_double_precision_and_nothing_else_changes():
    before = jax.config.jax_enable_x64
    one, two, other = (
        cf.infer(VARIANCE, RELEASE, PRIOR, method="mhaar", key=key, chains=2, draws=100, warmup=100)
        for key in (3, 3, 4)
    )
    assert np.array_equal(one.draws["variance"], two.draws["variance"])
    assert not np.array_equal(one.draws["variance"], other.draws["variance"])
    assert one.draws["variance"].dtype == np.float64
    assert isinstance(one.draws["variance"], np.ndarray)
    assert jax.config.jax_enable_x64 == before


@pytest.mark.parametrize("method", ["mhaar", "nuts"])
def test_new_data_of_the_same_shape_is_not_traced_again(method):
    def run(value):
        return cf.infer(VARIANCE, cf.Release(ABS, value), PRIOR, method=method, chains=2, draws=100, warmup=100)

    def programs():
        compiled = runner._advance, runner._advance_little, start._states_at, nuts._begin, nuts._advance
        return [each._cache_size() for each in compiled]

    run(1.0)
    traced = programs()
    run(1.3)
    assert programs() == traced


@pytest.mark.parametrize(("method", "where"), [("mhaar", runner), ("nuts", nuts)])
def test_an_interrupted_run_returns_what_is_there(method, where, monkeypatch):
    def interrupted(blocks, what):
        for index, block in enumerate(blocks):
            if index == 30:
                raise KeyboardInterrupt
            yield block

    monkeypatch.setattr(where, "progress", interrupted)
    found = cf.infer(VARIANCE, RELEASE, PRIOR, method=method, chains=2, draws=100_000, warmup=1000)
    assert not found.complete
    assert 0 < found.draws["variance"].shape[1] < 100_000
    assert "interrupted" in str(found)


def test_many_posteriors_are_the_single_ones():
    values = np.asarray(cf.Model(VARIANCE, ABS).simulate(0, 2.0, (300,)))
    many = many_posteriors([cf.Model(VARIANCE, ABS)], [values], PRIOR)
    for index in (0, 7, 299):
        one = cf.infer(VARIANCE, cf.Release(ABS, values[index]), PRIOR)
        np.testing.assert_allclose(many.mean[index, 0], one.mean["variance"], rtol=1e-6)
        np.testing.assert_allclose(many.sd[index, 0], one.sd["variance"], rtol=1e-5)
        ends = one.interval(0.9)["variance"]
        np.testing.assert_allclose(
            [many.lower[1, index, 0], many.upper[1, index, 0]], ends, rtol=0, atol=2e-4 * one.sd["variance"]
        )


def test_summary_arviz_and_plot():
    import warnings

    import matplotlib as mpl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version once a day
        import arviz

    mpl.use("Agg")
    found = cf.infer(VARIANCE, RELEASE, PRIOR)
    table = found.summary()
    assert list(table.index) == ["variance"]
    assert list(table.columns) == ["mean", "sd", "5%", "95%", "ess", "r_hat"]
    data = found.to_arviz()
    assert data.posterior["variance"].shape == (4, 1000)
    assert arviz.summary(data).shape[0] == 1
    figure = found.plot()
    assert figure.axes[0].get_xlabel() == "variance"
    assert float(found.mean) == found.mean["variance"]
