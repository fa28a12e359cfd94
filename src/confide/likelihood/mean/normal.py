"""The normal route: the central limit theorem for a mean (Sec 3.1 and 3.2 of the paper), labelled as an approximation.

    S ~ N(μ_s(θ), Σ_s(θ)/n),       Y = S + V

With Gaussian noise Y is normal, in any dimension. With Laplace noise the density of a scalar Y is in closed form,
φ(z) [R(r − z) + R(r + z)] / 2b with z = (y − μ)/σ, r = σ/b and R the Mills ratio. Any other noise is convolved
through its transform.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from confide.likelihood.inversion.contour import contour, pulled_in
from confide.likelihood.inversion.frequencies import frequency_grid
from confide.likelihood.inversion.integral import integrate
from confide.likelihood.mean.regular import require_regular
from confide.likelihood.mean.y_rules import panel_edges, panel_nodes
from confide.likelihood.noise import scale_mixture
from confide.likelihood.noise.transform import DiscreteTransform
from confide.likelihood.record_law.moments import AnyRecordLaw, each_theta, law_for, moments
from confide.likelihood.record_law.traced import moving_law
from confide.likelihood.route import Floats, Route, require_finite
from confide.likelihood.score_integral import Tells, Told
from confide.mechanism.noise import Noise
from confide.population.mills import log_mills

if TYPE_CHECKING:
    from confide.model import Model


#: frequencies of a transform with a normal factor: on a lattice, with a spread of .3 steps, half of them leave 1e-13
#: and a quarter 7e-5 of log p
_FREQUENCIES = 1024


@dataclass(frozen=True)
class Normal(Route):
    """The paper's normal approximation of an additive statistic.

    >>> import confide as cf
    >>> cf.Normal().approximate, cf.Normal().error
    (True, 'of the central limit theorem, not known')
    """

    name = "normal"
    error = "of the central limit theorem, not known"
    approximate = True
    of_rows = True

    def refuses(self, model: Model) -> str | None:
        """A mean, with Gaussian noise in any dimension or any additive noise in one."""
        channel = model.channel
        if not channel.statistic.averages:
            return "the central limit theorem serves a Mean; use route 'order', 'records' or 'pool'"
        if channel.law.noiseless:
            return None
        if channel.law.added is None:
            return "the normal route serves additive noise; use latent methods"
        noise = channel.law.added
        if channel.statistic.dimension > 1 and not (noise.normal or noise.kinked):
            return "a vector with noise on a lattice has no normal law; use latent methods (method='mhaar')"
        return None

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p(y | θ) with moving nodes."""
        s, weights = moving_law(model.population, model.channel.statistic, theta)
        mean, covariance = moments(s, weights)
        return log_density(model.channel.law, value, mean, covariance / model.channel.n)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """All θ at once."""
        law = law_for(model.population, model.channel.statistic, thetas)
        require_regular(model, thetas)
        known = float(model.channel.n), np.asarray(thetas), np.asarray(values)
        found = _log_likelihood(law, model.channel.law, *known)
        return require_finite(model, thetas, values, found)

    def tails(self, model: Model, thetas: Any, values: Any) -> tuple[Floats, Floats] | None:
        """Φ(z), with Laplace noise less φ(z){R(r − z) − R(r + z)}/2; lattices are added up."""
        law = model.channel.law
        if law.added is not None and not (law.added.kinked or law.added.normal):
            return None
        found = _moving_moments(model.population, model.channel.statistic, np.asarray(thetas))
        mean, variance = np.asarray(found[0]), np.asarray(found[1])[:, 0] / model.channel.n
        scale = 0.0 if law.added is None else float(law.added.scale)
        if law.added is None or law.added.normal:
            z = (np.asarray(values) - mean) / np.sqrt(variance + scale**2)
            return np.asarray(ndtr(z)), np.asarray(ndtr(-z))
        spread = np.sqrt(np.maximum(variance, (1e-8 * scale) ** 2))
        z, r = (np.asarray(values) - mean) / spread, jnp.asarray(spread / scale)
        excess = 0.5 * (np.exp(_one_side(jnp.asarray(z), r)) - np.exp(_one_side(jnp.asarray(-z), r)))
        return np.asarray(ndtr(z) - excess), np.asarray(ndtr(-z) + excess)

    def information(self, model: Model, thetas: Any) -> jax.Array:
        """Closed for Gaussian noise: F_ij = ∂_iμᵀ H⁻¹ ∂_jμ + ½ tr(H⁻¹ ∂_iH H⁻¹ ∂_jH), H = Σ_s/n + σ²I.

        A vector with Laplace noise has no closed form. Its first term, with H = Σ_s/n + 2b²I, is what the best linear
        combination of the numbers tells: by the inequality of Cauchy and Schwarz no law with that mean and that
        covariance tells less, so that a plan on it promises too little rather than too much.
        """
        noise = model.channel.law.added
        if model.channel.law.noiseless or noise.normal or model.channel.statistic.dimension > 1:  # type: ignore[union-attr]
            require_regular(model, thetas)
            return _closed(model, np.asarray(thetas))
        return super().information(model, thetas)

    def told(self, model: Model, thetas: Any) -> Iterator[Iterable[Tells]]:
        """Of scalar noise: about the location and spread of S, carried to θ by the chain rule."""
        law, n = model.channel.law.added, float(model.channel.n)
        record = law_for(model.population, model.channel.statistic, np.asarray(thetas))
        found = _derivatives(record, np.asarray(thetas))
        mean, variance, d_mean, d_variance = (np.asarray(part) for part in found)
        assert law is not None
        noise = float(np.sqrt(law.variance))
        spread = np.sqrt(variance[:, 0, 0] / n)
        # where s is a constant, so are both moments near θ: of whatever is told about them nothing is carried over
        spread = np.where(spread > 0, spread, noise)
        mass, score = _scores(law, mean[:, 0], spread**2, *_y_rule(law, mean[:, 0], spread, noise))
        carried = np.stack([d_mean[:, 0], d_variance[:, 0, 0] / n], axis=1)  # (M, 2, d)
        yield from ([Told(*parts)] for parts in zip(np.asarray(mass), np.asarray(score) @ carried, strict=True))


