"""The file of a ledger: who can read it, and what its entries' times decide."""

import os
import stat

import pytest

import confide as cf
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
