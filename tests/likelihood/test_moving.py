"""The law of a clipped record at a traced θ, against scipy's quadrature and closed forms.

The families below are written down a second time, in plain Python, and integrated by `scipy.integrate.quad` between
hand-given points; nothing of the library is used for that.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import integrate, special, stats

from confide import populations
from confide.errors import AccuracyError
from confide.likelihood.record_law.pieces import pieces_of
from confide.likelihood.record_law.traced import moving_law
from confide.population import Population
from confide.statistic import Each, Mean


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def quad(f, low, high, absolute=1e-15):
    """scipy's adaptive quadrature; that it meets rounding before the tolerance is no reason to complain."""
    return integrate.quad(f, low, high, epsabs=absolute, epsrel=1e-13, limit=200, full_output=1)[0]


def phi(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


@dataclass(frozen=True)
class Family:
    """A population, its density and tails in plain Python as functions of (x, *θ), and points that guide quadrature."""

    population: Any
    pdf: Any
    cdf: Any
    survival: Any
    points: Any
    support: Any

    def expect(self, f, theta, bounds, kinks=()):
        """E f(clip X), by quadrature between the kinks of f and the points of the density, and the two atoms."""
        low, high = bounds
        a, b = (min(max(end, low), high) for end in self.support(*theta))
        edges = sorted({a, b, *(p for p in (*self.points(*theta), *kinks) if a < p < b)})
        total = f(low) * self.cdf(low, *theta) + f(high) * self.survival(high, *theta)
        for left, right in pairwise(edges):
            total += quad(lambda x: f(x) * self.pdf(x, *theta), left, right)
        return total


def around(mean, sd, reach=38.0):
    """Points around a peak, so that quadrature cannot overlook it."""
    return [mean + sign * k * sd for k in (0, 1, 2, 4, 6, 8, 11, 15, 20, reach) for sign in (-1, 1)]


def decades(*theta):
    return [10.0**-k for k in range(1, 14)] + [1.0, 2.0, 4.0, 8.0]


EVERYWHERE = (-math.inf, math.inf)

FAMILIES = {
    "normal_variance": Family(
        populations.normal_variance(),
        lambda x, v: math.exp(-0.5 * x * x / v) / math.sqrt(2 * math.pi * v),
        lambda x, v: phi(x / math.sqrt(v)),
        lambda x, v: phi(-x / math.sqrt(v)),
        lambda v: around(0.0, math.sqrt(v)),
        lambda v: EVERYWHERE,
    ),
    "normal": Family(
        populations.normal(),
        lambda x, m, v: math.exp(-0.5 * (x - m) ** 2 / v) / math.sqrt(2 * math.pi * v),
        lambda x, m, v: phi((x - m) / math.sqrt(v)),
        lambda x, m, v: phi((m - x) / math.sqrt(v)),
        lambda m, v: around(m, math.sqrt(v)),
        lambda m, v: EVERYWHERE,
    ),
    "lognormal": Family(
        populations.lognormal(),
        lambda x, m, s: (
            math.exp(-0.5 * ((math.log(x) - m) / s) ** 2) / (x * s * math.sqrt(2 * math.pi)) if x > 0 else 0.0
        ),
        lambda x, m, s: phi((math.log(x) - m) / s) if x > 0 else 0.0,
        lambda x, m, s: phi((m - math.log(x)) / s) if x > 0 else 1.0,
        lambda m, s: [math.exp(point) for point in around(m, s, 25.0)],
        lambda m, s: (0.0, math.inf),
    ),
    "laplace": Family(
        populations.laplace(),
        lambda x, m, b: math.exp(-abs(x - m) / b) / (2 * b),
        lambda x, m, b: 0.5 * math.exp((x - m) / b) if x < m else 1 - 0.5 * math.exp((m - x) / b),
        lambda x, m, b: 0.5 * math.exp((m - x) / b) if x > m else 1 - 0.5 * math.exp((x - m) / b),
        around,
        lambda m, b: EVERYWHERE,
    ),
    "uniform_width": Family(
        populations.uniform_width(),
        lambda x, w: 0.5 / w,
        lambda x, w: min(max(0.5 * (1 + x / w), 0.0), 1.0),
        lambda x, w: min(max(0.5 * (1 - x / w), 0.0), 1.0),
        lambda w: [],
        lambda w: (-w, w),
    ),
    "exponential": Family(
        populations.exponential(),
        lambda x, r: r * math.exp(-r * x),
        lambda x, r: -math.expm1(-r * x) if x > 0 else 0.0,
        lambda x, r: math.exp(-r * x) if x > 0 else 1.0,
        lambda r: [k / r for k in (0.5, 1, 3, 8, 20, 40, 100)],
        lambda r: (0.0, math.inf),
    ),
    "gamma": Family(
        populations.gamma(),
        lambda x, a, r: math.exp(a * math.log(r) + (a - 1) * math.log(x) - r * x - math.lgamma(a)) if x > 0 else 0.0,
        lambda x, a, r: float(special.gammainc(a, r * x)),
        lambda x, a, r: float(special.gammaincc(a, r * x)),
        lambda a, r: [*decades(), *around(a / r, math.sqrt(a) / r)],
        lambda a, r: (0.0, math.inf),
    ),
    "beta": Family(
        populations.beta(),
        lambda x, a, b: (
            math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - special.betaln(a, b)) if 0 < x < 1 else 0.0
        ),
        lambda x, a, b: float(special.betainc(a, b, x)),
        lambda x, a, b: float(special.betainc(b, a, 1 - x)),
        lambda a, b: [*decades(), 0.5, 0.9, 0.99, *around(a / (a + b), 0.5 / math.sqrt(a + b))],
        lambda a, b: (0.0, 1.0),
    ),
}

