"""The ledger: what has been spent on a data set, and what was released for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import InvalidArgument
from confide.privacy import Privacy, Unlimited
from confide.privacy.relation import NEIGHBOURS
from confide.published.errors import BudgetError
from confide.published.extras import needs
from confide.published.terms import check_name, encode_part
from confide.releasing.ledger import budget as budgets
from confide.releasing.ledger import registry
from confide.releasing.ledger.names import check_visible

if TYPE_CHECKING:
    from confide.channel import Channel
    from confide.published.part import Part
    from confide.published.release import Release
    from confide.published.statement import Statement
    from confide.releasing.ledger.account import Account
    from confide.releasing.ledger.listing import Listed
    from confide.releasing.origin import Origin


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
        """The SHA-256 of the request's canonical text. What it is asked of, only a ledger's secret can name."""
        from confide.published.codec import encode_channel

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
            from confide.releasing.ledger.store import Store
        with needs("postgres"):
            self._store = Store(path_or_url)
        registry.check_place(self._store.identity, self._store.place)

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    @property
    def place(self) -> str:
        """Where it is, as a URL without its password."""
        return self._store.place

    def open(self, dataset: str, *, budget: Privacy, neighbours: str = "replace-one") -> None:
        """Give a data set its budget, once and for all; opening it again with the same budget does nothing.

        `neighbours` says what the budget limits: what is told by replacing a record ("replace-one": the number of
        records is public), or by adding or removing one ("add-remove": it is private, and only releases without n are
        paid for). A release without n costs a replace-one budget what it promises where a record is replaced.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        """
        if check_name("dataset", dataset) is None:
            raise InvalidArgument("dataset", dataset, "is not a name", "give the data set a name")
        check_visible("dataset", dataset)
        if not isinstance(budget, Privacy) or isinstance(budget, Unlimited):
            raise InvalidArgument("budget", budget, "is no limit", "give a guarantee, such as PureDP(1.0)")
        from confide.releasing.ledger.account import open_dataset

        if neighbours not in NEIGHBOURS:
            raise InvalidArgument("neighbours", neighbours, "is no relation", f"use {' or '.join(NEIGHBOURS)}")
        given = self._store.run(lambda book: open_dataset(book, dataset, budget, neighbours), writes=True)
        if given != (budget, neighbours):
            kept = f"a budget of {given[0]} already, for {given[1]} neighbours"
            raise BudgetError(f"{dataset!r} has {kept}, and a budget is never changed")

    def datasets(self) -> list[str]:
        """The names of all data sets.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.datasets()
        ['people']
        """
        return self._store.run(lambda book: book.names(), writes=False)

    def budget(self, dataset: str) -> Privacy:
        """The whole budget of a data set.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.budget("people")
        PureDP(epsilon=1.0)
        """
        return self._account(dataset).budget

    def neighbours(self, dataset: str) -> str:
        """Which data sets are neighbours in what the budget limits.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0), neighbours="add-remove")
        >>> book.neighbours("people")
        'add-remove'
        """
        return self._account(dataset).neighbours

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
        account = self._account(dataset)
        return budgets.stated(account.budget, account.spent)

    def left(self, dataset: str) -> Privacy | None:
        """What a release from the whole data set may still promise; None when nothing is left.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.left("people")
        PureDP(epsilon=1.0)
        """
        account = self._account(dataset)
        return budgets.left(account.budget, account.spent)

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
        from confide.releasing.ledger import entries

        return self._store.run(lambda book: entries.all_of(book, dataset, self._store.identity), writes=False)

    def statement(self, dataset: str) -> Statement:
        """The whole account of a data set: budget, spent, left, and every release with the day on which it was made.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.statement("people").releases
        ()
        """
        from confide.releasing.ledger.listing import statement

        return self._store.run(lambda book: statement(book, dataset, self._store.identity), writes=False)

    def listing(self, dataset: str) -> list[Listed]:
        """A line for each release from a data set, in words, oldest first: quicker to have than the releases.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.listing("people")
        []
        """
        from confide.releasing.ledger.listing import listing

        return self._store.run(lambda book: listing(book, dataset), writes=False)

    def check(self) -> None:
        """Walk through every entry and add up everything again; a `LedgerError` says what does not agree.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> book.check()
        """
        from confide.releasing.ledger.walk import walk

        self._store.run(walk, writes=False)

    def foresee(self, request: Request, *, fresh: bool) -> bool:
        """Refuse, before a single record is read, what the budget cannot pay for whatever the records are.

        Whether that decides it: then `find` has nothing to add.
        """
        from confide.releasing.ledger import entries

        assert request.dataset is not None
        seen = registry.seen(self._store.identity, request.dataset)
        decided, lost = self._store.run(lambda book: entries.foresee(book, request, seen, fresh=fresh), writes=False)
        if lost:
            registry.warn_of_copy(request.dataset)
        return decided

    def find(self, request: Request, origin: Origin, *, fresh: bool) -> Release | None:
        """The stored release of a request; without one, a refusal if the budget cannot pay for it."""
        from confide.releasing.ledger import entries

        identity = self._store.identity
        return self._store.run(lambda book: entries.find(book, request, origin, identity, fresh=fresh), writes=False)

    def record(self, request: Request, publish: Callable[[], Release], origin: Origin, *, fresh: bool) -> Release:
        """Check the budget, publish, spend and store, in one transaction; return the release only once it is stored."""
        from confide.releasing.ledger import entries

        assert request.dataset is not None
        identity = self._store.identity
        if origin.place is not None:
            registry.note(origin.place, identity, self._store.place)
        release = self._store.run(
            lambda book: entries.record(book, request, publish, origin, identity, fresh=fresh), writes=True
        )
        assert release.entry is not None
        registry.note_entry(identity, self._store.place, request.dataset, release.entry)
        return release

    def confirms(self, release: Release) -> bool:
        """Whether a release is an entry of this ledger, word for word.

        >>> import confide as cf, tempfile, pathlib
        >>> book = Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
        >>> book.open("people", budget=cf.PureDP(1.0))
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(0.25)), n=2)
        >>> book.confirms(cf.release(channel, [0.0, 1.0], ledger=book, dataset="people"))
        True
        """
        from confide.releasing.ledger import entries

        if release.entry is None or release.dataset is None or release.entry.ledger != self._store.identity:
            return False
        return self._store.run(lambda book: entries.confirms(book, release), writes=False)

    def _account(self, dataset: str) -> Account:
        from confide.releasing.ledger.account import load

        return self._store.run(lambda book: load(book, dataset), writes=False)
