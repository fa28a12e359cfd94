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
    prior = {name: dist.LogNormal(0.0, 1.0) for name in PATIENTS.names}
    release = cf.Release(model.channel, [50.0, 4.0])
    for ask in (
        lambda: model.log_likelihood(THETA, [50.0, 4.0]),
        lambda: model.distribution(THETA),
        lambda: cf.information(model, THETA),
        lambda: cf.information(model, THETA, method="replicates"),
        lambda: cf.compare({"a": model, "b": model}, theta=THETA[None]),
        lambda: cf.optimize(PATIENTS, privacy=cf.PureDP(1.0), n=100, theta=THETA),
        lambda: cf.infer(PATIENTS, release, prior),
        lambda: cf.infer(PATIENTS, release, prior, method="mhaar"),
        lambda: PATIENTS.cdf(1.0, THETA),
        lambda: PATIENTS.fisher(THETA),
        lambda: PATIENTS.draw_noise(0),
    ):
        with pytest.raises(IncompatibleError, match="a record is a row of the columns age, cost"):
            ask()
