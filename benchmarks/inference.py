"""Speed of inference: effective draws per second, as ratios of things measured in one run.

Run by `make bench`. The model is that of Sec 5.2 of the paper: variance of N(0, θ), mean of abs(x), Laplace noise at
ε = 5, y = 1.128379, prior InverseGamma(2, 2).
"""

from __future__ import annotations

import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS

import confide as cf
from confide.inference.many import many_posteriors

POPULATION = cf.populations.normal_variance()
PRIOR = {"variance": dist.InverseGamma(2.0, 2.0)}
REPEATS = 5


def timed(call):
    """Cold seconds, the median of warm seconds and their range, and the last result."""
    begin = time.perf_counter()
    result = call(0)
    cold = time.perf_counter() - begin
    warm = []
    for repeat in range(1, REPEATS + 1):
        begin = time.perf_counter()
        result = call(repeat)
        warm.append(time.perf_counter() - begin)
    return cold, statistics.median(warm), (min(warm), max(warm)), result


def release(n: int) -> cf.Release:
    """The number that was published about n records."""
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=n)
    return cf.Release(channel, 1.128379)


def nuts_on_u(n: int):
    """As a user would write it: (θ, u) with the normal law of u."""
    b = 10 / (n * 5.0)

    def model(y):
        variance = numpyro.sample("variance", dist.InverseGamma(2.0, 2.0))
        mean = jnp.sqrt(2 * variance / jnp.pi)
        sd = jnp.sqrt(variance * (1 - 2 / jnp.pi) / n)
        u = numpyro.sample("u", dist.Normal(mean, sd))
        numpyro.sample("y", dist.Laplace(u, b), obs=y)

    with jax.enable_x64(True):
        sampler = MCMC(
            NUTS(model), num_warmup=1000, num_samples=5000, num_chains=4, chain_method="vectorized", progress_bar=False
        )

        def run(key):
            with jax.enable_x64(True):
                sampler.run(jax.random.key(key), 1.128379)
                return np.asarray(sampler.get_samples(group_by_chain=True)["variance"])

        return run


def algorithm_8(values: np.ndarray, scale: float, steps: int, copies: int, walk: float, seed: int) -> np.ndarray:
    """The paper's Algorithm 8 as printed, in NumPy, vectorised over records: what a user would port."""
    generator = np.random.default_rng(seed)
    theta, z = 2.0, np.abs(values) + 0.1
    draws = np.empty(steps)

    def log_weight(at: float, middle: float, copies_: np.ndarray) -> np.ndarray:
        ratio = 0.5 * np.log(middle / at) - 0.5 * copies_**2 * (1 / at - 1 / middle)
        return ratio - np.abs(values - np.minimum(np.abs(copies_), 10.0)) / scale

    for step in range(steps):
        proposed = theta + walk * generator.normal()
        if 0.01 < proposed < 60.0:
            middle = 0.5 * (theta + proposed)
            fresh = np.sqrt(middle) * generator.normal(size=(copies - 1, values.size))
            both = np.concatenate([z[None], fresh])
            here, there = np.exp(log_weight(theta, middle, both)), np.exp(log_weight(proposed, middle, both))
            ratio = np.sum(np.log(there.sum(axis=0)) - np.log(here.sum(axis=0)))
            weights = here
            if np.log(generator.random()) < ratio:
                theta, weights = proposed, there
            reached = np.cumsum(weights, axis=0)
            index = np.sum(reached < generator.random(values.size) * reached[-1], axis=0)
            z = both[np.minimum(index, copies - 1), np.arange(values.size)]
        draws[step] = theta
    return draws


def local_model() -> None:
    """Sec 5.5: one noisy value per record."""
    channel = cf.Channel(cf.Each("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    values = np.asarray(cf.Model(POPULATION, channel).simulate(0, 2.0))
    told, prior = cf.Release(channel, values), {"variance": dist.Uniform(0.01, 60.0)}
    cold, warm, _, draws = timed(lambda key: algorithm_8(values, 2.0, 4000, 100, 2.0, key))
    plain = float(effective_sample_size(draws[None])) / warm
    print(f"{'Algorithm 8 in NumPy, N = 100, n = 100':58s} {cold:8.2f} {warm:9.4f} {plain:12,.0f}")
    best = 0.0
    for copies in (2, 5, 10):
        cold, warm, _, found = timed(
            lambda key, c=copies: cf.infer(
                POPULATION, told, prior, key=key, method="mhaar", copies=c, chains=32, warmup=500, draws=1000
            )
        )
        rate = found.diagnostics.ess["variance"] / (warm * 1000 / 1500)
        best = max(best, rate)
        label = f"Algorithm 8, N = {copies}, n = 100"
        print(f"{label:58s} {cold:8.2f} {warm:9.4f} {rate:12,.0f}  IAC {found.diagnostics.iac['variance']:.1f}")
    cold, warm, _, _ = timed(lambda key: cf.infer(POPULATION, told, prior, key=key, draws=25_000))
    print(f"{'auto (records + grid), 100,000 draws':58s} {cold:8.2f} {warm:9.4f} {100_000 / warm:12,.0f}")
    print(f"  Algorithm 8 / NumPy: {best / plain:,.0f}×; records + grid / Algorithm 8: {100_000 / warm / best:,.0f}×")


def main() -> None:
    """The table."""
    print(f"{'task':58s} {'cold s':>8s} {'warm s':>9s} {'effective/s':>12s}")
    rates = {}
    for n in (100, 10_000, 10**9):
        told = release(n)
        cold, warm, _, found = timed(lambda key, r=told: cf.infer(POPULATION, r, PRIOR, key=key, draws=25_000))
        rates[("auto", n)] = 100_000 / warm
        print(f"{f'auto (grid), 100,000 draws, n = {n:,}':58s} {cold:8.2f} {warm:9.4f} {100_000 / warm:12,.0f}")
    for n in (100, 10_000):
        cold, warm, _, draws = timed(nuts_on_u(n))
        rates[("nuts", n)] = float(effective_sample_size(draws)) / warm
        print(f"{f'NumPyro NUTS on (θ, u), n = {n:,}':58s} {cold:8.2f} {warm:9.4f} {rates[('nuts', n)]:12,.0f}")
    for n in (100, 10_000):
        print(f"  auto / NUTS at n = {n:,}: {rates[('auto', n)] / rates[('nuts', n)]:,.0f}×")
    prior = {"variance": dist.Uniform(0.01, 60.0)}
    for n in (100, 10**6):
        channel = cf.Channel(cf.Median("abs(x)", bounds=(-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4)), n=n)
        told = cf.Release(channel, 0.954)
        for copies in (2, 3):
            cold, warm, _, found = timed(
                lambda key, r=told, c=copies: cf.infer(
                    POPULATION, r, prior, key=key, method="mhaar", copies=c, chains=128, warmup=500, draws=2000
                )
            )
            rate = found.diagnostics.ess["variance"] / (warm * 2000 / 2500)
            label = f"Algorithm 7, smooth median, N = {copies}, n = {n:,}"
            print(f"{label:58s} {cold:8.2f} {warm:9.4f} {rate:12,.0f}  IAC {found.diagnostics.iac['variance']:.1f}")
    local_model()
    model = cf.Model(POPULATION, release(100).channel)
    values = model.simulate(0, 2.0, (10_000,))
    cold, warm, _, _ = timed(lambda key: many_posteriors([model], [values], prior))
    print(f"{'a study of 10,000 posteriors':58s} {cold:8.2f} {warm:9.4f} {10_000 / warm:12,.0f}")


if __name__ == "__main__":
    main()
