"""A mean that is rounded to a lattice far coarser than itself: against the distribution of sums of uniform numbers."""

from fractions import Fraction
from math import comb, factorial, floor

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.likelihood.slow_inversion import rounded_sums, rounded_tails

UNIFORM = cf.Population(lambda loc: dist.Uniform(loc, loc + 1.0), {"loc": dist.constraints.real})


def below(n, total):
    """P(U₁ + … + Uₙ ≤ total), in fractions."""
    total = min(max(Fraction(total), Fraction(0)), Fraction(n))
    terms = ((-1) ** k * comb(n, k) * (total - k) ** n for k in range(floor(total) + 1))
    return sum(terms, Fraction(0)) / factorial(n)


def expected(n, theta, y, scale, step, *, gaussian):
    """log p(y) of the mean of n uniform numbers on (θ, θ + 1), rounded to the lattice, under noise on it."""
    points = step * np.arange(floor((theta - 1) / step), floor((theta + 2) / step) + 1)
    ends = [n * (Fraction(float(p)) - Fraction(step) / 2 - Fraction(theta)) for p in [*points, points[-1] + step]]
    q = np.diff([float(below(n, end)) for end in ends])
    gap = (y[:, None] - points) / scale
    if gaussian:
        every = np.exp(-0.5 * (step / scale * np.arange(-400, 401)) ** 2).sum()
        return np.log(np.exp(-0.5 * gap**2) / every @ q)
    return np.log(np.tanh(0.5 * step / scale) * np.exp(-np.abs(gap)) @ q)


@pytest.mark.parametrize(("scale", "gaussian"), [(4.5, False), (0.1, False), (0.6, True)])
def test_it_is_inverted_by_its_tails_alone(monkeypatch, scale, gaussian):
    """A spread of .083 (n = 12) beside steps of a quarter; θ where it is in the middle of a step, at its end, between."""
    monkeypatch.setattr(rounded_sums, "log_likelihood", lambda *_: pytest.fail("cells were asked"))
    kind, thetas = cf.Gaussian if gaussian else cf.Laplace, [0.0, 0.125, 0.0625, -0.3, 1.1]
    model = cf.Model(UNIFORM, cf.Channel(cf.Mean("x", (-3, 3)), kind(scale=scale, step=0.25), 12))
    y = np.asarray([0.0, 0.25, 0.5, 0.75, 2.0])
    found = model.log_likelihood(np.asarray(thetas), y)
    for row, theta in zip(found, thetas, strict=True):
        np.testing.assert_allclose(row, expected(12, theta, y, scale, 0.25, gaussian=gaussian), atol=1e-8)


def test_few_records_that_do_not_decay_are_left_to_cells(monkeypatch):
    """Two records: what lies beyond the last frequency is more than may be left out, and it is known."""
    asked = []
    plain = rounded_tails.log_likelihood

    def heard(group, thetas, y):
        found = plain(group, thetas, y)
        asked.append(found[1])
        return found

    monkeypatch.setattr(rounded_tails, "log_likelihood", heard)
    model = cf.Model(UNIFORM, cf.Channel(cf.Mean("x", (-3, 3)), cf.Laplace(scale=0.5, step=1.0), 2))
    y = np.asarray([0.0, 1.0])
    np.testing.assert_allclose(model.log_likelihood(0.2, y), expected(2, 0.2, y, 0.5, 1.0, gaussian=False), atol=1e-7)
    assert asked[0].min() > 2e-9


def test_what_is_not_inverted_is_bounded():
    """Thirty records, of which most are 0: that nearly all are is no short inversion, and less likely than its bound."""
    n, step, share = 30, 0.1, 0.7
    node, weight = np.polynomial.legendre.leggauss(200)
    s, mass = np.append(0.5 + 0.5 * node, 0.0), np.append((1 - share) * 0.5 * weight, share)
    first, q, doubt = rounded_tails._rounded(s, mass, s == 0.0, n, step)
    outside = [comb(n, k) * (1 - share) ** k * share ** (n - k) for k in range(n + 1)]
    total = [
        outside[0] * (half > 0) + sum(outside[k] * float(below(k, n * half)) for k in range(1, n + 1))
        for half in (step * (first + i - 0.5) for i in range(q.size + 1))
    ]
    assert np.all(np.isfinite(doubt)) and doubt.max() > 1e-9  # which the bound alone is as good as
    assert np.all(np.abs(q - np.diff(total)) <= doubt + 1e-13)
