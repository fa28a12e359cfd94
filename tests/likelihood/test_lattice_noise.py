"""Noise on a lattice of its own, and statistics that are: against convolutions of distribution functions and finite sums.

Nothing here is shared with the library: the law of a rounded mean of two records is a quadrature of scipy's
distribution functions, that of a lattice a convolution of masses.
"""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import integrate, special, stats

import confide as cf
from confide.likelihood.slow_inversion import sums


def mass(kind, scale, step, k):
    """P(V = k·step)."""
    every = np.arange(-60_000, 60_001)
    height = lambda i: -np.abs(i) * step / scale if kind == "Laplace" else -0.5 * (i * step / scale) ** 2  # noqa: E731
    return np.exp(height(np.asarray(k)) - special.logsumexp(height(every)))


def rounded_pair(law, low, high, step, k):
    """P(⌊(X + X′)/2·step + ½⌋ = k) for two records clipped to (low, high): a half is rounded up."""
    atoms = {low: law.cdf(low), high: law.sf(high)}

    def below(c):
        """P(X + X′ < c)."""
        clipped = lambda v: 0.0 if v <= low else (1.0 if v > high else float(law.cdf(v)))  # noqa: E731
        inner = [p for p in (c - low, c - high) if low < p < high]
        part = integrate.quad(lambda x: law.pdf(x) * clipped(c - x), low, high, points=inner or None, epsabs=1e-13)[0]
        return part + sum(share * clipped(c - at) for at, share in atoms.items())

    edges = 2 * step * (np.append(k, k[-1] + 1) - 0.5)
    return np.diff([below(round(edge, 9)) for edge in edges])


@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
@pytest.mark.parametrize(("step", "scale"), [(0.2, 0.14), (0.1, 0.3), (0.25, 0.03)])
def test_a_coarse_lattice_and_two_clipped_records(kind, step, scale):
    """One record at either bound has the mean ½, which is a half step away from the lattice of 0.2."""
    model = cf.Model(
        cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (0, 1)), getattr(cf, kind)(scale=scale, step=step), 2)
    )
    k = np.arange(0, round(1 / step) + 1)
    share = rounded_pair(stats.norm(0.3), 0.0, 1.0, step, k)
    assert share.sum() == pytest.approx(1.0, abs=1e-10)
    j = np.asarray([-1, 0, 1, 2, round(0.5 / step) + 1, round(1 / step) + 2])
    expected = np.log([share @ mass(kind, scale, step, at - k) for at in j])
    kept = expected > expected.max() - 30
    found = model.log_likelihood(0.3, step * j[kept])
    np.testing.assert_allclose(found, expected[kept], rtol=0, atol=1e-7)


def test_the_tails_of_discrete_laplace_noise_fit_in_the_period():
    """1/x of a Pareto record on (1, 1.308): its range is two scales of the noise, and n = 2 keeps it slow."""
    population = cf.Population(lambda a: dist.Pareto(1.0, a), {"a": constraints.positive})
    step, scale = 0.1, 0.11773700305810397
    model = cf.Model(population, cf.Channel(cf.Mean("1/x", (1, 1.308)), cf.Laplace(scale=scale, step=step), 2))
    low, high = 1 / 1.308, 1.0
    # s = 1/x has P(s ≤ v) = v^a above its atom at the lower end
    law = stats.beta(0.5, 1.0)
    k = np.arange(7, 11)
    share = rounded_pair(law, low, high, step, k)
    j = np.asarray([4, 6, 8, 9, 13])
    expected = np.log([share @ mass("Laplace", scale, step, at - k) for at in j])
    for y, right in zip(step * j, expected, strict=True):
        assert model.log_likelihood(0.5, y) == pytest.approx(right, abs=1e-7)


ONE_POINT = [
    (cf.populations.exponential(), "x >= 0", (-1, 1), 1.0),
    (cf.populations.exponential(), "x", (-1, 0), 0.0),
    (cf.populations.negative_binomial(), "abs(x)", (-1, 0), 0.0),
    (cf.populations.uniform_width(), "sign(x - 1)", (-1, 1), -1.0),
]


