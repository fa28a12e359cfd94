"""The statistic u is latent, with the normal law of the central limit theorem (Sec 4.2 of the paper, Algorithms 5, 6).

u ~ N(μ_s(θ), Σ_s(θ)/n),        y ~ g(· | u),        reference f(u | θ̄) with θ̄ symmetric in (θ, θ').
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from confide._compile import materialize
from confide.inference.quadrature.table import ChainTable
from confide.inference.target.base import Latent, Target, gaussian_move
from confide.likelihood.mean.normal import convolved, log_normal_by_root
from confide.likelihood.record_law.moments import moments
from confide.likelihood.record_law.traced import moving_law
from confide.mechanism.noise import Noise
from confide.model import Model
from confide.population.mills import log_mills
from confide.prior import Prior


def normal_moments(model: Model, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """μ_s(θ) (k,) and the root of Σ_s(θ)/n (k, k), by quadrature."""
    mean, covariance = moments(*moving_law(model.population, model.channel.statistic, theta))
    return mean, jnp.linalg.cholesky(covariance / model.channel.n)


class StatisticTarget(Target):
    """u, the mean of s over the records before noise. `centre` is "midpoint" (the paper) or "maximum" (its code)."""

    prior: Prior
    model: Model = eqx.field(static=True)
    value: jax.Array
    centre: str = eqx.field(static=True, default="midpoint")
    #: of μ_s and the entries of the root of Σ_s/n, where there is one parameter; beyond it there is no mass
    table: ChainTable | None = None

    def normal(self, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        """μ_s(θ) (k,) and the root of Σ_s(θ)/n (k, k)."""
        if self.table is None:
            return normal_moments(self.model, theta)
        k = self.model.channel.statistic.dimension
        entries, _ = self.table.at(self.prior.unconstrain(theta)[0])
        return entries[:k], jnp.zeros((k, k)).at[np.tril_indices(k)].set(entries[k:])

    def within(self, theta: jax.Array, log_weight: jax.Array) -> jax.Array:
        """A log weight, where θ is not beyond the table."""
        if self.table is None:
            return log_weight
        return jnp.where(self.table.at(self.prior.unconstrain(theta)[0])[1], log_weight, -jnp.inf)

    def reference(self, theta: jax.Array, other: jax.Array) -> jax.Array:
        """The symmetric centre of a pair."""
        return jnp.maximum(theta, other) if self.centre == "maximum" else 0.5 * (theta + other)

    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """u from f(u | θ̄)."""
        del current
        return self.place(self.noise(key, count), self.reference(theta, other))

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log f(u | θ) g(y | u) / f(u | θ̄)."""
        log_f = self._log_normal(latents, theta) - self._log_normal(latents, self.reference(first, second))
        return self.within(theta, log_f + self._log_noise(latents))[:, None]

    def _log_noise(self, latents: jax.Array) -> jax.Array:
        u = latents if self.model.channel.statistic.dimension > 1 else latents[:, 0]
        return jax.vmap(lambda each: self.model.channel.law.log_prob(self.value, each))(u)

    def _log_normal(self, u: jax.Array, theta: jax.Array) -> jax.Array:
        mean, root = self.normal(theta)
        return jax.vmap(lambda each: log_normal_by_root(each - mean, root))(u)

    def noise(self, key: jax.Array, count: int) -> Latent:
        """Standard normal numbers."""
        return jax.random.normal(key, (count, self.model.channel.statistic.dimension))

    def perturb(self, key: jax.Array, noise: Latent, correlation: jax.Array) -> Latent:
        """Autoregressive."""
        return gaussian_move(key, noise, correlation)

    def place(self, noise: Latent, theta: jax.Array) -> Latent:
        """u = μ + root·noise."""
        mean, root = self.normal(theta)
        return mean + noise @ root.T


class ConditionalTarget(StatisticTarget):
    """u drawn from its exact law given y and θ, known for a scalar u with Laplace or Gaussian noise.

    Then every copy weighs p(y | θ), and Algorithm 5 is Algorithm 4. With Laplace noise the law of u given y is that of
    N(μ, σ²) tilted by e^{±u/b} on either side of y: two truncated normals.
    """

    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """u from p(u | y, θ̄)."""
        del current
        return self.place(self.noise(key, count), self.reference(theta, other))

    def noise(self, key: jax.Array, count: int) -> Latent:
        """Two uniform numbers for each u."""
        return jax.random.uniform(key, (count, 2), minval=jnp.finfo(float).tiny)

    def perturb(self, key: jax.Array, noise: Latent, correlation: jax.Array) -> Latent:
        """Each number stays or is drawn anew."""
        return Target.perturb(self, key, noise, correlation)

    def place(self, noise: Latent, theta: jax.Array) -> Latent:
        """The side of y by the first number, the place on it by the second."""
        mean, root = self.normal(theta)
        spread, law = root[0, 0], self._noise
        if law.normal:
            share = spread**2 / (spread**2 + law.scale**2)
            middle = mean[0] + share * (self.value - mean[0])
            return middle + spread * jnp.sqrt(1 - share) * norm.ppf(noise[:, 1:])
        z, r = (self.value - mean[0]) / spread, spread / law.scale
        # left of y the normal is centred at μ + σ²/b, right of it at μ − σ²/b
        starts = jnp.stack([r - z, r + z])
        (log_left, log_right), log_tails = materialize(jnp.stack([log_mills(starts), norm.logsf(starts)]))
        left = jnp.log(noise[:, 0]) < log_left - jnp.logaddexp(log_left, log_right)
        start, log_tail = jnp.where(left, starts[0], starts[1]), jnp.where(left, log_tails[0], log_tails[1])
        out = jnp.maximum(_tail_quantile(jnp.log(noise[:, 1]) + log_tail), start) - r
        return (mean[0] + spread * jnp.where(left, -out, out))[:, None]

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log f(u | θ) g(y | u) / p(u | y, θ̄)."""
        at = self.reference(first, second)
        log_f = self._log_normal(latents, theta) - self._log_normal(latents, at)
        return self.within(theta, log_f + self._log_marginal(at))[:, None]

    @property
    def _noise(self) -> Noise:
        noise = self.model.channel.law.added
        assert noise is not None
        return noise

    def _log_marginal(self, theta: jax.Array) -> jax.Array:
        mean, root = self.normal(theta)
        noise = self._noise
        if noise.normal:
            return norm.logpdf(self.value, mean[0], jnp.sqrt(root[0, 0] ** 2 + noise.scale**2))
        return convolved(noise, self.value - mean[0], root[0, 0])


def _tail_quantile(log_tail: jax.Array) -> jax.Array:
    """x with P(Z > x) given by its logarithm, for a standard normal Z, with its digits in the far tail."""
    near = -jax.scipy.special.ndtri(jnp.exp(jnp.maximum(log_tail, -700.0)))
    # beyond 1e-300: Newton's steps on log P(Z > x) from the leading term
    x = jnp.sqrt(jnp.maximum(-2 * log_tail - jnp.log(2 * jnp.pi * jnp.maximum(-2 * log_tail, 1.0)), 1.0))
    x = jax.lax.fori_loop(0, 4, lambda _, x: x + (norm.logsf(x) - log_tail) * jnp.exp(log_mills(x)), x)
    return jnp.where(log_tail > -600.0, near, x)


def has_conditional(model: Model) -> bool:
    """Whether p(u | y, θ) is known in the normal approximation."""
    noise = model.channel.law.added
    return model.channel.statistic.dimension == 1 and noise is not None and noise.step is None
