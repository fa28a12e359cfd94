"""p(y | θ) of a noisy mean at one θ inside somebody's trace: in `jax.grad`, in NUTS.

Nothing can be tried again there. A statistic with few values has a finite law, which is summed. Otherwise the nodes
move with θ, the frequency grid is chosen from its moments, and their number is what Gaussian noise needs to die out
whatever θ is; where what lies beyond them cannot be bounded (few records, atoms, Laplace noise) the answer is not a
number. Nothing else can be said in a trace: `Model.log_likelihood` at θ that are known has the number, or words.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import fft

from confide.errors import IncompatibleError
from confide.likelihood.inversion import integral as inv
from confide.likelihood.inversion.atoms import atom_values
from confide.likelihood.inversion.contour import centre, saddle, tilted_weights
from confide.likelihood.inversion.frequencies import FIRST, frequency_grid, reference_of
from confide.likelihood.noise.channel import noise_transform
from confide.likelihood.noise.density import log_noise
from confide.likelihood.noise.lattice import finite_values, lattice_spacing
from confide.likelihood.noise.transform import NoiseTransform
from confide.likelihood.record_law.traced import moving_law
from confide.likelihood.slow_inversion.sums import ROUNDING

if TYPE_CHECKING:
    from confide.model import Model

#: the longest lattice that is summed
_LONGEST = 2**12
#: records that are few, the frequencies for them, and the most for Gaussian noise
_FEW, _FOR_FEW, _MOST = 30, 1024, 1536
#: frequencies times the scale of Gaussian noise over the spread of y at which it has died out
_DIED_OUT = 48.0
#: the largest error that is let pass, relative to p
_BOUNDED = 1e-4


def log_prob(model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
    """log p(y | θ), differentiable in θ; NaN where its error is not known to be small."""
    s, weights = moving_law(model.population, model.channel.statistic, theta)
    return of_law(model, s, weights, value)


def of_law(model: Model, s: jax.Array, weights: jax.Array, value: jax.Array) -> jax.Array:
    """The same by the law of one record: values s (1, J) and their weights."""
    transform = noise_transform(model)
    assert transform is not None
    population, statistic, n = model.population, model.channel.statistic, model.channel.n
    assert statistic.averages
    lattice = lattice_spacing(population, statistic)
    if lattice is not None:
        levels = np.asarray(finite_values(population, statistic))
        k = np.round((levels - lattice[0]) / lattice[1]).astype(int)
        if n * int(k[-1]) < _LONGEST:
            masses = jnp.zeros(levels.size).at[jnp.searchsorted(0.5 * (levels[1:] + levels[:-1]), s[0])].add(weights)
            return _summed(transform, n, lattice, k, masses, value)
    if not transform.invertible:
        raise IncompatibleError(
            f"the noise of {model.channel.mechanism} lies on a lattice that has nothing in common with the "
            f"{_LONGEST:,} points or more of {statistic} with n = {n}: inside a trace this is not summed; call "
            "log_likelihood with numbers for theta, or choose a step that divides the statistic's, or none"
        )
    return _inverted(model, transform, s[0], weights, value)


def _summed(
    transform: NoiseTransform, n: int, lattice: tuple[float, float], k: np.ndarray, masses: jax.Array, value: jax.Array
) -> jax.Array:
    """Σ_k P(S = k) g(y | k/n), as `sums` does it, on the whole lattice."""
    s: Any = lattice[0] + lattice[1] * k
    points = n * int(k[-1]) + 1
    size = int(fft.next_fast_len(points, real=True))
    frozen, limit = jax.lax.stop_gradient(masses), float(transform.pole) / n
    middle = frozen @ s
    kappa = saddle(frozen, s - middle, value - middle, n, jnp.asarray(transform.variance)) if k.size > 1 else 0.0
    kappa = jax.lax.stop_gradient(jnp.clip(kappa, -limit, limit))
    tilted, log_total = tilted_weights(masses, s - middle, kappa)
    one = jnp.zeros(size).at[k].add(tilted)
    law = jnp.fft.irfft(jnp.fft.rfft(one) ** n, size)[:points]
    u = lattice[0] + lattice[1] * np.arange(points) / n
    exponent = log_noise(transform, value - u) - n * kappa * (u - middle)
    top = jnp.max(exponent)
    weight = jnp.exp(exponent - top)
    total = weight @ law
    known = jax.lax.stop_gradient(ROUNDING * jnp.max(jnp.abs(law)) * jnp.sum(weight) < _BOUNDED * total)
    return (n * log_total + top + jnp.log(jnp.where(known, total, 1.0))) * jnp.where(known, 1.0, jnp.nan)


def _inverted(model: Model, transform: NoiseTransform, s: jax.Array, weights: jax.Array, value: jax.Array) -> jax.Array:
    n = float(model.channel.n)
    frozen, values = jax.lax.stop_gradient((weights, s))
    mean = frozen @ values
    reference = reference_of(model, mean)
    grid = frequency_grid(transform, jnp.sqrt(frozen @ (values - mean) ** 2), n)
    atoms = atom_values(model.population, model.channel.statistic)
    c = centre(s - reference, n, grid, _frequencies(model, transform), jnp.asarray(atoms) - reference)
    found = inv.invert_one(transform, c, weights, value - reference, n, grid)
    known = jax.lax.stop_gradient(found.truncation + found.rounding) < _BOUNDED
    return found.log_prob * jnp.where(known, 1.0, jnp.nan)  # nor has it a gradient


def _frequencies(model: Model, transform: NoiseTransform) -> int:
    """As many as serve every θ: the spread of a record is at most half its range."""
    n, (low, high), variance = model.channel.n, model.channel.statistic.ranges[0], float(transform.variance)
    if variance == 0.0:
        return _FOR_FEW if n < _FEW else 3 * FIRST
    needed = _DIED_OUT * math.sqrt(1.0 + 0.25 * (high - low) ** 2 / (n * variance))
    return min(_MOST, max(3 * FIRST, 64 * math.ceil(needed / 64)))
