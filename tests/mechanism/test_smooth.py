"""Noise on a smooth sensitivity: the promise, checked over shifts, dilations and whole small domains."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from confide.errors import PrivacyError
from confide.mechanism import SmoothCauchy, SmoothCauchyLaw, SmoothLaplace, SmoothLaplaceLaw
from confide.mechanism.dilation import smooth_cauchy_epsilon, smooth_laplace_delta
from confide.privacy import ApproxDP, PureDP
from confide.statistic import Maximum, Median, Quantile
from tests.mechanism.oracles import LEVEL, data_sets, fit_p_value, hockey_stick, laplace_log_density, windows

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
DELTAS = (1e-4, 1e-6, 1e-9)
MEDIAN = Median("x", bounds=(0, 10))
LAWS = [
    (SmoothLaplaceLaw(0.5, 0.2, 0.0, 10.0, 3), stats.laplace()),
    (SmoothCauchyLaw(0.5, 0.2, 0.0, 10.0, 3), stats.cauchy()),
]
WINDOWS = np.array([[1.0, 2.0, 2.5, 4.0, 4.1, 7.0, 9.0], [0.0, 0.0, 0.0, 0.0, 3.0, 10.0, 10.0], [5.0] * 7])


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def laplace_spent(epsilon, alpha, shift_share, dilation):
    """The divergence of Laplace(0, 1) from Laplace(d, e^λ), d a share of the largest shift, by quadrature."""
    b = math.exp(dilation)
    d = shift_share * alpha * min(1.0, b)
    reach = 45.0 + (epsilon + alpha) / max(abs(math.expm1(-dilation)), 0.5)
    return hockey_stick(laplace_log_density, lambda x: laplace_log_density(x, d, b), epsilon, (0.0, d), reach)


@pytest.mark.parametrize(("epsilon", "delta"), itertools.product(EPSILONS, DELTAS))
def test_smooth_laplace_keeps_delta_over_all_shifts_and_dilations(epsilon, delta):
    alpha, beta = SmoothLaplace(ApproxDP(epsilon, delta)).smoothing()
    assert alpha == epsilon / 2
    assert beta >= epsilon / (2 * math.log(2 / delta))
    spent = {
        (shift, share): laplace_spent(epsilon, alpha, shift, share * beta)
        for shift in (0.0, 0.5, 0.9, 1.0)
        for share in (-1.0, -0.95, -0.5, 0.0, 0.5, 0.95, 1.0)
    }
    assert max(spent.values()) <= delta * (1 + 1e-6)
    assert spent[1.0, -1.0] == max(spent.values())
    assert spent[1.0, -1.0] >= 0.98 * delta


@pytest.mark.parametrize("alpha_share", [0.2, 0.8, 1.0])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (2.0, 0.2), (5.0, 1e-6)])
def test_smooth_laplace_along_the_curve(epsilon, delta, alpha_share):
    """Other pairs, also where a wider law or no dilation at all could be the worst."""
    alpha, beta = SmoothLaplace(ApproxDP(epsilon, delta), alpha=alpha_share * epsilon).smoothing()
    spent = [laplace_spent(epsilon, alpha, 1.0, share * beta) for share in np.linspace(-1, 1, 21)]
    assert max(spent) <= delta * (1 + 1e-6)
    assert max(spent) >= 0.98 * delta
    again = SmoothLaplace(ApproxDP(epsilon, delta), beta=beta).smoothing()[0]
    assert again == pytest.approx(alpha, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "alpha", "beta"), [(0.5, 0.6, 0.4), (0.3, 1.5, 3.0), (1.0, 0.2, 2.5), (1.0, 1.0, 1e-3)]
)
def test_closed_form_of_the_divergence(epsilon, alpha, beta):
    spent = [laplace_spent(epsilon, alpha, 1.0, share * beta) for share in np.linspace(-1, 1, 41)]
    assert smooth_laplace_delta(epsilon, alpha, beta) == pytest.approx(max(spent), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "expected"), [(5.0, 7.7e-6), (1.0, 5.9e-7)])
def test_the_classical_pair_spends_a_fraction(epsilon, expected):
    spent = smooth_laplace_delta(epsilon, epsilon / 2, epsilon / (2 * math.log(2e4)))
    assert spent == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_smooth_cauchy_keeps_epsilon_over_all_shifts_and_dilations(epsilon):
    alpha, beta = SmoothCauchy(PureDP(epsilon)).smoothing()
    assert alpha == epsilon / 2
    x = np.tan(np.linspace(-math.pi / 2 + 1e-7, math.pi / 2 - 1e-7, 200_001))
    worst = 0.0
    for shift, share in itertools.product((0.0, 0.6, 1.0), np.linspace(-1, 1, 9)):
        b = math.exp(share * beta)
        ratio = stats.cauchy.logpdf(x) - stats.cauchy.logpdf(x, shift * alpha * min(1.0, b), b)
        worst = max(worst, np.max(np.abs(ratio)))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.98 * epsilon


def test_the_classical_cauchy_pair_spends_a_quarter():
    assert smooth_cauchy_epsilon(0.1 / 6, 0.1 / 6) == pytest.approx(0.023, abs=0.001)
    assert SmoothCauchy(PureDP(0.1)).smoothing()[1] > 5 * 0.1 / 6


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_cauchy_alpha_for_a_given_beta(beta):
    alpha, _ = SmoothCauchy(PureDP(1.0), beta=beta).smoothing()
    assert smooth_cauchy_epsilon(alpha, beta) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("epsilon", [50.0, 400.0])
def test_large_epsilon_does_not_overflow(epsilon):
    assert SmoothCauchy(PureDP(epsilon)).smoothing()[1] == pytest.approx(epsilon, rel=1e-6)
    assert math.isfinite(SmoothLaplace(ApproxDP(epsilon, 1e-6)).smoothing()[1])


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (SmoothLaplace, {"alpha": 1.1}),
        (SmoothLaplace, {"beta": 0.5}),
        (SmoothLaplace, {"alpha": 0.5, "beta": 0.2}),
        (SmoothCauchy, {"alpha": 1.1}),
        (SmoothCauchy, {"beta": 1.0}),
        (SmoothCauchy, {"alpha": 0.9, "beta": 0.9}),
    ],
)
def test_pairs_that_break_the_promise_are_refused(mechanism, options):
    privacy = ApproxDP(1.0, 1e-4) if mechanism is SmoothLaplace else PureDP(1.0)
    with pytest.raises(PrivacyError, match=r"alpha|beta"):
        mechanism(privacy, **options)


@pytest.mark.parametrize("mechanism", [SmoothLaplace(ApproxDP(1.0, 0.01)), SmoothCauchy(PureDP(0.8))], ids=str)
@pytest.mark.parametrize(("rank", "cap"), [(1, 2), (2, 1), (2, 3), (3, 3)])
def test_whole_promise_on_every_pair_of_neighbours(mechanism, rank, cap):
    """All data sets of three records from {0, 0.3, 0.4, 1}, the density integrated on both sides of every kink."""
    law = mechanism.calibrate(Quantile("x", rank / 3, bounds=(0, 1)), 3)
    law = type(law)(law.alpha, law.beta, 0.0, 1.0, cap)
    sets, distance = data_sets((0.0, 0.3, 0.4, 1.0), 3)
    window = windows(sets, rank, cap, 0.0, 1.0)
    x = np.concatenate([np.geomspace(1e-6, 300.0, 3000)])
    y = np.unique(np.concatenate([-x, x + 1, np.linspace(0, 1, 2001)]))
    log_density = np.asarray(jax.jit(jax.vmap(law.log_prob, in_axes=(None, 0)))(y, window))
    density = np.exp(log_density)
    for i, j in np.argwhere(distance == 1):
        if isinstance(mechanism, SmoothCauchy):
            assert np.max(log_density[i] - log_density[j]) <= 0.8 * (1 + 1e-12)
        else:
            spent = np.trapezoid(np.maximum(density[i] - math.e * density[j], 0), y)
            assert spent <= 0.01 * (1 + 1e-3)


@pytest.mark.parametrize(("law", "standard"), LAWS, ids=["laplace", "cauchy"])
@pytest.mark.parametrize("window", WINDOWS)
def test_density_is_normalised_and_draws_follow_it(law, standard, window):
    scale, u = float(law.scale(window)), window[3]
    compiled = jax.jit(law.log_prob)
    for y in (-1.0, 2.0, 11.0):
        assert float(compiled(y, window)) == pytest.approx(
            standard.logpdf((y - u) / scale) - math.log(scale), rel=1e-12
        )
    total, _ = integrate.quad(
        lambda t: float(np.exp(compiled(u + scale * math.tan(t), window))) * scale / math.cos(t) ** 2,
        -math.pi / 2,
        math.pi / 2,
        points=[0.0],
    )
    assert total == pytest.approx(1, abs=1e-7)
    draws = np.asarray(jax.jit(law.sample)(jax.random.key(7), np.tile(window, (40_000, 1))))
    assert fit_p_value(draws, lambda y: standard.cdf((y - u) / scale)) > LEVEL
    assert fit_p_value(draws, lambda y: standard.cdf((y - u) / (1.1 * scale))) < LEVEL


@pytest.mark.parametrize(("law", "standard"), LAWS, ids=["laplace", "cauchy"])
def test_log_density_is_differentiable_in_the_window(law, standard):
    del standard
    gradient = np.asarray(jax.grad(law.log_prob, argnums=1)(6.0, jnp.asarray(WINDOWS[0])))
    for i in range(7):
        step = 1e-6 * np.eye(7)[i]
        slope = (law.log_prob(6.0, WINDOWS[0] + step) - law.log_prob(6.0, WINDOWS[0] - step)) / 2e-6
        assert gradient[i] == pytest.approx(float(slope), abs=1e-7)


def test_window_sizes():
    law = SmoothLaplace(ApproxDP(5.0, 1e-4)).calibrate(MEDIAN, 100)
    assert law.window == math.ceil(math.log(1e4) / law.beta) < 100
    assert SmoothLaplace(ApproxDP(5.0, 1e-4), cap=7).calibrate(MEDIAN, 100).window == 7
    assert SmoothLaplace(ApproxDP(5.0, 1e-4), cap=700).calibrate(MEDIAN, 100).window == 100
    assert SmoothCauchy(PureDP(0.1)).calibrate(Maximum("x", bounds=(0, 10)), 3).window == 3


def test_one_compilation_serves_all_scales():
    traces = []

    @jax.jit
    def log_prob(law, y, window):
        traces.append(1)
        return law.log_prob(y, window)

    for epsilon in (1.0, 2.0):
        law = SmoothLaplace(ApproxDP(epsilon, 1e-4), cap=3).calibrate(MEDIAN, 100)
        assert np.isfinite(log_prob(law, 1.0, jnp.asarray(WINDOWS))).all()
        assert hash(law) == hash(SmoothLaplace(ApproxDP(epsilon, 1e-4), cap=3).calibrate(MEDIAN, 100))
    assert len(traces) == 1
