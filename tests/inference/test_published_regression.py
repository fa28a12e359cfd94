"""A published summary of a regression (Ju, Awan, Gong and Rao 2022) analysed, beside a chain that shares no code."""

import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

import confide as cf
from tests.inference import augmentation_oracle as oracle

ROWS = cf.Population(
    {
        "x1": lambda: dist.Normal(0.9001, 1.0),
        "x2": lambda: dist.Normal(-1.1733, 1.0),
        "y": lambda x1, x2, beta: dist.Normal(beta[0] + beta[1] * x1 + beta[2] * x2, 2.0**0.5),
    },
    {"beta": constraints.real_vector},
    sizes={"beta": 3},
)
BOUNDS = dict.fromkeys(["x1", "x2", "y"], (-10, 10))
LINES, PRODUCTS = ["y / 10"], ["x1 * y / 100", "x2 * y / 100", "y**2 / 100"]
COVARIATES = ["x1 / 10", "x2 / 10", "x1**2 / 100", "x1 * x2 / 100", "x2**2 / 100"]
PRIOR = {"beta": dist.Normal(0.0, 2.0)}
#: averages of `bounded` over 600 chains of 6,000 sweeps of the oracle after 1,500, and their standard errors
LONG = np.array([-0.0015, -0.0363, -0.0459, 0.4057, 0.3626, 0.3969])
LONG_ERROR = np.array([0.0042, 0.0027, 0.0048, 0.0012, 0.0012, 0.0017])


def release(scale=oracle.SCALE):
    statistic = cf.Sum([*LINES, *PRODUCTS, *COVARIATES], bounds=BOUNDS)
    return cf.Release(cf.Channel(statistic, cf.Laplace(scale=scale), n=oracle.N), oracle.PUBLISHED)


def averages(found):
    """Averages of the bounded functions, and their standard errors by the spread of chains (chains, draws, …)."""
    by_chain = found.mean(axis=1)
    return by_chain.mean(axis=0), by_chain.std(axis=0, ddof=1) / np.sqrt(len(by_chain))


def by_confide(release, chains, draws):
    found = cf.infer(ROWS, release, PRIOR, key=1, method="mhaar", latent="z", chains=chains, draws=draws, warmup=600)
    return averages(oracle.bounded(found.draws["beta"]))


def agree(one, two, chains):
    apart = (one[0] - two[0]) / np.hypot(one[1], two[1])
    return np.all(np.abs(apart) < stats.t.isf(1e-6 / 2, chains - 1)), apart


def test_the_posterior_is_that_of_data_augmentation():
    same, apart = agree(by_confide(release(), 32, 500), (LONG, LONG_ERROR), 32)
    assert same, apart


@pytest.mark.slow
def test_the_posterior_is_that_of_a_long_chain_of_data_augmentation():
    """Both run for long; twice the noise is caught, and so are the numbers of the quick check if they are stale."""
    draws = oracle.chains(3, 600, 1500, 6000)
    long = averages(oracle.bounded(np.transpose(draws, (2, 0, 1))))
    same, apart = agree(by_confide(release(), 64, 4000), long, 64)
    assert same, apart
    same, apart = agree((LONG, LONG_ERROR), long, 600)
    assert same, apart
    assert not agree(by_confide(release(2.0 * oracle.SCALE), 32, 500), long, 32)[0]
