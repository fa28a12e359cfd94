"""Bounds without peeking in a simulation, what they keep of the information of known bounds, and CoinPress."""

import math

import numpy as np
import numpyro.distributions as dist
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import confide as cf

N, RHO, WIDE = 10_000, 0.005, 1e6
POPULATION, PRIOR = cf.populations.normal_mean(), {"mean": dist.Normal(0.0, WIDE)}


def clipped(low, high, other_low=None, other_high=None):
    """E of a standard normal record clipped one way times it clipped another, on a fine grid of quantiles."""
    z = np.linspace(-9, 9, 200_001)
    mass = norm.pdf(z) * (z[1] - z[0])
    first = np.clip(z, low, high)
    second = first if other_low is None else np.clip(z, other_low, other_high)
    return mass @ (first * second) - (mass @ first) * (mass @ second)


def information(channels, mean):
    """Of several noisy clipped means of the same records, by the normal law of all of them."""
    ends = [np.asarray(each.statistic.bounds) - mean for each in channels]
    slope = np.asarray([norm.cdf(high) - norm.cdf(low) for low, high in ends])
    covariance = np.asarray([[clipped(*a, *b) for b in ends] for a in ends]) / N
    covariance += np.diag([float(each.law.noise.scale) ** 2 for each in channels])
    return slope @ np.linalg.solve(covariance, slope)


def of_known_bounds():
    """The best symmetric clip with all of the budget."""

    def minus(half):
        noise = 2 * half / N / math.sqrt(2 * RHO)
        return -((norm.cdf(half) - norm.cdf(-half)) ** 2) / (clipped(-half, half) / N + noise**2)

    return -minimize_scalar(minus, bounds=(0.3, 6.0), method="bounded").fun


def coinpress(records, radius, rho, rounds, generator, beta=0.01):
    """The mean of N(μ, 1) records in one dimension (Biswas, Dong, Kamath and Ullman 2020, UVM), and its variance.

    A quarter of ρ for all rounds but the last, as they split it.
    """
    low, high, n = -radius, radius, len(records)
    for i in range(rounds):
        last = i == rounds - 1
        share = 0.75 * rho if last else 0.25 * rho / (rounds - 1)
        failing = 0.75 * beta if last else 0.25 * beta / (rounds - 1)
        beyond = math.sqrt(2 * math.log(2 * n / failing))
        low, high = low - beyond, high + beyond
        noise = (high - low) / n / math.sqrt(2 * share)
        middle = np.clip(records, low, high).mean() + noise * generator.normal()
        half = math.sqrt(2 * (1 / n + noise**2) * math.log(2 / failing))
        low, high = middle - half, middle + half
    return middle, 1 / n + noise**2


def released(seed):
    """A plan whose rounds were all released from simulated records, and their mean."""
    generator = np.random.default_rng(seed)
    mean = generator.normal() * WIDE / 2
    records = mean + generator.normal(size=N)
    plan = cf.bracket(POPULATION, PRIOR, privacy=cf.ZCDP(RHO), n=N, rounds=6)
    while not plan.done:
        low, high = plan.channel.statistic.bounds
        noise = float(plan.channel.law.noise.scale) * generator.normal()
        plan.update(cf.Release(plan.channel, float(np.clip(records, low, high).mean() + noise)))
    return plan, mean, records
