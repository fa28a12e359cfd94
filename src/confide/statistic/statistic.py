"""What is computed from the records: `Mean`, and what every statistic has in common."""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

from confide._final import refuse_claims
from confide.errors import IncompatibleError, InvalidArgument
from confide.statistic.columns import ColumnBounds, as_bounds, column
from confide.statistic.persons import RowsOfPersons, per_person, told_persons
from confide.statistic.sensitivity import width
from confide.statistic.transform import Transform, apply, apply_to_rows, as_transforms, ranges_of

Pair = tuple[float, float]


@dataclass(frozen=True, eq=False, init=False)
class Statistic(ABC):
    """A reduction of s(x₁), …, s(xₙ), where each record is first clipped to the bounds.

    Clipping is part of the statistic: it is what bounds the influence of one record, so it belongs to the release and
    to the likelihood alike. A statistic of your own says what it computes (`summary`) and how far one record can move
    it (`sensitivity`):

    >>> class MidRange(Statistic):
    ...     def summary(self, records, window=0):
    ...         values = self.values(records)
    ...         return (values.min(axis=-1) + values.max(axis=-1)) / 2
    ...     def sensitivity(self, n, norm=1):
    ...         return (self.range[1] - self.range[0]) / 2
    >>> statistic = MidRange("abs(x)", bounds=(-10, 10))
    >>> print(statistic, statistic.sensitivity(n=100))
    the mid range of abs(x) with x clipped to [-10, 10] 5.0
    """

    transforms: tuple[Transform, ...]
    #: what records are clipped to: the ends of x, or those of each column of a row
    bounds: Any

    #: whether s may be a vector
    vector: ClassVar[bool] = True
    #: whether it is the mean of s, so that its law is that of a sum of independent values
    averages: ClassVar[bool] = False
    #: whether it is the sum of s: what can be published where the number of records is private
    totals: ClassVar[bool] = False
    #: whether it is how many records there are, and nothing that is in them
    counts: ClassVar[bool] = False
    #: whether it is a value of each record
    per_record: ClassVar[bool] = False
    #: whether it is the value of one `rank`
    ranked: ClassVar[bool] = False
    #: whether it counts the records in disjoint cells
    tallies: ClassVar[bool] = False

    #: whose rows there are at most so many of; None where a row is protected by itself
    persons: ClassVar[RowsOfPersons | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        refuse_claims(cls, ("averages", "counts", "per_record", "ranked", "tallies", "totals"))

    def __init__(self, expression: Any, bounds: Any = None, *, range: Any = None, categories: Any = None) -> None:
        if not self.vector and isinstance(expression, Sequence) and not isinstance(expression, str):
            problem = f"is a list, but {type(self).__name__} takes one expression"
            raise InvalidArgument("expression", expression, problem, "use Mean for vectors")
        checked = as_bounds(bounds, categories)
        object.__setattr__(self, "transforms", as_transforms(expression, range, checked))
        object.__setattr__(self, "bounds", checked)
        _ = self.ranges  # an expression that is undefined on its bounds is refused here

    @property
    def noun(self) -> str:
        """How the reduction is spoken of: by default as its class is named."""
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(self).__name__).lower()
        return f"the {words} of"

    def _key(self) -> tuple[Any, ...]:
        # all that is stored, also by a class of the user's own: compiled programs and caches are found by it
        return type(self), tuple(sorted(vars(self).items(), key=operator.itemgetter(0)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistic) and self._key() == other._key()

    def __hash__(self) -> int:
        try:
            return hash(self._key())
        except TypeError:
            name, value = next((n, v) for n, v in vars(self).items() if not _hashable(v))
            raise InvalidArgument(
                name, value, "cannot be compared by value", "store a number, a text or a tuple"
            ) from None

    @property
    def options(self) -> dict[str, Any]:
        """What it is made with beside its expression and bounds, by name."""
        return {}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a record that s is computed from: `x`, unless bounds were given by name.

        >>> from confide.statistic import Mean
        >>> Mean("age * log(cost)", bounds={"age": (18, 90), "cost": (10, 50_000)}).columns
        ('age', 'cost')
        """
        return self.bounds.names if isinstance(self.bounds, ColumnBounds) else ("x",)

    @property
    def dimension(self) -> int:
        """The number of components of s."""
        return len(self.transforms)

    def per_person(self, person: str, at_most: int) -> Any:
        """The same sum or count of at most so many rows of each person, who is protected with all of them.

        >>> import confide as cf
        >>> cf.Count().per_person("patient_id", at_most=3)
        Count().per_person('patient_id', at_most=3)
        """
        return per_person(self, person, at_most)

    @property
    def labels(self) -> tuple[str, ...]:
        """What each published number is, in a few words."""
        return tuple(f"{self.noun} {transform}" for transform in self.transforms)

    @property
    def ranges(self) -> tuple[Pair, ...]:
        """The certified range of each component of s on the bounds."""
        return ranges_of(self.transforms, self.bounds)

    @property
    def range(self) -> Any:
        """The certified (low, high) of s; one pair per component when s is a vector."""
        return self.ranges[0] if self.dimension == 1 else self.ranges

    @property
    def levels(self) -> tuple[float, ...] | None:
        """The finite set of values of s, where that is provable; None otherwise.

        A comparison has levels 0 and 1. The record itself, `x` on bounds (0, k−1) with whole numbers, is read as a
        code of one of k categories.
        """
        if self.dimension > 1:
            return None
        transform = self.transforms[0]
        if (
            self.columns == ("x",)
            and transform.is_identity
            and self.bounds[0] == 0
            and self.bounds[1] == int(self.bounds[1]) < 1024
        ):
            return tuple(float(code) for code in range(int(self.bounds[1]) + 1))
        return transform.levels

    def first_column(self, records: Any) -> Any:
        """Records of one column as they are, and of rows that column which is named first: it has their shape.

        >>> from confide.statistic import Mean
        >>> Mean("a * b", bounds={"a": (0, 1), "b": (0, 1)}).first_column({"b": [0.5, 1.0], "a": [0.0, 0.25]})
        [0.0, 0.25]
        """
        return column(records, self.columns[0]) if isinstance(self.bounds, ColumnBounds) else records

    def values(self, records: Any) -> Any:
        """s(clip(x)) for each record, clamped to the certified range; a vector s adds a last axis.

        Rows of several columns are given as columns by name.

        >>> import jax
        >>> from confide.statistic import Each
        >>> with jax.enable_x64(True):
        ...     print(Each("abs(x)", bounds=(-2, 2)).values([-1.0, 5.0]))
        [1. 2.]
        """
        if isinstance(self.bounds, ColumnBounds):
            parts = apply_to_rows(self.transforms, jnp, records, self.bounds)
        else:
            low, high = self.bounds
            records = column(records, "x") if isinstance(records, Mapping) else records
            parts = [apply(transform, jnp, records, low, high, self.dimension) for transform in self.transforms]
        return parts[0] if self.dimension == 1 else jnp.stack(parts, axis=-1)

    @abstractmethod
    def summary(self, records: Any, window: int = 0) -> Any:
        """What a mechanism may see of the records (…, n)."""

    def rank(self, n: int) -> int:
        """The rank of the value among n, from 1 (smallest), where the statistic is `ranked`.

        >>> import confide as cf
        >>> cf.Quantile("x", 0.25, bounds=(0, 1)).rank(10)
        3
        """
        raise IncompatibleError(f"{self!r} of {n} records is not the value of one rank; use a Median or Quantile")

    def averaged_ranks(self, n: int) -> tuple[int, int] | None:
        """The first and the last rank, of 1 (smallest) to n, of the values of s that it is the mean of, if it is one.

        Engines add up these ranks exactly; one record moves such a sum by at most the width of the range
        (`TrimmedMean` says why).
        """
        del n
        return None

    @abstractmethod
    def sensitivity(self, n: Any, norm: int = 1) -> float:
        """How far the statistic can move when one of n records is replaced by another.

        Where n is private (None), which only sums allow: when a record is added or removed.
        """

    def __str__(self) -> str:
        parts = ", ".join(str(transform) for transform in self.transforms)
        s = parts if self.dimension == 1 else f"({parts})"
        if isinstance(self.bounds, ColumnBounds):
            return f"{self.noun} {s} with {self.bounds}"
        return f"{self.noun} {s} with x clipped to [{self.bounds[0]:g}, {self.bounds[1]:g}]"

    def __repr__(self) -> str:
        texts = [str(transform) for transform in self.transforms]
        first = repr(texts[0] if self.dimension == 1 else texts)
        return f"{type(self).__name__}({', '.join([first, *told_bounds(self.bounds)])}){told_persons(self)}"


def told_bounds(bounds: Any) -> list[str]:
    """The arguments that say what records are clipped to, as a program has them."""
    lists = bounds.lists if isinstance(bounds, ColumnBounds) else {}
    told = [f"bounds={bounds!r}"] if not lists or bounds.numbers else []
    named = {name: list(texts) for name, texts in lists.items()}
    return told + ([f"categories={named!r}"] if lists else [])


def scalar_width(statistic: Statistic) -> float:
    """The width of the certified range of a scalar s, rounded up."""
    return width(*statistic.ranges[0])


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


#: what to do instead of deriving from a statistic whose law is known
OWN = "derive it from Statistic, which claims to know nothing about it"
