"""The samplers: released whole numbers against their discrete laws, each with a planted bug that is caught."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.releasing import exact, plan, ranks
from confide.releasing.noise import draw, gaussian_scale, laplace_scale
from tests.releasing.exactly import log_gaussian, log_laplace, log_rounded_cauchy, log_rounded_laplace

ALPHA = 1e-6


def fits(drawn, log_mass, cuts):
    """Whether draws follow a law, by a chi-square test on the bins between cuts (the last bins reach to infinity)."""
    drawn = np.asarray(drawn, dtype=float)
    wide = np.arange(-(10**5), 10**5 + 1)
    mass = np.exp(log_mass(wide))
    edges = np.concatenate([[-np.inf], np.asarray(cuts) + 0.5, [np.inf]])
    observed = np.asarray([np.sum((drawn > a) & (drawn <= b)) for a, b in zip(edges, edges[1:], strict=False)])
    expected = np.asarray([mass[(wide > a) & (wide <= b)].sum() for a, b in zip(edges, edges[1:], strict=False)])
    # what lies beyond the enumerated numbers belongs to the two outer bins
    expected[[0, -1]] += (1 - mass.sum()) / 2
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > ALPHA


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5, 400.0])
@pytest.mark.parametrize(("kind", "law"), [("laplace", log_laplace), ("gaussian", log_gaussian)])
def test_opendp_noise_is_the_discrete_law(kind, law, scale):
    drawn = draw(kind, scale, 20_000)
    cuts = np.unique(np.round(np.linspace(-2.5 * scale, 2.5 * scale, 12)))
    assert fits(drawn, lambda k: law(k, scale), cuts)
    if scale >= 1:
        assert not fits(np.asarray(drawn) // 2, lambda k: law(k, scale), cuts)


@pytest.mark.parametrize("scale", [1.0, 3.3, 60.0])
def test_rounded_laplace(scale):
    drawn = [ranks.rounded_laplace(scale) for _ in range(2_000)]
    cuts = np.unique(np.round(np.linspace(-2.5 * scale, 2.5 * scale, 10)))
    assert fits(drawn, lambda k: log_rounded_laplace(k, scale), cuts)
    assert not fits(drawn, lambda k: log_rounded_laplace(k, 2 * scale), cuts)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(50)])
def test_rounded_cauchy(scale):
    drawn = [exact.rounded_cauchy(scale) for _ in range(10_000)]
    cuts = np.unique(np.round(np.linspace(-4, 4, 12) * float(scale)))
    assert fits(drawn, lambda k: log_rounded_cauchy(k, float(scale)), cuts)
    assert not fits(drawn, lambda k: log_rounded_cauchy(k, 2 * float(scale)), cuts)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_bernoulli_exp(rate):
    hits = sum(exact.bernoulli_exp(rate) for _ in range(5_000))
    assert stats.binomtest(hits, 5_000, math.exp(-rate)).pvalue > ALPHA


def test_bernoulli_many_and_below_many():
    hits = exact.bernoulli_many(Fraction(0.7), 100_000).sum()
    assert stats.binomtest(int(hits), 100_000, 0.7).pvalue > ALPHA
    counts = np.bincount(exact.below_many(5, 100_000), minlength=5)
    assert stats.chisquare(counts).pvalue > ALPHA
    with pytest.raises(ArithmeticError):
        exact.bernoulli_many(Fraction(1, 3), 1)


def test_permutations_are_uniform():
    counts = np.bincount([int("".join(map(str, exact.permutation(3))), 3) for _ in range(6_000)])
    assert stats.chisquare(counts[counts > 0]).pvalue > ALPHA
    assert np.sum(counts > 0) == 6
    assert sorted(exact.permutation(1000)) == list(range(1000))


def released(channel, exactly, count):
    """Many releases from the same exact numbers."""
    chosen = plan.plan_of(channel)
    return chosen, [chosen.publish(exactly)[0] for _ in range(count)]


def test_released_sums():
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0), step=1.0), n=1)
    chosen, drawn = released(channel, [3 * 2**20], 1_500)
    assert chosen.scale == pytest.approx(1.0, rel=1e-8)
    assert fits(np.asarray(drawn) - 3, lambda k: log_laplace(k, chosen.scale), np.arange(-4, 5))


def test_released_windows_of_the_exponential_mechanism():
    channel = cf.Channel(cf.Median("x", (0, 1)), cf.Exponential(cf.PureDP(1.0), cap=2), n=5)
    chosen = plan.plan_of(channel)
    high = chosen.grid.high[0]
    window = np.asarray([high // 10, high // 4, high // 2, high // 2, high - 5])
    drawn = np.asarray([chosen.publish(window)[0] for _ in range(10_000)])
    edges = np.asarray([0, *window, high])
    weight = np.diff(edges) * np.exp(-0.5 * np.maximum(2 - np.arange(6), np.arange(6) - 3))
    observed = np.histogram(drawn, bins=np.unique(edges))[0]
    expected = weight[np.diff(edges) > 0]
    keep = expected / expected.sum() * 10_000 > 1
    assert stats.chisquare(observed[keep], (expected / expected.sum() * 10_000)[keep], sum_check=False).pvalue > ALPHA
    inside = drawn[(drawn >= window[1]) & (drawn < window[2])]
    spread = np.histogram(inside, bins=np.linspace(window[1], window[2], 9))[0]
    assert stats.chisquare(spread).pvalue > ALPHA


@pytest.mark.parametrize(
    "mechanism", [cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-4), cap=3), cf.SmoothCauchy(cf.PureDP(1.0), cap=3)]
)
def test_released_windows_of_smooth_mechanisms(mechanism):
    channel = cf.Channel(cf.Median("x", (0, 1)), mechanism, n=5)
    chosen = plan.plan_of(channel)
    low, high = chosen.grid.low[0], chosen.grid.high[0]
    window = np.asarray([low, high // 5, high // 4, high // 3, high // 2, high - 9, high])
    expected = channel.law.scale(np.asarray([float(Fraction(int(q)) * chosen.grid.step) for q in window]))
    scale = chosen.scale(window)
    assert scale * float(chosen.grid.step) == pytest.approx(float(expected), rel=1e-6)
    drawn = (np.asarray([chosen.publish(window)[0] for _ in range(1_000)], dtype=float) - window[3]) / scale
    law = stats.laplace if isinstance(mechanism, cf.SmoothLaplace) else stats.cauchy
    assert stats.kstest(drawn, law.cdf).pvalue > ALPHA
    assert stats.kstest(2 * drawn, law.cdf).pvalue < ALPHA


@pytest.mark.parametrize("k", [2, 4])
def test_released_answers(k):
    channel = cf.Channel(cf.Each("x", (0, k - 1)), cf.RandomizedResponse(cf.PureDP(1.0)), n=9)
    chosen = plan.plan_of(channel)
    counts = np.bincount(chosen.publish(np.ones(50_000, dtype=int)), minlength=k)
    keep = channel.law.keep
    assert stats.chisquare(counts, 50_000 * np.where(np.arange(k) == 1, keep, (1 - keep) / (k - 1))).pvalue > ALPHA


@pytest.mark.parametrize("step", [None, 0.25])
def test_released_records(step):
    channel = cf.Channel(cf.Each("x", (0, 1)), cf.Laplace(cf.PureDP(1.0), step=step), n=9)
    chosen = plan.plan_of(channel)
    drawn = np.asarray(chosen.publish(np.full(5_000, chosen.grid.high[0])), dtype=float) * float(chosen.step)
    if step is None:
        assert stats.kstest(drawn - 1, stats.laplace(scale=1.0).cdf).pvalue > ALPHA
    else:
        assert fits(np.round((drawn - 1) / step), lambda k: log_laplace(k, chosen.scale), np.arange(-10, 11, 2))


@pytest.mark.parametrize("epsilon", [0.1, 1 / 3, 1.0, 7.3])
@pytest.mark.parametrize("sensitivity", [1, 3, 10**6 + 1, 2**50 + 1])
def test_scales_are_rounded_up_never_down(epsilon, sensitivity):
    assert Fraction(laplace_scale(cf.PureDP(epsilon), sensitivity)) * Fraction(epsilon) >= sensitivity
    assert Fraction(gaussian_scale(cf.ZCDP(epsilon), sensitivity**2, 1)) ** 2 * 2 * Fraction(epsilon) >= sensitivity**2


def test_damping_falls_no_faster_than_the_rate():
    import mpmath

    with mpmath.workdps(60):
        for rate in (1e-6, 0.1, 1.0, 5.0):
            factors = ranks.damping(rate, 50)
            assert all(mpmath.mpf(a) / b <= mpmath.exp(rate) for a, b in zip(factors, factors[1:], strict=False))
            assert factors[-1] / factors[0] == pytest.approx(math.exp(-50 * rate), rel=1e-6)


def test_scales_too_large_for_64_bits_are_refused():
    with pytest.raises(cf.IncompatibleError, match="64-bit"):
        plan.plan_of(cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), 10**13))
    with pytest.raises(cf.IncompatibleError, match="64-bit"):
        plan.plan_of(cf.Channel(cf.Median("x", (0, 1)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6), cap=10**6), 10**7))


def test_no_seeded_generator_reaches_a_release(monkeypatch):
    """Every generator of JAX, NumPy and Python's `random` is broken, and releases still work."""
    import random

    import jax

    from confide.releasing import release

    release(cf.Channel(cf.Each("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1), [0.5])  # imports what it needs

    def broken(*_args, **_kwargs):
        raise AssertionError("a seeded generator was used in a release")

    for module, names in {
        jax.random: (
            "key",
            "PRNGKey",
            "normal",
            "laplace",
            "uniform",
            "bits",
            "bernoulli",
            "categorical",
            "exponential",
        ),
        np.random: (
            "default_rng",
            "normal",
            "uniform",
            "random",
            "randint",
            "shuffle",
            "permutation",
            "rand",
            "Generator",
        ),
        random: ("random", "getrandbits", "randrange", "shuffle", "uniform"),
    }.items():
        for name in names:
            monkeypatch.setattr(module, name, broken)
    data = [0.1, 0.4, 0.35, 0.8]
    for statistic, mechanism in [
        (cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0))),
        (cf.Mean(["x", "x**2"], (0, 1)), cf.Gaussian(cf.GDP(1.0))),
        (cf.Median("x", (0, 1)), cf.SmoothCauchy(cf.PureDP(1.0))),
        (cf.Median("x", (0, 1)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-5))),
        (cf.Maximum("x", (0, 1)), cf.Exponential(cf.PureDP(1.0))),
        (cf.Each("x", (0, 1)), cf.Laplace(cf.PureDP(1.0))),
        (cf.Each("x > 0.3", (0, 1)), cf.RandomizedResponse(cf.PureDP(1.0))),
    ]:
        assert np.all(np.isfinite(release(cf.Channel(statistic, mechanism, n=4), data).value))


def test_no_seeded_generator_is_named_in_the_release_package():
    from pathlib import Path

    import confide.releasing.exact as inside

    for path in Path(inside.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert not any(
            word in text for word in ("np.random", "numpy.random", "jax.random", "import random", "import jax")
        ), path


def test_ranks_that_cannot_be_told_apart_are_refused_before_a_record_is_read():
    with pytest.raises(cf.IncompatibleError, match="too small to be told from 0"):
        plan.plan_of(cf.Channel(cf.Median("x", (0, 1)), cf.Exponential(cf.PureDP(1e-12)), n=1000))
    with pytest.raises(cf.IncompatibleError, match="would look at"):
        cf.Channel(cf.Median("x", (0, 1)), cf.Exponential(cf.PureDP(1e-12)), n=2**53)
