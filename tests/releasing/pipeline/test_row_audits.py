"""The tester on histograms, private numbers of records, persons, groups and texts, and bugs planted there: all are found."""

import re

import ibis
import numpy as np
import pytest

import confide as cf
from confide.expression.database import double
from confide.releasing import aggregate, cells, persons, plan
from confide.releasing.auditing import audit, outcomes
from confide.releasing.auditing.examine import examine, plans_of
from confide.releasing.auditing.shapes import KINDS, STRANGE, Shape, every_shape
from confide.releasing.auditing.tables import Workshop
from confide.releasing.readers import source

LAPLACE, COUNTS, GAUSSIAN = cf.Laplace(cf.PureDP(1.0)), cf.Laplace(cf.PureDP(1.0), step=1), cf.Gaussian(cf.ZCDP(0.5))
EDGES = cf.Histogram("x", edges=[0, 0.1, 18])
WARDS = cf.Histogram("ward", categories=["north", "b, c"])
TABLE = cf.Histogram(["ward", "age"], categories={"ward": ["a", "b"]}, edges={"age": [18, 65]})
COST = cf.Sum("cost", bounds={"cost": (0, 100)})
ROWS = cf.Mean(["age", "(ward == 1) * age"], bounds={"age": (18, 90)}, categories={"ward": ["a", "b"]})
OF_PERSONS = {
    "sum": cf.Channel(COST.per_person("who", 2), LAPLACE),
    "table": cf.Channel(TABLE.per_person("who", 3), COUNTS),
    "count": cf.Channel(cf.Count().per_person("who", 50), GAUSSIAN),
    "edges": cf.Channel(EDGES.per_person("who", 1), LAPLACE),
}
CHANNELS = {
    "edges": cf.Channel(EDGES, COUNTS, 100), "edges, private": cf.Channel(EDGES, GAUSSIAN),
    "texts": cf.Channel(WARDS, LAPLACE, 10), "table": cf.Channel(TABLE, LAPLACE, 12), "table, private": cf.Channel(TABLE, COUNTS),
    "coarse": cf.Channel(EDGES, cf.Laplace(cf.PureDP(1.0), step=5), 12),
    "count": cf.Channel(cf.Count(), LAPLACE), "sum": cf.Channel(COST, LAPLACE), "sum x": cf.Channel(cf.Sum("x", (-1, 2)), GAUSSIAN),
    "vector": cf.Channel(cf.Sum(["x", "x > 0.1"], (-1, 2)), cf.Laplace(cf.PureDP(1.0), step=0.5)),
    "rows": cf.Channel(ROWS, LAPLACE, 30), "each": cf.Channel(cf.Each("age > 40", bounds={"age": (18, 90)}), cf.RandomizedResponse(cf.PureDP(1.0)), 12),
    "median": cf.Channel(cf.Median("age", bounds={"age": (18, 90)}), cf.SmoothCauchy(cf.PureDP(1.0)), 30),
    "trimmed": cf.Channel(cf.TrimmedMean("age", 0.2, bounds={"age": (18, 90)}), LAPLACE, 30),
    "lacking": cf.Channel(cf.Mean("log(max(b, a))", bounds={"a": (-1, 1), "b": (1, 2)}), LAPLACE, 12),
    "responses": cf.Channel(
        cf.Each("2 * (age > 40) + (ward == 1)", bounds={"age": (18, 90)}, categories={"ward": ["a", "b"]}),
        cf.RandomizedResponse(cf.ApproxDP(1.0, 1e-6), columns=(2, 2)), 12,
    ),
    **{f"{name} of persons": channel for name, channel in OF_PERSONS.items()},
}  # fmt: skip
#: each reader once, and once more where cells may hold anything; all types are tried by one column, and slowly here
SHAPES = [shape for shape in every_shape() if shape.kind in (KINDS[shape.reader][0], *STRANGE)]
NAMES = list(CHANNELS)


@pytest.mark.parametrize(("index", "shape"), enumerate(SHAPES), ids=map(str, SHAPES))
def test_every_reader_of_rows(index, shape):
    found = audit(CHANNELS[NAMES[index % len(NAMES)]], like=shape, pairs=15, seed=index)
    assert found.passed, found


@pytest.mark.parametrize("name", CHANNELS)
def test_every_kind_of_rows(name):
    found = audit(CHANNELS[name], like=Shape("arrow", "float64"), pairs=15, seed=7)
    assert found.passed, found
    assert found.refused == {}


