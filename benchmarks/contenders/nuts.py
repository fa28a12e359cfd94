"""NumPyro's NUTS on the latent model, as a user would write it down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

from benchmarks.contenders import Draws, Run, Truth
from benchmarks.problems import BOUND, Problem


def _sampler(problem: Problem, model: Callable[[], None], warmup: int, draws: int) -> Run:
    with jax.enable_x64(True):
        sampler = MCMC(
            NUTS(model),
            num_warmup=warmup,
            num_samples=draws,
            num_chains=4,
            chain_method="vectorized",
            progress_bar=False,
        )

    def run(key: int) -> Draws:
        with jax.enable_x64(True):
            sampler.run(jax.random.key(key))
            found = sampler.get_samples(group_by_chain=True)
            theta = np.stack([np.asarray(found[name]) for name in problem.prior], axis=-1)
        return Draws(theta, warmup / (warmup + draws), warmup + draws)

    return run


def _parameters(problem: Problem) -> list[Any]:
    return [numpyro.sample(name, law) for name, law in problem.prior.items()]


def on_u(problem: Problem, truth: Truth | None) -> Run:
    """(θ, u) with the normal law of u."""
    del truth
    n = problem.n

    def of_mean() -> None:
        (variance,) = _parameters(problem)
        mean, sd = jnp.sqrt(2 * variance / jnp.pi), jnp.sqrt(variance * (1 - 2 / jnp.pi) / n)
        u = numpyro.sample("u", dist.Normal(mean, sd))
        numpyro.sample("y", dist.Laplace(u, problem.channel.law.noise.scale), obs=problem.value)

    def of_moments() -> None:
        mean, variance = _parameters(problem)
        centre = jnp.stack([mean, mean**2 + variance])
        cross = 2 * mean * variance
        square = 2 * variance**2 + 4 * mean**2 * variance
        covariance = jnp.stack([jnp.stack([variance, cross]), jnp.stack([cross, square])]) / n
        u = numpyro.sample("u", dist.MultivariateNormal(centre, covariance))
        numpyro.sample("y", dist.Normal(u, problem.channel.law.noise.scale).to_event(1), obs=problem.value)

    return _sampler(problem, of_mean if problem.task == "a" else of_moments, 1000, 4000)


def on_records(problem: Problem, truth: Truth | None) -> Run:
    """(θ, x₁, …, xₙ): no approximation."""
    del truth
    n, scale = problem.n, problem.channel.law.noise.scale

    def of_mean() -> None:
        (variance,) = _parameters(problem)
        x = numpyro.sample("x", dist.Normal(0.0, jnp.sqrt(variance)).expand([n]).to_event(1))
        numpyro.sample("y", dist.Laplace(jnp.mean(jnp.minimum(jnp.abs(x), BOUND)), scale), obs=problem.value)

    def of_each() -> None:
        (variance,) = _parameters(problem)
        with numpyro.plate("records", n):
            x = numpyro.sample("x", dist.Normal(0.0, jnp.sqrt(variance)))
            numpyro.sample("y", dist.Laplace(jnp.minimum(jnp.abs(x), BOUND), scale), obs=problem.value)

    def of_moments() -> None:
        mean, variance = _parameters(problem)
        x = numpyro.sample("x", dist.Normal(mean, jnp.sqrt(variance)).expand([n]).to_event(1))
        kept = jnp.clip(x, -8.0, 8.0)
        u = jnp.stack([jnp.mean(kept), jnp.mean(kept**2)])
        numpyro.sample("y", dist.Normal(u, scale).to_event(1), obs=problem.value)

    # trees are deep here, and deeper the more records there are
    sizes = (500, 1000) if n <= 100 else (200, 200) if n <= 1000 else (100, 100)
    return _sampler(problem, {"a": of_mean, "c": of_each, "d": of_moments}[problem.task], *sizes)
