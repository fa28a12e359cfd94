"""The quantile function of V = s(clip X), on the logit scale of its argument.

Q(ζ; θ) is the value v at which logit F_s(v; θ) passes ζ. It is flat where V has an atom and jumps where V has a gap.
A *survey* of F_s at values that span its law brackets every ζ; Newton's method on the logit, on which tails are
close to straight lines, does the rest. Derivatives come from logit F_s(Q(ζ; θ); θ) = ζ,

    ∂Q/∂ζ = F S / f_s,        ∂Q/∂θ = −(∂ logit F_s/∂θ) · F S / f_s,        S = 1 − F,

and are 0 inside an atom. Accuracy: F_s(Q) = σ(ζ) to about 1e-15 (1e-10 is promised, and tested).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.likelihood.value_law.inverse import increasing_root
from confide.likelihood.value_law.value import Levels, TransformedLaw
from confide.population import density, tails

# Levels of the population's quantiles that a survey stands on: dense in the middle, and down to 1e-100. Numbers below
# one end at 1 − 1e-16, above which a few points further out serve.
LOWER = -np.sinh(np.linspace(0.0, 6.13, 28))[::-1]
LEVELS = np.concatenate([LOWER, -LOWER[-19:-1][::-1]])
FURTHER = np.asarray([1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0])


LevelsAndDensity = Callable[[Any], tuple[Levels, Any]]


class Ladder(NamedTuple):
    """Values in order, with the logits of P(V < v) and of P(V ≤ v)."""

    v: Any
    left: Any
    right: Any

    def position(self, zeta: Any) -> Any:
        """The number of logits below ζ: odd inside the atom of a value, even between two values."""
        if not isinstance(self.left, jax.Array):
            return np.searchsorted(np.maximum.accumulate(np.stack([self.left, self.right], axis=-1).ravel()), zeta)
        rungs = jnp.stack([self.left, self.right], axis=-1).ravel()
        return jnp.searchsorted(lax.cummax(rungs), zeta)

    def root(self, levels_and_density: LevelsAndDensity, zeta: Any) -> Any:
        """Where the logit of P(V ≤ v) passes ζ (Z,), given these levels and the density at any v; in JAX or NumPy."""
        xp: Any = jnp if isinstance(zeta, jax.Array) else np
        position = self.position(zeta)
        top = self.v.size - 1
        lower, upper = xp.clip((position - 1) // 2, 0, top), xp.clip(position // 2, 0, top)
        low, high = self.v[lower], self.v[upper]
        below, above = self.right[lower], self.left[upper]
        share = xp.where(above > below, (zeta - below) / xp.where(above > below, above - below, 1.0), 0.5)

        def excess(v: Any) -> tuple[Any, Any, Any]:
            levels, slope = levels_and_density(v)
            both = levels.weak.below * levels.weak.above
            return levels.weak.logit() - zeta, slope / xp.where(both > 0, both, 1.0), levels.rounding

        return increasing_root(excess, low, high, low + xp.clip(share, 0.0, 1.0) * (high - low))


class Survey(NamedTuple):
    """The distribution function where the law is not smooth, at values asked for, and as a ladder across the law."""

    #: at the cuts of s, the ends of the support and the breaks of the density
    kinks: Levels
    asked: Levels
    ladder: Ladder


def kink_values(law: TransformedLaw, theta: jax.Array) -> jax.Array:
    """The values at which the law is not smooth: the cuts of s, and where the density ends or breaks."""
    ends = jnp.stack(density.support(law.population, theta))
    moving = law.apply(jnp.concatenate([ends, density.breaks(law.population, theta)]))
    return lax.stop_gradient(jnp.concatenate([jnp.asarray(law.cuts), moving]))


def survey(law: TransformedLaw, theta: jax.Array, asked: jax.Array) -> Survey:
    """F_s at θ, with derivatives in θ at the kinks and at the values asked for (which are held)."""
    still = lax.stop_gradient(theta)
    kinks = kink_values(law, still)
    x = jax.vmap(lambda q: tails.quantile(law.population, q, still))(jnp.asarray(expit(LEVELS)))
    middle, last = x[LOWER.size - 1], x[-1]
    images = law.apply(jnp.concatenate([x, middle + (last - middle) * FURTHER]))
    rungs = jnp.concatenate([kinks, jnp.where(jnp.isnan(images), law.cuts[-1], images)])
    levels = law.tails(jnp.concatenate([rungs, asked]), theta)
    at_kinks = jax.tree.map(lambda part: part[: kinks.size], levels)
    at_asked = jax.tree.map(lambda part: part[rungs.size :], levels)
    places = jnp.argsort(rungs)
    ladder = Ladder(rungs[places], levels.strict.logit()[places], levels.weak.logit()[places])
    return Survey(at_kinks, at_asked, lax.stop_gradient(ladder))


def expit(zeta: np.ndarray) -> np.ndarray:
    """1/(1 + e^{−ζ}), in NumPy."""
    return np.where(zeta < 0, np.exp(np.minimum(zeta, 0)), 1.0) / (1.0 + np.exp(-np.abs(zeta)))


@jax.custom_jvp
def quantile(law: TransformedLaw, rungs: Ladder, zeta: jax.Array, theta: jax.Array) -> jax.Array:
    """Q(ζ; θ) for ζ of any shape."""
    v = rungs.root(lambda v: law.tails_and_density(v, theta), jnp.ravel(zeta))
    found: jax.Array = v.reshape(jnp.shape(zeta))
    return found


@quantile.defjvp
def _quantile_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    law, rungs, zeta, theta = primals
    _, _, zeta_dot, theta_dot = tangents
    v = quantile(law, rungs, zeta, theta)
    (levels, steep), (levels_dot, _) = jax.jvp(lambda t: law.tails_and_density(v, t), (theta,), (theta_dot,))
    (below, above), (below_dot, above_dot) = levels.weak, levels_dot.weak
    # (ζ̇ − ∂ logit F/∂θ · θ̇) F S, with the F and S that were computed: their rounding errors then cancel against f_s
    change = zeta_dot * below * above - below_dot * above + above_dot * below
    usable = (rungs.position(zeta) % 2 == 0) & (steep > 0) & (steep < jnp.inf)
    return v, jnp.where(usable, change / jnp.where(usable, steep, 1.0), 0.0)
