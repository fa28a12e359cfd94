"""`release`: publishing a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import confide as cf
from confide.errors import InvalidArgument
from confide.published.codec import encode_sealed
from confide.releasing import Ledger
from confide_cli.budgets import existing
from confide_cli.build import channel_of, missing_of, part_of
from confide_cli.page import Page
from confide_cli.show import emit, say
from confide_cli.study import Arguments, UsageProblem


def release(
    study: Arguments, data: str, options: dict[str, Any], output: Path | None, page: Page, as_json: bool
) -> None:
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
