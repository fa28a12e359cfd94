"""Tables that were clamped, rounded or partly left out: against sums over all tables, and inside a chain."""

import itertools

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import confide as cf
from confide.likelihood.cells.processed import ProcessedCells
from confide.likelihood.joint import joint_route
from confide.likelihood.noise.between import log_between

THREE = cf.Histogram("x", categories=["a", "b"])
#: what was done, what was published, and between which whole noisy counts each lay
DONE = [
    (cf.Rounded(10), [10.0, 20.0, 0.0], [(5, 14), (15, 24), (-5, 4)]),
    (cf.Clamped(0), [0.0, 5.0, 7.0], [(-np.inf, 0), (5, 5), (7, 7)]),
    (cf.Clamped(0, 9), [9.0, 0.0, 2.0], [(9, np.inf), (-np.inf, 0), (2, 2)]),
    (cf.Suppressed(below=5), [None, 6.0, 12.0], [(-np.inf, 4), (6, 6), (12, 12)]),
]


def enumerated(noise, between, q, n):
    """log of the sum over all counts of n records, with masses of the noise on whole numbers."""
    counts = np.array([np.diff([-1, *bars, n + 2]) - 1 for bars in itertools.combinations(range(n + 2), 2)])
    v = np.arange(-2500, 2501)
    log_mass = -np.abs(v) / noise.scale if noise.norm == 1 else -0.5 * (v / noise.scale) ** 2
    log_mass -= logsumexp(log_mass)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = gammaln(n + 1) + np.where(counts > 0, counts * np.log(q), 0.0).sum(axis=1)
    terms = terms - gammaln(counts + 1).sum(axis=1)
    for j, (low, high) in enumerate(between):
        points = np.arange(max(low, -1200), min(high, 1200) + 1)
        terms += logsumexp(log_mass[(points[None] - counts[:, j, None] + 2500).astype(int)], axis=1)
    return logsumexp(terms)


def route_of(channel, processed):
    return joint_route([cf.Model(cf.populations.categorical(3), channel)], processed=[processed]).routes[0]


@pytest.mark.parametrize("noise", [cf.Laplace, cf.Gaussian])
@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
def test_tables_are_as_enumerated(noise, scale):
    rng = np.random.default_rng(0)
    for n, (processed, value, between) in itertools.product((1, 3, 30), DONE):
        channel = cf.Channel(THREE, noise(scale=scale, step=1), n=n)
        route = route_of(channel, processed)
        assert isinstance(route, ProcessedCells)
        q = rng.dirichlet(np.ones(3), 2)
        q[1] = [0.0, *(q[1, 1:] / q[1, 1:].sum())]
        published = cf.Release(channel, value, processed=processed).observed
        model = cf.Model(cf.populations.categorical(3), channel)
        found, slopes = route.table(model, published).log_p_and_slopes(q)
        expected = [enumerated(channel.mechanism, between, row, n) for row in q]
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
        for j in range(3):
            moved = np.eye(3)[j] * 1e-6
            ends = [enumerated(channel.mechanism, between, q[0] + sign * moved, n) for sign in (1, -1)]
            assert slopes[0, j] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-5)
        # at an empty cell the derivative of p itself; noise so narrow makes p leap at once
        if scale > 1:
            moved = q[1] + [1e-9, 0, 0]
            rise = np.expm1(enumerated(channel.mechanism, between, moved, n) - expected[1]) / 1e-9
            assert slopes[1, 0] == pytest.approx(rise, rel=1e-3, abs=1e-3)


def test_many_records_of_a_normal_family():
    """Two cells, rounded: a binomial count, by sums over it."""
    channel = cf.Channel(cf.Histogram("x", edges=[0.3]), cf.Gaussian(scale=40.0), n=100_000)
    release = cf.Release(channel, [61_800, 38_200], processed=cf.Rounded(100))
    model = cf.Model(cf.populations.normal_mean(), channel)
    counts = np.arange(60_000, 64_000)
    theta = np.linspace(-0.02, 0.02, 5)
    noise, expected = stats.norm(scale=40.0), []
    for each in theta:
        log_w = stats.binom.logpmf(counts, 100_000, stats.norm.cdf(0.3 - each))
        for y, own in ((61_800, counts), (38_200, 100_000 - counts)):
            with np.errstate(divide="ignore"):
                log_w = log_w + np.log(noise.cdf(y + 50 - own) - noise.cdf(y - 50 - own))
        expected.append(logsumexp(log_w))
    route = joint_route([model], processed=[release.processed]).routes[0]
    with jax.enable_x64(True):
        found = route.log_likelihood(model, theta[:, None], release.observed[None])[:, 0]
    # scipy's binomial masses lose digits as n grows
    assert found == pytest.approx(expected, abs=1e-7)


