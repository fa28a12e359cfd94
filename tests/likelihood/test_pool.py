"""Windows of order statistics and the pool of them: against sorted records, exact laws and quadrature; α = 1e-6."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.likelihood.rank.order import Order
from confide.likelihood.rank.pool import Pool, window_model
from confide.likelihood.rank.pool_information import pool_information
from confide.likelihood.rank.running_sums import serves
from confide.likelihood.rank.window import Ranks, outward, outward_tails, simulate_pool
from confide.likelihood.value_law.value import Tails
from tests.likelihood.order_oracles import LEVEL, x64

Z = stats.norm.isf(LEVEL / 2)
NORMAL = cf.populations.normal_variance()


def model(statistic, mechanism, n, population=NORMAL):
    return cf.Model(population, cf.Channel(statistic, mechanism, n))


# ---- windows --------------------------------------------------------------------------------------------------------


def fair(pool):
    """Which windows of a pool to keep, by chance, so that those kept need no weights: (windows,)."""
    weight = np.exp(np.asarray(pool.log_weight)).ravel()
    return np.random.default_rng(0).random(weight.size) * weight.max() < weight


def wrong(windows, n, rank):
    """The least p-value of what is known of uniform order statistics: U_(j) and differences of them are Beta."""
    cap = windows.shape[1] // 2
    ranks = rank + np.arange(-cap, cap + 1)
    u = {r: windows[:, i] for i, r in enumerate(ranks) if 1 <= r <= n}
    checks = [(u[r], stats.beta(r, n - r + 1)) for r in u]
    checks += [(u[b] - u[a], stats.beta(b - a, n - b + a + 1)) for a in u for b in (a + 1, a + 3) if b in u]
    return len(checks) * min(stats.kstest(sample, law.cdf).pvalue for sample, law in checks)


@pytest.mark.parametrize(("n", "rank", "cap"), [(1, 1, 1), (5, 3, 4), (100, 50, 5), (40, 40, 3), (10**6, 10, 4)])
@x64
def test_windows_have_the_law_of_uniform_order_statistics(n, rank, cap):
    pool = simulate_pool(jax.random.key(1), n, rank, cap, 8192)
    assert np.mean(np.exp(pool.log_weight)) == pytest.approx(1.0, abs=1e-3)
    zeta = np.asarray(pool.zeta).reshape(-1, 2 * cap + 1)[fair(pool)]
    exists = (rank + np.arange(-cap, cap + 1) >= 1) & (rank + np.arange(-cap, cap + 1) <= n)
    assert np.all(np.isfinite(zeta) == exists)
    assert np.all(np.diff(zeta[:, exists], axis=1) > 0)
    assert wrong(1 / (1 + np.exp(-zeta)), n, rank) > LEVEL


@x64
def test_a_window_with_spacings_of_the_wrong_rank_is_caught():
    pool = simulate_pool(jax.random.key(1), 40, 20, 5, 8192)
    middle = pool.zeta[..., 5].ravel()[fair(pool)]
    above, below = (jax.random.exponential(jax.random.key(k), (middle.size, 5)) for k in (2, 3))
    for rank, caught in ((20.0, False), (23.0, True)):
        zeta = np.asarray(outward(middle, above, below, Ranks(40.0, rank)))
        assert (wrong(1 / (1 + np.exp(-zeta)), 40, 20) < LEVEL) == caught


@x64
def test_a_window_is_what_sorting_all_records_gives():
    """The smooth sensitivity of a window, which looks at all of it, has the same law as with all records sorted."""
    smooth = model(cf.Median("abs(x)", (-2, 2)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-3)), 31)
    key, theta = jax.random.key(5), jnp.asarray([2.0])
    records = NORMAL.sample(key, theta, (8000, 31))
    sorted_ = smooth.channel.statistic.summary(records, smooth.channel.law.window)
    from confide.likelihood.rank.pool import window_model

    prepared, pool = window_model(smooth), Pool(size=8000).pool(smooth)
    windows = jax.jit(lambda t: prepared.windows(prepared.table(t, pool.low, pool.high), pool.zeta))(theta)
    windows = windows.reshape(-1, sorted_.shape[-1])[fair(pool)]
    scale = smooth.channel.law.scale
    assert stats.ks_2samp(np.asarray(scale(windows)), np.asarray(scale(sorted_))).pvalue > LEVEL
    ends = [np.asarray(part[:, -1] - part[:, 0]) for part in (windows, sorted_)]
    assert stats.ks_2samp(*ends).pvalue > LEVEL


# ---- the likelihood -------------------------------------------------------------------------------------------------

MODELS = {
    "smooth median": (model(cf.Median("abs(x)", (-3, 3)), cf.SmoothLaplace(cf.ApproxDP(2.0, 1e-3)), 21), [2.0]),
    "exponential quantile": (
        model(cf.Quantile("x", 0.8, (-2, 2)), cf.Exponential(cf.PureDP(2.0)), 15, cf.populations.normal()),
        [0.3, 1.2],
    ),
    "smooth Cauchy of counts": (
        model(cf.Median("x", (0, 6)), cf.SmoothCauchy(cf.PureDP(2.0)), 12, cf.populations.poisson()),
        [2.5],
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if "counts" in name else []) for name in MODELS]
)
@x64
def test_the_likelihood_agrees_with_sorted_simulated_records(name):
    smooth, theta = MODELS[name]
    channel, law = smooth.channel, smooth.channel.law
    y = np.asarray([0.1, 0.7, 1.3, 1.9])
    route = Pool(size=8192)
    found, error = (np.asarray(part) for part in route.log_prob_with_error(smooth, jnp.asarray(theta), y))
    records = smooth.population.sample(jax.random.key(11), jnp.asarray(theta), (20_000, channel.n))
    windows = channel.statistic.summary(records, law.window)
    each = np.exp(np.asarray(jax.vmap(lambda value: law.log_prob(value, windows))(jnp.asarray(y))))
    brute, brute_error = each.mean(axis=1), each.std(axis=1) / np.sqrt(each.shape[1])
    assert np.all(np.abs(np.exp(found) - brute) < Z * np.hypot(np.exp(found) * error, brute_error))
    assert np.all(error < 0.03)
    if name == "smooth median":
        again = np.asarray(route.log_likelihood(smooth, np.asarray([theta]), y))[0]
        np.testing.assert_allclose(found, again, rtol=1e-12)


def test_gradients_of_the_likelihood_are_those_of_the_same_pool():
    """Common random numbers: the estimate is a smooth function of θ, and its derivative is that function's own."""
    smooth, h, route = MODELS["smooth median"][0], 1e-4, Pool(size=1024)
    with jax.enable_x64(True):
        at = jax.jit(lambda t: jnp.stack(jax.jvp(lambda s: route.log_prob(smooth, s, 0.9), (t,), (jnp.ones(1),))))
        low, slope, high = (float(at(jnp.asarray([2.0 + shift]))[i]) for shift, i in ((-h, 0), (0.0, 1), (h, 0)))
    assert abs(slope - (high - low) / (2 * h)) < 1e-5


