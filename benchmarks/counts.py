"""What counts cost: `python -m benchmarks.counts`, in CPU milliseconds, the least of five.

Tables of 20 cells at 200 θ, for records from ten thousand to a hundred million and Laplace and Gaussian noise; the
target is 20 ms at a scale of 1 and 100 ms at 20, whatever n is. One decision of an adaptive plan: 10 ms. And 16 whole
runs of 1000 persons, of which 400 should take less than twenty minutes of one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpyro.distributions as dist

import confide as cf


def least(compute: Callable[[], Any], times: int = 5) -> float:
    """CPU milliseconds of one call, once it has been made before."""
    compute()
    found = []
    for _ in range(times):
        start = time.process_time()
        compute()
        found.append(1000 * (time.process_time() - start))
    return min(found)


def tables() -> None:
    """The likelihood at draws from a posterior."""
    rng = np.random.default_rng(0)
    cells = cf.Histogram("x", categories=[f"c{i}" for i in range(19)])
    for noise in (cf.Laplace, cf.Gaussian):
        for scale in (1.0, 20.0):
            for n in (10**4, 10**6, 10**8):
                q = rng.dirichlet(np.full(20, 3.0))
                y = rng.multinomial(n, q) + np.round(scale * rng.laplace(size=20))
                model = cf.Model(cf.populations.categorical(20), cf.Channel(cells, noise(scale=scale, step=1), n=n))
                thetas = rng.dirichlet(np.maximum(y, 1.0), 200)
                taken = least(lambda model=model, thetas=thetas, y=y: model.log_likelihood(thetas, y))
                print(f"{noise.__name__} of scale {scale:g}, n = {n:,}: {taken:.1f} ms", flush=True)


def plans() -> None:
    """A decision, and whole runs."""
    options = {"privacy": cf.PureDP(2.0), "batches": [1] * 1000}
    one, both = cf.populations.normal_mean(variance=10.0), cf.populations.normal()
    mean = {"mean": dist.Normal(0.0, 100.0)}
    for population, prior in ((one, mean), (both, mean | {"variance": dist.InverseGamma(1.0, 1.0)})):
        plan = cf.adapt(population, prior, **options)

        def decide(plan: Any = plan) -> None:
            _ = plan.channel
            plan.update(cf.Release(plan.channel, [1.0] if plan.channel.law.answers else [50.0]))

        def ask(plan: Any = plan) -> None:
            plan._channel = None
            _ = plan.channel

        decide()
        print(f"{population.name}: a decision {least(ask, 20):.1f} ms", flush=True)
        truth = np.tile([50.0, 10.0][: population.dimension], (16, 1))
        taken = least(lambda truth=truth, plan=plan: plan.simulated(truth, key=1), 1)
        print(f"{population.name}: 16 runs of 1000 persons {taken / 1000:.1f} s, 400 {taken / 40:.0f} s", flush=True)


if __name__ == "__main__":
    tables()
    plans()
