"""Guarantees against independent computations: divergences of the actual pairs of distributions, in many digits."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from confide.errors import PrivacyError
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited, compose
from confide.privacy.composition import moved
from confide.privacy.rounding import outward, root_sum_of_squares_up, round_up, sum_up

# Our own context of 80 digits: the module's is shared by all who import it.
mp = mpmath.mp.clone()
mp.dps = 80

KINDS = (PureDP, ApproxDP, ZCDP, GDP, Unlimited)


# ---------------------------------------------------------------- independent computations


def response(epsilon):
    """Randomised response: the output law under each of two neighbours."""
    p = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
    return (p, 1 - p), (1 - p, p)


def discrete_hockey_stick(P, Q, epsilon):
    return mp.fsum(max(mp.mpf(0), p - mp.exp(mp.mpf(epsilon)) * q) for p, q in zip(P, Q, strict=True))


def discrete_renyi(P, Q, alpha):
    return mp.log(mp.fsum(p**alpha * q ** (1 - alpha) for p, q in zip(P, Q, strict=True))) / (alpha - 1)


def upper_tail(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


def gaussian_hockey_stick(mu, epsilon):
    """P − e^ε Q where N(μ, 1) exceeds e^ε N(0, 1): beyond ε/μ + μ/2, with digits to spare for the cancellation."""
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    edge = epsilon / mu + mu / 2
    return upper_tail(edge - mu) - mp.exp(epsilon) * upper_tail(edge)


def concentrated_bound(rho, epsilon, alpha):
    """Canonne, Kamath and Steinke's δ at one order, as they print it."""
    rho, epsilon, alpha = mp.mpf(rho), mp.mpf(epsilon), mp.mpf(alpha)
    return mp.exp((alpha - 1) * (alpha * rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha) ** alpha


def least_concentrated_bound(rho, epsilon):
    """The least over α, by golden section in log(α − 1) on the printed formula: no derivative."""
    shrink = (mp.sqrt(5) - 1) / 2

    def value(u):
        return mp.log(concentrated_bound(rho, epsilon, 1 + mp.exp(u)))

    low, high = mp.mpf(-60), mp.mpf(20)
    for _ in range(110):
        left, right = high - shrink * (high - low), low + shrink * (high - low)
        low, high = (low, right) if value(left) < value(right) else (left, high)
    return mp.exp(value((low + high) / 2))


def assert_just_above(computed, truth, relative=1e-12):
    """Never below the truth (beyond its last digit), hardly above it."""
    excess = float(mp.mpf(computed) / mp.mpf(truth) - 1)
    assert -1e-15 <= excess <= relative


# ---------------------------------------------------------------- profiles


@pytest.mark.parametrize("bound", [1e-6, 0.1, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999999])
def test_pure_profile_is_that_of_randomised_response(bound, share):
    epsilon = bound * share
    assert_just_above(PureDP(bound).delta_at(epsilon), discrete_hockey_stick(*response(bound), epsilon))


@pytest.mark.parametrize("bound", [0.2, 1.0, 4.0])
def test_pure_profile_bounds_the_laplace_mechanism_and_vanishes_at_its_epsilon(bound):
    law, neighbour = stats.laplace(0, 1 / bound), stats.laplace(1, 1 / bound)
    for epsilon in np.linspace(0, bound * 0.99, 5):
        edge = (1 - epsilon / bound) / 2  # the log-ratio bound·(1 − 2y) is ε here
        area, _ = integrate.quad(lambda y, e=epsilon: law.pdf(y) - math.exp(e) * neighbour.pdf(y), 0, edge)
        laplace = law.cdf(0) - math.exp(epsilon) * neighbour.cdf(0) + area
        assert 0 < laplace <= PureDP(bound).delta_at(epsilon)
    assert PureDP(bound).delta_at(bound) == 0.0
    assert PureDP(bound).delta_at(2 * bound) == 0.0


@pytest.mark.parametrize("bound,failure", [(0.5, 1e-6), (1.0, 0.1), (5.0, 1e-12), (2.0, 0.9)])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99, 1.0, 1.5])
def test_approximate_profile_is_that_of_its_worst_pair(bound, failure, share):
    # Four outputs: each data set gives itself away with probability δ, and otherwise answers at random.
    (p, q), d = response(bound)[0], mp.mpf(failure)
    P, Q = (d, (1 - d) * p, (1 - d) * q, 0), (0, (1 - d) * q, (1 - d) * p, d)
    assert_just_above(
        ApproxDP(bound, failure).delta_at(bound * share), discrete_hockey_stick(P, Q, bound * share), 2e-12
    )


