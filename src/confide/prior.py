"""The prior: what is believed about θ before the release, one numpyro distribution per parameter.

A prior must be proper. The likelihood of a noisy number tends to a positive constant at the edge of many parameter
spaces (as a variance tends to 0, the noise alone explains the number), so that a flat prior there has no posterior at
all, and a chain then measures only how long it ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float

from confide import coordinates
from confide._compile import FAST_COMPILE
from confide.errors import InvalidArgument
from confide.population import Population
from confide.population.space import said

_REMEDY = 'give one proper numpyro distribution per parameter, such as {"variance": dist.InverseGamma(2.0, 2.0)}'
#: draws by which the support of a prior is compared with the parameter space
_PROBES = 2048


class Prior(eqx.Module):
    """A proper prior of a population's parameters, and the coordinates that free them of its support.

    θ has the population's order on its last axis. The free coordinates are real numbers, mapped onto the support of the
    prior (which may be narrower than the parameter space); a simplex has one fewer of them than entries.

    >>> import numpyro.distributions as dist
    >>> from confide import populations
    >>> prior = Prior.of(populations.normal_variance(), {"variance": dist.Uniform(0.01, 60.0)})
    >>> prior
    Prior(variance ~ Uniform)
    """

    parts: tuple[Any, ...]
    #: from free coordinates to the support of each part
    maps: tuple[Any, ...]
    #: draws of θ (2048, d), made once: where the prior's mass lies, and where chains may start
    probes: Float[Array, "draws d"]
    names: tuple[str, ...] = eqx.field(static=True)
    sizes: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, population: Population, given: Any) -> Prior:
        """A checked prior from a mapping of names to distributions; one distribution will do for one parameter.

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> Prior.of(populations.bernoulli(), dist.Beta(2.0, 2.0))
        Prior(probability ~ Beta)
        """
        if isinstance(given, Prior):
            if given.names != population.names:
                raise InvalidArgument("prior", given, f"is not a prior of {', '.join(population.names)}", _REMEDY)
            return given
        if isinstance(given, dist.Distribution) and len(population.names) == 1:
            given = {population.names[0]: given}
        if not isinstance(given, Mapping):
            raise InvalidArgument("prior", given, "does not name the parameters", _REMEDY)
        for name in given:
            if name not in population.names:
                raise InvalidArgument(
                    "prior", name, "is not a parameter of the population", f"name {', '.join(population.names)}"
                )
        if missing := [name for name in population.names if name not in given]:
            raise InvalidArgument("prior", sorted(given), f"leaves out {', '.join(missing)}", _REMEDY)
        with jax.enable_x64(True):
            checked = [_checked(part, given[part.name], key) for key, part in enumerate(population.space)]
            probes = jax.device_put(np.concatenate([probe.reshape(_PROBES, -1) for *_, probe in checked], axis=-1))
        sizes = tuple(part.size for part in population.space)
        parts, maps, _ = zip(*checked, strict=True)
        return cls(parts, maps, probes, population.names, sizes)

    @property
    def dimension(self) -> int:
        """The length of θ."""
        return sum(self.sizes)

    @property
    def free_dimension(self) -> int:
        """The number of free coordinates."""
        return sum(self._free_sizes)

    @property
    def _free_sizes(self) -> tuple[int, ...]:
        return tuple(
            freed.inverse_shape(part.event_shape)[-1] if part.event_dim else 1
            for part, freed in zip(self.parts, self.maps, strict=True)
        )

    def _split(self, theta: Float[Array, "... d"], sizes: tuple[int, ...]) -> list[Any]:
        """θ by parameter: scalars lose their axis, vectors keep it."""
        pieces = jnp.split(jnp.asarray(theta), np.cumsum(sizes)[:-1].tolist(), axis=-1)
        shapes = [part.event_shape if sizes is self.sizes else part.event_shape[-1:] for part in self.parts]
        return [
            piece.reshape((*piece.shape[:-1], *shape)) if len(shape) == 2 else piece if shape else piece[..., 0]
            for shape, piece in zip(shapes, pieces, strict=True)
        ]

    def _join(self, pieces: list[Any]) -> Float[Array, "... d"]:
        three = zip(self.parts, pieces, self.sizes, strict=True)
        flat = [jnp.reshape(p, (*jnp.shape(p)[: jnp.ndim(p) - part.event_dim], size)) for part, p, size in three]
        return jnp.concatenate(flat, axis=-1)

    def log_prob(self, theta: Float[Array, "... d"]) -> Float[Array, "..."]:
        """log η(θ), −∞ outside the support.

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> prior = Prior.of(populations.exponential(), {"rate": dist.Exponential(2.0)})
        >>> with jax.enable_x64(True):
        ...     print(prior.log_prob(np.array([[1.0], [-1.0]])).round(4))
        [-1.3069    -inf]
        """
        total = jnp.zeros(jnp.shape(theta)[:-1])
        for part, piece in zip(self.parts, self._split(theta, self.sizes), strict=True):
            total = total + coordinates.log_density(part, piece)
        return total

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "... d"]:
        """Independent draws of θ, of shape `shape` + (d,).

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> prior = Prior.of(populations.exponential(), {"rate": dist.Exponential(2.0)})
        >>> with jax.enable_x64(True):
        ...     prior.sample(jax.random.key(0), (5,)).shape
        (5, 1)
        """
        keys = jax.random.split(key, len(self.parts))
        return self._join([part.sample(key, shape) for part, key in zip(self.parts, keys, strict=True)])

    def constrain(self, free: Float[Array, "... k"]) -> Float[Array, "... d"]:
        """θ from free coordinates.

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> prior = Prior.of(populations.exponential(), {"rate": dist.Exponential(2.0)})
        >>> with jax.enable_x64(True):
        ...     print(prior.constrain(np.array([0.0])))
        [1.]
        """
        pieces = self._split(free, self._free_sizes)
        return self._join([freed(piece) for freed, piece in zip(self.maps, pieces, strict=True)])

    def unconstrain(self, theta: Float[Array, "... d"]) -> Float[Array, "... k"]:
        """The inverse of `constrain`.

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> prior = Prior.of(populations.exponential(), {"rate": dist.Exponential(2.0)})
        >>> with jax.enable_x64(True):
        ...     print(prior.unconstrain(np.array([1.0])))
        [0.]
        """
        pieces = self._split(theta, self.sizes)
        free = [freed.inv(piece) for freed, piece in zip(self.maps, pieces, strict=True)]
        return jnp.concatenate([v if v.ndim > theta.ndim - 1 else v[..., None] for v in free], axis=-1)

    def log_jacobian(self, free: Float[Array, "... k"]) -> Float[Array, "..."]:
        """log |∂θ/∂free|: what the density of the free coordinates gains on that of θ.

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> prior = Prior.of(populations.exponential(), {"rate": dist.Exponential(2.0)})
        >>> with jax.enable_x64(True):
        ...     print(prior.log_jacobian(np.array([0.5])))  # θ = e^free
        0.5
        """
        total = jnp.zeros(jnp.shape(free)[:-1])
        for freed, piece in zip(self.maps, self._split(free, self._free_sizes), strict=True):
            total = total + freed.log_abs_det_jacobian(piece, freed(piece))
        return total

    def log_prob_free(self, free: Float[Array, "... k"]) -> Float[Array, "..."]:
        """The log density of the free coordinates.

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> prior = Prior.of(populations.exponential(), {"rate": dist.Exponential(2.0)})
        >>> with jax.enable_x64(True):
        ...     print(f"{prior.log_prob_free(np.array([0.0])):.4f}")
        -1.3069
        """
        total = jnp.zeros(jnp.shape(free)[:-1])
        for part, freed, piece in zip(self.parts, self.maps, self._split(free, self._free_sizes), strict=True):
            total = total + coordinates.log_density_free(part, freed, piece)
        return total

    def by_name(self, theta: Any) -> dict[str, Any]:
        """θ (…, d) as a dictionary of its parameters.

        >>> import numpyro.distributions as dist
        >>> from confide import populations
        >>> prior = Prior.of(populations.exponential(), {"rate": dist.Exponential(2.0)})
        >>> {name: float(value) for name, value in prior.by_name(np.array([3.0])).items()}
        {'rate': 3.0}
        """
        ends = np.cumsum(self.sizes)
        return {
            name: theta[..., end - size : end].reshape((*theta.shape[:-1], *part.event_shape))
            for name, part, size, end in zip(self.names, self.parts, self.sizes, ends, strict=True)
        }

    def __repr__(self) -> str:
        listed = zip(self.names, self.parts, strict=True)
        return f"Prior({', '.join(f'{name} ~ {type(part).__name__}' for name, part in listed)})"


def probe(part: Any, key: int) -> np.ndarray:
    """Draws from a distribution."""
    probes = _by_numpy(part, np.random.default_rng(key))
    return np.asarray(_sampled(part, jax.random.key(key))) if probes is None else probes


def _by_numpy(part: Any, generator: np.random.Generator) -> np.ndarray | None:
    """Draws where JAX has a gamma sampler, which takes longer to compile than a posterior takes to compute."""
    if not all(np.all(np.asarray(getattr(part, name)) > 0) for name in part.arg_constraints):
        return None
    if isinstance(part, dist.Beta):
        return generator.beta(float(part.concentration1), float(part.concentration0), _PROBES)
    if isinstance(part, dist.Dirichlet):
        return generator.dirichlet(np.asarray(part.concentration), _PROBES)
    if type(part) in (dist.Gamma, dist.InverseGamma):
        gamma = generator.gamma(float(part.concentration), size=_PROBES) / float(part.rate)
        return gamma if type(part) is dist.Gamma else 1.0 / gamma
    return None


# both run once, so that they are compiled in a hurry
@partial(jax.jit, compiler_options=FAST_COMPILE)
def _sampled(part: Any, key: jax.Array) -> jax.Array:
    return jnp.asarray(part.sample(key, (_PROBES,)))


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _log_prob(part: Any, probes: jax.Array) -> jax.Array:
    return jnp.asarray(part.log_prob(probes))


@partial(jax.jit, compiler_options=FAST_COMPILE)
def free_of(prior: Prior, theta: jax.Array) -> jax.Array:
    """The free coordinates (…, k) of θ (…, d)."""
    return prior.unconstrain(theta)


def free_probes(prior: Prior) -> jax.Array:
    """The probes of a prior in free coordinates (2048, k)."""
    return free_of(prior, prior.probes)


@partial(jax.jit, compiler_options=FAST_COMPILE)
def at_free(prior: Prior, free: jax.Array) -> tuple[jax.Array, jax.Array]:
    """θ (…, d), and the prior's log density of the free coordinates (…, k) that it comes from."""
    return prior.constrain(free), prior.log_prob_free(free)


