"""A series has the column that it is named after."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import confide as cf

CHANNEL = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=50)
VALUES = np.linspace(0, 1, 50)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_series_and_its_table_are_charged_once(frame, tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(5.0))
    table = frame({"id": np.arange(50), "age": VALUES})
    first = cf.release(CHANNEL, table, column="age", ledger=book, dataset="people")
    again = cf.release(CHANNEL, table["age"], ledger=book, dataset="people")
    assert again == first
    assert again.column == "age"
    assert book.spent("people") == cf.PureDP(1.0)
    with pytest.raises(cf.InvalidArgument, match="column"):
        cf.release(CHANNEL, table["age"], column="weight")


def test_a_series_without_a_name_is_a_column_without_one():
    assert cf.release(CHANNEL, pd.Series(VALUES)).column is None
    assert cf.release(CHANNEL, pd.Series(VALUES, name=3)).column is None
