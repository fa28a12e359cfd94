"""The law of a clipped row at many θ, as the routes use it.

Of a vector, its moments. A scalar s is a number like any other: what its nodes say is carried to values that do not
move, E f(s) ≈ Σ_i f(c_i) E ℓ_i(s) with ℓ_i the polynomials through sixteen Gauss points on each of equal panels of its
range, and with nodes of their own for values of positive probability. So a few hundred numbers stand for thousands of
nodes, exact for f that is smooth on a panel, and all that serves one column serves several.
"""

from __future__ import annotations

import functools
import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE
from confide.errors import AccuracyError
from confide.likelihood.batched import filled
from confide.likelihood.noise.values_of_rows import atoms_of_rows, listed
from confide.likelihood.record_law.panels import TO_LEGENDRE
from confide.likelihood.record_law.record import NODES, ORDER
from confide.likelihood.record_law.rows.axis import Fineness
from confide.likelihood.record_law.rows.layout import layout
from confide.likelihood.record_law.rows.nodes import row_law
from confide.population import Population
from confide.statistic import Statistic

Floats = NDArray[np.float64]

#: panels of the range of a scalar s, unless more is asked for, and at most
PANELS, _MOST_PANELS = 32, 1024
#: radians of e^{ius} across a panel that sixteen points follow to 1e-13, and across the range of s that rows follow
_PHASE, _TURNS = 4.0, 20.0
#: θ whose nodes are made together: more would not fit into a cache
_TOGETHER = 8
#: finer and finer nodes, and what two of them may differ by in moments on the scale of the range, and
#: the mass they may miss
_LADDER = (Fineness(10, 6), Fineness(12, 8), Fineness(12, 16), Fineness(12, 16, 1), Fineness(14, 24, 2))
_SETTLED, _MISSED = 1e-7, 1e-9
#: a value so near to an atom, in ranges of s, is taken to be in it
_NEAR = 1e-12