@pytest.mark.parametrize("mu", [1e-9, 1e-4, 0.03, 0.5, 0.999999, 1.0, 2.0, 7.0, 60.0, 1e4])
@pytest.mark.parametrize("x", [-30.0, -3.0, -0.4, 0.0, 0.7, 3.0, 12.0, 37.0])
def test_gaussian_profile_to_twelve_digits(mu, x):
    epsilon = max(0.0, mu * (x + mu / 2))
    assert_just_above(GDP(mu).delta_at(epsilon), gaussian_hockey_stick(mu, epsilon))


@pytest.mark.parametrize("mu,epsilon", [(0.3, 0.0), (1.0, 1.0), (2.5, 4.0)])
def test_gaussian_profile_is_the_integral_of_the_densities(mu, epsilon):
    def excess(y):
        return max(0.0, stats.norm.pdf(y, mu) - math.exp(epsilon) * stats.norm.pdf(y))

    area, _ = integrate.quad(excess, epsilon / mu + mu / 2, mu + 12, epsabs=1e-13)
    assert GDP(mu).delta_at(epsilon) == pytest.approx(area, abs=1e-11)


def test_a_delta_below_all_floats_is_not_called_zero():
    assert GDP(1.0).delta_at(1e4) == 5e-324
    assert GDP(1e-300).delta_at(1e300) == 5e-324
    assert ZCDP(1.0).delta_at(1e6) == 5e-324
    assert ZCDP(5e-324).delta_at(1e300) == 5e-324


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.5, 4.0, 200.0])
@pytest.mark.parametrize("deviations", [0.0, 1.0, 5.0, 30.0])
def test_concentrated_profile_is_the_least_bound_over_the_orders(rho, deviations):
    epsilon = rho + deviations * math.sqrt(2 * rho)
    assert_just_above(ZCDP(rho).delta_at(epsilon), least_concentrated_bound(rho, epsilon))


@pytest.mark.parametrize("rho,epsilon", [(0.1, 0.5), (0.5, 3.0), (2.0, 1.0), (10.0, 40.0)])
def test_concentrated_profile_is_below_the_bound_at_every_order(rho, epsilon):
    delta = ZCDP(rho).delta_at(epsilon)
    orders = 1 + np.exp(np.linspace(-8, 8, 400))
    bounds = [float(concentrated_bound(rho, epsilon, order)) for order in orders]
    assert delta <= min(bounds) * (1 + 1e-12)
    assert delta == pytest.approx(min(bounds), rel=1e-2)


@pytest.mark.parametrize("rho", [1e-4, 0.1, 1.0, 20.0])
def test_concentrated_profile_bounds_mechanisms_that_are_concentrated(rho):
    response_epsilon = mp.findroot(lambda e: e * mp.tanh(e / 2) - rho, max(math.sqrt(2 * rho), rho))
    for epsilon in (0.0, rho, rho + 2 * math.sqrt(rho), rho + 8 * math.sqrt(rho)):
        delta = ZCDP(rho).delta_at(epsilon)
        assert gaussian_hockey_stick(math.sqrt(2 * rho), epsilon) <= delta
        assert discrete_hockey_stick(*response(response_epsilon), epsilon) <= delta


def test_unlimited_has_the_profile_that_says_nothing():
    assert Unlimited().delta_at(1e9) == 1.0
    assert Unlimited().epsilon_at(0.999) == math.inf
    assert Unlimited().epsilon_at(1.0) == 0.0


# ---------------------------------------------------------------- the inverse


