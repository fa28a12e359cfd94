"""Columns that have nothing to do with each other are inferred one by one: the same posterior, in a fraction of the time."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide._precision import float64
from confide.inference.problem import read
from confide.inference.sampling.separate import separated
from confide.likelihood.joint import joint_route

P = cf.populations
ROWS = P.independent(age=P.normal_mean(100.0), smokes=P.bernoulli())
PRIOR = {"age_mean": dist.Normal(50.0, 20.0), "smokes_probability": dist.Beta(1.0, 1.0)}
AGE = {"age": (0, 100)}
SMOKES = {"smokes": (0, 1)}


def release(expression, bounds, mechanism, value, n=500):
    return cf.Release(cf.Channel(cf.Mean(expression, bounds=bounds), mechanism, n=n), value)


def alone(population, prior, expression, bounds, mechanism, value):
    """What a population of one number says of the same release."""
    return cf.infer(population, release(expression, bounds, mechanism, value), prior)


@pytest.mark.parametrize("same", [True, False])
def test_releases_of_two_columns_are_two_questions(same):
    """Of the same records too, which ended in a TypeError, and had no answer with Laplace noise."""
    mechanism = cf.Laplace(cf.PureDP(1.0))
    both = [release("age", AGE, mechanism, 49.5), release("smokes", SMOKES, mechanism, 0.29)]
    found = cf.infer(ROWS, both, PRIOR, same_records=same)
    age = alone(P.normal_mean(100.0), dist.Normal(50.0, 20.0), "age", AGE, mechanism, 49.5)
    smokes = alone(P.bernoulli(), dist.Beta(1.0, 1.0), "smokes", SMOKES, mechanism, 0.29)
    assert found.names == ("age_mean", "smokes_probability")
    for name, one in (("age_mean", age), ("smokes_probability", smokes)):
        assert found.mean[name] == pytest.approx(float(one.mean), rel=1e-12)
        assert found.sd[name] == pytest.approx(float(one.sd), rel=1e-12)
    assert found.log_evidence == pytest.approx(age.log_evidence + smokes.log_evidence, abs=1e-9)
    assert abs(np.corrcoef(found.theta.reshape(-1, 2).T)[0, 1]) < 4.9 / np.sqrt(4000)  # alpha = 1e-6


@pytest.mark.parametrize("mechanism", [cf.Laplace(scale=0.01), cf.Gaussian(scale=0.01)])
def test_the_components_of_a_vector_have_noise_of_their_own(mechanism):
    both = AGE | SMOKES
    found = cf.infer(ROWS, release(["smokes", "age / 100"], both, mechanism, [0.29, 0.495]), PRIOR)
    age = alone(P.normal_mean(100.0), dist.Normal(50.0, 20.0), "age / 100", AGE, mechanism, 0.495)
    assert found.mean["age_mean"] == pytest.approx(float(age.mean), rel=1e-12)
    assert found.method == "grid"


def test_a_column_of_which_nothing_was_published_keeps_its_prior():
    found = cf.infer(ROWS, release("smokes", SMOKES, cf.Laplace(cf.PureDP(1.0)), 0.29), PRIOR)
    assert abs(found.mean["age_mean"] - 50.0) < 4.9 * 20.0 / np.sqrt(4000)
    assert "prior" in found.method
    assert "nothing was published about age_mean: what is shown is the prior" in str(found)
    assert "latent" not in str(found)


def parts(population, expression, bounds, value):
    prior = {name: dist.Normal(0.0, 1.0) for name in population.names}
    return separated(read(population, release(expression, bounds, cf.Gaussian(scale=0.1), value), prior, None))


def test_what_is_tied_is_not_taken_apart():
    """By a column that follows another, by a parameter that two share, or by a number that is about both."""
    real = dist.constraints.real
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    follows = cf.Population(
        {"a": lambda m: dist.Normal(m, 1.0), "b": lambda a, k: dist.Normal(k * a, 1.0)}, {"m": real, "k": real}
    )
    shares = cf.Population(
        {"a": lambda m: dist.Normal(m, 1.0), "b": lambda m, k: dist.Normal(m + k, 1.0)}, {"m": real, "k": real}
    )
    apart = cf.Population(
        {"a": lambda m: dist.Normal(m, 1.0), "b": lambda k: dist.Normal(k, 1.0)}, {"m": real, "k": real}
    )
    assert parts(follows, ["a", "b"], bounds, [0.0, 0.0]) == []
    assert parts(shares, ["a", "b"], bounds, [0.0, 0.0]) == []
    assert parts(apart, ["a", "a * b"], bounds, [0.0, 0.0]) == []
    assert [part.names for part in parts(apart, ["a", "b"], bounds, [0.0, 0.0])] == [("m",), ("k",)]


def test_means_of_the_same_rows_on_other_bounds():
    """One vector of means on common bounds, each column clipped to its own: against a normal law by a fine mesh."""
    line = P.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
    noise = cf.Gaussian(scale=0.02)
    one = {"x": (-1, 1), "y": (-3, 3)}
    together = [release("x * y", one, noise, 0.3, n=2000), release("y", {"y": (-2, 2)}, noise, 0.1, n=2000)]
    prior = {"intercept": dist.Normal(0, 1), "coefficients": dist.Normal(0, 1), "variance": dist.InverseGamma(3, 2)}
    problem = read(line, together, prior, True)
    joint = joint_route(problem.models, "auto", True)
    found = float64(joint.log_likelihood)(np.asarray([[0.1, 0.5, 0.6]]), problem.values)
    z = -8.0 + 16.0 * (np.arange(1500) + 0.5) / 1500
    x, e = np.meshgrid(z, z)
    y = 0.1 + 0.5 * x + np.sqrt(0.6) * e
    s = np.stack([np.clip(x, -1, 1) * np.clip(y, -3, 3), np.clip(y, -2, 2)]).reshape(2, -1)
    weight = np.exp(-0.5 * (x**2 + e**2)).ravel()
    covariance = np.cov(s, aweights=weight, ddof=0) / 2000 + 0.02**2 * np.eye(2)
    expected = stats.multivariate_normal(s @ weight / weight.sum(), covariance).logpdf([0.3, 0.1])
    assert found[0] == pytest.approx(expected, abs=1e-3)
