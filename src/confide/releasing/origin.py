"""Where the records of a request come from, as the ledger sees it: which content, and what decides who is in a part.

`Rows` compose in parallel within one content only: a position means the same record as long as nothing was sorted,
added or taken away. Records that are equal in every column can be exchanged unseen, so data must not be put in an
order that depends on their values between two releases.

`Hashed` parts compose within one place (a path, a table of a database, a column in memory), and rest on a promise that
no program can check: that the column is a public property of the person, the same in every release, and never a number
that was given to the row. Groups by a public attribute do, and rest on the same promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.published.part import Grouped, Hashed, Part, Rows, identifier_of_part
from confide.releasing.readers.content import Content, content_of
from confide.releasing.readers.held import Held
from confide.releasing.readers.source import identity_of


@dataclass(frozen=True)
class Origin:
    """What a request reads."""

    #: a digest of the path or URL; None in memory
    place: str | None = None
    #: None where it cannot be told apart: then no stored answer is its answer
    content: Content | None = None
    #: what decides who is in the part; None where nothing can be proved: then the release is charged to everybody
    members: tuple[str | bytes, ...] | None = None


def origin_of(
    data: Any, table: str | None, columns: Sequence[str], part: Part | str | None, held: Held | None = None
) -> Origin:
    """The origin of some data; the whole of them is digested, unless they are in a database."""
    place = identity_of(data, table)
    identifier = identifier_of_part(part)
    # a column with few values may look the same after its records were exchanged, so positions need the whole table
    wanted = [] if isinstance(part, Rows) else [*columns, *([] if identifier is None else [identifier])]
    content = content_of(data, table, wanted, held)
    members: tuple[str | bytes, ...] | None = None
    if isinstance(part, Rows) and content is not None and content.whole:
        members = ("rows", content.digest)
    if isinstance(part, Hashed | Grouped) and (where := place or _where(data, table, part.column)) is not None:
        members = (*part.scheme, where)
    return Origin(place, content, members)


def _where(data: Any, table: str | None, identifier: str) -> str | bytes | None:
    """The place of a table that has no path: the query of an Ibis table, or the identifiers of a table in memory."""
    import ibis
    from ibis.backends import BaseBackend

    assert not isinstance(data, str | Path)
    if isinstance(data, BaseBackend):
        return f"{data.name} {table}"
    if isinstance(data, ibis.expr.types.Expr):
        try:
            return f"{data.get_backend().name} {ibis.to_sql(data)}"
        except Exception:
            return None  # the reader will say what is wrong with it
    found = content_of(data, None, [identifier])
    return None if found is None else found.digest
