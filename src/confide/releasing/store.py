"""Transactions of a ledger, which exclude each other, on SQLite and on PostgreSQL."""

from __future__ import annotations

import contextlib
import datetime
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from confide._redaction import redacted
from confide.published.errors import LedgerError
from confide.releasing.tables import VERSION, about, chunks, datasets, metadata, releases

#: how long to wait for another process's transaction, in seconds
PATIENCE = 60
#: bytes of a table that are stored in one row
CHUNK = 2**22
_MEMORY = ":memory:"
#: every transaction has its own connection, so that processes and forks share nothing; and an error does not tell what
#: was to be written, for that is a release which was not paid for
_QUIET: Any = {"poolclass": sa.NullPool, "hide_parameters": True}


def open_engine(path_or_url: str | Path) -> sa.Engine:
    """An SQLAlchemy engine for a path or a URL."""
    text = str(path_or_url)
    if "://" not in text:
        # a path is no URL: it may hold any character; and it means the same place after a change of folder
        return _sqlite(sa.URL.create("sqlite", database=text if text == _MEMORY else str(Path(text).resolve())))
    scheme = urlsplit(text).scheme
    if scheme in ("postgres", "postgresql"):
        text = "postgresql+psycopg" + text[len(scheme) :]
    elif not scheme.startswith(("sqlite", "postgresql")):
        raise LedgerError(f"a ledger is a SQLite file or a PostgreSQL URL, not {scheme}")
    if scheme.startswith("sqlite"):
        return _sqlite(sa.make_url(text))
    return sa.create_engine(text, isolation_level="READ COMMITTED", **_QUIET)


