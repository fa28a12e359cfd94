"""Neighbours through every reader and every kind of plan: 10³ pairs here, 10⁵ in the slow run."""

import pytest

from confide.releasing.auditing import Shape, audit, examine
from confide.releasing.auditing.shapes import KINDS, STRANGE, every_shape
from tests.releasing.pipeline.channels import CHANNELS

SHAPES = every_shape()


@pytest.mark.parametrize(("index", "shape"), enumerate(SHAPES), ids=map(str, SHAPES))
def test_every_reader(index, shape):
    found = audit(CHANNELS[index % len(CHANNELS)], like=shape, pairs=45 if shape.kind in STRANGE else 15, seed=index)
    assert found.passed, found


@pytest.mark.parametrize(("index", "channel"), enumerate(CHANNELS), ids=map(repr, CHANNELS))
def test_every_kind_of_plan(index, channel):
    found = audit(channel, like=Shape("arrow", "float64"), pairs=15, seed=100 + index)
    assert found.passed, found
    assert found.refused == {}


@pytest.mark.parametrize(("index", "kind"), enumerate(KINDS["postgres"]), ids=KINDS["postgres"])
def test_postgres(index, kind, postgres):
    import ibis

    connection = ibis.connect(postgres)
    connection.raw_sql(f"DROP TABLE IF EXISTS shape; CREATE TABLE shape (id bigint, x {_POSTGRES[kind]})").close()
    connection.disconnect()
    found = audit(CHANNELS[index], like=postgres, column="x", table="shape", pairs=30, seed=index)
    assert list(found.tried) == [f"postgres ({kind})"]
    assert found.passed, found


_POSTGRES = {
    "float64": "double precision", "float32": "real", "int64": "bigint", "int32": "integer", "bool": "boolean",
    "decimal": "numeric", "text": "text",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("index", "channel"), enumerate(CHANNELS), ids=map(repr, CHANNELS))
def test_a_hundred_thousand_pairs(index, channel, monkeypatch):
    """The work is in the tables, and all pairs of a family are neighbours: few families, as large as they come."""
    monkeypatch.setattr(examine, "_FEWEST", examine._MOST)
    found = audit(channel, pairs=100_000 // len(CHANNELS) + 1, seed=1000 + index)
    assert found.passed, found
    assert sum(found.tried.values()) > 100_000 / len(CHANNELS)


def test_equal_seeds_try_the_same():
    first, second = (audit(CHANNELS[0], like=Shape("list", "inferred"), pairs=15, seed=7) for _ in range(2))
    assert str(first) == str(second)
