"""`reproduce`: the paper's experiments, their files and the page."""

from __future__ import annotations

from pathlib import Path

from confide_cli.show import say


def reproduce(what: str, full: bool, output: Path) -> None:
    """Run the experiments, say what came of each, and where the page is."""
    from confide.paper import running

    for result in running.reproduce(what, full=full, output=output):
        say(f"{result}\n")
    where = output if what == "all" else output / what
    say(f"The page: {where / 'index.html'}")
