"""Populations of rows: draws, densities, simulated releases, and what is refused."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

import confide as cf
from confide.errors import IncompatibleError, InvalidArgument

REAL, POSITIVE = constraints.real, constraints.positive
PATIENTS = cf.Population(
    {
        "age": lambda age_mean, age_sd: dist.Normal(age_mean, 1.0 * age_sd),
        "cost": lambda age, intercept, slope, sd: dist.LogNormal(intercept + slope * age, sd),
    },
    {"age_mean": REAL, "age_sd": POSITIVE, "intercept": REAL, "slope": REAL, "sd": POSITIVE},
)
THETA = np.array([50.0, 10.0, 2.0, 0.05, 0.5])
MOMENTS = cf.Mean(["age", "log(cost)"], bounds={"age": (18, 90), "cost": (10, 50_000)})


def test_the_density_of_a_row_is_the_product_of_its_columns():
    age, cost = np.array([30.0, 55.0, 80.0]), np.array([20.0, 120.0, 900.0])
    expected = stats.norm.logpdf(age, 50, 10) + stats.lognorm.logpdf(cost, 0.5, scale=np.exp(2 + 0.05 * age))
    rows = {"age": age, "cost": cost}
    np.testing.assert_allclose(PATIENTS.log_prob(rows, THETA), expected, rtol=1e-13)
    batch = PATIENTS.log_prob({name: column[:, None] for name, column in rows.items()}, np.stack([THETA, THETA + 0.1]))
    assert batch.shape == (3, 2)
    assert PATIENTS.log_prob({"age": 30.0, "cost": -1.0}, THETA) == -np.inf


def test_draws_follow_the_laws_of_the_columns():
    """Kolmogorov and Smirnov at α = 1e-6 each: the first column, and the second given the first."""
    rows = PATIENTS.sample(0, THETA, (20_000,))
    assert {name: column.shape for name, column in rows.items()} == {"age": (20_000,), "cost": (20_000,)}
    residual = (np.log(rows["cost"]) - 2 - 0.05 * rows["age"]) / 0.5
    for standard in ((rows["age"] - 50) / 10, residual):
        assert stats.kstest(standard, "norm").pvalue > 1e-6
    assert abs(np.corrcoef(rows["age"], residual)[0, 1]) < 5 / np.sqrt(20_000)
    assert PATIENTS.sample(0, np.stack([THETA] * 3), (2, 4))["cost"].shape == (3, 2, 4)


def test_simulated_releases_have_the_moments_of_clipped_rows():
    """Against means over rows that NumPy draws: within 5 standard errors of the difference."""
    channel = cf.Channel(MOMENTS, cf.Gaussian(scale=0.01), n=100)
    values = cf.Model(PATIENTS, channel).simulate(1, THETA, (400,))
    generator = np.random.default_rng(0)
    age = generator.normal(50, 10, 1_000_000)
    cost = np.exp(2 + 0.05 * age + 0.5 * generator.normal(size=age.size))
    s = np.stack([np.clip(age, 18, 90), np.log(np.clip(cost, 10, 50_000))])
    error = np.sqrt(s.var(axis=1) / 40_000 + 0.01**2 / 400)
    assert np.all(np.abs(values.mean(axis=0) - s.mean(axis=1)) < 5 * error)


def test_a_column_x_serves_a_statistic_of_x():
    rows = cf.Population({"x": lambda m: dist.Normal(m, 1.0), "y": lambda x: dist.Normal(x, 1.0)}, {"m": REAL})
    channel = cf.Channel(cf.Mean("x", bounds=(-5, 5)), cf.Gaussian(scale=0.1), n=1000)
    assert abs(cf.Model(rows, channel).simulate(0, 1.0) - 1.0) < 1.0


def test_a_law_that_is_given_and_discrete_columns():
    rows = cf.Population(
        {
            "age": lambda: dist.Uniform(20.0, 60.0),
            "smokes": lambda age, slope: dist.Bernoulli(logits=slope * (age - 40)),
            "visits": lambda smokes, rate: dist.Poisson(rate * (1 + smokes)),
        },
        {"slope": REAL, "rate": POSITIVE},
    )
    found = rows.log_prob({"age": 50.0, "smokes": 1.0, "visits": 3.0}, [0.1, 2.0])
    expected = np.log(1 / 40) - np.log1p(np.exp(-1.0)) + stats.poisson.logpmf(3, 4.0)
    assert found == pytest.approx(expected, abs=1e-12)
    assert set(np.unique(rows.sample(0, [0.1, 2.0], (200,))["smokes"])) == {0.0, 1.0}


def test_independent_columns_are_those_of_their_populations():
    rows = cf.populations.independent(age=cf.populations.normal(), ward=cf.populations.categorical(3))
    assert rows.names == ("age_mean", "age_variance", "ward_probabilities")
    theta = [1.0, 4.0, 0.2, 0.3, 0.5]
    found = rows.log_prob({"age": 0.5, "ward": 2.0}, theta)
    assert found == pytest.approx(stats.norm.logpdf(0.5, 1, 2) + np.log(0.5), abs=1e-12)
    assert rows == cf.populations.independent(age=cf.populations.normal(), ward=cf.populations.categorical(3))


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"a": lambda b, m: dist.Normal(b, 2 * m), "b": lambda m: dist.Normal(m, 1.0)}, "'b', which is not before it"),
        ({"a": lambda q: dist.Normal(q, 1.0)}, "'q' is neither a parameter nor an earlier column"),
        ({"a": lambda: dist.Normal(0.0, 1.0)}, "'m' is a parameter of no column"),
        ({"m": lambda m: dist.Normal(m, 1.0)}, "name of a column and of a parameter"),
        ({"a": lambda **m: dist.Normal(m["m"], 1.0)}, "does not name what it depends on"),
        ({"a b": lambda m: dist.Normal(m, 1.0)}, "not a name for a column"),
        ({"a": 3}, "is not a function"),
        ({}, "has no column"),
        ({"a": lambda m: dist.Normal(jnp.zeros(3) + m, 1.0)}, "records of shape"),
    ],
)
def test_columns_that_cannot_be_are_refused(columns, says):
    with pytest.raises(InvalidArgument, match=says):
        cf.Population(columns, {"m": POSITIVE})


def test_a_column_of_rows_cannot_be_a_row():
    with pytest.raises(InvalidArgument, match="not a population of numbers"):
        cf.populations.independent(a=PATIENTS)


def test_an_unknown_column_is_refused():
    channel = cf.Channel(cf.Mean("age * stay", bounds={"age": (0, 9), "stay": (0, 9)}), cf.Laplace(scale=1.0), n=9)
    with pytest.raises(IncompatibleError, match=r"the column 'stay'.*has age, cost"):
        cf.Model(PATIENTS, channel)
    with pytest.raises(InvalidArgument, match="no column 'cost'"):
        PATIENTS.log_prob({"age": 1.0}, THETA)


def test_what_is_not_known_of_rows_is_said():
    model = cf.Model(PATIENTS, cf.Channel(MOMENTS, cf.Gaussian(scale=0.1), n=1000))
    for ask in (
        lambda: cf.information(model, THETA, method="replicates", outer=10, inner=10),
        lambda: PATIENTS.cdf(1.0, THETA),
        lambda: PATIENTS.fisher(THETA),
    ):
        with pytest.raises(IncompatibleError, match="a record is a row of the columns age, cost"):
            ask()
    median = cf.Channel(cf.Median("age", bounds={"age": (18, 90)}), cf.Laplace(scale=0.1), n=9)
    with pytest.raises(IncompatibleError, match="not for rows"):
        cf.Model(PATIENTS, median).log_likelihood(THETA, 50.0)


def test_regressions_name_their_parameters_in_order():
    linear = cf.populations.linear_regression("y", ["x", "z"])
    assert linear.names == ("intercept", "coefficients", "variance", "covariate_mean", "covariate_covariance")
    theta = {"intercept": 1.0, "coefficients": [2.0, -1.0], "variance": 0.5}
    theta |= {"covariate_mean": [0.0, 1.0], "covariate_covariance": [[1.0, 0.6], [0.6, 2.0]]}
    rows = {"x": 0.3, "z": 1.5, "y": 0.2}
    joint = stats.multivariate_normal([0.0, 1.0], [[1.0, 0.6], [0.6, 2.0]]).logpdf([0.3, 1.5])
    expected = joint + stats.norm.logpdf(0.2, 1.0 + 0.6 - 1.5, np.sqrt(0.5))
    assert linear.log_prob(rows, theta) == pytest.approx(expected, abs=1e-12)
    assert linear == cf.populations.linear_regression("y", ["x", "z"])
    given = cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
    assert (given.names, given.dimension) == (("intercept", "coefficients", "variance"), 3)
    assert given == cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
    logistic = cf.populations.logistic_regression("y", {"x": dist.Normal(0.0, 1.0)})
    found = logistic.log_prob({"x": 0.5, "y": 1.0}, [0.2, -1.0])
    assert found == pytest.approx(stats.norm.logpdf(0.5) - np.log1p(np.exp(0.3)), abs=1e-12)


def test_a_matrix_is_a_parameter_like_any_other():
    linear = cf.populations.linear_regression("y", ["x", "z"])
    theta = np.asarray([1.0, 2.0, -1.0, 0.5, 0.0, 1.0, 1.0, 0.6, 0.6, 2.0])
    np.testing.assert_allclose(linear.constrain(linear.unconstrain(theta)), theta, atol=1e-12)
    assert linear.unconstrained_dimension == 9
    with pytest.raises(InvalidArgument, match="covariate_covariance"):
        linear.theta([1.0, 2.0, -1.0, 0.5, 0.0, 1.0, 1.0, 1.6, 1.6, 2.0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: cf.populations.linear_regression("y", "x"), "not a list of columns"),
        (lambda: cf.populations.linear_regression("y", ["x", "y"]), "names a column twice"),
        (lambda: cf.populations.linear_regression("y", []), "has 0 columns"),
        (lambda: cf.populations.linear_regression("y", {"x": 3.0}), "not a law of one number"),
        (lambda: cf.populations.linear_regression("y", ["x y"]), "not a name for a column"),
        (lambda: cf.populations.with_missing(PATIENTS, "stay", 0.0), "is no column"),
        (lambda: cf.populations.with_missing(PATIENTS, "cost", np.inf), "not a finite number"),
        (lambda: cf.populations.with_missing(cf.populations.normal(), "x", 0.0), "not a population of rows"),
    ],
)
def test_regressions_and_missing_values_that_cannot_be_are_refused(make, says):
    with pytest.raises(InvalidArgument, match=says):
        make()


def test_missing_values_are_drawn_as_the_constant():
    rows = cf.populations.with_missing(PATIENTS, "cost", 0.0)
    found = rows.sample(0, [*THETA, 0.3], (10_000,))
    assert abs(np.mean(found["cost"] == 0.0) - 0.3) < 5 * np.sqrt(0.21 / 10_000)
    log_p = rows.log_prob({"age": 40.0, "cost": np.asarray([0.0, 30.0])}, [*THETA, 0.3])
    expected = [
        stats.norm.logpdf(40, 50, 10) + np.log(0.3),
        np.log(0.7) + PATIENTS.log_prob({"age": 40.0, "cost": 30.0}, THETA),
    ]
    np.testing.assert_allclose(log_p, expected, rtol=1e-12)
    with pytest.raises(IncompatibleError, match="has no density in closed form"):
        cf.populations.with_missing(PATIENTS, "age", 0.0).log_prob({"age": 1.0, "cost": 2.0}, [*THETA, 0.3])