@pytest.mark.parametrize("name", ["table", "edges, private", "rows", "table of persons", "sum of persons"])
def test_rows_of_a_database(name, postgres):
    import contextlib

    connection = ibis.connect(postgres)
    told = {"ward": "text", "age": "double precision", "cost": "real", "x": "numeric"}
    columns = ", ".join(f"{column} {told[column]}" for column in CHANNELS[name].statistic.columns)
    with contextlib.closing(connection.raw_sql(f"DROP TABLE IF EXISTS shapes; CREATE TABLE shapes ({columns})")):
        pass
    connection.disconnect()
    column = "x" if CHANNELS[name].statistic.columns == ("x",) else None
    found = audit(CHANNELS[name], like=postgres, column=column, table="shapes", pairs=15)
    assert found.passed, found


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANNELS)
def test_thousands_of_pairs_of_rows(name):
    found = audit(CHANNELS[name], pairs=5_000, seed=2000)
    assert found.passed, found


def test_persons_are_named_as_in_a_release():
    found = audit(cf.Channel(cf.Count(), LAPLACE), like=[1.0], person="who", at_most=4, pairs=15)
    assert found.channel.statistic.persons.at_most == 4
    assert "a private number" in str(found)
    with pytest.raises(cf.InvalidArgument, match="without a person"):
        audit(cf.Channel(cf.Count(), LAPLACE), like=[1.0], at_most=4)


def test_a_shape_is_that_of_the_columns(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"AGE": pa.array([], pa.int64()), "ward": pa.array([], pa.string())}), path)
    found = audit(CHANNELS["table"], like=path, column={"age": "AGE"}, pairs=15)
    assert list(found.tried) == ["parquet (int64)"]
    with pytest.raises(cf.InvalidArgument, match="is not a column"):
        audit(CHANNELS["table"], like=path)


def test_every_generated_row_is_what_its_meaning_says(tmp_path):
    """An oracle beside the tester: counts of cells by Python's own comparisons, for tables that hold nothing odd."""
    channel, generator = CHANNELS["edges, private"], np.random.default_rng(3)
    for step in examine(plans_of(channel), [Shape("csv", "text")], 60, generator, Workshop(tmp_path)):
        family = step.family
        if family.missing != "public" or family.part is not None:
            continue
        for cell, outcome in zip(family.cells, step.outcomes, strict=True):
            held = [row[0].means for _, row in (*family.records, *cell.rows)]
            if None not in held:
                kept = [x for x in held if np.isfinite(x)]
                expected = np.histogram(kept, [-np.inf, 0, 0.1, 18, np.inf])[0]
                step_of = float(family.plan.grid.step)
                assert [number * step_of for number in outcome.numbers] == expected.tolist()


# bugs


def _cells(change):
    """A table whose records were sorted into cells wrongly."""
    honest = aggregate.sorted_into_cells
    return lambda patch: patch.setattr(
        aggregate, "sorted_into_cells", lambda s, table, p: change(honest(s, table, p), table)
    )


def _edge_in_both(table, _):
    """A record on an edge is in the cell on either side of it."""
    on = table["x"] == double(0.1)
    return table.union(table.filter(on).mutate(q0=table["q0"] - ibis.literal(1, "int64")))


def _by_first(table, _):
    """Cells are counted from the first that is there."""
    return table.mutate(q0=table["q0"] - table["q0"].min().over(ibis.window()))


def edge_on_the_wrong_side(patch):
    """An interval that is closed above: by one double only."""

    def between(column, edges, first):
        found = ibis.literal(first, "int64")
        for edge in edges:
            found = found + (column > double(edge)).cast("int64")
        return found

    patch.setattr(cells, "_between", between)


def list_from_the_data(patch):
    """Texts are coded by their place among those that are there."""
    rank = ibis.dense_rank()
    patch.setattr(source, "code", lambda text, known, **_: rank.over(ibis.window(order_by=text)).cast("float64"))


def unlisted_is_refused(patch):
    honest = source.code

    def code(text, known, **told):
        found = honest(text, known, **told)
        return (found < double(float(len(known)))).ifelse(found, double(-1.0))

    patch.setattr(source, "code", code)


