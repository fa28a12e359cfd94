"""Ledgers that were damaged, copied, restored or made by an older version: they pay once, or say why they do not."""

import random
import shutil
import sqlite3
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.published import BudgetError, Hashed, LedgerError, Rows
from confide.releasing import release
from confide.releasing.ledger.ledger import Ledger

X = [0.1, 0.4, 0.35, 0.8]
LINE = np.linspace(0, 1, 8)
OLD = Path(__file__).parent / "data" / "ledger-version-1.sql"


def mean(epsilon=0.25, n=4):
    return cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(epsilon)), n=n)


@pytest.fixture
def filled(tmp_path):
    """A ledger with releases of every kind, closed."""
    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(4.0))
    book.open("others", budget=cf.ApproxDP(1.0, 1e-6))
    for index in range(3):
        release(mean(), X, ledger=book, dataset="people", purpose=f"{index}")
        release(mean(0.125), X, ledger=book, dataset="others", purpose=f"{index}")
    release(mean(), LINE, ledger=book, dataset="people", part=Rows(0, 4))
    release(mean(), LINE, ledger=book, dataset="people", part=Rows(4, 8))
    each = cf.Channel(cf.Each("x", (0, 1)), cf.Laplace(cf.PureDP(0.25)), n=4)
    release(each, X, ledger=book, dataset="people")
    return tmp_path / "budget.db"


def size(guarantee):
    return 0.0 if guarantee is None else guarantee.epsilon


