"""The ledger: what has been spent on a data set, and what was released for it."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confide.channel import Channel
from confide.errors import InvalidArgument
from confide.privacy import Privacy, Unlimited
from confide.published.codec import decode_part, decode_privacy, encode, encode_channel, encode_part, encode_privacy
from confide.published.errors import BudgetError, FileError, LedgerError
from confide.published.extras import needs
from confide.published.file import parse
from confide.published.part import Part
from confide.published.release import Release, check_name
from confide.releasing import budget as budgets
from confide.releasing import registry
from confide.releasing.budget import Spending
from confide.releasing.workspace import workspace

if TYPE_CHECKING:
    from confide.releasing.store import Book

_TABLE = "records.parquet"


@dataclass(frozen=True)
class Request:
    """What is asked for: two equal requests are one, and the second is answered with the release of the first."""

    channel: Channel
    dataset: str | None
    part: Part | str | None
    column: str | None
    purpose: str
    missing: float | str | None

    @property
    def key(self) -> str:
        """The SHA-256 of the request's canonical text."""
        told = {name: getattr(self, name) for name in ("dataset", "column", "purpose", "missing")}
        form = told | {"channel": encode_channel(self.channel), "part": encode_part(self.part)}
        return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


class Ledger:
    """A book of budgets and releases: a SQLite file, or a PostgreSQL database by its URL.

    A data set is opened once, with its whole budget in one unit. Each release from it is checked, spent and stored
    in one transaction. Nothing is ever deleted.

    >>> import confide as cf, tempfile, pathlib
    >>> from confide.releasing import release
    >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
    >>> book.open("people-2026", budget=cf.PureDP(1.0))
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.25)), n=3)
    >>> first = release(channel, [0.1, 0.2, 0.9], ledger=book, dataset="people-2026")
    >>> release(channel, [0.1, 0.2, 0.9], ledger=book, dataset="people-2026") == first    # the same, for free
    True
    >>> print(book.left("people-2026"))
    0.75-differential privacy (pure)
    """

    def __init__(self, path_or_url: str | Path) -> None:
        if not isinstance(path_or_url, str | Path) or not str(path_or_url):
            raise InvalidArgument("path_or_url", path_or_url, "is no place", "give a path or a PostgreSQL URL")
        with needs("release"):
            from confide.releasing.store import Store
        with needs("postgres"):
            self._store = Store(path_or_url)

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    @property
    def place(self) -> str:
        """Where it is, as a URL without its password."""
        return self._store.place

    def open(self, dataset: str, *, budget: Privacy) -> None:
        """Give a data set its budget, once and for all; opening it again with the same budget does nothing.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        """
        if check_name("dataset", dataset) is None:
            raise InvalidArgument("dataset", dataset, "is not a name", "give the data set a name")
        if not isinstance(budget, Privacy) or isinstance(budget, Unlimited):
            raise InvalidArgument("budget", budget, "is no limit", "give a guarantee, such as PureDP(1.0)")
        with self._store.transaction(writes=True) as book:
            book.add_dataset(dataset, json.dumps(encode_privacy(budget)))
            given, _ = _account(book, dataset)
        if given != budget:
            raise BudgetError(f"{dataset!r} has a budget of {given} already, and a budget is never changed")

    def datasets(self) -> list[str]:
        """The names of all data sets.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.datasets()
        ['people']
        """
        with self._store.transaction(writes=False) as book:
            return book.names()

    def budget(self, dataset: str) -> Privacy:
        """The whole budget of a data set.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.budget("people")
        PureDP(epsilon=1.0)
        """
        with self._store.transaction(writes=False) as book:
            return _account(book, dataset)[0]

    def spent(self, dataset: str) -> Privacy | None:
        """What all releases from a data set promise together; None before the first.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.25)), n=2)
        >>> made = cf.release(channel, [0.0, 1.0], ledger=book, dataset="people")
        >>> book.spent("people")
        PureDP(epsilon=0.25)
        """
        with self._store.transaction(writes=False) as book:
            return budgets.spent(*_account(book, dataset))

    def left(self, dataset: str) -> Privacy | None:
        """What a release from the whole data set may still promise; None when nothing is left.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.25)), n=2)
        >>> made = cf.release(channel, [0.0, 1.0], ledger=book, dataset="people")
        >>> book.left("people")
        PureDP(epsilon=0.75)
        """
        with self._store.transaction(writes=False) as book:
            return budgets.left(*_account(book, dataset))

    def releases(self, dataset: str) -> list[Release]:
        """All releases from a data set, in the order in which they were made.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.25)), n=2)
        >>> made = cf.release(channel, [0.0, 1.0], ledger=book, dataset="people")
        >>> book.releases("people") == [made]
        True
        """
        with self._store.transaction(writes=False) as book:
            _account(book, dataset)
            return [_restore(book, *entry) for entry in book.forms(dataset)]

    def find(self, request: Request, source: str | None, *, fresh: bool) -> Release | None:
        """The stored release of a request; without one, a refusal if the budget cannot pay for it."""
        with self._store.transaction(writes=False) as book:
            return _find(book, request, source, fresh=fresh)

    def record(self, request: Request, publish: Callable[[], Release], source: str | None, *, fresh: bool) -> Release:
        """Check the budget, publish, spend and store, in one transaction; return the release only once it is stored."""
        assert request.dataset is not None
        if source is not None:
            registry.note(source, self._store.identity, self._store.place)
        with self._store.transaction(writes=True) as book:
            stored = _find(book, request, source, fresh=fresh)
            if stored is not None:
                return stored
            if source is not None and (other := book.other_name(source, request.dataset)) is not None:
                warnings.warn(
                    f"the same source was released before as the data set {other!r}: two names have two budgets, "
                    "and what the records are promised is their sum",
                    stacklevel=3,
                )
            release = publish()
            part = encode_part(request.part)
            book.add_release(
                None if release.records is None else release.records.path,
                dataset=request.dataset,
                request=request.key,
                guarantee=json.dumps(encode_privacy(request.channel.guarantee)),
                part=None if part is None else json.dumps(part),
                source=source,
                form=json.dumps(encode(release, _TABLE), allow_nan=False),
            )
        return release


