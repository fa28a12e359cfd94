"""`ledger`: what each data set may spend, has spent and has left, and on what. Nothing here loads a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confide.errors import InvalidArgument
from confide.privacy.relation import REPLACE
from confide.published.terms import encode_privacy
from confide.releasing.ledger.ledger import Ledger
from confide_cli import words
from confide_cli.page import Page
from confide_cli.show import emit, say, table
from confide_cli.study import UsageProblem


def ledger(
    place: str, dataset: str | None, opened: tuple[str | None, str | None], check: bool, page: Page, as_json: bool
) -> None:
    """List data sets, show one, or open one with its budget; `check` walks through every entry first."""
    page.check()
    budget, neighbours = opened
    if neighbours is not None and budget is None:
        raise UsageProblem("--neighbours belongs to a new budget: give --budget as well, such as --budget pure:3")
    if budget is not None:
        if dataset is None:
            raise UsageProblem("--budget needs the name of a data set: confide ledger budget.db people --budget pure:3")
        given = words.read_privacy(budget, "--budget")
        Ledger(place).open(dataset, budget=given, neighbours=neighbours or REPLACE)
    book = Ledger(existing(place))
    if check:
        book.check()
    names = book.datasets() if dataset is None else [dataset]
    if page.path is not None:
        if not names:
            raise UsageProblem("--report: the ledger has no data set yet, so that there is nothing to put on a page")
        page.write([book.statement(name) for name in names], _script(place, names))

    def show() -> None:
        if check:
            say("Every entry is as it was written, and the totals are their sums.")
        if not names:
            say("The ledger has no data set yet; open one: confide ledger budget.db people --budget pure:3")
            return
        table([_told(book, name) for name in names], ["dataset", "budget", "spent", "left", "releases", "last"])
        if dataset is not None:
            _releases(book, dataset)
        page.say()

    found = [_account(book, name) for name in names] if as_json else []
    emit(as_json, {"command": "ledger", "ledger": book.place, "datasets": found}, show)


def _script(place: str, names: Sequence[str]) -> str:
    from confide.reporting.script import from_environment, with_imports

    where, notes = from_environment({"CONFIDE_LEDGER": place})
    return with_imports([*notes, f"ledger = cf.Ledger({where['CONFIDE_LEDGER']})",
                         f"for name in {list(names)!r}:", "    print(ledger.statement(name))"])  # fmt: skip


def existing(place: str) -> str:
    """A place where a ledger is: a misspelt path must not make a new one, with a new budget."""
    if "://" not in place and not Path(place).exists():
        raise InvalidArgument(
            "ledger", place, "does not exist", f"make it with: confide ledger {place} NAME --budget pure:1"
        )
    return place


def _told(book: Ledger, name: str) -> dict[str, Any]:
    """An account in words."""
    lines = book.listing(name)
    return {
        "dataset": name,
        "budget": str(book.budget(name)) + ("" if book.neighbours(name) == REPLACE else " (add-remove)"),
        "spent": str(book.spent(name) or "nothing"),
        "left": str(book.left(name) or "nothing"),
        "releases": len(lines),
        "last": lines[-1].day if lines else None,
    }


def _releases(book: Ledger, name: str) -> None:
    """Every release from a data set, a line each; columns that say nothing are left out."""
    rows = [
        {"day": each.day, "column": each.column, "what": each.what, "published": each.published, "records": each.n,
         "guarantee": str(each.guarantee), "part": each.part, "purpose": each.purpose or None}
        for each in book.listing(name)
    ]  # fmt: skip
    if rows:
        say()
        table(rows, [column for column in rows[0] if any(row[column] is not None for row in rows)])


def _account(book: Ledger, name: str) -> dict[str, Any]:
    from confide.published.codec import encode_sealed  # which knows channels, and loads JAX

    told = book.statement(name)
    return {
        "dataset": name,
        "budget": encode_privacy(told.budget),
        "neighbours": told.neighbours,
        "spent": None if told.spent is None else encode_privacy(told.spent),
        "left": None if told.left is None else encode_privacy(told.left),
        "releases": [encode_sealed(made, "records.parquet") for made in told.releases],
        "days": list(told.days),
    }
