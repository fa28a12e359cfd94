"""Parts of a data set whose membership does not depend on the values of its records.

Releases from disjoint parts of one kind cost what the dearest of them costs, not their sum, for every record is in
one of them only. That holds when replacing a record leaves all memberships as they are: membership by position in
one and the same content, by the hash of a public identifier, or by a public attribute that is fixed. Positions in a
file that was sorted, or gained a record, are positions in another content, and add up; a ledger compares digests. An
identifier must be a public property of the person, the same in every release: a number that was given to the row is
none, and no program can tell. A part that is only a name (a text) promises nothing, so its releases add up.
"""

from __future__ import annotations

import hashlib
import math
import operator
from dataclasses import dataclass
from fractions import Fraction

from confide.errors import InvalidArgument


@dataclass(frozen=True)
class Rows:
    """The records at positions start, …, stop − 1 of an array, a table in memory or a file (the first is 0).

    >>> Rows(0, 1000).overlaps(Rows(1000, 5000))
    False
    """

    start: int
    stop: int

    def __post_init__(self) -> None:
        remedy = "give whole numbers 0 <= start < stop, such as Rows(0, 1000)"
        for name in ("start", "stop"):
            value = getattr(self, name)
            try:
                number = -1 if isinstance(value, bool) else operator.index(value)
            except TypeError:
                raise InvalidArgument(name, value, "is not a whole number", remedy) from None
            object.__setattr__(self, name, number)
        if not 0 <= self.start < self.stop < 2**63:
            raise InvalidArgument("part", (self.start, self.stop), "is not a range of positions", remedy)

    @property
    def scheme(self) -> tuple[str, ...]:
        """What decides membership: parts of one scheme can be compared."""
        return ("rows",)

    def overlaps(self, other: Part) -> bool:
        """Whether a record may be in both.

        >>> Rows(0, 10).overlaps(Rows(5, 15))
        True
        """
        return _overlap(self, other)


@dataclass(frozen=True)
class Hashed:
    """The records whose public identifier hashes (MD5 of its text) into [start, stop), a part of [0, 1).

    >>> Hashed("id", 0, 0.1).overlaps(Hashed("id", 0.1, 1)), Hashed("id", 0, 0.1).overlaps(Rows(0, 10))
    (False, True)
    """

    column: str
    start: float
    stop: float

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidArgument("column", self.column, "is not a name", "name the column of the public identifier")
        for name in ("start", "stop"):
            value = getattr(self, name)
            try:
                number = math.nan if isinstance(value, bool | str) else float(value)
            except (TypeError, ValueError):
                number = math.nan
            object.__setattr__(self, name, number)
        if not (0 <= self.start < self.stop <= 1 and self.cuts[0] < self.cuts[1]):
            remedy = "give 0 <= start < stop <= 1, such as Hashed('id', 0, 0.1)"
            raise InvalidArgument("part", (self.start, self.stop), "is not a part of [0, 1)", remedy)

    @property
    def scheme(self) -> tuple[str, ...]:
        """What decides membership: parts of one scheme can be compared."""
        return ("hashed", self.column)

    @property
    def cuts(self) -> tuple[int, int]:
        """The part in multiples of 2⁻³²: a float is always cut at one place, so parts that meet do not overlap."""
        return math.floor(Fraction(self.start) * 2**32), math.floor(Fraction(self.stop) * 2**32)

    def overlaps(self, other: Part) -> bool:
        """Whether a record may be in both.

        >>> Hashed("id", 0, 0.5).overlaps(Hashed("id", 0.5, 1))
        False
        """
        return _overlap(self, other)


@dataclass(frozen=True)
class Grouped:
    """The records of which a public attribute has a certain value, such as those whose sex is f.

    Membership must be fixed: the attribute is public, the same in every release, and a neighbour of a record is one of
    its own group, so that the sizes of groups are public as well.

    >>> Grouped("sex", "f").overlaps(Grouped("sex", "m")), Grouped("sex", "f").overlaps(Grouped("ward", "m"))
    (False, True)
    """

    column: str
    value: str

    def __post_init__(self) -> None:
        remedy = "give the name of a column and a text, such as Grouped('sex', 'f')"
        for name in ("column", "value"):
            text = getattr(self, name)
            if not isinstance(text, str) or not 0 < len(text) <= 1000 or "\0" in text:
                raise InvalidArgument(name, text, "is no text of 1 to 1000 characters", remedy)

    @property
    def scheme(self) -> tuple[str, ...]:
        """What decides membership: parts of one scheme can be compared."""
        return ("grouped", self.column)

    @property
    def place(self) -> int:
        """62 bits of a digest of the value: two values with one place would only be charged as if they overlapped."""
        return int.from_bytes(hashlib.sha256(self.value.encode("utf-8", "replace")).digest()[:8], "big") >> 2

    def __str__(self) -> str:
        return f"{self.column} = {self.value}"

    def overlaps(self, other: Part) -> bool:
        """Whether a record may be in both.

        >>> Grouped("sex", "f").overlaps(Grouped("sex", "f"))
        True
        """
        return _overlap(self, other)


Part = Rows | Hashed | Grouped


def extent(part: Part) -> tuple[int, int]:
    """The part as a half-open range of whole numbers."""
    if isinstance(part, Grouped):
        return part.place, part.place + 1
    return part.cuts if isinstance(part, Hashed) else (part.start, part.stop)


def identifier_of_part(part: Part | str | None) -> str | None:
    """The column that decides who is in a part, if one does.

    >>> identifier_of_part(Hashed("id", 0, 0.5)), identifier_of_part(Rows(0, 10))
    ('id', None)
    """
    return part.column if isinstance(part, Hashed | Grouped) else None


def _overlap(first: Part, second: Part) -> bool:
    (a, b), (c, d) = extent(first), extent(second)
    return first.scheme != second.scheme or max(a, c) < min(b, d)


def check_part(part: object) -> Part | str | None:
    """A part as the verbs take it: nothing, a name, `Rows`, `Hashed` or `Grouped`."""
    if part is None or isinstance(part, Part) or (isinstance(part, str) and part):
        return part
    raise InvalidArgument("part", part, "is no part", "give a name, Rows(…), Hashed(…) or Grouped(…)")