def _account(book: Book, dataset: str) -> tuple[Privacy, list[Spending]]:
    """The budget of a data set and all that was spent of it."""
    written = book.budget(dataset)
    if written is None:
        raise BudgetError(f"the ledger has no data set {dataset!r}; open it with ledger.open({dataset!r}, budget=…)")
    try:
        spendings = [
            Spending(
                decode_privacy(json.loads(guarantee)), decode_part(None if part is None else json.loads(part)), source
            )
            for guarantee, part, source in book.spendings(dataset)
        ]
        return decode_privacy(json.loads(written)), spendings
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError("the ledger's entries are damaged; restore it from a copy") from error


def _find(book: Book, request: Request, source: str | None, *, fresh: bool) -> Release | None:
    assert request.dataset is not None
    budget, spendings = _account(book, request.dataset)
    stored = None if fresh else book.find(request.key)
    if stored is not None:
        return _restore(book, *stored)
    asked = Spending(request.channel.guarantee, request.part, source)
    refused = budgets.refusal(budget, spendings, asked, request.dataset)
    if refused is not None:
        raise BudgetError(refused)
    return None


def _restore(book: Book, number: int, form: str) -> Release:
    """A stored release; the table of an `Each` release is written to the workspace, once."""
    try:
        digest = json.loads(form).get("records", {}).get("digest")
        folder = Path() if digest is None else workspace() / digest
        release = parse(form, folder)
    except (FileError, ValueError, AttributeError) as error:
        raise LedgerError("a stored release is damaged; restore the ledger from a copy") from error
    if release.records is not None and not release.records.path.exists():
        try:
            folder.mkdir(exist_ok=True)
            book.copy_table(number, release.records.path)
        except OSError as error:
            raise LedgerError(f"a stored table cannot be copied: {error.strerror or error}") from error
    if release.records is not None:
        release.records.check()
    return release
