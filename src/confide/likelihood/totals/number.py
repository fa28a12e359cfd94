"""What is believed about the number of records beforehand, where it is private: π(n)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpy.typing import NDArray

from confide.errors import IncompatibleError, InvalidArgument
from confide.mechanism import Law
from confide.population import Population, batches
from confide.statistic import Statistic
from confide.statistic.persons import per_row

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: nats below its peak at which a prior says nothing of n: no published number speaks louder
_ALL = 700.0
#: records that are drawn at once, of one release and of all
_BLOCK, _TOGETHER = 2**14, 2**20

#: how a prior names it: no parameter of a population can be called so beside a private number of records
NAME = "n"
_REMEDY = (
    "give a discrete numpyro distribution of one whole number, such as dist.Poisson(2000.0), or the number if known"
)


@dataclass(frozen=True, eq=False)
class NumberPrior:
    """π(n) on the whole numbers from 0: flat (and improper) where nothing is given, a distribution, or one number.

    >>> NumberPrior.of(None).proper, NumberPrior.of(200).log_prob(np.array([199.0, 200.0])).tolist()
    (False, [-inf, 0.0])
    """

    law: Any = None

    @classmethod
    def of(cls, given: Any) -> NumberPrior:
        """A checked prior."""
        if given is None or isinstance(given, NumberPrior):
            return given or FLAT
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(given)):
            problem = "has parameters that are traced, but which n count is decided beforehand"
            raise InvalidArgument(f"prior[{NAME!r}]", type(given).__name__, problem, _REMEDY)
        if not isinstance(given, dist.Distribution):
            try:
                count = -1 if isinstance(given, bool) else operator.index(given)
            except TypeError:
                count = -1
            if count < 0:
                raise InvalidArgument(f"prior[{NAME!r}]", given, "is no law of a number of records", _REMEDY)
            return cls(count)
        if not given.is_discrete or given.batch_shape != () or given.event_shape != ():
            problem = "is not a distribution of one whole number"
            raise InvalidArgument(f"prior[{NAME!r}]", type(given).__name__, problem, _REMEDY)
        return cls(given)

    @cached_property
    def _told(self) -> tuple[Any, ...]:
        """What it is, as bytes: two laws alike are one, so that a model that makes it anew compiles nothing anew."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.law)]
        return type(self.law), *((leaf.dtype.str, leaf.shape, leaf.tobytes()) for leaf in leaves)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NumberPrior):
            return NotImplemented
        structures: list[Any] = [jax.tree.structure(each.law) for each in (self, other)]
        return self._told == other._told and bool(structures[0] == structures[1])

    def __hash__(self) -> int:
        return hash(self._told)

    @property
    def proper(self) -> bool:
        """Whether it is a law, so that sums without a count have a posterior."""
        return self.law is not None

    def log_prob(self, numbers: Floats) -> Floats:
        """log π(n) of whole numbers; 0 everywhere from 0 on where it is flat."""
        if self.law is None:
            return np.where(numbers >= 0, 0.0, -np.inf)
        if isinstance(self.law, int):
            return np.where(numbers == self.law, 0.0, -np.inf)
        with jax.enable_x64(True):
            flat = np.ravel(np.maximum(numbers, 0.0)).astype(np.int64)
            # of few lengths, so that little is compiled
            asked = np.pad(flat, (0, (1 << max(flat.size - 1, 1).bit_length()) - flat.size), mode="edge")
            held = np.asarray(self.law.support(asked))[: flat.size].reshape(numbers.shape) & (numbers >= 0)
            found = np.asarray(self.law.log_prob(asked), dtype=np.float64)[: flat.size].reshape(numbers.shape)
        return np.where(held & ~np.isnan(found), found, -np.inf)

    def traced(self, numbers: jax.Array) -> jax.Array:
        """log π(n) of whole numbers ≥ 0 that may be traced, in double precision."""
        if self.law is None:
            return jnp.zeros(jnp.shape(numbers))
        if isinstance(self.law, int):
            return jnp.where(numbers == self.law, 0.0, -jnp.inf)
        whole = numbers.astype(jnp.int64)
        found = jnp.asarray(self.law.log_prob(whole), dtype=float)
        return jnp.where(self.law.support(whole) & ~jnp.isnan(found), found, -jnp.inf)

    @cached_property
    def ends(self) -> Floats:
        """Where its mass lies, far beyond what can count; 0 and infinity where it is flat."""
        if self.law is None:
            return np.asarray([0.0, np.inf])
        with jax.ensure_compile_time_eval():
            return hull_of(self.log_prob, self.typical(), _ALL)

    def typical(self) -> list[float]:
        """Numbers where it may have its mass."""
        if self.law is None:
            return []
        if isinstance(self.law, int):
            return [float(self.law)]
        with jax.enable_x64(True):
            drawn = np.asarray(self.law.sample(jax.random.key(0), (64,)), dtype=np.float64)
        return np.unique(drawn[np.isfinite(drawn)]).tolist()

    def sample(self, generator: np.random.Generator) -> int:
        """A number of records."""
        if isinstance(self.law, int):
            return self.law
        with jax.enable_x64(True):
            return int(self.law.sample(jax.random.key(int(generator.integers(2**31)))))


