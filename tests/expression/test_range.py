"""The certified range: never violated, and tight."""

import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from confide.errors import RangeError
from confide.expression import Expression, rounding
from confide.expression.bounding import RangeReader, SlopeReader
from confide.expression.certify import certified_range
from confide.expression.evaluate import evaluate
from confide.expression.interval import Interval, UndefinedError
from confide.expression.parse import parse
from confide.expression.text import format_tree
from confide.expression.tree import read
from confide.expression.work import size
from tests.expression.strategies import intervals, trees

POINTS = 400


def _sample(low, high, seed):
    rng = np.random.default_rng(seed)
    inside = rng.uniform(low, high, POINTS - 60)
    near = np.concatenate([low + (high - low) * 10.0 ** -rng.uniform(0, 17, 30), [low, high], np.arange(-8, 20)])
    return np.clip(np.concatenate([inside, near]), low, high)


@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees, intervals, st.integers(0, 2**32))
def test_no_point_evaluates_outside_the_certified_range(tree, bounds, seed):
    """1000 random expressions × 400 points = 400,000 pairs, with no tolerance."""
    try:
        low, high = certified_range(tree, *bounds)
    except UndefinedError:
        assume(False)
    x = _sample(*bounds, seed)
    values = np.broadcast_to(evaluate(tree, x), x.shape)
    assert np.all((low <= values) & (values <= high)), format_tree(tree)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees, intervals, st.integers(0, 2**32))
def test_jax_evaluation_stays_in_the_range_and_agrees_with_numpy(tree, bounds, seed):
    try:
        low, high = certified_range(tree, *bounds)
    except UndefinedError:
        assume(False)
    x = _sample(*bounds, seed)
    with jax.enable_x64(True):
        values = np.broadcast_to(np.asarray(evaluate(tree, jax.numpy.asarray(x))), x.shape)
    assert np.all((low <= values) & (values <= high)), format_tree(tree)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees, intervals, st.integers(0, 2**32))
def test_slopes_are_bounded(tree, bounds, seed):
    """Mean slopes over short stretches lie in the bound of the slope."""
    interval = Interval.of(*bounds)
    try:
        part = read(tree, SlopeReader(interval))
    except UndefinedError:
        assume(False)
    x = np.sort(_sample(*bounds, seed))
    values = np.broadcast_to(evaluate(tree, x), x.shape)
    step = np.diff(x)
    wide = step > 1e-4
    slopes = np.diff(values)[wide] / step[wide]
    slack = 1e-9 * (1 + np.max(np.abs(values)))
    assert np.all(slopes >= part.slope.low - slack / 1e-4)
    assert np.all(slopes <= part.slope.high + slack / 1e-4)


@pytest.mark.parametrize(
    ("text", "bounds", "expected"),
    [
        ("abs(x)", (-10, 10), (0, 10)),
        ("x**2", (-10, 10), (0, 100)),
        ("x**3", (-2, 3), (-8, 27)),
        ("x", (-1.5, 2.5), (-1.5, 2.5)),
        ("clip(x, -3, 3)", (-10, 10), (-3, 3)),
        ("x > 2", (-10, 10), (0, 1)),
        ("x > 20", (-10, 10), (0, 0)),
        ("sign(x)", (-1, 1), (-1, 1)),
        ("where(x > 0, x, 0)", (-5, 5), (0, 5)),
        ("interp(x, [0, 1, 3], [0, 2, -1])", (-1, 4), (-1, 2)),
        ("min(abs(x), 3)", (-10, 10), (0, 3)),
        ("(x - 1)**2", (-10, 10), (0, 121)),
        ("10 - 2*x", (0, 5), (0, 10)),
        ("x == 1", (0, 2), (0, 1)),
    ],
)
def test_ranges_of_simple_expressions_are_exact(text, bounds, expected):
    assert Expression(text).range(*bounds) == expected


