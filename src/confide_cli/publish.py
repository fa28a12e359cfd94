"""`release` and `ledger`: publishing a number, and what has been spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import confide as cf
from confide.errors import InvalidArgument
from confide.published.codec import encode_privacy, encode_sealed
from confide.releasing import Ledger
from confide_cli import words
from confide_cli.build import channel_of, missing_of, part_of
from confide_cli.page import Page
from confide_cli.show import emit, say, table
from confide_cli.study import Study, UsageProblem


def release(study: Study, data: str, options: dict[str, Any], output: Path | None, page: Page, as_json: bool) -> None:
    """Publish a statistic of real records."""
    page.check()
    channel = channel_of(study)
    book = options.pop("ledger")
    if book is None and options["dataset"] is not None:
        raise UsageProblem("--dataset names a data set of a ledger; give --ledger as well, such as --ledger budget.db")
    if output is None and channel.value_shape == (channel.n,) and channel.n > 1:
        raise UsageProblem("the release is a table of noisy records; say where to write it, with --output release.json")
    if output is not None and not output.parent.is_dir():
        # before anything is spent
        raise InvalidArgument("--output", str(output), "cannot be written: there is no such folder", "make it first")
    options |= {"part": part_of(options["part"]), "missing": missing_of(options["missing"])}
    made = cf.release(channel, data, ledger=None if book is None else Ledger(existing(book)), **options)
    if output is not None:
        made.save(output)
    written = json.loads(output.read_text(encoding="utf-8")) if output is not None else encode_sealed(made)

    def show() -> None:
        say(str(made))
        if book is not None and made.dataset is not None:
            rest = Ledger(book).left(made.dataset)
            say(f"Left of the budget of {made.dataset}: {'nothing' if rest is None else rest}")
        else:
            say("No ledger keeps count of this release; give --ledger and --dataset to spend from a budget.")
        if output is not None:
            say(f"Written to {output}")
        page.say()

    page.write(made, None if page.path is None else _script(channel, data, book, options))
    emit(as_json, written, show)


def _script(channel: Any, data: str, book: str | None, options: dict[str, Any]) -> str:
    """The same release in Python. With a ledger it is read again for free; without one it is made anew."""
    from confide.reporting.script import from_environment, with_imports
    from confide.reporting.source import source

    where, notes = from_environment({"CONFIDE_DATA": data, "CONFIDE_LEDGER": book})
    given = {name: value for name, value in options.items() if value not in (None, "", False)}
    ledger = "" if book is None else f", ledger=cf.Ledger({where['CONFIDE_LEDGER']})"
    told = "".join(f", {name}={source(value)}" for name, value in given.items())
    return with_imports(
        [
            *notes,
            f"channel = {source(channel)}",
            f"release = cf.release(channel, {where['CONFIDE_DATA']}{ledger}{told})",
            "print(release)",
        ]
    )


def ledger(place: str, dataset: str | None, budget: str | None, check: bool, as_json: bool) -> None:
    """List data sets, show one, or open one with its budget; `check` walks through every entry first."""
    if budget is not None:
        if dataset is None:
            raise UsageProblem("--budget needs the name of a data set: confide ledger budget.db people --budget pure:3")
        given = words.read_privacy(budget, "--budget")
        Ledger(place).open(dataset, budget=given)
    book = Ledger(existing(place))
    if check:
        book.check()
    names = book.datasets() if dataset is None else [dataset]
    found = [_account(book, name) for name in names]

    def show() -> None:
        if check:
            say("Every entry is as it was written, and the totals are their sums.")
        if not found:
            say("The ledger has no data set yet; open one: confide ledger budget.db people --budget pure:3")
            return
        shown = [
            {name: account[name] for name in ("dataset", "budget", "spent", "left")}
            | {"releases": len(account["releases"])}
            for account in _told(book, found)
        ]
        table(shown, ["dataset", "budget", "spent", "left", "releases"])
        if dataset is not None:
            say()
            for made in book.releases(dataset):
                say(str(made))
                about = {"Column": made.column, "Part": made.part, "Purpose": made.purpose}
                say("; ".join(f"{name}: {value}" for name, value in about.items() if value))

    emit(as_json, {"command": "ledger", "ledger": book.place, "datasets": found}, show)


def existing(place: str) -> str:
    """A place where a ledger is: a misspelt path must not make a new one, with a new budget."""
    if "://" not in place and not Path(place).exists():
        raise InvalidArgument(
            "ledger", place, "does not exist", f"make it with: confide ledger {place} NAME --budget pure:1"
        )
    return place


def _account(book: Ledger, name: str) -> dict[str, Any]:
    spent, left = book.spent(name), book.left(name)
    return {
        "dataset": name,
        "budget": encode_privacy(book.budget(name)),
        "spent": None if spent is None else encode_privacy(spent),
        "left": None if left is None else encode_privacy(left),
        "releases": [encode_sealed(made, "records.parquet") for made in book.releases(name)],
    }


def _told(book: Ledger, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The accounts in words."""
    return [
        account
        | {
            "budget": str(book.budget(account["dataset"])),
            "spent": str(book.spent(account["dataset"]) or "nothing"),
            "left": str(book.left(account["dataset"]) or "nothing"),
        }
        for account in found
    ]
