"""From version 1 of a ledger to version 2: seals, running totals and the profile of parts, in one transaction.

Version 1 took positions in one path, and all positions in memory, for parts of one scheme, and answered a request from
whatever was first read under its name. Neither can be proved afterwards. So parts by position add up from then on, and
a stored answer of version 1 is kept but is no longer given for a request.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

import sqlalchemy as sa

from confide.published.part import Hashed, Rows
from confide.published.terms import decode_part, decode_privacy
from confide.releasing.ledger import account as accounts
from confide.releasing.ledger.account import Account, Charge
from confide.releasing.ledger.book import Book, damaged
from confide.releasing.ledger.budget import plus
from confide.releasing.ledger.tables import VERSION, about, datasets, pieces, releases

#: columns that older ledgers do not have
_ADDED = {
    about: ("secret",),
    datasets: ("canonical", "count", "spent", "head", "seal"),
    releases: ("position", "content", "scheme", "worst", "previous", "seal"),
}


def upgrade(connection: sa.Connection) -> None:
    """Add what version 2 has, and enter all releases again in their order."""
    for table, names in _ADDED.items():
        for name in names:
            kind = table.c[name].type.compile(connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}")
    pieces.create(connection)
    for table in (datasets, releases):
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    secret = secrets.token_hex(32)
    connection.execute(about.update().values(version=VERSION, secret=secret))
    book = Book(connection, secret, writes=True)
    rows = connection.execute(sa.select(datasets.c.name, datasets.c.budget, datasets.c.opened)).all()
    for row in rows:
        try:
            _dataset(connection, book, row)
        except (ValueError, KeyError, TypeError, ArithmeticError):
            raise damaged(f"the account of {row.name!r} cannot be read") from None


def _dataset(connection: sa.Connection, book: Book, row: Any) -> None:
    account = Account(row.name, decode_privacy(json.loads(row.budget)), row.opened, row.budget)
    book.change_dataset(account.row)
    query = sa.select(releases).where(releases.c.dataset == row.name).order_by(releases.c.id)
    for old in connection.execute(query).all():
        told = {name: getattr(old, name) for name in ("request", "source", "form", "made")} | {"content": None}
        asked = _charge(book, account, old)
        entry = accounts.entry_row(book, account, asked, told)
        connection.execute(releases.update().where(releases.c.id == old.id).values(**entry))
        account = accounts.settle(book, account, asked, entry)


def _charge(book: Book, account: Account, old: Any) -> Charge:
    """What a release of version 1 costs; it was made, so it is charged whatever is left."""
    guarantee = decode_privacy(json.loads(old.guarantee))
    part = decode_part(None if old.part is None else json.loads(old.part))
    if isinstance(part, Hashed):
        # identifiers name the same people wherever they are read, as version 1 had it
        return accounts.parallel(book, account, guarantee, part, book.keyed("hashed", part.column, old.source))
    assert part is None or isinstance(part, str | Rows)
    return Charge(guarantee, part, None, plus(account.spent, accounts.cost_of(account, guarantee)))