#: one statistic with all kinds of components: kinks, a jump, a flat part, a singularity in the slope
PARTS = {
    "x": (lambda x: x, []),
    "abs(x - 1)": (lambda x: abs(x - 1), [1.0]),
    "x**2": (lambda x: x * x, [0.0]),
    "x > 0.5": (lambda x: float(x > 0.5), [0.5]),
    "clip(x, 0.2, 0.8)": (lambda x: min(max(x, 0.2), 0.8), [0.2, 0.8]),
    "abs(x)**0.1": (lambda x: abs(x) ** 0.1, [0.0, *(s * 10.0**-k for k in range(1, 13) for s in (-1, 1))]),
}

#: θ over orders of magnitude, narrow against the bounds and far beyond them
CASES = [
    ("normal_variance", (-10, 10), [(0.01,), (0.3,), (2.0,), (100.0,)]),
    ("normal", (-4, 4), [(1.0, 0.01), (-3.0, 2.0), (7.0, 3.0)]),
    ("lognormal", (0, 10), [(0.0, 0.1), (1.0, 1.0), (-3.0, 0.5)]),
    ("laplace", (-10, 10), [(0.3, 1.0), (1.0 - 1e-7, 0.1), (9.99, 0.3), (-12.0, 3.0)]),
    ("uniform_width", (-10, 10), [(0.01,), (3.0,), (9.9,), (30.0,)]),
    ("exponential", (0, 10), [(0.05,), (1.0,), (100.0,)]),
    ("gamma", (0, 10), [(3.0, 1.0), (1.5, 0.1), (200.0, 30.0)]),
    ("beta", (0, 1), [(2.0, 3.0), (300.0, 200.0), (1.5, 2.5)]),
]


def test_functions(s, width):
    return jnp.stack([s / width, jnp.cos(3.0 * s / width)])


test_functions.__test__ = False


@cache
def expectations(name, bounds):
    """E f(s_c(clip X)) for all components c and test functions f, and its derivative in θ, compiled once per family."""
    statistic = Mean(list(PARTS), bounds)
    widths = jnp.asarray([max(abs(end) for end in ends) for ends in statistic.ranges])[:, None]

    def expect(theta):
        s, weights = moving_law(FAMILIES[name].population, statistic, theta)
        return jnp.append((test_functions(s, widths) @ weights).ravel(), weights.sum())

    slopes = jax.jacfwd(expect) if name in WITH_SLOPES else lambda theta: None
    return jax.jit(lambda theta: (expect(theta), slopes(theta))), np.asarray(widths)[:, 0]


