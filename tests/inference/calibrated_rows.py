"""Calibration of posteriors from rows: functions for the slow tests, and for a machine with many cores.

    python -m tests.inference.calibrated_rows --processes 16 [linear-gaussian logistic-laplace … start]

`linear-…` and `logistic-…` draw θ from the prior and a release of 10⁴ rows from the model, infer under the central
limit theorem, and rank θ among the draws. `start` is the paired exact start for chains on the rows themselves, n = 100.
It needs jax, numpyro, numpy, scipy, equinox and jaxtyping.
"""

from __future__ import annotations

import argparse
import functools
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from scipy import stats

import confide as cf
from confide.inference.kernel import Averaged, WithinGibbs
from confide.inference.kernel.proposal import Proposal
from confide.inference.target import RecordsTarget
from confide.prior import Prior

ALPHA = 1e-6
#: kept draws of each posterior, and of how many one is kept: importance sampling needs some thousand points
SIZE, THIN = 63, 32
BOUNDS = {"x": (-3, 3), "y": (-4, 4)}
KINDS = ("linear", "logistic")
NOISES = {"gaussian": cf.Gaussian(cf.ZCDP(0.1)), "laplace": cf.Laplace(cf.PureDP(2.0))}
KERNELS = {"averaged": Averaged(copies=3), "gibbs": WithinGibbs()}


def regression(kind, mechanism, n=10**4):
    """A model and a prior: the covariate's law is estimated in the linear one, and given in the logistic one."""
    coefficients = {"intercept": dist.Normal(0.0, 0.5), "coefficients": dist.Normal(0.0, 0.5)}
    if kind == "logistic":
        rows = cf.populations.logistic_regression("y", {"x": dist.Normal(0.2, 1.0)})
        statistic = cf.Mean(["y", "x * y / 3"], bounds={"x": (-3, 3), "y": (0, 1)})
        return cf.Model(rows, cf.Channel(statistic, mechanism, n=n)), coefficients
    rows = cf.populations.linear_regression("y", ["x"])
    statistic = cf.Mean(["x / 3", "x**2 / 9", "y / 4", "x * y / 12", "y**2 / 16"], bounds=BOUNDS)
    prior = coefficients | {
        "variance": dist.InverseGamma(6.0, 5.0),
        "covariate_mean": dist.Normal(0.0, 0.3),
        "covariate_covariance": dist.Wishart(12.0, scale_matrix=np.eye(1) / 12.0),
    }
    return cf.Model(rows, cf.Channel(statistic, mechanism, n=n)), prior


def ranked(kind, noise, releases=200, processes=1, louder=1.0):
    """Ranks of the truth; a planted bug is a release whose noise is `louder` than its channel says."""
    model, prior = regression(kind, NOISES[noise])
    scale = louder * float(model.channel.law.noise.scale)
    really = cf.Channel(model.channel.statistic, type(model.channel.mechanism)(scale=scale), n=model.channel.n)
    simulate = cf.Model(model.population, really).simulate
    executor = cf.Workers(processes) if processes > 1 else None
    with patch.object(cf.Model, "simulate", lambda self, *given, **options: simulate(*given, **options)):
        return cf.sbc(model, prior, key=7, releases=releases, size=SIZE, thin=THIN, executor=executor)


def judged(found):
    """For each parameter the p-value of even ranks, and that of how many 90% intervals cover."""
    releases = len(found.ranks)
    inside = np.sum((found.ranks >= 3) & (found.ranks <= SIZE - 3), axis=0)
    share = (SIZE + 1 - 6) / (SIZE + 1)
    covering = [stats.binomtest(int(each), releases, share).pvalue for each in inside]
    return dict(zip(found.names, zip(found.p_value.values(), covering, inside / releases, strict=True), strict=True))


def calibrated(found):
    """Whether neither says that something is wrong."""
    return all(min(even, covers) > ALPHA for even, covers, _ in judged(found).values())


LINE = cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
MOMENTS = cf.Mean(["y", "x * y", "y**2"], bounds={"x": (-2, 2), "y": (-3, 3)})
PRIOR = {"intercept": dist.Normal(0, 2), "coefficients": dist.Normal(0, 2), "variance": dist.InverseGamma(3, 2)}


def moved(kernel, n, replicates, seed=5, steps=8, louder=1.0):
    """h(θ, rows) after some steps from an exact draw of the posterior, less h before: (replicates, 7).

    Each replicate draws θ₀ from the prior, rows given it, and a value from them; so (θ₀, rows) is a posterior draw. A
    planted bug is noise that is `louder` than the channel says.
    """
    channel = cf.Channel(MOMENTS, cf.Laplace(scale=0.3), n=n)
    really = cf.Channel(MOMENTS, cf.Laplace(scale=0.3 * louder), n=n)
    with jax.enable_x64(True):
        prior, proposal = Prior.of(LINE, PRIOR), Proposal(0.3 * jnp.eye(3))

        def one(key):
            for_theta, for_rows, for_noise, for_steps = jax.random.split(key, 4)
            theta = prior.sample(for_theta)
            blank = RecordsTarget(prior, LINE, (channel,), (jnp.zeros(3),))
            z = blank.noise(for_rows, 1)[0]
            value = really.law.sample(for_noise, channel.statistic.summary(LINE.transform(z, theta)))
            target = RecordsTarget(prior, LINE, (channel,), (value,))
            state = KERNELS[kernel].init(for_steps, target, theta, z)
            keys = jax.random.split(for_steps, steps)
            end = jax.lax.scan(lambda s, k: (KERNELS[kernel].step(k, target, proposal, s)[0], None), state, keys)[0]

            def h(state):
                weight = jnp.clip(target.log_density(state.theta, state.latent), -50.0, 50.0)
                return jnp.concatenate([jnp.arctan(state.theta), weight[None], weight * jnp.arctan(state.theta)])

            return h(end) - h(state)

        keys = jax.random.split(jax.random.key(seed), replicates)
        return np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys))(keys))


def started(kernel, n, replicates=1000, processes=1, louder=1.0):
    """z-values of the paired exact start."""
    each = -(-replicates // processes)
    ask = functools.partial(moved, kernel, n, each, louder=louder)
    if processes == 1:
        found = ask()
    else:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            found = np.concatenate(list(pool.map(ask, range(5, 5 + processes))))
    return found.mean(axis=0) / (found.std(axis=0) / np.sqrt(len(found)))


def main():
    """Everything that is named, or everything."""
    names = [f"{kind}-{noise}" for kind in KINDS for noise in NOISES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=[*names, "start"], choices=[*names, "start"])
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=20_000)
    given = parser.parse_args()
    for name in given.what:
        began = time.monotonic()
        if name == "start":
            for kernel in KERNELS:
                z = started(kernel, 100, given.replicates, given.processes)
                worst = stats.norm.isf(ALPHA / 2)
                verdict = "calibrated" if np.all(np.abs(z) < worst) else "WRONG"
                print(f"start {kernel}: largest |z| {np.max(np.abs(z)):.2f} of {worst:.2f}, {verdict}", end="; ")
                print(f"{time.monotonic() - began:.0f} s", flush=True)
            continue
        found = ranked(*name.split("-"), given.releases, given.processes)
        verdict = "calibrated" if calibrated(found) else "WRONG"
        print(f"{name}: {verdict}, {found.method}; {time.monotonic() - began:.0f} s")
        for parameter, (even, covers, share) in judged(found).items():
            print(
                f"  {parameter}: 90.6% intervals cover {share:.1%} (p = {covers:.2g}), ranks p = {even:.2g}", flush=True
            )


if __name__ == "__main__":
    main()