@x64
def test_with_constant_noise_the_pool_is_the_order_route_with_an_error():
    additive = model(cf.Median("abs(x)", (-2, 2)), cf.Laplace(cf.PureDP(6.0)), 25)
    y = np.asarray([-0.3, 0.5, 1.0, 1.8])
    found, error = (np.asarray(part) for part in Pool().log_prob_with_error(additive, jnp.asarray([2.0]), y))
    exact = np.asarray(Order().log_likelihood(additive, np.asarray([[2.0]]), y))[0]
    assert np.all(np.abs(np.exp(found - exact) - 1) < Z * error + 1e-7)
    assert np.all(error < 1e-3)  # the middle is stratified


@pytest.mark.slow
def test_with_constant_noise_the_information_is_that_of_the_order_route():
    additive = model(cf.Median("abs(x)", (-2, 2)), cf.Laplace(cf.PureDP(6.0)), 25)
    pool = cf.information(additive, 2.0, method="pool")
    truth = cf.information(additive, 2.0, method="order").matrix[0, 0]
    assert abs(pool.matrix[0, 0] - truth) < Z * pool.standard_error[0, 0] + 1e-5 * truth
    assert pool.standard_error[0, 0] < 0.01 * truth


# ---- the information ------------------------------------------------------------------------------------------------


