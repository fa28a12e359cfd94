"""Counts on their own lattice: every pair of neighbours is enumerated, in the model's arithmetic and in a release's."""

import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest

import confide as cf
from confide.expression.whole import largest_whole
from confide.mechanism import squared_steps
from confide.mechanism.counts import squared_counts, steps_per_unit
from confide.releasing.plan import plan_of, squared_sensitivity

CELLS = ["x < 1", "(x >= 1) * (x < 2)", "x >= 2"]
#: statistics of whole numbers, and records that show all that they can be
WHOLE = {
    "histogram": (CELLS, (0, 3), [0.5, 1.5, 2.5]),
    "two cells": (["x < 1", "x >= 1"], (0, 3), [0.5, 1.5]),
    "steps and signs": (["(x > 1) + 2*(x > 2)", "sign(x - 1)", "where(x > 2, -3, 1)"], (0, 3), [0.5, 1.0, 1.5, 2.5]),
}


def enumerated(points, norm):
    """The square of the most that lattice points move when the last record is replaced: sums do not see the order."""
    same = {}
    for chosen, point in points.items():
        same.setdefault(chosen[:-1], []).append(point)
    moves = [
        np.linalg.norm(np.subtract(one, two), ord=norm) ** 2
        for group in same.values()
        for one, two in itertools.combinations(group, 2)
    ]
    return round(max(moves))


def model_points(channel, records):
    """The lattice point of every data set, as the model rounds it."""
    with jax.enable_x64(True):
        sets = list(itertools.product(range(len(records)), repeat=channel.n))
        values = np.asarray(records)[np.asarray(sets)]
        centres = np.asarray(channel.law.centre(channel.summary(values))) / channel.law.noise.step
    return {chosen: tuple(np.round(centre)) for chosen, centre in zip(sets, centres, strict=True)}


def release_points(channel, records):
    """The same in the whole numbers of a release."""
    plan = plan_of(channel)
    statistic = channel.statistic
    whole = [
        [
            plan.grid.nearest(Fraction(float(transform(np.asarray(x)))), j)
            for j, transform in enumerate(statistic.transforms)
        ]
        for x in records
    ]
    return {
        chosen: tuple(plan.centre([sum(column) for column in zip(*(whole[i] for i in chosen), strict=True)]))
        for chosen in itertools.product(range(len(records)), repeat=channel.n)
    }


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(("n", "units"), [(2, 1), (3, 1), (3, 2), (4, 7)])
@pytest.mark.parametrize("name", WHOLE)
def test_the_sensitivity_of_counts_is_what_neighbours_show(name, n, units, norm):
    expressions, bounds, records = WHOLE[name]
    step = 1 / (units * n)
    mechanism = cf.Laplace(scale=2.0, step=step) if norm == 1 else cf.Gaussian(scale=2.0, step=step)
    channel = cf.Channel(cf.Mean(expressions, bounds), mechanism, n)
    said = squared_steps(channel.statistic, n, step, norm)
    assert said == enumerated(model_points(channel, records), norm)
    assert said == enumerated(release_points(channel, records), norm)
    assert said == squared_sensitivity(channel, plan_of(channel).grid, norm)


def test_a_histogram_of_three_cells_costs_two_steps():
    channel = cf.Channel(cf.Mean(CELLS, (0, 3)), cf.Laplace(scale=2 / 100, step=1 / 100), n=100)
    assert channel.guarantee == cf.PureDP(1.0)
    calibrated = cf.Channel(cf.Mean(CELLS, (0, 3)), cf.Laplace(cf.PureDP(1.0), step=1 / 100), n=100)
    assert calibrated.law.noise.scale == pytest.approx(0.02, rel=1e-12)
    assert cf.release(calibrated, np.linspace(0, 3, 100)).guarantee == cf.PureDP(1.0)
    gaussian = cf.Channel(cf.Mean(CELLS, (0, 3)), cf.Gaussian(scale=0.02, step=1 / 100), n=100)
    assert gaussian.guarantee.rho == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("n", [3, 7, 49, 1000, 10**6, 10**9])
def test_a_step_that_was_computed_as_one_over_n_is_that(n):
    assert steps_per_unit(cf.Mean(CELLS, (0, 3)), n, 1 / n) == 1
    assert squared_counts(cf.Mean(CELLS, (0, 3)), n, 1 / n, norm=2) == 2


@pytest.mark.parametrize(
    ("expressions", "n", "step"),
    [
        (["x", "1 - x"], 10, 0.1),  # no whole numbers
        (["x > 1", "0.5 * (x > 2)"], 10, 0.1),
        (CELLS, 10, 0.03),  # the lattice does not hold the counts
        (CELLS, 10, 1.0),
        (CELLS, 2**41, 2.0**-41),  # too many to be told apart
        (["exp(x > 1)", "x > 2"], 10, 0.1),  # an engine may round it
    ],
)
def test_what_is_not_proved_is_not_taken_for_counts(expressions, n, step):
    assert squared_counts(cf.Mean(expressions, (0, 3)), n, step, norm=1) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("x > 1", 1), ("sign(x)", 1), ("2 * (x > 1) - 3", 5), ("min(x > 1, 4)", 4), ("abs(-7) * (x > 0)", 7),
        ("where(x > 0.5, 2, -6)", 6), ("x", None), ("(x > 1) / 2", None), ("(x > 1) ** 2", None),
        ("interp(x, [0, 1], [0, 1])", None), ("9007199254740993 * (x > 1) + (x > 2)", None), ("1.5 * (x > 1)", None),
    ],
)  # fmt: skip
def test_whole_numbers(text, size):
    assert largest_whole(cf.Expression(text).tree) == size


def test_an_audit_of_a_histogram_on_its_lattice():
    channel = cf.Channel(cf.Mean(CELLS, (0, 3)), cf.Laplace(cf.PureDP(1.0), step=1 / 8), n=8)
    assert cf.audit(channel, pairs=30).passed


@pytest.mark.parametrize("mechanism", [cf.Gaussian(cf.ZCDP(0.5), step=0.5), cf.Gaussian(cf.GDP(1.0), step=0.5)])
def test_counts_that_cannot_move_have_noise_for_one_step(mechanism):
    """Their bound in L2 is tiny but not 0, and its floor was divided by."""
    constant = cf.Mean(["5e-324/49 != (x == 1)", "x > 2"], bounds=(5, 6))
    assert 0 < constant.sensitivity(1, norm=2) < 1e-100
    assert squared_counts(constant, 2, 0.5, norm=2) == 1
    assert cf.Channel(constant, mechanism, n=2).law.noise.scale >= 0.5
