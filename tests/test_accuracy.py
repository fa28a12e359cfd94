"""How accurate a release will be, said before it is made."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.clipping import Clipping, clipped_share, clipping

MEAN = cf.Mean("x", (0, 10))


@pytest.mark.parametrize("mechanism", [cf.Laplace(scale=0.3), cf.Gaussian(scale=0.3)])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.999])
def test_the_margin_is_the_quantile_of_the_noise(mechanism, probability):
    channel = cf.Channel(MEAN, mechanism, n=100)
    law = stats.laplace(scale=0.3) if isinstance(mechanism, cf.Laplace) else stats.norm(scale=0.3)
    assert channel.margin(probability) == pytest.approx(law.ppf((1 + probability) / 2), rel=1e-12)


@pytest.mark.parametrize("kind", [cf.Laplace, cf.Gaussian])
@pytest.mark.parametrize("scale", [0.02, 0.3, 4.0])
def test_on_a_lattice_it_is_the_first_point_that_holds_enough(kind, scale):
    channel = cf.Channel(MEAN, kind(scale=scale, step=0.25), n=100)
    noise = channel.law.noise
    with jax.enable_x64(True):
        index = jnp.arange(-2000.0, 2001.0)
        mass = np.exp(np.asarray(noise.log_mass(index)))
    k = np.arange(2001)
    inside = np.asarray([mass[2000 - j : 2001 + j].sum() for j in k])
    assert noise.within(0.9) == 0.25 * k[np.argmax(inside >= 0.9)]
    assert channel.margin() == noise.within(0.9) + 0.125


@pytest.mark.parametrize(
    ("channel", "rounded"),
    [
        (cf.Channel(cf.Mean(["x < 1", "x >= 1"], (0, 3)), cf.Laplace(scale=0.02, step=0.01), n=100), False),
        (cf.Channel(cf.Mean("x < 1", (0, 3)), cf.Gaussian(scale=0.02, step=0.005), n=100), False),
        (cf.Channel(cf.Mean("x < 1", (0, 3)), cf.Gaussian(scale=0.02, step=0.008), n=100), True),
        (cf.Channel(cf.Histogram("x", edges=[0, 1, 3]), cf.Laplace(scale=2.0, step=1), n=100), False),
        (cf.Channel(cf.Histogram("x", edges=[0, 1, 3]), cf.Laplace(scale=2.0, step=0.4), n=100), True),
    ],
)
def test_counts_are_on_their_lattice_and_are_not_rounded(channel, rounded):
    """Half a step was added to the margin, which no rounding takes."""
    half = channel.law.noise.step / 2
    assert channel.margin() == pytest.approx(channel.law.noise.within(0.9) + half * rounded, rel=1e-12)
    with jax.enable_x64(True):
        records = np.asarray([0.5] * 37 + [2.0] * 63)
        u = np.asarray(channel.summary(records))
        assert np.allclose(channel.law.centre(u), u, rtol=0, atol=1e-12) or rounded


def test_a_channel_says_so_in_the_units_of_the_data():
    text = str(cf.Channel(MEAN, cf.Laplace(cf.PureDP(1.0)), n=100))
    assert "The published number lies within ± 0.23 of that statistic of the clipped records (90%)." in text
    several = str(cf.Channel(cf.Mean(["x", "x**2"], (0, 1)), cf.Gaussian(cf.GDP(1.0)), n=100))
    assert "Each published number lies within" in several
    assert "within" not in str(cf.Channel(MEAN, cf.Noiseless(), n=100))
    assert cf.Channel(cf.Median("x", (0, 1)), cf.Exponential(cf.PureDP(1.0)), n=100).margin() is None


def test_numbers_of_the_size_of_money_have_no_exponent():
    """± 1.2e+02 on a mean cost; of a mean of 12,345 ± 3 the last two digits were not shown."""
    text = str(cf.Channel(cf.Mean("x", (0, 50_000)), cf.Laplace(cf.PureDP(1.0)), n=1000))
    assert "lies within ± 120 of that statistic" in text
    release = cf.Release(cf.Channel(cf.Mean("x", (0, 50_000)), cf.Gaussian(scale=1.0), n=100_000), 12_345.0)
    prior = {"mean": dist.Normal(12_000.0, 1_000.0)}
    told = str(cf.infer(cf.populations.normal_mean(), release, prior, draws=100))
    assert "mean: 12345.0 ± 1, 90% in (12343.4, 12346.6)" in told
    assert "e+" not in str(Clipping(0.5, (0.0, 20_000.0), (12_345.6,), (15_000.0,)))


def test_rows_are_told_how_many_are_clipped():
    """A page about rows did not say; each column has bounds of its own."""
    population = cf.populations.independent(age=cf.populations.normal(), cost=cf.populations.lognormal())
    statistic = cf.Mean(["age", "log(cost)"], bounds={"age": (18, 90), "cost": (10, 50_000)})
    model = cf.Model(population, cf.Channel(statistic, cf.Gaussian(cf.ZCDP(0.5)), 1000))
    found = clipping(model, [50.0, 400.0, 7.0, 1.5])
    age, cost = stats.norm(50, 20), stats.norm(7, 1.5)
    inside = (age.cdf(90) - age.cdf(18)) * (cost.cdf(np.log(50_000)) - cost.cdf(np.log(10)))
    assert found.share == pytest.approx(1 - inside, abs=1e-8)
    assert "8.3% has a value outside of its bounds" in str(found) and "age clipped to [18, 90]" in str(found)


DROWNED = {
    "given scale": cf.Channel(cf.Median("x", (0, 60)), cf.Gaussian(scale=300.0), n=1000),
    "few records": cf.Channel(MEAN, cf.Laplace(cf.PureDP(0.1)), n=20),
    "a maximum by smooth sensitivity": cf.Channel(cf.Maximum("x", (0, 60)), cf.SmoothCauchy(cf.PureDP(1.0)), n=1000),
    "flat exponential": cf.Channel(cf.Median("x", (0, 60)), cf.Exponential(cf.PureDP(0.01)), n=20),
}


@pytest.mark.parametrize("channel", DROWNED.values(), ids=DROWNED)
def test_noise_that_drowns_the_answer_is_warned_of_before_anything_is_spent(channel, tmp_path):
    assert "almost nothing" in channel.warning
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.GDP(0.001))  # not enough for any of them: the warning comes before the budget
    with pytest.warns(cf.NoiseWarning, match="before anything is spent"), pytest.raises(cf.ConfideError):
        cf.release(channel, np.zeros(3), ledger=book, dataset="people")
    assert book.spent("people") is None


#: one record at an end of the range, or at the other, is all that its noise is about
DROWNED_IF_EVEN = {
    "a median": cf.Channel(cf.Median("x", (0, 60)), cf.SmoothCauchy(cf.PureDP(0.05)), n=1000),
    "a far quantile": cf.Channel(cf.Quantile("x", 0.99, (0, 60)), cf.Exponential(cf.PureDP(0.05)), n=100),
}


@pytest.mark.parametrize("channel", DROWNED_IF_EVEN.values(), ids=DROWNED_IF_EVEN)
def test_noise_that_drowns_records_that_lie_evenly_is_warned_of_by_the_plan(channel):
    """Whoever prints the plan reads it; a release says what is certain, wherever its records lie."""
    assert "almost nothing" in channel.warning and "Warning" in str(channel)
    assert channel.certain_warning is None


def test_a_component_that_drowns_in_the_noise_of_another_is_warned_of():
    """One scale serves all components: ± 87 hides an age, and not a cost."""
    bounds = {"age": (0, 100), "cost": (0, 50_000)}
    noise = cf.Gaussian(cf.ZCDP(0.05))
    assert "the mean of age (a range of 100)" in str(cf.Channel(cf.Mean(["age", "cost"], bounds), noise, n=3000))
    even = cf.Mean(["age / 100", "cost / 50000"], bounds)
    assert cf.Channel(even, noise, n=3000).warning is None


def test_equal_records_leave_the_exponential_mechanism_no_room_and_it_says_so():
    """255 ages of 4 among 355: the published median is uniform over the range, by its density."""
    channel = cf.Channel(cf.Median("x", (0, 60)), cf.Exponential(cf.PureDP(0.2)), n=355)
    assert f"{2 * channel.law.window + 1} equal ones leave it anywhere" in str(channel)
    records = np.concatenate([np.zeros(50), np.full(255, 4.0), np.full(50, 9.0)])
    at = np.array([1.0, 6.0, 30.0, 59.0])
    np.testing.assert_allclose(channel.log_prob(at, records), -np.log(60.0), rtol=1e-12)


@pytest.mark.parametrize(
    "channel",
    [
        cf.Channel(MEAN, cf.Laplace(cf.PureDP(1.0)), n=100),
        cf.Channel(cf.Median("x", (0, 60)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), n=1000),
        cf.Channel(cf.Median("x", (0, 60)), cf.Exponential(cf.PureDP(1.0)), n=1000),
        cf.Channel(cf.Each("x", (0, 60)), cf.Laplace(cf.PureDP(0.1)), n=1000),
    ],
)
def test_what_may_say_something_is_not_warned_of(channel):
    assert channel.warning is None


def test_the_least_smooth_noise_is_that_of_equal_records_in_the_middle():
    for statistic, n in (
        (cf.Maximum("x", (0, 60)), 50),
        (cf.Median("x", (0, 60)), 9),
        (cf.Quantile("x", 0.9, (0, 60)), 30),
    ):
        channel = cf.Channel(statistic, cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-3)), n=n)
        with jax.enable_x64(True):
            window = statistic.window(jnp.full(n, 30.0), channel.law.window)
            scale = float(channel.law.scale(window))
        assert channel.law.least_margin(statistic, n) == pytest.approx(scale * math.log(10), rel=1e-12)


def test_what_clipping_does_to_a_population():
    channel = cf.Channel(cf.Mean("x", (0, 20_000)), cf.Laplace(cf.PureDP(1.0)), n=2000)
    found = clipping(cf.Model(cf.populations.lognormal(), channel), [8.5, 1.0])
    law = stats.lognorm(1.0, scale=math.exp(8.5))
    assert found.share == pytest.approx(law.sf(20_000), rel=1e-10)
    assert found.own[0] == pytest.approx(math.exp(9.0), rel=1e-3)
    below = law.expect(lambda x: x, ub=20_000) + 20_000 * law.sf(20_000)
    assert found.clipped[0] == pytest.approx(below, rel=1e-6)
    assert "8.0%" in str(found)


@pytest.mark.parametrize("bounds", [(0, 3), (1, 3), (0.5, 3.5), (-2, 40)])
def test_shares_of_counts_are_strictly_outside(bounds):
    share = clipped_share(cf.populations.poisson(), cf.Mean("x", bounds), 2.0)
    counts = np.arange(200)
    outside = (counts < bounds[0]) | (counts > bounds[1])
    np.testing.assert_allclose(share, stats.poisson.pmf(counts, 2.0)[outside].sum(), rtol=1e-9, atol=1e-14)


def test_a_warning_says_of_which_records_it_is_known():
    """Noise that depends on the records drowns some of them: where it does not, nothing is said of all."""
    far = cf.Channel(cf.Quantile("x", 0.99, (0, 60)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), n=1000)
    assert far.warning.startswith("where the 0.99-quantile is in the middle of its range, the noise (± 81.3, 90%)")
    even = cf.Channel(cf.Median("x", (0, 60)), cf.SmoothCauchy(cf.PureDP(0.05)), n=1000)
    assert even.warning.startswith("if the records lie evenly over their range, from 0 to 60, the noise (± 134, 90%)")
    # of records in equal steps k + 1 of them apart are k + 1 steps; the Cauchy law has its quantile in closed form
    k = np.arange(even.law.window)
    scale = np.max(np.exp(-even.law.beta * k) * np.minimum(0.06 * (k + 1), 60.0)) / even.law.alpha
    assert scale * math.tan(0.45 * math.pi) == pytest.approx(134, rel=0.02)
