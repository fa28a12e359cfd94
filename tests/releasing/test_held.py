"""What was digested is what was read, whatever becomes of the way to a file in the meantime."""

import os
import sys
import threading

import pandas as pd
import pytest

import confide as cf
from confide.published import DataError, Rows
from confide.releasing import aggregate, release
from confide.releasing.ledger.ledger import Ledger
from confide.releasing.readers import content, held, source

#: so little noise that a release tells zeros and ones apart
SHARP = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1e3)), n=4)
HOLDS = sys.platform == "linux"


@pytest.fixture
def book(tmp_path):
    made = Ledger(tmp_path / "budget.db")
    made.open("people", budget=cf.PureDP(1e6))
    return made


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame({"x": [value] * 4, "name": list("abcd")})
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)


def relink(link, target):
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def exchange(one, two):
    """Two folders, or two files, each under the other's name."""
    aside = one.with_name("aside")
    one.rename(aside)
    two.rename(one)
    aside.rename(two)


def ways(folder, kind):
    """A path to zeros, for each way in which it may lead to ones for a while: how that begins, and how it ends."""
    zeros, ones = folder / "a" / "in" / f"people.{kind}", folder / "b" / "in" / f"people.{kind}"
    write(zeros, 0.0)
    write(ones, 1.0)
    link, way, outer = folder / f"link.{kind}", folder / "way", folder / "outer"
    relink(link, zeros)
    relink(way, zeros.parent)
    relink(outer, way)
    guest = folder / "a" / "in" / f"a.{kind}"
    return {
        "link": (link, lambda: relink(link, ones), lambda: relink(link, zeros)),
        "folder link": (way / zeros.name, lambda: relink(way, ones.parent), lambda: relink(way, zeros.parent)),
        "chain": (outer / zeros.name, lambda: relink(way, ones.parent), lambda: relink(way, zeros.parent)),
        "parent": (zeros, lambda: exchange(zeros.parent, ones.parent), lambda: exchange(zeros.parent, ones.parent)),
        "grandparent": (zeros, lambda: exchange(folder / "a", folder / "b"), lambda: exchange(folder / "a", folder / "b")),
        "pattern": (zeros.parent / f"*.{kind}", lambda: write(guest, 1.0), guest.unlink),
        "pattern of folders": (
            folder / "a" / "*" / zeros.name,
            lambda: exchange(folder / "a", folder / "b"),
            lambda: exchange(folder / "a", folder / "b"),
        ),
    }  # fmt: skip


WAYS = ("link", "folder link", "chain", "parent", "grandparent", "pattern", "pattern of folders")


def during(monkeypatch, begin, end):
    """Something happens between the digest and the reading, and is undone before the release is stored."""
    opened, compute = source.open_source, aggregate.exact_numbers
    monkeypatch.setattr(source, "open_source", lambda *given: (begin(), opened(*given))[1])
    monkeypatch.setattr(aggregate, "exact_numbers", lambda *given: (compute(*given), end())[0])


@pytest.mark.skipif(not HOLDS, reason="folders have names of their own on Linux")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_read_is_what_was_digested(way, kind, book, tmp_path, monkeypatch):
    """The digest was of zeros and the numbers were of ones: one record at many positions of one content."""
    path, begin, end = ways(tmp_path / "data", kind)[way]
    with monkeypatch.context() as patch:
        during(patch, begin, end)
        published = release(SHARP, path, column="x", ledger=book, dataset="people", part=Rows(0, 4))
    assert abs(published.value) < 0.1
    assert release(SHARP, path, column="x", ledger=book, dataset="people", part=Rows(0, 4)) == published


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_is_exchanged_and_put_back_is_refused(kind, book, tmp_path, monkeypatch):
    zeros, ones = tmp_path / f"zeros.{kind}", tmp_path / f"ones.{kind}"
    write(zeros, 0.0)
    write(ones, 1.0)
    during(monkeypatch, lambda: exchange(zeros, ones), lambda: exchange(zeros, ones))
    with pytest.raises(DataError, match="changed while it was read"):
        release(SHARP, zeros, column="x", ledger=book, dataset="people", part=Rows(0, 4))
    assert book.spent("people") is None


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_while_it_is_read_is_refused(kind, book, tmp_path, monkeypatch):
    path = tmp_path / f"people.{kind}"
    write(path, 0.0)
    during(monkeypatch, lambda: write(path, 1.0), lambda: None)
    with pytest.raises(DataError, match="changed while it was read"):
        release(SHARP, path, column="x", ledger=book, dataset="people")
    assert book.spent("people") is None


