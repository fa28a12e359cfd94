"""Kinks, smooth monotone pieces, and levels."""

import contextlib
import itertools
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from confide.errors import RangeError
from confide.expression import Expression
from confide.expression.evaluate import evaluate
from confide.expression.interval import UndefinedError
from confide.expression.levels import levels
from confide.expression.pieces import pieces
from confide.expression.text import format_tree
from tests.expression.strategies import intervals, trees


@pytest.mark.parametrize(
    ("text", "bounds", "breaks", "directions"),
    [
        ("x", (-1, 2), [], [1]),
        ("abs(x)", (-1, 2), [0], [-1, 1]),
        ("abs(x)**0.1", (-1, 2), [0], [-1, 1]),
        ("x**2", (-1, 2), [0], [-1, 1]),
        ("clip(x, 0, 1)", (-1, 2), [0, 1], [0, 1, 0]),
        ("clip(3*x, 0, 1)", (-1, 2), [0, 1 / 3], [0, 1, 0]),
        ("x > 1", (-1, 2), [1], [0, 0]),
        ("where(x > 1, -x, x**2)", (0, 2), [1], [1, -1]),
        ("abs(abs(x) - 1)", (-2, 2), [-1, 0, 1], [-1, 1, -1, 1]),
        ("interp(x, [0, 1, 2], [0, 1, 0])", (-1, 3), [0, 1, 2], [0, 1, -1, 0]),
        ("x*(1 - x)", (0, 1), [0.5], [1, -1]),
        ("max(x, 1 - x, 0.75)", (0, 1), [0.25, 0.75], [-1, 0, 1]),
        ("sign(x)*x**2", (-1, 1), [0], [1, 1]),
        ("x**3", (-1, 1), [], [1]),
        ("3", (-1, 1), [], [0]),
    ],
)
def test_pieces_of_known_expressions(text, bounds, breaks, directions):
    found = Expression(text).pieces(*bounds)
    assert [piece.direction for piece in found if piece.high - piece.low > 1e-9] == directions
    inner = [piece.high for piece in found[:-1]]
    for point in breaks:
        assert min(abs(point - p) for p in inner) < 1e-9
    assert found[0].low == bounds[0]
    assert found[-1].high == bounds[1]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees, intervals)
def test_pieces_tile_the_bounds_agree_with_the_expression_and_are_monotone(tree, bounds):
    try:
        found = pieces(tree, *bounds)
    except UndefinedError:
        assume(False)
    assert found[0].low == bounds[0]
    assert found[-1].high == bounds[1]
    for left, right in itertools.pairwise(found):
        assert left.high == right.low
    for piece in found:
        width = piece.high - piece.low
        if width < 1e-6:
            continue
        x = np.linspace(piece.low + 1e-7 * width, piece.high - 1e-7 * width, 50)
        inside = np.broadcast_to(evaluate(piece.tree, x), x.shape)
        whole = np.broadcast_to(evaluate(tree, x), x.shape)
        scale = 1 + np.max(np.abs(whole))
        np.testing.assert_allclose(inside, whole, atol=1e-9 * scale, err_msg=format_tree(tree))
        slack = 1e-9 * scale
        assert np.all(piece.direction * np.diff(inside) >= -slack)
        if piece.direction == 0:
            assert np.ptp(inside) <= slack


def test_an_expression_that_never_settles_is_refused_and_not_looped_over():
    with pytest.raises(RangeError, match="turns too often"):
        Expression("x**2 - x*x").pieces(0, 1)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("x*(x > 1.705e9)", (1.7e9, 1.71e9)),  # a timestamp
        ("where(x > 2020.5, x, 0)", (2020, 2021)),  # a year
        ("abs(3*x - 6061.5)*(x > 2020.5)", (2020, 2021)),
        ("x*x*(x*x > 4082420.25)", (2020, 2021)),
        ("where(x*1e-300 > 5e-301, x, 0)", (0, 1)),
        ("sign(x**3)*x", (-1e-200, 1e-200)),  # the product of two values of opposite sign underflows
    ],
)
def test_pieces_end_where_the_resolution_is_finer_than_the_doubles(text, bounds):
    expression = Expression(text)
    low, high = expression.range(*bounds)
    found = expression.pieces(*bounds)
    x = np.linspace(*bounds, 1001)
    values = expression(x)
    assert (found[0].low, found[-1].high) == bounds
    assert np.all((low <= values) & (values <= high))


@pytest.mark.parametrize(
    "text",
    [
        "interp(x*x, [{k}], [{v}])".format(k=",".join(map(str, range(9000))), v=",".join(["0", "1"] * 4500)),
        "interp(x, [{k}], [{v}])".format(k=",".join(map(str, range(9000))), v=",".join(["0", "1"] * 4500)),
        "(" * 40 + "x" + "**2 - 0.5)" * 40,
        "min(" + ",".join(f"x*{i} - x*x" for i in range(90)) + ")",
    ],
    ids=lambda text: text[:20],
)
def test_hostile_expressions_cost_seconds_at_most(text):
    expression = Expression(text)
    start = time.perf_counter()
    low, high = expression.range(-1.2, 1.2)
    with contextlib.suppress(RangeError):
        expression.pieces(-1.2, 1.2)
    assert time.perf_counter() - start < 30  # two or three seconds where nothing else runs
    values = expression(np.linspace(-1.2, 1.2, 101))
    assert np.all((low <= values) & (values <= high))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", None), ("x > 2", (0, 1)), ("x + (x > 2)", None), ("(x > 1) + (x > 2)", (0, 1, 2)),
        ("sign(x)", (-1, 0, 1)),
        ("where(x > 1, 3, -1)", (-1, 3)), ("where(x > 1, x, 0)", None), ("5", (5,)), ("2*(x >= 0) - 1", (-1, 1)),
        ("interp(x > 0, [0, 1], [4, 6])", (4, 6)), ("abs(sign(x))", (0, 1)), ("clip(sign(x), 0, 1)", (0, 1)),
        ("x == 3", (0, 1)), ("1/(x > 2)", None),
    ],
)  # fmt: skip
def test_levels(text, expected):
    assert Expression(text).levels == expected


@settings(max_examples=300, deadline=None)
@given(trees)
def test_levels_hold_every_value(tree):
    found = levels(tree)
    assume(found is not None)
    x = np.linspace(-7, 7, 57)
    with np.errstate(all="ignore"):
        values = np.broadcast_to(evaluate(tree, x), x.shape)
    assert np.all(np.min(np.abs(values[:, None] - np.asarray(found)), axis=1) <= 1e-12 * (1 + np.abs(values)))