@pytest.mark.parametrize("guarantee", [PureDP(0.7), ApproxDP(2.0, 1e-9), GDP(0.05), GDP(1.0), GDP(8.0)])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 1e-3])
def test_epsilon_at_is_the_smallest_epsilon(guarantee, delta):
    epsilon = guarantee.epsilon_at(delta)
    assert guarantee.delta_at(epsilon) <= delta
    assert guarantee.delta_at(epsilon * (1 - 1e-9)) > delta


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 30.0, 1e5])
@pytest.mark.parametrize("delta", [1e-300, 1e-10, 1e-6, 0.3])
def test_concentrated_epsilon_is_the_least_over_the_orders(rho, delta):
    epsilon = ZCDP(rho).epsilon_at(delta)
    t = np.exp(np.linspace(-12, 25, 200001))
    by_order = (1 + t) * rho + (-math.log(delta) - np.log1p(t)) / t - np.log1p(1 / t)
    assert epsilon == pytest.approx(max(0.0, by_order.min()), rel=1e-7)
    assert ZCDP(rho).delta_at(epsilon) <= delta


def test_epsilon_at_the_ends():
    assert PureDP(1.5).epsilon_at(0.0) == 1.5
    assert ApproxDP(1.5, 1e-6).epsilon_at(1e-6) == 1.5
    assert ApproxDP(1.5, 1e-6).epsilon_at(0.99e-6) == math.inf
    assert GDP(1.0).epsilon_at(0.0) == ZCDP(1.0).epsilon_at(0.0) == math.inf
    for guarantee in (PureDP(1.0), ApproxDP(1.0, 0.1), ZCDP(1.0), GDP(1.0)):
        assert guarantee.epsilon_at(1.0) == 0.0


def test_known_value_of_the_gaussian_mechanism():
    # δ(1) = Φ(−½) − e·Φ(−3/2): a value that any table of the normal distribution gives.
    assert GDP(1.0).delta_at(1.0) == pytest.approx(stats.norm.cdf(-0.5) - math.e * stats.norm.cdf(-1.5), rel=1e-12)


@pytest.mark.parametrize(
    "guarantee", [PureDP(1e300), GDP(1e200), ZCDP(1e300), GDP(1e-300), ZCDP(1e-300), PureDP(5e-324)]
)
def test_extreme_parameters_do_not_break_the_arithmetic(guarantee):
    for epsilon in (0.0, 1e-300, 1.0, 1e300):
        assert 0 <= guarantee.delta_at(epsilon) <= 1
    for delta in (0.0, 5e-324, 1e-6, 0.5, 1 - 1e-16, 1.0):
        assert guarantee.epsilon_at(delta) >= 0


# ---------------------------------------------------------------- conversions


@pytest.mark.parametrize("epsilon", [1e-5, 0.01, 0.3, 1.0, 2.0, 5.0, 20.0])
def test_pure_to_concentrated_is_the_supremum_over_the_orders(epsilon):
    P, Q = response(epsilon)
    orders = [1 + mp.mpf(10) ** power for power in np.linspace(-9, 4, 60)]
    ratios = [discrete_renyi(P, Q, order) / order for order in orders]
    assert all(later <= earlier for earlier, later in pairwise(ratios))
    rho = PureDP(epsilon).convert(ZCDP).rho
    assert rho >= ratios[0]
    assert rho == pytest.approx(float(ratios[0]), rel=1e-8)
    assert rho < epsilon**2 / 2


@pytest.mark.parametrize("epsilon", [1e-8, 1e-3, 0.5, 1.0, 1.99, 2.0, 6.0, 40.0, 700.0])
def test_pure_to_gaussian_puts_the_corner_on_the_curve(epsilon):
    mu = PureDP(epsilon).convert(GDP).mu
    corner = 1 / (1 + mp.exp(mp.mpf(epsilon)))
    truth = mp.findroot(lambda m: mp.log(upper_tail(m / 2)) - mp.log(corner), mp.mpf(mu))
    assert_just_above(mu, truth, 1e-14)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_gaussian_trade_off_lies_below_the_pure_one_everywhere(epsilon):
    mu = PureDP(epsilon).convert(GDP).mu
    level = np.linspace(0, 1, 20001)[1:-1]
    gaussian = stats.norm.sf(stats.norm.ppf(level) + mu)
    pure = np.maximum.reduce([np.zeros_like(level), 1 - np.exp(epsilon) * level, np.exp(-epsilon) * (1 - level)])
    assert np.all(gaussian <= pure + 1e-15)
    tighter = stats.norm.sf(stats.norm.ppf(1 / (1 + np.exp(epsilon))) + mu * (1 - 1e-6))
    assert tighter > 1 / (1 + np.exp(epsilon))