def log_density(law: Any, value: jax.Array, mean: jax.Array, covariance: jax.Array) -> jax.Array:
    """log p(y) of a normal mean (k,) with its covariance, under a channel's law."""
    if mean.shape[0] > 1 and not law.noiseless and law.noise.kinked:
        return scale_mixture.log_density(value - mean, covariance, law.noise.scale)
    if mean.shape[0] > 1 or law.noiseless or law.noise.normal:
        noise = 0.0 if law.noiseless else law.noise.scale**2
        return log_normal(jnp.atleast_1d(value) - mean, covariance + noise * jnp.eye(mean.shape[0]))
    return convolved(law.noise, value - mean[0], jnp.sqrt(covariance[0, 0]))


def log_normal(residual: jax.Array, covariance: jax.Array) -> jax.Array:
    """log density of N(0, covariance) at a residual (k,)."""
    return log_normal_by_root(residual, jnp.linalg.cholesky(covariance))


def log_normal_by_root(residual: jax.Array, root: jax.Array) -> jax.Array:
    """The same, given the Cholesky root of the covariance."""
    single = residual.size == 1
    z = residual / root[0] if single else jax.scipy.linalg.solve_triangular(root, residual, lower=True)
    return -0.5 * z @ z - jnp.sum(jnp.log(jnp.diag(root))) - 0.5 * residual.size * math.log(2 * math.pi)


def convolved(noise: Noise, residual: jax.Array, spread: jax.Array) -> jax.Array:
    """log density (log mass on a lattice) of noise around N(0, spread²), at a residual y − μ."""
    if noise.kinked:
        return normal_laplace(residual, spread, noise.scale)
    if noise.step is not None:
        return _normal_on_lattice(noise, residual, spread)
    # any other symmetric noise, through its characteristic function; the normal part has decayed at 9 spreads
    t = jnp.linspace(0.0, 9.0, 4 * _FREQUENCIES) / jax.lax.stop_gradient(spread)
    terms = jnp.exp(-0.5 * (spread * t) ** 2) * noise.characteristic(t) * jnp.cos(t * residual)
    return jnp.log(jnp.trapezoid(terms, t) / jnp.pi)


def _normal_on_lattice(noise: Any, residual: jax.Array, spread: jax.Array) -> jax.Array:
    """A normal variable rounded to the noise's lattice, plus the noise: the inversion with a normal transform."""
    gaussian = not noise.exponential
    transform = DiscreteTransform(noise.scale, noise.step, gaussian=gaussian)
    still = jax.lax.stop_gradient(spread)
    grid = frequency_grid(transform, still, 1.0)
    log_share = jnp.zeros(())
    if not gaussian:  # tilted to the pole, the normal law has its mean at σ²/b
        residual, log_share = pulled_in(transform, residual, still**2 / noise.scale + 10.0 * still + transform.step)
    tau = jax.lax.stop_gradient(residual / (still**2 + transform.variance))
    path = contour(transform, tau, jnp.zeros(()), residual, grid)
    zeta = jax.lax.complex(jnp.broadcast_to(path[0], (_FREQUENCIES,)), grid.step * jnp.arange(_FREQUENCIES))
    log_m = 0.5 * (spread * zeta) ** 2
    return log_share + integrate(transform, log_m, jnp.zeros(()), path, residual, grid).density.log_prob


