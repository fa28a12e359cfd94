"""EM: expected records against enumeration and closed forms, and its maximum against Newton's."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.frequentist.em import step
from confide.frequentist.likelihood import FreeLikelihood
from confide.likelihood import choose_route
from confide.likelihood.joint import joint_route

P, LAPLACE, GAUSSIAN = cf.populations, cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.GDP(1.0))


def completed(population, channel, theta, y):
    model = cf.Model(population, channel)
    with jax.enable_x64(True):
        return choose_route(model).completed(model, np.asarray(theta, dtype=float), np.asarray(y))


def test_three_records_by_enumeration():
    """Poisson records clipped at 3: all 64 triples, each with the noise's density."""
    channel = cf.Channel(cf.Mean("x", bounds=(0, 3)), LAPLACE, n=3)
    mass = np.append(stats.poisson.pmf([0, 1, 2], 1.7), stats.poisson.sf(2, 1.7))
    found = np.zeros(4)
    for records in itertools.product(range(4), repeat=3):
        weight = np.prod(mass[list(records)]) * stats.laplace.pdf(0.4, np.mean(records), 1.0)
        found += weight * np.bincount(records, minlength=4)
    told = completed(P.poisson(), channel, [1.7], 0.4)
    order = np.argsort(told.law.s[0])
    np.testing.assert_allclose(told.counts[order], 3 * found / found.sum(), atol=1e-10)


@pytest.mark.parametrize("n", [2, 25])
def test_a_normal_record_given_a_noisy_mean(n):
    """Joint normality: E[X | y] and Var(X | y) are those of regression."""
    mean, variance, scale, y = 0.3, 2.0, 0.4, 1.1
    channel = cf.Channel(cf.Mean("x", bounds=(-30, 30)), cf.Gaussian(scale=scale), n=n)
    told = completed(P.normal(), channel, [mean, variance], y)
    x, share = told.law.s[0], told.counts / n
    slope = (variance / n) / (variance / n + scale**2)
    left = variance - (variance / n) ** 2 / (variance / n + scale**2)
    assert share.sum() == pytest.approx(1.0, abs=1e-12)
    assert share @ x == pytest.approx(mean + slope * (y - mean), abs=1e-9)
    assert share @ (x - share @ x) ** 2 == pytest.approx(left, abs=1e-8)


def test_answers_are_shared_out():
    """Of randomized answers, Bayes' theorem by hand."""
    channel = cf.Channel(cf.Each("x", bounds=(0, 1)), cf.RandomizedResponse(cf.PureDP(np.log(3.0))), n=5)
    told = completed(P.bernoulli(), channel, [0.3], [1, 1, 0, 1, 0])
    one, zero = 0.3 * 0.75 / (0.3 * 0.75 + 0.7 * 0.25), 0.3 * 0.25 / (0.3 * 0.25 + 0.7 * 0.75)
    assert told.counts[np.argmax(told.law.s[0])] == pytest.approx(3 * one + 2 * zero, abs=1e-12)


def releases(population, theta, statistics, mechanism, n, key=3):
    made = []
    for statistic in statistics:
        channel = cf.Channel(statistic, mechanism, n=n)
        made.append(cf.Release(channel, np.asarray(cf.Model(population, channel).simulate(key, theta))))
    return made


MODELS = {
    "share": (P.bernoulli(), 0.3, [cf.Mean("x", bounds=(0, 1))], LAPLACE, 50),
    "answers": (P.normal_mean(), 0.7, [cf.Each("x > 1", bounds=(-4, 6))], cf.RandomizedResponse(cf.PureDP(1.0)), 60),
    "records": (P.normal(), [0.7, 2.0], [cf.Each("x", bounds=(-4, 6))], cf.Laplace(cf.PureDP(6.0)), 60),
    "lattice": (P.poisson(), 2.0, [cf.Mean("x", bounds=(0, 9))], LAPLACE, 40),
    "clipped": (P.exponential(), 0.1, [cf.Mean("x", bounds=(0, 20))], LAPLACE, 100),
    "two": (P.normal(), [0.7, 2.0], [cf.Mean("x", bounds=(-4, 6)), cf.Mean("x**2", bounds=(-4, 6))], GAUSSIAN, 200),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in ("lattice", "clipped", "two"))) for name in MODELS]
)
def test_its_maximum_is_newtons(name):
    population, theta, statistics, mechanism, n = MODELS[name]
    made = releases(population, theta, statistics, mechanism, n)
    options = {"method": "wald", "same_records": False if len(made) > 1 else None}
    newton, em = (cf.estimate(population, made, maximize=each, **options) for each in ("newton", "em"))
    for each in population.names:
        assert em.theta[each] == pytest.approx(newton.theta[each], abs=1e-6)
        np.testing.assert_allclose(em.interval[each], newton.interval[each], atol=2e-5)


def test_no_step_lowers_the_likelihood():
    population = P.normal()
    (release,) = releases(population, [0.7, 2.0], [cf.Each("x", bounds=(-4, 6))], cf.Laplace(cf.PureDP(6.0)), 60)
    with jax.enable_x64(True):
        joint = joint_route([cf.Model(population, release.channel)])
        likelihood = FreeLikelihood(population, joint, joint.check([release.value]))
        at = likelihood.free([[-2.0, 9.0]])[0]
        found = [likelihood(at[None])[0]]
        for _ in range(6):
            at = step(likelihood, at)
            found.append(likelihood(at[None])[0])
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize(
    ("population", "statistic", "problem"),
    [
        (P.normal_mean(), cf.Median("x", bounds=(-5, 5)), "route 'order' does not tell what one record"),
        (P.uniform_width(), cf.Mean("abs(x)", bounds=(-5, 5)), "moves with its parameters"),
    ],
)
def test_what_it_does_not_serve(population, statistic, problem):
    release = cf.Release(cf.Channel(statistic, GAUSSIAN, n=41), 1.2)
    with pytest.raises(cf.IncompatibleError, match=problem):
        cf.estimate(population, release, method="ratio", maximize="em")


def test_no_other_way():
    with pytest.raises(cf.InvalidArgument, match="is no way to a maximum; use one of newton, em"):
        cf.estimate(P.bernoulli(), cf.Release(cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, n=9), 0.3), maximize="mc")
