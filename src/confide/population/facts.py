"""What there is to know about a population before any θ is given, found by asking its family once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from confide._compile import numbers_of
from confide.errors import ConfideError, InvalidArgument
from confide.population import density, space

if TYPE_CHECKING:
    from confide.population.population import Population


@dataclass(frozen=True)
class Facts:
    """Which kind of records, and which of numpyro's functions work."""

    discrete: bool
    ends: tuple[float, float]  # of the support, at some θ
    moving: bool  # do they depend on θ?
    cdf: bool
    #: numpyro's cdf may work while its derivative in θ does not: StudentT has none in df, an infinite one at its loc
    cdf_gradient: bool
    icdf: bool
    sample: bool
    #: whether the density is known to have a kink at its location
    kinked: bool

    @property
    def fixed_ends(self) -> tuple[float, float] | None:
        """The ends of the support, or None where they depend on θ."""
        return None if self.moving else self.ends

    @property
    def bounded(self) -> tuple[bool, bool]:
        """Whether the support is bounded below, and above."""
        return math.isfinite(self.ends[0]), math.isfinite(self.ends[1])


@functools.lru_cache(maxsize=1024)
def find(population: Population) -> Facts:
    """The facts about a population; an error in words where its family cannot serve as one."""
    if population.rows is not None:
        moving = any(law.population.moving for _, law in population.rows.columns)
        return Facts(False, (-math.inf, math.inf), moving, False, False, False, True, False)
    with jax.enable_x64(True):
        discrete, ends, kind = _first_look(population)
        point = jax.ShapeDtypeStruct((), jnp.float64)
        theta = jax.ShapeDtypeStruct((population.dimension,), jnp.float64)
        key = jax.eval_shape(lambda: jax.random.key(0))

        def cdf(x: jax.Array, theta: jax.Array) -> Any:
            return density.at(population, theta).cdf(x)

        return Facts(
            discrete=discrete,
            ends=(float(ends[0, 0]), float(ends[0, 1])),
            moving=bool((ends[0] != ends[1]).any()),
            cdf=_works(cdf, point, theta),
            cdf_gradient=kind is not dist.StudentT and _works(jax.grad(cdf, argnums=1), point, theta),
            icdf=_works(lambda q, theta: density.at(population, theta).icdf(q), point, theta),
            sample=_works(lambda theta, key: density.at(population, theta).sample(key), theta, key),
            kinked=issubclass(kind, dist.Laplace | dist.AsymmetricLaplace),
        )


def _works(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a function can be traced; numpyro says that it cannot in many ways, missing packages among them."""
    try:
        jax.eval_shape(function, *arguments)
    except Exception:
        return False
    return True


def _first_look(population: Population) -> tuple[bool, np.ndarray, type]:
    """Whether records are discrete, the ends of their support at two points of the parameter space, and their law."""
    discrete: list[bool] = []
    kinds: list[type] = []

    def look(free: jax.Array, x: jax.Array) -> jax.Array:
        theta = space.constrain(population.space, free)
        distribution = density.at(population, theta)
        if shape := distribution.batch_shape + distribution.event_shape:
            remedy = "give a distribution over one scalar record"
            raise InvalidArgument("family", population.family, f"gives records of shape {shape}", remedy)
        discrete.append(bool(distribution.support.is_discrete))
        kinds.append(type(distribution))
        distribution.log_prob(x.astype(jnp.int64) if discrete[-1] else x)
        return jnp.stack(density.support(population, theta))

    # No two parameters are equal at either point, so that a pair of ends is not taken for an empty interval.
    free = np.linspace(-0.3, 0.4, population.unconstrained_dimension)
    try:
        points = np.stack([free, 0.6 - 0.5 * free]), np.zeros(2)
        ends = np.asarray(numbers_of(jax.jit(jax.vmap(look)), *points))
    except ConfideError:
        raise
    except Exception as error:
        names = ", ".join(population.names)
        problem = f"cannot be called with the parameters {names} ({type(error).__name__}: {error})"
        remedy = f"give a function of {names} that returns a numpyro distribution"
        raise InvalidArgument("family", population.family, problem, remedy) from error
    return discrete[0], ends, kinds[0]
