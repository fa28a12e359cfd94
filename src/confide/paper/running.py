"""`reproduce`: some or all experiments, their files and the page."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path

from confide._progress import progress
from confide.errors import InvalidArgument
from confide.paper.page import page
from confide.paper.result import Result
from confide.published.extras import needs

#: where each experiment lives; its function has the name with underscores
EXPERIMENTS = {
    "example-1": "examples",
    "example-2": "examples",
    "example-3": "examples",
    "example-4": "bits",
    "section-5.1": "gaussian_noise",
    "section-5.2": "laplace_noise",
    "section-5.3": "mixing",
    "section-5.4": "order_statistics",
    "section-5.5": "sequential",
    "section-5.6": "pilot_release",
    "batches": "batches",
}


def function_of(name: str) -> Callable[..., Result]:
    """The function of an experiment, by its name on the command line."""
    if name not in EXPERIMENTS:
        raise InvalidArgument("what", name, "is not an experiment", f"use all, {', '.join(EXPERIMENTS)}")
    module = importlib.import_module(f"confide.paper.{EXPERIMENTS[name]}")
    found: Callable[..., Result] = getattr(module, name.replace("-", "_").replace(".", "_"))
    return found


def reproduce(
    what: str = "all", *, full: bool = False, output: str | os.PathLike[str] = "reproduction"
) -> list[Result]:
    """Run all experiments or one, and write figures, tables and a page into a folder.

    Finished cells are kept in its folder `cells`: a run that was interrupted and is started again repeats nothing.
    `full` takes the paper's own sizes. The page is `index.html` for all experiments, and `NAME/index.html` for one.
    """
    folder = Path(output)
    names = list(EXPERIMENTS) if what == "all" else [what]
    functions = {name: function_of(name) for name in names}
    results = []
    with needs("tables"):
        for name in progress(names, "reproduce"):
            result = functions[name](full=full, path=folder / "cells")
            result.save(folder / name)
            results.append(result)
    where = folder if what == "all" else folder / what
    (where / "index.html").write_text(page(results, full=full), encoding="utf-8")
    return results
