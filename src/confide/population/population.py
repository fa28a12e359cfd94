"""`Population`: the model of one record, P_θ.

A population is a family of numpyro distributions with a parameter space, and that is all that a user must give. What
else is needed is derived, and a family may supply closed forms where it knows better, as `confide.populations` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from numpyro.distributions.constraints import Constraint

from confide._precision import float64
from confide._random import as_key
from confide.population import batches, checks, density, facts, space
from confide.population.forms import ClosedForms, Form, Noise
from confide.population.rows import RowLaw, rows_of


@dataclass(frozen=True, init=False, repr=False)
class Population:
    """The model of one record: a family of numpyro distributions and the space of its parameters.

    `family(**parameters)` returns a numpyro distribution over one scalar record, and `parameters` maps names to
    numpyro constraints. θ is an array in their order whose last axis has length `dimension`; with one parameter a
    scalar will do, and a vector of several numbers is a grid. A vector parameter has its length declared in `sizes`.
    A mapping of columns is a row: each function names the parameters and earlier columns that it depends on.

    >>> import numpyro.distributions as dist
    >>> from numpyro.distributions import constraints
    >>> weibull = Population(dist.Weibull, {"scale": constraints.positive, "concentration": constraints.positive})
    >>> weibull
    Population('Weibull', {'scale': Positive(lower_bound=0.0), 'concentration': Positive(lower_bound=0.0)})
    >>> print(weibull.quantile(0.5, [2.0, 1.5]).round(6))
    1.56644

    What the distribution lacks is computed by quadrature (see `confide.population.quadrature` for its accuracy) or
    may be supplied: `noise` (a distribution for z that is free of θ, or a function that returns one; uniform on (0, 1)
    if not given) with `transform(z, **parameters)`, `cdf(x, **parameters)`, `survival`, `quantile(q, **parameters)`,
    `information(**parameters)` (the d×d matrix), `breaks(**parameters)` (points where the density is not smooth in
    x), and `moving` (whether the support depends on θ, if numpyro's `support` does not tell). They get scalars.

    Inside a JAX transformation functions take and return traced values, otherwise they return NumPy float64 arrays.
    Populations are equal if their parts are, and then share compiled functions.
    """

    family: Callable[..., Any]
    space: space.Space
    name: str
    closed: ClosedForms

    def __init__(
        self,
        family: Callable[..., Any] | Mapping[str, Any],
        parameters: Mapping[str, Constraint],
        name: str | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        noise: Noise | None = None,
        transform: Form | None = None,
        cdf: Form | None = None,
        survival: Form | None = None,
        quantile: Form | None = None,
        information: Form | None = None,
        breaks: Form | None = None,
        moving: bool | None = None,
    ) -> None:
        checks.declared(family, parameters, sizes := sizes or {}, noise, transform)
        if isinstance(family, Mapping):
            name, family = name or ", ".join(map(str, family)), rows_of(family, parameters, sizes, Population)
        label = name or getattr(family, "__name__", type(family).__name__).replace("<lambda>", "population")
        parts = tuple(space.parameter(key, constraint, sizes) for key, constraint in parameters.items())
        closed = ClosedForms(noise, transform, cdf, survival, quantile, information, breaks, moving)
        vars(self).update(family=family, space=parts, name=label, closed=closed)
        checks.require_hashable(self)
        _ = self.facts  # ask the family once, now, so that a mistake is found here

    def __repr__(self) -> str:
        return f"Population({self.name!r}, {self.parameters!r})"

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(self.names)}"

    @property
    def parameters(self) -> dict[str, Constraint]:
        """The parameters' constraints by name, in the order of θ."""
        return {part.name: part.constraint for part in self.space}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in the order of θ."""
        return tuple(part.name for part in self.space)

    @property
    def rows(self) -> RowLaw | None:
        """The laws of a row's columns; None where a record is one number."""
        return self.family if isinstance(self.family, RowLaw) else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of a record's columns; that of a number is `x`."""
        return ("x",) if self.rows is None else self.rows.names

    @property
    def dimension(self) -> int:
        """The length of θ."""
        return sum(part.size for part in self.space)

    @property
    def unconstrained_dimension(self) -> int:
        """The length of `unconstrain(theta)`."""
        return sum(part.free for part in self.space)

    @cached_property
    def facts(self) -> facts.Facts:
        """What the family's distribution can do."""
        return facts.find(self)

    @property
    def discrete(self) -> bool:
        """Whether records are integers."""
        return self.facts.discrete

    @property
    def moving(self) -> bool:
        """Whether the support depends on θ."""
        return self.facts.moving if self.closed.moving is None else self.closed.moving

    @property
    def regular(self) -> bool:
        """Whether the Fisher information of a record exists: the support does not depend on θ."""
        return not self.moving

    def theta(self, value: ArrayLike | Mapping[str, ArrayLike]) -> jax.Array:
        """A checked θ of shape batch + (dimension,), of an array or of arrays by name; traced values cannot be checked.

        >>> from confide import populations
        >>> populations.normal_variance().theta([0.5, 1.0, 2.0]).shape
        (3, 1)
        """
        with jax.enable_x64(True):
            theta: jax.Array = space.arrange(space.join(self.space, value, "theta"), self.dimension, "theta")
            if not space.is_traced(theta):
                with jax.ensure_compile_time_eval():
                    space.check(self.space, np.asarray(theta), "theta", value)
        return theta

    @float64
    def distribution(self, theta: ArrayLike) -> Any:
        """The numpyro distribution of a record at θ; a batch of θ is the family's to broadcast.

        >>> from confide import populations
        >>> type(populations.exponential().distribution(2.0)).__name__
        'Exponential'
        """
        return density.at(self, jnp.asarray(self.theta(theta)))

    @float64
    def support(self, theta: ArrayLike) -> tuple[jax.Array, jax.Array]:
        """The ends of the support, each of the batch shape of θ.

        >>> from confide import populations
        >>> low, high = populations.uniform_width().support(3.0)
        >>> float(low), float(high)
        (-3.0, 3.0)
        """
        low, high = batches.support(self, self.theta(theta))
        return low, high

    @float64
    def breaks(self, theta: ArrayLike) -> jax.Array:
        """Points where the density is not smooth in x, of shape batch + (m,); most families have none.

        >>> from confide import populations
        >>> print(populations.laplace().breaks([5.0, 1.0]))
        [5.]
        """
        return batches.breaks(self, self.theta(theta))

    @float64
    def log_prob(self, x: ArrayLike | Mapping[str, ArrayLike], theta: ArrayLike) -> jax.Array:
        """log p(x | θ), −∞ outside the support; x (a row: its columns by name) broadcasts against the batch of θ.

        >>> from confide import populations
        >>> print(populations.exponential().log_prob([1.0, -1.0], 2.0).round(6))
        [-1.306853      -inf]
        """
        if self.rows is not None:
            return batches.log_prob_of_rows(self, checks.by_column(self.columns, x), self.theta(theta))
        return batches.log_prob(self, space.as_float64(x), self.theta(theta))

    @float64
    def score(self, x: ArrayLike, theta: ArrayLike) -> jax.Array:
        """∂ log p(x | θ) / ∂θ, with the d derivatives on the last axis.

        >>> from confide import populations
        >>> print(populations.exponential().score([0.25, 1.0], 2.0))
        [[ 0.25]
         [-0.5 ]]
        """
        return batches.score(self, space.as_float64(x), self.theta(theta))

    @float64
    def cdf(self, x: ArrayLike, theta: ArrayLike) -> jax.Array:
        """P(X ≤ x).

        >>> from confide import populations
        >>> print(populations.bernoulli().cdf([0.0, 1.0], 0.25))
        [0.75 1.  ]
        """
        return batches.cdf(self, space.as_float64(x), checks.integrable(self, theta))

    @float64
    def survival(self, x: ArrayLike, theta: ArrayLike) -> jax.Array:
        """P(X > x), accurate where it is small.

        >>> from confide import populations
        >>> print(f"{populations.normal_mean().survival(10.0, 0.0):.3e}")
        7.620e-24
        """
        return batches.survival(self, space.as_float64(x), checks.integrable(self, theta))

    @float64
    def quantile(self, q: ArrayLike, theta: ArrayLike) -> jax.Array:
        """The smallest x with P(X ≤ x) ≥ q.

        >>> from confide import populations
        >>> print(populations.exponential().quantile(0.5, 2.0).round(6))
        0.346574
        """
        return batches.quantile(self, checks.as_levels(q), checks.integrable(self, theta))

    @float64
    def sample(self, key: object, theta: ArrayLike, shape: int | tuple[int, ...] = ()) -> jax.Array:
        """Independent records, of shape batch + shape; of rows their columns by name, each of that shape.

        >>> from confide import populations
        >>> populations.poisson().sample(key=0, theta=[1.0, 5.0], shape=(3,)).shape
        (2, 3)
        """
        return batches.sample(self, as_key(key), self.theta(theta), checks.as_shape(shape))

    @float64
    def draw_noise(self, key: object, shape: int | tuple[int, ...] = ()) -> jax.Array:
        """Independent z ~ μ, the noise that `transform` turns into records.

        >>> from confide import populations
        >>> populations.normal().draw_noise(key=0, shape=(4,)).shape
        (4,)
        """
        return batches.draw_noise(self, as_key(key), checks.as_shape(shape))

    @float64
    def transform(self, z: ArrayLike, theta: ArrayLike) -> jax.Array:
        """x = φ_θ(z), which has the law P_θ if z ~ μ; differentiable in θ unless records are discrete.

        >>> from confide import populations
        >>> print(populations.normal().transform([-1.0, 0.0, 1.0], [5.0, 4.0]))
        [3. 5. 7.]
        """
        checked = checks.integrable(self, theta) if self.closed.transform is None else self.theta(theta)
        return batches.transform(self, space.as_float64(z), checked)

    @float64
    def fisher(self, theta: ArrayLike) -> jax.Array:
        """The Fisher information matrix of one record, of shape batch + (d, d).

        >>> from confide import populations
        >>> print(populations.poisson().fisher(4.0))
        [[0.25]]
        """
        return checks.fisher(self, theta)

    @float64
    def unconstrain(self, theta: ArrayLike) -> jax.Array:
        """θ mapped one-to-one to real numbers, of shape batch + (unconstrained_dimension,).

        >>> from confide import populations
        >>> print(populations.exponential().unconstrain(1.0))
        [0.]
        """
        return space.unconstrain(self.space, jnp.asarray(self.theta(theta)))

    @float64
    def constrain(self, unconstrained: ArrayLike) -> jax.Array:
        """The inverse of `unconstrain`.

        >>> from confide import populations
        >>> print(populations.exponential().constrain([0.0]))
        [1.]
        """
        free = space.arrange(unconstrained, self.unconstrained_dimension, "unconstrained")
        return space.constrain(self.space, jnp.asarray(free))
