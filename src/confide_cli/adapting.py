"""`adapt`: a plan in a file, what it asks next, and what came out of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confide as cf
from confide._digits import around, as_known
from confide.errors import InvalidArgument
from confide.published.codec import encode_channel
from confide_cli import words
from confide_cli.build import population_of, prior_of, privacy_of
from confide_cli.choose import in_words
from confide_cli.show import emit, say
from confide_cli.study import Arguments, UsageProblem


def adapt(path: Path, study: Arguments, batches: str | None, update: Path | None, asked: bool, as_json: bool) -> None:
    """Begin a plan, give it a release, or say what it asks next; the file is written anew."""
    if batches is not None:
        if path.exists():
            raise InvalidArgument("--batches", batches, f"begins a plan, but {path} is there already", "leave it out")
        plan = _begun(study, batches)
    else:
        if not path.exists():
            raise UsageProblem(f"{path} is not there; begin it with --batches, --population, --prior and --privacy")
        plan = cf.Adaptive.load(path)
    if update is not None:
        plan.update(cf.Release.load(update))
    channel = plan.channel if asked and not plan.done else None
    plan.save(path)
    result: dict[str, Any] = {
        "command": "adapt",
        "file": str(path),
        "answered": len(plan.releases),
        "batches": len(plan.batches),
        "done": plan.done,
        "estimate": {name: {"mean": mean, "sd": sd} for name, (mean, sd) in plan.estimate.items()},
        "next": None if channel is None else encode_channel(channel),
        "part": None if channel is None else f"rows:{plan.part.start}:{plan.part.stop}",
        "words": None if channel is None else in_words(channel),
    }

    def show() -> None:
        for name, (mean, sd) in plan.estimate.items():
            say(f"{name}: {as_known(mean, sd)} ± {around(sd)}")
        say(f"{len(plan.releases)} of {len(plan.batches)} batches have answered.")
        if plan.done:
            say("The plan is done.")
        if channel is not None:
            say(f"Next: {channel}")
            say(f"To release it: --part {result['part']} {result['words']}")

    emit(as_json, result, show)


def _begun(study: Arguments, batches: str) -> Any:
    """A new plan from words."""
    privacy = privacy_of(study)
    if privacy is None:
        study.need("privacy", "pure:1")
    population = population_of(study)
    return cf.adapt(
        population, prior_of(study, population), privacy=privacy, batches=_sizes(batches), key=study.get("key", 0)
    )


def _sizes(text: str) -> list[int]:
    """`100,900`, or `1000*1` for a thousand batches of one.

    >>> _sizes("100,3*50")
    [100, 50, 50, 50]
    """
    found: list[int] = []
    for each in text.split(","):
        times, star, size = each.partition("*")
        numbers = [words.read_number("--batches", part) for part in ((times, size) if star else ("1", times))]
        if not all(number.is_integer() and 1 <= number <= 1e12 for number in numbers) or numbers[0] > 100_000:
            remedy = "write 100,900, or 1000*1 for a thousand persons"
            raise InvalidArgument("--batches", text, "are not sizes of batches", remedy)
        found += [int(numbers[1])] * int(numbers[0])
    return found
