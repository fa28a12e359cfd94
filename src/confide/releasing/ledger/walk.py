"""Walking through a whole ledger: every seal, every link and every sum, done again from the entries alone."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from typing import Any

from confide.published.part import Part, extent
from confide.published.terms import decode_part, decode_privacy
from confide.releasing.ledger import account as accounts
from confide.releasing.ledger import budget as budgets
from confide.releasing.ledger.account import Account
from confide.releasing.ledger.book import Book, damaged
from confide.releasing.ledger.budget import NOTHING, Amount
from confide.releasing.ledger.places import EMPTY, TOP, PartPiece, raised


def walk(book: Book) -> None:
    """Check everything; a `LedgerError` says what does not agree."""
    book.integrity()
    names = book.names()
    for name in names:
        try:
            _dataset(book, accounts.load(book, name))
        except (ValueError, KeyError, TypeError, ArithmeticError):
            raise damaged(f"an entry of {name!r} cannot be read") from None
    if sum(book.number_of_releases(name) for name in names) != book.number_of_releases():
        raise damaged("there are releases of no data set")


def _dataset(book: Book, account: Account) -> None:
    head, count, everywhere = "", 0, NOTHING
    profiles: defaultdict[str, list[PartPiece]] = defaultdict(lambda: list(EMPTY))
    worst: defaultdict[str, Amount] = defaultdict(lambda: NOTHING)
    for row in book.entries(account.name):
        count += 1
        if (row["position"], row["previous"]) != (count, head):
            raise damaged(f"release {count} of {account.name!r} is missing")
        head, scheme = row["seal"], row["scheme"]
        cost = accounts.cost_of(account, decode_privacy(json.loads(row["guarantee"])))
        if scheme is None:
            everywhere = budgets.plus(everywhere, cost)
        else:
            part = decode_part(json.loads(row["part"]))
            assert isinstance(part, Part)
            profiles[scheme], most = raised(profiles[scheme], *extent(part), cost)
            worst[scheme] = budgets.larger(worst[scheme], most)
        _table(book, row)
    total = everywhere
    for scheme, pieces in profiles.items():
        total = budgets.plus(total, worst[scheme])
        if book.pieces(account.name, scheme, 0, TOP) != pieces:
            raise damaged(f"parts of {account.name!r} are missing")
    if (count, head, total) != (account.count, account.head, account.spent):
        raise damaged(f"the account of {account.name!r} is not the sum of its releases")
    if book.number_of_releases(account.name) != count:
        raise damaged(f"there are more releases of {account.name!r} than its account has")


def _table(book: Book, row: dict[str, Any]) -> None:
    """The table of an `Each` release is the one that was released."""
    told = json.loads(row["form"]).get("records")
    if told is None:
        return
    digest = hashlib.sha256()
    for block in book.table(row["id"]):
        digest.update(block)
    if digest.hexdigest() != told["digest"]:
        raise damaged(f"the table of release {row['position']} of {row['dataset']!r} has changed")
