"""The options that commands share, with their help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

StudyFile = Annotated[
    Path | None, typer.Argument(metavar="STUDY", help="A TOML file that says what the options would.")
]
StudyOption = Annotated[
    Path | None, typer.Option("--study", metavar="FILE", help="A TOML file that says what the options would.")
]
Population = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What the records are assumed to be drawn from: "
        "normal, normal_mean(variance=2), lognormal, bernoulli, poisson, …; a name that is not known lists them all.",
    ),
]
_STATISTIC = (
    '"mean abs(x)", "median", "maximum", "quantile 0.9 x", "each x > 2", "sum 1, x - 40", "count", "histogram age: 0, '
    '18, 65", "histogram sex: f, m"; with bounds and a mechanism of its own: "mean x**2 on -3 3 with gaussian".'
)
Statistics = Annotated[
    list[str] | None,
    typer.Option(
        "--statistic",
        metavar="WORDS",
        help=_STATISTIC + " Repeat it to compare.",
    ),
]
OneStatistic = Annotated[list[str] | None, typer.Option("--statistic", metavar="WORDS", help=_STATISTIC)]
OfRows = Annotated[
    list[str] | None,
    typer.Option(
        "--statistic",
        metavar="WORDS",
        help="Of rows with several columns, the means whose bounds are chosen, such as 'mean age, age * log(cost)'; "
        "--bounds age=18:90 keeps those of a column.",
    ),
]
Bounds = Annotated[tuple[float, float] | None, typer.Option(metavar="LOW HIGH", help="What records are clipped to.")]
RowBounds = Annotated[
    tuple[float, float] | None,
    typer.Option(
        "--bounds",
        metavar="LOW HIGH",
        help="What records are clipped to; of rows with several columns, NAME=LOW:HIGH for each: --bounds age=18:90.",
    ),
]
ColumnBounds = Annotated[list[str] | None, typer.Option("--column-bounds", hidden=True)]
Category = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="NAME=A,B,…",
        help="The public list of a column of text, whose codes 0, 1, … are used in expressions; any other text is one "
        "more. Repeat it for other columns.",
    ),
]
By = Annotated[str | None, typer.Option(metavar="COLUMN", help="A release for each group by this public attribute.")]
Groups = Annotated[
    str | None, typer.Option(metavar="F=6100,M=5900", help="The groups and how many records each of them has: public.")
]
Person = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Whose row it is, where somebody may have several: persons are protected."),
]
AtMost = Annotated[
    int | None, typer.Option("--at-most", min=1, metavar="COUNT", help="Rows of one person that are used at most.")
]
Mechanism = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="laplace (the default), gaussian, randomized_response, smooth_laplace, smooth_cauchy, exponential, "
        "noiseless; options as in laplace(step=1).",
    ),
]
Privacy = Annotated[
    str | None,
    typer.Option(
        metavar="KIND:NUMBER",
        help="The guarantee: pure:1 (ε), approx:1,1e-6 (ε and δ), zcdp:0.5 (ρ) or gdp:1 (μ); smaller is more private.",
    ),
]
Count = Annotated[
    int | None, typer.Option("--n", min=1, metavar="COUNT", help="The number of records, which is public.")
]


def _count_or_private(given: str | None) -> str | None:
    """Refused as a use, and not as an answer, like what is no whole number elsewhere."""
    if given not in (None, "private") and not re.fullmatch("[1-9][0-9]{0,17}", given):
        raise typer.BadParameter(f"{given!r} is neither a whole number of at least 1 nor private")
    return given


CountOrPrivate = Annotated[
    str | None,
    typer.Option(
        "--n",
        callback=_count_or_private,
        metavar="COUNT",
        help="The number of records, which is public; or private, for sums and counts, whose noise hides it too.",
    ),
]
Assumed = Annotated[
    int | None,
    typer.Option("--assume", min=1, metavar="COUNT", help="With --n private: the number of records that is assumed."),
]
Theta = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NUMBERS",
        help="The parameter at which to compute: 2, a grid 0.1:10:100 (from, to, how many), or 1,2 for two parameters.",
    ),
]
Prior = Annotated[
    list[str] | None,
    typer.Option(metavar="WORDS", help='"variance ~ InverseGamma(2, 2)": any numpyro distribution. One per parameter.'),
]
Criterion = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What ranks: expected_variance (the default), information, log_det or minimum (the worst case).",
    ),
]
Families = Annotated[
    list[str] | None,
    typer.Option(
        "--family",
        metavar="NAME",
        help="Search only this: power, clip, threshold, quantile, score or moments. Repeat it for several.",
    ),
]
Method = Annotated[str | None, typer.Option(metavar="NAME", help="How to compute it; auto by default.")]
Route = Annotated[str | None, typer.Option(metavar="NAME", help="How to compute p(y | theta); auto by default.")]
Key = Annotated[int | None, typer.Option(metavar="NUMBER", help="The same key gives the same answer.")]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write a page to hand on: answer, pictures, script."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else (see confide schema).")]

Data = Annotated[str, typer.Argument(help="A CSV or Parquet file (globs too), or the URL of a database.")]
Column = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The column to release; of rows, what columns are called in the data: age=AGE,sex=SEX."
    ),
]
Table = Annotated[str | None, typer.Option(metavar="NAME", help="The table, for a database.")]
LedgerOption = Annotated[
    str | None, typer.Option("--ledger", metavar="PLACE", help="The ledger that keeps the budget: a file or a URL.")
]
Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="The data set's name in the ledger.")]
Part = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="Which records: rows:0:1000 or hashed:id:0:0.1 select them; any other word only names what DATA holds.",
    ),
]
Purpose = Annotated[str, typer.Option(metavar="TEXT", help="What the release is for.")]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="The public number that stands in for missing values, or one for each of some columns "
        "(cost=0,age=40); the word public leaves such records out, where it is no secret which they are.",
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Spend again, though the same release is in the ledger.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the release file.")]

Like = Annotated[
    str | None,
    typer.Option(
        metavar="SOURCE",
        help="A file or the URL of a database, of which only the header, the schema or the column's type is read; "
        "without it every reader is tried.",
    ),
]
Pairs = Annotated[int, typer.Option(min=1, metavar="COUNT", help="How many pairs of neighbouring tables to compare.")]
Seed = Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Equal seeds try the same tables.")]

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN.json", help="The file that keeps the plan.")]
Next = Annotated[bool, typer.Option("--next", help="Say what to release next, and of which records.")]
Update = Annotated[Path | None, typer.Option(metavar="RELEASE.json", help="Take note of what came out.")]
Batches = Annotated[
    str | None,
    typer.Option(metavar="SIZES", help="Begin a plan: 100,900 for two batches, 1000*1 for a thousand persons."),
]

Releases = Annotated[list[Path] | None, typer.Argument(metavar="RELEASE...", help="Release files.")]
Value = Annotated[
    list[float] | None,
    typer.Option(
        metavar="NUMBER", help="A number that somebody published, described by --statistic and the options after it."
    ),
]
SameRecords = Annotated[
    bool | None,
    typer.Option("--same-records/--different-records", help="Whether several releases are about the same records."),
]
SameQuantity = Annotated[
    bool | None,
    typer.Option("--same-quantity", help="Releases of different columns or data sets measure the same thing."),
]
Chains = Annotated[int | None, typer.Option(min=1, metavar="COUNT", help="Chains, where there are any.")]
Warmup = Annotated[int | None, typer.Option(min=0, metavar="COUNT", help="Steps of a chain that are not kept.")]
Draws = Annotated[int | None, typer.Option(min=1, metavar="COUNT", help="Draws of each chain.")]
Probability = Annotated[float, typer.Option(metavar="NUMBER", help="With which an interval holds what it is about.")]

Simulated = Annotated[
    int | None,
    typer.Option(
        "--releases", min=1, metavar="COUNT", help="Releases to simulate for each statistic and θ; 1000 by default."
    ),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep", metavar="FOLDER", help="Keep what is finished here; the same study goes on where it stopped."
    ),
]
WorkerCount = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="COUNT", help="How many processes to compute on.")
]
Dask = Annotated[str | None, typer.Option("--dask", metavar="URL", help="Compute on a Dask cluster: tcp://host:8786.")]

LedgerPlace = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or a PostgreSQL URL.")]
LedgerDataset = Annotated[str | None, typer.Argument(help="One data set, with its releases.")]
Budget = Annotated[str | None, typer.Option(metavar="KIND:NUMBER", help="Open the data set with this budget.")]
Neighbours = Annotated[
    str | None,
    typer.Option(
        metavar="RELATION",
        help="With --budget: add-remove protects the number of records too; replace-one is the default.",
    ),
]
Check = Annotated[bool, typer.Option("--check", help="Walk through every entry and add everything up again.")]
ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")]
Folder = Annotated[
    Path | None, typer.Option(metavar="NAME", help="Where to write; a new folder for temporary files by default.")
]
SchemaName = Annotated[
    str,
    typer.Argument(help="release, information, compare, optimize, study, infer, estimate, require, ledger, account, …"),
]

Experiment = Annotated[
    str, typer.Argument(metavar="WHAT", help="all, example-1 … example-4, section-5.1 … section-5.6, or batches.")
]
Full = Annotated[bool, typer.Option("--full", help="The paper's own sizes, which take much longer.")]
Place = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where figures, tables and the page go.")]

Batch = Annotated[
    list[str],
    typer.Argument(metavar="GUARANTEES", help="Of each release: pure:0.1, gdp:0.5, or 100*pure:0.1 for many."),
]
Delta = Annotated[float, typer.Option(metavar="NUMBER", help="The δ at which to state the total.")]

Port = Annotated[int, typer.Option(min=0, max=65535, help="Where the page is served; 0 is any port that is free.")]
Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open it in the browser, or only say where it is.")
]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"confide {version('confide')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")]