@pytest.mark.parametrize(("population", "expression", "bounds", "value"), ONE_POINT)
@pytest.mark.parametrize(("kind", "step"), [("Laplace", None), ("Gaussian", None), ("Laplace", 0.1), ("Gaussian", 0.1)])
def test_a_law_of_one_point(population, expression, bounds, value, kind, step):
    """Every record has the same s, and y is that number plus noise."""
    scale, y, theta = 0.03, np.asarray([-0.2, 0.0, 0.1, 0.5]), 0.5
    mechanism = getattr(cf, kind)(scale=scale, **({} if step is None else {"step": step}))
    model = cf.Model(population, cf.Channel(cf.Mean(expression, bounds), mechanism, 3))
    y = value + y
    if step is None:
        expected = (stats.laplace if kind == "Laplace" else stats.norm).logpdf(y, value, scale)
    else:
        expected = np.log(mass(kind, scale, step, np.round((y - value) / step)))
    np.testing.assert_allclose(model.log_likelihood(theta, y), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "scale"), [("Laplace", 2500.0), ("Laplace", 17857.0), ("Gaussian", 300.0)])
def test_cubes_of_a_geometric_variable(kind, scale):
    """x³ up to 125,000 and down to 0: a long lattice with a long tail, in which a tilt would see nothing but the end."""
    population = cf.Population(dist.GeometricProbs, {"probs": constraints.unit_interval})
    n, law = 7, stats.geom(0.5, loc=-1)
    model = cf.Model(population, cf.Channel(cf.Mean("x**3", (-50, 50)), getattr(cf, kind)(scale=scale), n))
    x = np.arange(51)
    one = np.zeros(50**3 + 1)
    one[x**3] = np.append(law.pmf(x[:-1]), law.sf(49))
    size = n * 50**3 + 1
    total = np.maximum(np.fft.irfft(np.fft.rfft(one, 2 * size) ** n, 2 * size)[:size], 0.0)
    y = scale * np.asarray([-2.5, -1.0, 0.0, 0.7, 2.5])
    law_of_noise = stats.laplace if kind == "Laplace" else stats.norm
    expected = np.log([total @ law_of_noise.pdf(v - np.arange(size) / n, scale=scale) for v in y])
    np.testing.assert_allclose(model.log_likelihood(0.5, y), expected, rtol=0, atol=1e-9)


def test_tails_of_a_sum_keep_their_digits():
    """A share of few bits, far out under narrow noise: every value has its own tilt."""
    n, scale, p = 50, 0.004, 0.3
    model = cf.Model(cf.populations.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), cf.Gaussian(scale=scale), n))
    y = np.asarray([-0.05, 0.0, 0.01, 0.9, 0.99, 1.02])
    terms = stats.binom.logpmf(np.arange(n + 1), n, p) + stats.norm.logpdf(y[:, None], np.arange(n + 1) / n, scale)
    np.testing.assert_allclose(model.log_likelihood(p, y), special.logsumexp(terms, axis=1), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
@pytest.mark.parametrize(("n", "step"), [(10, 0.25), (3, 0.1), (7, 0.3)])
def test_unrelated_lattices(kind, n, step):
    """Means of bits at k/n, rounded to a lattice that has nothing to do with theirs: a finite sum, also in a trace."""
    scale, p, k = 0.15, 0.3, np.arange(n + 1)
    model = cf.Model(
        cf.populations.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), getattr(cf, kind)(scale=scale, step=step), n)
    )
    rounded = np.floor(k / n / step + 0.5 + 1e-9)
    j = np.asarray([-3, 0, 1, 2, 5])
    noise = mass(kind, scale, step, j[:, None] - rounded)
    np.testing.assert_allclose(
        model.log_likelihood(p, step * j), np.log(noise @ stats.binom.pmf(k, n, p)), rtol=0, atol=1e-9
    )
    slope = noise @ (stats.binom.pmf(k, n, p) * (k / p - (n - k) / (1 - p))) / (noise @ stats.binom.pmf(k, n, p))
    with jax.enable_x64(True):
        found = jax.jacrev(lambda t: model.log_likelihood(t, step * j))(p)
    np.testing.assert_allclose(found, slope, rtol=0, atol=1e-8)


def test_no_number_in_a_trace_where_nothing_bounds_it():
    """Three clipped records and Laplace noise: the transform decays like its square, and is not followed far enough."""
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (-1, 1)), cf.Laplace(scale=0.2), 3))
    with jax.enable_x64(True):
        found, slope = jax.jit(jax.value_and_grad(lambda t: model.log_likelihood(t, 0.25)))(0.3)
    assert np.isnan(found)
    assert np.isnan(slope)
    assert np.isfinite(model.log_likelihood(0.3, 0.25))


