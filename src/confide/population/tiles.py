"""A population's density and tails at known points and θ, in tiles of few sizes.

What a first call waits for is compilation, and an upper tail without a closed form is a long program. So whatever is
asked, of however many points and θ, is cut into tiles: a program for each function of a population, and not for each
statistic, mechanism and number of nodes.
"""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE, on_the_cpu
from confide.population import density, quadrature
from confide.population import tails as tails_of
from confide.population.information import fisher_by_rule
from confide.population.quadrature import PanelCuts

if TYPE_CHECKING:
    from confide.population.population import Population

Floats = NDArray[np.float64]

#: rows are θ, and columns points of a density or of the tails: small tiles for few of them, large ones for many
_ROWS, _POINTS, _ENDS = (16, 128), (512, 512), (2, 64)
#: of one θ alone, at many points
ALONE = 1024


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _densities(population: Population, thetas: jax.Array, x: jax.Array, at: None) -> jax.Array:
    """p(x | θ), shape (θ, points)."""
    del at  # what integrates nothing needs no places
    return jax.vmap(lambda theta: jnp.exp(jax.vmap(lambda p: density.log_prob(population, p, theta))(x)))(thetas)


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _density_slopes(population: Population, thetas: jax.Array, x: jax.Array, at: None) -> jax.Array:
    """∂p/∂θ, shape (θ, points, d)."""
    del at

    def one(theta: jax.Array, p: jax.Array) -> jax.Array:
        return jax.jacfwd(lambda t: jnp.exp(density.log_prob(population, p, t)))(theta)

    return jax.vmap(lambda theta: jax.vmap(lambda p: one(theta, p))(x))(thetas)