def two_records(channel, theta, y, size=100):
    """p(y) for two records, |X| clipped to (0, 2): a sum over pairs of cells, which θ does not move, and the atom."""
    law, high = channel.law, channel.statistic.bounds[1]
    edges = np.linspace(0.0, high, size + 1)
    value = np.append(0.5 * (edges[1:] + edges[:-1]), high)
    half = stats.halfnorm(scale=theta**0.5)
    mass = np.append(np.diff(half.cdf(edges)), half.sf(high))
    i, j = np.triu_indices(size + 1)
    weight = np.where(i == j, 1.0, 2.0) * mass[i] * mass[j]
    # ranks m−K … m+K; those that do not exist hold the ends of the range
    rank, cap = channel.statistic.rank(2), law.window
    columns = [
        {1: value[i], 2: value[j]}.get(r, np.full(i.size, 0.0 if r < 1 else high))
        for r in range(rank - cap, rank + cap + 1)
    ]
    windows = jnp.asarray(np.stack(columns, axis=-1))
    density = jax.jit(jax.vmap(lambda v: jnp.exp(law.log_prob(v, windows)) @ jnp.asarray(weight)))
    return np.concatenate([np.asarray(density(part)) for part in np.array_split(y, 8)])


@pytest.mark.parametrize(
    ("statistic", "mechanism"),
    [
        (cf.Maximum, cf.SmoothLaplace(cf.ApproxDP(4.0, 1e-2))),
        (cf.Minimum, cf.Exponential(cf.PureDP(3.0))),
    ],
)
@x64
def test_information_of_two_records_against_quadrature(statistic, mechanism):
    pair = model(statistic("abs(x)", (-2.0, 2.0)), mechanism, 2)
    # at ends of cells, where the density of the exponential mechanism jumps between them
    y = np.linspace(0.0, 2.0, 101) if isinstance(mechanism, cf.Exponential) else np.linspace(-6.0, 8.0, 351)
    y[0] += 1e-9  # at the end of the range itself lie intervals of no length
    h = 0.01
    low, middle, high = (two_records(pair.channel, theta, y) for theta in (2 - h, 2.0, 2 + h))
    assert abs(np.trapezoid(middle, y) - 1) < 1e-3
    expected = np.trapezoid(((high - low) / (2 * h)) ** 2 / middle, y)
    found = cf.information(pair, 2.0, method="pool")
    assert found.standard_error[0, 0] < 0.05 * expected
    assert abs(found.matrix[0, 0] - expected) < Z * found.standard_error[0, 0] + 2e-3 * expected


@pytest.mark.slow
def test_the_pool_agrees_with_algorithm_2_for_a_smooth_median():
    smooth = model(cf.Median("abs(x)", (-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4)), 20)
    pool = cf.information(smooth, 2.0)
    assert pool.method == "pool"
    brute = cf.information(smooth, 2.0, method="replicates", outer=1000, inner=1000, key=3)
    gap = abs(pool.matrix - brute.matrix)[0, 0]
    assert gap < 4 * np.hypot(pool.standard_error, brute.standard_error)[0, 0]
    assert pool.standard_error[0, 0] < 0.03 * pool.matrix[0, 0]


def test_refusals_name_what_serves():
    def reason(statistic, mechanism, population=NORMAL):
        return Pool().refuses(model(statistic, mechanism, 10, population))

    smooth = cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-3))
    median = cf.Median("abs(x)", (-1, 1))
    assert "spectral" in reason(cf.Mean("x", (-1, 1)), cf.Laplace(scale=1.0))
    assert "order" in reason(median, cf.Laplace(scale=1.0, step=0.5))
    assert "expression" in reason(cf.Median(lambda x: x, (-1, 1), range=(-1, 1)), smooth)
    with pytest.raises(cf.IncompatibleError, match="no derivative in theta, and no information; use SmoothLaplace"):
        cf.information(model(median, cf.Exponential(cf.PureDP(1.0)), 10, cf.populations.uniform_width()), 0.5)
    assert reason(median, smooth, cf.populations.uniform_width()) is None
    outside = model(median, cf.Exponential(cf.PureDP(1.0)), 10)
    with pytest.raises(cf.InvalidArgument, match="outside the range"):
        outside.log_likelihood(2.0, 1.5)
    with pytest.raises(cf.IncompatibleError, match="information"):
        Pool().information(outside, np.asarray([[2.0]]))