def normal_laplace(residual: jax.Array, spread: jax.Array, scale: jax.Array | float) -> jax.Array:
    """log density of a normal plus a Laplace variable, in the closed normal–Laplace form.

    Where an argument of R is positive, φ(z) R(r ∓ z) is taken in logs, and e^{r²/2} is never formed; where it is
    negative (|z| > r) the product is e^{r²/2 ∓ rz} Φ(±z − r), where the squares of a large z have cancelled on paper.
    """
    spreads = spread > 0  # where every record is clipped, the noise is all there is
    safe = jnp.where(spreads, spread, scale)
    z, r = residual / safe, safe / scale
    left, right = _one_side(jnp.stack([z, -z]), r)
    return jnp.where(spreads, jnp.logaddexp(left, right), -jnp.abs(residual) / scale) - jnp.log(2.0 * scale)


def _one_side(z: jax.Array, r: jax.Array) -> jax.Array:
    """log φ(z) R(r − z)."""
    beyond = z > r
    near, far = jnp.where(beyond, 0.0, z), jnp.where(beyond, z, r)
    inside = -0.5 * near**2 - 0.5 * math.log(2 * math.pi) + log_mills(r - near)
    return jnp.where(beyond, r * (0.5 * r - far) + jax.scipy.special.log_ndtr(far - r), inside)


@partial(jax.jit, static_argnums=(0, 1))
def _moving_moments(population: Any, statistic: Any, thetas: jax.Array) -> tuple[jax.Array, jax.Array]:
    """μ_s and Σ_s at many θ, on nodes that serve any spread."""
    each: tuple[jax.Array, jax.Array] = jax.lax.map(lambda t: moments(*moving_law(population, statistic, t)), thetas)
    return each


@jax.jit
def _log_likelihood(law: AnyRecordLaw, noise: Any, n: float, thetas: jax.Array, values: jax.Array) -> jax.Array:
    def per_theta(theta: jax.Array) -> jax.Array:
        mean, covariance = moments(*law.at(theta))
        return jax.vmap(lambda value: log_density(noise, value, mean, covariance / n))(values)

    found: jax.Array = each_theta(law, per_theta, thetas)
    return found


@jax.jit
def _derivatives(law: AnyRecordLaw, thetas: jax.Array) -> tuple[jax.Array, ...]:
    """μ, Σ and their derivatives at each θ."""

    def both(theta: jax.Array) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
        found = moments(*law.at(theta))
        return found, found

    def one(theta: jax.Array) -> tuple[jax.Array, ...]:
        (d_mean, d_variance), (mean, variance) = jax.jacfwd(both, has_aux=True)(theta)
        return mean, variance, d_mean, d_variance

    found: tuple[jax.Array, ...] = each_theta(law, one, thetas)
    return found


def _closed(model: Model, thetas: Floats) -> jax.Array:
    """F (M, d, d) under Gaussian noise, or without noise; of other noise what the best linear combination tells."""
    law, n = model.channel.law.added, float(model.channel.n)
    record = law_for(model.population, model.channel.statistic, thetas)
    _, variance, d_mean, d_variance = _derivatives(record, thetas)
    noise = 0.0 if law is None else law.variance
    spread = d_variance / n if law is None or law.normal else jnp.zeros_like(d_variance)
    return _gaussian(variance / n + noise * jnp.eye(variance.shape[-1]), d_mean, spread)


@jax.jit
def _gaussian(covariance: jax.Array, d_mean: jax.Array, d_covariance: jax.Array) -> jax.Array:
    def one(h: jax.Array, dm: jax.Array, dh: jax.Array) -> jax.Array:
        inverse = jnp.linalg.inv(h)
        product = jnp.einsum("ab,bci->aci", inverse, dh)
        return dm.T @ inverse @ dm + 0.5 * jnp.einsum("abi,baj->ij", product, product)

    return jax.vmap(one)(covariance, d_mean, d_covariance)


def _y_rule(law: Noise, mean: Floats, spread: Floats, noise: float) -> tuple[Floats, Floats]:
    """Where N(μ, v) plus noise has its mass, for each θ: nodes of panels, or points of the lattice."""
    if law.step is None:
        return panel_nodes(panel_edges(mean, spread, noise))
    reach = int(np.ceil((12.0 * spread.max() + 45.0 * noise) / law.step)) + 2
    y = law.step * (np.round(mean / law.step)[:, None] + np.arange(-reach, reach + 1))
    return y, np.ones_like(y)


@jax.jit
def _scores(
    noise: Noise, mean: jax.Array, v: jax.Array, y: jax.Array, weight: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The mass of each node, and its score about (μ, v)."""

    def log_p(parameters: jax.Array, value: jax.Array) -> jax.Array:
        return convolved(noise, value - parameters[0], jnp.sqrt(parameters[1]))

    def one(m: jax.Array, variance: jax.Array, values: jax.Array) -> tuple[jax.Array, jax.Array]:
        at = jnp.stack([m, variance])
        return jax.vmap(lambda value: jax.value_and_grad(log_p)(at, value))(values)

    log_density, score = jax.vmap(one)(mean, v, y)
    mass = weight * jnp.exp(log_density)
    return mass, jnp.where(mass[..., None] > 0, score, 0.0)