class ClippedRows(eqx.Module):
    """Nodes and weights of s(clip row) at any θ."""

    population: Population = eqx.field(static=True)
    statistic: Statistic = eqx.field(static=True)
    fineness: Fineness = eqx.field(static=True)
    #: panels of the range of a scalar s
    panels: int = eqx.field(static=True, default=PANELS)

    @property
    def s(self) -> Floats:
        """The values of a scalar s, which do not move (1, J): on panels, and then the atoms."""
        return still_values(self.population, self.statistic, self.panels)[None]

    @property
    def listed(self) -> bool:
        """Whether s takes finitely many values, which are all there is."""
        return listed(self.population, self.statistic) is not None

    def at(self, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        """s_j and w_j(θ), inside a trace."""
        return rows_at(self.population, self.statistic, theta, self.fineness, self.panels)

    def weights_at(self, thetas: Floats) -> Floats:
        """w_j(θ) at known θ (M, d): shape (M, J)."""
        return np.asarray(_each(self, np.asarray(thetas), _weights))

    def slopes_at(self, thetas: Floats) -> Floats:
        """∂w_j/∂θ at known θ: shape (M, J, d)."""
        return np.asarray(_each(self, np.asarray(thetas), _slopes))

    def moments_at(self, thetas: Floats) -> tuple[Floats, Floats]:
        """μ_s (M, k) and Σ_s (M, k, k) at known θ."""
        mean, covariance, mass = _each(self, np.asarray(thetas), _moments)
        if not np.all(np.abs(mass - 1.0) < _MISSED):
            worst = int(np.argmax(np.abs(np.nan_to_num(mass, nan=np.inf) - 1.0)))
            raise AccuracyError(
                f"the law of a row of {self.population.name} sums to {mass[worst]:.9g} at theta = "
                f"{np.asarray(thetas)[worst].tolist()}; give columns whose densities are smooth and whose quantiles "
                "are accurate there, or a prior or a range of theta that stays away"
            )
        return mean, covariance


def _weights(law: ClippedRows, theta: jax.Array) -> jax.Array:
    return law.at(theta)[1]


def _slopes(law: ClippedRows, theta: jax.Array) -> jax.Array:
    slopes: jax.Array = jax.jacfwd(partial(_weights, law))(theta)
    return slopes


def _moments(law: ClippedRows, theta: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    s, weights = row_law(law.population, law.statistic, theta, law.fineness)
    return *row_moments(s, weights), jnp.sum(weights)


def row_moments(s: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and covariance."""
    mean = s @ weights
    centred = s - mean[:, None]
    return mean, (centred * weights) @ centred.T


def over(function: Any, thetas: jax.Array) -> Any:
    """A function of one θ at many of them, a few at a time."""
    return lax.map(function, thetas, batch_size=min(_TOGETHER, len(thetas)))


def _each(law: ClippedRows, thetas: Floats, function: Any) -> Any:
    """A function of each θ, filled up to few shapes."""
    return jax.tree.map(lambda part: np.asarray(part)[: len(thetas)], _compiled(law, filled(thetas), function))


@partial(jax.jit, static_argnums=2, compiler_options=FAST_COMPILE)
def _compiled(law: ClippedRows, thetas: jax.Array, function: Any) -> Any:
    return over(partial(function, law), thetas)


def still_values(population: Population, statistic: Statistic, panels: int) -> Floats:
    """The values that a scalar s is carried to."""
    known = listed(population, statistic)
    if known is not None:
        return np.asarray(known)
    low, high = statistic.ranges[0]
    half = 0.5 * (high - low) / panels
    middles = low + half * (2.0 * np.arange(panels) + 1.0)
    return np.concatenate([(middles[:, None] + half * NODES).ravel(), atoms_of_rows(population, statistic)])


def rows_at(
    population: Population, statistic: Statistic, theta: jax.Array, fineness: Fineness, panels: int = PANELS
) -> tuple[jax.Array, jax.Array]:
    """Values and weights at one θ: of a vector as its nodes are, of a scalar on values that do not move."""
    s, weights = row_law(population, statistic, theta, fineness)
    if statistic.dimension > 1:
        return s, weights
    values = still_values(population, statistic, panels)
    return jnp.asarray(values)[None], _carried(population, statistic, s[0], weights, values, panels)


def _carried(
    population: Population, statistic: Statistic, s: jax.Array, weights: jax.Array, values: Floats, panels: int
) -> jax.Array:
    """The weights of the values that do not move."""
    if listed(population, statistic) is not None:
        place = jnp.searchsorted(jnp.asarray(0.5 * (values[1:] + values[:-1])), s)
        return jnp.zeros(values.size).at[place].add(weights)
    low, high = statistic.ranges[0]
    atoms = np.asarray(atoms_of_rows(population, statistic))
    nearest = jnp.searchsorted(jnp.asarray(0.5 * (atoms[1:] + atoms[:-1])), s)
    inside = jnp.abs(s - jnp.asarray(atoms)[nearest]) <= _NEAR * (high - low)
    in_atoms = jnp.zeros(atoms.size).at[nearest].add(jnp.where(inside, weights, 0.0))
    place = (s - low) / (high - low) * panels
    panel = jnp.clip(jnp.floor(lax.stop_gradient(place)), 0, panels - 1).astype(int)
    basis = _legendre(2.0 * (place - panel) - 1.0)
    outside = jnp.where(inside, 0.0, weights)
    summed = jax.ops.segment_sum(basis * outside[:, None], panel, num_segments=panels)
    return jnp.concatenate([(summed @ TO_LEGENDRE).ravel(), in_atoms])


def _legendre(x: jax.Array) -> jax.Array:
    """The Legendre polynomials P_0 … P_15 (J, 16)."""
    found = [jnp.ones_like(x), x]
    for k in range(1, ORDER - 1):
        found.append(((2 * k + 1) * x * found[-1] - k * found[-2]) / (k + 1))
    return jnp.stack(found, axis=-1)


def clipped_rows(population: Population, statistic: Statistic, thetas: Any, phase: float = 0.0) -> ClippedRows:
    """A law that is accurate at the given θ (M, d), for e^{ius} that turns by so many radians across the range of s."""
    thetas = np.asarray(thetas, dtype=np.float64).reshape(-1, population.dimension)
    chosen = np.unique(np.linspace(0, len(thetas) - 1, 3).astype(int))
    return _cached(population, statistic, thetas[chosen].tobytes(), float(phase))


@functools.lru_cache(maxsize=128)
def _cached(population: Population, statistic: Statistic, content: bytes, phase: float) -> ClippedRows:
    thetas = np.frombuffer(content).reshape(-1, population.dimension)
    panels = max(PANELS, 1 << math.ceil(math.log2(max(phase / _PHASE, 1.0))))
    if panels > _MOST_PANELS:
        raise AccuracyError(
            f"the range of {statistic} is too wide beside what is looked for to follow e^(ius) on it (by {phase:.0f} "
            "radians); narrow the bounds, use more records, or route 'normal' for an approximation"
        )
    more = max(0, math.ceil(math.log2(max(phase / _TURNS, 1.0))))
    at = layout(population, statistic)
    if at.sampled or at.continuous == 0:
        return ClippedRows(population, statistic, _LADDER[1], panels)
    with jax.enable_x64(True):
        fineness = _fine_enough(population, statistic, np.concatenate([thetas, np.repeat(thetas[-1:], 3, 0)])[:3])
    finer = fineness._replace(halvings=fineness.halvings + more)
    return ClippedRows(population, statistic, finer, panels)


def _fine_enough(population: Population, statistic: Statistic, thetas: Floats) -> Fineness:
    """The first fineness whose moments another, coarser one confirms."""
    scale = np.asarray([max(abs(low), abs(high), 1e-300) for low, high in statistic.ranges])
    before = None
    for fineness in _LADDER:
        mean, covariance, mass = map(np.asarray, _each(ClippedRows(population, statistic, fineness), thetas, _moments))
        second = (covariance / np.outer(scale, scale)).reshape(len(mean), -1)
        found = np.concatenate([mean / scale, second, mass[:, None]], axis=1)
        if before is not None and np.max(np.abs(found - before)) < _SETTLED:
            return fineness
        before = found
    raise AccuracyError(
        f"the law of a row of {population.name} on {statistic.bounds} cannot be integrated to {_SETTLED:g}; use "
        "smoother laws, fewer switches in the expressions, or a narrower range of theta"
    )