def test_values_need_no_score():
    """The exponential mechanism's quantile of 1/x of uniform records on (0, θ): average of its density over data sets."""
    epsilon, n, rank = 1.0, 12, 3
    population = cf.Population(lambda top: dist.Uniform(0.0, top), {"top": dist.constraints.positive})
    channel = cf.Channel(cf.Quantile("1/x", 0.25, (0.25, 4.0)), cf.Exponential(cf.PureDP(epsilon)), n=n)
    cap, y = channel.law.window, np.asarray([0.6, 1.1, 2.5])
    s = np.sort(1 / np.clip(np.random.default_rng(5).uniform(0, 2, (40_000, n)), 0.25, 4.0), axis=1)
    edges = np.pad(s, [(0, 0), (1, 1)], constant_values=(0.25, 4.0))
    below = np.arange(n + 1)
    steps = np.minimum(np.maximum(np.maximum(rank - 1 - below, below - rank), 0), cap)
    weight = np.exp(-0.5 * epsilon * steps)
    each = weight[(s[None] < y[:, None, None]).sum(axis=2)] / (np.diff(edges, axis=1) @ weight)
    found, error = each.mean(axis=1), each.std(axis=1) / 200.0
    ours = np.exp(cf.Model(population, channel).log_likelihood(2.0, y))
    # the library has 8,192 windows or more
    assert np.all(np.abs(ours - found) < 5 * error * np.sqrt(1 + 40_000 / 8192))


@pytest.mark.parametrize("rank", [1, 3, 20, 40])
def test_levels_lead_outwards_as_logits_do(rank):
    generator = np.random.default_rng(rank)
    middle, (above, below) = generator.normal(size=9), generator.exponential(size=(2, 9, 6))
    with jax.enable_x64(True):
        ranks = Ranks(40.0, float(rank))
        up, down = min(6, 40 - rank), min(6, rank - 1)  # ranks that exist
        zeta = outward(jnp.asarray(middle), above, below, ranks)[:, 6 - down : 7 + up]
        tails = Tails(jax.nn.sigmoid(middle), jax.nn.sigmoid(-middle))
        levels = outward_tails(tails, above[:, :up], below[:, :down], ranks)
        np.testing.assert_allclose(levels.below, jax.nn.sigmoid(zeta), rtol=1e-13)
        np.testing.assert_allclose(levels.above, jax.nn.sigmoid(-zeta), rtol=1e-13)


# ---- running sums ---------------------------------------------------------------------------------------------------


def by_hand(law, windows, y, pool):
    """Weighted batch means of the exponential mechanism's density, window by window: (Y, batches)."""
    cap = windows.shape[-1] // 2
    index = np.arange(2 * cap + 2)
    height = np.exp(-law.rate * np.maximum(cap - index, index - cap - 1))
    found = np.empty((y.size, *windows.shape[:2]))
    for place in np.ndindex(*windows.shape[:2]):
        edges = np.concatenate([[law.low], windows[place], [law.high]])
        inner = np.searchsorted(windows[place], y, side="left")
        inner = np.where(y == law.low, np.searchsorted(windows[place], law.low, side="right"), inner)
        found[(slice(None), *place)] = height[inner] / np.sum(height * np.diff(edges))
    return np.mean(found * np.exp(np.asarray(pool.log_weight)), axis=-1)


