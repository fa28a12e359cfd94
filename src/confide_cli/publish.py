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
from confide_cli.build import channel_of, part_of
from confide_cli.page import Page
from confide_cli.rows import groups_of, read_column, read_missing
from confide_cli.show import emit, say
from confide_cli.study import Arguments, UsageProblem


def release(
    study: Arguments, data: str, options: dict[str, Any], output: Path | None, page: Page, as_json: bool
) -> None:
    """Publish a statistic of real records."""
    page.check()
    options |= groups_of(options.pop("by"), options.pop("groups"), study)
    channel = channel_of(study)
    book = options.pop("ledger")
    if book is None and options["dataset"] is not None:
        raise UsageProblem("--dataset names a data set of a ledger; give --ledger as well, such as --ledger budget.db")
    if output is None and channel.value_shape == (channel.n,) and channel.n > 1:
        raise UsageProblem("the release is a table of noisy records; say where to write it, with --output release.json")
    if output is not None and not output.parent.is_dir():
        # before anything is spent
        raise InvalidArgument("--output", str(output), "cannot be written: there is no such folder", "make it first")
    options |= {"part": part_of(options["part"]), "missing": read_missing(options["missing"])}
    options["column"] = read_column(options["column"], channel.statistic)
    made = cf.release(channel, data, ledger=None if book is None else Ledger(existing(book)), **options)
    releases = list(made.values()) if isinstance(made, dict) else [made]
    paths = _paths(output, releases)
    for each, path in zip(releases, paths, strict=True):
        if path is not None:
            each.save(path)
    pairs = zip(releases, paths, strict=True)
    forms = [
        encode_sealed(each) if path is None else json.loads(path.read_text(encoding="utf-8")) for each, path in pairs
    ]
    written = dict(zip(made, forms, strict=True)) if isinstance(made, dict) else forms[0]

    def show() -> None:
        for each in releases:
            say(str(each))
        dataset = options["dataset"]
        if book is not None and dataset is not None:
            rest = Ledger(book).left(dataset)
            say(f"Left of the budget of {dataset}: {'nothing' if rest is None else rest}")
        else:
            say("No ledger keeps count of this release; give --ledger and --dataset to spend from a budget.")
        for path in paths:
            if path is not None:
                say(f"Written to {path}")

    emit(as_json, written, show)  # before the page: what was spent is told, whatever becomes of that
    page.write(
        releases if isinstance(made, dict) else made,
        None if page.path is None else _script(channel, data, book, options),
    )
    if not as_json:
        page.say()


def _paths(output: Path | None, releases: list[Any]) -> list[Path | None]:
    """Where each release is written: of groups, to a file each, numbered in their order."""
    if output is None or len(releases) == 1:
        return [output] * len(releases)
    return [output.with_name(f"{output.stem}-{index}{output.suffix}") for index in range(1, len(releases) + 1)]


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
