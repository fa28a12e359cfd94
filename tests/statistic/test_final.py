"""What is known of a class is not taken for true of a subclass, and statistics of a user's own are asked."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.mechanism import AdditiveLaw, ExponentialLaw, GaussianNoise, LaplaceNoise, Noise, ResponseLaw
from confide.statistic import OrderStatistic


@pytest.mark.parametrize(
    "known",
    [
        *(cf.Mean, cf.Each, cf.Median, cf.Maximum, cf.Minimum, cf.Quantile),
        *(AdditiveLaw, LaplaceNoise, GaussianNoise, ResponseLaw, ExponentialLaw),
    ],
)
def test_what_a_route_recognises_by_its_class_has_no_subclasses(known):
    with pytest.raises(cf.IncompatibleError, match="cannot be derived from"):
        type("Mine", (known,), {})


def test_an_order_statistic_of_ones_own_has_a_rank_and_nothing_else():
    class Third(OrderStatistic):
        def rank(self, n):
            return 3

    assert str(Third("x", (0, 1))).startswith("the third of x")
    with pytest.raises(cf.IncompatibleError, match="changes summary"):

        class Trimmed(OrderStatistic):
            def summary(self, records, window=0):
                return self.values(records)[..., 0]


class TrimmedMean(cf.Statistic):
    """The mean without the largest and the smallest value."""

    def summary(self, records, window=0):
        """Ordered, and without the ends."""
        del window
        return jnp.mean(jnp.sort(self.values(records), axis=-1)[..., 1:-1], axis=-1)

    def sensitivity(self, n, norm=1):
        """One record moves one of the n − 2 values."""
        del norm
        return (self.range[1] - self.range[0]) / (n - 2)


def test_a_statistic_of_ones_own_needs_a_summary_and_a_sensitivity_only():
    channel = cf.Channel(TrimmedMean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
    assert str(channel).startswith("Publish the trimmed mean of x with x clipped to [0, 1] over 4 records")
    assert channel.law.noise.scale == 0.5
    with pytest.raises(cf.InvalidArgument, match="bounds"):
        TrimmedMean("x", "y")
    with pytest.raises(cf.IncompatibleError, match="is not one of Mean"):
        cf.release(channel, [0.1, 0.2, 0.3, 0.4])


def test_the_posterior_of_a_trimmed_mean_is_its_own():
    """Four bits, of which the ends are dropped: enumerated."""
    channel = cf.Channel(TrimmedMean("x", (0, 1)), cf.Gaussian(scale=0.2), n=4)
    release, prior = cf.Release(channel, 0.9), {"probability": dist.Beta(2.0, 2.0)}
    with pytest.raises(cf.IncompatibleError, match=r"statistic of your own.*mhaar.*replicates.*route of your own"):
        cf.Model(cf.populations.bernoulli(), channel).log_likelihood(0.5, 0.9)
    found = cf.infer(cf.populations.bernoulli(), release, prior, key=3, draws=500, warmup=300, copies=20)
    p = np.linspace(0.0005, 0.9995, 2000)
    ones = np.arange(5)
    count = np.asarray([1.0, 4.0, 6.0, 4.0, 1.0])[:, None] * p ** ones[:, None] * (1 - p) ** (4 - ones[:, None])
    trimmed = np.clip(ones - 1, 0, 2) / 2
    weight = (count * np.exp(-0.5 * ((0.9 - trimmed) / 0.2) ** 2)[:, None]).sum(axis=0) * p * (1 - p)
    mean = weight @ p / weight.sum()
    sd = np.sqrt(weight @ (p - mean) ** 2 / weight.sum())
    assert abs(found.mean["probability"] - mean) < 4.9 * sd / np.sqrt(found.diagnostics.ess["probability"])


def test_noise_that_no_route_knows_is_not_taken_for_gaussian():
    class Logistic(Noise):
        kind = "Logistic"

        def sample(self, key, shape=()):
            return self.scale * jax.random.logistic(key, shape)

        def log_prob(self, v):
            return jax.scipy.stats.logistic.logpdf(v, 0.0, self.scale)

        def cdf(self, v):
            return jax.nn.sigmoid(v / self.scale)

        def within(self, probability=0.9):
            return 2 * self.scale * float(jnp.arctanh(probability))

        @property
        def variance(self):
            return (jnp.pi * self.scale) ** 2 / 3

        def log_characteristic(self, t):
            return jnp.log(jnp.pi * self.scale * t / jnp.sinh(jnp.pi * self.scale * t))

    with pytest.raises(cf.IncompatibleError, match="derive a law of your own from Law"):
        AdditiveLaw(Logistic(1.0))


class Trimmed(cf.Statistic):
    """A statistic of a user's own, with a number of its own."""

    def __init__(self, expression, bounds, fraction):
        object.__setattr__(self, "fraction", fraction)
        super().__init__(expression, bounds)

    def summary(self, records, window=0):
        return self.values(records).mean(axis=-1) * (1 - self.fraction)

    def sensitivity(self, n, norm=1):
        return 1.0


def test_what_a_user_stores_in_a_statistic_tells_it_from_others():
    """Caches and compiled functions are found by it: one trimmed mean was taken for another."""
    one, other = Trimmed("x", (0, 1), 0.1), Trimmed("x", (0, 1), 0.2)
    assert one != other and one == Trimmed("x", (0, 1), 0.1) and hash(one) == hash(Trimmed("x", (0, 1), 0.1))
    assert cf.Quantile("x", 0.2, (0, 1)) != cf.Quantile("x", 0.3, (0, 1)) == cf.Quantile("x", 0.3, (0, 1))
    with pytest.raises(cf.InvalidArgument, match="fraction"):
        hash(Trimmed("x", (0, 1), [0.1]))


@pytest.mark.parametrize("own", [{"averages": True}, {"__annotations__": {"ranked": int}}], ids=["set", "annotated"])
def test_no_statistic_from_elsewhere_claims_what_exact_laws_are_chosen_by(own):
    """A trimmed mean that says it averages, or counts something by that name, would have the law of a mean."""
    with pytest.raises(cf.IncompatibleError, match="by which Confide chooses an exact law"):
        type("Trimmed", (cf.Statistic,), {**own, "__module__": "survey"})


def test_no_law_from_elsewhere_claims_what_exact_laws_are_chosen_by():
    with pytest.raises(cf.IncompatibleError, match="added"):
        type("Logistic", (cf.Law,), {"added": LaplaceNoise(1.0), "__module__": "survey"})