def reference(name, theta, bounds, widths):
    result = []
    for f in (lambda s, w: s / w, lambda s, w: math.cos(3.0 * s / w)):
        for (function, kinks), width in zip(PARTS.values(), widths, strict=True):
            result.append(
                FAMILIES[name].expect(lambda x, g=function, w=width: f(g(x), w), theta, bounds, kinks)  # noqa: B023
            )
    return np.array([*result, 1.0])


@pytest.mark.parametrize(("name", "bounds", "thetas"), CASES, ids=[case[0] for case in CASES])
def test_expectations_over_orders_of_magnitude(name, bounds, thetas):
    compute, widths = expectations(name, bounds)
    for theta in thetas:
        found, _ = compute(jnp.asarray(theta))
        np.testing.assert_allclose(
            found, reference(name, theta, bounds, widths), atol=1e-10, rtol=0, err_msg=str(theta)
        )


WITH_SLOPES = ("normal_variance", "laplace", "uniform_width", "gamma", "beta")
STENCIL = [(-3, -1 / 60), (-2, 3 / 20), (-1, -3 / 4), (1, 3 / 4), (2, -3 / 20), (3, 1 / 60)]


def finite_difference(f, theta, index, step):
    """∂f/∂θ_i from six points: error step⁶ f⁽⁷⁾/140."""
    shifted = lambda k: [t + k * step * (i == index) for i, t in enumerate(theta)]  # noqa: E731
    return sum(weight * f(shifted(k)) for k, weight in STENCIL) / step


DERIVATIVES = [
    ("normal_variance", (-10, 10), (2.0,), 0.02),
    ("laplace", (-10, 10), (0.7, 1.2), 0.02),
    ("uniform_width", (-10, 10), (3.0,), 0.02),
    ("uniform_width", (-10, 10), (12.0,), 0.05),
    ("gamma", (0, 10), (3.0, 1.0), 0.02),
    ("beta", (0, 1), (2.0, 3.0), 0.02),
]


@pytest.mark.parametrize(("name", "bounds", "theta", "step"), DERIVATIVES, ids=[f"{c[0]}{c[2]}" for c in DERIVATIVES])
def test_derivatives_in_theta(name, bounds, theta, step):
    compute, widths = expectations(name, bounds)
    _, slopes = compute(jnp.asarray(theta))
    for index in range(len(theta)):
        expected = finite_difference(lambda t: reference(name, t, bounds, widths), theta, index, step)
        np.testing.assert_allclose(slopes[:, index], expected, atol=1e-8, rtol=0)


def test_the_kink_of_the_density_may_fall_on_a_jump_of_s():
    """At loc = ½ exactly the panel between the two has no width; P(X > ½) = ½ and its slope is the density, 1/2b."""
    compute, _ = expectations("laplace", (-10, 10))
    found, slopes = compute(jnp.asarray([0.5, 0.8]))
    jump = list(PARTS).index("x > 0.5")
    assert found[jump] == pytest.approx(0.5, abs=1e-12)
    assert slopes[jump, 0] == pytest.approx(1 / 1.6, abs=1e-12)
    flat = list(PARTS).index("clip(x, 0.2, 0.8)")  # its mean moves with loc by P(0.2 < X < 0.8)
    assert slopes[flat, 0] == pytest.approx((1 - math.exp(-0.3 / 0.8)) / 0.8, abs=1e-10)  # over the range 0.8


def test_singular_densities_and_singular_statistics_together():
    """x^0.1 under densities with a pole at 0 (and at 1): incomplete gamma and beta functions in high precision."""
    tenth = list(PARTS).index("abs(x)**0.1")
    compute, widths = expectations("gamma", (0, 10))
    for a, r in [(0.1, 1.0), (0.5, 3.0), (2.0, 0.02)]:
        inside = mp.gammainc(a + 0.1, 0, 10 * r) / mp.mpf(r) ** 0.1
        moment = (inside + mp.mpf(10) ** 0.1 * mp.gammainc(a, 10 * r)) / mp.gamma(a)
        assert float(compute(jnp.asarray([a, r]))[0][tenth]) == pytest.approx(float(moment) / widths[tenth], abs=1e-10)
    compute, _ = expectations("beta", (0, 1))
    for a, b in [(0.5, 0.5), (0.3, 4.0), (4.0, 0.4)]:
        moment = mp.beta(a + 0.1, b) / mp.beta(a, b)
        assert float(compute(jnp.asarray([a, b]))[0][tenth]) == pytest.approx(float(moment), abs=1e-10)


