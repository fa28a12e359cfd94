"""Noisy counts: the contour integral against enumeration and exact integers, its derivatives, and what is built on it."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.likelihood.cells.probabilities import cell_law
from confide.likelihood.cells.sums import Counted
from confide.likelihood.cells.traced import log_p
from tests.likelihood.cells_oracle import by_enumeration, by_programme, count_noise

KINDS = ("laplace", "gaussian")


def tables(rng, cells, n, scale, step):
    """Probabilities and published numbers: plausible ones, a cell without records, and numbers that no counts explain."""
    for trial in range(4):
        q = rng.dirichlet(np.full(cells, 0.3 if trial % 2 else 3.0))
        if trial == 3:
            q[0] = 0.0
            q /= q.sum()
        y = rng.multinomial(n, q) + rng.laplace(size=cells) * scale * (20 if trial == 2 else 1)
        yield q, y if step is None else step * np.round(y / step)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [None, 1.0, 0.5])
def test_three_cells_are_as_enumerated(kind, step):
    rng = np.random.default_rng(0)
    for scale, n in itertools.product((0.3, 1.0, 5.0, 50.0), (1, 2, 3, 10, 30)):
        noise = count_noise(kind, scale, step)
        for q, y in tables(rng, 3, n, scale, step):
            expected = by_enumeration(noise, y, q, n)
            found = Counted(y, noise, n).log_p(q[None])[0]
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-11), (scale, n, q, y)


def programmes(kind, step, scale):
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.full(12, 2.0))
    y = rng.multinomial(1000, q) + 1.3 * scale * rng.normal(size=12)
    y = y if step is None else np.round(y)
    noise = count_noise(kind, scale, step)
    assert Counted(y, noise, 1000).log_p(q[None])[0] == pytest.approx(by_programme(noise, y, q, 1000), abs=1e-10)


def test_twelve_cells_of_a_thousand_records_are_as_in_exact_integers():
    programmes("laplace", 1.0, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [None, 1.0])
@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0, 50.0])
def test_twelve_cells_of_any_noise_are_as_in_exact_integers(kind, step, scale):
    programmes(kind, step, scale)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10**4, 10**6])
def test_many_records_are_a_normal_law(kind, n):
    """Two cells far from the ends, noise wide: the multinomial is binomial, and summed as such."""
    q, scale = np.array([0.3, 0.7]), 5.0
    y = np.round(n * q) + np.array([3.0, 8.0])
    noise = count_noise(kind, scale, 1.0)
    counts = np.arange(max(0, round(0.3 * n) - 3000), min(n, round(0.3 * n) + 3000) + 1)
    each = stats.binom.logpmf(counts, n, 0.3) + noise.log_g(np, y[0], counts) + noise.log_g(np, y[1], n - counts)
    found = Counted(y, noise, n).log_p(q[None])[0]
    # scipy's own masses lose digits as n grows
    assert found == pytest.approx(np.logaddexp.reduce(each), abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [None, 1.0])
def test_derivatives_in_the_probabilities(kind, step):
    rng = np.random.default_rng(1)
    for scale, n in ((0.3, 3), (1.0, 20), (20.0, 12)):
        noise = count_noise(kind, scale, step)
        for q, y in tables(rng, 3, n, scale, step):
            slopes = Counted(y, noise, n).log_p_and_slopes(q[None])[1][0]
            value = by_enumeration(noise, y, q, n)
            for j in range(3):
                moved = np.eye(3)[j] * max(1e-5 * q[j], 1e-9)
                if q[j] == 0:  # one-sided: the derivative of p itself
                    expected = np.expm1(by_enumeration(noise, y, q + moved, n) - value) / moved[j]
                    assert slopes[j] == pytest.approx(expected, rel=1e-4, abs=1e-4)
                elif q[j] > 1e-3:
                    ends = [by_enumeration(noise, y, q + sign * moved, n) for sign in (1, -1)]
                    expected = (ends[0] - ends[1]) / (2 * moved[j])
                    assert slopes[j] == pytest.approx(expected, rel=1e-6, abs=1e-5 * max(1, abs(value)))


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_trace_is_the_same(kind):
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        for n, step in ((3, None), (10_000, 1.0)):
            program = jax.jit(jax.value_and_grad(lambda q, y, numbers, n=n: log_p(q, y, numbers, kind == "laplace", n)))
            for scale in (0.3, 20.0):
                noise = count_noise(kind, scale, step)
                for q, y in tables(rng, 5, n, scale, step):
                    known, slopes = Counted(y, noise, n).log_p_and_slopes(q[None])
                    value, gradient = program(jnp.asarray(q), jnp.asarray(y), (scale, noise.peak))
                    assert float(value) == pytest.approx(known[0], rel=1e-10)
                    assert np.asarray(gradient) == pytest.approx(slopes[0], rel=1e-8, abs=1e-8)


def test_tables_of_their_own_are_the_same():
    rng = np.random.default_rng(3)
    noise, q = count_noise("laplace", 4.0, 1.0), np.array([0.2, 0.5, 0.3])
    y = np.round(rng.multinomial(50, q, 20) + rng.laplace(size=(20, 3)) * 4)
    each = [Counted(row, noise, 50).log_p(q[None])[0] for row in y]
    assert Counted(y, noise, 50).log_p(np.tile(q, (20, 1))) == pytest.approx(each, abs=1e-11)


def test_cells_of_a_parametric_family():
    law = cell_law(cf.populations.normal(), cf.Histogram("x", edges=[-1.0, 0.0, 2.0]))
    ends = stats.norm.cdf([-1, 0, 2], 0.3, 2.0)
    with jax.enable_x64(True):
        assert law.at([[0.3, 4.0]])[0] == pytest.approx(np.diff([0, *ends, 1]), abs=1e-14)
    whole = cell_law(cf.populations.poisson(), cf.Histogram("x", edges=[0, 1, 2.5, 4]))
    masses = stats.poisson.pmf(np.arange(60), 2.0)
    with jax.enable_x64(True):
        found = whole.at([[2.0]])[0]
    assert found == pytest.approx([0, masses[0], masses[1:3].sum(), masses[3], masses[4:].sum()], abs=1e-14)


def test_categories_and_tables_of_independent_columns():
    sex = cf.Histogram("sex", categories=["f", "m"])
    with jax.enable_x64(True):
        assert cell_law(cf.populations.categorical(2), sex).at([[0.4, 0.6]])[0] == pytest.approx([0.4, 0.6, 0.0])
        both = cf.Histogram(["sex", "age"], categories={"sex": ["f", "m"]}, edges={"age": [40]})
        rows = cf.populations.independent(sex=cf.populations.categorical(3), age=cf.populations.normal_mean())
        q = cell_law(rows, both).at([[0.5, 0.3, 0.2, 40.0]])[0]
    assert q == pytest.approx(np.outer([0.5, 0.3, 0.2], [0.5, 0.5]).ravel())


def test_the_information_is_the_covariance_of_scores():
    """Two cells of three records: all published tables, one by one."""
    channel = cf.Channel(cf.Histogram("x", edges=[0.0]), cf.Laplace(scale=0.7, step=1), n=3)
    model, grid = cf.Model(cf.populations.normal_mean(), channel), np.arange(-30.0, 34.0)
    y = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    noise, q = count_noise("laplace", 0.7, 1.0), stats.norm.cdf([-0.4, 0.4])
    log_mass, slopes = Counted(y, noise, 3).log_p_and_slopes(np.tile(q, (len(y), 1)))
    expected = np.sum(np.exp(log_mass) * (slopes @ [-stats.norm.pdf(0.4), stats.norm.pdf(0.4)]) ** 2)
    assert np.exp(log_mass).sum() == pytest.approx(1.0, abs=1e-12)
    found = cf.information(model, 0.4)
    assert abs(found.matrix[0, 0] - expected) < 5 * found.standard_error[0, 0]


def test_a_posterior_of_a_share_is_that_of_the_share_route():
    """A histogram of one edge says y and n − y with two noises; with one cell's noise huge it is a share."""
    population = cf.populations.bernoulli()
    share = cf.Model(population, cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Gaussian(scale=3 / (40 * 2**0.5)), n=40))
    both = cf.Model(population, cf.Channel(cf.Histogram("x", edges=[0.5]), cf.Gaussian(scale=3.0), n=40))
    theta = np.array([[0.1], [0.3], [0.6]])
    y = np.array([29.0, 14.0])  # y₁ − (40 − y₀) is noise alone: the mean of both is a share with noise 3/√2
    mean = (y[1] + 40 - y[0]) / 2
    apart = both.log_likelihood(theta, y) - share.log_likelihood(theta, mean / 40)
    assert np.ptp(apart) < 1e-9