def spoiled(chance, content):
    """Bytes of a damaged file: flipped, zeroed, cut off, or with pages exchanged or repeated."""
    content = bytearray(content)
    page = 4096
    match chance.randrange(6):
        case 0 | 1:
            for _ in range(chance.choice([1, 1, 4, 40])):
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        case 2:
            at = chance.randrange(len(content))
            count = min(chance.choice([1, 16, 500, page]), len(content) - at)
            content[at : at + count] = bytes(count)
        case 3:
            at = chance.randrange(len(content))
            content[at : at + 60] = chance.randbytes(min(60, len(content) - at))
        case 4:
            del content[chance.randrange(1, len(content)) :]
        case 5:
            one, two = (chance.randrange(len(content) // page) * page for _ in range(2))
            first, second = content[one : one + page], content[two : two + page]
            content[one : one + page] = second
            if chance.random() < 0.5:
                content[two : two + page] = first
    return bytes(content)


def attacks(content, before, place, count, seed):
    """Damage a ledger many times; what became of it. Budget may be lost and never regained, and no error is raw."""
    chance = random.Random(seed)
    outcomes = {"refused": 0, "whole": 0}
    for _ in range(count):
        place.write_bytes(spoiled(chance, content))
        try:
            book = Ledger(place)
            for name, (left, whole) in before.items():
                assert size(book.left(name)) <= left
                book.open(name, budget=whole)
                assert size(book.left(name)) <= left
                if size(book.left(name)) >= 0.125:
                    data, part = (LINE, Rows(0, 4)) if name == "people" else (X, None)
                    release(mean(0.125), data, ledger=book, dataset=name, part=part, purpose="more")
                    assert size(book.left(name)) <= left - 0.125
            book.releases("people")
            outcomes["whole"] += 1
        except (LedgerError, BudgetError, cf.FileError):
            outcomes["refused"] += 1
        for beside in place.parent.glob(place.name + "-*"):
            beside.unlink()
    return outcomes


@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_damaged_ledgers_never_regain_budget(count, filled, tmp_path, capsys):
    book = Ledger(filled)
    before = {name: (size(book.left(name)), book.budget(name)) for name in book.datasets()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = attacks(filled.read_bytes(), before, tmp_path / "spoiled.db", count, seed=count)
    assert outcomes["refused"] > count // 4
    if count > 1000:
        with capsys.disabled():
            print(f"\n{count} damaged ledgers: {outcomes}")


EDITS = [
    "UPDATE confide_datasets SET spent = '0 0' WHERE name = 'people'",
    'UPDATE confide_datasets SET budget = \'{"kind": "PureDP", "epsilon": 9.0}\' WHERE name = \'people\'',
    "UPDATE confide_datasets SET count = 5 WHERE name = 'people'",
    'UPDATE confide_releases SET guarantee = \'{"kind": "PureDP", "epsilon": 0.01}\' WHERE position = 6',
    "UPDATE confide_releases SET form = '{}' WHERE position = 6",
    "UPDATE confide_releases SET position = 60 WHERE position = 6",
    "UPDATE confide_releases SET seal = NULL WHERE position = 6",
    "DELETE FROM confide_chunks; DELETE FROM confide_releases WHERE position = 6",
    "DELETE FROM confide_chunks; DELETE FROM confide_pieces; DELETE FROM confide_releases",
    "PRAGMA foreign_keys = OFF; DELETE FROM confide_datasets WHERE name = 'people'",
    "UPDATE confide_releases SET form = CAST(x'ff80fe' AS TEXT) WHERE position = 6",
    "UPDATE confide_datasets SET spent = CAST(x'ff80fe' AS TEXT)",
    "UPDATE confide_datasets SET spent = x'ff80fe'",
    "UPDATE confide_datasets SET count = 'many'",
    "UPDATE confide_ledger SET secret = NULL",
    "UPDATE confide_ledger SET secret = CAST(x'ff80fe' AS TEXT)",
]


@pytest.mark.parametrize("edit", EDITS)
def test_edited_ledgers_are_refused_in_words(edit, filled):
    with sqlite3.connect(filled) as connection:
        connection.executescript(edit)
    with pytest.raises(LedgerError, match="second time"):
        release(mean(), X, ledger=Ledger(filled), dataset="people", fresh=True)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE confide_pieces SET total = '0 0'",
        "UPDATE confide_pieces SET start = 1 WHERE start = 0",
        "DELETE FROM confide_pieces WHERE start = 0",
        "DELETE FROM confide_pieces",
    ],
)
def test_parts_that_were_lost_are_not_free(edit, filled):
    with sqlite3.connect(filled) as connection:
        connection.execute(edit)
    book = Ledger(filled)
    with pytest.raises(LedgerError, match="second time"):
        release(mean(), LINE, ledger=book, dataset="people", part=Rows(0, 4), fresh=True)
    with pytest.raises(LedgerError):
        book.check()


def test_the_whole_ledger_is_walked_through(filled):
    book = Ledger(filled)
    book.check()
    edits = {
        "UPDATE confide_releases SET purpose = 'x'": None,
        "UPDATE confide_releases SET form = replace(form, '0.', '1.') WHERE position = 2": "has changed",
        "DELETE FROM confide_releases WHERE position = 2 AND dataset = 'others'": "missing",
        "UPDATE confide_chunks SET content = x'00'": "table",
        "INSERT INTO confide_releases (dataset, request, guarantee, form, made) VALUES ('people', '', '', '', '')": "more",
    }
    content = filled.read_bytes()
    for edit, words in edits.items():
        filled.write_bytes(content)
        connection = sqlite3.connect(filled)
        if words is None:
            with pytest.raises(sqlite3.OperationalError):
                connection.execute(edit)
            continue
        with connection:
            connection.execute(edit)
        connection.close()
        with pytest.raises(LedgerError, match=words):
            Ledger(filled).check()


def test_a_copy_and_a_restored_ledger_are_warned_of(filled, tmp_path):
    """What a copy lacks was released all the same: using it pays a second time."""
    copy = tmp_path / "copy.db"
    shutil.copy(filled, copy)
    with pytest.warns(UserWarning, match=r"a copy of .*budget.db"):
        Ledger(copy)
    release(mean(), X, ledger=Ledger(filled), dataset="people", purpose="after the copy")
    shutil.copy(copy, filled)
    book = Ledger(filled)
    with pytest.warns(UserWarning, match="paid for a second time"):
        release(mean(), X, ledger=book, dataset="people", purpose="again")
    # the restored one went its own way: it has as many entries as were seen, and other ones
    with pytest.warns(UserWarning, match="went its own way"):
        release(mean(), X, ledger=book, dataset="people", purpose="and again")
    filled.unlink()
    with pytest.warns(UserWarning, match="there was another ledger"):
        Ledger(filled)


def test_a_ledger_that_was_moved_is_no_copy(filled, tmp_path):
    filled.rename(tmp_path / "elsewhere.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", cf.NoiseWarning)
        release(mean(), X, ledger=Ledger(tmp_path / "elsewhere.db"), dataset="people", purpose="more")


@pytest.fixture
def old(tmp_path):
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.executescript(OLD.read_text())
    connection.close()
    return tmp_path / "old.db"


def test_a_ledger_of_version_1_is_brought_to_version_2(old):
    """Nothing is lost, and what version 1 took for disjoint without a proof adds up."""
    book = Ledger(old)
    book.check()
    assert book.datasets() == ["People ", "empty", "people"]
    made = book.releases("people")
    assert [release.purpose for release in made] == ["first", "", "", "", "", ""]
    # whole: first and Each; positions in memory: both; identifiers: the dearer of two
    assert book.spent("people") == cf.PureDP(5 * 0.25)
    assert book.left("empty") == cf.ApproxDP(1.0, 1e-6)
    assert book.spent("People ").mu > 0
    assert len(made[-1].value) == 4
    release(mean(), X, ledger=book, dataset="people", purpose="first")
    assert book.spent("people") == cf.PureDP(6 * 0.25)
    Ledger(old).check()


def test_an_upgrade_that_fails_changes_nothing(old, monkeypatch):
    from confide.releasing.ledger import upgrade

    content = old.read_bytes()
    monkeypatch.setattr(upgrade, "_charge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Ledger(old)
    monkeypatch.undo()
    with sqlite3.connect(old) as connection:
        assert connection.execute("SELECT version FROM confide_ledger").fetchone() == (1,)
    assert len(old.read_bytes()) >= len(content)
    assert Ledger(old).spent("people") == cf.PureDP(1.25)


def test_a_ledger_of_version_1_on_postgres(old, postgres):
    """The tables of version 1 are those of version 2 without what was added; their rows are those of the file."""
    import sqlalchemy as sa

    from confide.releasing.ledger.tables import metadata
    from confide.releasing.ledger.upgrade import _ADDED

    engine = sa.create_engine(postgres.replace("postgresql", "postgresql+psycopg", 1), poolclass=sa.NullPool)
    with engine.begin() as connection, sqlite3.connect(old) as source:
        metadata.drop_all(connection)
        metadata.create_all(connection)
        connection.exec_driver_sql("DROP TABLE confide_pieces")
        for table, names in _ADDED.items():
            for name in names:
                connection.exec_driver_sql(f"ALTER TABLE {table.name} DROP COLUMN {name} CASCADE")
        for name in ("ledger", "datasets", "releases", "chunks"):
            rows = source.execute(f"SELECT * FROM confide_{name}").fetchall()
            blanks = ", ".join(["%s"] * len(rows[0]))
            for row in rows:
                connection.exec_driver_sql(f"INSERT INTO confide_{name} VALUES ({blanks})", row)
        connection.exec_driver_sql("SELECT setval('confide_releases_id_seq', 100)")
    book = Ledger(postgres)
    book.check()
    assert book.spent("people") == cf.PureDP(5 * 0.25)
    release(mean(), X, ledger=book, dataset="people", purpose="first")
    assert book.spent("people") == cf.PureDP(6 * 0.25)
    with engine.begin() as connection:
        metadata.drop_all(connection)


ALIKE = ["People", "people ", " people", "PEOPLE", "ｐｅｏｐｌｅ", "pеople", "реорlе", "people\u00a0"]
HIDDEN = [
    chr(0x200B),
    "\u202epeople",
    "peo\u00adple",
    "people\n",
    "\ufeffpeople",
    "peo\u2060ple",
    "people\u3164",
    "people\u17b4",
]


@pytest.mark.parametrize("name", ALIKE)
def test_names_that_look_alike_share_no_second_budget(name, tmp_path):
    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    with pytest.raises(BudgetError, match="'people'"):
        book.open(name, budget=cf.PureDP(1.0))
    with pytest.raises(BudgetError, match="looks alike"):
        release(mean(), X, ledger=book, dataset=name)
    assert book.datasets() == ["people"]


@pytest.mark.parametrize("name", HIDDEN)
def test_names_with_characters_that_nobody_sees_are_refused(name, tmp_path):
    book = Ledger(tmp_path / "budget.db")
    with pytest.raises(cf.InvalidArgument, match="invisible"):
        book.open(name, budget=cf.PureDP(1.0))


def test_different_names_are_different(tmp_path):
    book = Ledger(tmp_path / "budget.db")
    names = ["people-2025", "people-2026", "люди", "人", "Personen (Köln)", "personen (koln)", "a/b", "a b", "ab"]
    for name in names:
        book.open(name, budget=cf.PureDP(1.0))
    assert sorted(book.datasets()) == sorted(names)


def milliseconds(*books):
    """The processor's time for a release into each of some ledgers, the least of several made in turn."""
    times = []
    for index in range(13):
        times.append([])
        for book in books:
            started = time.process_time()
            release(mean(1e-6), X, ledger=book, dataset="people", purpose=f"timed {index}")
            times[-1].append(time.process_time() - started)
    return 1e3 * np.min(times[1:], axis=0)


def fill(book, count, request="0" * 64):
    """Many entries, without their releases, of one request; some are from a part of their own price."""
    from dataclasses import replace

    from confide.releasing.ledger import account as accounts
    from confide.releasing.ledger import budget as budgets
    from confide.releasing.ledger.tables import releases

    def work(inside):
        account, rows = accounts.load(inside, "people"), []
        told = {"request": request, "source": "1" * 64, "content": None, "form": "{}", "made": ""}
        for index in range(count):
            guarantee = cf.PureDP(1e-6 * (1 + index % 3))
            asked = accounts.Charge(
                guarantee, None, None, budgets.plus(account.spent, accounts.cost_of(account, guarantee))
            )
            rows.append(accounts.entry_row(inside, account, asked, told))
            account = replace(account, count=account.count + 1, spent=asked.after, head=rows[-1]["seal"])
        inside._connection.execute(releases.insert(), rows)
        inside.change_dataset(account.row)
        for index in range(min(count // 20, 300)):
            part = Rows(7 * index, 7 * index + 9)
            asked = accounts.charge(inside, account, cf.PureDP(1e-6 * (1 + index % 3)), part, inside.keyed("a"))
            row = accounts.entry_row(inside, account, asked, told)
            inside.add_release(None, row)
            account = accounts.settle(inside, account, asked, row)

    book._store.run(work, writes=True)


@pytest.mark.parametrize("count", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_release_takes_as_long_from_a_long_ledger_as_from_a_short_one(count, tmp_path, capsys):
    books = [Ledger(tmp_path / name) for name in ("short.db", "long.db")]
    for book in books:
        book.open("people", budget=cf.PureDP(100.0))
    fill(books[1], count)
    short, long = milliseconds(*books)
    if count > 10_000:
        with capsys.disabled():
            print(f"\n{count} entries: {long:.1f} ms per release, {short:.1f} ms without them")
    assert long < 1.5 * short + 5


def test_the_work_of_a_release_does_not_grow_with_the_ledger(tmp_path):
    """Counted, not timed: the steps of SQLite's machine, also where all entries are of the request that is made."""
    import sqlalchemy as sa

    from confide.releasing.ledger.ledger import Request

    steps = []

    def listen(connection, _record):
        connection.set_progress_handler(lambda: steps.append(None), 1)

    def cost(book, part=None):
        steps.clear()
        release(mean(1e-6), LINE if part else X, ledger=book, dataset="people", part=part, fresh=True)
        return len(steps)

    request = Request(mean(1e-6), "people", None, None, "", None).key
    counts = []
    for count in (20, 2000):
        book = Ledger(tmp_path / f"{count}.db")
        book.open("people", budget=cf.PureDP(100.0))
        fill(book, count, request)
        sa.event.listen(book._store._engine, "connect", listen)
        counts.append([cost(book), cost(book, Rows(0, 4)), cost(book, Rows(0, 4))])
    assert min(counts[0]) > 100
    assert np.max(np.divide(*counts[::-1])) < 1.2, counts


def test_the_same_identifiers_compose_and_others_add_up(tmp_path):
    """`Hashed` parts of one file or of one column in memory; another file may give other people the same identifiers."""
    book = Ledger(tmp_path / "budget.db")
    frame = pd.DataFrame({"id": [f"a{i}" for i in range(8)], "x": LINE, "y": LINE[::-1]})
    below = int(release_count(frame, 0, 0.5))

    def half(data, which, column="x"):
        part = Hashed("id", 0, 0.5) if which == 0 else Hashed("id", 0.5, 1)
        n = below if which == 0 else 8 - below
        release(mean(n=n), data, column=column, ledger=book, dataset=name, part=part)

    frame.to_parquet(tmp_path / "one.parquet")
    frame.assign(id=frame["id"][::-1].to_numpy()).to_parquet(tmp_path / "two.parquet")
    for name, calls, cost in (
        ("memory", [(frame, 0), (frame, 1, "y")], 0.25),
        ("file", [(tmp_path / "one.parquet", 0), (tmp_path / "one.parquet", 1)], 0.25),
        ("files", [(tmp_path / "one.parquet", 0), (tmp_path / "two.parquet", 1)], 0.5),
        ("others", [(frame, 0), (frame.assign(id=frame["id"][::-1].to_numpy()), 1)], 0.5),
    ):
        book.open(name, budget=cf.PureDP(1.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for call in calls:
                half(*call)
        assert book.spent(name) == cf.PureDP(cost), name


def release_count(frame, start, stop):
    import hashlib

    hashes = [int(hashlib.md5(text.encode()).hexdigest()[:8], 16) / 2**32 for text in frame["id"]]
    return sum(start <= value < stop for value in hashes)
