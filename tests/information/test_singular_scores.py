"""Information where the density is smooth at an end of its support and the score is not; and where there is none.

The reference inverts the characteristic function of the mean and of its slope in θ, from a double-exponential rule
that no logarithm at an end of the support disturbs; scores in closed form.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

import confide as cf


def double_exponential(high):
    """Nodes on (0, high) with their distances from it, and weights."""
    t = np.linspace(-4.0, 4.0, 401)
    u = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(t)))
    rest = 1.0 / (1.0 + np.exp(np.pi * np.sinh(t)))
    return high * u, high * rest, high * (t[1] - t[0]) * np.pi * np.cosh(t) * u * rest


def beta(a, b):
    """Nodes, weights and scores of a beta law with round a and b."""
    x, rest, w = double_exponential(1.0)
    scores = np.stack([np.log(x) - digamma(a), np.log(rest) - digamma(b)]) + digamma(a + b)
    return x, w * stats.beta.pdf(x, a, b), scores


def gamma(a, r):
    """The same for a gamma law, clipped at 3: what is beyond has the slopes that make all of them sum to zero."""
    x, _, w = double_exponential(3.0)
    p = w * stats.gamma.pdf(x, a, scale=1 / r)
    scores = np.stack([np.log(x * r) - digamma(a), a / r - x])
    beyond = stats.gamma.sf(3.0, a, scale=1 / r)
    return np.append(x, 3.0), np.append(p, beyond), np.column_stack([scores, -(scores @ p) / beyond])


def inverted(x, p, scores, n, scale, laplace):
    """F of the mean of n such records with noise."""
    mean = p @ x
    spread = np.sqrt(p @ (x - mean) ** 2 / n)
    width = 12 * spread + (45 if laplace else 10) * scale
    t = np.linspace(0.0, 14 / spread, int(14 / spread * width) + 1)
    y = mean + np.linspace(-width, width, int(6 * width / min(spread, scale)) + 1)
    turns = np.exp(1j * np.outer(t, x - mean) / n)
    phi = turns @ p
    noise = 1 / (1 + (scale * t) ** 2) if laplace else np.exp(-0.5 * (scale * t) ** 2)
    noise[0] *= 0.5
    rows = [noise * phi**n, *(n * noise * phi ** (n - 1) * (turns @ (p * score)) for score in scores)]
    back = np.exp(-1j * np.outer(y - mean, t)) * (t[1] / np.pi)
    density, *slopes = (np.real(back @ row) for row in rows)
    seen = density > 1e-10 * density.max()
    slopes = np.stack(slopes)[:, seen]
    return (slopes / density[seen]) @ slopes.T * (y[1] - y[0])


@pytest.mark.parametrize(
    ("population", "law", "theta", "bounds", "mechanism"),
    [
        (cf.populations.beta(), beta, (1.0, 1.0), (0, 1), cf.Laplace(scale=0.02)),
        (cf.populations.gamma(), gamma, (1.0, 2.0), (0, 3), cf.Gaussian(scale=0.03)),
    ],
    ids=["beta", "gamma"],
)
def test_information_where_the_score_has_a_logarithm(population, law, theta, bounds, mechanism):
    model = cf.Model(population, cf.Channel(cf.Mean("x", bounds), mechanism, n=60))
    scale = float(model.channel.law.noise.scale)
    expected = inverted(*law(*theta), 60, scale, isinstance(mechanism, cf.Laplace))
    np.testing.assert_allclose(cf.information(model, theta).matrix, expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["spectral", "normal"])
@pytest.mark.parametrize("text", ["x > 1", "x*(x > 1)"])
def test_what_cannot_happen_tells_nothing(text, method):
    channel = cf.Channel(cf.Mean(text, (0, 3)), cf.Laplace(cf.PureDP(1.0)), n=100)
    found = cf.information(cf.Model(cf.populations.beta(), channel), [[1.0, 1.0], [2.0, 3.0]], method=method)
    assert np.all(found.matrix == 0.0)
