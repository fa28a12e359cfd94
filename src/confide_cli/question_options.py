"""The options that ask `infer`, `estimate` and `require` for more, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Claims = Annotated[
    list[str] | None, typer.Option("--claim", metavar="WORDS", help='How probable this is: "variance > 2". Repeatable.')
]
Evidence = Annotated[
    bool,
    typer.Option(
        "--evidence",
        help="Say log p(y) too, how well this was expected: the difference between two populations compares them.",
    ),
]
Against = Annotated[
    list[Path] | None,
    typer.Option("--against", metavar="RELEASE", help="A release of another group: how far apart the two are."),
]
Plan = Annotated[bool, typer.Option("--plan", help="Say what would halve the interval: records, or privacy.")]
Level = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="With what chance a set is to hold the truth; 0.95 by default.")
]
Maximize = Annotated[str | None, typer.Option(metavar="NAME", help="newton (the default) or em.")]
Replicates = Annotated[
    int | None, typer.Option(min=19, metavar="COUNT", help="Data sets that method bootstrap simulates.")
]
Hypotheses = Annotated[
    list[str] | None, typer.Option("--hypothesis", metavar="NAME=NUMBER", help="Give its p-value. Repeatable.")
]
Deviations = Annotated[
    list[str] | None,
    typer.Option(
        "--sd", metavar="NUMBER", help="The posterior standard deviation to reach: 0.1, or mean=0.1 by parameter."
    ),
]
Unit = Annotated[
    str | None, typer.Option(metavar="KIND", help="What to tell the least loss in: zcdp (the default), pure or gdp.")
]