@pytest.mark.parametrize("mu", [0.01, 0.7, 1.0, 3.0])
def test_gaussian_to_concentrated_is_the_renyi_divergence(mu):
    rho = GDP(mu).convert(ZCDP).rho
    assert rho == pytest.approx(mu**2 / 2, rel=1e-15)
    assert Fraction(rho) >= Fraction(mu) ** 2 / 2
    for alpha in (1.01, 2.0, 5.0):
        moment, _ = integrate.quad(
            lambda y, a=alpha: math.exp(a * stats.norm.logpdf(y, mu) + (1 - a) * stats.norm.logpdf(y)),
            alpha * mu - 12,
            alpha * mu + 12,
            epsabs=1e-13,
        )
        assert math.log(moment) / (alpha - 1) == pytest.approx(alpha * rho, abs=1e-9)


@pytest.mark.parametrize("guarantee", [PureDP(1.0), GDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-9)])
def test_conversion_to_approximate_states_the_profile(guarantee):
    approximate = guarantee.convert(ApproxDP, delta=1e-6)
    assert approximate == ApproxDP(guarantee.epsilon_at(1e-6), 1e-6)
    assert guarantee.implies(approximate)
    assert not guarantee.implies(ApproxDP(approximate.epsilon * (1 - 1e-9), 1e-6))


def test_conversion_where_no_epsilon_is_needed_gives_a_guarantee_all_the_same():
    weak = PureDP(1e-9).convert(ApproxDP, delta=1e-6)
    assert 0 < weak.epsilon < 1e-300
    assert PureDP(1e-9).implies(weak)


@pytest.mark.parametrize("guarantee", [PureDP(0.3), GDP(2.0), ZCDP(0.1), ApproxDP(1.0, 1e-6), Unlimited()])
def test_conversion_to_its_own_kind_and_to_unlimited(guarantee):
    assert guarantee.convert(type(guarantee)) == guarantee
    assert guarantee.convert(Unlimited) == Unlimited()


@pytest.mark.parametrize(
    "guarantee,kind,remedy",
    [
        (GDP(1.0), PureDP, "ApproxDP with a delta"),
        (ZCDP(1.0), PureDP, "ApproxDP with a delta"),
        (ZCDP(1.0), GDP, "both as ZCDP"),
        (ApproxDP(1.0, 1e-6), PureDP, "both as ApproxDP"),
        (ApproxDP(1.0, 1e-6), ZCDP, "both as ApproxDP"),
        (ApproxDP(1.0, 1e-6), GDP, "both as ApproxDP"),
        (Unlimited(), PureDP, "adds noise"),
        (Unlimited(), ZCDP, "adds noise"),
        (Unlimited(), GDP, "adds noise"),
    ],
)
def test_a_conversion_that_does_not_exist_is_refused_in_words(guarantee, kind, remedy):
    with pytest.raises(PrivacyError, match=f"cannot be converted to {kind.__name__}: .*; .*{remedy}"):
        guarantee.convert(kind)
    assert not guarantee.implies(kind(1.0))