@pytest.mark.parametrize(
    ("statistic", "n", "population"),
    [
        pytest.param(cf.Median("x", (-1, 1)), 21, cf.populations.normal_mean(), marks=pytest.mark.slow),
        pytest.param(cf.Maximum("abs(x)", (-1, 1)), 12, cf.populations.normal_mean(), marks=pytest.mark.slow),
        (cf.Median("x", (0, 4)), 30, cf.populations.poisson()),
    ],
)
@x64
def test_running_sums_are_means_over_windows(statistic, n, population):
    """At values among them, at both ends of the range and at ties, with records clipped and with whole numbers."""
    asked = model(statistic, cf.Exponential(cf.PureDP(1.0)), n, population)
    law, route = asked.channel.law, Pool(size=512)
    thetas = np.asarray([[0.4], [1.3]])
    y = np.sort(np.concatenate([np.linspace(law.low, law.high, 23), [0.25, 0.5]]))
    prepared, pool = window_model(asked), route.pool(asked)
    assert serves(law)
    found = route.by_batch(asked, thetas, y)
    for row, theta in enumerate(thetas):
        windows = np.asarray(prepared.windows(prepared.table(jnp.asarray(theta), pool.low, pool.high), pool.zeta))
        np.testing.assert_allclose(found[row], np.log(by_hand(law, windows, y, pool)), atol=1e-9)


@pytest.mark.slow
@x64
def test_steep_mechanisms_keep_the_digits_of_their_least_density():
    asked = model(cf.Median("x", (-1, 1)), cf.Exponential(cf.PureDP(60.0), cap=4), 21, cf.populations.normal_mean())
    route = Pool(size=512)
    prepared, pool = window_model(asked), route.pool(asked)
    theta, y = np.asarray([0.4]), np.asarray([-0.99, 0.3, 0.99])
    windows = np.asarray(prepared.windows(prepared.table(jnp.asarray(theta), pool.low, pool.high), pool.zeta))
    found = route.by_batch(asked, theta[None], y)[0]
    np.testing.assert_allclose(found, np.log(by_hand(asked.channel.law, windows, y, pool)), atol=1e-9)


@x64
def test_information_by_running_sums_is_that_by_windows():
    asked = model(cf.Median("x", (-1, 1)), cf.Exponential(cf.PureDP(1.0)), 21, cf.populations.normal_mean())
    route = Pool(size=1024)
    found = route.information_with_error(asked, np.asarray([[0.2], [0.9]]))
    for row, theta in enumerate(([0.2], [0.9])):
        alone = pool_information(window_model(asked), jnp.asarray(theta), route.pool(asked))
        for part, expected in zip(found, alone, strict=True):
            np.testing.assert_allclose(part[row], expected, rtol=1e-9)


def test_ranks_that_tell_nothing():
    """ε·K = 10⁻⁹: whatever the records are the point is uniform, and n = 2⁵³ or a cap of 1000 costs nothing."""
    channel = cf.Channel(cf.Median("x", (0, 10)), cf.Exponential(cf.PureDP(1e-12), cap=1000), n=2**53)
    model = cf.Model(cf.populations.normal_mean(), channel)
    np.testing.assert_allclose(model.log_likelihood([0.0, 3.0], [0.0, 3.3, 10.0]), -np.log(10.0), atol=1e-9)
    prior = {model.population.names[0]: dist.Normal(1.0, 2.0)}
    posterior = cf.infer(model.population, cf.Release(channel, 3.3), prior, key=0, draws=50)
    np.testing.assert_allclose([float(posterior.mean), float(posterior.sd)], [1.0, 2.0], rtol=1e-6)


def test_records_at_one_atom_are_no_estimate():
    """All are clipped to 1, so that u = 1 and S = e^{−Kβ} but for a chance of 1e-90: the density is that of one Cauchy law."""
    channel = cf.Channel(cf.Minimum("min(x, 2)", bounds=(1.0, 2.0)), cf.SmoothCauchy(cf.PureDP(1.0)), n=100)
    law = channel.law
    scale, far = np.exp(-law.window * law.beta) / law.alpha, np.asarray([-3e-4, 0.0, 1.4e-4])
    exact = np.log(scale / (np.pi * (scale**2 + far**2)))
    one = model(channel.statistic, channel.mechanism, 100)
    for route in (Pool(), Pool().for_a_posterior(), Pool().for_a_look()):
        assert np.asarray(one.log_likelihood(0.05, 1.0 + far, route=route)) == pytest.approx(exact, abs=1e-12)
