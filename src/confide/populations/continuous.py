"""Laplace, uniform, exponential, gamma and beta populations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.special import expit, gammaln, polygamma
from numpyro.distributions import constraints

from confide.population import Population
from confide.population.solve import invert
from confide.population.special import beta_tails, gamma_tails
from confide.populations.known import both_tails


def _location_scale(z: jax.Array, loc: jax.Array, scale: jax.Array) -> jax.Array:
    return loc + scale * z


def _standard_laplace() -> dist.Distribution:
    return dist.Laplace(0.0, 1.0, validate_args=False)


def _laplace_lower(z: jax.Array) -> jax.Array:
    """P(Z ≤ z) for the standard Laplace."""
    distance = jnp.where(z < 0, -z, z)  # abs(z), with a derivative at zero that makes the density come out as 1/2
    half_tail = 0.5 * jnp.exp(-distance)
    return jnp.where(z < 0, half_tail, 1.0 - half_tail)


def _laplace_tails(x: jax.Array, loc: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array]:
    return _laplace_lower((x - loc) / scale), _laplace_lower((loc - x) / scale)


def _laplace_quantile(q: jax.Array, loc: jax.Array, scale: jax.Array) -> jax.Array:
    return loc + scale * jnp.where(q < 0.5, jnp.log(2.0 * q), -jnp.log(2.0 * (1.0 - q)))


def _laplace_information(loc: jax.Array, scale: jax.Array) -> jax.Array:
    return jnp.eye(2) / scale**2


def _laplace_breaks(loc: jax.Array, scale: jax.Array) -> jax.Array:
    return loc


def laplace() -> Population:
    """A record with density e^{−|x − loc|/scale} / (2 scale), which has a kink at `loc`.

    >>> print(laplace().survival(3.0, [3.0, 2.0]), laplace().breaks([3.0, 2.0]))
    0.5 [3.]
    """
    return Population(
        dist.Laplace,
        {"loc": constraints.real, "scale": constraints.positive},
        "laplace",
        noise=_standard_laplace,
        transform=_location_scale,
        **both_tails(_laplace_tails),
        quantile=_laplace_quantile,
        information=_laplace_information,
        breaks=_laplace_breaks,
    )


def _uniform(width: jax.Array) -> dist.Distribution:
    return dist.Uniform(-width, width, validate_args=False)


def _standard_uniform() -> dist.Distribution:
    return dist.Uniform(-1.0, 1.0, validate_args=False)


def _uniform_transform(z: jax.Array, width: jax.Array) -> jax.Array:
    return width * z


def _uniform_cdf(x: jax.Array, width: jax.Array) -> jax.Array:
    return 0.5 * (1.0 + x / width)


def _uniform_survival(x: jax.Array, width: jax.Array) -> jax.Array:
    return 0.5 * (1.0 - x / width)


def _uniform_quantile(q: jax.Array, width: jax.Array) -> jax.Array:
    return width * (2.0 * q - 1.0)


def uniform_width() -> Population:
    """A record that is uniform on (−width, width): its support depends on θ, so a record has no Fisher information.

    >>> uniform_width().regular
    False
    >>> print(*uniform_width().support(2.0))
    -2.0 2.0
    """
    return Population(
        _uniform,
        {"width": constraints.positive},
        "uniform_width",
        noise=_standard_uniform,
        transform=_uniform_transform,
        cdf=_uniform_cdf,
        survival=_uniform_survival,
        quantile=_uniform_quantile,
    )


def _standard_exponential() -> dist.Distribution:
    return dist.Exponential(1.0, validate_args=False)


def _exponential_transform(z: jax.Array, rate: jax.Array) -> jax.Array:
    return z / rate


def _exponential_cdf(x: jax.Array, rate: jax.Array) -> jax.Array:
    return -jnp.expm1(-rate * x)


def _exponential_survival(x: jax.Array, rate: jax.Array) -> jax.Array:
    return jnp.exp(-rate * x)


def _exponential_quantile(q: jax.Array, rate: jax.Array) -> jax.Array:
    return -jnp.log1p(-q) / rate


def _exponential_information(rate: jax.Array) -> jax.Array:
    return (1.0 / rate**2)[None, None]


def exponential() -> Population:
    """A positive record with density rate·e^{−rate·x}.

    >>> print(exponential().fisher(2.0))
    [[0.25]]
    """
    return Population(
        dist.Exponential,
        {"rate": constraints.positive},
        "exponential",
        noise=_standard_exponential,
        transform=_exponential_transform,
        cdf=_exponential_cdf,
        survival=_exponential_survival,
        quantile=_exponential_quantile,
        information=_exponential_information,
    )


def _gamma_tails(x: jax.Array, concentration: jax.Array, rate: jax.Array) -> tuple[jax.Array, jax.Array]:
    return gamma_tails(concentration, rate * x)


def _gamma_quantile(q: jax.Array, concentration: jax.Array, rate: jax.Array) -> jax.Array:
    """Solved for the logarithm of x, on which the gamma density is log-concave."""
    a = concentration

    def log_tail(v: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
        below, above = gamma_tails(a, jnp.exp(v))
        return jnp.log(jnp.where(lower, below, above)), a * v - jnp.exp(v) - gammaln(a)

    # Wilson and Hilferty's normal approximation to the cube root; near zero, the first term of the power series.
    small = (jnp.log(q) + gammaln(a + 1.0)) / a
    cube_root = 1.0 - 1.0 / (9.0 * a) + jax.scipy.special.ndtri(q) / (3.0 * jnp.sqrt(a))
    start = jnp.where(
        (cube_root > 0.3) & (small > -3.0), jnp.log(a) + 3.0 * jnp.log(jnp.maximum(cube_root, 0.1)), small
    )
    return jnp.exp(invert(log_tail, q, start)) / rate


def _gamma_information(concentration: jax.Array, rate: jax.Array) -> jax.Array:
    off_diagonal = -1.0 / rate
    return jnp.stack(
        [
            jnp.stack([polygamma(1, concentration), off_diagonal]),
            jnp.stack([off_diagonal, concentration / rate**2]),
        ]
    )


def gamma() -> Population:
    """A positive record with density ∝ x^{concentration − 1} e^{−rate·x}.

    >>> print(gamma().cdf(1.0, [1.0, 1.0]).round(6))
    0.632121
    """
    return Population(
        dist.Gamma,
        {"concentration": constraints.positive, "rate": constraints.positive},
        "gamma",
        **both_tails(_gamma_tails),
        quantile=_gamma_quantile,
        information=_gamma_information,
    )


def _beta_tails(x: jax.Array, concentration1: jax.Array, concentration0: jax.Array) -> tuple[jax.Array, jax.Array]:
    return beta_tails(concentration1, concentration0, x, 1.0 - x)


def _beta_quantile(q: jax.Array, concentration1: jax.Array, concentration0: jax.Array) -> jax.Array:
    """Solved for the logit of x, on which the beta density is log-concave."""
    a, b = concentration1, concentration0
    log_beta = gammaln(a) + gammaln(b) - gammaln(a + b)

    def log_tail(v: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
        below, above = beta_tails(a, b, expit(v), expit(-v))
        log_slope = a * jax.nn.log_sigmoid(v) + b * jax.nn.log_sigmoid(-v) - log_beta
        return jnp.log(jnp.where(lower, below, above)), log_slope

    return expit(invert(log_tail, q, jnp.log(a / b)))


def _beta_information(concentration1: jax.Array, concentration0: jax.Array) -> jax.Array:
    common = polygamma(1, concentration1 + concentration0)
    own = jnp.stack([polygamma(1, concentration1), polygamma(1, concentration0)])
    return jnp.diag(own) - common


def beta() -> Population:
    """A record between 0 and 1 with density ∝ x^{concentration1 − 1} (1 − x)^{concentration0 − 1}.

    >>> print(beta().quantile(0.5, [2.0, 2.0]).round(12))
    0.5
    """
    return Population(
        dist.Beta,
        {"concentration1": constraints.positive, "concentration0": constraints.positive},
        "beta",
        **both_tails(_beta_tails),
        quantile=_beta_quantile,
        information=_beta_information,
    )
