"""Sums of counts with wide noise: fast transforms keep the digits of what is far from the largest mass."""

import numpy as np
import pytest

from confide.denoising.masses import _convolved

X = np.arange(-11_000, 11_001, dtype=float)
SHAPES = {
    "laplace": np.exp(-np.abs(X) / 60.0),
    "gaussian": np.exp(-0.5 * (X / 700.0) ** 2),
    "two hills": np.exp(-0.5 * (X / 300.0) ** 2) + np.exp(-0.5 * ((X - 6000.0) / 300.0) ** 2),
    "with gaps": np.where(np.abs(X) % 3000 < 900, np.exp(-np.abs(X) / 100.0), 0.0),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_far_sums_have_their_digits(shape):
    """Against the plain sum of products at some places; by one transform for all, 1e-40 came out as 1e-17."""
    one, two = SHAPES[shape], SHAPES[shape][::-1] * np.where(X > 4000, 1e-30, 1.0)
    assert one.size * two.size > 4e8  # where transforms are used
    found = _convolved(one, two)
    for place in np.linspace(0.02, 0.98, 49):
        at = int(place * found.size)
        inside = np.arange(max(0, at - two.size + 1), min(at, one.size - 1) + 1)
        assert found[at] == pytest.approx(float(one[inside] @ two[at - inside]), rel=1e-8, abs=1e-250)
