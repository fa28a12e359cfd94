"""The file of a ledger: who can read it, and what its entries' times decide."""

import os
import stat

import pytest

import confide as cf
from confide import registry
from confide.releasing import release

CHANNEL = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(0.1)), n=4)
X = [0.1, 0.2, 0.3, 0.4]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_a_new_ledger_is_for_its_owner_alone(tmp_path):
    """It holds a digest of the records and the key of the digest: who reads both can try out what one record is."""
    before = os.umask(0o000)
    try:
        book = cf.Ledger(tmp_path / "budget.db")
        book.open("people", budget=cf.PureDP(1.0))
        release(CHANNEL, X, ledger=book, dataset="people")
        assert stat.S_IMODE((tmp_path / "budget.db").stat().st_mode) == 0o600
        # its owner may share it
        (tmp_path / "budget.db").chmod(0o660)
        release(CHANNEL, X, ledger=cf.Ledger(tmp_path / "budget.db"), dataset="people", fresh=True)
        assert stat.S_IMODE((tmp_path / "budget.db").stat().st_mode) == 0o660
    finally:
        os.umask(before)


def test_the_order_of_entries_is_not_that_of_the_clock(tmp_path, monkeypatch):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    days = ["2026-05-05", "2020-01-01", "9999-12-31", "0001-01-01"]
    for position, day in enumerate(days, 1):
        monkeypatch.setattr("confide.releasing.ledger.entries.now", lambda day=day: f"{day}T00:00:00+00:00")
        assert release(CHANNEL, X, ledger=book, dataset="people", fresh=True).entry.position == position
    book.check()
    assert [line.day for line in book.listing("people")] == days
    assert book.spent("people") == cf.PureDP(0.4)


STATISTICS = {
    "mean of x on [0, 1]": cf.Mean("x", (0, 1)),
    "median of x on [0, 1]": cf.Median("x", (0, 1)),
    "quantile 0.9 of x on [0, 1]": cf.Quantile("x", 0.9, (0, 1)),
    "maximum of x on [0, 1]": cf.Maximum("x", (0, 1)),
    "minimum of x on [0, 1]": cf.Minimum("x", (0, 1)),
    "trimmedmean 0.25 of x on [0, 1]": cf.TrimmedMean("x", 0.25, (0, 1)),
    "each of x on [0, 1]": cf.Each("x", (0, 1)),
    "sum of x, 1 on [0, 1]": cf.Sum(["x", "1"], (0, 1)),
    "mean of x * (y == 0) on x [0, 1], y": cf.Mean("x * (y == 0)", {"x": (0, 1)}, categories={"y": ["f"]}),
    "histogram of x, 3 cells": cf.Histogram("x", edges=[0, 1]),
    "histogram of x and y, 6 cells": cf.Histogram(["x", "y"], edges={"x": [0.5]}, categories={"y": ["f", "m"]}),
    "count of records": cf.Count(),
    "count of records, at most 3 rows of each y": cf.Count().per_person("y", 3),
    "histogram of x, 2 cells, at most 1 rows of each y": cf.Histogram("x", edges=[0]).per_person("y", 1),
}


def test_a_ledger_lists_every_statistic(tmp_path):
    """Of a histogram it once said that the ledger was damaged, and that a copy could replace it."""
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(100.0))
    for statistic in STATISTICS.values():
        n = None if statistic.persons is not None or statistic.counts else 4
        channel = cf.Channel(statistic, cf.Laplace(cf.PureDP(1.0)), n)
        column = {"column": "x"} if statistic.columns in (("x",), ()) else {}
        release(channel, {"x": X, "y": ["f", "m", "f", "f"]}, ledger=book, dataset="people", **column)
    assert [line.what for line in book.listing("people")] == list(STATISTICS)
    assert {type(statistic).__name__ for statistic in STATISTICS.values()} == set(registry.STATISTICS.values())
    assert len(book.statement("people").releases) == len(book.releases("people")) == len(STATISTICS)
    book.check()
