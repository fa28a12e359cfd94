"""Several releases: disjoint ones add, and releases of the same records have the law of scipy's quadrature."""

import jax
import numpy as np
import pytest
from scipy import integrate, stats

import confide as cf
from confide.likelihood.joint import joint_route

NORMAL = cf.populations.normal_variance()
THETA = 2.0


def release(expression, bounds, mechanism, n=100, kind=cf.Mean, population=NORMAL):
    return cf.Model(population, cf.Channel(kind(expression, bounds), mechanism, n))


ABS = release("abs(x)", (-2.0, 3.0), cf.Gaussian(scale=0.05))
SQUARE = release("x**2", (-2.5, 2.0), cf.Gaussian(scale=0.3))
NOISY = release("x", (-1.0, 4.0), cf.Laplace(scale=0.1))


def clipped_moments(theta=THETA):
    """The mean and covariance of |clip x|, (clip x)² and clip x, each with its own bounds."""
    law = stats.norm(0, theta**0.5)
    parts = [
        lambda x: np.abs(np.clip(x, -2.0, 3.0)),
        lambda x: np.clip(x, -2.5, 2.0) ** 2,
        lambda x: np.clip(x, -1.0, 4.0),
    ]

    def expect(f):
        cuts = [-15.0, -2.5, -2.0, -1.0, 0.0, 2.0, 3.0, 4.0, 15.0]
        pieces = zip(cuts[:-1], cuts[1:], strict=True)
        return sum(integrate.quad(lambda x: f(x) * law.pdf(x), a, b, epsabs=1e-14)[0] for a, b in pieces)

    mean = np.asarray([expect(f) for f in parts])
    second = np.asarray([[expect(lambda x, f=f, g=g: f(x) * g(x)) for g in parts] for f in parts])
    return mean, second - np.outer(mean, mean)


