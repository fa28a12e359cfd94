"""Additive mechanisms keep their promise and waste nothing, by quadrature and exact sums rather than our formulas."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special

from confide.mechanism import Gaussian, Laplace, squared_steps
from confide.mechanism.calibration import laplace_ratio
from confide.mechanism.discrete import discrete_gaussian_mu, steps
from confide.privacy import GDP, ZCDP, ApproxDP, PureDP
from confide.statistic import Each, Mean, Median
from tests.mechanism.oracles import (
    discrete_hockey_stick,
    discrete_mass,
    hockey_stick,
    laplace_log_density,
    normal_log_density,
)

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTAS = (1e-4, 1e-6, 1e-9)
PAIRS = list(itertools.product(EPSILONS, DELTAS))
MEAN = Mean("x", bounds=(0, 3))  # sensitivity 3/n
N = 3


def scale_of(mechanism, statistic=MEAN, n=N):
    return mechanism.calibrate(statistic, n).noise.scale


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_pure(epsilon):
    b = scale_of(Laplace(PureDP(epsilon)))
    x = np.linspace(-5, 6, 1001)
    ratio = np.max(laplace_log_density(x, 0, b) - laplace_log_density(x, 1, b))
    assert 0.98 * epsilon <= ratio <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_laplace_approximate(epsilon, delta):
    r = 1 / scale_of(Laplace(ApproxDP(epsilon, delta)))
    spent = hockey_stick(laplace_log_density, lambda x: laplace_log_density(x, r), epsilon, (0.0, r), 45)
    assert spent <= delta * (1 + 1e-6)
    assert spent >= 0.98 * delta


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_gaussian_approximate(epsilon, delta):
    mu = 1 / scale_of(Gaussian(ApproxDP(epsilon, delta)))
    spent = hockey_stick(lambda x: normal_log_density(x, mu), normal_log_density, epsilon, (0.0, mu), 12)
    assert spent <= delta * (1 + 1e-9)
    assert spent >= (1 - 1e-6) * delta


def test_the_known_analytic_gaussian_scale():
    assert scale_of(Gaussian(ApproxDP(1.0, 1e-6))) == pytest.approx(4.2247, abs=5e-5)


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.1, 0.5, 2.0, 20.0])
def test_laplace_concentrated(rho):
    r = 1 / scale_of(Laplace(ZCDP(rho)))
    worst = 0.0
    for t in np.logspace(-3, 3, 40):  # the Rényi order, less one

        def moment(x, t=t):  # of e^{t·loss}, less one, over e^{tr} so that nothing overflows
            log_p, log_q = laplace_log_density(x), laplace_log_density(x, r)
            return np.exp(log_p) * (np.exp(t * (log_p - log_q - r)) - np.exp(-t * r))

        parts = [(-60.0, -8.0), (-8.0, 0.0), (0.0, r), (r, r + 8.0), (r + 8.0, r + 60.0)]
        total = sum(integrate.quad(moment, a, b, epsabs=1e-18, epsrel=1e-11, limit=200)[0] for a, b in parts)
        log_moment = np.log1p(total * np.exp(t * r)) if t * r < 1 else t * r + np.log(total + np.exp(-t * r))
        worst = max(worst, log_moment / (t * (1 + t)))
    assert worst <= rho * (1 + 1e-6)
    assert worst >= 0.98 * rho
    assert scale_of(Gaussian(ZCDP(rho))) == pytest.approx(1 / math.sqrt(2 * rho))


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.5, 1.0, 3.0, 8.0])
def test_laplace_gaussian_dp_over_all_levels(mu):
    r = 1 / scale_of(Laplace(GDP(mu)))
    x = np.concatenate([np.linspace(-30, r + 30, 20_001), [r / 2]])  # thresholds of the best tests
    log_level = np.where(x > 0, -x - math.log(2), np.log1p(-0.5 * np.exp(-np.abs(x))))
    y = x - r
    log_power = np.where(y > 0, -y - math.log(2), np.log1p(-0.5 * np.exp(-np.abs(y))))
    needed = special.ndtri_exp(log_power) - special.ndtri_exp(log_level)
    assert np.max(needed) <= mu * (1 + 1e-9)
    assert np.max(needed) >= mu * (1 - 1e-9)
    assert scale_of(Gaussian(GDP(mu))) == pytest.approx(1 / mu)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.25, 1e-4), (1.0, 1e-6), (1.0, 0.1), (5.0, 1e-2)])
@pytest.mark.parametrize("share", [0.5, 0.3, 0.05])
def test_laplace_on_a_vector_is_safe_however_the_shift_is_split(epsilon, delta, share):
    """δ of a product is the mean over one coordinate's loss of the other's δ at what is left of ε."""
    r = laplace_ratio(ApproxDP(epsilon, delta))
    first, second = share * r, (1 - share) * r

    def rest(e):
        if e >= second:
            return 0.0
        return -math.expm1((e - second) / 2) if e > -second else -math.expm1(e)

    def loss(x):
        return abs(x - first) - abs(x)

    parts = [0.5 * rest(epsilon - first), 0.5 * math.exp(-first) * rest(epsilon + first)]
    middle, _ = integrate.quad(
        lambda x: 0.5 * math.exp(-x) * rest(epsilon - loss(x)), 0, first, epsabs=0, points=[first / 2], limit=200
    )
    assert sum(parts) + middle <= delta * (1 + 1e-9)


LATTICES = [("laplace", 1.0), ("laplace", 0.25), ("gaussian", 1.0), ("gaussian", 0.25)]


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
@pytest.mark.parametrize(("kind", "step"), LATTICES)
def test_lattice_approximate(kind, step, epsilon, delta):
    mechanism = {"laplace": Laplace, "gaussian": Gaussian}[kind](ApproxDP(epsilon, delta), step=step)
    s = scale_of(mechanism) / step
    spent = discrete_hockey_stick(kind, s, round(1 / step), epsilon)
    assert spent <= delta * (1 + 1e-6)
    assert spent >= 0.98 * delta


@pytest.mark.parametrize("privacy", [PureDP(0.5), ApproxDP(0.5, 1e-6), ZCDP(0.1), GDP(0.7)])
def test_a_fine_lattice_is_the_line(privacy):
    kinds = [Laplace] if isinstance(privacy, PureDP) else [Laplace, Gaussian]
    for kind in kinds:
        for step in (2.0**-10, 2.0**-20, 2.0**-30):
            assert scale_of(kind(privacy, step=step)) == pytest.approx(scale_of(kind(privacy)), rel=2e-4)


def test_a_discrete_gaussian_of_one_step_has_twice_the_continuous_delta():
    epsilon, one_step = 6.3, 1.0
    delta = GDP(1 / one_step).delta_at(epsilon)
    assert discrete_hockey_stick("gaussian", one_step, 1, epsilon) > 2 * delta
    assert scale_of(Gaussian(ApproxDP(epsilon, delta))) == pytest.approx(one_step)
    assert scale_of(Gaussian(ApproxDP(epsilon, delta), step=one_step)) > 1.005 * one_step


@pytest.mark.parametrize("rho", [0.001, 0.05, 0.5, 3.0])
@pytest.mark.parametrize("step", [1.0, 0.2])
def test_lattice_concentrated(rho, step):
    k = round(1 / step)
    for kind, mechanism in (("laplace", Laplace), ("gaussian", Gaussian)):
        s = scale_of(mechanism(ZCDP(rho), step=step)) / step
        _, log_mass = discrete_mass(kind, s, int(80 * s + 40 * k + 40) if kind == "laplace" else int(45 * s + 60 * k))
        log_p, log_q = log_mass[k:], log_mass[:-k]
        # orders of the order of the decay, so that the sums stay inside the array; 2 is where k·α is whole
        orders = np.concatenate([1 + np.logspace(-2, 0.7, 25), [2.0, 3.0]])
        moments = [np.log(np.sum(np.exp(o * log_p + (1 - o) * log_q))) / (o - 1) / o for o in orders]
        assert max(moments) <= rho * (1 + 1e-6)
        assert max(moments) >= 0.98 * rho


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("step", [1.0, 0.5, 1 / 3, 0.05])
def test_lattice_gaussian_dp_at_every_corner(mu, step):
    k = round(1 / step)
    for kind, mechanism in (("laplace", Laplace), ("gaussian", Gaussian)):
        s = scale_of(mechanism(GDP(mu), step=step)) / step
        reach = int(70 * s) + 3 * k + 20
        _, log_mass = discrete_mass(kind, s, reach)
        tails = np.logaddexp.accumulate(log_mass[::-1])[::-1]  # log P(V ≥ j)
        j = slice(
            reach + (k + 1) // 2, 2 * reach - 3 * k - int(40 * s)
        )  # half of the corners; the other half by symmetry
        level, power = tails[j], tails[j.start - k : j.stop - k]
        needed = special.ndtri_exp(np.minimum(power, -1e-17)) - special.ndtri_exp(level)
        assert np.max(needed) <= mu * (1 + 1e-7)
        assert np.max(needed) >= 0.9999 * mu


@pytest.mark.parametrize("s", [50.0, 120.0])
def test_the_bound_beyond_the_scan_holds_where_both_can_be_computed(s):
    j = np.arange(1, int(12 * s * s) + 60)
    _, log_mass = discrete_mass("gaussian", s, int(12 * s * s) + 60)
    tails = np.logaddexp.accumulate(log_mass[::-1])[::-1][len(log_mass) // 2 + 1 :][: len(j) - 40]
    g = -special.ndtri_exp(tails)
    increments = np.diff(np.concatenate([[-g[0]], g]))
    assert np.max(increments) <= (1 + 1 / (12 * s * s)) / s
    assert discrete_gaussian_mu(3, s + 1e-9) >= discrete_gaussian_mu(3, s + 1.0)


@pytest.mark.parametrize("privacy", [ApproxDP(1.0, 1e-4), ApproxDP(0.5, 1e-6)])
def test_discrete_gaussian_vectors_keep_the_promise_for_every_shift(privacy):
    statistic = Mean(["x", "1 - x"], bounds=(0, 1))
    step = 0.5
    s = scale_of(Gaussian(privacy, step=step), statistic, 1) / step
    squared = squared_steps(statistic, 1, step, norm=2)
    assert squared == 8
    mass, log_mass = discrete_mass("gaussian", s, int(9 * s) + 6)
    for shift in ((2, 2), (2, 1), (2, 0), (1, 1)):
        assert sum(k * k for k in shift) <= squared
        losses = [np.concatenate([np.full(k, np.inf), log_mass[k:] - log_mass[: len(mass) - k]]) for k in shift]
        loss = losses[0][:, None] + losses[1][None, :]
        spent = np.sum(mass[:, None] * mass[None, :] * np.maximum(-np.expm1(privacy.epsilon - loss), 0))
        assert spent <= privacy.delta * (1 + 1e-6)


@pytest.mark.parametrize(
    ("width", "step", "whole"),
    [(0.9, 0.3, 3), (0.1, 0.01, 10), (10 / 7, 1 / 7, 10), (1.0, 0.3, 4), (1e-20, 1.0, 1), (1.0, 1.0 - 1e-12, 2)],
)
def test_sensitivity_in_whole_steps(width, step, whole):
    assert steps(width, step) == whole


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("step", [0.3, 0.5, 1.0, 4.0])
def test_integer_sensitivity_of_vectors_bounds_every_pair(step, norm):
    statistic = Mean(["x", "x**2", "abs(x)"], bounds=(-2, 2))
    x = np.linspace(-2, 2, 161)
    index = np.floor(np.stack([x, x**2, np.abs(x)]) / step + 0.5)
    found = np.max(np.linalg.norm(index[:, :, None] - index[:, None, :], ord=norm, axis=0))
    assert found**2 <= squared_steps(statistic, 1, step, norm)


def test_rounding_of_several_coordinates_adds_up():
    """Each coordinate of x + (0.1, 0.2, 0.3) crosses ½ somewhere on [0, ½]: three steps though Δ₁ is one and a half."""
    statistic = Mean(["x + 0.1", "x + 0.2", "x + 0.3"], bounds=(0, 0.5))
    assert statistic.sensitivity(1, norm=1) == pytest.approx(1.5)
    assert squared_steps(statistic, 1, 1.0, norm=1) == 9
    assert squared_steps(statistic, 1, 1.0, norm=2) == 3


def test_what_a_given_scale_promises():
    mean = Mean("x", bounds=(0, 0.9))
    # rounded up: as floats, 0.9 is more than three times 0.3
    assert Laplace(scale=0.3).guarantee(mean, 1) == PureDP(math.nextafter(3.0, 4.0))
    assert Gaussian(scale=0.3).guarantee(mean, 1) == GDP(math.nextafter(3.0, 4.0))
    assert Laplace(scale=2.0, step=0.3).guarantee(mean, 1).epsilon == pytest.approx(0.45)
    assert Laplace(scale=2.0, step=0.4).guarantee(mean, 1).epsilon == pytest.approx(0.6)
    assert Gaussian(scale=2.0, step=0.4).guarantee(mean, 1).rho == pytest.approx(1.2**2 / 8)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_a_given_guarantee_is_what_is_promised(kind):
    assert kind(GDP(0.5), step=0.1).guarantee(MEAN, N) == GDP(0.5)


def test_each_and_order_statistics_use_the_whole_range():
    assert scale_of(Laplace(PureDP(2.0)), Each("x", bounds=(0, 3)), 50) == 1.5
    assert scale_of(Laplace(PureDP(2.0)), Median("x", bounds=(0, 3)), 50) == 1.5
    assert scale_of(Gaussian(GDP(2.0)), Median("x", bounds=(0, 3)), 50) == 1.5
