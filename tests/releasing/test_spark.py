"""Spark in local mode: the same code by another connection."""

import numpy as np
import pytest

import confide as cf
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers, whole_numbers

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
VALUES = [1.5, -2.25, 3.0, 0.125, -9.5, 1e308, -1e308, 5e-324, -0.0, 1e-200]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    pyspark = pytest.importorskip("pyspark", reason="pyspark is missing; `make test-spark` installs it (it needs Java)")
    import ibis

    builder = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))).getOrCreate()
    yield ibis.pyspark.connect(session), session
    session.stop()


@pytest.mark.parametrize(
    "expression", ["x", "abs(x)", "x**2/4", "where(x < 0, -x, x*x/4)", "interp(x, [-4, 0, 4], [1, 3, -5])", "1000*x"]
)
@pytest.mark.parametrize("epsilon", [1.0, 1e11])
def test_sums(expression, epsilon, spark):
    connection, _ = spark
    table = connection.create_table("people", {"a b": VALUES}, overwrite=True)
    plan = plan_of(cf.Channel(cf.Mean(expression, (-16, 16)), cf.Laplace(cf.PureDP(epsilon)), len(VALUES)))
    expected = [
        sum(column) for column in zip(*(whole_numbers(plan.channel, plan.grid, x) for x in VALUES), strict=True)
    ]
    assert numbers(plan, table, "a b") == expected


def test_missing_windows_and_each(spark):
    from confide.releasing import release

    connection, _ = spark
    values = [*VALUES, float("nan"), None, float("inf")]
    table = connection.create_table("holes", {"x": values}, overwrite=True)
    channel = cf.Channel(cf.Median("x", (-16, 16)), cf.Exponential(cf.PureDP(1.0), cap=2), len(values))
    plan = plan_of(channel)
    with pytest.raises(cf.ConfideError, match="missing"):
        numbers(plan, table, "x")
    found = numbers(plan, table, "x", missing=4.0)
    duckdb = numbers(plan, values, missing=4.0)
    np.testing.assert_array_equal(found, duckdb)
    each = cf.Channel(cf.Each("x", (-16, 16)), cf.Laplace(cf.PureDP(1e6)), len(VALUES))
    published = release(each, table, column="x", missing="public")
    np.testing.assert_allclose(np.sort(published.value), np.sort(np.clip(VALUES, -16, 16)), atol=0.01)