def test_the_uniform_examples_in_closed_form():
    """Example 3: E|X|^a = θ^a/(a + 1) inside the bounds, and with clipping; and the derivatives."""
    powers = np.array([0.01, 0.5, 2.0])
    statistic = Mean([f"abs(x)**{a}" for a in powers], bounds=(-1, 1))

    def means(width):
        s, weights = moving_law(populations.uniform_width(), statistic, width)
        return s @ weights

    compute = jax.jit(lambda width: (means(width), jax.jacrev(means)(width)[:, 0]))
    values, slopes = compute(jnp.asarray([0.3]))
    np.testing.assert_allclose(values, 0.3**powers / (powers + 1), atol=1e-12)
    np.testing.assert_allclose(slopes, powers * 0.3 ** (powers - 1) / (powers + 1), rtol=1e-10)
    values, slopes = compute(jnp.asarray([4.0]))  # a quarter of the records is inside
    np.testing.assert_allclose(values, 0.75 + 0.25 / (powers + 1), atol=1e-12)
    np.testing.assert_allclose(slopes, (1 - 1 / (powers + 1)) / 16, atol=1e-12)


def test_discrete_records_are_summed():
    s, weights = jax.jit(moving_law, static_argnums=(0, 1))(
        populations.poisson(), Mean("x**2", bounds=(1.5, 6)), jnp.asarray([3.0])
    )
    law = stats.poisson(3.0)
    expected = 1.5**2 * law.cdf(1) + sum(k * k * law.pmf(k) for k in range(2, 6)) + 36 * law.sf(5)
    assert float(weights @ s[0]) == pytest.approx(expected, rel=1e-14)
    s, weights = moving_law(populations.categorical(3), Mean("x", bounds=(0, 2)), jnp.asarray([0.2, 0.3, 0.5]))
    assert float(weights @ s[0]) == pytest.approx(1.3, rel=1e-14)
    with pytest.raises(AccuracyError, match="narrow the bounds"):
        moving_law(populations.poisson(), Mean("x", bounds=(0, 1e6)), jnp.asarray([3.0]))


def _two_peaks(share, place):
    peaks = dist.Normal(jnp.array([-3.0, place]), jnp.array([0.1, 0.5]))
    return dist.MixtureSameFamily(dist.Categorical(probs=jnp.array([share, 1 - share])), peaks)


@pytest.mark.slow  # it takes ten seconds to compile
def test_a_population_of_ones_own_with_several_modes():
    mixture = Population(_two_peaks, {"share": constraints.unit_interval, "place": constraints.real})
    law = jax.jit(lambda theta: moving_law(mixture, Mean("x", bounds=(-10, 10)), theta))
    for share, place in [(0.3, 2.0), (0.9, 8.0), (0.01, -2.0)]:
        s, weights = law(jnp.asarray([share, place]))
        assert float(weights.sum()) == pytest.approx(1, abs=1e-11)
        clipped = sum(
            p * Family.expect(FAMILIES["normal"], lambda x: x, (m, sd**2), (-10, 10))
            for p, m, sd in [(share, -3.0, 0.1), (1 - share, place, 0.5)]
        )
        assert float(weights @ s[0]) == pytest.approx(clipped, abs=1e-10)


def test_a_python_function_has_its_turns_found():
    statistic = Each(lambda x: jnp.sin(2 * x) * x, bounds=(-2, 2), range=(-2, 2))
    assert len(pieces_of(statistic).ends) == 5  # turns at 0 and at ±1.0145
    s, weights = jax.jit(lambda t: moving_law(populations.normal_variance(), statistic, t))(jnp.asarray([1.0]))
    expected = FAMILIES["normal_variance"].expect(lambda x: math.sin(2 * x) * x, (1.0,), (-2, 2))
    assert float(weights @ s[0]) == pytest.approx(expected, abs=1e-11)


def test_one_compiled_law_serves_all_theta():
    compute, _ = expectations("normal_variance", (-10, 10))
    before = compute._cache_size()
    compute(jnp.asarray([0.77]))
    assert compute._cache_size() == max(before, 1) == 1
