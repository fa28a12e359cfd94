"""What every engine can evaluate on every record: no error may depend on one."""

import numpy as np
import pytest

import confide as cf
from confide.errors import RangeError
from confide.expression.parse import parse
from confide.releasing.evaluable import check_evaluable
from confide.releasing.plan import plan_of, squared_sensitivity
from tests.expression.engines import by_duckdb
from tests.releasing.exactly import numbers


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("x**-2", (1.0, 1e200)),  # x·x overflows on the way to 0
        ("min(exp(x), 5)", (0.0, 1000.0)),
        ("interp(x, [-1e308, 1e308], [0, 1])", (0.0, 1.0)),  # the distance of its knots overflows
        ("log(x*0.5)", (1e-160, 1.0)),  # the logarithm of what PostgreSQL takes for 0
    ],
)
def test_what_may_stop_an_engine_is_refused(text, bounds):
    with pytest.raises(RangeError):
        check_evaluable(parse(text), {"x": bounds}) if text != "log(x*0.5)" else cf.Mean(text, bounds)


def test_log1p_up_to_the_largest_doubles():
    tree, bounds = parse("log1p(x)"), (0.0, 1e308)
    check_evaluable(tree, {"x": bounds})
    x = np.array([0.0, 1e-300, 1e-17, 1e-5, 1.0, 1e15, 1e300, 1e308])
    np.testing.assert_allclose(by_duckdb([tree], x)[0], np.log1p(x), rtol=1e-15)


def test_the_release_of_a_trapped_vector_has_noise_for_every_switch():
    statistic = cf.Mean(["x", "1000*((x+1e10)-1e10 > x)"], (0, 1))
    channel = cf.Channel(statistic, cf.Laplace(cf.PureDP(1.0)), n=2)
    plan = plan_of(channel)
    moved = squared_sensitivity(channel, plan.grid, norm=1) ** 0.5 * float(plan.grid.step)
    assert moved >= 1000.12


@pytest.mark.parametrize("step", [0.1, 0.3])
def test_on_a_lattice_the_rounded_quotient_is_counted(step):
    """s/step is rounded to a double before it is rounded to the grid: one part in 2⁵³ of the largest."""
    statistic = cf.Mean(["x", "-x"], (0, 1e6))
    channel = cf.Channel(statistic, cf.Laplace(cf.PureDP(1.0), step=step), n=10)
    grid = plan_of(channel).grid
    widths = sum(-(-width // (grid.per_lattice * 10)) for width in grid.widths)
    assert squared_sensitivity(channel, grid, norm=1) <= widths**2


def sum_of_signs(doublings):
    text = "sign(x)"
    for _ in range(doublings):
        text = f"({text} + {text})"
    return text


@pytest.mark.parametrize(
    ("text", "bounds", "values", "means"),
    [
        (sum_of_signs(7), (-1, 1), [0.5, -0.5, 0.25], 128 / 3),  # beyond the eight bits of DuckDB's sign
        ("x", (-1e200, 1e200), [1e-149, -1e-140, 2e199], 2e199 / 3),  # far below a step of the grid
        ("x**1e306", (0, 1), [0.0, 1e-300, 1.0], 1 / 3),  # the exponent times the logarithm overflows
    ],
)
def test_no_record_stops_an_engine(text, bounds, values, means, postgres, postgres_table):
    plan = plan_of(cf.Channel(cf.Mean(text, bounds), cf.Laplace(cf.PureDP(1.0)), len(values)))
    steps = means * len(values) / float(plan.grid.step)
    for found in (numbers(plan, values), numbers(plan, postgres, "x", postgres_table(values))):
        assert found[0] == pytest.approx(steps, abs=len(values))
