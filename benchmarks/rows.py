"""A regression from five noisy moments: `infer` beside NumPyro's NUTS on (θ, rows), in effective draws a second.

    python benchmarks/rows.py [--clock cpu] [--quick]

Two columns, five parameters. At n = 10⁵ the warm time of a posterior; at n = 1000 the ratio to NUTS, which is given
the rows as latent variables, standardised, and started at the truth, which favours it.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, init_to_value

import confide as cf

BOUNDS = {"x": (-3, 3), "y": (-4, 4)}
ROWS = cf.populations.linear_regression("y", ["x"])
MOMENTS = cf.Mean(["x / 3", "x**2 / 9", "y / 4", "x * y / 12", "y**2 / 16"], bounds=BOUNDS)
TRUTH = {
    "intercept": 0.2,
    "coefficients": [0.5],
    "variance": 0.6,
    "covariate_mean": [0.1],
    "covariate_covariance": [[1.0]],
}
PRIOR = {
    "intercept": dist.Normal(0.0, 1.0),
    "coefficients": dist.Normal(0.0, 1.0),
    "variance": dist.InverseGamma(3.0, 2.0),
    "covariate_mean": dist.Normal(0.0, 1.0),
    "covariate_covariance": dist.Wishart(3.0, scale_matrix=np.eye(1) / 3.0),
}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def release(mechanism, n):
    """A value through the channel, at the truth."""
    channel = cf.Channel(MOMENTS, mechanism, n=n)
    return cf.Release(channel, cf.Model(ROWS, channel).simulate(0, TRUTH))


def inferred(given, key):
    """A posterior, as a user asks for it."""
    return cf.infer(ROWS, given, PRIOR, key=key)


def by_infer(given, clock, repeats):
    """Seconds of warm runs, and the least effective draws of each."""
    inferred(given, 0)
    seconds, draws = [], []
    for key in range(1, repeats + 1):
        began = clock()
        found = inferred(given, key)
        seconds.append(clock() - began)
        draws.append(min(float(np.min(ess)) for ess in found.diagnostics.ess.values()))
    return np.asarray(seconds), np.asarray(draws)


def sampler(given, warmup, draws):
    """A function of a key: one chain on (θ, rows), its draws of the intercept, and how many it is worth at least."""
    n, scale = given.channel.n, float(given.channel.law.noise.scale)

    def model():
        intercept = numpyro.sample("intercept", PRIOR["intercept"])
        slope = numpyro.sample("slope", PRIOR["coefficients"])
        variance = numpyro.sample("variance", PRIOR["variance"])
        mean = numpyro.sample("mean", PRIOR["covariate_mean"])
        # a Wishart law of one dimension, three degrees of freedom and scale 1/3
        square = numpyro.sample("square", dist.Gamma(1.5, 1.5))
        z = numpyro.sample("z", dist.Normal(jnp.zeros((2, n)), 1.0).to_event(2))
        x = mean + jnp.sqrt(square) * z[0]
        y = jnp.clip(intercept + slope * x + jnp.sqrt(variance) * z[1], *BOUNDS["y"])
        x = jnp.clip(x, *BOUNDS["x"])
        sums = jnp.stack([x / 3, x**2 / 9, y / 4, x * y / 12, y**2 / 16]).mean(axis=1)
        numpyro.sample("value", dist.Normal(sums, scale).to_event(1), obs=jnp.asarray(given.value))

    start = {"intercept": 0.2, "slope": 0.5, "variance": 0.6, "mean": 0.1, "square": 1.0}
    chain = MCMC(
        NUTS(model, init_strategy=init_to_value(values=start)),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=1,
        progress_bar=False,
    )

    def run(key):
        with jax.enable_x64(True):
            chain.run(jax.random.key(key))
            found = {name: np.asarray(chain.get_samples()[name])[None] for name in start}
        return found["intercept"][..., None], min(float(effective_sample_size(each)) for each in found.values())

    return run


def by_nuts(given, clock, warmup, draws):
    """Seconds of a warm run of one chain, warm-up included, and its least effective draws."""
    run = sampler(given, warmup, draws)
    run(0)
    began = clock()
    _, effective = run(1)
    return clock() - began, effective


def main() -> None:
    """Prints both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--quick", action="store_true", help="shorter chains of NUTS")
    given = parser.parse_args()
    clock, steps = CLOCKS[given.clock], 150 if given.quick else 1000
    for name, mechanism in (("Gaussian", cf.Gaussian(cf.ZCDP(0.5))), ("Laplace", cf.Laplace(cf.PureDP(5.0)))):
        seconds, draws = by_infer(release(mechanism, 10**5), clock, 3)
        print(f"n = 10⁵, {name}: {seconds.min():.2f}–{seconds.max():.2f} s for {draws.min():,.0f} draws", flush=True)
    at_1000 = release(cf.Gaussian(cf.ZCDP(0.5)), 1000)
    seconds, draws = by_infer(at_1000, clock, 3)
    rate = float(np.median(draws / seconds))
    print(f"n = 1000, infer: {np.median(seconds):.2f} s, {rate:,.0f} effective draws a second", flush=True)
    nuts_seconds, nuts_draws = by_nuts(at_1000, clock, steps, steps)
    nuts_rate = nuts_draws / nuts_seconds
    print(f"n = 1000, NUTS on (θ, rows): {nuts_seconds:.1f} s for {nuts_draws:,.0f}, {nuts_rate:.2g} a second")
    print(f"ratio {rate / nuts_rate:,.0f} (wanted 20)")


if __name__ == "__main__":
    main()
