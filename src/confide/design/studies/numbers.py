"""Studies of a private number of records: releases of so many as are assumed or drawn, and their posteriors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._random import key_as_numbers
from confide.design.studies.ratio import ClassicalRatio
from confide.errors import InvalidArgument
from confide.inference.summaries import Summaries
from confide.inference.verb import infer
from confide.likelihood import Route
from confide.likelihood.totals.number import NAME, NumberPrior
from confide.mechanism import Law
from confide.model import Model
from confide.population import Population, batches
from confide.prior import Prior
from confide.published import Release
from confide.statistic import Statistic
from confide.statistic.persons import per_row
from confide.statistic.size import check_count

Floats = NDArray[np.float64]

#: records that are drawn at once for one release, and over the releases of one batch
_BLOCK, _BATCH = 2**14, 2**21
#: draws of each of four chains, from which the interval of n is read; θ is integrated
_DRAWS = 250


@dataclass(frozen=True, eq=False)
class Numbers:
    """How many records a release is really about, and what its reader believes of that."""

    #: a number, or None where each release has its own, from the prior
    n: int | None
    prior: NumberPrior

    @classmethod
    def of(cls, prior: Any, n: Any) -> tuple[Numbers, Any]:
        """What a study was given, and its prior of θ alone."""
        alone, number = prior, None
        if isinstance(prior, Mapping) and NAME in prior:
            alone, number = {name: law for name, law in prior.items() if name != NAME}, prior[NAME]
        return cls(None if n is None else check_count(n), NumberPrior.of(number)), alone

    def require(self) -> None:
        """Refuse where nothing says how many records there are."""
        if self.n is None and not self.prior.proper:
            remedy = (
                'give the number that is assumed, such as n=2000, or a proper prior of it, {"n": dist.Poisson(2000.0)}'
            )
            raise InvalidArgument("n", None, "is private, so that it must be assumed", remedy)

    @property
    def typical(self) -> int:
        """A number at which the information is taken to predict the error."""
        return self.n if self.n is not None else max(1, round(float(np.median(self.prior.typical()))))

    def described(self) -> dict[str, Any]:
        """In words and numbers that are the same in every process."""
        at = np.unique(np.round(np.geomspace(1, 1e6, 60)))
        told = [float(f"{each:.6g}") for each in self.prior.log_prob(at)]
        return {"number": self.n, "number prior": [str(each) for each in told]}

    def drawn(self, key: jax.Array, releases: int) -> NDArray[np.int64]:
        """The true numbers of so many releases."""
        if self.n is not None or isinstance(self.prior.law, int):
            return np.full(releases, self.n if self.n is not None else self.prior.law)
        return np.asarray(self.prior.law.sample(key, (releases,))).astype(np.int64)


def published(model: Model, key: jax.Array, thetas: Floats, numbers: NDArray[np.int64]) -> Floats:
    """A value for each θ (R, d), of so many records each."""
    most = 1 << max(int(numbers.max()) - 1, 1).bit_length()
    keys = jax.random.split(key, len(thetas))
    channel = model.channel
    return np.asarray(
        _published(model.population, per_row(channel.statistic), most, channel.law, keys, jnp.asarray(thetas), numbers)
    )


@partial(jax.jit, static_argnums=(0, 1, 2))
def _published(
    population: Population, statistic: Statistic, most: int, law: Law, keys: jax.Array, thetas: jax.Array, numbers: Any
) -> jax.Array:
    """Sums over blocks of records, of which those beyond the number are left out: one program serves every number."""
    size = min(most, _BLOCK)
    shape = () if statistic.dimension == 1 else (statistic.dimension,)

    def release(given: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        key, theta, number = given
        for_records, for_noise = jax.random.split(key)

        def add(index: jax.Array, total: jax.Array) -> jax.Array:
            records = batches.sample(population, jax.random.fold_in(for_records, index), theta, (size,))
            used = index * size + jnp.arange(size) < number
            values = statistic.values(records)
            # a scalar has the records last, a vector its components
            values = values if values.ndim == 1 or not shape else jnp.moveaxis(values, -1, 0)
            return total + jnp.sum(jnp.where(used, values, 0.0), axis=-1)

        total = jax.lax.fori_loop(0, math.ceil(most / size), add, jnp.zeros(shape))
        return law.sample(for_noise, total)

    return jax.lax.map(release, (keys, thetas, jnp.asarray(numbers)), batch_size=max(1, _BATCH // size))


def answers(
    strategy: Any,
    population: Population,
    values: Floats,
    prior: Prior,
    numbers: Numbers,
    key: jax.Array,
    *,
    probs: tuple[float, ...],
    route: str | Route,
) -> Summaries:
    """What is said of θ and n after each release."""
    if isinstance(strategy, ClassicalRatio):
        return strategy.summaries(population, prior, values, probs)
    believed = dict(zip(prior.names, prior.parts, strict=True))
    if numbers.prior.proper:
        believed[NAME] = numbers.prior.law
    means, sds, ends, notes = [], [], [], {}
    seed = int(key_as_numbers(key)[1].ravel()[-1])
    for row, value in enumerate(values):
        found = infer(population, Release(strategy, value), believed, route=route, key=seed + row, draws=_DRAWS)
        means.append(_flat(found.mean))
        sds.append(_flat(found.sd))
        notes.update(dict.fromkeys(found.diagnostics.warnings))
        each = [found.quantile([0.5 - prob / 2, 0.5 + prob / 2]) for prob in probs]
        ends.append([[np.concatenate([np.ravel(part[i]) for part in end.values()]) for end in each] for i in (0, 1)])
    lower, upper = np.moveaxis(np.asarray(ends), 0, 2)
    return Summaries(np.asarray(means), np.asarray(sds), lower, upper, tuple(notes))


def _flat(values: Mapping[str, Any]) -> Floats:
    return np.concatenate([np.ravel(part) for part in values.values()])
