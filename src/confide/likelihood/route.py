"""A route: one way to p(y | θ), and what it says about θ.

Each route is one object in one file. `likelihood.ROUTES` lists them, and `auto` takes the first that does not refuse.
Callers ask a route what they want to know of it and never which route it is, so that a user's own route, an object of a
class like these, is served like ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood import score_integral
from confide.likelihood.score_integral import Tells
from confide.model import one_each

if TYPE_CHECKING:
    from confide.likelihood.completed import Completed
    from confide.model import Model
Floats = NDArray[np.float64]

#: noise scales outside the statistic's range beyond which no double-precision number tells values of θ apart
_FURTHEST = 1e100


class Underflow(AccuracyError):
    """p(y | θ) is below the smallest number at every θ that was asked for; at others it may not be."""


class Route(ABC):
    """One way to the likelihood of a published value. Everything runs in double precision.

    θ is an array (d,), values have the channel's `value_shape`. A route of your own says which models it serves, and
    computes log p(y | θ) and the information there (see "Add a part of your own" in the documentation).

    >>> import confide as cf
    >>> isinstance(cf.Spectral(), cf.Route), cf.Spectral().falls_back_to
    (True, 'normal')
    """

    name: ClassVar[str]
    #: how large its error is, for people
    error: ClassVar[str]
    #: whether that error is not known: then it is never used without a word
    approximate: ClassVar[bool] = False
    #: whether it averages over simulated records: then log p may jump as θ moves, by less than its Monte Carlo error
    simulated: ClassVar[bool] = False
    #: whether one θ inside a chain costs nearly as much as many at once, so that chains are given a table
    for_many_thetas: ClassVar[bool] = False
    #: whether it takes milliseconds at each θ, so that few of them should be asked for
    dear: ClassVar[bool] = False
    #: the name of the route that stands in where this one works hard or gives up, if that one serves the model
    falls_back_to: ClassVar[str | None] = None
    #: whether it serves rows of several columns too
    of_rows: ClassVar[bool] = False

    @abstractmethod
    def refuses(self, model: Model) -> str | None:
        """Why this route does not serve the model, in words that name what would; None if it serves."""

    @abstractmethod
    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p(y | θ) of one value at one θ, differentiable in θ; for use inside a trace, so nothing is checked."""

    def impossible(self, model: Model, values: Any) -> str | None:
        """Why the channel cannot have published one of these values, or None.

        Noise with a density can publish any, but values astronomically far out, whose likelihood underflows whatever θ.
        """
        noise = model.channel.law.added
        if noise is not None:
            low, high = np.asarray(model.channel.statistic.ranges).T
            each = np.asarray(values)[..., None] if model.channel.statistic.dimension == 1 else np.asarray(values)
            if np.any(np.maximum(low - each, each - high) / noise.scale > _FURTHEST):
                return f"lies more than {_FURTHEST:g} noise scales outside the range of the statistic"
        if noise is not None and noise.step is not None:
            index = np.asarray(values) / noise.step
            if np.any(np.abs(index - np.round(index)) > 1e-6):
                return f"is not a multiple of the channel's step {noise.step:g}"
        return None

    def traced(self, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
        """`log_likelihood` inside somebody's trace."""
        return jax.vmap(lambda theta: jax.vmap(lambda value: self.log_prob(model, theta, value))(values))(thetas)

    def simulate(self, model: Model, key: jax.Array, thetas: jax.Array) -> jax.Array:
        """One published value for each θ of (…, d), in the precision of θ; for use inside a trace.

        >>> import confide as cf, jax
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=100)
        >>> model = cf.Model(cf.populations.bernoulli(), channel)
        >>> with jax.enable_x64(True):
        ...     print(cf.Spectral().simulate(model, jax.random.key(0), jax.numpy.full((5, 1), 0.3)).shape)
        (5,)
        """
        return one_each(model, key, thetas)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """log p(y | θ) for all θ (M, d) and all values (Y, …): shape (M, Y). θ and values are concrete and checked.

        A route that can share work between many θ overrides this.
        """
        return require_finite(model, thetas, values, _outer(self, model, np.asarray(thetas), np.asarray(values)))

    def by_batch(self, model: Model, thetas: Any, values: Any) -> Floats:
        """Of a simulated route, the logs of what each batch says (M, Y, batches): their spread is its error."""
        raise IncompatibleError(
            f"route {self.name!r} of {model.channel.statistic} is not simulated: use log_likelihood"
        )

    def tails(self, model: Model, thetas: Any, values: Any) -> tuple[Floats, Floats] | None:
        """P(Y ≤ y | θ) and P(Y ≥ y | θ) of scalar values (Y,) at all θ (M, d), each (M, Y); both hold y on a lattice.

        None where nothing better is known than integrating the density (`cumulative`).

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Median("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=20)
        >>> cf.Order().tails(cf.Model(cf.populations.beta(), channel), [[2.0, 2.0]], [0.5]) is None
        True
        """
        del model, thetas, values
        return None

    def completed(self, model: Model, theta: Any, value: Any) -> Completed:
        """How many of the records are expected at each node of their law, given one y and θ (d,): EM's E-step.

        >>> import confide as cf, numpy as np
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(5.0)), n=20)
        >>> with jax.enable_x64(True):
        ...     print(cf.Share().completed(cf.Model(cf.populations.bernoulli(), channel), [0.5], 0.3).counts.round(3))
        [13.989  6.011]
        """
        del theta, value
        raise IncompatibleError(
            f"route {self.name!r} does not tell what one record of {model.channel.statistic} is expected to be given "
            "what was published, as EM needs; use maximize='newton'"
        )

    def seconds(self, model: Model, thetas: int) -> float:
        """Roughly how long so many θ take on one core, as far as that is known beforehand; 0 where it is little."""
        del model, thetas
        return 0.0

    def for_a_posterior(self) -> Self:
        """The same at the accuracy that a posterior needs, which may be cheaper than what an information does."""
        return self

    def for_a_look(self) -> Self:
        """The same at the accuracy that tells where a posterior lies."""
        return self

    def quicker(self) -> Self | None:
        """The same with a larger error, which is estimated and may do; None if there is nothing to gain."""
        return None

    def told(self, model: Model, thetas: Any) -> Iterable[Iterable[Tells]]:
        """At each θ of (M, d) a rule over y, in parts: the masses of its nodes, and the scores there.

        Of a value per record it is one of them that is asked for: the others tell as much.
        """
        del thetas
        raise IncompatibleError(
            f"route {self.name!r} does not say what a published value of {model.channel.statistic} tells about θ; give "
            "it a method `told` or `information`, or use method='replicates'"
        )

    def information(self, model: Model, thetas: Any) -> jax.Array:
        """The Fisher information of the published value at each θ: (M, d) → (M, d, d), deterministic.

        It is integrated over what the route has `told`, but where a route knows better. One whose information is
        Monte Carlo raises `IncompatibleError` and overrides `information_with_error`.
        """
        copies = model.channel.n if model.channel.statistic.per_record else 1
        return jax.device_put(copies * score_integral.information(model, self.told(model, thetas)))

    def information_with_error(
        self, model: Model, thetas: Any, *, size: int | None = None, key: Any = None
    ) -> tuple[Floats, Floats]:
        """The Fisher information and its standard error, each (M, d, d); `size` and `key` are for simulated routes."""
        del size, key
        found = np.asarray(self.information(model, thetas))
        return found, np.zeros_like(found)


class Derived(Route):
    """A route by another one, `inner`, which says what that one says of itself unless it knows better."""

    inner: Route

    @property
    def name(self) -> str:  # type: ignore[override]
        """The inner one's."""
        return self.inner.name

    @property
    def error(self) -> str:  # type: ignore[override]
        """The inner one's."""
        return self.inner.error

    @property
    def approximate(self) -> bool:  # type: ignore[override]
        """As the inner one."""
        return self.inner.approximate

    @property
    def for_many_thetas(self) -> bool:  # type: ignore[override]
        """As the inner one."""
        return self.inner.for_many_thetas


def require_finite(model: Model, thetas: Any, values: Any, found: Any) -> Floats:
    """log p (M, Y) in NumPy, or an error that says at which y it is not a number, or underflows for every θ."""
    log_p, thetas = np.asarray(found), np.asarray(thetas)
    broken = np.isnan(log_p).any(axis=0)
    lost = broken | (log_p == -np.inf).all(axis=0)
    if not np.any(lost):
        return log_p
    y = np.asarray(values).reshape(log_p.shape[1], -1)[int(np.argmax(broken if np.any(broken) else lost))]
    shown = f"{y[0]:g}" if y.size == 1 else f"({', '.join(f'{part:g}' for part in y[:4])}{', …' if y.size > 4 else ''})"
    asked = " to ".join(str(tuple(np.round(theta, 6).tolist())) for theta in (thetas[0], thetas[-1])[: len(thetas)])
    if np.any(broken):  # nothing that y or theta can be held responsible for
        raise AccuracyError(
            f"the likelihood of y = {shown} at theta {asked} could not be computed for {model.channel.statistic} with "
            f"n = {model.channel.n} (not a number, which is a fault of ours: please report it); use route 'normal' for "
            "an approximation, or latent methods (infer with method='mhaar')"
        )
    raise Underflow(
        f"the likelihood of y = {shown} underflows at every theta asked for ({asked}): it lies too far from what "
        f"{model.channel.statistic} can be there; check the value and its units, or ask for other theta"
    )


@partial(jax.jit, static_argnums=(0, 1))
def _outer(route: Route, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
    return route.traced(model, thetas, values)
