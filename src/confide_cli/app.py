"""The commands and their options. Only typer is imported here, so that help is quick."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from confide_cli import count_options as c
from confide_cli import options as o
from confide_cli import question_options as q
from confide_cli.columns import by_column
from confide_cli.page import Page
from confide_cli.study import Arguments

app = typer.Typer(
    name="confide",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Choose what to publish about a sensitive data set, publish it privately, and learn from what was published.",
    epilog="Start with: confide demo",
)


@app.callback()
def _root(version: o.Version = False) -> None:
    """Choose what to publish about a sensitive data set, publish it privately, and learn from what was published."""


@app.command(epilog='Example: confide information --population normal_variance --statistic "mean abs(x)" '
             "--bounds -10 10 --privacy pure:1 --n 100 --theta 2")  # fmt: skip
def information(
    study: o.StudyFile = None, population: o.Population = None, statistic: o.OneStatistic = None,
    bounds: o.RowBounds = None, column_bounds: o.ColumnBounds = None, category: o.Category = None,
    mechanism: o.Mechanism = None, privacy: o.Privacy = None, n: o.CountOrPrivate = None, assume: o.Assumed = None,
    theta: o.Theta = None, method: o.Method = None, key: o.Key = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """How much a published number would say about the population: its Fisher information."""
    told = Arguments(study, {"population": population, "statistic": statistic, "mechanism": mechanism, "assume": assume,
                         **by_column(bounds, column_bounds, category),
                         "privacy": privacy, "n": n, "theta": theta, "method": method, "key": key})  # fmt: skip
    from confide_cli import choose

    choose.information(told, as_json)


@app.command(epilog='Example: confide compare --population normal_variance --statistic "mean abs(x)" --statistic '
             '"mean x**2 on -3.2 3.2" --bounds -10 10 --privacy pure:1 --n 100 --theta 2')  # fmt: skip
def compare(
    context: typer.Context,
    study: o.StudyFile = None, population: o.Population = None, statistic: o.Statistics = None,
    bounds: o.RowBounds = None, column_bounds: o.ColumnBounds = None, category: o.Category = None,
    mechanism: o.Mechanism = None, privacy: o.Privacy = None, n: o.CountOrPrivate = None, assume: o.Assumed = None,
    prior: o.Prior = None, criterion: o.Criterion = None, method: o.Method = None, key: o.Key = None,
    theta: o.Theta = None, report: o.Report = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """Which of several statistics says the most, at one guarantee."""
    told = Arguments(study, {"population": population, "statistic": statistic, "mechanism": mechanism,
                         **by_column(bounds, column_bounds, category),
                         "privacy": privacy, "n": n, "theta": theta, "prior": prior, "criterion": criterion,
                         "assume": assume, "method": method, "key": key})  # fmt: skip
    from confide_cli import choose

    choose.compare(told, Page(report, context.obj), as_json)


@app.command(epilog="Example: confide optimize --population normal_variance --privacy pure:1 --n 100 --theta 2")
def optimize(
    context: typer.Context, study: o.StudyFile = None, population: o.Population = None, privacy: o.Privacy = None,
    n: o.CountOrPrivate = None, theta: o.Theta = None, prior: o.Prior = None, criterion: o.Criterion = None,
    family: o.Families = None, statistic: o.OfRows = None, column_bounds: o.ColumnBounds = None, key: o.Key = None,
    assume: o.Assumed = None, report: o.Report = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """The best statistic, clipping and mechanism at one guarantee."""
    told = Arguments(study, {"population": population, "privacy": privacy, "n": n, "theta": theta, "prior": prior,
                         "criterion": criterion, "family": family, "assume": assume, "key": key,
                         "statistic": statistic, "bounds": by_column(None, column_bounds, None)["bounds"]})  # fmt: skip
    from confide_cli import choose

    choose.optimize(told, Page(report, context.obj), as_json)


@app.command(epilog='Example: confide release people.parquet --column x --statistic "mean abs(x)" --bounds -10 10 '
             "--privacy pure:1 --n 100 --ledger budget.db --dataset people --output release.json")  # fmt: skip
def release(
    context: typer.Context,
    data: o.Data, study: o.StudyOption = None, statistic: o.OneStatistic = None, bounds: o.RowBounds = None,
    column_bounds: o.ColumnBounds = None, category: o.Category = None, by: o.By = None, groups: o.Groups = None,
    person: o.Person = None, at_most: o.AtMost = None,
    mechanism: o.Mechanism = None, privacy: o.Privacy = None, n: o.CountOrPrivate = None, column: o.Column = None,
    table: o.Table = None, ledger: o.LedgerOption = None, dataset: o.Dataset = None, part: o.Part = None,
    purpose: o.Purpose = "", missing: o.Missing = None, fresh: o.Fresh = False, output: o.Output = None,
    report: o.Report = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """Publish a statistic of real records, with exact noise, from a budget."""
    told = Arguments(study, {"statistic": statistic, **by_column(bounds, column_bounds, category),
                             "mechanism": mechanism, "privacy": privacy, "n": n})  # fmt: skip
    options = {"column": column, "table": table, "ledger": ledger, "dataset": dataset, "part": part,
               "purpose": purpose, "missing": missing, "fresh": fresh, "by": by, "groups": groups,
               "person": person, "at_most": at_most}  # fmt: skip
    from confide_cli import publish

    publish.release(told, data, options, output, Page(report, context.obj), as_json)


@app.command(epilog='Example: confide infer release.json --population normal_variance --prior "variance ~ '
             'InverseGamma(2, 2)"')  # fmt: skip
def infer(
    context: typer.Context,
    releases: o.Releases = None, study: o.StudyOption = None, population: o.Population = None, prior: o.Prior = None,
    value: o.Value = None, statistic: o.OneStatistic = None, bounds: o.RowBounds = None,
    column_bounds: o.ColumnBounds = None, category: o.Category = None, mechanism: o.Mechanism = None,
    privacy: o.Privacy = None, n: o.CountOrPrivate = None, same_records: o.SameRecords = None,
    same_quantity: o.SameQuantity = None, method: o.Method = None,
    route: o.Route = None, key: o.Key = None, chains: o.Chains = None, warmup: o.Warmup = None, draws: o.Draws = None,
    probability: o.Probability = 0.9, claim: q.Claims = None, evidence: q.Evidence = False, against: q.Against = None,
    plan: q.Plan = False, report: o.Report = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """What published numbers say about the population, noise and clipping included."""
    told = Arguments(study, {"population": population, "prior": prior, "statistic": statistic,
                         **by_column(bounds, column_bounds, category),
                         "mechanism": mechanism, "privacy": privacy, "n": n, "method": method, "route": route,
                         "key": key, "chains": chains, "warmup": warmup, "draws": draws})  # fmt: skip
    from confide_cli import learn

    same = {"same_records": same_records, "same_quantity": same_quantity or None}
    more = learn.Questions(probability, claim or [], evidence, against or [], plan)
    learn.infer(told, releases or [], value or [], same, more, Page(report, context.obj), as_json)


@app.command(epilog='Example: confide estimate release.json --population normal_variance --hypothesis "variance = 2"')
def estimate(
    releases: o.Releases = None, study: o.StudyOption = None, population: o.Population = None, value: o.Value = None,
    statistic: o.OneStatistic = None, bounds: o.RowBounds = None, column_bounds: o.ColumnBounds = None,
    category: o.Category = None, mechanism: o.Mechanism = None, privacy: o.Privacy = None,
    n: o.Count = None, same_records: o.SameRecords = None, same_quantity: o.SameQuantity = None,
    level: q.Level = None, method: o.Method = None, maximize: q.Maximize = None, hypothesis: q.Hypotheses = None,
    against: q.Against = None, replicates: q.Replicates = None, route: o.Route = None, key: o.Key = None,
    as_json: o.Json = False,
) -> None:  # fmt: skip
    """The most likely parameters, confidence sets and p-values, without a prior."""
    told = Arguments(study, {"population": population, "statistic": statistic, "mechanism": mechanism,
                         **by_column(bounds, column_bounds, category),
                         "privacy": privacy, "n": n, "level": level, "method": method, "maximize": maximize,
                         "replicates": replicates, "route": route, "key": key})  # fmt: skip
    from confide_cli import classical

    same = {"same_records": same_records, "same_quantity": same_quantity or None}
    classical.estimate(told, releases or [], value or [], same, hypothesis or [], against or [], as_json)


@app.command(epilog='Example: confide require --population bernoulli --statistic "mean x" --bounds 0 1 --sd 0.03 '
             '--prior "probability ~ Beta(2, 2)" --n 1000')  # fmt: skip
def require(
    study: o.StudyFile = None, population: o.Population = None, statistic: o.OneStatistic = None,
    bounds: o.RowBounds = None, column_bounds: o.ColumnBounds = None, category: o.Category = None,
    mechanism: o.Mechanism = None, sd: q.Deviations = None, prior: o.Prior = None, n: o.Count = None,
    privacy: o.Privacy = None, unit: q.Unit = None, route: o.Route = None, key: o.Key = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """The least privacy loss, or the fewest records, with which the answer is as accurate as asked."""
    told = Arguments(study, {"population": population, "statistic": statistic, "mechanism": mechanism,
                         **by_column(bounds, column_bounds, category),
                         "prior": prior, "n": n, "privacy": privacy, "route": route, "key": key})  # fmt: skip
    from confide_cli import classical

    classical.require(told, sd or [], unit, as_json)


@app.command(epilog='Example: confide study --population normal_variance --statistic "mean abs(x)" --bounds -10 10 '
             '--privacy pure:1 --n 100 --theta 2 --prior "variance ~ InverseGamma(2, 2)" --workers 4')  # fmt: skip
def study(
    study: o.StudyFile = None, population: o.Population = None, statistic: o.Statistics = None, bounds: o.Bounds = None,
    mechanism: o.Mechanism = None, privacy: o.Privacy = None, n: o.CountOrPrivate = None, theta: o.Theta = None,
    prior: o.Prior = None, releases: o.Simulated = None, route: o.Route = None, key: o.Key = None, keep: o.Keep = None,
    assume: o.Assumed = None, workers: o.WorkerCount = None, dask: o.Dask = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """Simulated releases: how far off the answers would be, and how often intervals would cover."""
    told = Arguments(study, {"population": population, "statistic": statistic, "bounds": bounds, "mechanism": mechanism,
                         "privacy": privacy, "n": n, "theta": theta, "prior": prior, "releases": releases,
                         "route": route, "key": key, "assume": assume})  # fmt: skip
    from confide_cli import studying

    studying.study(told, keep, workers, dask, as_json)


@app.command(epilog="Example: confide ledger budget.db people --budget pure:3, and later: confide ledger budget.db")
def ledger(
    context: typer.Context,
    place: o.LedgerPlace, dataset: o.LedgerDataset = None, budget: o.Budget = None,
    neighbours: o.Neighbours = None, check: o.Check = False,
    report: o.Report = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """What each data set may spend, has spent and has left. Nothing is ever deleted."""
    from confide_cli import budgets

    budgets.ledger(place, dataset, (budget, neighbours), check, Page(report, context.obj), as_json)


@app.command(epilog='Example: confide adapt plan.json --population normal_mean --prior "mean ~ Normal(0, 100)" '
             "--privacy pure:2 --batches 1000*1 --next")  # fmt: skip
def adapt(
    plan: o.PlanFile, asked: o.Next = False, update: o.Update = None, batches: o.Batches = None,
    population: o.Population = None, prior: o.Prior = None, privacy: o.Privacy = None, key: o.Key = None,
    as_json: o.Json = False,
) -> None:  # fmt: skip
    """A plan that asks batch after batch of records what the answers so far say is best."""
    from confide_cli.adapting import adapt as run

    told = Arguments(None, {"population": population, "prior": prior, "privacy": privacy, "key": key})
    run(plan, told, batches, update, asked, as_json)


@app.command(epilog='Example: confide denoise cells.json --total regions.json --total 12000 --claim "f > m"\n\n'
             "A table of somebody else's: confide denoise tracts.csv --variance 60 --total counties.csv")  # fmt: skip
def denoise(
    release: c.Counts, total: c.Totals = None, nonnegative: c.Nonnegative = False, claim: c.CellClaims = None,
    quantile: c.Quantiles = None, probability: o.Probability = 0.9, count: c.CountColumn = "count",
    variance: c.Variance = "variance", noise: c.KindOfNoise = "gaussian", step: c.StepOfNoise = "1",
    processed: c.DoneAfterwards = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """What the true counts were behind a noisy histogram or count, ours or one that somebody else published."""
    from confide_cli.denoising import denoise as run
    from confide_cli.tables import Published

    published = Published(count, variance, noise, step, processed)
    run(release, published, total or [], claim or [], quantile or [], probability, as_json, nonnegative=nonnegative)


@app.command(epilog="Example: confide verify release.json --ledger budget.db")
def verify(path: o.ReleaseFile, ledger: o.LedgerOption = None, as_json: o.Json = False) -> None:
    """Whether a release file is as it was written and, with its ledger, whether it was paid for."""
    from confide_cli.verifying import verify as run

    if not run(path, ledger, as_json):
        raise typer.Exit(1)


@app.command(epilog="Example: confide account 100*pure:0.1 --delta 1e-6")
def account(releases: o.Batch, delta: o.Delta = 1e-6, as_json: o.Json = False) -> None:
    """What a batch of releases promises together, if all of them are fixed before the first value is seen."""
    from confide_cli import batch

    batch.account(releases, delta, as_json)


@app.command(epilog='Example: confide audit --like people.csv --column x --statistic "mean abs(x)" --bounds -10 10 '
             "--privacy pure:1 --n 100")  # fmt: skip
def audit(
    study: o.StudyFile = None, statistic: o.OneStatistic = None, bounds: o.RowBounds = None,
    column_bounds: o.ColumnBounds = None, category: o.Category = None, person: o.Person = None,
    at_most: o.AtMost = None, mechanism: o.Mechanism = None, privacy: o.Privacy = None, n: o.CountOrPrivate = None,
    like: o.Like = None, column: o.Column = None, table: o.Table = None, pairs: o.Pairs = 1000, seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:  # fmt: skip
    """Whether one record could show in a release more than it may: tried on generated records, never on yours."""
    told = Arguments(study, {"statistic": statistic, **by_column(bounds, column_bounds, category),
                             "mechanism": mechanism, "privacy": privacy, "n": n})  # fmt: skip
    from confide_cli import auditing

    among = {"column": column, "table": table, "person": person, "at_most": at_most}
    auditing.audit(told, {"like": like, **among, "pairs": pairs, "seed": seed}, as_json)


@app.command(epilog="Example: confide schema infer")
def schema(name: o.SchemaName = "release") -> None:
    """The JSON Schema of release files, and of what --json prints."""
    from confide_cli.schemas import NAMES, schema_of
    from confide_cli.words import choice

    typer.echo(json.dumps(schema_of(choice("schema", name, NAMES)), indent=2))


@app.command(epilog="Example: confide reproduce section-5.3 --output out")
def reproduce(what: o.Experiment = "all", full: o.Full = False, output: o.Place = Path("reproduction")) -> None:
    """The experiments of the paper, done again: figures, tables and a page that says what holds."""
    from confide_cli.reproducing import reproduce as run

    run(what, full, output)


@app.command(epilog="Example: confide explore")
def explore(port: o.Port = 0, browser: o.Browser = True) -> None:
    """A page in the browser that plans a release and reads published numbers. No data reach it."""
    from confide_cli.exploring import explore as open_page

    open_page(port, browser)


@app.command(epilog="Example: confide demo --folder trial")
def demo(folder: o.Folder = None) -> None:
    """The whole idea in two minutes, on 2,019 real people."""
    from confide_cli.demo import demo as show

    show(folder)
