"""Randomized response: each record answers truly with some probability, and otherwise with another of k answers.

Where a record answers about several columns, each may be answered by itself (`columns`): the answers are then
independent given the record, and the law of all of them is a product, one table of probabilities for each column.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from confide._final import final
from confide.errors import InvalidArgument
from confide.mechanism.base import Calibrated, Law, accept_privacy, misfit, options_repr
from confide.mechanism.keeping import keep_probability, share_of_columns
from confide.mechanism.noise import OWN
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.statistic import Statistic
from confide.statistic.size import check_count


@final(OWN)
class ResponseLaw(Law):
    """The true level with probability `keep`, each of the other k−1 levels with probability (1−keep)/(k−1).

    >>> law = ResponseLaw((0.0, 1.0), keep=0.75)
    >>> jnp.exp(law.log_prob(jnp.array([1.0, 0.0, 0.5]), jnp.ones(3))).round(4).tolist()
    [0.75, 0.25, 0.0]

    With `columns` the place of a level is read as one digit for each, the last one running fastest, and every digit is
    kept by itself, with its own probability:

    >>> law = ResponseLaw((0.0, 1.0, 2.0, 3.0), keep=(0.75, 0.75), columns=(2, 2))
    >>> jnp.exp(law.log_prob(jnp.arange(4.0), jnp.ones(4))).round(4).tolist()
    [0.1875, 0.5625, 0.0625, 0.1875]
    """

    levels: tuple[float, ...]
    keep: Any
    #: how many answers each column has, where each is answered by itself
    columns: tuple[int, ...] | None = eqx.field(static=True, default=None)

    @property
    def answers(self) -> tuple[float, ...]:
        """The levels."""
        return self.levels

    @property
    def window(self) -> int:
        """Ranks play no part."""
        return 0

    @property
    def digits(self) -> tuple[tuple[int, Any], ...]:
        """Of each digit of a level's place, the slowest first: how many values it has, and how often it is kept."""
        if self.columns is None:
            return ((len(self.levels), self.keep),)
        return tuple(zip(self.columns, self.keep, strict=True))

    @property
    def description(self) -> str:
        """How often the truth is told."""
        if self.columns is None:
            return f"each answer randomized (kept with probability {self.keep:.4g} among {len(self.levels)})"
        kept = ", ".join(f"{keep:.4g} among {size}" for size, keep in self.digits)
        return f"each answer randomized, column by column (kept with probability {kept})"

    def answered(self, truths: Any) -> Any:
        """From probabilities of the true levels, on the last axis, to those of the answers; linear in them.

        >>> ResponseLaw((0.0, 1.0), keep=0.75).answered(jnp.array([1.0, 0.0])).tolist()
        [0.75, 0.25]
        """
        digits = self.digits
        found = truths.reshape(*truths.shape[:-1], *(size for size, _ in digits))
        for axis, (size, keep) in zip(range(-len(digits), 0), digits, strict=True):
            other = (1.0 - keep) / (size - 1)
            found = other * found.sum(axis=axis, keepdims=True) + (keep - other) * found
        return found.reshape(truths.shape)

    def _match(self, value: Float[Array, "..."]) -> tuple[Int[Array, "..."], Bool[Array, "..."]]:
        """The nearest level, and whether the value is that level up to rounding."""
        levels = jnp.asarray(self.levels)
        distance = jnp.abs(jnp.asarray(value)[..., None] - levels)
        index = jnp.argmin(distance, axis=-1)
        gap = jnp.min(jnp.diff(levels))
        rounding = 1e-9 * gap + 4 * jnp.finfo(levels.dtype).eps * jnp.max(jnp.abs(levels))
        return index, jnp.min(distance, axis=-1) <= rounding

    def _split(self, index: Int[Array, "..."]) -> list[Any]:
        """The digits of places."""
        found = []
        for size, _ in reversed(self.digits):
            found.append(index % size)
            index = index // size
        return found[::-1]

    def sample(self, key: jax.Array, summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """An answer for each record."""
        index, _ = self._match(summary)
        keys = [key] if self.columns is None else jax.random.split(key, len(self.columns))
        answer: Any = 0
        for one, (size, keep), truth in zip(keys, self.digits, self._split(index), strict=True):
            key_keep, key_other = jax.random.split(one)
            kept = jax.random.bernoulli(key_keep, keep, truth.shape)
            other = jax.random.randint(key_other, truth.shape, 1, size)
            answer = answer * size + jnp.where(kept, truth, truth + other) % size
        return jnp.asarray(self.levels)[answer]

    def log_prob(self, value: Float[Array, "..."], summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """The log probability of each record's answer; −inf for a value that is no level."""
        answer, is_level = self._match(value)
        truth, _ = self._match(summary)
        total: Any = 0.0
        for (size, keep), said, meant in zip(self.digits, self._split(answer), self._split(truth), strict=True):
            log_other = jnp.log1p(-jnp.asarray(keep)) - math.log(size - 1)
            total = total + jnp.where(said == meant, jnp.log(keep), log_other)
        return jnp.where(is_level, total, -jnp.inf)


@dataclass(frozen=True, repr=False)
class RandomizedResponse(Calibrated):
    """Randomized response on `Each` record's s(x), where s takes finitely many values.

    The levels themselves are released, so that the value is on the scale of the statistic.

    >>> from confide.statistic import Each
    >>> law = RandomizedResponse(PureDP(math.log(3))).calibrate(Each("x > 2", bounds=(0, 5)), n=100)
    >>> law.levels, round(law.keep, 12)
    ((0.0, 1.0), 0.75)

    `columns=(2, 2)` is a response for each of two columns of two answers: s counts their combinations, the last column
    running fastest, and each column spends the same share of the guarantee.

    >>> bits = Each("2 * (sick > 0) + (smokes > 0)", bounds={"sick": (0, 1), "smokes": (0, 1)})
    >>> law = RandomizedResponse(PureDP(2 * math.log(3)), columns=(2, 2)).calibrate(bits, n=400)
    >>> [round(keep, 12) for keep in law.keep]
    [0.75, 0.75]
    """

    privacy: Privacy
    #: how many answers each column has, where each is answered by itself; None for one answer of all together
    columns: Any = None

    def __post_init__(self) -> None:
        accept_privacy("RandomizedResponse", self.privacy, (PureDP, ApproxDP, ZCDP, GDP), "")
        if self.columns is not None:
            object.__setattr__(self, "columns", _sizes(self.columns))

    def calibrate(self, statistic: Statistic, n: int | None) -> ResponseLaw:
        """The law of one record's answer."""
        if not statistic.per_record:
            misfit(self, statistic, "each record answers for itself", "use Each, or Laplace for a single number")
        levels = statistic.levels
        if levels is None or len(levels) < 2:
            problem = "s has no finite set of at least two values" if levels is None else "s is constant"
            misfit(self, statistic, problem, "use a comparison such as 'x > 2', or Laplace")
        check_count(n)
        if self.columns is None:
            return ResponseLaw(levels, keep_probability(self.privacy, len(levels)))
        if math.prod(self.columns) != len(levels):
            problem = f"s has {len(levels)} values, and the columns have {math.prod(self.columns)} combinations"
            misfit(self, statistic, problem, "let s count the combinations, as in '2 * (a > 0) + (b > 0)' for (2, 2)")
        share = share_of_columns(self.privacy, len(self.columns))
        return ResponseLaw(levels, tuple(keep_probability(share, size) for size in self.columns), self.columns)

    __repr__ = options_repr

    def __str__(self) -> str:
        each = "" if self.columns is None else " of each column"
        return f"randomized response{each}, for {self.privacy}"


#: what files hold: more combinations than these nobody could tell apart
MOST_COLUMNS, MOST_ANSWERS = 10, 1024


def _sizes(columns: object) -> tuple[int, ...]:
    """Two columns or more, each with two answers or more."""
    remedy = "give how many answers each column has, as in columns=(2, 2)"
    if not isinstance(columns, Sequence) or isinstance(columns, str) or len(columns) < 2:
        raise InvalidArgument("columns", columns, "does not list two columns or more", remedy)
    try:
        # a command line has floats for all numbers
        whole = [int(size) if isinstance(size, float) and size.is_integer() else size for size in columns]
        sizes = tuple(0 if isinstance(size, bool) else operator.index(size) for size in whole)
    except TypeError:
        sizes = (0,)
    if min(sizes) < 2:
        raise InvalidArgument("columns", columns, "has a column of less than two answers", remedy)
    if len(sizes) > MOST_COLUMNS or max(sizes) > MOST_ANSWERS:
        few = f"a release file holds {MOST_COLUMNS} columns of {MOST_ANSWERS} answers each"
        raise InvalidArgument("columns", columns[:3], "begins a list that is too long, or of too many answers", few)
    return sizes