def test_narrow_gaussian_noise_in_a_trace():
    """Three records in (−1, 1) and noise of 0.02: the trace has the frequencies that the noise needs."""
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (-1, 1)), cf.Gaussian(scale=0.02), 3))
    law, (x, w) = stats.norm(0.3), np.polynomial.legendre.leggauss(400)
    s, p = np.concatenate([[-1.0, 1.0], x]), np.concatenate([[law.cdf(-1), law.sf(1)], w * law.pdf(x)])
    pair, both = (s[:, None] + s).ravel(), (p[:, None] * p).ravel()
    expected = np.log(
        sum(p_i * (both @ stats.norm.pdf(0.25, (pair + s_i) / 3, 0.02)) for s_i, p_i in zip(s, p, strict=True))
    )
    with jax.enable_x64(True):
        found = jax.jit(lambda t: model.log_likelihood(t, 0.25))(0.3)
    assert float(found) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("scale", [10.0, 1.0, 0.2])
def test_a_mean_much_narrower_than_the_step_under_wide_noise(scale):
    """Rounding moves the mean's centre from .3333 to .3286: seen at frequencies where the noise's transform is back."""
    n, step, theta, spread = 100, 0.1, 1 / 3, 0.298
    channel = cf.Channel(cf.Mean("x", (-10, 10)), cf.Gaussian(scale=scale, step=step), n)
    found = np.round((theta + scale * np.asarray([-2.5, -1.0, 0.0, 2.5])) / step)
    points = np.arange(-20, 21)
    mass = np.diff(stats.norm.cdf((np.append(points, 21) - 0.5) * step, theta, spread / np.sqrt(n)))
    wide = np.arange(-np.ceil(12 * scale / step), np.ceil(12 * scale / step) + 1)
    total = np.exp(-0.5 * (wide * step / scale) ** 2).sum()
    expected = [mass @ np.exp(-0.5 * ((y - points) * step / scale) ** 2) / total for y in found]
    model = cf.Model(cf.populations.normal_mean(spread**2), channel)
    np.testing.assert_allclose(np.exp(model.log_likelihood(theta, step * found)), expected, rtol=1e-9)


@pytest.mark.parametrize("mechanism", [cf.Gaussian(scale=5.0, step=0.25), cf.Laplace(scale=5.0, step=0.25)])
def test_wide_noise_that_comes_back_while_the_mean_has_not_decayed(mechanism):
    """A mean whose spread is a sixth of the step, among values of which most never occur: −3.9148 was said."""
    model = cf.Model(cf.populations.categorical(3), cf.Channel(cf.Mean("x*(x > 1)", (-50, 50)), mechanism, n=400))
    found = model.log_likelihood([0.25, 0.5, 0.25], [0.5, 0.25, 3.0], route="spectral")
    count = np.arange(401)
    points = np.floor(2 * count / 400 / 0.25 + 0.5)
    k = np.arange(-4000, 4001)
    mass = np.exp(-0.5 * (0.25 * k / 5.0) ** 2 if isinstance(mechanism, cf.Gaussian) else -0.25 * np.abs(k) / 5.0)
    at = lambda y: (mass / mass.sum())[(y / 0.25 - points).astype(int) + 4000]  # noqa: E731
    expected = [np.log(stats.binom.pmf(count, 400, 0.25) @ at(y)) for y in (0.5, 0.25, 3.0)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_sum_is_no_longer_than_its_mass():
    """A lattice of twenty million points holds the sum of 20,000 cubes, whose mass lies on a few of them."""
    k = np.arange(11) ** 3
    mass = stats.poisson(2).pmf(np.arange(11)) / stats.poisson(2).cdf(10)
    law = sums._sum(sums.Masses(0.0, 1.0, k, mass, np.empty((0, 11))), 20_000, 0.0)
    assert law.u.size <= 2**19
    mean = mass @ k
    assert law.masses[0].sum() == pytest.approx(1.0, abs=1e-10)
    assert law.masses[0] @ (law.u - mean) == pytest.approx(0.0, abs=1e-8)
    assert law.masses[0] @ (law.u - mean) ** 2 == pytest.approx(mass @ (k - mean) ** 2 / 20_000, rel=1e-8)