def _ranked(window):
    """A limit of rows by another order, or of others than a person."""

    def used(table, columns, at_most, engine):
        table = table.filter(~persons.is_text(table["id"], "", engine))
        return (
            table.mutate(rank=ibis.row_number().over(window(table))).filter(lambda t: t["rank"] < at_most).drop("rank")
        )

    return lambda patch: patch.setattr(aggregate, "rows_that_are_used", used)


def nobody_is_somebody(patch):
    patch.setattr(persons, "is_text", lambda text, value, _: ibis.literal(False))


def limit_off_by_one(patch):
    honest = persons.rows_that_are_used
    patch.setattr(
        aggregate, "rows_that_are_used", lambda table, names, most, *engine: honest(table, names, most + 1, *engine)
    )


def noise_of_one_row(patch):
    """Noise by what one row can do, where several of a person are used."""
    patch.setattr(plan, "rows_of_one", lambda statistic, n: 1)


def imputed_as_zero(patch):
    honest = outcomes.exact_numbers

    def found(plan_, source_, part, missing):
        return honest(plan_, source_, part, 0.0 if isinstance(missing, float) else missing)

    patch.setattr(outcomes, "exact_numbers", found)


def one_count_forgotten(patch):
    """A record that is replaced leaves a cell as well."""
    honest = plan.squared_moves
    patch.setattr(plan, "squared_moves", lambda n, step, norm: honest(None, step, norm))


def everybody_in_the_group(patch):
    patch.setattr(aggregate, "is_text", lambda text, value, _: text.length() > ibis.literal(0))


def lacking_is_the_last_cell(patch):
    """What is missing is counted in the last cell, where it ought to be refused or left out."""
    honest = aggregate._records

    def records(plan_, source_, part, missing):
        found = honest(plan_, source_, part, None if missing == "public" else missing)
        return found.mutate(q0=(found["q0"] < ibis.literal(0)).ifelse(found["q0"] + ibis.literal(2), found["q0"]))

    patch.setattr(aggregate, "_records", records)


BUGS = {
    "edge in both cells": (_cells(_edge_in_both), "edges, private", "moved by"),
    "edge on the wrong side": (edge_on_the_wrong_side, "edges, private", "mean the same"),
    "cells from the first": (_cells(_by_first), "edges", "moved by"),
    "list from the data": (list_from_the_data, "table, private", "moved by|mean the same"),
    "unlisted refused": (unlisted_is_refused, "texts", "was refused|depend on a record|not Confide's|nothing could"),
    "persons' rows by value": (_ranked(lambda t: ibis.window(group_by=t["id"], order_by=t["x"])), "edges of persons", None),
    "persons' rows as they come": (_ranked(lambda t: ibis.window(group_by=t["id"])), "sum of persons", "mean the same"),
    "rows of all limited": (_ranked(lambda t: ibis.window(order_by=t["id"])), "table of persons", "moved by"),
    "nobody is somebody": (nobody_is_somebody, "count of persons", "outside of the part"),
    "limit off by one": (limit_off_by_one, "count of persons", "moved by"),
    "noise of one row": (noise_of_one_row, "sum of persons", "moved by"),
    "imputed as zero": (imputed_as_zero, "edges", "mean the same"),
    "one count forgotten": (one_count_forgotten, "edges", "moved by"),
    "everybody in the group": (everybody_in_the_group, "sum", "outside of the part"),
    "lacking in the last cell": (lacking_is_the_last_cell, "edges, private", None),
}  # fmt: skip
#: what harms nobody: the rows with the smallest values are a person's own, and what is dropped may be counted
HARMLESS = [name for name, (_, _, words) in BUGS.items() if words is None]


def problems(name, folder, pairs=400):
    plans = [each for each in plans_of(CHANNELS[name]) if each.channel.n != 1]
    steps = examine(plans, [Shape("arrow", "float64")], pairs, np.random.default_rng(1), Workshop(folder))
    return (failure.problem for step in steps for failure in step.failures)


@pytest.mark.parametrize("bug", [name for name in BUGS if name not in HARMLESS])
def test_a_bug_that_is_planted_is_found(bug, monkeypatch, tmp_path):
    plant, name, words = BUGS[bug]
    plant(monkeypatch)
    assert any(re.search(words, problem) for problem in problems(name, tmp_path))


@pytest.mark.parametrize("bug", HARMLESS)
def test_what_harms_nobody_is_not_called_a_bug(bug, monkeypatch, tmp_path):
    plant, name, _ = BUGS[bug]
    plant(monkeypatch)
    assert list(problems(name, tmp_path, 60)) == []
