"""Statistics: values, summaries, ranks, ranges and global sensitivity."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import ConfideError, InvalidArgument, RangeError
from confide.statistic import Each, Maximum, Mean, Median, Minimum, Quantile

BOUNDS = (-10.0, 10.0)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def test_clipping_is_part_of_the_statistic():
    records = np.array([-50.0, -1.0, 2.0, 70.0])
    np.testing.assert_array_equal(Each("abs(x)", BOUNDS).values(records), [10, 1, 2, 10])
    assert Mean("abs(x)", BOUNDS).summary(records) == 23 / 4
    np.testing.assert_array_equal(Mean(["x", "x**2"], BOUNDS).summary(records), [(-10 - 1 + 2 + 10) / 4, 205 / 4])


def test_values_are_float64_and_batched():
    values = Mean(["x", "abs(x)"], BOUNDS).values(jnp.ones((3, 5), dtype=jnp.float32))
    assert values.shape == (3, 5, 2)
    assert values.dtype == jnp.float64
    assert Mean(["x", "abs(x)"], BOUNDS).summary(np.ones((3, 5))).shape == (3, 2)


@pytest.mark.parametrize("n", range(1, 13))
def test_ranks(n):
    assert Median("x", BOUNDS).rank(n) == -(-n // 2)
    assert Maximum("x", BOUNDS).rank(n) == n
    assert Minimum("x", BOUNDS).rank(n) == 1
    assert Quantile("x", 1.0, BOUNDS).rank(n) == n
    assert Quantile("x", 0.5, BOUNDS).rank(n) == Median("x", BOUNDS).rank(n)


@pytest.mark.parametrize(
    ("q", "n", "rank"), [(0.07, 100, 7), (0.29, 100, 29), (0.9, 10, 9), (1e-9, 5, 1), (0.55, 20, 11)]
)
def test_quantile_ranks_read_the_decimal_that_was_written(q, n, rank):
    assert Quantile("x", q, BOUNDS).rank(n) == rank


@given(
    st.lists(st.floats(-12, 12, allow_subnormal=False), min_size=1, max_size=9),
    st.integers(0, 10),
    st.sampled_from([Median("x", BOUNDS), Maximum("x", BOUNDS), Minimum("x", BOUNDS), Quantile("x", 0.3, BOUNDS)]),
)
@settings(max_examples=60, deadline=None)
def test_windows_hold_the_sorted_values_padded_with_the_ends_of_the_range(records, window, statistic):
    n = len(records)
    ordered = sorted(np.clip(records, *BOUNDS))
    ranks = range(statistic.rank(n) - window, statistic.rank(n) + window + 1)
    expected = [-10 if rank < 1 else 10 if rank > n else ordered[rank - 1] for rank in ranks]
    np.testing.assert_array_equal(statistic.summary(np.asarray(records), window), expected)


def test_ranges():
    assert Mean("abs(x)", BOUNDS).range == (0, 10)
    assert Mean(["x", "x**2"], BOUNDS).range == ((-10, 10), (0, 100))
    assert Each("x > 0", BOUNDS).range == (0, 1)
    assert Mean(np.tanh, BOUNDS, range=(-1, 1)).range == (-1, 1)


def test_a_callable_is_clamped_to_its_declared_range():
    statistic = Each(lambda x: x**2, BOUNDS, range=(0, 4))
    np.testing.assert_array_equal(statistic.values(np.array([1.0, 3.0])), [1, 4])


def test_scalar_sensitivities():
    assert Mean("x**2", BOUNDS).sensitivity(100) == 1
    assert Each("x**2", BOUNDS).sensitivity(100) == 100
    assert Median("abs(x)", BOUNDS).sensitivity(100) == 10


@pytest.mark.parametrize(
    ("expressions", "bounds", "norm", "truth"),
    [
        (["x", "x**2"], (-10, 10), 1, 110.25),  # at x = 10, x' = −1/2
        (["x", "x"], (0, 1), 1, 2.0),
        (["x", "x"], (0, 1), 2, 2**0.5),
        (["x", "1 - x"], (0, 1), 2, 2**0.5),
        (["x > 1", "x > 2", "x > 3", "(x > 1)*(x < 2)"], (0, 5), 1, 3.0),
        (["x == 0", "x == 1", "x == 2"], (0, 2), 1, 2.0),
        (["x == 0", "x == 1", "x == 2"], (0, 2), 2, 2**0.5),
        (["x", "abs(x)", "x**3"], (-3, 5), 1, 162.0),
        (["clip(x, 0, 1)", "clip(x, 1, 2)"], (-5, 5), 1, 2.0),
    ],
)
def test_vector_sensitivity_is_tight_and_never_too_small(expressions, bounds, norm, truth):
    found = Mean(expressions, bounds).sensitivity(1, norm)
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 2e-6)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    "expressions", [["x", "x**2", "abs(x)"], ["x*exp(-x)", "sqrt(abs(x))"], ["interp(x, [0, 1], [0, 1])", "x > 0.5"]]
)
def test_vector_sensitivity_dominates_a_dense_search(expressions, norm):
    statistic = Mean(expressions, (-1, 3))
    values = np.asarray(statistic.values(np.linspace(-1, 3, 1201)))
    dense = max(np.linalg.norm(values - row, ord=norm, axis=1).max() for row in values)
    assert dense <= statistic.sensitivity(1, norm) <= dense * 1.01


def test_statistics_are_values():
    assert Median("abs( x )", BOUNDS) == Median("abs(x)", (-10, 10))
    assert hash(Quantile("x", 0.9, BOUNDS)) == hash(Quantile("x", 0.9, BOUNDS))
    different = [
        Mean("x", BOUNDS),
        Each("x", BOUNDS),
        Median("x", BOUNDS),
        Quantile("x", 0.9, BOUNDS),
        Quantile("x", 0.8, BOUNDS),
        Mean("x", (-9, 10)),
        Mean("abs(x)", BOUNDS),
        Mean(["x", "x"], BOUNDS),
    ]
    for a, b in itertools.combinations(different, 2):
        assert a != b
    with pytest.raises(AttributeError):
        different[0].bounds = (0, 1)


def test_they_print_as_words():
    assert str(Median("abs(x)", BOUNDS)) == "the median of abs(x) with x clipped to [-10, 10]"
    assert str(Quantile("x", 0.9, (0, 1))) == "the 0.9-quantile of x with x clipped to [0, 1]"
    assert "(x, x**2)" in str(Mean(["x", "x**2"], BOUNDS))


def test_levels_of_bits_and_codes():
    assert Each("x > 2", BOUNDS).levels == (0, 1)
    assert Each("x", (0, 3)).levels == (0, 1, 2, 3)
    assert Each("x", (0, 2.5)).levels is None
    assert Each("x", (-3, 3)).levels is None
    assert Each("abs(x)", (0, 3)).levels is None


@pytest.mark.parametrize(
    "bounds", [(1, -1), (1, 1), (0, np.inf), (-np.inf, 0), (np.nan, 1), (0,), (0, 1, 2), None, 3, "ab", ("a", "b")]
)
@pytest.mark.parametrize("kind", [Mean, Each, Median])
def test_bad_bounds_are_refused(kind, bounds):
    with pytest.raises(InvalidArgument) as error:
        kind("x", bounds)
    assert error.value.argument == "bounds"


@pytest.mark.parametrize("n", [0, -3, 2.0, 2.5, "7", None, True, np.nan])
def test_bad_counts_are_refused(n):
    with pytest.raises(InvalidArgument) as error:
        Median("x", BOUNDS).rank(n)
    assert error.value.argument == "n"


@pytest.mark.parametrize("q", [0, -0.1, 1.1, np.nan, "a", None])
def test_bad_levels_are_refused(q):
    with pytest.raises(InvalidArgument):
        Quantile("x", q, BOUNDS)


@pytest.mark.parametrize(("expression", "bounds"), [("log(x)", (-1, 1)), ("1/x", (-1, 1)), ("sqrt(x)", (-1, 1))])
@pytest.mark.parametrize("kind", [Mean, Each, Median, Maximum])
def test_an_expression_undefined_on_its_bounds_is_refused_at_once(kind, expression, bounds):
    with pytest.raises(RangeError):
        kind(expression, bounds)


def test_other_bad_input():
    with pytest.raises(InvalidArgument, match="range"):
        Mean(lambda x: x, BOUNDS)
    with pytest.raises(InvalidArgument, match="proves its own"):
        Mean("x", BOUNDS, range=(0, 1))
    with pytest.raises(InvalidArgument, match="empty"):
        Mean([], BOUNDS)
    with pytest.raises(InvalidArgument, match="list"):
        Each(["x", "x"], BOUNDS)
    with pytest.raises(ConfideError):
        Mean(3, BOUNDS)
