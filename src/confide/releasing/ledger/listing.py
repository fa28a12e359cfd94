"""The releases of an account: as a statement, and as lines that are read from what is stored without any model."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.published.terms import decode_part, decode_privacy
from confide.registry import STATISTIC_NUMBERS
from confide.releasing.ledger import account as accounts
from confide.releasing.ledger import budget as budgets
from confide.releasing.ledger.book import Book, damaged

if TYPE_CHECKING:
    from confide.privacy import Privacy
    from confide.published.statement import Statement

#: numbers that are still written out
_MOST = 4


@dataclass(frozen=True)
class Listed:
    """One release in a listing: the day, what was asked, and what came out."""

    day: str
    column: str | None
    part: str | None
    purpose: str
    #: the statistic, such as `mean of x on [0, 1]`
    what: str
    published: str
    #: None where it is private
    n: int | None
    guarantee: Privacy


def listing(book: Book, dataset: str) -> list[Listed]:
    """A line for each release, oldest first."""
    accounts.load(book, dataset)
    return [_listed(row) for row in book.entries(dataset)]


def statement(book: Book, dataset: str, ledger: str) -> Statement:
    """The account and its releases, as they are in one transaction."""
    from confide.published.statement import Statement
    from confide.releasing.ledger.entries import restore

    account, rows = accounts.load(book, dataset), list(book.entries(dataset))
    spent, left = budgets.stated(account.budget, account.spent), budgets.left(account.budget, account.spent)
    made = tuple(restore(book, row, ledger) for row in rows)
    return Statement(dataset, account.budget, spent, left, made, tuple(map(_day, rows)), account.neighbours)


def _day(row: dict[str, Any]) -> str:
    return str(row["made"])[:10]


def _listed(row: dict[str, Any]) -> Listed:
    try:
        form = json.loads(row["form"])
        channel, part = form["channel"], decode_part(form.get("part"))
        return Listed(
            _day(row),
            _column(form.get("column")),
            None if part is None else str(part),
            form.get("purpose", ""),
            _statistic(channel["statistic"]),
            _published(form),
            None if channel.get("n") is None else int(channel["n"]),
            decode_privacy(form["guarantee"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged("a stored release cannot be read") from None


def _statistic(form: dict[str, Any]) -> str:
    """A statistic as tables have it."""
    persons = f", at most {form['at_most']} rows of each {form['person']}" if "person" in form else ""
    if form["kind"] == "Count":
        return f"count of records{persons}"
    if "cells" in form:
        names = " and ".join(cut["column"] for cut in form["cells"])
        cells = math.prod(len(cut.get("edges") or cut["categories"]) + 1 for cut in form["cells"])
        return f"histogram of {names}, {cells} cells{persons}"
    level = "".join(f" {form[name]:g}" for name in STATISTIC_NUMBERS.values() if name in form)
    what = f"{form['kind'].lower()}{level} of {', '.join(form['expressions'])}"
    if isinstance(form["bounds"], dict):
        ends = [f"{name} [{low:g}, {high:g}]" for name, (low, high) in form["bounds"].items()]
        return f"{what} on {', '.join([*ends, *form.get('categories', {})])}{persons}"
    low, high = form["bounds"]
    return f"{what} on [{low:g}, {high:g}]{persons}"


def _column(told: str | dict[str, str] | None) -> str | None:
    """What columns are called in the data."""
    return ", ".join(f"{name}: {found}" for name, found in told.items()) if isinstance(told, dict) else told


def _published(form: dict[str, Any]) -> str:
    if "records" in form:
        return f"{int(form['channel']['n']):,} values"
    value = form["value"]
    if not isinstance(value, list):
        return f"{value:.6g}"
    return f"{len(value):,} values" if len(value) > _MOST else f"[{', '.join(f'{each:.6g}' for each in value)}]"
