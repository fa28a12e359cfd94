"""n is public: no more is read than it takes to know that there are other than n records."""

import gzip
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.published import DataError, Rows
from confide.releasing import release
from confide.releasing.readers import delimited, memory

CHANNEL = cf.Channel(cf.Mean("x", (0, 10)), cf.Laplace(cf.PureDP(1.0)), n=4)


class Endless(Sequence):
    """A sequence that says how long it is, and goes on."""

    def __init__(self, length=4):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if index > 3_000_000:
            raise MemoryError("far more was read than there may be")
        return 1.0


FORMS = [
    Endless,
    lambda: {"x": Endless()},
    lambda: [1.0, Endless(), 2.0, 3.0],
    lambda: pd.Series([1.0, Endless(), 2.0, 3.0], dtype=object),
    lambda: np.array([1.0, None, Endless(), 3.0], dtype=object),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [None, Rows(0, 4)])
def test_what_has_no_end_is_read_up_to_its_length(form, part, tmp_path, monkeypatch):
    monkeypatch.setattr(Endless, "__getitem__", watched := Watched(Endless.__getitem__))
    release(CHANNEL, form(), part=part, missing=5.0)
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    release(CHANNEL, form(), part=part, missing=5.0, ledger=book, dataset="people")
    assert watched.most < 4


class Watched:
    """A method that remembers the largest index that it was asked for."""

    def __init__(self, method):
        self.method, self.most = method, -1

    def __get__(self, instance, _=None):
        def asked(index):
            self.most = max(self.most, index)
            return self.method(instance, index)

        return asked


def test_what_says_that_it_has_no_end_is_refused():
    with pytest.raises(DataError, match="more than 1,000,008 records"):
        release(CHANNEL, Endless(2**60), missing=5.0)


def test_a_file_is_read_until_there_are_too_many_records(tmp_path, monkeypatch):
    """A few bytes may decompress to more than anybody waits for."""
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"x,id\n" + b"1,2\n" * 1_000_000))
    seen = []
    blocks = delimited.blocks_of
    monkeypatch.setattr(
        delimited, "blocks_of", lambda *a, **k: (seen.append(len(block)) or block for block in blocks(*a, **k))
    )
    with pytest.raises(DataError, match="there are 1000000 records"):
        release(CHANNEL, path, column="x")
    assert sum(seen) == 4_000_000
    for module in (delimited, memory):
        monkeypatch.setattr(module, "read_at_most", lambda stop: stop + 1000)
    monkeypatch.setattr("confide.releasing.aggregate.read_at_most", lambda stop: stop + 1000)
    seen.clear()
    with pytest.raises(DataError, match="there are more than 1,004 records"):
        release(CHANNEL, path, column="x")
    assert sum(seen) <= 2 * delimited.BLOCK
