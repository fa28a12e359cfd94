"""Where chains start: near the mass however far into the prior it lies, apart, and not where nothing is possible."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide._random import fused_key
from confide.inference.kernel import Averaged, Kernel, Marginal
from confide.inference.quadrature import levels, line
from confide.inference.quadrature.table import through
from confide.inference.sampling import start
from confide.inference.target import EachTarget
from confide.inference.target.tabulated import TabulatedTarget
from confide.inference.target.window import WindowTarget
from confide.prior import Prior

CHAINS = 64
#: the sd of the posterior, nearly: that of the median, √¼n / f(median), times dθ/d median
SPREAD = 2 * 2.0 / 0.954 * 0.5e-3 / (2 * 0.2247)


@pytest.fixture(scope="module")
def target():
    """A million records: the mass is a ten-thousandth of the prior, around 2."""
    population = cf.populations.normal_variance()
    channel = cf.Channel(cf.Median("abs(x)", bounds=(-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4)), n=10**6)
    with jax.enable_x64(True):
        prior = Prior.of(population, {"variance": dist.Uniform(0.01, 60.0)})
        found = WindowTarget.of(prior, cf.Model(population, channel), jnp.asarray(0.954), True)
    assert found.anchor is not None
    return found


def thetas(target, key=0):
    with jax.enable_x64(True):
        return np.asarray(start.starts(Averaged(2), target, jax.random.key(key), CHAINS)[1].theta)[:, 0]


def test_starts_are_near_the_mass_and_apart(target):
    found = thetas(target)
    assert np.unique(found).size == CHAINS
    # chosen by a power of the weight, they are wider spread than the posterior, and not by much
    assert np.all(np.abs(found - 2.0) < 10 * SPREAD)
    assert 0.5 * SPREAD < found.std() < 4 * SPREAD


def test_planted_draws_from_the_prior_have_no_offspring(target, monkeypatch):
    monkeypatch.setattr(start, "_GENERATIONS", 1)
    found = thetas(target)
    assert np.unique(found).size < CHAINS or np.any(np.abs(found - 2.0) > 10 * SPREAD)


def test_a_value_that_no_theta_can_have_published(target):
    with jax.enable_x64(True):
        impossible = eqx.tree_at(lambda each: each.value, target, jnp.asarray(np.inf))
    with pytest.raises(cf.InvalidArgument, match=r"density zero at all of 256 draws from the prior.* do not fit"):
        thetas(impossible)


@pytest.mark.parametrize(
    ("given", "law"),
    [
        (dist.InverseGamma(2.0, 3.0), stats.invgamma(2.0, scale=3.0)),
        (dist.Gamma(0.7, 2.0), stats.gamma(0.7, scale=0.5)),
        (dist.Chi2(3.0), stats.chi2(3.0)),
        (dist.LogNormal(0.3, 0.8), stats.lognorm(0.8, scale=np.exp(0.3))),
    ],
    ids=["inverse gamma", "gamma", "chi-squared", "log-normal"],
)
def test_probes_are_draws_from_the_prior(given, law):
    probes = np.asarray(Prior.of(cf.populations.normal_variance(), given).probes)[:, 0]
    assert stats.kstest(probes, law.cdf).pvalue > 1e-6
    assert stats.kstest(probes * 1.3, law.cdf).pvalue < 1e-6


def test_probes_of_shares_and_of_a_simplex():
    shares = np.asarray(Prior.of(cf.populations.bernoulli(), dist.Beta(2.0, 5.0)).probes)[:, 0]
    assert stats.kstest(shares, stats.beta(2.0, 5.0).cdf).pvalue > 1e-6
    simplex = Prior.of(cf.populations.categorical(3), dist.Dirichlet(jnp.asarray([1.0, 2.0, 3.0])))
    first = np.asarray(simplex.probes)[:, 0]
    assert stats.kstest(first, stats.beta(1.0, 5.0).cdf).pvalue > 1e-6


def test_a_guided_search_finds_the_cells_of_a_bisection():
    generator = np.random.default_rng(0)
    for weight in (generator.random(500), np.exp(-(np.linspace(-30, 30, 500) ** 2)), np.eye(500)[250]):
        cumulative = np.concatenate([[0.0], np.cumsum(weight)])
        cumulative /= cumulative[-1]
        level = np.concatenate([generator.random(5000), cumulative[:-1], [0.0]])
        level = level[level < 1.0]
        expected = np.clip(np.searchsorted(cumulative, level, side="right") - 1, 0, cumulative.size - 2)
        np.testing.assert_array_equal(levels._cell(cumulative, level), expected)


def test_a_line_goes_on_as_it_ends():
    relative = -np.abs(np.linspace(-1.0, 3.0, 41)) * 10.0  # negligible at ±3
    low, high = line._missing(relative, 30.0)
    assert 0.5 <= low <= 0.65
    assert high == 0.0


@pytest.fixture(scope="module")
def locally():
    """A noisy value for each of 3,000 records of variance 2."""
    population = cf.populations.normal_variance()
    channel = cf.Channel(cf.Each("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=3000)
    model = cf.Model(population, channel)
    values = np.asarray(model.simulate(0, 2.0))
    with jax.enable_x64(True):
        prior = Prior.of(population, {"variance": dist.Uniform(0.01, 60.0)})
        return EachTarget(prior, model, jnp.asarray(values))


def test_starts_of_many_records_are_near_the_mass(locally):
    # the posterior's sd is 0.15, and an estimate from 16 latents of each record is a little off
    assert np.all(np.abs(thetas(locally) - 2.0) < 1.0)


def test_planted_starts_by_the_weight_of_the_chosen_latents(locally, monkeypatch):
    """Of 16 latents one fits well where θ is large: how few do is forgotten."""
    monkeypatch.setattr(Averaged, "start", Kernel.start)
    jax.clear_caches()
    try:
        assert np.any(np.abs(thetas(locally) - 2.0) > 1.0)
    finally:
        jax.clear_caches()


def test_a_start_that_no_latent_allows_is_kept_as_it_was_found():
    usable = np.array([True, False, False, True, False, True, False])
    np.testing.assert_array_equal(start._first_usable(usable, 3), [0, -1, 5])


@pytest.mark.parametrize("kernel", [Averaged(2), Marginal()], ids=["a window is latent", "nothing is latent"])
def test_starts_side_by_side_are_those_one_after_the_other(target, kernel):
    """Side by side is for a GPU: all at once, or in batches where there is something to cut."""
    with jax.enable_x64(True):
        if isinstance(kernel, Marginal):
            value = np.linspace(0.0, 1.0, 9)
            target = TabulatedTarget(target.prior, through(np.linspace(-8.0, 8.0, 9), value))
        free = np.linspace(-3.0, -1.0, 6)[:, None]
        ways = (1, 6) if isinstance(kernel, Marginal) else (1, 4, 6)
        found = [start._states_at(kernel, target, fused_key(jax.random.key(0)), free, 1, together) for together in ways]
    for other in found[1:]:
        for one, two in zip(jax.tree.leaves(found[0]), jax.tree.leaves(other), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9)


def test_windows_of_a_widely_noised_maximum_move_with_the_parameter():
    """One record can move a maximum far, so that noise is wide; anchored, its autocorrelation time was 37."""
    channel = cf.Channel(
        cf.Maximum("abs(x)", bounds=(-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4), cap=8), n=10**4
    )
    found = cf.infer(
        cf.populations.normal_variance(), cf.Release(channel, 5.8), {"variance": dist.Uniform(0.01, 60.0)},
        method=cf.MHAAR(copies=2), key=1, chains=64, warmup=200, draws=300,
    )  # fmt: skip
    assert found.diagnostics.iac["variance"] < 12