#: nothing is known of n beforehand
FLAT = NumberPrior()


def one_each_of_a_number(model: Model, prior: NumberPrior, key: jax.Array, thetas: jax.Array) -> jax.Array:
    """One published value per θ, each about a number of records that is drawn from its prior."""
    if not prior.proper:
        raise IncompatibleError(
            f"{model.channel!r} has a private number of records, whose flat prior is no law to draw it from; give "
            "distribution(theta, n=…) one, such as dist.Poisson(2000.0), or a number to assume"
        )
    batch, rows = thetas.shape[:-1], thetas.reshape(-1, thetas.shape[-1])
    statistic, law = per_row(model.channel.statistic), model.channel.law
    values = _drawn(model.population, statistic, prior, law, jax.random.split(key, rows.shape[0]), rows)
    return values.reshape(*batch, *model.channel.value_shape)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _drawn(
    population: Population, statistic: Statistic, prior: NumberPrior, law: Law, keys: jax.Array, thetas: jax.Array
) -> jax.Array:
    """Records in blocks, as many as there are; those of the last that are too many do not count."""
    with jax.ensure_compile_time_eval():
        size = 1 << int(np.clip(max(prior.typical()), 32, _BLOCK) - 1).bit_length()

    def one(argument: tuple[jax.Array, jax.Array]) -> jax.Array:
        key, theta = argument
        for_number, for_records, for_noise = jax.random.split(key, 3)
        number = jnp.asarray(prior.law if isinstance(prior.law, int) else prior.law.sample(for_number))

        def add(index: jax.Array, total: jax.Array) -> jax.Array:
            records = batches.sample(population, jax.random.fold_in(for_records, index), theta, (size,))
            used = index * size + jnp.arange(size) < number
            values = statistic.values(records)
            return total + jnp.sum(jnp.where(used if values.ndim == 1 else used[:, None], values, 0.0), axis=0)

        shape = () if statistic.dimension == 1 else (statistic.dimension,)
        return law.sample(for_noise, jax.lax.fori_loop(0, -(-number // size), add, jnp.zeros(shape)))

    return jax.lax.map(one, (keys, thetas), batch_size=max(1, _TOGETHER // size))


def hull_of(log_weight: Callable[[Floats], Floats], guesses: list[float], nats: float) -> Floats:
    """The first and last n at which a weight with one peak is not negligible beside the largest that was seen."""
    every = np.unique(np.maximum(np.round(np.asarray([0.0, *guesses])), 0.0))
    weights = log_weight(every)
    if not np.any(weights > -np.inf):
        raise InvalidArgument(NAME, None, "has no value that the counts and its prior allow", "check the prior of n")
    best = every[int(np.argmax(weights))]
    top = float(weights.max())
    ends = []
    for way in (-1.0, 1.0):
        step, inside = 1.0, best
        while True:  # further in powers of two until negligible
            there = max(best + way * step, 0.0)
            at = float(log_weight(np.asarray([there]))[0])
            top = max(top, at)
            if at < top - nats or there == 0.0 or step > 2.0**40:
                break
            inside, step = there, 2 * step
        outside = there
        while abs(outside - inside) > 1:  # and back by halving
            middle = np.round(0.5 * (inside + outside))
            if float(log_weight(np.asarray([middle]))[0]) < top - nats:
                outside = middle
            else:
                inside = middle
        ends.append(outside)
    return np.asarray([min(ends), max(ends)])
