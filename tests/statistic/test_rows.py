"""Statistics of rows with several columns: certified ranges, joint sensitivities, and what is refused."""

import itertools
import time

import jax
import numpy as np
import pytest

import confide as cf
from confide.errors import IncompatibleError, InvalidArgument, RangeError
from confide.expression import Expression, ascent
from confide.expression.boxes import Components
from confide.expression.evaluate import evaluate
from confide.expression.work import size
from confide.statistic import joint

HOSPITAL = {"age": (18, 90), "cost": (10, 50_000)}
#: Ju, Awan, Gong and Rao (2022), p = 2: the unique entries of (XᵀY, YᵀY, XᵀX) of columns that are scaled to ±1
JU = ["y", "x1 * y", "x2 * y", "y**2", "x1", "x2", "x1**2", "x1 * x2", "x2**2"]
UNIT = {"x1": (-1, 1), "x2": (-1, 1), "y": (-1, 1)}
SKEW = {"x1": (-1, 2), "x2": (0, 1), "y": (-3, 1)}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def rows_on_a_grid(bounds, points):
    axes = np.meshgrid(*(np.linspace(*ends, points) for ends in bounds.values()))
    return {name: axis.ravel() for name, axis in zip(bounds, axes, strict=True)}


def farthest(statistic, rows, norm):
    """By brute force over pairs of rows."""
    values = np.asarray(statistic.values(rows)).T
    return max(np.linalg.norm(values - one[:, None], ord=norm, axis=0).max() for one in values.T)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("a * b - a", {"a": (-1, 2), "b": (0, 3)}),
        ("(a - b)**2 + a", {"a": (-1, 2), "b": (0, 3)}),
        ("a * exp(-a * b)", {"a": (0, 2), "b": (0.5, 3)}),
        ("where(a > b, a, b) - min(a, b)", {"a": (-1, 2), "b": (0, 3)}),
        ("abs(a - b) * (a > 1) - b", {"a": (-1, 2), "b": (0, 3)}),
        ("interp(a + b, [0, 1, 2], [0, 5, 1]) * b", {"a": (-1, 2), "b": (0, 3)}),
        ("a * b * c - a * c + b", {"a": (-1, 2), "b": (0, 3), "c": (-2, 1)}),
    ],
)
def test_certified_ranges_hold_every_value_and_little_else(text, bounds):
    expression = Expression(text, tuple(bounds))
    low, high = expression.range_on(bounds)
    values = np.asarray(evaluate(expression.tree, rows_on_a_grid(bounds, 201 if len(bounds) == 2 else 41)))
    assert low <= values.min()
    assert values.max() <= high
    assert high - low <= 1.03 * (values.max() - values.min())


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    ("texts", "bounds", "points"),
    [
        (["a", "b", "a * b", "a**2", "b**2"], {"a": (-1, 1), "b": (-1, 1)}, 41),
        (["a", "b", "a * b", "a**2", "b**2"], {"a": (-1, 3), "b": (-2, 1)}, 41),
        (["a > 2", "(a > 2) * b", "b"], {"a": (0, 5), "b": (-1, 1)}, 41),
        (["age", "log(cost)", "age * log(cost)"], HOSPITAL, 41),
        (JU, UNIT, 11),
        (JU, SKEW, 13),
    ],
)
def test_joint_sensitivity_is_never_below_brute_force_and_within_a_hundredth(texts, bounds, points, norm):
    statistic = cf.Mean(texts, bounds=bounds)
    began = time.monotonic()
    bound = statistic.sensitivity(1, norm)
    assert time.monotonic() - began < 10
    brute = farthest(statistic, rows_on_a_grid(bounds, points), norm)
    assert brute <= bound <= 1.01 * brute


def test_random_rows_never_lie_farther_apart():
    generator = np.random.default_rng(1)
    texts = ["exp(a) * b", "a / (1 + b**2)", "max(a, b)", "(a < b) * a"]
    bounds = {"a": (-1.0, 2.0), "b": (-2.0, 1.0)}
    statistic = cf.Mean(texts, bounds=bounds)
    rows = {name: generator.uniform(*ends, 1500) for name, ends in bounds.items()}
    for norm in (1, 2):
        assert farthest(statistic, rows, norm) <= statistic.sensitivity(1, norm)


