"""Every calibration keeps its promise at extreme parameters, or is refused in words, at once: checked in mpmath."""

import itertools
import math
import time
from fractions import Fraction

import mpmath as mp
import pytest

from confide.errors import PrivacyError
from confide.mechanism import Gaussian, Laplace, SmoothCauchy, SmoothLaplace
from confide.mechanism.calibration import gaussian_ratio, laplace_ratio
from confide.mechanism.dilation import smooth_cauchy_pair, smooth_laplace_pair
from confide.mechanism.discrete import discrete_gaussian_ratio, discrete_laplace_rate
from confide.mechanism.keeping import keep_probability
from confide.privacy import GDP, ZCDP, ApproxDP, PureDP
from confide.statistic import Mean, Median
from tests.mechanism import promises

SIZES = (1e-300, 1e-50, 1e-12, 0.01, 1.0, 40.0, 1e6, 1e12)
DELTAS = (5e-324, 1e-30, 1e-6, 0.5, 1 - 1e-16)
PURE, CONCENTRATED, GAUSSIAN = ([kind(size) for size in SIZES] for kind in (PureDP, ZCDP, GDP))
APPROXIMATE = [
    ApproxDP(size, delta) for size, delta in itertools.product((1e-300, 1e-12, 0.01, 1.0, 40.0, 1e6), DELTAS)
]
ALL = [*PURE, *CONCENTRATED, *GAUSSIAN, *APPROXIMATE]


def check(privacy, calibrate, holds):
    """The promise holds for what was calibrated, if anything was; and not much time has passed."""
    started = time.perf_counter()
    try:
        found = calibrate()
    except PrivacyError as error:
        assert "more noise than can be stated" in str(error)
        return False
    finally:
        assert time.perf_counter() - started < 10
    with mp.workdps(promises.digits_for(privacy)):
        assert holds(found), (privacy, found)
    return True


@pytest.mark.parametrize("privacy", ALL, ids=str)
def test_laplace(privacy):
    assert check(privacy, lambda: laplace_ratio(privacy), lambda r: promises.laplace(privacy, Fraction(r)))


@pytest.mark.parametrize("privacy", [each for each in ALL if not isinstance(each, PureDP)], ids=str)
def test_gaussian(privacy):
    assert check(privacy, lambda: gaussian_ratio(privacy), lambda mu: promises.gaussian(privacy, Fraction(mu)))


@pytest.mark.parametrize("privacy", ALL, ids=str)
@pytest.mark.parametrize("k", [1, 10, 10**12])
def test_laplace_on_a_lattice(privacy, k):
    made = check(
        privacy,
        lambda: discrete_laplace_rate(privacy, k),
        lambda r: promises.discrete_laplace(privacy, k, Fraction(r)),
    )
    assert made or min(vars(privacy).values()) < 1e-200


@pytest.mark.parametrize(
    "privacy", [*CONCENTRATED, GDP(0.7), GDP(40.0), *(each for each in APPROXIMATE if each.epsilon >= 1)], ids=str
)
@pytest.mark.parametrize("k", [1, 3])
def test_gaussian_on_a_lattice(privacy, k):
    def holds(s):
        return s > 12 or promises.discrete_gaussian(privacy, k, Fraction(s))

    assert check(privacy, lambda: discrete_gaussian_ratio(privacy, k * k, 1), holds)


@pytest.mark.parametrize("privacy", [GDP(1e12), GDP(1e-300), ApproxDP(1e6, 5e-324), ApproxDP(1e-300, 1e-300)], ids=str)
@pytest.mark.parametrize("k", [10**6, 10**12, 10**40])
def test_long_shifts_on_a_lattice_need_no_long_arrays(privacy, k):
    started = time.perf_counter()
    try:
        assert discrete_gaussian_ratio(privacy, k * k, 1) >= 0.5 * k / gaussian_ratio(privacy)
    except PrivacyError as error:
        assert "more noise" in str(error)
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("privacy", [*ALL, GDP(1e-3), GDP(0.05), ZCDP(1e-3)], ids=str)
@pytest.mark.parametrize("k", [2, 10, 1024])
def test_randomized_response(privacy, k):
    check(privacy, lambda: keep_probability(privacy, k), lambda keep: promises.response(privacy, k, keep))


@pytest.mark.parametrize("privacy", [PureDP(1e-6), GDP(1e-9), ZCDP(1e-12), ApproxDP(1e-9, 1e-9)], ids=str)
@pytest.mark.parametrize("k", [2, 10])
def test_randomized_response_wastes_little(privacy, k):
    """A promise of less by one in a thousand is broken."""
    less = type(privacy)(*(value * 0.999 for value in vars(privacy).values()))
    with mp.workdps(promises.digits_for(privacy)):
        assert not promises.response(less, k, keep_probability(privacy, k))


