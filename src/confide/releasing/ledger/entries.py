"""What a ledger does in one transaction: open a data set, foresee, find, record and confirm a release."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.published.codec import encode
from confide.published.errors import BudgetError, FileError, LedgerError
from confide.published.file import parse
from confide.published.part import Part
from confide.published.release import Entry, Release
from confide.releasing.ledger import account as accounts
from confide.releasing.ledger import budget as budgets
from confide.releasing.ledger.account import Account, Charge
from confide.releasing.ledger.book import Book, damaged, now
from confide.releasing.readers.workspace import workspace

if TYPE_CHECKING:
    from confide.releasing.ledger.ledger import Request
    from confide.releasing.origin import Origin

#: the name of an `Each` release's table in the ledger's folder
_TABLE = "records.parquet"


def foresee(book: Book, request: Request, seen: tuple[int, str] | None, *, fresh: bool) -> tuple[bool, bool]:
    """Refuse what cannot be paid for in any case; whether all is decided, and whether entries `seen` before are lost.

    It is decided where no content has an answer, and the budget pays whatever the part falls on.
    """
    assert request.dataset is not None
    account = accounts.load(book, request.dataset)
    decided = False
    if fresh or not book.asked(request.key):
        guarantee = accounts.charged(account, request.channel, request.part)
        cost = accounts.cost_of(account, guarantee)
        most = budgets.plus(account.spent, cost)
        # a part may fall on places that had less than the worst
        least = budgets.larger(account.spent, cost) if isinstance(request.part, Part) else most
        refused = budgets.refusal(account.budget, account.spent, least, guarantee, account.name)
        if refused is not None:
            raise BudgetError(refused)
        decided = budgets.refusal(account.budget, account.spent, most, guarantee, account.name) is None
    if seen is None:
        return decided, False
    entry = book.at(account.name, seen[0])
    return decided, entry is None or entry["seal"] != seen[1]


def find(book: Book, request: Request, origin: Origin, ledger: str, *, fresh: bool) -> Release | None:
    """The stored release of a request from a certain content; without one, a refusal if it cannot be paid for."""
    found = _look(book, request, origin, ledger, fresh=fresh)
    return found if isinstance(found, Release) else None


def _look(
    book: Book, request: Request, origin: Origin, ledger: str, *, fresh: bool
) -> Release | tuple[Account, Charge, str | None]:
    """The stored release, or all that is needed to make one."""
    assert request.dataset is not None
    account = accounts.load(book, request.dataset)
    content = None if origin.content is None else book.keyed("content", origin.content.digest)
    stored = None if fresh or content is None else book.find(request.key, content)
    if stored is not None:
        return restore(book, stored, ledger)
    scheme = None if origin.members is None else book.keyed(*origin.members)
    return (
        account,
        accounts.charge(book, account, accounts.charged(account, request.channel, request.part), request.part, scheme),
        content,
    )


def record(
    book: Book, request: Request, publish: Callable[[], Release], origin: Origin, ledger: str, *, fresh: bool
) -> Release:
    """Check the budget, publish, spend and store."""
    found = _look(book, request, origin, ledger, fresh=fresh)
    if isinstance(found, Release):
        return found
    account, asked, content = found
    if origin.place is not None and (other := book.other_name(origin.place, account.name)) is not None:
        warnings.warn(
            f"the same source was released before as the data set {other!r}: two names have two budgets, "
            "and what the records are promised is their sum",
            stacklevel=7,
        )
    release = publish()
    told = {
        "request": request.key,
        "source": origin.place,
        "content": content,
        "form": json.dumps(encode(release, _TABLE), allow_nan=False),
        "made": now(),
    }
    row = accounts.enter(book, account, asked, told, None if release.records is None else release.records.path)
    return release.entered(Entry(ledger, row["position"], row["seal"]))


def all_of(book: Book, dataset: str, ledger: str) -> list[Release]:
    """All releases from a data set, oldest first."""
    accounts.load(book, dataset)
    return [restore(book, row, ledger) for row in book.entries(dataset)]


def confirms(book: Book, release: Release) -> bool:
    """Whether an entry is that of a release, word for word."""
    assert release.entry is not None
    assert release.dataset is not None
    row = book.at(release.dataset, release.entry.position)
    if row is None or row["seal"] != release.entry.seal:
        return False
    # what another version of the program wrote down is read, and told in the words of this one
    return bool(encode(_parsed(row, Path()), _TABLE) == encode(release, _TABLE))


def _parsed(row: dict[str, Any], folder: Path) -> Release:
    try:
        return parse(row["form"], folder, stored=True)
    except (FileError, ValueError, AttributeError):
        raise damaged("a stored release cannot be read") from None


def restore(book: Book, row: dict[str, Any], ledger: str) -> Release:
    """A stored release; the table of an `Each` release is written to the workspace, once."""
    try:
        digest = json.loads(row["form"]).get("records", {}).get("digest")
        folder = Path() if digest is None else workspace() / digest
    except (ValueError, AttributeError):
        raise damaged("a stored release cannot be read") from None
    release = _parsed(row, folder)
    if release.records is not None and not release.records.path.exists():
        try:
            folder.mkdir(exist_ok=True)
            with release.records.path.open("wb") as file:
                for block in book.table(row["id"]):
                    file.write(block)
        except OSError as error:
            raise LedgerError(f"a stored table cannot be copied: {error.strerror or error}") from error
    if release.records is not None:
        release.records.check()
    return release.entered(Entry(ledger, row["position"], row["seal"]))