def test_sensitivities_of_independent_columns_are_sums():
    statistic = cf.Mean(["a", "b"], bounds={"a": (0, 3), "b": (0, 4)})
    assert statistic.sensitivity(1, 1) == 7
    assert statistic.sensitivity(1, 2) == pytest.approx(5, rel=1e-12)
    assert statistic.sensitivity(1, 2) >= 5


def test_regression_from_privatised_moments_needs_less_than_was_published():
    """Ju et al. use 13, the R package dapper 15; replacing one row moves the moments by 9.375 at most."""
    statistic = cf.Mean(JU, bounds=UNIT)
    bound = statistic.sensitivity(1, 1)
    assert 9.375 <= bound < 9.376
    values = [np.asarray(statistic.values(row)) for row in _farthest_rows()]
    assert np.abs(values[0] - values[1]).sum() == pytest.approx(9.375, abs=1e-12)


def _farthest_rows():
    """(1, 1, 1), and (−c, −c, −c): each linear entry moves by 1 + c, each square and product by 1 − c², c = ¼."""
    return [dict.fromkeys(UNIT, 1.0), dict.fromkeys(UNIT, -0.25)]


def test_many_components_have_the_norm_of_their_widths():
    texts = [f"a**{i} * b" for i in range(1, 14)]
    statistic = cf.Mean(texts, bounds={"a": (0, 1), "b": (0, 2)})
    assert statistic.sensitivity(1, 1) == 26


def test_rows_are_clipped_column_by_column_and_reduced():
    statistic = cf.Mean(["age", "age * log(cost)"], bounds=HOSPITAL)
    rows = {"cost": [1.0, 100.0, 1e9], "age": [20.0, 99.0, 5.0], "unused": ["a", "b", "c"]}
    age, cost = np.array([20.0, 90.0, 18.0]), np.array([10.0, 100.0, 50_000.0])
    channel = cf.Channel(statistic, cf.Gaussian(scale=1.0), n=3)
    np.testing.assert_allclose(channel.summary(rows), [age.mean(), (age * np.log(cost)).mean()], rtol=1e-14)
    assert cf.Maximum("age - cost", bounds=HOSPITAL).summary({"age": [20.0], "cost": [30.0]}) == -10.0
    assert np.shape(channel.simulate(0, rows)) == (2,)


def test_one_column_called_x_stays_what_it_was():
    assert cf.Mean("x**2", bounds={"x": (-1, 2)}) == cf.Mean("x**2", bounds=(-1, 2))
    assert cf.Mean("x", bounds=(0, 1)).columns == ("x",)


def test_statistics_of_rows_compare_by_value_and_print_what_makes_them():
    one = cf.Mean(["age * cost"], bounds=HOSPITAL)
    assert one == cf.Mean(["age*cost"], bounds={"age": (18.0, 90.0), "cost": (10.0, 5e4)})
    assert hash(one) == hash(eval(repr(one), {"Mean": cf.Mean}))
    assert one != cf.Mean(["age * cost"], bounds={**HOSPITAL, "age": (18, 91)})


@pytest.mark.parametrize(
    ("texts", "bounds", "says"),
    [
        ("age * cots", HOSPITAL, "'cots'.*add 'cots' to bounds"),
        ("age", HOSPITAL, "'cost', which is not used"),
        ("x", {}, "names no column"),
        ("age", {"age": (90, 18)}, r"bounds\['age'\].*reversed"),
        ("age", {"age": (18, np.inf)}, "not finite"),
        ("log + 1", {"log": (0, 1)}, "not a name for a column"),
        ("a + 1", {"a b": (0, 1)}, "not a name for a column"),
        ("age", {3: (0, 1)}, "not a name for a column"),
    ],
)
def test_wrong_columns_are_refused_with_a_remedy(texts, bounds, says):
    with pytest.raises(InvalidArgument, match=says):
        cf.Mean(texts, bounds=bounds)


