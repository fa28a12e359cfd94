"""The cubic spline is SciPy's."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from confide._cubic import Cubic


@pytest.mark.parametrize("size", [2, 3, 4, 5, 40])
@pytest.mark.parametrize("beside", [(), (3,)])
def test_pieces_are_those_of_scipy(size, beside):
    rng = np.random.default_rng(size)
    knots, values = np.cumsum(rng.uniform(0.1, 2.0, size)), rng.normal(size=(size, *beside))
    points = np.linspace(knots[0] - 1.0, knots[-1] + 1.0, 301)  # beyond the knots too
    ours, theirs = Cubic.through(knots, values), CubicSpline(knots, values)
    np.testing.assert_allclose(ours.coefficients, theirs.c, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours(knots), values, atol=1e-12)
