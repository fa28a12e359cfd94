"""Cells of doubles, tables and rounding errors as intervals: what the proofs of ranges and sensitivities rest on."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from confide.errors import RangeError
from confide.expression import Expression, rounding
from confide.expression.bounding import RangeReader
from confide.expression.cells import covering, halved, middles
from confide.expression.certify import certified_range
from confide.expression.error import ErrorReader
from confide.expression.evaluate import evaluate
from confide.expression.interval import Interval, UndefinedError
from confide.expression.parse import parse
from confide.expression.text import format_tree
from confide.expression.tree import Call, Interp, Number, Variable, read
from tests.expression.engines import by_duckdb, by_flushing, by_numpy, doubles_worth_trying
from tests.expression.strategies import atoms, intervals, trees

doubles = st.floats(-1e300, 1e300)


@settings(max_examples=200, deadline=None)
@given(doubles, doubles, st.lists(doubles, max_size=8))
def test_cells_hold_every_double_once(a, b, hints):
    low, high = min(a, b) + 0.0, max(a, b) + 0.0
    assume(low < high)
    cells = covering(low, high, hints)
    for _ in range(2):
        order = np.argsort(cells.low)
        starts, ends = cells.low[order], cells.high[order]
        assert starts[0] == low
        assert ends[-1] == high
        assert np.all(starts <= ends)
        np.testing.assert_array_equal(np.nextafter(ends[:-1], np.inf), starts[1:])
        assert np.all((cells.low <= middles(cells)) & (middles(cells) <= cells.high))
        wide = cells.low < cells.high
        halves = halved(Interval(cells.low[wide], cells.high[wide]))
        cells = Interval(
            np.concatenate([cells.low[~wide], halves.low]), np.concatenate([cells.high[~wide], halves.high])
        )


def test_a_comparison_with_a_constant_is_decided_on_every_cell():
    cells = covering(0.0, 1.0, [0.3])
    for text in ("x > 0.3", "x >= 0.3", "x == 0.3", "x != 0.3", "x < 0.3"):
        value = read(parse(text), RangeReader(cells))
        np.testing.assert_array_equal(value.low, value.high)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=7, unique=True),
    st.data(),
    st.tuples(st.floats(-2e6, 2e6), st.floats(-2e6, 2e6)),
)
def test_every_formula_of_a_table_lies_in_its_interval(knots, data, ends):
    knots = tuple(sorted(knot + 0.0 for knot in knots))
    assume(min(np.diff(knots)) > 1e-25)  # JAX takes knots within 5e-32 for one
    values = tuple(data.draw(st.floats(-1e9, 1e9)) for _ in knots)
    low, high = sorted(ends)
    tree = Interp(Variable(), knots, values)
    found = read(tree, RangeReader(Interval.of(low, high)))
    x = np.concatenate([np.linspace(low, high, 40), *(np.nextafter(knots, side) for side in (-np.inf, np.inf)), knots])
    x = np.clip(x, low, high)
    with jax.enable_x64(True):
        by_jax = np.asarray(evaluate(tree, jax.numpy.asarray(x)))
    for computed in (by_numpy([tree], x)[0], by_flushing([tree], x)[0], by_jax):
        assert np.all((found.low <= computed) & (computed <= found.high))


def test_a_table_of_thousands_of_knots_costs_no_more_memory_than_its_cells():
    count = 20_000
    tree = Interp(Variable(), tuple(map(float, range(count))), tuple(float(i * 37 % 1009) for i in range(count)))
    low = np.linspace(-5, count, 3000)
    found = read(tree, RangeReader(Interval(low, low + 7.5)))
    x = low[:, None] + np.linspace(0, 7.5, 16)
    values = evaluate(tree, x)
    assert np.all((found.low[:, None] <= values) & (values <= found.high[:, None]))
    whole = read(tree, RangeReader(Interval.of(0.0, float(count))))
    assert (whole.low, whole.high) == (0.0, pytest.approx(1008.0, rel=1e-14))


def exact(tree, x):
    """The value in rational arithmetic, for expressions of sums, products and quotients."""
    return read(tree, _Exactly(Fraction(x)))


class _Exactly:
    number = staticmethod(Fraction)
    add = staticmethod(lambda a, b: a + b)
    subtract = staticmethod(lambda a, b: a - b)
    multiply = staticmethod(lambda a, b: a * b)
    divide = staticmethod(lambda a, b: a / b)
    negative = staticmethod(lambda a: -a)
    absolute = staticmethod(abs)
    minimum, maximum = staticmethod(min), staticmethod(max)
    power = staticmethod(lambda a, b: a ** int(b))
    greater = staticmethod(lambda a, b: Fraction(a > b))
    less = staticmethod(lambda a, b: Fraction(a < b))

    def __init__(self, variable):
        self.variable = lambda name: variable


def _grow(children):
    pair = st.tuples(children, children)
    plain = st.sampled_from(["add", "subtract", "multiply", "minimum", "maximum", "greater", "less"])
    return st.one_of(
        st.tuples(plain, pair).map(lambda a: Call(*a)),
        pair.map(lambda p: Call("divide", (p[0], Call("add", (Call("absolute", (p[1],)), Number(0.3)))))),
        st.tuples(children, st.integers(1, 9)).map(lambda a: Call("power", (a[0], Number(float(a[1]))))),
    )


rational_trees = st.recursive(atoms, _grow, max_leaves=8)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rational_trees, intervals, st.integers(0, 2**32))
def test_rounding_errors_are_bounded(tree, bounds, seed):
    """The computed value lies within the error of the exact rational one, wherever it is finite."""
    try:
        with np.errstate(all="ignore"):
            computed = read(tree, ErrorReader(covering(*bounds)))
    except UndefinedError:
        assume(False)
    error = np.broadcast_to(computed.error, 3)[1]
    assume(np.isfinite(error))
    for x in np.random.default_rng(seed).uniform(*bounds, 10).tolist():
        assert abs(exact(tree, x) - Fraction(float(evaluate(tree, np.float64(x))))) <= Fraction(float(error))


def test_where_an_error_may_take_the_other_branch_nothing_is_concluded():
    value = read(parse("where((x + 1e10) - 1e10 > x, 1, 0)"), ErrorReader(Interval.of(0.25, 0.75)))
    assert value.error == np.inf
    assert read(parse("where(x > 0.1, x, 0)"), ErrorReader(Interval.of(0.25, 0.75))).error == 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees, intervals)
def test_every_engine_stays_in_the_certified_range(tree, bounds):
    try:
        low, high = certified_range(tree, *bounds)
    except UndefinedError:
        assume(False)
    x = doubles_worth_trying([tree], *bounds)
    for compute in (by_numpy, by_flushing):
        values = compute([tree], x)
        assert np.all((low <= values) & (values <= high)), (format_tree(tree), compute.__name__)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("clip(1e300*(((x+1e10)-1e10)-x), -1, 1)", (0, 1)),  # constant in the reals, and at both ends
        ("log1p(x) + log1p(-x/2)", (-0.99, 1.5)),
        ("log1p(x)", (-1e-8, 1e308)),
        ("exp(x)*exp(-x)", (-1, 1)),
        ("x*0.5 - x*0.25", (1e-155, 1)),
    ],
)
def test_ranges_hold_for_computed_numbers(text, bounds):
    tree = parse(text)
    low, high = certified_range(tree, *map(float, bounds))
    x = doubles_worth_trying([tree], *bounds)
    for compute in (by_numpy, by_flushing, by_duckdb):
        values = compute([tree], x)
        assert np.all((low <= values) & (values <= high)), compute.__name__


tiny = st.floats(-1e-150, 1e-150)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["multiply", "divide"]), tiny, st.one_of(tiny, st.floats(-1e10, 1e10)))
def test_directed_rounding_holds_next_to_zero_and_keeps_the_sign(name, a, b):
    assume(name == "multiply" or abs(b) > 1e-160)
    truth = Fraction(a) * Fraction(b) if name == "multiply" else Fraction(a) / Fraction(b)
    down, up = (float(getattr(rounding, name)(np.float64(a), np.float64(b), side)) for side in (-1.0, 1.0))
    assert Fraction(down) <= truth <= Fraction(up)
    assert truth < 0 or down >= 0
    assert truth > 0 or up <= 0


@pytest.mark.parametrize("text", ["log(x*0.5)", "1/(x*0.5)", "sqrt(x)/(x*x)", "log(x**2)"])
def test_what_an_engine_may_flush_to_zero_is_not_divided_by(text):
    """PostgreSQL would stop at the record 1e-160, and so tell of it."""
    with pytest.raises(RangeError):
        Expression(text).range(1e-160, 1)
    Expression(text).range(1e-70, 1)