def _sqlite(url: sa.URL) -> sa.Engine:
    if url.database in (None, "", _MEMORY):
        raise LedgerError("a ledger in memory would forget what was spent; give the path of a file")
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE}, **_QUIET)

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        # the driver must not begin transactions by itself: we begin them, immediately
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @sa.event.listens_for(engine, "begin")
    def _(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")

    return engine


class Book:
    """One transaction of a ledger: what can be read and written in it."""

    def __init__(self, connection: sa.Connection, *, writes: bool) -> None:
        self._connection = connection
        self._writes = writes

    def budget(self, dataset: str) -> str | None:
        """The budget of a data set as it was written; a writing transaction then holds the data set until its end."""
        query = sa.select(datasets.c.budget).where(datasets.c.name == dataset)
        # SQLite has locked everything already and knows no such clause
        found: str | None = self._connection.execute(
            query.with_for_update() if self._writes else query
        ).scalar_one_or_none()
        return found

    def names(self) -> list[str]:
        """All data sets."""
        return list(self._connection.execute(sa.select(datasets.c.name).order_by(datasets.c.name)).scalars())

    def add_dataset(self, name: str, budget: str) -> None:
        """Enter a data set, or leave the one that another transaction has entered in the meantime."""
        values = {"name": name, "budget": budget, "opened": _now()}
        insert = postgresql.insert if self._connection.dialect.name == "postgresql" else sqlite.insert
        self._connection.execute(insert(datasets).values(**values).on_conflict_do_nothing())

    def spendings(self, dataset: str) -> list[tuple[str, str | None, str | None]]:
        """The guarantee, the part and the source of each release from a data set."""
        query = sa.select(releases.c.guarantee, releases.c.part, releases.c.source)
        found = self._connection.execute(query.where(releases.c.dataset == dataset).order_by(releases.c.id))
        return [(row.guarantee, row.part, row.source) for row in found]

    def forms(self, dataset: str) -> list[tuple[int, str]]:
        """The releases from a data set, with their numbers, oldest first."""
        query = sa.select(releases.c.id, releases.c.form).where(releases.c.dataset == dataset)
        return [(row.id, row.form) for row in self._connection.execute(query.order_by(releases.c.id))]

    def find(self, request: str) -> tuple[int, str] | None:
        """The latest release of a request, with its number."""
        query = sa.select(releases.c.id, releases.c.form).where(releases.c.request == request)
        row = self._connection.execute(query.order_by(releases.c.id.desc()).limit(1)).one_or_none()
        return None if row is None else (row.id, row.form)

    def other_name(self, source: str, dataset: str) -> str | None:
        """Another data set that was released from the same source."""
        query = sa.select(releases.c.dataset).where(releases.c.source == source, releases.c.dataset != dataset)
        name: str | None = self._connection.execute(query.limit(1)).scalar_one_or_none()
        return name

    def add_release(self, table: Path | None, **values: Any) -> None:
        """Enter a release and the table that belongs to it."""
        query = releases.insert().values(made=_now(), **values).returning(releases.c.id)
        number = self._connection.execute(query).scalar_one()
        if table is None:
            return
        with table.open("rb") as file:
            for position, content in enumerate(iter(lambda: file.read(CHUNK), b"")):
                self._connection.execute(chunks.insert().values(release=number, position=position, content=content))

    def copy_table(self, number: int, path: Path) -> None:
        """Write the table of a release to a file."""
        query = sa.select(chunks.c.content).where(chunks.c.release == number).order_by(chunks.c.position)
        with path.open("wb") as file:
            for content in self._connection.execute(query).scalars():
                file.write(content)


class Store:
    """The database of a ledger."""

    def __init__(self, path_or_url: str | Path) -> None:
        try:
            self._engine = open_engine(path_or_url)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError):
            # the URL may hold a password, so it is not repeated
            raise LedgerError("a ledger is a SQLite file or a PostgreSQL URL; this is neither") from None
        self.place = redacted(self._engine.url.render_as_string(hide_password=True))
        self.identity = self._prepare()

    def _prepare(self) -> str:
        """The identity of the ledger, whose tables are created if there are none. One that exists is only read."""
        with self._connection(writes=False) as connection:
            identity = _identity(connection)
        if identity is not None:
            return identity
        with self._connection(writes=True) as connection:
            if self._engine.dialect.name == "postgresql":
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7229137461092)")
            identity = _identity(connection)  # another process may have been faster
            if identity is None:
                identity = uuid.uuid4().hex
                metadata.create_all(connection)
                connection.execute(about.insert().values(version=VERSION, identity=identity))
        return identity

    @contextlib.contextmanager
    def transaction(self, *, writes: bool) -> Iterator[Book]:
        """All or nothing. On SQLite a writing transaction excludes every other from its first statement on."""
        with self._connection(writes=writes) as connection:
            yield Book(connection, writes=writes)

    @contextlib.contextmanager
    def _connection(self, *, writes: bool) -> Iterator[sa.Connection]:
        try:
            with self._engine.execution_options(writes=writes).begin() as connection:
                yield connection
        except DatabaseError as error:
            raise _explained(error) from None
        except SQLAlchemyError as error:
            raise LedgerError(f"the ledger failed ({type(error).__name__})") from None


def _identity(connection: sa.Connection) -> str | None:
    """The name that a ledger was given when it was made; None where there is no ledger yet."""
    found = sa.inspect(connection).get_table_names()
    if about.name not in found:
        if datasets.name in found:
            raise LedgerError("the ledger's tables are damaged; restore it from a copy")
        return None
    row = connection.execute(sa.select(about)).one_or_none()
    if row is None or row.version != VERSION:
        version = "none" if row is None else row.version
        raise LedgerError(f"the ledger has version {version}, and this is written for {VERSION}")
    return str(row.identity)


def _explained(error: DatabaseError) -> LedgerError:
    reason = str(error.orig).lower()
    remedies = {
        "locked": "it is locked by another process; try again when that is done",
        "readonly": "it is read-only; give write permission to its file and folder",
        "read-only": "it is read-only; use an account that may write",
        "full": "the disk is full; nothing was spent and nothing was released",
        "unable to open": "its file cannot be opened or created; check the folder",
        "not a database": "its file is no ledger, or is damaged; restore it from a copy",
        "malformed": "its file is damaged; restore it from a copy",
        "no such table": "its tables are missing: it is no ledger, or is damaged; restore it from a copy",
        "no such column": "its tables are not a ledger's; restore it from a copy",
        "disk i/o": "the disk failed; nothing was released",
        "connection": "its server cannot be reached",
    }
    remedy = next(
        (text for word, text in remedies.items() if word in reason), f"the database says {type(error).__name__}"
    )
    return LedgerError(f"the ledger cannot be used: {remedy}")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