def test_releases_about_different_records_add():
    joint = joint_route([ABS, NOISY], same_records=False)
    thetas = np.asarray([[1.0], [2.0], [3.0]])
    found = joint_log(joint, thetas, (1.0, 0.3))
    expected = ABS.log_likelihood(thetas, 1.0) + NOISY.log_likelihood(thetas, 0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with jax.enable_x64(True):
        one = jax.jit(lambda t: joint.log_prob(t, (1.0, 0.3)))(thetas[1])
    np.testing.assert_allclose(one, expected[1], rtol=1e-9)
    assert joint.name == "spectral"


def joint_log(joint, thetas, values):
    with jax.enable_x64(True):
        return np.asarray(joint.log_likelihood(thetas, values))


def test_the_same_records_have_the_joint_normal_law_with_different_bounds():
    joint = joint_route([ABS, SQUARE], same_records=True)
    mean, covariance = clipped_moments()
    law = stats.multivariate_normal(mean[:2], covariance[:2, :2] / 100 + np.diag([0.05**2, 0.3**2]))
    traced = jax.jit(joint.log_prob)
    for y in ((1.0, 1.6), (1.2, 1.0), (0.5, 3.0)):
        found = joint_log(joint, np.asarray([[THETA]]), y)[0]
        assert abs(found - law.logpdf(y)) < 1e-9
        with jax.enable_x64(True):
            assert abs(traced(np.asarray([THETA]), y) - law.logpdf(y)) < 1e-9


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_one_release_may_have_laplace_noise(order):
    """Given the Gaussian two, the third mean is normal: its convolution by quadrature, in any order of releases."""
    releases, y = [ABS, SQUARE, NOISY], [1.1, 1.4, 0.35]
    mean, covariance = clipped_moments()
    spread = covariance / 100 + np.diag([0.05**2, 0.3**2, 0.0])

    def integrand(u):
        law = stats.multivariate_normal(mean, spread)
        return law.pdf([*y[:2], u]) * stats.laplace.pdf(y[2] - u, scale=0.1)

    expected = sum(integrate.quad(integrand, a, b, epsabs=1e-14)[0] for a, b in ((-1.2, 0.0), (0.0, y[2]), (y[2], 1.2)))
    joint = joint_route([releases[i] for i in order], same_records=True)
    found = joint_log(joint, np.asarray([[THETA]]), [y[i] for i in order])[0]
    assert abs(found - np.log(expected)) < 1e-9


def test_the_same_release_twice_is_one_release_with_the_pooled_noise():
    """Two noisy copies of one mean tell what their average tells: no more than one copy with half the noise variance."""
    twice = joint_route([ABS, ABS], same_records=True)
    once = joint_route([release("abs(x)", (-2.0, 3.0), cf.Gaussian(scale=0.05 / 2**0.5))], "normal")
    thetas = np.linspace(1.0, 3.0, 5)[:, None]
    gap = joint_log(twice, thetas, (1.0, 1.2)) - joint_log(once, thetas, (1.1,))
    np.testing.assert_allclose(gap, gap[0], rtol=1e-9)


def test_gradients_agree_with_differences():
    joint, h = joint_route([ABS, SQUARE, NOISY], same_records=True), 1e-5
    values = (1.1, 1.4, 0.35)
    low, high = joint_log(joint, np.asarray([[THETA - h], [THETA + h]]), values)
    with jax.enable_x64(True):
        slope = float(jax.jit(jax.grad(lambda t: joint.log_prob(t, values)))(np.asarray([THETA]))[0])
    assert abs(slope - (high - low) / (2 * h)) < 1e-6


def test_vectors_discrete_noise_and_functions_have_a_joint_law_too():
    pair = release(["x", "x**2"], (-3, 3), cf.Gaussian(scale=0.1))
    lattice = release("x", (-1.0, 1.0), cf.Laplace(scale=0.1, step=0.25))
    function = cf.Model(NORMAL, cf.Channel(cf.Mean(np.cos, (-2, 2), range=(-1, 1)), cf.Gaussian(scale=0.1), 100))
    joint = joint_route([pair, lattice, function], same_records=True)
    found = joint_log(joint, np.asarray([[1.0], [2.0]]), ([0.0, 1.0], 0.25, 0.5))
    assert np.all(np.isfinite(found))
    masses = [joint_log(joint, np.asarray([[1.0]]), ([0.0, 1.0], 0.25 * k, 0.5))[0] for k in range(-12, 13)]
    rest = joint_log(joint_route([pair, function], same_records=True), np.asarray([[1.0]]), ([0.0, 1.0], 0.5))[0]
    assert abs(np.logaddexp.reduce(masses) - rest) < 1e-9  # the lattice release sums to one


@pytest.mark.parametrize(
    ("models", "route", "match"),
    [
        ([NOISY, NOISY], "auto", "latent methods"),
        ([ABS, release("abs(x)", (-2, 2), cf.Gaussian(scale=0.1), kind=cf.Median)], "auto", "not a mean.*latent"),
        ([ABS, release("x > 1", (-2, 2), cf.RandomizedResponse(cf.PureDP(1.0)), kind=cf.Each)], "auto", "latent"),
        ([ABS, release("x", (-2, 2), cf.Gaussian(scale=0.1), n=50)], "auto", "50 and 100"),
        ([ABS, SQUARE], "spectral", "twice"),
        ([ABS, release("x", (0, 1), cf.Gaussian(scale=0.1), population=cf.populations.bernoulli())], "auto", "populat"),
    ],
)
def test_where_there_is_no_joint_law_it_is_refused_and_never_a_product(models, route, match):
    with pytest.raises(cf.IncompatibleError, match=match):
        joint_route(models, route, same_records=True)


def test_nothing_is_assumed_about_shared_records():
    with pytest.raises(cf.InvalidArgument, match="same_records"):
        joint_route([ABS, SQUARE])
    assert joint_route([ABS]).name == "spectral"
    with pytest.raises(cf.InvalidArgument, match="models"):
        joint_route([])
    joint = joint_route([ABS, SQUARE], same_records=True)
    for values in ((1.0,), (1.0, np.nan), (1.0, [1.0, 2.0])):
        with pytest.raises(cf.InvalidArgument, match="value"):
            joint_log(joint, np.asarray([[THETA]]), values)
