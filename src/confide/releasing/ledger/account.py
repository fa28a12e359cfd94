"""The account of one data set: its budget, its running total, and what one more release would make of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.privacy import Privacy
from confide.privacy.composition import moved, worst
from confide.privacy.relation import NEIGHBOURS, REPLACE
from confide.published.errors import BudgetError
from confide.published.part import Part, extent
from confide.published.terms import decode_privacy, encode_part, encode_privacy
from confide.releasing.ledger import budget as budgets
from confide.releasing.ledger.book import Book, damaged, now
from confide.releasing.ledger.budget import NOTHING, Amount
from confide.releasing.ledger.names import canonical
from confide.releasing.ledger.places import EMPTY, PartPiece, covers, raised

if TYPE_CHECKING:
    from confide.channel import Channel


@dataclass(frozen=True)
class Account:
    """A data set as its row has it, after the row was found to agree with the last release."""

    name: str
    budget: Privacy
    opened: str
    written: str
    count: int = 0
    spent: Amount = NOTHING
    head: str = ""
    #: which data sets are neighbours in what the budget limits
    neighbours: str = REPLACE

    @property
    def row(self) -> dict[str, Any]:
        """The account as it is stored."""
        return {
            "name": self.name,
            "canonical": canonical(self.name),
            "budget": self.written,
            "opened": self.opened,
            "count": self.count,
            "spent": budgets.write(self.spent),
            "head": self.head,
        }


@dataclass(frozen=True)
class Charge:
    """What a release costs, and what it changes."""

    guarantee: Privacy
    part: Part | str | None
    #: what decides who is in the part; None where nothing does, and then the release is charged to everybody
    scheme: str | None
    after: Amount
    worst: Amount = NOTHING
    old: Sequence[PartPiece] = ()
    new: Sequence[PartPiece] = ()


def new_account(name: str, budget: Privacy, neighbours: str = REPLACE) -> Account:
    """The account of a data set that is about to be opened."""
    return Account(name, budget, now(), encode_budget(budget, neighbours), neighbours=neighbours)


def encode_budget(budget: Privacy, neighbours: str) -> str:
    """A budget as its row has it; the relation is written where it is not the one of all budgets before there were two.

    >>> from confide.privacy import PureDP
    >>> encode_budget(PureDP(1.0), "add-remove")
    '{"kind": "PureDP", "epsilon": 1.0, "neighbours": "add-remove"}'
    """
    return json.dumps(encode_privacy(budget) | ({} if neighbours == REPLACE else {"neighbours": neighbours}))


def decode_budget(text: str) -> tuple[Privacy, str]:
    """The budget of a row and its relation; a `ValueError` where it is none."""
    form = json.loads(text)
    neighbours = form.pop("neighbours", REPLACE)
    if neighbours not in NEIGHBOURS:
        raise ValueError("no relation between data sets")
    return decode_privacy(form), neighbours


def open_dataset(book: Book, name: str, budget: Privacy, neighbours: str) -> tuple[Privacy, str]:
    """Enter a data set, unless it is there; the budget and the relation that it has."""
    book.hold_names()
    other = None if book.dataset(name) is not None else book.alike(canonical(name))
    if other is not None:
        raise BudgetError(
            f"{name!r} looks like {other!r}, which the ledger has: two names would have two budgets; use {other!r}, or "
            "a name that nobody can mistake for it"
        )
    if book.dataset(name) is None and book.last(name) is not None:
        raise damaged(f"{name!r} has releases, but no budget")
    book.add_dataset(new_account(name, budget, neighbours).row)
    account = load(book, name)
    return account.budget, account.neighbours


def load(book: Book, dataset: str) -> Account:
    """The account of a data set."""
    row = book.dataset(dataset)
    if row is None:
        if book.last(dataset) is not None:
            raise damaged(f"{dataset!r} has releases, but no budget")
        other = book.alike(canonical(dataset))
        if other is not None:
            raise BudgetError(f"the ledger has no data set {dataset!r}, but {other!r}, which looks alike; use that")
        raise BudgetError(f"the ledger has no data set {dataset!r}; open it with ledger.open({dataset!r}, budget=…)")
    try:
        (budget, neighbours), spent = decode_budget(row["budget"]), budgets.read(row["spent"])
    except (ValueError, KeyError, TypeError, ArithmeticError):
        raise damaged(f"the account of {dataset!r} cannot be read") from None
    last = book.last(dataset)
    if ((0, "") if last is None else (last["position"], last["seal"])) != (row["count"], row["head"]):
        raise damaged(f"the account of {dataset!r} is not that of its last release")
    return Account(dataset, budget, row["opened"], row["budget"], row["count"], spent, row["head"], neighbours)


def charged(account: Account, channel: Channel, part: Part | str | None) -> Privacy:
    """What a release promises between the data sets that the account's budget takes for neighbours; refused if nothing.

    A release with a public n tells n exactly, and adding or removing a record changes it: no budget for that relation
    can pay for it. One with a private n does promise something where a record is replaced. Where sizes are private
    nobody says that the members of groups, or of parts by an identifier, are fixed: a record may be replaced by one of
    another group, or by somebody whose identifier is another.
    """
    found = channel.guarantee_between(account.neighbours)
    if found is None:
        raise BudgetError(
            f"the budget of {account.name!r} protects against adding or removing a record, and the release makes the "
            "number of records public, which it does not protect; release a Sum or a Count with a private n, "
            "Channel(statistic, mechanism) without n"
        )
    if isinstance(part, Part) and channel.n is None and account.neighbours == REPLACE:
        return worst(found, moved(channel.guarantee))
    return found


def charge(book: Book, account: Account, guarantee: Privacy, part: Part | str | None, scheme: str | None) -> Charge:
    """What a release would cost; refused where the budget cannot pay."""
    if scheme is None or not isinstance(part, Part):
        asked = Charge(guarantee, part, None, budgets.plus(account.spent, cost_of(account, guarantee)))
    else:
        asked = parallel(book, account, guarantee, part, scheme)
    refused = budgets.refusal(account.budget, account.spent, asked.after, guarantee, account.name)
    if refused is not None:
        raise BudgetError(refused)
    return asked


def parallel(book: Book, account: Account, guarantee: Privacy, part: Part, scheme: str) -> Charge:
    """What a release from a part of a scheme would cost: the worst place of the scheme may not be in it."""
    start, stop = extent(part)
    last = book.last(account.name, scheme)
    old: Sequence[PartPiece] = book.pieces(account.name, scheme, start, stop)
    if (last is None) != (not old) or not covers(old or EMPTY, start, stop):
        raise damaged(f"parts of {account.name!r} are missing")
    before = NOTHING if last is None else budgets.read(last["worst"])
    new, most = raised(old or EMPTY, start, stop, cost_of(account, guarantee))
    worst = budgets.larger(before, most)
    return Charge(guarantee, part, scheme, budgets.grown(account.spent, before, worst), worst, old, new)


def cost_of(account: Account, guarantee: Privacy) -> Amount:
    """What a guarantee costs in the unit of the budget."""
    cost = budgets.amount_of(guarantee, account.budget)
    if cost is None:
        raise BudgetError(budgets.no_unit(account.budget, guarantee, account.name))
    return cost


def enter(book: Book, account: Account, asked: Charge, told: dict[str, Any], table: Path | None) -> dict[str, Any]:
    """Spend and store: the release's row, what it changes of its scheme, and the new total."""
    row = entry_row(book, account, asked, told)
    book.add_release(table, row)
    settle(book, account, asked, row)
    return row


def entry_row(book: Book, account: Account, asked: Charge, told: dict[str, Any]) -> dict[str, Any]:
    """The row of the next release, sealed; `told` has its request, source, content, form and time."""
    part = encode_part(asked.part)
    row = {
        **told,
        "dataset": account.name,
        "position": account.count + 1,
        "guarantee": json.dumps(encode_privacy(asked.guarantee)),
        "part": None if part is None else json.dumps(part),
        "scheme": asked.scheme,
        "worst": None if asked.scheme is None else budgets.write(asked.worst),
        "previous": account.head,
    }
    return row | {"seal": book.seal("release", row)}


def settle(book: Book, account: Account, asked: Charge, row: dict[str, Any]) -> Account:
    """Write what a release that was entered makes of its scheme and its data set."""
    if asked.scheme is not None:
        book.replace_pieces(account.name, asked.scheme, asked.old, asked.new)
    after = replace(account, count=account.count + 1, spent=asked.after, head=row["seal"])
    book.change_dataset(after.row)
    return after
