"""The digest of records in memory: any two that differ have places of their own."""

import datetime
import uuid
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import polars as pl
import pytest

from confide.releasing.readers.content import content_of


class Code:
    """A cell of a kind that nobody foresaw."""

    def __init__(self, letter):
        self.letter = letter


PLACES = [
    ("dates", [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), object, 3, "x"]),
    ("bytes", [b"a", b"b", object, 3, "x"]),
    ("bytes and texts", [b"3", "3"]),
    ("nanoseconds", [pd.Timestamp(1), pd.Timestamp(2), 1]),
    ("identifiers", [uuid.UUID(int=1), uuid.UUID(int=2), 1]),
    ("fractions", [Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40)]),
    ("decimals", [Decimal(2**53), Decimal(2**53 + 1), "x"]),
    ("a decimal and a number", [Decimal(1), 1]),
    ("whole numbers", [10**5000, 10**5001]),
    ("halves of letters", ["\ud800", "\udc00"]),
    ("lists", [[1], [2], 1]),
    ("fields", [{"a": 1, "b": None}, {"a": 1}]),
    ("anything", [Code("a"), Code("b")]),
]


@pytest.mark.parametrize("cells", [cells for _, cells in PLACES], ids=[name for name, _ in PLACES])
@pytest.mark.parametrize(
    "form", [list, tuple, lambda cells: {"x": cells}, lambda cells: pd.Series(cells, dtype=object)]
)
def test_records_that_differ_in_any_cell_have_places(cells, form):
    """Two of them that change places are other people at these positions."""
    one, other, *rest = cells
    found = [content_of(form(each), None, []) for each in (cells, [other, one, *rest], cells)]
    assert None not in found
    assert found[0] == found[2]
    assert found[0] != found[1]


def test_categories_have_places_and_objects_of_polars_none():
    first, second = (
        content_of(pd.DataFrame({"x": pd.Categorical(cells)}), None, []) for cells in ([b"3", "3"], ["3", b"3"])
    )
    assert first != second
    # Arrow is told where objects are, and others may be there the next time
    assert content_of(pl.Series("x", [Code("a")], dtype=pl.Object), None, []) is None
    assert content_of(pl.DataFrame({"x": pl.Series([Code("a")], dtype=pl.Object)}), None, []) is None
