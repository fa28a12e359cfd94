"""The table of Awan and Wang: an exponential mean of 10, n = 100, Laplace ε = 1, records clamped to [0, U]."""

import jax
import numpy as np
import pytest
from scipy import optimize

import confide as cf
from confide.frequentist.exact import p_values
from confide.likelihood import choose_route

#: U: their mean width of 95% intervals over 1000 releases
PUBLISHED = {10: 6.071, 20: 4.956, 100: 7.307}


def sets_of_many(table, line, alpha):
    """The hull (Y, 2) of {p ≥ α} of many values, from p-values (M, Y) on a line of coordinates, by interpolation."""
    with np.errstate(divide="ignore"):
        excess = np.log(np.maximum(table, 1e-300)) - np.log(alpha)
    hulls = np.full((table.shape[1], 2), np.nan)
    for column, row in enumerate(excess.T):
        inside = np.flatnonzero(row >= 0)
        if inside.size:
            hulls[column] = crossing(line, row, inside[0], -1), crossing(line, row, inside[-1], 1)
    return hulls


def crossing(line, row, at, side):
    """Where the excess passes 0 beside a point that is inside, by a cubic through four points."""
    if not 0 <= at + side < row.size:
        return side * np.inf
    first = int(np.clip(min(at, at + side) - 1, 0, row.size - 4))
    cubic = np.polynomial.Polynomial.fit(line[first : first + 4], row[first : first + 4], 3)
    low, high = sorted((line[at], line[at + side]))
    return float(optimize.brentq(cubic, low, high)) if cubic(low) * cubic(high) < 0 else float(line[at])


def table(high, releases=1000):
    """Mean width and coverage of exact 95% intervals of the mean."""
    channel = cf.Channel(cf.Mean("x", bounds=(0, high)), cf.Laplace(cf.PureDP(1.0)), n=100)
    model = cf.Model(cf.populations.exponential(), channel)
    values = np.asarray(model.simulate(11, 0.1, shape=(releases,)))
    line = np.linspace(np.log(0.1) - 1.6, np.log(0.1) + 1.6, 97)
    with jax.enable_x64(True):
        found = sets_of_many(p_values(choose_route(model), model, np.exp(line)[:, None], values), line, 0.05)
    means = np.exp(-found[:, ::-1])
    return float(np.mean(means[:, 1] - means[:, 0])), float(np.mean((means[:, 0] <= 10) & (means[:, 1] >= 10)))


@pytest.mark.slow
@pytest.mark.parametrize("high", PUBLISHED)
def test_exact_intervals_are_no_wider_than_published(high):
    width, coverage = table(high)
    print(f"U = {high}: mean width {width:.4f} ({PUBLISHED[high]} published), coverage {coverage:.4f}")
    assert width < 1.02 * PUBLISHED[high]
    assert abs(coverage - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 1000)
