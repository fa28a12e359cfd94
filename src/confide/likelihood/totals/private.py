"""Releases of one private number of records: p(y₀, y₁, … | θ), summed over n.

A component of s that is constant counts the records. What noisy counts and the prior say of n is a weight

    w(n) = π(n) Π_j g_j(y_j − c_j n),

and the rest is about θ: p(y | θ) = Σ_n w(n) p_n(y | θ). One sum beside the counts is inverted for all n at once
(`terms`), exactly. Several are jointly normal given n, by the central limit theorem, each with its own noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from confide.channel import Channel
from confide.errors import IncompatibleError
from confide.likelihood.joint_law import Joint, Mask, checked
from confide.likelihood.mean.normal import Normal, convolved
from confide.likelihood.mean.same_records import SameRecords, log_density_of_many
from confide.likelihood.record_law.moments import law_for, moments
from confide.likelihood.record_law.traced import moving_law
from confide.likelihood.route import Floats
from confide.likelihood.totals.component import Component, alike, alone, law_of_records, spacing
from confide.likelihood.totals.counting import Counting, summed
from confide.likelihood.totals.inside_a_trace import CountedSum
from confide.likelihood.totals.inversion import NumberTerms
from confide.likelihood.totals.number import NumberPrior, hull_of
from confide.likelihood.totals.terms import number_terms
from confide.mechanism.noise import Noise
from confide.model import Model
from confide.statistic import Mean

#: nats below the largest weight at which counts rule an n out, and what they do for several sums
_HULL, _HULL_OF_MANY = 90.0, 60.0
#: points at which sums are seen to add up to a count, to what rounding, and standard deviations of its noise
_LOOKED_AT, _ADDED_UP, _FAR = 257, 1e-9, 14.0
#: θ whose terms are held together
_TOGETHER = 128


@dataclass(frozen=True, eq=False)
class PrivateNumber(Joint):
    """Counts and sums of the same records, whose number is private. The values belong to it: they say which n count."""

    models: tuple[Model, ...]
    values: tuple[Any, ...]
    prior: NumberPrior

    def __post_init__(self) -> None:
        for model in self.models:
            if model.channel.law.added is None:
                raise IncompatibleError(
                    f"{model.channel.mechanism!r} does not add noise, and n is private; use another"
                )
        counted = any(part.constant and part.ends[0] != 0 for part in self.components)
        if not self.prior.proper and not counted and self.implied is None:
            raise IncompatibleError(
                "the releases say nothing of the number of records, which is private, and its prior is flat; release a "
                'Count too, or give it a proper prior beside the others, such as "n": dist.Poisson(2000.0)'
            )
        rough = [part for part in self.sums if not part.noise.normal]
        if len(self.sums) > 1 and len(rough) > 1:
            raise IncompatibleError(
                "several sums of a private number of records, more than one of them with noise that is not Gaussian, "
                "have no likelihood in closed form; release them with Gaussian noise, or infer from one of them"
            )

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """All published numbers."""
        return tuple(
            Component(model, j, float(number))
            for model, value in zip(self.models, self.values, strict=True)
            for j, number in enumerate(np.ravel(np.asarray(value)))
        )

    @cached_property
    def sums(self) -> tuple[Component, ...]:
        """Those that are about θ."""
        return tuple(part for part in self.components if not part.constant)

    @property
    def exact(self) -> bool:
        """Whether there is no approximation: where at most one sum of one column stands beside the counts."""
        return not self.sums or (len(self.sums) == 1 and self.models[0].population.rows is None)

    @property
    def name(self) -> str:  # type: ignore[override]
        """As routes are called."""
        return "numbers" if self.exact else Normal.name

    @property
    def error(self) -> str:  # type: ignore[override]
        """For people."""
        return "none (checked)" if self.exact else Normal.error

    @property
    def approximate(self) -> bool:  # type: ignore[override]
        """Whether its error is not known."""
        return not self.exact

    def log_weight(self, numbers: Floats) -> Floats:
        """log w(n)."""
        total = self.prior.log_prob(numbers)
        for part in self.components:
            if part.constant:
                total = total + part.log_count(numbers)
        return total

    @cached_property
    def implied(self) -> tuple[Floats, float] | None:
        """How sums add up to a count, as x and 1 − x do, and the standard deviation of that one's noise.

        None where they do not. It says where n is looked for, and nothing else: their joint law given n says the rest.
        """
        kept = {part.model.channel.statistic.bounds for part in self.sums}
        if len(self.sums) < 2 or len(kept) > 1 or any(part.model.population.rows for part in self.sums):
            return None
        low, high = next(iter(kept))
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            x = np.linspace(low, high, _LOOKED_AT)
            s = np.stack([np.asarray(part.statistic.values(x)) for part in self.sums], axis=1)
        shares, *_ = np.linalg.lstsq(s, np.ones(x.size))
        if np.max(np.abs(s @ shares - 1)) > _ADDED_UP:
            return None
        variance = np.asarray([float(part.noise.variance) for part in self.sums])
        return shares, float(np.sqrt(np.square(shares) @ variance))

    @cached_property
    def hull(self) -> Floats:
        """Where counts and prior alone would have n."""
        if self.implied is not None and not self.prior.proper and not any(part.constant for part in self.components):
            shares, spread = self.implied
            middle = float(shares @ np.asarray([part.value for part in self.sums]))
            return np.maximum(np.asarray([math.floor(middle - _FAR * spread), math.ceil(middle + _FAR * spread)]), 0.0)
        guesses = [part.value / part.ends[0] for part in self.components if part.constant and part.ends[0] != 0]
        return hull_of(self.log_weight, [*guesses, *self.prior.typical()], _HULL if self.exact else _HULL_OF_MANY)

    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """By the normal route of each release, as for any that adds noise."""
        return checked(self.models, [Normal()] * len(self.models), values)

    def log_likelihood(self, thetas: Any, values: Sequence[Any] = ()) -> Floats:
        """log Σ_n w(n) p_n(y | θ) at all θ."""
        return self.with_approximate(thetas, values)[0]

    def with_approximate(self, thetas: Any, values: Sequence[Any] = ()) -> tuple[Floats, Mask]:
        """The same, and where the normal law of few records stands in for theirs."""
        del values
        thetas = np.asarray(thetas, dtype=np.float64)
        found, approximate = np.empty(len(thetas)), np.empty(len(thetas), dtype=bool)
        for group, terms in self.number_terms(thetas):
            with np.errstate(divide="ignore"):
                found[group] = logsumexp(terms.log_terms, axis=1)
            approximate[group] = terms.approximate or self.approximate
        return found, approximate

    def number_terms(self, thetas: Floats) -> list[tuple[NDArray[np.intp], NumberTerms]]:
        """log w(n) p_n(y | θ) for every n that counts, in groups of θ."""
        if not self.sums:
            numbers = np.arange(self.hull[0], self.hull[1] + 1)
            log_w = np.broadcast_to(self.log_weight(numbers), (len(thetas), numbers.size))
            return [(np.arange(len(thetas)), NumberTerms(numbers, log_w))]
        if not self.exact:
            return self._normal_terms(thetas)
        part, rest = self.sums[0], []
        common = spacing(part.model.population, part.statistic)
        for together in alike(part, thetas, common):
            records, highest = law_of_records(part, thetas[together], common)
            found = number_terms(
                records, part.value, part.noise, self.log_weight, self.hull, (common, highest),
                partial(alone, part, thetas[together]),
            )  # fmt: skip
            for group, terms in found:
                where = together[group]
                if terms is not None:
                    rest.append((where, terms))
                else:  # next to no mass is there, or too many n: the normal law says as much
                    rest += [
                        (where[each], replace(more, approximate=True))
                        for each, more in self._normal_terms(thetas[where])
                    ]
        return rest

    @cached_property
    def _together(self) -> tuple[Any, tuple[Noise, ...]]:
        """The sums as one vector mean, and their noises."""
        bounds = {part.model.channel.statistic.bounds for part in self.sums}
        if len(bounds) == 1:
            parts = [part.model.channel.statistic.transforms[part.index] for part in self.sums]
            one = next(iter(bounds))
            statistic = Mean(parts if len(parts) > 1 else parts[0], getattr(one, "by_name", one))
        else:
            apart = [Model(part.model.population, Channel(part.statistic, part.model.channel.assuming(1).mechanism, 1))
                     for part in self.sums]  # fmt: skip
            statistic = SameRecords(tuple(apart)).statistic
        return statistic, tuple(part.noise for part in self.sums)

    @cached_property
    def _many(self) -> tuple[Any, tuple[Noise, ...], Floats, Floats, Floats]:
        """The same, their values, and the n that the counts allow with their weights."""
        numbers = np.arange(self.hull[0], self.hull[1] + 1)
        if numbers.size > 2**20:
            raise IncompatibleError("the number of records is not known to a million; release a Count with less noise")
        values = np.asarray([part.value for part in self.sums])
        return *self._together, values, numbers, self.log_weight(numbers)

    def _normal_terms(self, thetas: Floats) -> list[tuple[NDArray[np.intp], NumberTerms]]:
        statistic, noises, values, numbers, log_w = self._many
        population, found = self.models[0].population, []
        size = max(1, min(_TOGETHER, 2**21 // numbers.size))
        law = law_for(population, statistic, thetas)
        for start in range(0, len(thetas), size):
            group = np.arange(start, min(start + size, len(thetas)))
            padded = np.pad(thetas[group], [(0, size - group.size), (0, 0)], mode="edge")
            terms = np.asarray(_given_each(law, noises, values, numbers, log_w, padded))[: group.size]
            found.append((group, NumberTerms(numbers, terms)))
        return found

    def log_prob(self, theta: jax.Array, values: Sequence[Any] = ()) -> jax.Array:
        """The normal law given each n, summed, with nodes that move with θ: for chains on three parameters or more."""
        del values
        with jax.ensure_compile_time_eval():  # nothing of this depends on θ
            if not self.sums:
                return jnp.asarray(logsumexp(self.log_weight(np.arange(self.hull[0], self.hull[1] + 1))))
            statistic, noises, known, numbers, log_w = self._many
        mean, covariance = moments(*moving_law(self.models[0].population, statistic, theta))
        return jax.nn.logsumexp(_normal_at(noises, known, mean, covariance, jnp.asarray(numbers), jnp.asarray(log_w)))

    def inside_a_trace(self, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p of one release at one θ, where all may be traced, published numbers too: those here are not used."""
        published, counted = jnp.ravel(value), [part.constant for part in self.components]
        counts, values = (published[np.flatnonzero(chosen)] for chosen in (counted, np.logical_not(counted)))
        counting = Counting(self.prior, tuple((part.ends[0], part.noise) for part in self.components if part.constant))
        if not self.sums:
            return summed(lambda counts, numbers: counting.log_weight(numbers, counts), counts, counting.hull)
        if self.exact:
            return CountedSum.of(self.sums[0], counting).log_prob(theta, counts, values[0])
        statistic, noises = self._together
        parts = (*moments(*moving_law(self.models[0].population, statistic, theta)), counts, values)

        def log_terms(parts: Any, numbers: jax.Array) -> jax.Array:
            mean, covariance, counts, values = parts
            return _normal_at(noises, values, mean, covariance, numbers, counting.log_weight(numbers, counts))

        return summed(log_terms, parts, lambda parts: self._numbers(counting, *parts[2:]))

    def _numbers(self, counting: Counting, counts: jax.Array, values: jax.Array) -> jax.Array:
        """Where n is looked for: what counts and prior say, or sums that add up to a count."""
        if counting.each or self.prior.proper or self.implied is None:
            return counting.hull(counts)
        shares, spread = self.implied
        middle, reach = values @ shares, _FAR * spread
        return jnp.maximum(jnp.stack([jnp.floor(middle - reach), jnp.ceil(middle + reach)]), 0.0)


def _normal_at(
    noises: tuple[Noise, ...], values: Any, mean: jax.Array, covariance: jax.Array, numbers: jax.Array, log_w: jax.Array
) -> jax.Array:
    """log w(n) + log p(y | n, θ) by the normal law of sums of n records."""

    def given(n: jax.Array) -> jax.Array:
        if not any(noise.normal for noise in noises):  # one sum alone
            return convolved(noises[0], values[0] - n * mean[0], jnp.sqrt(n * covariance[0, 0]))
        return log_density_of_many(noises, values - n * mean, n * covariance)

    return jax.vmap(given)(numbers) + log_w


@jax.jit
def _given_each(
    law: Any, noises: tuple[Noise, ...], values: Any, numbers: Any, log_w: Any, thetas: jax.Array
) -> jax.Array:
    def one(theta: jax.Array) -> jax.Array:
        mean, covariance = moments(*law.at(theta))
        return _normal_at(noises, values, mean, covariance, numbers, log_w)

    return jax.lax.map(one, thetas)
