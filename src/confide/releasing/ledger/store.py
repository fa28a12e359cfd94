"""Transactions of a ledger, which exclude each other, on SQLite and on PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import secrets
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from confide._redaction import redacted
from confide.published.errors import LedgerError
from confide.releasing.ledger.book import RESTORE, Book
from confide.releasing.ledger.tables import VERSION, about, metadata
from confide.releasing.ledger.upgrade import upgrade

Found = TypeVar("Found")

#: how long to wait for another process's transaction, in seconds
PATIENCE = 60
_MEMORY = ":memory:"
#: every transaction has its own connection, so that processes and forks share nothing; and an error does not tell what
#: was to be written, for that is a release which was not paid for
_QUIET: Any = {"poolclass": sa.NullPool, "hide_parameters": True}


def open_engine(path_or_url: str | Path) -> sa.Engine:
    """An SQLAlchemy engine for a path or a URL."""
    text = str(path_or_url)
    if "://" not in text:
        return _sqlite(text)  # a path is no URL: it may hold any character
    scheme = urlsplit(text).scheme
    if scheme in ("sqlite", "sqlite+pysqlite"):
        url = sa.make_url(text)
        if url.query:
            # nolock=1 or vfs=unix-none: two processes would both take what is left
            raise LedgerError("a ledger's file is opened without options, which may turn its locks off; give its path")
        return _sqlite(url.database)
    if scheme in ("postgres", "postgresql"):
        text = "postgresql+psycopg" + text[len(scheme) :]
    elif not scheme.startswith("postgresql"):
        raise LedgerError(f"a ledger is a SQLite file or a PostgreSQL URL, not {scheme}")
    return sa.create_engine(text, isolation_level="READ COMMITTED", **_QUIET)


def _sqlite(file: str | None) -> sa.Engine:
    if file in (None, "", _MEMORY):
        raise LedgerError("a ledger in memory would forget what was spent; give the path of a file")
    # links resolved, so that it means the same place after a change of folder
    path = Path(file).resolve()
    # for its owner alone, unless they open it to others: with its key and its digests a guess of all records is checked
    with contextlib.suppress(OSError):  # it exists, or SQLite will say why it cannot be made
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE}, **_QUIET)

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        # what must be undone after a crash is noted beside one name, and who uses another does not find the note
        if path.stat().st_nlink > 1:
            raise LedgerError("the ledger's file has a second name, a hard link; remove that, or use a copy alone")
        # the driver must not begin transactions by itself: we begin them, immediately
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @sa.event.listens_for(engine, "begin")
    def _(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")

    return engine


class Store:
    """The database of a ledger."""

    def __init__(self, path_or_url: str | Path) -> None:
        engine = None
        with contextlib.suppress(sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError):
            engine = open_engine(path_or_url)
        if engine is None:
            # the URL may hold a password, so neither it nor the error, which may quote it, is repeated
            raise LedgerError("a ledger is a SQLite file or a PostgreSQL URL; this is neither")
        self._engine = engine
        self.place = redacted(self._engine.url.render_as_string(hide_password=True))
        #: whether it was made just now
        self.new = False
        self.identity, self._secret = self._prepare()

    def _prepare(self) -> tuple[str, str]:
        """The identity of the ledger and its secret; its tables are created if there are none, and only read if not."""
        return self._connected(_known, writes=False) or self._connected(self._make, writes=True)

    def _make(self, connection: sa.Connection) -> tuple[str, str]:
        if self._engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7229137461092)")
        if (old := _version(connection)) is None:
            self.new = True
            metadata.create_all(connection)
            values = {"version": VERSION, "identity": uuid.uuid4().hex, "secret": secrets.token_hex(32)}
            connection.execute(about.insert().values(**values))
        elif old == 1:
            upgrade(connection)
        known = _known(connection)  # another process may have been faster
        assert known is not None
        return known

    def run(self, work: Callable[[Book], Found], *, writes: bool) -> Found:
        """Do all of a work or nothing. On SQLite writing excludes every other process from the first statement on."""
        return self._connected(lambda connection: work(Book(connection, self._secret, writes=writes)), writes=writes)

    def _connected(self, work: Callable[[sa.Connection], Found], *, writes: bool) -> Found:
        failure: BaseException
        options: dict[str, Any] = {"writes": writes}
        if self._engine.dialect.name == "postgresql" and not writes:
            # what is read must be of one moment: rows are compared with each other
            options["isolation_level"] = "REPEATABLE READ"
        try:
            with self._engine.execution_options(**options).begin() as connection:
                return work(connection)
        except DatabaseError as error:
            failure = _explained(error)
        except SQLAlchemyError as error:
            failure = LedgerError(f"the ledger failed ({type(error).__name__})")
        except UnicodeDecodeError:
            failure = LedgerError("the ledger cannot be used: its file is damaged" + RESTORE)
        except BaseException as error:
            if not writes:
                raise
            failure = error.with_traceback(None)
            failure.__context__ = failure.__cause__ = None
        # raised here and not above: an exception keeps the one that it came from and the frames that it passed through,
        # and those of a failed write hold a release that was not paid for
        raise failure


def _version(connection: sa.Connection) -> int | None:
    """The version of a ledger; None where there is none yet."""
    found = sa.inspect(connection).get_table_names()
    if about.name not in found:
        if any(table.name in found for table in metadata.sorted_tables):
            raise LedgerError("the ledger's tables are damaged" + RESTORE)
        return None
    version = connection.execute(sa.select(about.c.version)).scalar_one_or_none()
    if version not in (1, VERSION):
        raise LedgerError(f"the ledger has version {version or 'none'}, and this is written for {VERSION}")
    return int(version)


def _known(connection: sa.Connection) -> tuple[str, str] | None:
    """The identity and the secret of a ledger of this version; None where it is still to be made or upgraded."""
    if _version(connection) != VERSION:
        return None
    row = connection.execute(sa.select(about.c.identity, about.c.secret)).one()
    if not isinstance(row.secret, str) or len(row.secret) != 64:
        raise LedgerError("the ledger's tables are damaged" + RESTORE)
    return str(row.identity), row.secret


def _explained(error: DatabaseError) -> LedgerError:
    reason = str(error.orig).lower()
    remedies = {
        "locked": "it is locked by another process; try again when that is done",
        "readonly": "it is read-only; give write permission to its file and folder",
        "read-only": "it is read-only; use an account that may write",
        "full": "the disk is full; nothing was spent and nothing was released",
        "unable to open": "its file cannot be opened or created; check the folder",
        "not a database": "its file is no ledger, or is damaged" + RESTORE,
        "malformed": "its file is damaged" + RESTORE,
        "no such table": "its tables are missing: it is no ledger, or is damaged" + RESTORE,
        "no such column": "its tables are not a ledger's" + RESTORE,
        "decode": "its file is damaged" + RESTORE,
        "corrupt": "its file is damaged" + RESTORE,
        "disk i/o": "the disk failed; nothing was released",
        "connection": "its server cannot be reached",
    }
    remedy = next(
        (text for word, text in remedies.items() if word in reason), f"the database says {type(error).__name__}"
    )
    return LedgerError(f"the ledger cannot be used: {remedy}")
