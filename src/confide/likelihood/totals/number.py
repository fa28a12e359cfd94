"""What is believed about the number of records beforehand, where it is private: π(n)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
from numpy.typing import NDArray

from confide.errors import InvalidArgument

Floats = NDArray[np.float64]

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
            return given or cls()
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
