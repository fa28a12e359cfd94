"""One transaction of a ledger: what can be read and written in it."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from confide.published.errors import LedgerError
from confide.releasing.ledger import budget as budgets
from confide.releasing.ledger.places import PartPiece
from confide.releasing.ledger.tables import chunks, datasets, pieces, releases

#: bytes of a table that are stored in one row
CHUNK = 2**22
#: entries that are read at once when all of them are walked through
PAGE = 1000
#: the columns that a seal covers, in this order; a later version may seal more, under another version of the tables
_SEALED = {
    "dataset": ("name", "canonical", "budget", "opened", "count", "spent", "head"),
    "release": (
        "dataset", "position", "request", "guarantee", "part", "source", "content", "scheme", "worst", "form", "made",
        "previous",
    ),
    "piece": ("dataset", "scheme", "start", "stop", "total"),
}  # fmt: skip
#: what is said wherever a copy of a ledger might replace it
RESTORE = (
    ". A copy can replace it, but what was released after the copy was made is not in the copy and would be paid for a "
    "second time: first lower what may still be released by that much"
)


def damaged(what: str) -> LedgerError:
    """The refusal of a ledger that cannot be trusted."""
    return LedgerError(f"the ledger's entries are damaged, or were changed by hand: {what}{RESTORE}")


class Book:
    """What a transaction reads and writes. What it reads is what was sealed, or it is refused."""

    def __init__(self, connection: sa.Connection, secret: str, *, writes: bool) -> None:
        self._connection = connection
        self._secret = secret.encode()
        self._writes = writes

    def keyed(self, *parts: str | bytes | None) -> str:
        """A digest that nobody can compute, or try out, without this ledger."""
        told = [part.hex() if isinstance(part, bytes) else part for part in parts]
        return hmac.new(self._secret, json.dumps(told).encode(), hashlib.sha256).hexdigest()

    def seal(self, kind: str, row: dict[str, Any]) -> str:
        """The seal of a row."""
        told = json.dumps([kind, *(row[name] for name in _SEALED[kind])], ensure_ascii=True)
        return hmac.new(self._secret, told.encode(), hashlib.sha256).hexdigest()

    def _sound(self, kind: str, row: Any) -> dict[str, Any]:
        """The row as it was sealed."""
        found = dict(row._mapping)
        try:
            sound = hmac.compare_digest(self.seal(kind, found), found["seal"])
        except (TypeError, ValueError):
            sound = False
        if not sound:
            raise damaged(f"a {kind} has changed")
        return found

    def dataset(self, name: str) -> dict[str, Any] | None:
        """The row of a data set; a writing transaction then holds the data set until its end."""
        query = sa.select(datasets).where(datasets.c.name == name)
        # SQLite has locked everything already and knows no such clause
        row = self._connection.execute(query.with_for_update() if self._writes else query).one_or_none()
        return None if row is None else self._sound("dataset", row)

    def alike(self, canonical: str) -> str | None:
        """A data set whose name has this canonical form."""
        query = sa.select(datasets.c.name).where(datasets.c.canonical == canonical).order_by(datasets.c.name)
        name: str | None = self._connection.execute(query.limit(1)).scalar_one_or_none()
        return name

    def names(self) -> list[str]:
        """All data sets."""
        return list(self._connection.execute(sa.select(datasets.c.name).order_by(datasets.c.name)).scalars())

    def hold_names(self) -> None:
        """Let no other transaction enter a data set until the end of this one: two names must not look alike."""
        if self._connection.dialect.name == "postgresql":
            self._connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7229137461093)")

    def add_dataset(self, row: dict[str, Any]) -> None:
        """Enter a data set, or leave the one that another transaction has entered in the meantime."""
        insert: Any = sqlite.insert
        if self._connection.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import insert  # which a file has no need of
        values = row | {"seal": self.seal("dataset", row)}
        self._connection.execute(insert(datasets).values(**values).on_conflict_do_nothing())

    def change_dataset(self, row: dict[str, Any]) -> None:
        """Write the running totals of a data set."""
        values = row | {"seal": self.seal("dataset", row)}
        # its name is what releases refer to: SQLite would look through all of them to see whether it may be written
        name = values.pop("name")
        self._connection.execute(datasets.update().where(datasets.c.name == name).values(**values))

    def last(self, dataset: str, scheme: str | None = None) -> dict[str, Any] | None:
        """The latest release from a data set, or of one of its schemes."""
        query = sa.select(releases).where(releases.c.dataset == dataset)
        if scheme is not None:
            query = query.where(releases.c.scheme == scheme)
        row = self._connection.execute(query.order_by(releases.c.position.desc()).limit(1)).one_or_none()
        return None if row is None else self._sound("release", row)

    def at(self, dataset: str, position: int) -> dict[str, Any] | None:
        """The release at a position."""
        query = sa.select(releases).where(releases.c.dataset == dataset, releases.c.position == position)
        row = self._connection.execute(query.limit(1)).one_or_none()
        return None if row is None else self._sound("release", row)

    def asked(self, request: str) -> bool:
        """Whether there is a release of a request, from any content."""
        query = sa.select(releases.c.id).where(releases.c.request == request)
        return self._connection.execute(query.limit(1)).one_or_none() is not None

    def find(self, request: str, content: str) -> dict[str, Any] | None:
        """The latest release of a request from a certain content."""
        query = sa.select(releases).where(releases.c.request == request, releases.c.content == content)
        row = self._connection.execute(query.order_by(releases.c.position.desc()).limit(1)).one_or_none()
        return None if row is None else self._sound("release", row)

    def entries(self, dataset: str) -> Iterator[dict[str, Any]]:
        """All releases from a data set, oldest first."""
        after = 0
        while True:
            query = sa.select(releases).where(releases.c.dataset == dataset, releases.c.position > after)
            found = self._connection.execute(query.order_by(releases.c.position).limit(PAGE)).all()
            yield from (self._sound("release", row) for row in found)
            if len(found) < PAGE:
                return
            after = found[-1].position

    def number_of_releases(self, dataset: str | None = None) -> int:
        """How many releases there are, counted."""
        query = sa.select(sa.func.count(releases.c.id))
        where = query if dataset is None else query.where(releases.c.dataset == dataset)
        return int(self._connection.execute(where).scalar_one())

    def other_name(self, source: str, dataset: str) -> str | None:
        """Another data set that was released from the same source."""
        query = sa.select(releases.c.dataset).where(releases.c.source == source)
        for other in (releases.c.dataset < dataset, releases.c.dataset > dataset):
            name: str | None = self._connection.execute(query.where(other).limit(1)).scalar_one_or_none()
            if name is not None:
                return name
        return None

    def pieces(self, dataset: str, scheme: str, start: int, stop: int) -> list[PartPiece]:
        """The pieces of a scheme that a part covers, and those beside it."""
        here = (pieces.c.dataset == dataset, pieces.c.scheme == scheme)
        before = sa.select(sa.func.max(pieces.c.start)).where(*here, pieces.c.start < max(start, 1))
        first = self._connection.execute(before).scalar_one()
        if first is None:
            return []
        query = sa.select(pieces).where(*here, pieces.c.start >= first, pieces.c.start <= stop)
        rows = self._connection.execute(query.order_by(pieces.c.start)).all()
        found = [self._sound("piece", row) for row in rows]
        return [PartPiece(row["start"], row["stop"], budgets.read(row["total"])) for row in found]

    def replace_pieces(self, dataset: str, scheme: str, old: Sequence[PartPiece], new: Sequence[PartPiece]) -> None:
        """Write what has changed of a profile."""
        gone = [piece.start for piece in old if piece not in new]
        come = [piece for piece in new if piece not in old]
        for start in gone:
            which = (pieces.c.dataset == dataset, pieces.c.scheme == scheme, pieces.c.start == start)
            self._connection.execute(pieces.delete().where(*which))
        for piece in come:
            row = {"dataset": dataset, "scheme": scheme, "start": piece.start, "stop": piece.stop}
            row["total"] = budgets.write(piece.total)
            self._connection.execute(pieces.insert().values(**row, seal=self.seal("piece", row)))

    def add_release(self, table: Path | None, row: dict[str, Any]) -> None:
        """Enter a release and the table that belongs to it."""
        number = self._connection.execute(releases.insert().values(**row).returning(releases.c.id)).scalar_one()
        if table is None:
            return
        with table.open("rb") as file:
            for position, content in enumerate(iter(lambda: file.read(CHUNK), b"")):
                self._connection.execute(chunks.insert().values(release=number, position=position, content=content))

    def table(self, number: int) -> Iterator[bytes]:
        """The table of a release, a block at a time."""
        query = sa.select(chunks.c.content).where(chunks.c.release == number).order_by(chunks.c.position)
        yield from self._connection.execute(query).scalars()

    def integrity(self) -> None:
        """Let the database check itself, where it can."""
        if self._connection.dialect.name != "sqlite":
            return
        for pragma in ("PRAGMA integrity_check(1)", "PRAGMA foreign_key_check"):
            found = self._connection.exec_driver_sql(pragma).first()
            if found is not None and tuple(found) != ("ok",):
                raise damaged("the database's own check fails")


def now() -> str:
    """The time, as entries have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