def _checked(parameter: Any, given: Any, key: int) -> tuple[Any, Any, np.ndarray]:
    """A proper distribution over one parameter, in double precision, the map that frees it, and draws from it."""
    argument = f"prior[{parameter.name!r}]"
    if not isinstance(given, dist.Distribution):
        raise InvalidArgument(argument, given, "is not a numpyro distribution", _REMEDY)
    improper = (dist.ImproperUniform, dist.Unit, dist.Delta)
    if isinstance(given, improper) or given.is_discrete:
        raise InvalidArgument(argument, type(given).__name__, "is not a proper prior with a density", _REMEDY)
    if len(parameter.shape) == 1 and given.event_shape == () and given.batch_shape in ((), (parameter.size,)):
        given = given.expand([parameter.size]).to_event(1)  # of each entry, by laws of their own or by one
    if given.batch_shape != () or given.event_shape != parameter.shape:
        wanted = ("one number", f"a vector of {parameter.size}", f"a matrix {parameter.shape}")[len(parameter.shape)]
        raise InvalidArgument(argument, type(given).__name__, f"is not a distribution over {wanted}", _REMEDY)
    exact = jax.tree.map(_double, coordinates.with_arrays(given))
    probes = coordinates.inwards(parameter.constraint, probe(exact, key))
    points = coordinates.looked_at(exact, probes)
    density = np.asarray(_log_prob(exact, np.concatenate([probes, points])))
    if not np.all(np.isfinite(probes)) or np.any(np.isnan(density)):
        problem = "has parameters outside their space"
        raise InvalidArgument(argument, type(given).__name__, problem, _REMEDY)
    if not np.all(np.asarray(parameter.constraint(probes))):
        problem = f"gives mass to values of {parameter.name} that are not {said(parameter.constraint)}"
        remedy = "use a distribution on the parameter's own space; truncate it, or choose another"
        raise InvalidArgument(argument, type(given).__name__, problem, remedy)
    return exact, coordinates.coordinate(exact, points, density[_PROBES:]), probes


def _double(leaf: Any) -> Any:
    """A number in double precision; one that JAX already rounded to single is read as the decimal that it prints as."""
    array = np.asarray(leaf)
    if array.dtype == np.float32:
        array = np.vectorize(lambda number: float(str(number)))(array)
    return array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else leaf