@pytest.mark.parametrize(
    ("text", "bounds", "expected"),
    [
        ("x*(1 - x)", (0, 1), (0, 0.25)),
        ("x/(1 + x**2)", (-4, 4), (-0.5, 0.5)),
        ("x**3 - x", (-1, 1.5), (-2 / math.sqrt(27), 1.875)),
        ("exp(-x**2)", (-3, 3), (math.exp(-9), 1)),
        ("abs(x)**0.1", (-10, 10), (0, 10**0.1)),
        ("log1p(x) - x/2", (0, 5), (math.log(6) - 2.5, math.log(2) - 0.5)),
        ("x*exp(-x)", (0, 5), (0, math.exp(-1))),
        ("where(x > 1, x**2 - 2*x, -x)", (-1, 3), (-1, 3)),
    ],
)
def test_ranges_are_tight_when_x_occurs_more_than_once(text, bounds, expected):
    low, high = Expression(text).range(*bounds)
    scale = max(map(abs, expected))
    assert low <= expected[0] + 1e-15 * scale
    assert high >= expected[1] - 1e-15 * scale
    assert expected[0] - low <= 1e-9 * scale
    assert high - expected[1] <= 1e-9 * scale


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("log(x)", (-1, 1)), ("log(x)", (0, 1)), ("1/x", (-1, 1)), ("1/x", (0, 1)), ("sqrt(x)", (-1, 1)),
        ("x**0.5", (-1, 1)), ("x**-1", (-1, 1)), ("log1p(x)", (-1, 1)), ("exp(exp(x))", (0, 10)),
        ("x**x", (-1, 1)), ("1/(x - 3)", (0, 10)), ("1e300*x**2", (0, 1e10)), ("abs(x)**-0.5", (-1, 1)),
    ],
)  # fmt: skip
def test_undefined_or_unbounded_is_refused_with_the_reason(text, bounds):
    with pytest.raises(RangeError) as error:
        Expression(text).range(*bounds)
    assert error.value.argument == "expression"
    assert "certified range" in str(error.value)


_EXACT = {
    "add": (rounding.add, lambda a, b: a + b),
    "multiply": (rounding.multiply, lambda a, b: a * b),
    "divide": (rounding.divide, lambda a, b: a / b),
}
ordinary = st.floats(-1e120, 1e120, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-120)


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(sorted(_EXACT)), ordinary, ordinary)
def test_directed_rounding_brackets_the_exact_rational(name, a, b):
    operation, exact = _EXACT[name]
    assume(not (name == "divide" and b == 0))
    truth = exact(Fraction(a), Fraction(b))
    down = float(operation(np.float64(a), np.float64(b), -1.0))
    up = float(operation(np.float64(a), np.float64(b), 1.0))
    assert Fraction(down) <= truth <= Fraction(up)
    if Fraction(float(exact(a, b))) == truth and (truth == 0 or 1e-130 < abs(truth) < 1e140):
        assert down == up  # exact results are not widened


@settings(max_examples=300, deadline=None)
@given(st.floats(0, 1e120))
def test_directed_square_root(a):
    down, up = (float(rounding.sqrt(np.float64(a), side)) for side in (-1.0, 1.0))
    assert Fraction(down) ** 2 <= Fraction(a) <= Fraction(up) ** 2


def test_plain_interval_arithmetic_is_vectorised():
    low = np.linspace(-1, 0.9, 20)
    result = read(Expression("x**2 + 1").tree, RangeReader(Interval.of(low, low + 0.1)))
    assert result.low.shape == (20,)
    assert np.all(result.low <= result.high)


def test_a_power_costs_as_many_products_as_it_has():
    """x**63 is ten products: two hundred of them, counted as one each, took a reader of a file four seconds."""
    assert [size(parse(text)) for text in ("x + 1", "x**2", "x**63", "x**-64", "x**0.5")] == [3, 4, 13, 9, 3]