@pytest.mark.parametrize("mechanism", [cf.Noiseless(), cf.SmoothCauchy])
def test_what_has_no_noise_on_counts_is_refused(mechanism):
    counts = cf.Histogram("x", edges=[0.0])
    with pytest.raises(cf.IncompatibleError):
        made = mechanism if isinstance(mechanism, cf.Noiseless) else mechanism(cf.PureDP(1.0))
        cf.Model(cf.populations.normal_mean(), cf.Channel(counts, made, n=5)).log_likelihood(0.0, [2.0, 3.0])


def test_a_histogram_is_compared_with_a_mean_and_a_median():
    privacy, population = cf.PureDP(1.0), cf.populations.normal_mean()
    counts = cf.Channel(cf.Histogram("x", edges=[-1, 0, 1]), cf.Laplace(privacy, step=1), n=1000)
    mean = cf.Channel(cf.Mean("x", bounds=(-2, 2)), cf.Laplace(privacy), n=1000)
    median = cf.Channel(cf.Median("x", bounds=(-2, 2)), cf.Laplace(privacy), n=1000)
    models = {"counts": counts, "mean": mean, "median": median}
    found = cf.compare({name: cf.Model(population, each) for name, each in models.items()}, theta=[0.0])
    assert found.best == "mean"
    assert len(found.table) == 3


