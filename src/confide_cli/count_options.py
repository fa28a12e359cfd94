"""The options of `denoise`, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Totals = Annotated[
    list[str] | None,
    typer.Option("--total", metavar="NUMBER|FILE", help="What all cells, or groups of them, add up to. Repeatable."),
]
Counts = Annotated[
    Path,
    typer.Argument(metavar="RELEASE|TABLE.csv", help="A release file, or a table that somebody else published."),
]
CountColumn = Annotated[str, typer.Option("--count", metavar="NAME", help="Of a table: its column of noisy counts.")]
Variance = Annotated[
    str, typer.Option(metavar="NAME|NUMBER", help="Of a table: the noise's variance, one number or a column of them.")
]
KindOfNoise = Annotated[str, typer.Option("--noise", metavar="KIND", help="Of a table: gaussian or laplace.")]
StepOfNoise = Annotated[
    str, typer.Option("--step", metavar="NUMBER", help="Of a table: noise is in steps of this; none if it has none.")
]
DoneAfterwards = Annotated[
    str | None,
    typer.Option(
        "--processed", metavar="WORDS", help="Of a table: what was done after the noise: clamped(0), rounded(5), …"
    ),
]
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Believe that no count is below 0.")]
CellClaims = Annotated[
    list[str] | None, typer.Option("--claim", metavar="WORDS", help='How probable this is: "f > m". Repeatable.')
]
Quantiles = Annotated[
    list[float] | None,
    typer.Option("--quantile", metavar="LEVEL", help="Between which edges this quantile of the records lies."),
]