@pytest.mark.parametrize(
    "guarantee,kind,delta,message",
    [
        (GDP(1.0), ApproxDP, None, "delta = None must be given"),
        (PureDP(1.0), ApproxDP, 0.0, "use PureDP"),
        (GDP(1.0), ApproxDP, 1.5, "strictly between 0 and 1"),
        (GDP(1.0), ApproxDP, "small", "strictly between 0 and 1"),
        (GDP(1.0), ZCDP, 1e-6, "has no meaning for ZCDP; leave it out"),
        (GDP(1.0), Unlimited, 1e-6, "has no meaning for Unlimited"),
        (ApproxDP(1.0, 1e-6), ApproxDP, 1e-7, "at least 1e-06"),
        (Unlimited(), ApproxDP, 1e-6, "promises nothing"),
        (GDP(1e200), ApproxDP, 1e-6, "beyond all floats"),
        (GDP(1e200), ZCDP, None, "rho = inf must be a finite number"),
        (GDP(1.0), Privacy, None, "is no guarantee"),
        (GDP(1.0), float, None, "is no guarantee"),
        (GDP(1.0), "ZCDP", None, "is no guarantee"),
        (GDP(1.0), np.ones(2), None, "is no guarantee"),
        (GDP(1.0), PureDP(1.0), None, "is no guarantee"),
    ],
)
def test_bad_arguments_of_convert(guarantee, kind, delta, message):
    with pytest.raises(PrivacyError, match=message):
        guarantee.convert(kind, delta=delta)


# ---------------------------------------------------------------- the values themselves


@pytest.mark.parametrize(
    "guarantee,phrase,source",
    [
        (PureDP(1), "1-differential privacy (pure)", "PureDP(epsilon=1.0)"),
        (ApproxDP(1, 1e-6), "(1, 1e-06)-differential privacy", "ApproxDP(epsilon=1.0, delta=1e-06)"),
        (ZCDP(0.5), "0.5-zCDP", "ZCDP(rho=0.5)"),
        (GDP(1), "1-Gaussian differential privacy", "GDP(mu=1.0)"),
        (Unlimited(), "no privacy", "Unlimited()"),
    ],
)
def test_guarantees_are_printable_values(guarantee, phrase, source):
    assert str(guarantee) == phrase
    assert repr(guarantee) == source
    assert isinstance(guarantee, Privacy)
    copy = pickle.loads(pickle.dumps(guarantee))
    assert copy == guarantee and hash(copy) == hash(guarantee)
    with pytest.raises(AttributeError):
        guarantee.epsilon = 2.0


def test_kinds_are_different_values():
    assert len({PureDP(1.0), ZCDP(1.0), GDP(1.0), ApproxDP(1.0, 0.5), Unlimited(), PureDP(1), Unlimited()}) == 5


@pytest.mark.parametrize("number", [2, np.float64(2), np.float32(2), np.int64(2), Fraction(2)])
def test_numbers_of_all_sorts_become_floats(number):
    for kind in (PureDP, ZCDP, GDP):
        assert kind(number) == kind(2.0)
        assert type(next(iter(vars(kind(number)).values()))) is float
    assert ApproxDP(number, np.float64(0.5)) == ApproxDP(2.0, 0.5)


BAD_NUMBERS = [
    0,
    -1.0,
    -0.0,
    math.nan,
    math.inf,
    10**400,
    True,
    np.bool_(True),
    "1",
    None,
    1j,
    np.ones(1),
    np.array(1.0),
    [1],
]


@pytest.mark.parametrize("value", BAD_NUMBERS, ids=repr)
@pytest.mark.parametrize("kind,argument", [(PureDP, "epsilon"), (ZCDP, "rho"), (GDP, "mu")])
def test_bad_parameters(kind, argument, value):
    with pytest.raises(PrivacyError, match="must be a finite number above 0; give") as caught:
        kind(value)
    assert caught.value.argument == argument


@pytest.mark.parametrize("value", [0, 1, 1.5, -0.1, math.nan, True, "1e-6", None, np.zeros(1)], ids=repr)
def test_bad_delta(value):
    with pytest.raises(PrivacyError, match="strictly between 0 and 1"):
        ApproxDP(1.0, value)


def test_bad_epsilon_of_approximate():
    with pytest.raises(PrivacyError, match="epsilon = 0 must"):
        ApproxDP(0, 1e-6)


@pytest.mark.parametrize("guarantee", [PureDP(1.0), ApproxDP(1.0, 0.1), ZCDP(1.0), GDP(1.0), Unlimited()])
def test_bad_arguments_of_the_profile(guarantee):
    for epsilon in (-1e-9, math.inf, math.nan, "1", True, None, np.zeros(2)):
        with pytest.raises(PrivacyError, match=r"epsilon = .* must be a finite number, 0 or more"):
            guarantee.delta_at(epsilon)
    for delta in (-1e-9, 1.01, math.nan, "0", False, None, np.zeros(2)):
        with pytest.raises(PrivacyError, match=r"delta = .* must be a number from 0 to 1"):
            guarantee.epsilon_at(delta)
    with pytest.raises(PrivacyError, match=r"other = 1\.0 is no guarantee"):
        guarantee.implies(1.0)


