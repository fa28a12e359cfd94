"""Certified ranges where something on the way overflows, or is so small that its digits are lost."""

import numpy as np
import pytest

import confide as cf
from confide.expression import ascent
from confide.expression.evaluate import evaluate
from confide.expression.parse import parse
from confide.expression.tree import nodes

#: overflows on the way: (x + x)/(1 + x²) is ∞/∞ by intervals, though it is 1 at x = 1
LOST = "(x + x) / (1 + x**2)"
#: a table whose slope, 2.4e-324, is 0 in double precision: until its end the computed table is flat, the exact one is not
FLAT = "interp(1e308 * x, [0, 1e308], [0, 2.4e-16])"


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    """What is proved with less work is as valid."""
    monkeypatch.setattr(ascent, "MOST_WORK", 100_000, raising=False)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (f"where({LOST} > 0.5, 7, x > 2)", 0, 7),
        (f"where({LOST} < 0.5, 7, 8)", 7, 8),
        (f"where({LOST}, 7, 0)", 0, 7),
        (f"({LOST}) >= 1", 0, 1),
        (f"({LOST}) == 1", 0, 1),
        (f"({LOST}) != 1", 0, 1),
        (f"x * 0 + where({LOST} > 0.5, 7, 0)", 0, 7),
    ],
)
def test_a_switch_on_what_may_overflow_is_open(text, low, high, rows):
    """Ends of an interval that are no numbers decide nothing: 0 < NaN is false, and so is 0 >= NaN."""
    bounds = {"x": (0, 1e308), "y": (0, 1)} if rows else (0, 1e308)
    statistic = cf.Mean(f"{text} + 0 * y" if rows else text, bounds=bounds)
    assert statistic.range[0] <= low
    assert statistic.range[1] >= high
    x = np.array([0.0, 1e-3, 1.0, 3.0, 1e200])
    values = evaluate(statistic.transforms[0].tree, {"x": x, "y": 0 * x} if rows else x)
    assert statistic.range[0] <= values.min()
    assert values.max() <= statistic.range[1]


@pytest.mark.parametrize("norm", [1, 2])
def test_components_with_such_a_switch_may_lie_as_far_apart(norm):
    statistic = cf.Mean([f"where({LOST} > 0.5, 7, 0)", "x > 3"], bounds=(0, 1e308))
    x = np.array([0.0, 1.0, 2.0, 4.0])
    values = np.stack([evaluate(part.tree, x) for part in statistic.transforms])
    apart = np.linalg.norm(values[:, :, None] - values[:, None, :], ord=norm, axis=0).max()
    assert statistic.sensitivity(1, norm) >= apart > 7 - 1e-9


@pytest.mark.parametrize("rows", [False, True])
def test_a_slope_that_loses_its_digits_counts_as_rounding(rows):
    text, bounds = f"{FLAT} - 3e-16 * x", {"x": (0, 1.05), "y": (0, 1)} if rows else (0, 1.05)
    statistic = cf.Mean(f"{text} + 0 * y" if rows else text, bounds=bounds)
    x = np.array([0.0, 0.5, np.nextafter(1.0, 0.0), 1.0, 1.05])
    values = evaluate(statistic.transforms[0].tree, {"x": x, "y": 0 * x} if rows else x)
    assert statistic.range[0] <= values.min()
    assert values.max() <= statistic.range[1]


def test_ordinary_tables_are_as_tight_as_before():
    low, high = cf.Mean("interp(x, [0, 1, 3], [0, 2, -1]) - x", bounds=(0, 3)).range
    assert (low, high) == pytest.approx((-4, 1), abs=1e-13)


def test_the_examples_are_what_they_say():
    assert sum(1 for _ in nodes(parse(LOST))) == 9
    assert 2.4e-16 / 1e308 == 0.0
