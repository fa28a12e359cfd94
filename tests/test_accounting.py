"""A batch fixed in advance: never below the truth, near to it, against closed forms, enumeration and quadrature."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

import confide as cf
from confide.privacy.accounting import _delta, _total


def exact_pure(epsilons, epsilon):
    """δ(ε) of the product of randomised responses, over all signs (Murtagh and Vadhan 2018)."""
    with mp.workdps(50):
        total = mp.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(epsilons)):
            loss = mp.fsum(sign * mp.mpf(e) for sign, e in zip(signs, epsilons, strict=True))
            weight = mp.fprod(1 / (1 + mp.exp(-sign * mp.mpf(e))) for sign, e in zip(signs, epsilons, strict=True))
            total += weight * max(mp.mpf(0), 1 - mp.exp(mp.mpf(epsilon) - loss))
        return total


def exact_equal(epsilon_0, count, epsilon):
    """The same for equal ones: Kairouz, Oh and Viswanath (2015, Theorem 3.3)."""
    with mp.workdps(50):
        e0 = mp.mpf(epsilon_0)
        terms = (
            mp.binomial(count, i) * (mp.exp((count - i) * e0) - mp.exp(mp.mpf(epsilon) + i * e0))
            for i in range(count // 2 + 1)
            if (count - 2 * i) * e0 > epsilon
        )
        return mp.fsum(terms) / (1 + mp.exp(e0)) ** count


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 100), (1.0, 3), (0.01, 1000), (3.0, 7), (1e-6, 50), (0.5, 1)])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-30])
def test_equal_pure_guarantees_cost_the_optimum(epsilon, count, delta):
    found = cf.account([cf.PureDP(epsilon)] * count, delta=delta).epsilon
    assert exact_equal(epsilon, count, found) <= delta
    if found > 1e-300:
        assert exact_equal(epsilon, count, found * (1 - 1e-6)) > delta


def test_a_hundred_tenths():
    batch = [cf.PureDP(0.1)] * 100
    assert cf.account(batch, delta=1e-6).epsilon == pytest.approx(4.7746, abs=1e-4)
    assert cf.compose(batch, delta=1e-6).epsilon == pytest.approx(5.2191, abs=1e-4)


@pytest.mark.parametrize(
    "epsilons", [(0.1, 0.2, 0.4, 0.8, 1.6), (0.3,) * 5 + (0.7,) * 4, (0.011 * i for i in range(1, 12))]
)
def test_different_pure_guarantees(epsilons):
    epsilons = tuple(epsilons)
    for delta in (1e-2, 1e-5):
        found = cf.account([cf.PureDP(each) for each in epsilons], delta=delta).epsilon
        assert exact_pure(epsilons, found) <= delta
        assert exact_pure(epsilons, found * (1 - 1e-4)) > delta


@pytest.mark.parametrize("mu", [1e-4, 0.1, 1.0, 5.0, 20.0])
def test_the_gaussian_loss_is_an_upper_bound_and_near(mu):
    loss, failure = _total([cf.GDP(mu / 2)] * 4, 0.0)
    for epsilon in (0.0, 0.3 * mu, mu * mu / 2, mu * mu / 2 + 4 * mu):
        exact = cf.GDP(mu).delta_at(epsilon)
        found = _delta(loss, epsilon, failure, 1e-9)
        assert exact * (1 - 1e-12) <= found <= exact * 1.01 + 1e-10


def test_a_pure_and_a_gaussian_by_quadrature():
    batch, mu = [cf.PureDP(0.5), cf.PureDP(0.25), cf.PureDP(0.5), cf.GDP(0.8)], 0.8
    found = cf.account(batch, delta=1e-4).epsilon

    def rest(epsilon):
        def share(z):
            loss = mu * z + mu * mu / 2
            return stats.norm.pdf(z) * -np.expm1(min(epsilon - loss, 0.0))

        return integrate.quad(share, (epsilon - mu * mu / 2) / mu, 14, epsabs=1e-16, limit=300)[0]

    total = 0.0
    for signs in itertools.product((1, -1), repeat=3):
        pairs = list(zip(signs, (0.5, 0.25, 0.5), strict=True))
        weight = math.prod(1 / (1 + math.exp(-sign * e)) for sign, e in pairs)
        total += weight * rest(found - sum(sign * e for sign, e in pairs))
    assert 0.995e-4 <= total <= 1e-4 * (1 + 1e-9)


def test_failures_add_up_and_a_batch_is_never_above_compose():
    batch = [cf.ApproxDP(0.1, 1e-8)] * 40 + [cf.GDP(0.2), cf.PureDP(1.0)]
    found = cf.account(batch, delta=1e-6)
    assert found.implies(cf.compose(batch, delta=1e-6))
    assert found.epsilon >= cf.account([cf.PureDP(0.1)] * 40 + [cf.GDP(0.2), cf.PureDP(1.0)], delta=6e-7).epsilon * (
        1 - 1e-9
    )
    with pytest.raises(cf.PrivacyError, match="delta"):
        cf.account(batch, delta=1e-7)


def test_channels_are_accounted_by_what_they_promise():
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.1)), n=50)
    assert cf.account([channel] * 10, delta=1e-6) == cf.account([cf.PureDP(0.1)] * 10, delta=1e-6)


@pytest.mark.parametrize(
    ("members", "problem"),
    [([], "empty"), (3, "not a list"), ([cf.ZCDP(1.0)], "worst pair"), ([cf.Unlimited()], "without"), ([1], "no guar")],
)
def test_wrong_batches(members, problem):
    with pytest.raises(cf.PrivacyError, match=problem):
        cf.account(members, delta=1e-6)