def test_an_expression_that_is_undefined_on_its_bounds_is_refused():
    with pytest.raises(RangeError, match="log of values"):
        cf.Mean("log(age - cost)", bounds=HOSPITAL)


def test_columns_that_records_lack_are_named():
    channel = cf.Channel(cf.Mean("age * cost", bounds=HOSPITAL), cf.Laplace(scale=1.0), n=2)
    for records in ([1.0, 2.0], {"cost": [1.0, 2.0]}):
        with pytest.raises(InvalidArgument, match="no column 'age'"):
            channel.summary(records)


def test_what_is_not_there_yet_is_refused_in_words():
    channel = cf.Channel(cf.Mean("age * cost", bounds=HOSPITAL), cf.Laplace(scale=1.0), n=2)
    with pytest.raises(IncompatibleError, match="about the column 'age'"):
        cf.Model(cf.populations.normal(), channel)


def test_all_patterns_of_signs_are_tried():
    """Against the plain definition, at the corners of a box where every component is linear."""
    texts, bounds = ["a + b", "a - b", "2 * a"], {"a": (0, 1), "b": (0, 3)}
    corners = np.array(list(itertools.product((0, 1), (0, 3))), dtype=float)
    s = np.stack([corners[:, 0] + corners[:, 1], corners[:, 0] - corners[:, 1], 2 * corners[:, 0]])
    exact = max(np.abs(s - one[:, None]).sum(axis=0).max() for one in s.T)
    assert cf.Mean(texts, bounds=bounds).sensitivity(1, 1) == pytest.approx(exact, rel=1e-5)


def _most_at_once(monkeypatch):
    """Watch how many boxes are looked at, at once and in all times the operations of one reading."""
    seen = {"at once": 0, "operations": 0.0}

    def watched(plain):
        def read(self, found):
            seen["at once"] = max(seen["at once"], found.count)
            seen["operations"] += found.count * sum(map(size, self.trees))
            return plain(self, found)

        return read

    for name in ("values", "slopes"):
        monkeypatch.setattr(Components, name, watched(getattr(Components, name)))
    return seen


SWITCHES = ["(a > 1) * (b > 2)", "(a > 3) * (b < 5)", "(b > 4) * (c > 7)", "(c > 1) * a", "max(a, 2) * max(b, 6)", "c"]


@pytest.mark.parametrize("norm", [1, 2])
def test_the_first_cuts_are_no_more_than_a_round(norm, monkeypatch):
    """Twelve components have 4,096 patterns of signs: with as many boxes for each, gigabytes."""
    seen = _most_at_once(monkeypatch)
    monkeypatch.setattr(joint, "MOST_WORK", 1.0)
    monkeypatch.setattr(ascent, "MOST_WORK", 1.0)
    bounds = {"a": (0, 10), "b": (0, 10), "c": (0, 10)}
    statistic = cf.Mean([*SWITCHES, *(f"{text} * 0.5" for text in SWITCHES)], bounds=bounds)
    assert statistic.sensitivity(1, norm) > 0
    assert seen["at once"] <= 2 * 8_192


@pytest.mark.parametrize("norm", [0, 1, 2])
def test_the_work_is_counted_in_operations(norm, monkeypatch):
    """A long expression costs more than a short one; what is left when the work is spent is as valid."""
    seen = _most_at_once(monkeypatch)
    monkeypatch.setattr(joint, "MOST_WORK", 200_000)
    monkeypatch.setattr(ascent, "MOST_WORK", 200_000)
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    long = " + ".join(f"(a - b / {i})**3 * (b + a / {i})" for i in range(2, 22))
    statistic = cf.Mean([long, "a * b", "a - b"] if norm else long, bounds=bounds)
    bound = statistic.sensitivity(1, norm or 1)
    # a round may go beyond the budget once: readings of one round, at most eight of them
    assert seen["operations"] <= 4 * 200_000 + 8 * 2 * 8_192 * 600
    assert seen["operations"] <= 12_000_000
    assert bound >= farthest(statistic, rows_on_a_grid(bounds, 21), norm or 1) if norm else bound > 0
