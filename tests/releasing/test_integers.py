"""The whole numbers before noise: the same as exact arithmetic, in every engine, whatever the records hold."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import confide as cf
from confide.releasing import quantise
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers, whole_numbers

#: expressions that doubles compute without rounding on multiples of 1/8 up to 16
EXACT = ["x", "abs(x)", "x**2", "(x > 2) + (x <= -1)", "clip(clip(x, -3, 3)*2, -4, 5)", "where(x < 0, -x, x*x/4)",
         "min(x, 2, -x)*max(x, 1)", "sign(x)*x**3", "interp(x, [-4, 0, 4], [1, 3, -5])",
         "(x == 2) - (x != 1)"]  # fmt: skip
#: and expressions that they round
ROUNDED = ["x/3", "x**3 - 0.1*x", "interp(abs(x), [0, 0.3, 5], [0, 1, 0.7])", "x*(x > 0.1)", "1/(1 + x**2)"]

DYADIC = st.integers(-128, 128).map(lambda k: k / 8)
HOSTILE = st.sampled_from([1e308, -1e308, 5e-324, -0.0, 2.0**53 + 2, 16.0, -16.0, 1e-200, -1.7976931348623157e308])
ANY = st.floats(allow_nan=False, allow_infinity=False)

MANY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FEW = settings(MANY, max_examples=8)


def plan_for(expressions, n, mechanism=None):
    return plan_of(cf.Channel(cf.Mean(list(expressions), (-16, 16)), mechanism or cf.Laplace(cf.PureDP(1.0)), n))


def expected(plan, values):
    whole = [whole_numbers(plan.channel, plan.grid, x) for x in values]
    return [sum(column) for column in zip(*whole, strict=True)]


TABLES = st.lists(DYADIC | HOSTILE, min_size=1, max_size=12)
CHOICE = st.lists(st.sampled_from(EXACT), min_size=1, max_size=2, unique=True)


@MANY
@given(values=TABLES, expressions=CHOICE, epsilon=st.sampled_from([1.0, 1e-3, 37.0]))
def test_arrays_through_duckdb(values, expressions, epsilon):
    plan = plan_for(expressions, len(values), cf.Laplace(cf.PureDP(epsilon)))
    assert numbers(plan, values) == expected(plan, values)


@FEW
@given(values=TABLES, expressions=CHOICE, name=st.text(min_size=1, max_size=20).filter(lambda s: "\0" not in s))
def test_pandas_with_hostile_column_names(values, expressions, name):
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    plan = plan_for(expressions, len(values))
    frame = pd.DataFrame({name: values, name + "'": values})
    assert numbers(plan, frame, name) == expected(plan, values)


@FEW
@given(values=TABLES, expressions=CHOICE)
def test_postgres(values, expressions, postgres, postgres_table):
    plan = plan_for(expressions, len(values))
    assert numbers(plan, postgres, "x", postgres_table(values)) == expected(plan, values)


@MANY
@given(values=st.lists(ANY, min_size=1, max_size=8), expression=st.sampled_from(ROUNDED + EXACT))
def test_where_doubles_round_each_record_is_within_one_step(values, expression):
    plan = plan_for([expression], len(values))
    found = numbers(plan, values)
    assert abs(found[0] - expected(plan, values)[0]) <= len(values)


@pytest.mark.parametrize(
    "expression", ["exp(-x**2)", "log(1 + abs(x))", "log1p(abs(x))", "sqrt(abs(x))", "abs(x)**2.5"]
)
def test_library_functions_agree_between_engines_and_numpy(expression, postgres, postgres_table):
    values = [0.0, -0.0, 1e-200, 5e-324, 1e-17, 0.1, -3.7, 15.999, 1e308, -1e308]
    plan = plan_for([expression], len(values))
    numpy = np.clip(
        plan.channel.statistic.transforms[0](np.clip(np.asarray(values), -16, 16)), *plan.channel.statistic.range
    )
    near = sum(plan.grid.nearest(Fraction(float(value))) for value in numpy)
    for source in ((values,), (postgres, "x", postgres_table(values))):
        assert abs(numbers(plan, *source)[0] - near) <= len(values)


@pytest.mark.parametrize("epsilon", [1.0, 2e9, 4e9, 1e12])
def test_rounding_is_half_up_to_the_last_bit(epsilon, postgres, postgres_table):
    """The doubles next to a half, where adding ½ in floating point gives the wrong integer; by doubles and integers."""
    plan = plan_for(["x"], 1, cf.Laplace(cf.PureDP(epsilon)))
    step, end = plan.grid.step, plan.grid.high[0]
    assert (end < quantise.EXACT) == (epsilon < 4e9)
    halves = (0.5 - 2**-54, 0.5, -0.5, -0.5 - 2**-53, 1.5 - 2**-52, -1.5, 2.5, 4e5 + 0.5)
    for steps in (*halves, end - 0.5, 0.5 - end, float(end), math.nextafter(end, 0), -math.nextafter(end, 0)):
        values = [float(Fraction(steps) * step)]
        nearest = expected(plan, values)
        assert numbers(plan, values) == nearest
        assert numbers(plan, postgres, "x", postgres_table(values)) == nearest


@pytest.mark.parametrize("n", [3, 1000])
def test_sums_wider_than_64_bits_are_exact(n, postgres, postgres_table):
    plan = plan_for(["1000*x"], n, cf.Laplace(cf.PureDP(1e9)))
    values = [16 - 1 / 8 * (i % 3) for i in range(n)]
    assert n < 1000 or sum(plan.grid.high) * n > 2**63
    for source in ((values,), (postgres, "x", postgres_table(values))):
        assert numbers(plan, *source) == expected(plan, values)


@pytest.mark.parametrize("mechanism", [cf.SmoothCauchy(cf.PureDP(1.0)), cf.Exponential(cf.PureDP(1.0), cap=3)])
@pytest.mark.parametrize("q", [0.01, 0.5, 1.0])
def test_windows_of_ranks(mechanism, q, postgres, postgres_table):
    values = [((37 * i) % 101) / 8 - 6 for i in range(50)] + [1e308, -1e308, 5e-324]
    plan = plan_of(cf.Channel(cf.Quantile("abs(x)", q, (-16, 16)), mechanism, len(values)))
    every = sorted(whole_numbers(plan.channel, plan.grid, x)[0] for x in values)
    rank, cap = plan.channel.statistic.rank(len(values)), plan.channel.law.window
    padded = [plan.grid.low[0]] * cap + every + [plan.grid.high[0]] * cap
    for source in ((values,), (postgres, "x", postgres_table(values))):
        assert numbers(plan, *source).tolist() == padded[rank - 1 : rank + 2 * cap]


@pytest.mark.parametrize("n", [1, 7, 10**6, 10**9])
@pytest.mark.parametrize("mechanism", [cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.GDP(0.1)), cf.Laplace(scale=1e-3)])
def test_the_step_is_a_power_of_two_far_below_the_noise_of_the_mean(n, mechanism):
    plan = plan_of(cf.Channel(cf.Mean("x", (0, 1)), mechanism, n))
    step = plan.grid.step
    assert step.numerator == 1
    assert step.denominator & (step.denominator - 1) == 0
    assert step <= Fraction(plan.channel.law.noise.scale) / 2**20
    assert n * plan.channel.law.noise.scale / float(step) <= plan.scale


def test_a_grid_does_not_depend_on_the_data():
    """Everything public is derived before a source is even opened."""
    channel = cf.Channel(cf.Median("x", (0, 1)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), 100)
    law = channel.law
    assert plan_of(channel).grid.step <= math.exp(-law.cap * law.beta) / law.alpha / 2**20


def test_nested_clips_do_not_explode():
    expression = "x"
    for _ in range(40):
        expression = f"clip({expression}, -5, 5)*1.5"
    plan = plan_for([expression], 2)
    found = numbers(plan, [1.0, -2.0])
    assert abs(found[0] - expected(plan, [1.0, -2.0])[0]) <= 2
    square = "x"
    for _ in range(12):
        square = f"min(({square})**4, 2)"
    plan = plan_for([square], 2)
    assert numbers(plan, [1.0, 0.5])[0] >= 0
