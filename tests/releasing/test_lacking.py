"""A record that lacks a value: what else it holds shows in no refusal, whatever is computed of the two."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import confide as cf
from confide.published import DataError
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers

_numbers = itertools.count()
LAPLACE = cf.Laplace(cf.PureDP(1.0))
ONE = {"a": (-1, 1), "b": (1, 2)}
#: to SQL `max(a, null)` is a, `clip(null, a, 3)` is a, and `min(a, null)` is a: undefined, or beyond all integers
TRAPS = [("log(max(b, a))", ONE), ("sqrt(clip(b, a, 3))", ONE), ("min(a, b)", {"a": (0, 1e300), "b": (0, 1)})]
CHANNELS = [
    make(text, bounds)
    for text, bounds in TRAPS
    for make in (
        lambda text, bounds: cf.Channel(cf.Mean(text, bounds=bounds), LAPLACE, 3),
        lambda text, bounds: cf.Channel(cf.Sum(text, bounds=bounds), LAPLACE),
        lambda text, bounds: cf.Channel(cf.TrimmedMean(text, 0.4, bounds=bounds), LAPLACE, 3),
    )
]


def refusals(channel, source, missing):
    """What is said for each of some values that stand beside the missing one."""
    plan, found = plan_of(channel), []
    for beside in (-0.5, 0.5, 1e299):
        with pytest.raises(DataError) as error:
            numbers(plan, *source({"a": [0.2, 0.3, beside], "b": [1.5, 1.2, None]}), missing=missing)
        found.append(str(error.value))
    return set(found)


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
@pytest.mark.parametrize("missing", [None, {"a": 0.5}], ids=["refused", "one of two"])
def test_a_refusal_says_nothing_of_what_stands_beside(channel, missing):
    (said,) = refusals(channel, lambda rows: (pd.DataFrame(rows, dtype=float),), missing)
    assert said.startswith("some values are missing")


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_nor_does_a_server(channel, postgres):
    import ibis

    connection = ibis.connect(postgres)

    def source(rows):
        table = pa.table({name: pa.array(cells, pa.float64()) for name, cells in rows.items()})
        name = f"lacking{next(_numbers)}"
        connection.create_table(name, table)
        return postgres, None, name

    (said,) = refusals(channel, source, None)
    connection.disconnect()
    assert said.startswith("some values are missing")


def test_what_is_filled_in_is_never_published():
    """The numbers are those of the records that lack nothing, or of the public constants, and of no end of the bounds."""
    rows = pd.DataFrame({"a": [0.25, -0.5, np.nan], "b": [1.5, np.nan, 1.25]})
    two, three = (plan_of(cf.Channel(cf.Mean(["a", "a + b"], bounds=ONE), LAPLACE, n)) for n in (1, 3))
    assert numbers(two, rows, missing="public") == numbers(two, rows.iloc[:1])
    given = rows.fillna({"a": 0.75, "b": 1.75})
    assert numbers(three, rows, missing={"a": 0.75, "b": 1.75}) == numbers(three, given)