def _both_tails(population: Population, x: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    return jnp.stack([tails_of.cdf(population, x, theta, at), tails_of.survival(population, x, theta, at)])


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _tails(population: Population, thetas: jax.Array, x: jax.Array, at: PanelCuts | None) -> jax.Array:
    """P(X ≤ x) and P(X > x), shape (θ, points, 2)."""
    return jax.vmap(lambda theta, at: jax.vmap(lambda p: _both_tails(population, p, theta, at))(x))(thetas, at)


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _tail_slopes(population: Population, thetas: jax.Array, x: jax.Array, at: PanelCuts | None) -> jax.Array:
    """Their derivatives in θ, shape (θ, points, 2, d)."""
    one = partial(jax.jacfwd(_both_tails, argnums=2), population)
    return jax.vmap(lambda theta, at: jax.vmap(lambda p: one(p, theta, at))(x))(thetas, at)


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _own_densities(population: Population, thetas: jax.Array, x: jax.Array, at: None) -> jax.Array:
    """p(x | θ) at points of each θ (θ, points)."""
    del at
    each = jax.vmap(jax.vmap(partial(density.log_prob, population), in_axes=(0, None)))
    return jnp.exp(each(x, thetas))


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _own_cdf_slopes(population: Population, thetas: jax.Array, x: jax.Array, at: PanelCuts | None) -> jax.Array:
    """∂P(X ≤ x)/∂θ at points of each θ, shape (θ, points, d)."""
    one = partial(jax.jacfwd(tails_of.cdf, argnums=2), population)
    return jax.vmap(lambda theta, row, at: jax.vmap(lambda p: one(p, theta, at))(row))(thetas, x, at)


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _fisher(population: Population, thetas: jax.Array, at: PanelCuts | None) -> tuple[jax.Array, jax.Array]:
    """The information of a record, (θ, d, d), and the mass that its sum over the support misses."""
    return jax.vmap(lambda theta, at: fisher_by_rule(population, theta, at))(thetas, at)


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _places(population: Population, thetas: jax.Array) -> PanelCuts:
    return jax.vmap(lambda theta: quadrature.places(population, theta))(thetas)


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _quantiles(population: Population, levels: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    return jax.vmap(lambda level: tails_of.quantile(population, level, theta, at))(levels)


@functools.lru_cache(maxsize=128)
def _placed(population: Population, content: bytes) -> PanelCuts:
    """Where panels are cut at a tile's θ: one program, and its numbers, for all functions that integrate."""
    found = _places(population, np.frombuffer(content).reshape(-1, population.dimension))
    return PanelCuts(*(np.asarray(part) for part in found))


def _fitting(size: int, sides: tuple[int, int]) -> int:
    """The side of the tiles for so many: the large one if there are more than two of the small."""
    return sides[0] if size <= 2 * sides[0] else sides[1]


def rows_of(thetas: Floats, alone: bool = False) -> Floats:
    """Rows of θ in tiles of one size."""
    rows = 1 if alone else _fitting(len(thetas), _ROWS)
    return np.pad(thetas, [(0, -len(thetas) % rows), (0, 0)], mode="edge").reshape(-1, rows, thetas.shape[1])


def _tiled(
    program: Any,
    population: Population,
    x: Any,
    thetas: Any,
    columns: tuple[int, int],
    integrates: bool = False,
    alone: bool = False,
) -> Floats:
    """What a program says of all θ (M, d) and points (P,); one θ at many points may have tiles of its own."""
    x, thetas = np.asarray(x, dtype=np.float64), np.asarray(thetas, dtype=np.float64)
    if x.size == 0:
        return np.asarray(_tiled(program, population, np.zeros(1), thetas, columns, integrates, alone)[:, :0])
    width = ALONE if alone else _fitting(x.size, columns)
    points = np.pad(x, (0, -x.size % width), mode="edge").reshape(-1, width)
    # all are asked for before the first is waited for
    with on_the_cpu():  # tails that are equal must cancel to the last digit
        asked = []
        for block in rows_of(thetas, alone):
            at = _placed(population, block.tobytes()) if integrates else None
            asked.append([program(population, block, part, at) for part in points])
        found = np.concatenate([np.concatenate([np.asarray(part) for part in row], axis=1) for row in asked])
    return np.asarray(found[: len(thetas), : x.size])


def densities(
    population: Population, x: Any, thetas: Float[Floats, "m d"], *, alone: bool = False
) -> Float[Floats, "m p"]:
    """p(x | θ) at points (P,) and θ (M, d): shape (M, P)."""
    return _tiled(_densities, population, x, thetas, _POINTS, alone=alone)


def density_slopes(population: Population, x: Any, thetas: Float[Floats, "m d"]) -> Float[Floats, "m p d"]:
    """∂p/∂θ, shape (M, P, d)."""
    return _tiled(_density_slopes, population, x, thetas, _POINTS)


def tails(population: Population, x: Any, thetas: Any, *, alone: bool = False) -> tuple[Floats, Floats]:
    """P(X ≤ x) and P(X > x), shape (M, P) each."""
    found = _tiled(_tails, population, x, thetas, _ENDS, tails_of.integrates(population), alone)
    return found[..., 0], found[..., 1]


def tail_slopes(
    population: Population, x: Any, thetas: Float[Floats, "m d"], *, alone: bool = False
) -> tuple[Floats, Floats]:
    """Their derivatives in θ, shape (M, P, d) each.

    Where one tail is exactly 0 neither can move, unless an end of the support does; what differentiation makes of it is
    rounding, or not a number.
    """
    found = _tiled(_tail_slopes, population, x, thetas, _ENDS, tails_of.integrates(population), alone)
    if not population.moving:
        each = np.stack(tails(population, x, thetas, alone=alone), axis=-1)
        found = np.where(np.any(each == 0, axis=-1)[..., None, None], 0.0, found)
    return found[..., 0, :], found[..., 1, :]


def quantiles(population: Population, levels: Float[Floats, " q"], theta: Float[Floats, " d"]) -> Float[Floats, " q"]:
    """The quantiles of levels (Q,) at one θ (d,)."""
    searches = tails_of.searches(population)
    with on_the_cpu():
        at = _placed(population, theta[None].tobytes()) if searches else None
        found = _quantiles(population, levels, theta, None if at is None else PanelCuts(*(part[0] for part in at)))
    return np.asarray(found)


def fisher(population: Population, thetas: Any) -> tuple[Floats, Floats]:
    """The information of a record at θ (M, d), by a sum over the support: (M, d, d), and the mass that this misses."""
    thetas, found = np.asarray(thetas, dtype=np.float64), []
    with on_the_cpu():
        for block in rows_of(thetas):
            at = None if population.discrete else _placed(population, block.tobytes())
            found.append([np.asarray(part) for part in _fisher(population, block, at)])
    information, missing = (np.concatenate(parts)[: len(thetas)] for parts in zip(*found, strict=True))
    return information, missing


def _own(program: Any, population: Population, x: Floats, thetas: Floats, integrates: bool = False) -> Floats:
    """What a program says of points x (M, P) that each θ has for itself."""
    alone = len(thetas) == 1
    width = ALONE if alone else _POINTS[0]
    points = np.pad(x, [(0, 0), (0, -x.shape[1] % width)], mode="edge")
    rows = rows_of(thetas, alone)
    blocks = np.pad(points, [(0, rows.shape[0] * rows.shape[1] - len(x)), (0, 0)], mode="edge")
    with on_the_cpu():
        asked = []
        for block, own in zip(rows, blocks.reshape(*rows.shape[:2], -1), strict=True):
            at = _placed(population, block.tobytes()) if integrates else None
            parts = np.split(own, own.shape[1] // width, axis=1)
            asked.append([program(population, block, part, at) for part in parts])
        found = np.concatenate([np.concatenate([np.asarray(part) for part in row], axis=1) for row in asked])
    return np.asarray(found[: len(thetas), : x.shape[1]])


def own_densities(population: Population, x: Floats, thetas: Floats) -> Floats:
    """p(x | θ) at points (M, P) that each θ (M, d) has for itself: shape (M, P)."""
    return _own(_own_densities, population, x, thetas)


def own_cdf_slopes(population: Population, x: Floats, thetas: Floats) -> Floats:
    """∂P(X ≤ x)/∂θ there: shape (M, P, d)."""
    integrates = tails_of.needs_rule(population) and not population.discrete
    return _own(_own_cdf_slopes, population, x, thetas, integrates)
