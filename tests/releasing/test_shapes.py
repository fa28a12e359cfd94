"""The shape of a source, for an audit: declared types alone, and nothing that a record holds is ever repeated."""

import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import confide as cf
from confide.releasing.auditing.shapes import shape_of

SECRET = 7713.0


def frame(values, **options):
    return pd.DataFrame({"x": pd.Series(values, **options)})


SHAPES = {
    "categories": (frame([SECRET], dtype="category"), "pandas (objects)"),
    "texts": (frame(["3"], dtype="string"), "pandas (objects)"),
    "missing integers": (frame([1, None], dtype="Int64"), "pandas (int64)"),
    "missing bits": (frame([True, None], dtype="boolean"), "pandas (bool)"),
    "arrow integers": (frame([1], dtype="int64[pyarrow]"), "pandas (int64)"),
    "narrow integers": (frame([1], dtype="int8"), "pandas (int64)"),
    "narrow floats": (np.zeros(2, np.float16), "numpy (float32)"),
    "numpy texts": (np.array(["3"]), "numpy (objects)"),
    "bits": (np.zeros(2, bool), "numpy (int64)"),
    "polars series": (pl.Series("x", [1]), "polars (int64)"),
    "lazy": (pl.DataFrame({"x": [1.0]}).lazy(), "polars (float64)"),
    "narrow arrow": (pa.table({"x": pa.array([1], pa.int8())}), "arrow (int64)"),
}
NONE = {
    "sparse": frame(pd.arrays.SparseArray([1.0, SECRET], fill_value=SECRET)),
    "enumeration": pl.DataFrame({"x": pl.Series([str(SECRET)], dtype=pl.Enum([str(SECRET)]))}),
    "dictionary": pa.table({"x": pa.array([str(SECRET)]).dictionary_encode()}),
    "pairs": np.array([(SECRET, 2.0)], dtype=[("a", "f8"), ("b", "f8")]),
    "dates": frame(pd.to_datetime(["2020-01-01"])),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_of_what_a_release_reads(name):
    like, shape = SHAPES[name]
    assert str(shape_of(like, None, None)) == shape


@pytest.mark.parametrize("name", NONE)
def test_what_has_no_shape_is_refused_without_a_word_about_its_values(name):
    """A type may hold values: the categories of a column, once quoted from a record by a raw error."""
    with pytest.raises(cf.ConfideError) as error:
        shape_of(NONE[name], None if name == "pairs" else "x", None)
    assert "7713" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
def test_the_first_line_is_read_as_a_release_reads_it(tmp_path, separator):
    (tmp_path / "people.csv").write_bytes(f"id{separator}x\n".encode() + bytes(range(128, 256)))
    assert str(shape_of(tmp_path / "people.csv", "x", None)) == "csv (text)"
    with pytest.raises(cf.InvalidArgument, match="column"):
        shape_of(tmp_path / "people.csv", "y", None)
