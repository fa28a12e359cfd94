"""The joint sensitivity of vectors: proved for what engines compute, tight where it can be, within a budget of work."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import confide as cf
from confide.errors import RangeError
from confide.expression import Expression
from confide.expression.bounding import RangeReader
from confide.expression.interval import Interval, UndefinedError
from confide.expression.pieces import kinks
from confide.expression.specialise import specialise
from confide.expression.text import format_tree
from confide.expression.tree import read
from confide.statistic import Mean
from tests.expression.engines import by_duckdb, by_flushing, by_numpy, doubles_worth_trying
from tests.expression.strategies import intervals, trees

#: switches that are constant in the reals, or where they are not, and different in floats
TRAPS = [
    (["x", "1000*((x+1e10)-1e10 > x)"], (0, 1)),
    (["x", "1000*(x*3/3 > x)"], (0, 1)),
    (["x", "where((x+273.15)-273.15 > x, 1000, 0)"], (0, 1)),
    (["x", "1000*sign((x+273.15)-273.15-x)"], (0, 1)),
    (["x", "1000*(x*0.5 > 0)"], (1e-155, 1)),
    # an exact product and a rounded one
    (["x", "1000*((x*x - 2*x + 1) < 0)"], (0.9, 1.1)),
    (["x", "1000*((1 + x*1e-17) == 1)"], (0, 100)),
    # a table that is the identity in the reals
    (["x", "1000*(interp(x, [0, 0.1, 0.3, 1], [0, 0.1, 0.3, 1]) != x)"], (0, 1)),
    # exp and log undo each other but for the last bits; exp has a floor in one engine
    (["x", "1000*(log(exp(x)) > x)"], (-1, 1)),
    (["x", "1000*(exp(x) <= 0)"], (-800, -600)),
    (["x", "1000*(exp(x)*1e304 > 0.5)"], (-745, -600)),
    (["x", "1000*((x**2)**0.5 > x)"], (0, 1)),
    (["x", "1000*(log1p(x) - log(1 + x) > 0)"], (0, 1)),
    # a slope of 0 with exact ends: the range by slopes alone would be one point
    (["x", "clip(1e300*(((x+1e10)-1e10)-x), -1, 1)"], (0, 1)),
    (["x", "1000*(abs(x)/(x*x + 1e-200) > 1e190)"], (0, 1)),
    (["x", "1000*(1e-200*x > 0)"], (0, 1)),
]


def moved(trees_, ranges, compute, x, norm):
    """The most by which the clamped values of two of the records lie apart, exactly."""
    low, high = (np.asarray(ends)[:, None] for ends in zip(*ranges, strict=True))
    values = np.unique(np.clip(compute(trees_, x), low, high), axis=1)
    apart = np.linalg.norm(values[:, :, None] - values[:, None, :], ord=norm, axis=0)
    i, j = np.unravel_index(np.argmax(apart), apart.shape)
    exact = [abs(Fraction(a) - Fraction(b)) for a, b in zip(values[:, i].tolist(), values[:, j].tolist(), strict=True)]
    return sum(exact) if norm == 1 else sum(d**2 for d in exact)


def check(statistic, engines, norms=(1, 2)):
    expressions = [transform.tree for transform in statistic.transforms]
    x = doubles_worth_trying(expressions, *statistic.bounds)
    for compute in engines:
        for norm in norms:
            bound = Fraction(statistic.sensitivity(1, norm))
            found = moved(expressions, statistic.ranges, compute, x, norm)
            assert found <= bound**norm, (statistic, compute.__name__, float(found), float(bound))


@pytest.mark.parametrize(("expressions", "bounds"), TRAPS, ids=lambda value: str(value)[:60])
def test_traps_of_floating_point_are_within_the_certified_sensitivity(expressions, bounds):
    check(Mean(expressions, bounds), [by_numpy, by_flushing, by_duckdb])


def specialised_bound(expressions, bounds):
    """The planted bug: switches decided by one evaluation inside of each smooth piece, as it once was."""
    trees_ = [Expression(text).tree for text in expressions]
    points = sorted({*bounds, *(point for tree in trees_ for point in kinks(tree, *bounds))})
    parts = []
    for low, high in zip(points[:-1], points[1:], strict=True):
        cells = np.linspace(low, high, 65)
        cell = RangeReader(Interval.of(cells[:-1], cells[1:]))
        ranges = [read(specialise(tree, low, high), cell) for tree in trees_]
        parts.append([np.broadcast_to(end, 64) for r in ranges for end in (r.low, r.high)])
    ends = np.concatenate(parts, axis=1)
    low, high = ends[::2], ends[1::2]
    return float(np.max(np.sum(np.maximum(high[:, :, None] - low[:, None, :], high[:, None, :] - low[:, :, None]), 0)))


@pytest.mark.parametrize("trap", [0, 1, 2, 3])
def test_deciding_switches_by_an_evaluation_would_be_caught(trap):
    expressions, bounds = TRAPS[trap]
    statistic = Mean(expressions, bounds)
    trees_ = [transform.tree for transform in statistic.transforms]
    found = moved(trees_, statistic.ranges, by_numpy, doubles_worth_trying(trees_, *bounds), 1)
    assert found > specialised_bound(expressions, bounds)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(trees, min_size=2, max_size=3), intervals)
def test_random_vectors_stay_within_their_sensitivity(found, bounds):
    try:
        statistic = Mean([format_tree(tree) for tree in found], bounds)
    except (RangeError, UndefinedError):
        assume(False)
    check(statistic, [by_numpy, by_flushing])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(trees, min_size=2, max_size=2), intervals)
def test_random_vectors_in_a_database_stay_within_their_sensitivity(found, bounds):
    try:
        statistic = Mean([format_tree(tree) for tree in found], bounds)
    except (RangeError, UndefinedError):
        assume(False)
    check(statistic, [by_duckdb], norms=(1,))


def test_the_channel_of_the_trap_has_noise_for_what_can_happen():
    statistic = Mean(["x", "1000*((x+1e10)-1e10 > x)"], (0, 1))
    assert cf.Channel(statistic, cf.Laplace(cf.PureDP(1.0)), n=2).law.noise.scale >= 500.06


@pytest.mark.parametrize("bins", [10, 80])
def test_histograms_are_tight_and_quick(bins):
    expressions = [f"(x >= {i}/7)*(x < {i + 1}/7)" for i in range(bins)]
    start = time.perf_counter()
    statistic = Mean(expressions, (0, bins / 7))
    assert (statistic.sensitivity(1, 1), statistic.sensitivity(1, 2)) == (2.0, 2.0**0.5)
    assert time.perf_counter() - start < 10  # about one second where nothing else runs


def test_beyond_the_budget_the_bound_is_valid_and_a_histogram_still_good():
    statistic = Mean([f"(x >= {i})*(x < {i + 1})" for i in range(500)], (0, 500))
    assert statistic.sensitivity(1, 1) == 2.0  # twice the radius: no pairs are compared
    assert 2.0**0.5 <= statistic.sensitivity(1, 2) <= 2.0


def test_widths_and_shares_are_rounded_up():
    statistic = Mean("x", (-0.1, 0.2))
    assert Fraction(statistic.sensitivity(1)) >= Fraction(0.2) + Fraction(0.1)
    for n in (3, 7, 10, 49):
        assert Fraction(statistic.sensitivity(n)) >= Fraction(statistic.sensitivity(1)) / n
    vector = Mean(["x", "0.7*x"], (-0.1, 0.2))
    assert Fraction(vector.sensitivity(1, 1)) >= (Fraction(0.2) + Fraction(0.1)) * Fraction(17, 10) * (
        1 - Fraction(1, 2**50)
    )


def test_sizes_near_the_ends_of_the_doubles():
    assert Mean(["x", "x/2"], (0, 1e300)).sensitivity(1, 2) == pytest.approx(1.25**0.5 * 1e300, rel=1e-6)
    assert Mean(["x", "x"], (0, 1e-300)).sensitivity(1, 2) == pytest.approx(2**0.5 * 1e-300, rel=1e-6)
    assert Mean(["x", "x*(x > 0)"], (-1.7e308, 1.7e308)).sensitivity(1, 1) == np.inf


def test_a_vector_of_endless_text_is_refused():
    with pytest.raises(cf.ConfideError, match="characters in all"):
        Mean(["x + " * 200 + "x"] * 1000, (0, 1))
