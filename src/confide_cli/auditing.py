"""`audit`: neighbours of a source's shape through the pipeline of a release."""

from __future__ import annotations

from typing import Any

import typer

import confide as cf
from confide.published.codec import encode_channel
from confide_cli.build import channel_of
from confide_cli.rows import read_column
from confide_cli.show import emit, say
from confide_cli.study import Arguments


def audit(study: Arguments, options: dict[str, Any], as_json: bool) -> None:
    """Try to tell neighbouring tables apart; exit code 1 if it can be done."""
    channel = channel_of(study)
    found = cf.audit(channel, **options | {"column": read_column(options["column"], channel.statistic)})
    written = {
        "command": "audit",
        "channel": encode_channel(found.channel),
        "passed": found.passed,
        "seed": found.seed,
        "pairs": found.pairs,
        "tables": found.tables,
        "records": found.records,
        "tried": found.tried,
        "refused": found.refused,
        "failures": [
            {"problem": failure.problem, "reader": failure.reader, "reproduction": str(failure)}
            for failure in found.failures
        ],
    }
    emit(as_json, written, lambda: say(str(found)))
    if not found.passed:
        raise typer.Exit(1)
