"""Densities with a kink: panels that find it, and the posterior of a maximum of uniform records."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate

import confide as cf
from confide.inference.quadrature import line
from confide.inference.quadrature.panels import in_panels


def kinked(x):
    """A log density whose second derivative jumps at 0.31."""
    return -2.0 * x**2 - 40.0 * np.maximum(x - 0.31, 0.0) ** 2


def test_panels_follow_a_kink_and_are_few():
    asked = []

    def counted(x):
        asked.append(x.size)
        return kinked(x)

    found = in_panels(counted, -3.0, 3.0)
    x = np.linspace(-3.0, 3.0, 20_011)
    off = np.abs(found(x) - kinked(x)) * np.exp(kinked(x))
    assert off.max() < 1e-5
    assert off.mean() < 1e-9  # an integral is what panels are for
    assert sum(asked) < 600


def test_moments_of_a_density_with_a_kink():
    asked = []

    def counted(x):
        asked.append(x.size)
        return kinked(x)

    found = line.integrate(counted, -4.0, 4.0, line.Care())
    share = found.density / found.density.sum()

    def moment(k):
        parts = [integrate.quad(lambda t: t**k * np.exp(kinked(t)), *ends, epsabs=1e-14) for ends in PARTS]
        return sum(part[0] for part in parts)

    total, first, second = (moment(k) for k in range(3))
    assert share @ found.free == pytest.approx(first / total, abs=2e-6)
    assert share @ found.free**2 == pytest.approx(second / total, abs=2e-6)
    assert sum(asked) < 2500  # equal steps alone ask for tens of thousands


PARTS = [(-4.0, 0.31), (0.31, 4.0)]
WIDTH, SCALE, N = cf.populations.uniform_width(), 0.02, 30
MAXIMUM = cf.Release(cf.Channel(cf.Maximum("abs(x)", bounds=(-5, 5)), cf.Laplace(scale=SCALE), n=N), 1.9)
PRIOR = {"width": dist.Uniform(0.1, 4.0)}


def moments_of_the_width():
    """From p(y | θ) = ∫₀^θ n uⁿ⁻¹/θⁿ e^{−|y−u|/b}/2b du, by quadrature in u and θ."""
    u, weight = np.polynomial.legendre.leggauss(400)

    def likelihood(theta):
        total = 0.0
        for low, high in ((max(0.0, min(1.9, theta) - 1.2), min(1.9, theta)), (min(1.9, theta), theta)):
            x = low + 0.5 * (high - low) * (u + 1)
            density = N * x ** (N - 1) / theta**N * np.exp(-np.abs(1.9 - x) / SCALE) / (2 * SCALE)
            total += 0.5 * (high - low) * (weight @ density)
        return total

    def moment(k):
        parts = [(0.9, 1.7), (1.7, 1.9), (1.9, 2.1), (2.1, 4.0)]
        return sum(integrate.quad(lambda t: t**k * likelihood(t), *part, epsabs=1e-13)[0] for part in parts)

    total, first, second = (moment(k) for k in range(3))
    return first / total, np.sqrt(second / total - (first / total) ** 2)


@pytest.mark.parametrize("method", ["auto", "nuts"])
def test_a_maximum_of_uniform_records(method):
    found = cf.infer(WIDTH, MAXIMUM, PRIOR, key=0, method=method)
    mean, sd = moments_of_the_width()
    errors = (2e-6 * sd, 2e-6 * sd) if method == "auto" else (0.25 * sd, 0.3 * sd)
    assert found.mean["width"] == pytest.approx(mean, abs=errors[0])
    assert found.sd["width"] == pytest.approx(sd, abs=errors[1])


def test_what_is_narrow_has_a_long_tail_where_the_prior_is_wide():
    """The density falls as slowly towards the end of the prior as the prior does: the line is 200 times its sd."""
    x, weight = np.polynomial.legendre.leggauss(60)
    at, share = [], []
    for low, high in ((0.95, 1.3), (1.3, 1.7), (1.7, 1.9), (1.9, 2.0), (2.0, 2.2), (2.2, 3.0), (3.0, 5.0), (5.0, 10.0)):
        theta = low + 0.5 * (high - low) * (x + 1)
        for start, stop in ((np.maximum(-theta, 0.9), np.minimum(1.9, theta)), (np.minimum(1.9, theta), theta)):
            u = start[:, None] + 0.5 * (stop - start)[:, None] * (x + 1)  # the largest of N records on (−θ, θ)
            density = ((u + theta[:, None]) / (2 * theta[:, None])) ** (N - 1) / theta[:, None]
            density *= np.exp(-np.abs(1.9 - u) / SCALE)
            at.append(theta)
            share.append(weight * (high - low) * (stop - start) * (density @ weight))
    theta, share = np.concatenate(at), np.concatenate(share) / np.sum(share)
    mean = share @ theta
    sd = np.sqrt(share @ (theta - mean) ** 2)
    release = cf.Release(cf.Channel(cf.Maximum("x", bounds=(-5, 5)), cf.Laplace(scale=SCALE), n=N), 1.9)
    found = cf.infer(WIDTH, release, {"width": dist.Uniform(0.1, 10.0)}, key=0)
    assert found.method == "grid"
    assert found.mean["width"] == pytest.approx(mean, abs=2e-6 * sd)
    assert found.sd["width"] == pytest.approx(sd, abs=2e-6 * sd)
