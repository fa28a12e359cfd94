"""What every engine can evaluate on every record: no error may depend on one."""

import numpy as np
import pytest

import confide as cf
from confide.errors import RangeError
from confide.expression.parse import parse
from confide.releasing.evaluable import check_evaluable
from confide.releasing.plan import plan_of, squared_sensitivity
from tests.expression.engines import by_duckdb


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
        check_evaluable(parse(text), bounds) if text != "log(x*0.5)" else cf.Mean(text, bounds)


def test_log1p_up_to_the_largest_doubles():
    tree, bounds = parse("log1p(x)"), (0.0, 1e308)
    check_evaluable(tree, bounds)
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