def test_a_file_is_digested_beside_the_query(book, tmp_path, monkeypatch):
    """The digest waits for the query to be done, which would be for ever if the query waited for the digest."""
    path, read, together = tmp_path / "people.parquet", threading.Event(), []
    write(path, 1.0)
    digest, numbers = content._digest_of_file, aggregate.exact_numbers

    def waiting(file):
        together.append(read.wait(5))
        return digest(file)

    def reading(*asked):
        found = numbers(*asked)
        read.set()
        return found

    monkeypatch.setattr(content, "_digest_of_file", waiting)
    monkeypatch.setattr(aggregate, "exact_numbers", reading)
    first = release(SHARP, path, column="x", ledger=book, dataset="people")
    assert together == [True]
    assert release(SHARP, path, column="x", ledger=book, dataset="people") == first


def test_a_file_that_changes_when_it_was_read_and_is_still_digested_is_refused(book, tmp_path, monkeypatch):
    path, read = tmp_path / "people.parquet", threading.Event()
    write(path, 0.0)
    digest, numbers = content._digest_of_file, aggregate.exact_numbers

    def late(file):
        read.wait(5)
        write(path, 1.0)
        return digest(file)

    def reading(*asked):
        found = numbers(*asked)
        read.set()
        return found

    monkeypatch.setattr(content, "_digest_of_file", late)
    monkeypatch.setattr(aggregate, "exact_numbers", reading)
    with pytest.raises(DataError, match="changed"):
        release(SHARP, path, column="x", ledger=book, dataset="people")
    assert book.spent("people") is None


def test_a_change_in_the_same_tick_of_a_coarse_clock_is_seen(tmp_path, monkeypatch):
    """Many file systems know the time to some milliseconds: a file of this very moment may change and look the same."""
    state, tick = held._state, held._TICK // 2
    coarse = lambda path: tuple(n - n % tick if n > 10**15 else n for n in state(path))  # noqa: E731
    monkeypatch.setattr(held, "_state", coarse)
    path = tmp_path / "people.csv"
    for _ in range(5):
        path.write_text("x\n0\n")
        with held.holding(path) as found:
            path.write_text("x\n1\n")
            with pytest.raises(DataError, match="changed"):
                found.check()


def test_endings_are_those_of_the_name_and_not_of_what_it_leads_to(book, tmp_path):
    """A store of files by digest keeps them without endings, and links to them."""
    pd.DataFrame({"x": [0.0] * 4, "name": list("ab,d")}).to_csv(
        tmp_path / "blob", sep="\t", index=False, compression="gzip"
    )
    (tmp_path / "people.tsv.gz").symlink_to(tmp_path / "blob")
    published = release(SHARP, tmp_path / "people.tsv.gz", column="x", ledger=book, dataset="people")
    assert abs(published.value) < 0.1


def test_no_folder_stays_open_and_too_many_are_not_held(book, tmp_path, monkeypatch):
    for index in range(3):
        write(tmp_path / str(index) / "people.csv", 0.0)
    pattern = str(tmp_path / "?" / "people.csv")
    opened = len(os.listdir("/proc/self/fd")) if HOLDS else 0  # noqa: PTH208
    with held.holding(pattern) as found:
        assert [file.name for file in found.files] == [str(tmp_path / str(i) / "people.csv") for i in range(3)]
    assert not HOLDS or len(os.listdir("/proc/self/fd")) == opened  # noqa: PTH208
    monkeypatch.setattr(held, "MOST_FOLDERS", 2)
    with held.holding(pattern) as found:
        assert found is None
    # what cannot be held has no positions: parts add up
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(0.5)), n=6)
    for start in (0, 6):
        release(channel, pattern, column="x", ledger=book, dataset="people", part=Rows(start, start + 6))
    assert book.spent("people").epsilon == 1.0


@pytest.mark.parametrize("data", ["nowhere.csv", "postgresql://u:p@h/db", None, [1.0], "/tmp", "s3://b/x.csv"])
def test_what_is_no_file_is_not_held(data):
    with held.holding(data) as found:
        assert found is None