@pytest.mark.parametrize(("rho", "of_clip", "of_cells"), [(0.005, 0.52, 0.36), (0.05, 0.86, 0.81), (0.5, 0.97, 0.93)])
def test_what_eight_cells_cost_beside_the_best_clip(rho, of_clip, of_cells):
    """The table of the documentation: both are nearly normal, whose informations are in closed form."""
    n, population = 1000, cf.populations.normal_mean()
    edges, clips = stats.norm.ppf(np.arange(1, 8) / 8), np.linspace(0.3, 4.0, 149)
    z = np.linspace(-9, 9, 20_001)
    mass = stats.norm.pdf(z) * (z[1] - z[0])
    clipped = np.clip(z[None], -clips[:, None], clips[:, None])
    variance = clipped**2 @ mass - (clipped @ mass) ** 2
    best = (2 * stats.norm.cdf(clips) - 1) ** 2 / (variance + (2 * clips) ** 2 / n / (2 * rho))
    assert best.max() == pytest.approx(of_clip, abs=0.006)
    q = np.full(8, 1 / 8)
    slopes = -np.diff([0.0, *stats.norm.pdf(edges), 0.0])
    covariance = n * (np.diag(q) - np.outer(q, q)) + np.eye(8) / rho
    known = n * slopes @ np.linalg.solve(covariance, slopes)
    assert known == pytest.approx(of_cells, abs=0.006)
    noise = cf.Gaussian(cf.ZCDP(rho))
    found = cf.information(cf.Model(population, cf.Channel(cf.Histogram("x", edges=edges), noise, n=n)), 0.0)
    assert found.matrix[0, 0] / n == pytest.approx(known, rel=0.01)