# ---------------------------------------------------------------- implication


@pytest.mark.parametrize(
    "stronger,weaker,expected",
    [
        (PureDP(1.0), PureDP(1.0), True),
        (PureDP(1.0), PureDP(0.999999), False),
        (PureDP(1.0), ZCDP(math.tanh(0.5)), True),
        (PureDP(1.0), ZCDP(math.tanh(0.5) * (1 - 1e-9)), False),
        (PureDP(1.0), GDP(1.232036), True),
        (PureDP(1.0), GDP(1.232034), False),
        (PureDP(1.0), ApproxDP(1.0, 1e-300), True),
        (PureDP(1.0), ApproxDP(0.9, 1e-3), False),
        (GDP(1.0), ZCDP(0.5), True),
        (ZCDP(0.5), ZCDP(0.5), True),
        (ApproxDP(1.0, 1e-6), ApproxDP(1.1, 1e-5), True),
        (ApproxDP(1.0, 1e-6), ApproxDP(1.1, 0.9e-6), False),
        (ApproxDP(1.0, 1e-6), ApproxDP(0.5, 0.3), True),
        (Unlimited(), Unlimited(), True),
        (Unlimited(), ApproxDP(1.0, 1 - 1e-15), False),
    ],
)
def test_implication(stronger, weaker, expected):
    assert stronger.implies(weaker) is expected


def test_rounding_does_not_refuse_but_nothing_more_is_forgiven():
    assert PureDP(1.0 + 4e-16).implies(PureDP(1.0))
    assert not PureDP(1.0 + 1e-11).implies(PureDP(1.0))
    assert not ApproxDP(1.0, 1e-6 * (1 + 1e-11)).implies(ApproxDP(1.0, 1e-6))
    assert compose([PureDP(0.1)] * 10).implies(PureDP(1.0))


# ---------------------------------------------------------------- composition


def test_composition_within_a_kind():
    assert compose([PureDP(0.5), PureDP(0.25)]) == PureDP(0.75)
    assert compose([ZCDP(0.5), ZCDP(0.25), ZCDP(0.25)]) == ZCDP(1.0)
    assert compose([GDP(3.0), GDP(4.0)]) == GDP(5.0)
    assert compose([ApproxDP(0.5, 2**-20), ApproxDP(0.5, 2**-20)]) == ApproxDP(1.0, 2**-19)


@pytest.mark.parametrize("guarantee", [PureDP(0.3), ZCDP(0.1), GDP(0.7), ApproxDP(0.1, 1e-7), Unlimited()])
def test_composition_of_one_is_itself(guarantee):
    assert compose([guarantee]) == guarantee
    assert compose(iter([guarantee])) == guarantee


def test_composition_across_kinds_uses_the_strongest_common_unit():
    pure = PureDP(1.0)
    assert compose([pure, GDP(1.0)]).mu == pytest.approx(
        math.hypot(1.0, -2 * stats.norm.ppf(1 / (1 + math.e))), rel=1e-13
    )
    assert compose([pure, ZCDP(0.5)]).rho == pytest.approx(0.5 + math.tanh(0.5), rel=1e-14)
    assert compose([GDP(1.0), ZCDP(0.5)]) == ZCDP(1.0)
    assert compose([pure, GDP(1.0), ZCDP(0.25)]).rho == pytest.approx(0.75 + math.tanh(0.5), rel=1e-14)
    assert compose([pure, ApproxDP(0.5, 1e-6)]) == ApproxDP(1.5, 1e-6)


def test_composition_without_a_promise():
    assert compose([PureDP(1.0), Unlimited()]) == Unlimited()
    assert compose([ApproxDP(1.0, 0.5), ApproxDP(1.0, 0.5)]) == Unlimited()
    assert compose([PureDP(1.7e308), PureDP(1.7e308)]) == Unlimited()
    assert compose([GDP(1.7e308), GDP(1.7e308)]) == Unlimited()
    assert compose([GDP(1e200), ZCDP(1.0)]) == Unlimited()
    assert compose([Unlimited(), GDP(1.0)], delta=1e-6) == Unlimited()


