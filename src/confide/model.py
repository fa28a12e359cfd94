"""A model: a population behind a channel."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from confide._precision import float64, is_single, through_double
from confide._random import as_key
from confide.channel import Channel
from confide.errors import IncompatibleError, InvalidArgument
from confide.mechanism import Law
from confide.population import Population, batches
from confide.statistic import Statistic

if TYPE_CHECKING:
    from confide.likelihood import Route
    from confide.likelihood.distribution import PublishedValue

#: records simulated at once within one release, and over all releases of one batch
_BLOCK = 2**16
_BATCH = 2**21


@dataclass(frozen=True)
class Model:
    """Records drawn from a population, and one value published about them through a channel.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
    >>> model = cf.Model(cf.populations.normal_variance(), channel)
    >>> model.simulate(key=0, theta=2.0, shape=(3,)).shape
    (3,)
    """

    population: Population
    channel: Channel

    def __post_init__(self) -> None:
        if not isinstance(self.population, Population):
            raise InvalidArgument(
                "population", self.population, "is not a population", "use for example populations.normal_variance()"
            )
        if not isinstance(self.channel, Channel):
            raise InvalidArgument("channel", self.channel, "is not a channel", "use Channel(statistic, mechanism, n)")
        if self.population.rows is None and not self.channel.statistic.tallies:
            object.__setattr__(self, "channel", self.channel.of_numbers())
        statistic = self.channel.statistic
        # a population of numbers gives the one column that is sorted into cells, or the codes of cells
        free = statistic.counts or (statistic.tallies and self.population.rows is None)
        columns = () if free else statistic.columns
        if lacking := [name for name in columns if name not in self.population.columns]:
            remedy = "correct the name, or give a population with that column"
            if self.population.rows is None:
                rows = ", ".join(f"{name}={self.population.name}" for name in columns)
                remedy = f"give a population of rows with these columns, such as independent({rows})"
            raise IncompatibleError(
                f"{statistic} is about the column {lacking[0]!r}, but a record of {self.population.name} has "
                f"{', '.join(self.population.columns)}; {remedy}"
            )
        codes = self.channel.law.answers is not None and self.channel.statistic.transforms[0].is_identity
        if codes and not self.population.discrete:
            raise IncompatibleError(
                f"randomized response reads x on {self.channel.statistic.bounds} as the code of a category, but "
                f"records of {self.population.name} are no whole numbers; ask a question, such as 'x > 1'"
            )

    @float64
    def simulate(self, key: Any, theta: Any, shape: tuple[int, ...] = (), *, n: int | None = None) -> Any:
        """Published values as they might come out: one per θ of a batch and per element of `shape`.

        The result has shape batch + shape + channel.value_shape. The same key gives the same values. Where the number
        of records is private, `n` is the one that is assumed.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
        >>> cf.Model(cf.populations.bernoulli(), channel).simulate(key=0, theta=[0.2, 0.4, 0.6], shape=(5,)).shape
        (3, 5)
        """
        if n is not None or self.channel.n is None:
            return self.assuming(n).simulate(key, theta, shape)
        thetas = self.population.theta(theta)
        batch, shape = thetas.shape[:-1], tuple(shape)
        each = jnp.broadcast_to(
            jnp.expand_dims(thetas, tuple(range(len(batch), len(batch) + len(shape)))),
            (*batch, *shape, thetas.shape[-1]),
        )
        return one_each(self, as_key(key), each)

    def assuming(self, n: int | None) -> Model:
        """The model with a number of records that is assumed, where it is private.

        >>> import confide as cf
        >>> counted = cf.Model(cf.populations.bernoulli(), cf.Channel(cf.Count(), cf.Laplace(cf.PureDP(1.0))))
        >>> counted.assuming(50).channel.n
        50
        """
        if n is None:
            remedy = "give a number to assume, such as n=2000"
            raise InvalidArgument("n", None, "is private, so that it must be assumed", remedy)
        if self.channel.n not in (None, n):
            raise InvalidArgument("n", n, f"is not the channel's public {self.channel.n}", "leave n out")
        return replace(self, channel=self.channel.assuming(n))

    @float64
    def log_likelihood(self, theta: Any, value: Any, route: str | Route = "auto") -> Any:
        """log p(y | θ) of published values: shape batch of θ + batch of values.

        `auto` takes an exact route where there is one, and warns (`ApproximationWarning`) where there is none and the
        normal approximation serves; "normal" is that approximation, the paper's. Differentiable in θ and usable inside
        other JAX transformations, where θ cannot be checked; a caller in single precision gets single precision, of
        what is computed in double. The derivative is NaN where s jumps at a point at which
        the density of a record jumps too, so that derivatives from the left and from the right differ.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
        >>> model = cf.Model(cf.populations.normal_variance(), channel)
        >>> print(model.log_likelihood(2.0, 0.9).round(6), model.log_likelihood(2.0, 0.9, route="normal").round(6))
        -1.875881 -1.736641
        """
        from confide.likelihood import choose_aloud
        from confide.likelihood.local.two_sided import watched

        if is_single(theta) or is_single(value):
            return through_double(partial(self.log_likelihood, route=route), theta, value)
        chosen = choose_aloud(self, route, stacklevel=3)
        thetas = self.population.theta(theta)
        batch, shape = thetas.shape[:-1], self.channel.value_shape
        if isinstance(value, jax.core.Tracer):
            values = value
        else:
            values = self.channel.check_value(value)
            reason = chosen.impossible(self, values)
            if reason is not None:
                raise InvalidArgument("value", value, reason, "give a value that the channel can publish")
        each = values.reshape(-1, *shape)
        rows = thetas.reshape(-1, thetas.shape[-1])
        if isinstance(thetas, jax.core.Tracer) or isinstance(value, jax.core.Tracer):
            found: Any = chosen.traced(self, rows, jnp.asarray(each))
            found += jax.vmap(lambda row: watched(self, row))(rows)[:, None]
        else:
            found = chosen.log_likelihood(self, np.asarray(rows), np.asarray(each))
        return found.reshape((*batch, *values.shape[: values.ndim - len(shape)]))

    def distribution(self, theta: Any, route: str | Route = "auto", *, n: Any = None) -> PublishedValue:
        """What the channel may publish at θ, as a numpyro distribution: a likelihood inside any model.

        Each θ of a batch is one element of the distribution's batch, so plates work: with one value per θ, `log_prob`
        pairs them. θ is an array in the order of the parameters, or a mapping from their names. Usable under jit, vmap,
        NUTS, plates and `Predictive`. All is computed in double precision and returned in the caller's.

        Where the number of records is private it is summed out: `n` is its law (a discrete distribution of known
        parameters) or a number to assume; without it every number is as probable beforehand, and the release's own
        count says what it is.

        >>> import confide as cf, numpyro
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=50)
        >>> model = cf.Model(cf.populations.bernoulli(), channel)
        >>> wards = model.distribution([0.2, 0.3, 0.4])
        >>> wards.batch_shape, wards.event_shape, [f"{each:.4f}" for each in wards.log_prob([0.25, 0.3, 0.35])]
        ((3,), (), ['1.4370', '1.8189', '1.4215'])
        >>> counted = cf.Channel(cf.Sum(["1", "x"], bounds=(0, 1)), cf.Laplace(scale=4.0))
        >>> private = cf.Model(cf.populations.bernoulli(), counted)
        >>> f"{private.distribution(0.4).log_prob([80.3, 31.7]):.4f}"
        '-2.8445'
        """
        from confide.likelihood import choose_aloud
        from confide.likelihood.distribution import PublishedValue
        from confide.likelihood.totals.alone import over_numbers

        if self.channel.n is None or n is not None:
            model, chosen = over_numbers(self, route, n, stacklevel=3)
            return PublishedValue(model, theta, chosen)
        return PublishedValue(self, theta, choose_aloud(self, route, stacklevel=2))

    def __str__(self) -> str:
        return f"Records from {self.population}.\n{self.channel}"


def one_each(model: Model, key: jax.Array, thetas: jax.Array) -> jax.Array:
    """One published value per θ, in the precision of θ."""
    batch, rows = thetas.shape[:-1], thetas.reshape(-1, thetas.shape[-1])
    channel, keys = model.channel, jax.random.split(key, rows.shape[0])
    values = _simulate(model.population, channel.statistic, channel.n, channel.law, keys, rows)
    return values.reshape(*batch, *channel.value_shape)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _simulate(
    population: Population, statistic: Statistic, n: int, law: Law, keys: jax.Array, thetas: jax.Array
) -> jax.Array:
    """One published value per key and θ, in batches that bound the memory."""

    def release(argument: tuple[jax.Array, jax.Array]) -> jax.Array:
        key, theta = argument
        for_records, for_noise = jax.random.split(key)
        if (statistic.averages or statistic.totals) and n > _BLOCK:
            summary = _mean_of_blocks(population, statistic, n, for_records, theta) * (n if statistic.totals else 1)
        else:
            summary = statistic.summary(batches.sample(population, for_records, theta, (n,)), law.window)
        return law.sample(for_noise, summary)

    return jax.lax.map(release, (keys, thetas), batch_size=max(1, _BATCH // min(n, _BLOCK)))


def _mean_of_blocks(
    population: Population, statistic: Statistic, n: int, key: jax.Array, theta: jax.Array
) -> jax.Array:
    """The mean over many records, a block at a time; the last block is partly discarded."""
    blocks = math.ceil(n / _BLOCK)

    def add(index: jax.Array, total: jax.Array) -> jax.Array:
        values = statistic.values(batches.sample(population, jax.random.fold_in(key, index), theta, (_BLOCK,)))
        used = index * _BLOCK + jnp.arange(_BLOCK) < n
        return total + jnp.sum(jnp.where(jnp.expand_dims(used, tuple(range(1, values.ndim))), values, 0.0), axis=0)

    shape = () if statistic.dimension == 1 else (statistic.dimension,)
    return jax.lax.fori_loop(0, blocks, add, jnp.zeros(shape)) / n
