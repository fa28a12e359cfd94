"""Estimators of batches: what they keep, against integrals of a gamma law."""

import numpy as np
import pytest
from scipy import integrate, stats

import confide as cf
from confide.paper.batches import batched, batches_of, direct


def test_a_batch_is_a_mean_of_squares():
    for size in (1, 4, 10):
        law = stats.gamma(size / 2, scale=2 * 2.0 / size)
        for x in (0.5, 2.0, 6.0):
            assert batches_of(size).cdf(x, 2.0) == pytest.approx(law.cdf(x), abs=1e-12)
            assert batches_of(size).survival(x, 2.0) == pytest.approx(law.sf(x), abs=1e-12)


def test_batches_of_one_are_squares():
    """Clipped at 9, which is x at 3."""
    one, two = (
        cf.information(model, 2.0).matrix.item() for model in (batched(1, 60, 1.0, 9.0), direct("x**2", 60, 1.0, 3.0))
    )
    assert one == pytest.approx(two, rel=1e-6)


def test_one_batch_by_quadrature():
    """A single batch with noise: ∫ (∂p)²/p dy, p by quadrature over the clipped gamma law."""
    top, size, step = 6.0, 4, 1e-4
    y = np.linspace(-70, 76, 24001)

    def density(theta):
        law = stats.gamma(size / 2, scale=2 * theta / size)
        x, w = np.polynomial.legendre.leggauss(400)
        x, w = 0.5 * top * (x + 1), 0.5 * top * w
        return stats.laplace.pdf(y[:, None] - x, scale=top) @ (w * law.pdf(x)) + stats.laplace.pdf(
            y - top, scale=top
        ) * law.sf(top)

    slope = (density(2.0 + step) - density(2.0 - step)) / (2 * step)
    expected = integrate.simpson(slope**2 / density(2.0), x=y)
    assert cf.information(batched(size, size, 1.0, top), 2.0).matrix.item() == pytest.approx(expected, rel=1e-4)