@pytest.mark.parametrize(
    "guarantees,delta,message",
    [
        ([], None, "guarantees = \\[\\] is empty"),
        (PureDP(1.0), None, "is not a list"),
        (None, None, "is not a list"),
        ([PureDP(1.0), 0.5], None, "guarantees\\[1\\] = 0.5 is no guarantee"),
        ("ab", None, "is no guarantee"),
        ([ApproxDP(1.0, 1e-6), GDP(1.0)], None, "must be given to add ApproxDP to GDP"),
        ([ApproxDP(1.0, 1e-6), ZCDP(1.0), GDP(1.0)], None, "to GDP and ZCDP"),
        ([ApproxDP(1.0, 1e-6), GDP(1.0)], 1e-7, "is below the sum of the parts"),
        ([ApproxDP(1.0, 1e-6), GDP(1.0)], 1e-6, "leaves no finite ε"),
        ([PureDP(1.0)], 0, "strictly between 0 and 1"),
        ([PureDP(1.0)], True, "strictly between 0 and 1"),
    ],
)
def test_bad_arguments_of_compose(guarantees, delta, message):
    with pytest.raises(PrivacyError, match=message):
        compose(guarantees, delta=delta)


def test_composition_at_a_delta():
    assert compose([GDP(3.0), GDP(4.0)], delta=1e-6) == GDP(5.0).convert(ApproxDP, delta=1e-6)
    mixed = compose([ApproxDP(0.5, 1e-6), GDP(1.0)], delta=2e-6)
    assert mixed.delta == 2e-6
    assert mixed.epsilon == pytest.approx(0.5 + GDP(1.0).epsilon_at(1e-6), rel=1e-9)
    assert compose([ApproxDP(0.5, 1e-6), PureDP(1.0)], delta=1e-6) == ApproxDP(1.5, 1e-6)
    assert compose([ApproxDP(0.1, 1e-7)] * 10, delta=1e-6).epsilon == pytest.approx(1.0, rel=1e-12)
    assert compose([ApproxDP(0.5, 1e-7)] * 2, delta=1e-6) == ApproxDP(1.0, 2e-7).convert(ApproxDP, delta=1e-6)


def test_many_pure_releases_cost_less_than_their_sum_and_no_less_than_the_truth():
    # The exact profile of 100 randomised responses: the loss is ε·(100 − 2K) with K binomial.
    epsilon, count, delta = 0.1, 100, 1e-6
    total = compose([PureDP(epsilon)] * count, delta=delta)
    lies = np.arange(count + 1)
    loss = epsilon * (count - 2 * lies)
    probability = stats.binom.pmf(lies, count, 1 / (1 + math.exp(epsilon)))
    exact = np.sum(probability * np.maximum(0, -np.expm1(total.epsilon - loss)))
    assert exact <= delta
    assert total.epsilon < 0.6 * epsilon * count
    few = compose([PureDP(0.5)], delta=delta)
    assert few == PureDP(0.5).convert(ApproxDP, delta=delta)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=8))
def test_sums_never_understate(values):
    exact, squares = sum(map(Fraction, values)), sum(Fraction(value) ** 2 for value in values)
    for total, truth in ((sum_up(values), exact), (round_up(exact), exact)):
        assert Fraction(math.nextafter(total, 0)) < truth <= Fraction(total)
    root = root_sum_of_squares_up(values)
    assert Fraction(math.nextafter(root, 0)) ** 2 < squares <= Fraction(root) ** 2


def test_rounding_keeps_what_is_exact_and_infinite():
    assert round_up(Fraction(1, 2)) == 0.5
    assert round_up(Fraction(10) ** 400) == math.inf
    assert sum_up([math.inf, 1.0]) == math.inf
    assert root_sum_of_squares_up([math.inf, 1.0]) == math.inf
    assert outward(0.0) > 0
    assert math.fsum([0.1] * 10) == 1.0 < sum_up([0.1] * 10)  # ten times the float 0.1 is above 1


