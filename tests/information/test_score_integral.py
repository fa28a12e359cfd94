"""The one integral of all exact routes: what it sums, what it refuses, and that few values need no slow inversion."""

import jax
import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.likelihood.mean import spectral_information as spectral
from confide.likelihood.score_integral import Told, certain, information, integrals
from tests.audit import oracle
from tests.audit.means import Noise
from tests.audit.populations import FAMILIES
from tests.audit.questions import Question
from tests.audit.statistics import FORMULAS


def test_parts_of_a_rule_add_up():
    """A normal variable's location and scale: 1 and 2, in one part or in three, and nodes without mass tell nothing."""
    y = np.linspace(-12, 12, 4001)
    mass = stats.norm.pdf(y) * (y[1] - y[0])
    score = np.stack([y, y**2 - 1], axis=1)
    score[0] = np.nan
    mass[0] = 0.0
    parts = [Told(mass[some], score[some]) for some in (slice(0, 7), slice(7, 2000), slice(2000, None))]
    for told in (parts, [Told(mass[:, None], score[:, None])]):
        matrix, total, mean, largest = integrals(told)
        np.testing.assert_allclose(mean, 0, atol=1e-10)
        np.testing.assert_allclose(largest, [12, 143], rtol=0.01)
        np.testing.assert_allclose(matrix, [[1, 0], [0, 2]], atol=1e-12)
        assert total == pytest.approx(1.0, abs=1e-12)
    assert not np.any(integrals(certain(2)).matrix)


def test_slopes_beside_the_smallest_numbers_are_scores():
    told = Told.by_slopes(np.ones(3), np.asarray([1e-300, 0.5, 0.0]), np.asarray([[3e-300], [-1.0], [0.0]]))
    np.testing.assert_allclose(told.score[:, 0], [3.0, -2.0, 0.0])


CHANNEL = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
MODEL = cf.Model(cf.populations.normal_variance(), CHANNEL)


def test_a_rule_that_has_lost_a_part_of_p_is_refused():
    with pytest.raises(cf.AccuracyError, match=r"integrates to 0\.99"):
        information(MODEL, [[Told(np.full(10, 0.099), np.zeros((10, 1)))]])


def test_a_score_whose_mean_is_not_zero_is_refused():
    """All scores above the mean of y in the place of what belongs there, as where a part of the slope was forgotten."""
    y = np.linspace(-12, 12, 4001)
    mass = stats.norm.pdf(y) * (y[1] - y[0])
    with pytest.raises(cf.AccuracyError, match="and not 0"):
        information(MODEL, [[Told(mass, np.where(y > 0, 0.5, y)[:, None])]])
    # what is nothing but rounding is no reason
    rounding = np.where(np.arange(y.size) % 2, 1e-14, -1e-14 + 1e-24)
    assert information(MODEL, [[Told(mass, rounding[:, None])]]).item() < 1e-20


def test_a_route_may_say_what_a_value_tells_and_leave_the_integral():
    """A share of 30 bits with Gaussian noise, by its own rule, whose nodes are a few too few in the planted mistake."""

    class Bits(cf.Route):
        name, error = "bits", "none"

        def __init__(self, reach):
            self.reach = reach

        def refuses(self, model):
            return None

        def log_prob(self, model, theta, value):
            raise NotImplementedError

        def told(self, model, thetas):
            n, y = model.channel.n, np.linspace(-self.reach, self.reach, 4001)
            f = stats.norm.pdf(y[:, None], np.arange(n + 1) / n, model.channel.law.noise.scale)
            for (q,) in np.asarray(thetas):
                masses = stats.binom.pmf(np.arange(n + 1), n, q)
                slopes = masses * (np.arange(n + 1) / q - (n - np.arange(n + 1)) / (1 - q))
                yield [Told.by_slopes(np.full(y.size, y[1] - y[0]), f @ masses, (f @ slopes)[:, None])]

    model = cf.Model(cf.populations.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), cf.Gaussian(scale=0.1), n=30))
    known = cf.information(model, [0.2, 0.5]).matrix
    np.testing.assert_allclose(cf.information(model, [0.2, 0.5], method=Bits(3.0)).matrix, known, rtol=1e-8)
    with pytest.raises(cf.AccuracyError, match="integrates"):
        cf.information(model, [0.2, 0.5], method=Bits(0.55))


def test_a_route_that_says_nothing_is_refused_in_words():
    class Silent(cf.Route):
        name, error = "silent", "none"

        def refuses(self, model):
            return None

        def log_prob(self, model, theta, value):
            raise NotImplementedError

    with pytest.raises(cf.IncompatibleError, match="does not say what"):
        cf.information(MODEL, 2.0, method=Silent())


def test_narrow_noise_around_a_mean_needs_no_slow_inversion(monkeypatch):
    """Beyond the noise's pole nothing comes back from the next period: the values there were all inverted again."""

    def never(*_):
        raise AssertionError("slowly")

    monkeypatch.setattr(spectral, "invert_slowly_with_score", never)
    found = cf.information(MODEL, 2.0)
    family = next(f for f in FAMILIES if f.name == "normal variance")
    formula = next(f for f in FORMULAS if f.text == "abs(x)")
    noise = Noise("Laplace", float(CHANNEL.law.noise.scale))
    asked = Question(
        "mean", family, (2.0,), formula, (-10.0, 10.0), 100, CHANNEL.statistic, cf.Laplace(scale=noise.scale), noise
    )
    expected, error = oracle.information(asked)
    assert np.abs(found.matrix - expected).item() < 1e-6 * expected.item() + 3 * error.item()


def test_answers_and_noisy_records_are_told_one_by_one():
    """n answers tell n times what one does: for a bit n α²/τ(1 − τ)."""
    channel = cf.Channel(cf.Each("x", (0, 1)), cf.RandomizedResponse(cf.PureDP(1.0)), n=7)
    with jax.enable_x64(True):
        found = np.asarray(cf.Response().information(cf.Model(cf.populations.bernoulli(), channel), [[0.3]]))
    keep = np.e / (1 + np.e)
    tau = 0.3 * keep + 0.7 * (1 - keep)
    assert found.item() == pytest.approx(7 * (2 * keep - 1) ** 2 / (tau * (1 - tau)), rel=1e-12)
