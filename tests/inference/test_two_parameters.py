"""Posteriors of two parameters: ridges, memory, and against quadrature that shares no code with the library."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, optimize, stats
from scipy.special import log_ndtr, logsumexp, ndtr

import confide as cf
from confide.inference.quadrature import fallback, plane
from confide.inference.quadrature.levels import PlaneLevels
from confide.inference.sampling import nuts
from confide.likelihood.mean import spectral


def moments(theta, log_density):
    """Mean and sd by the weights of a fine mesh."""
    share = np.exp(log_density - log_density.max())
    share /= share.sum()
    mean = share @ theta
    return mean, np.sqrt(share @ (theta - mean) ** 2)


def noisy_mean(n, scale, y, s, atoms, weights):
    """log p(y) of a mean of n records with Laplace noise, at many laws of a record, by a plain Fourier integral."""
    t = np.linspace(0.0, 60.0 / scale, 4001)
    waves = np.exp(1j * np.outer(np.concatenate([s, atoms]), t / n))
    phi = (weights @ waves) ** n / (1.0 + (scale * t) ** 2) * np.exp(-1j * t * y)
    return np.log(integrate.trapezoid(phi.real, t) / np.pi)


def test_two_disjoint_means_take_little_memory_and_agree_with_quadrature(monkeypatch):
    """Few records and Laplace noise: all theta of a plane at once took 23 GB."""
    asked = []
    exact = spectral.Spectral.log_likelihood
    count = lambda route, model, thetas, values: asked.append(len(thetas)) or exact(route, model, thetas, values)  # noqa: E731
    monkeypatch.setattr(spectral.Spectral, "log_likelihood", count)
    noise = cf.Laplace(cf.PureDP(1.0))
    one = cf.Release(cf.Channel(cf.Mean("x", bounds=(-5, 5)), noise, n=40), 0.4)
    two = cf.Release(cf.Channel(cf.Mean("abs(x)", bounds=(-5, 5)), noise, n=25), 1.1)
    prior = {"mean": dist.Normal(0.0, 2.0), "variance": dist.InverseGamma(2.0, 2.0)}
    found = cf.infer(cf.populations.normal(), [one, two], prior, same_records=False)
    assert max(asked) <= fallback._TOGETHER
    assert sum(asked) < 5000
    mean, log_variance = np.meshgrid(np.linspace(-4, 4, 61), np.linspace(-3, 4.5, 61), indexing="ij")
    theta = np.stack([mean.ravel(), np.exp(log_variance.ravel())], axis=1)
    x, base = (part * 5 for part in np.polynomial.legendre.leggauss(250))
    sd = np.sqrt(theta[:, 1:])
    weights = np.concatenate(
        [
            base * stats.norm.pdf(x, theta[:, :1], sd),
            ndtr((-5 - theta[:, :1]) / sd),
            ndtr((theta[:, :1] - 5) / sd),
        ],
        axis=1,
    )
    log_p = noisy_mean(40, 10 / 40, 0.4, x, [-5, 5], weights) + noisy_mean(25, 5 / 25, 1.1, np.abs(x), [5, 5], weights)
    log_p += stats.norm(0, 2).logpdf(theta[:, 0]) + stats.invgamma(2, scale=2).logpdf(theta[:, 1]) + np.log(theta[:, 1])
    centre, spread = moments(theta, log_p)
    np.testing.assert_allclose(list(found.mean.values()), centre, atol=0.01 * spread.min())
    np.testing.assert_allclose(found.sd["mean"], spread[0], rtol=0.01)
    for name, m, s in zip(found.names, centre, spread, strict=True):
        draws = found.draws[name].ravel()
        assert abs(draws.mean() - m) < 5 * s / np.sqrt(draws.size)


def clipped_lognormal(loc, scale, high):
    """The first two moments of a lognormal record clipped to (0, high), in closed form."""
    z, tail = (np.log(high) - loc) / scale, ndtr((loc - np.log(high)) / scale)
    first = np.exp(loc + 0.5 * scale**2 + log_ndtr(z - scale)) + high * tail
    second = np.exp(2 * loc + 2 * scale**2 + log_ndtr(z - 2 * scale)) + high**2 * tail
    return first, second - first**2


def test_a_thin_ridge_is_followed():
    """One mean of costs leaves a curve of (loc, scale), a hundredth as wide as it is long."""
    y, high, n = 7251.0, 50_000.0, 2000
    channel = cf.Channel(cf.Mean("x", bounds=(0, high)), cf.Laplace(cf.PureDP(1.0)), n=n)
    prior = {"loc": dist.Normal(8.0, 3.0), "scale": dist.HalfNormal(2.0)}
    found = cf.infer(cf.populations.lognormal(), cf.Release(channel, y), prior, route="normal")
    scale = np.exp(np.linspace(np.log(1e-3), np.log(12.0), 400))
    rows = []
    for each in scale:
        middle = optimize.brentq(lambda loc, s=each: clipped_lognormal(loc, s, high)[0] - y, -200, 40)
        first, variance = clipped_lognormal(middle, each, high)
        slope = (clipped_lognormal(middle + 1e-4, each, high)[0] - first) / 1e-4
        width = (np.sqrt(variance / n) * 12 + 25 * 20) / slope
        loc = middle + np.linspace(-width, width, 801)
        first, variance = clipped_lognormal(loc, each, high)
        sd, b = np.sqrt(np.maximum(variance, 1e-9) / n), high / n
        z, r = (y - first) / sd, sd / b
        sides = [0.5 * r**2 + sign * r * z + log_ndtr(-sign * z - r) for sign in (1, -1)]
        log_p = logsumexp(sides, axis=0) + stats.norm(8, 3).logpdf(loc) + stats.halfnorm(scale=2).logpdf(each)
        rows.append((loc, log_p + np.log(each) + np.log(width)))
    theta = np.stack([np.concatenate([loc for loc, _ in rows]), np.repeat(scale, 801)], axis=1)
    centre, spread = moments(theta, np.concatenate([log_p for _, log_p in rows]))
    np.testing.assert_allclose(list(found.mean.values()), centre, atol=0.01 * spread.min())
    np.testing.assert_allclose(list(found.sd.values()), spread, rtol=0.01)


def banana(free):
    """A thin bent ridge: b | a is normal around a², and a is normal."""
    a, b = free[:, 1], free[:, 0]
    return -0.5 * a**2 - 0.5 * ((b - a**2) / 1e-3) ** 2


@pytest.mark.parametrize("flip", [False, True], ids=["upright", "lying"])
def test_a_plane_finds_and_resolves_a_bent_ridge(flip):
    found = plane.integrate(lambda free: banana(free[:, ::-1] if flip else free), np.full(2, -30.0), np.full(2, 30.0))
    share, free = found.share.ravel(), found.free[:, ::-1] if flip else found.free
    np.testing.assert_allclose(share @ free, [1.0, 0.0], atol=1e-3)
    np.testing.assert_allclose(share @ free**2, [3.0, 1.0], rtol=2e-3)
    uniforms = np.random.default_rng(0).random((2, 4000))
    draws = PlaneLevels.of(found).free(*uniforms)[:, :: -1 if flip else 1]
    assert stats.kstest(draws[:, 1], stats.norm.cdf).pvalue > 1e-6
    assert stats.kstest((draws[:, 0] - draws[:, 1] ** 2) / 1e-3, stats.norm.cdf).pvalue > 1e-6


def test_a_mean_without_spread_has_the_law_of_its_noise():
    """Where every record is clipped, the normal approximation was not a number."""
    channel = cf.Channel(cf.Mean("x", bounds=(0, 10)), cf.Laplace(scale=0.5), n=100)
    model = cf.Model(cf.populations.lognormal(), channel)
    found = fallback.by_normal
    with jax.enable_x64(True):
        log_p = found(model, np.asarray([[9.0, 0.01]]), np.asarray([9.7]))
    np.testing.assert_allclose(log_p, stats.laplace(10.0, 0.5).logpdf(9.7), rtol=1e-12)


def test_a_near_normal_posterior_is_resolved_by_what_finds_it():
    """Twice the points took twice the time, for nothing."""
    asked = []

    def tilted(free):
        asked.append(len(free))
        a, b = ((free - [0.4, 0.8]) / [0.05, 0.04]).T
        return -0.5 * (a**2 - 0.4 * a * b + b**2) / (1 - 0.2**2)

    found = plane.integrate(tilted, np.full(2, -8.0), np.full(2, 8.0))
    share = found.share.ravel()
    np.testing.assert_allclose(share @ found.free, [0.4, 0.8], atol=1e-6)
    np.testing.assert_allclose(np.sqrt(share @ (found.free - [0.4, 0.8]) ** 2), [0.05, 0.04], rtol=1e-5)
    assert sum(asked) < 6000


@pytest.fixture
def unresolved(monkeypatch):
    """A question whose plane is found, and whose resolution is given up."""
    monkeypatch.setattr(plane, "_MOST_POINTS", 16)
    channel = cf.Channel(cf.Mean(["x", "x**2"], bounds=(-8, 8)), cf.Gaussian(cf.ZCDP(0.5)), n=1000)
    prior = {"mean": dist.Normal(0.0, 1.0), "variance": dist.InverseGamma(3.0, 4.0)}
    return cf.populations.normal(), cf.Release(channel, [0.5, 2.2]), prior


def test_chains_start_on_the_plane_that_was_not_resolved(unresolved, monkeypatch):
    monkeypatch.setattr(nuts, "starts", None)  # no search for what is known
    found = cf.infer(*unresolved, warmup=200, draws=200)
    assert found.method == "nuts"
    assert "16 points each way do not resolve" in found.diagnostics.warnings[0]
    monkeypatch.undo()
    wanted = cf.infer(*unresolved, method="grid")
    for name, mean in wanted.mean.items():
        error = wanted.sd[name] / np.sqrt(found.diagnostics.ess[name])
        assert abs(found.mean[name] - mean) < 4.9 * error  # α = 1e-6


def test_chains_that_nobody_asked_for_are_given_a_time(unresolved, monkeypatch):
    monkeypatch.setattr(nuts, "PATIENCE", 0.0)
    with pytest.raises(cf.AccuracyError, match="50 of 200 steps of each chain after 0 s, too few"):
        cf.infer(*unresolved, warmup=0, draws=200)
    monkeypatch.setattr(nuts, "_FEWEST", 10)
    found = cf.infer(*unresolved, warmup=0, draws=200)
    assert not found.complete
    assert found.draws["mean"].shape == (4, 50)
    assert "stopped after 0 s, with 50 of 200 draws each" in found.diagnostics.warnings[1]