# ---------------------------------------------------------------- properties


def decimals(low, high):
    """Numbers of three significant digits, so that two are equal or differ by more than rounding."""
    powers = st.floats(math.log10(low), math.log10(high))
    return powers.map(lambda power: float(f"{10**power:.3g}"))


pures = st.builds(PureDP, decimals(1e-4, 50))
gaussians = st.builds(GDP, decimals(1e-4, 20))
concentrated = st.builds(ZCDP, decimals(1e-6, 100))
approximate = st.builds(ApproxDP, decimals(1e-4, 50), decimals(1e-12, 0.9))
limited = st.one_of(pures, gaussians, concentrated, approximate)
anything = st.one_of(limited, st.just(Unlimited()))
quick = settings(max_examples=100, deadline=None)


@quick
@given(anything, st.floats(0, 60), st.floats(0, 60))
def test_profile_falls_with_epsilon(guarantee, a, b):
    low, high = sorted((a, b))
    assert guarantee.delta_at(high) <= guarantee.delta_at(low) * (1 + 1e-12)


@quick
@given(anything, st.floats(0, 1), st.floats(0, 1))
def test_epsilon_falls_with_delta(guarantee, a, b):
    low, high = sorted((a, b))
    assert guarantee.epsilon_at(high) <= guarantee.epsilon_at(low) * (1 + 1e-9) + 1e-12


@quick
@given(limited, decimals(1e-12, 0.99))
def test_inverse_is_safe_and_tight(guarantee, delta):
    epsilon = guarantee.epsilon_at(delta)
    assume(math.isfinite(epsilon))
    assert guarantee.delta_at(epsilon) <= delta
    if epsilon > 1e-6:
        assert guarantee.delta_at(epsilon * (1 - 1e-6)) >= delta


@quick
@given(st.sampled_from((PureDP, GDP, ZCDP)), decimals(1e-3, 20), decimals(1e-3, 20), st.floats(0, 30))
def test_profile_rises_with_the_parameter(kind, a, b, epsilon):
    small, large = sorted((a, b))
    assert kind(small).delta_at(epsilon) <= kind(large).delta_at(epsilon) * (1 + 1e-12)


@quick
@given(anything)
def test_implies_is_reflexive_and_unlimited_is_implied(guarantee):
    assert guarantee.implies(guarantee)
    assert guarantee.implies(Unlimited())


@settings(max_examples=400, deadline=None)
@given(anything, anything, anything)
def test_implies_is_transitive(a, b, c):
    if a.implies(b) and b.implies(c):
        assert a.implies(c)


@quick
@given(limited, st.sampled_from(KINDS), st.sampled_from(KINDS), decimals(1e-12, 0.5))
def test_what_is_converted_is_implied_and_a_detour_gains_nothing(guarantee, first, second, delta):
    def convert(source, kind):
        return source.convert(kind, delta=delta if kind is ApproxDP else None)

    try:
        direct, detour = convert(guarantee, second), convert(convert(guarantee, first), second)
    except PrivacyError:
        return
    assert guarantee.implies(direct)
    assert direct.implies(detour)


@quick
@given(st.lists(st.one_of(pures, gaussians, concentrated), min_size=1, max_size=5), decimals(1e-9, 0.1))
def test_composition_is_implied_by_no_less_and_ignores_order(parts, delta):
    total = compose(parts)
    assert compose(parts[::-1]) == total
    assert all(part.implies(total) for part in parts)
    at_delta = compose(parts, delta=delta)
    assert at_delta.epsilon <= max(total.epsilon_at(delta), 1e-300)
    assert all(part.implies(at_delta) for part in parts)


@quick
@given(st.lists(st.one_of(pures, approximate), min_size=1, max_size=4))
def test_approximate_composition_is_implied_by_its_parts(parts):
    total = compose(parts)
    assert all(part.implies(total) for part in parts)


def test_a_record_that_moves_under_a_guarantee_that_says_little():
    """e^ε is above all floats: δ may be anything, so that nothing is promised (it was an OverflowError)."""
    assert moved(ApproxDP(800.0, 1e-300)) == Unlimited()