def test_infer_reads_a_rounded_table():
    channel = cf.Channel(cf.Histogram("x", edges=[0.5]), cf.Laplace(scale=2.0, step=1), n=30)
    release = cf.Release(channel, [20.0, 10.0], processed=cf.Rounded(10))
    found = cf.infer(cf.populations.bernoulli(), release, {"probability": dist.Beta(1.0, 1.0)})
    theta, k = (np.arange(4000) + 0.5) / 4000, np.arange(31)
    v = np.arange(-200, 231)
    told = [
        np.exp(-np.abs(v[(v >= y - 5) & (v < y + 5), None] - own) / 2).sum(axis=0) for y, own in ((20, 30 - k), (10, k))
    ]
    p = stats.binom.pmf(k[None], 30, theta[:, None]) @ (told[0] * told[1])
    mean = p @ theta / p.sum()
    assert found.mean["probability"] == pytest.approx(mean, rel=1e-5)
    assert found.sd["probability"] == pytest.approx(np.sqrt(p @ (theta - mean) ** 2 / p.sum()), rel=1e-4)


def test_inside_a_trace_it_is_the_same_in_double_precision():
    channel = cf.Channel(THREE, cf.Laplace(scale=3.0, step=1), n=300)
    model = cf.Model(cf.populations.categorical(3), channel)
    processed = cf.Rounded(10)
    route = route_of(channel, processed)
    value = cf.Release(channel, [90.0, 140.0, 60.0], processed=processed).observed
    thetas = np.random.default_rng(2).dirichlet([30.0, 45.0, 20.0], 4)
    with jax.enable_x64(True):
        known, slopes = route.table(model, value).log_p_and_slopes(np.column_stack([thetas]))
        program = jax.jit(jax.vmap(jax.value_and_grad(lambda theta: route.log_prob(model, theta, value))))
        inside, gradient = program(thetas)
    assert np.asarray(inside) == pytest.approx(known, rel=1e-14)
    # a categorical takes shares for multiples of probabilities, which adds −n to every slope
    assert np.asarray(gradient) == pytest.approx(slopes - 300, rel=1e-9)


@pytest.mark.slow
def test_shares_of_a_rounded_table_by_chains():
    """Against a sum over the simplex, by the enumeration above."""
    channel = cf.Channel(THREE, cf.Laplace(scale=2.0, step=1), n=12)
    release = cf.Release(channel, [10.0, 0.0, 0.0], processed=cf.Rounded(10))
    prior = {"probabilities": dist.Dirichlet(np.ones(3))}
    found = cf.infer(cf.populations.categorical(3), release, prior, method="nuts", key=0)
    m = 24
    grid = np.array([(i + 0.5, j + 0.5) for i in range(m) for j in range(m) if i + j < m - 1]) / m
    q = np.column_stack([grid, 1 - grid.sum(axis=1)])
    p = np.exp([enumerated(channel.mechanism, [(5, 14), (-5, 4), (-5, 4)], row, 12) for row in q])
    assert found.mean["probabilities"] == pytest.approx(p @ q / p.sum(), abs=0.012)


@pytest.mark.parametrize("scale", [0.3, 2.0, 20.0])
@pytest.mark.parametrize("step", [None, 1, 0.5])
@pytest.mark.parametrize("noise", [cf.Laplace, cf.Gaussian])
def test_noise_between_two_ends(noise, step, scale):
    low = np.array([-np.inf, -np.inf, -3, 0, 1, 5, -9, -2, -500])
    high = np.array([-4, 6, 2, 0.5, np.inf, 9, -4, -2, np.inf])
    given = noise(scale=scale, step=step).given_noise
    if step is None:
        law = stats.laplace(scale=scale) if noise is cf.Laplace else stats.norm(scale=scale)
        upper = low + high > 0
        expected = np.where(upper, law.sf(low) - law.sf(high), law.cdf(high) - law.cdf(low))
    else:
        high = np.where(np.isfinite(high), np.floor(high), high)
        v = step * np.arange(-4000, 4001)
        mass = np.exp(-np.abs(v) / scale if noise is cf.Laplace else -0.5 * (v / scale) ** 2)
        expected = np.array([mass[(v >= a) & (v <= b)].sum() for a, b in zip(low, high, strict=True)]) / mass.sum()
    assert np.exp(log_between(given, low, high)) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    # far out, where distribution functions are 0 and 1
    far = log_between(given, 2000.0, 2010.0)
    edge = -2000 / scale if noise is cf.Laplace else -0.5 * (2000 / scale) ** 2
    assert np.isfinite(far) and far == pytest.approx(edge, rel=0.02)