@pytest.mark.parametrize("privacy", APPROXIMATE, ids=str)
def test_smooth_laplace(privacy):
    def pair():
        return smooth_laplace_pair(privacy.epsilon, privacy.delta, None, None)

    made = check(privacy, pair, lambda found: promises.smooth_laplace(privacy, *found))
    assert made or privacy.epsilon < 1e-200


@pytest.mark.parametrize("privacy", PURE, ids=str)
def test_smooth_cauchy(privacy):
    alpha, beta = smooth_cauchy_pair(privacy.epsilon, None, None)
    with mp.workdps(promises.digits_for(privacy)):
        assert promises.smooth_cauchy(privacy, alpha, beta)
    assert smooth_cauchy_pair(privacy.epsilon, alpha, beta) == (alpha, beta)  # what is calibrated is accepted
    given = smooth_cauchy_pair(privacy.epsilon, None, min(privacy.epsilon / 3, 600.0))
    with mp.workdps(promises.digits_for(privacy)):
        assert promises.smooth_cauchy(privacy, *given)


def test_the_oracles_see_a_promise_that_is_broken():
    """Planted: each law with a ten-billionth too little noise."""
    more = 1 + Fraction(1, 10**10)
    with mp.workdps(60):
        for privacy in (PureDP(1.0), ZCDP(1.0), GDP(1.0), ApproxDP(1.0, 1e-6)):
            assert not promises.laplace(privacy, Fraction(laplace_ratio(privacy)) * more)
            assert not promises.discrete_laplace(privacy, 3, Fraction(discrete_laplace_rate(privacy, 3)) * more)
            assert not promises.response(privacy, 2, keep_probability(privacy, 2) * (1 + 1e-5))
        assert not promises.gaussian(GDP(1.0), more)
        assert not promises.discrete_gaussian(
            ApproxDP(1.0, 1e-30), 1, Fraction(gaussian_ratio(ApproxDP(1.0, 1e-30))) ** -1 / 2
        )
        assert not promises.smooth_laplace(ApproxDP(1.0, 1e-6), *smooth_laplace_pair(1.0, 1e-5, None, None))
        assert not promises.smooth_cauchy(PureDP(1.0), *smooth_cauchy_pair(1 + 1e-9, None, None))


@pytest.mark.parametrize("width", [0.1, 1 / 3, 7e-5, 1e150, 1e-150])
@pytest.mark.parametrize("privacy", [PureDP(0.3), GDP(0.7), ZCDP(0.3)], ids=str)
def test_scales_are_rounded_up(width, privacy):
    for kind in (Laplace,) if isinstance(privacy, PureDP) else (Laplace, Gaussian):
        statistic = Mean("x", bounds=(0, width))
        scale = kind(privacy).calibrate(statistic, 1).noise.scale
        ratio = (laplace_ratio if kind is Laplace else gaussian_ratio)(privacy)
        assert Fraction(statistic.sensitivity(1)) <= Fraction(scale) * Fraction(ratio)
        promised = kind(scale=scale).guarantee(statistic, 1)
        parameter = next(iter(vars(promised).values()))
        assert Fraction(parameter) >= Fraction(statistic.sensitivity(1)) / Fraction(scale)


def test_the_scale_that_was_too_small():
    """ρ = r²/2 for small r: r = √2e-25 for a shift of one step of 0.1, and 10 steps in the range."""
    scale = Laplace(ZCDP(1e-50), step=0.1).calibrate(Mean("x", bounds=(0, 1)), 1).noise.scale
    assert scale == pytest.approx(1 / math.sqrt(2e-50), rel=1e-9)


def test_smooth_laplace_at_the_smallest_delta_ends():
    law = SmoothLaplace(ApproxDP(1.0, 5e-324)).calibrate(Median("x", bounds=(0, 1)), 100)
    assert 0 < law.beta < 1e-3
    with pytest.raises(PrivacyError, match="larger parameter"):
        Laplace(PureDP(1e-300)).calibrate(Mean("x", bounds=(0, 1e200)), 1)
    with pytest.raises(PrivacyError, match="larger parameter"):
        Laplace(PureDP(1.0), step=1e-300).calibrate(Mean("x", bounds=(0, 1e300)), 1)
    assert SmoothCauchy(PureDP(1e12)).smoothing()[1] == 700
