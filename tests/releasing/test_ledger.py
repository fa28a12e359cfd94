"""The ledger: budgets, parts, repeated requests, damage, and processes that race or die."""

import json
import random
import sqlite3
import subprocess
import sys
import textwrap
import time
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.published import BudgetError, Hashed, LedgerError, Rows
from confide.releasing import release
from confide.releasing.ledger.budget import NOTHING, amount_of, left, plus, refusal
from confide.releasing.ledger.ledger import Ledger

X = [0.1, 0.4, 0.35, 0.8]


def mean(privacy=cf.PureDP(0.25), mechanism=cf.Laplace):  # noqa: B008
    return cf.Channel(cf.Mean("x", (0, 1)), mechanism(privacy), n=4)


@pytest.fixture(params=["sqlite", "postgres"])
def book(request, tmp_path):
    if request.param == "sqlite":
        return Ledger(tmp_path / "budget.db")
    import sqlalchemy as sa

    url = request.getfixturevalue("postgres").replace("postgresql", "postgresql+psycopg", 1)
    with sa.create_engine(url).begin() as connection:
        for table in ("chunks", "pieces", "releases", "datasets", "ledger"):
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS confide_{table} CASCADE")
    return Ledger(request.getfixturevalue("postgres"))


def test_a_budget_is_spent_once_per_request_and_never_passed(book):
    book.open("people", budget=cf.PureDP(1.0))
    book.open("people", budget=cf.PureDP(1.0))
    assert book.spent("people") is None
    assert book.left("people") == cf.PureDP(1.0)
    first = release(mean(), X, ledger=book, dataset="people")
    assert release(mean(), X, ledger=book, dataset="people") == first
    for different in ({"purpose": "other"}, {"missing": 0.5}, {"part": "pilot"}):
        assert release(mean(), X, ledger=book, dataset="people", **different) != first
    assert book.left("people") is None
    assert book.spent("people") == cf.PureDP(1.0)
    with pytest.raises(BudgetError, match="nothing is left"):
        release(mean(), X, ledger=book, dataset="people", fresh=True)
    assert release(mean(), X, ledger=book, dataset="people") == first
    assert [r.purpose for r in book.releases("people")] == ["", "other", "", ""]
    assert book.datasets() == ["people"]
    assert book.budget("people") == cf.PureDP(1.0)


def test_a_fresh_release_is_another_one_and_costs_again(book):
    book.open("people", budget=cf.PureDP(1.0))
    first, second = (release(mean(), X, ledger=book, dataset="people", fresh=True) for _ in range(2))
    assert first != second
    assert release(mean(), X, ledger=book, dataset="people") == second
    assert book.left("people") == cf.PureDP(0.5)


def test_each_releases_are_stored_whole(book):
    book.open("people", budget=cf.PureDP(1.0))
    channel = cf.Channel(cf.Each("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
    first = release(channel, X, ledger=book, dataset="people")
    again = release(channel, X, ledger=book, dataset="people")
    assert again == first
    np.testing.assert_array_equal(again.value, first.value)


def test_a_refused_release_reads_nothing_and_spends_nothing(book):
    book.open("people", budget=cf.PureDP(0.2))
    with pytest.raises(BudgetError, match=r"promises 0.25-differential privacy \(pure\).*0.2-differential privacy"):
        release(mean(), "there-is-no-such-file.parquet", ledger=book, dataset="people")
    assert book.spent("people") is None
    with pytest.raises(BudgetError, match="no data set"):
        release(mean(), X, ledger=book, dataset="strangers")
    with pytest.raises(cf.InvalidArgument, match="dataset"):
        release(mean(), X, ledger=book)
    with pytest.raises(BudgetError, match="never changed"):
        book.open("people", budget=cf.PureDP(5.0))
    with pytest.raises(cf.InvalidArgument, match="budget"):
        book.open("others", budget=cf.Unlimited())


def test_an_interrupted_release_spends_nothing(book, monkeypatch):
    from confide.releasing import plan

    book.open("people", budget=cf.PureDP(1.0))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(plan, "draw", interrupted)
        release(mean(), X, ledger=book, dataset="people")
    assert book.spent("people") is None
    assert release(mean(), X, ledger=book, dataset="people").value is not None


def test_a_refusal_says_what_the_release_would_cost_in_the_unit_of_the_budget(book):
    book.open("patients", budget=cf.ZCDP(0.2))
    with pytest.raises(cf.BudgetError, match=r"1-differential privacy \(pure\), which costs 0\.462117-zCDP, but"):
        release(mean(cf.PureDP(1.0)), X, ledger=book, dataset="patients")


CONVERSIONS = [
    (cf.PureDP(1.0), cf.PureDP(0.5), True),
    (cf.PureDP(1.0), cf.ApproxDP(0.5, 1e-6), False),
    (cf.PureDP(1.0), cf.ZCDP(0.01), False),
    (cf.GDP(1.0), cf.PureDP(0.5), True),
    (cf.GDP(1.0), cf.ZCDP(0.1), False),
    (cf.ZCDP(1.0), cf.GDP(0.5), True),
    (cf.ZCDP(1.0), cf.PureDP(0.5), True),
    (cf.ZCDP(1.0), cf.ApproxDP(0.5, 1e-6), False),
    (cf.ApproxDP(1.0, 1e-5), cf.PureDP(0.5), True),
    (cf.ApproxDP(1.0, 1e-5), cf.ApproxDP(0.5, 1e-6), True),
    (cf.ApproxDP(1.0, 1e-5), cf.ApproxDP(0.5, 1e-4), False),
    (cf.ApproxDP(1.0, 1e-5), cf.GDP(0.01), False),
]


@pytest.mark.parametrize(("budget", "asked", "allowed"), CONVERSIONS)
def test_what_does_not_convert_to_the_unit_is_refused(budget, asked, allowed):
    cost = amount_of(asked, budget)
    assert (cost is not None and refusal(budget, NOTHING, cost, asked, "people") is None) is allowed


@pytest.mark.parametrize(
    ("budget", "each", "times"),
    [
        (cf.PureDP(1.0), cf.PureDP(0.1), 10),
        (cf.ZCDP(0.3), cf.ZCDP(0.1), 3),
        (cf.GDP(1.0), cf.GDP(0.1), 100),
        (cf.ApproxDP(1.0, 1e-6), cf.ApproxDP(0.1, 1e-7), 10),
    ],
)
def test_exactly_as_many_releases_as_the_budget_pays_for(budget, each, times):
    spent, count = NOTHING, 0
    while refusal(budget, spent, after := plus(spent, amount_of(each, budget)), each, "people") is None:
        spent, count = after, count + 1
    assert count == times
    if (rest := left(budget, spent)) is not None:
        assert max(vars(rest).values()) < 1e-6


def charged(book, *spendings, budget=cf.PureDP(10.0)):  # noqa: B008
    """What a ledger says was spent after releases with certain guarantees from certain parts."""
    from confide.releasing.ledger import account as accounts

    name = f"people{len(book.datasets())}"
    book.open(name, budget=budget)

    def work(inside):
        for index, (guarantee, part, scheme) in enumerate(spendings):
            account = accounts.load(inside, name)
            asked = accounts.charge(inside, account, guarantee, part, None if scheme is None else inside.keyed(*scheme))
            told = {"request": "0" * 64, "source": None, "content": None, "form": "{}", "made": str(index)}
            accounts.enter(inside, account, asked, told, None)

    book._store.run(work, writes=True)
    book.check()
    return book.spent(name)


def test_disjoint_parts_cost_the_dearest_and_others_add(book):
    half = cf.PureDP(0.5)

    def total(*parts):
        schemes = [part.scheme if isinstance(part, Rows | Hashed) else None for part in parts]
        return charged(book, *((half, part, scheme) for part, scheme in zip(parts, schemes, strict=True))).epsilon

    assert total(Rows(0, 10), Rows(10, 20)) == 0.5
    assert total(Rows(0, 10), Rows(9, 20)) == 1.0
    assert total(Rows(0, 10), Rows(10, 20), Rows(5, 15)) == 1.0
    assert total(Hashed("id", 0, 0.3), Hashed("id", 0.3, 1)) == 0.5
    assert total(Hashed("id", 0, 0.3), Hashed("name", 0.3, 1)) == 1.0
    assert total(Hashed("id", 0, 0.3), Rows(0, 10)) == 1.0
    assert total("pilot", "rest") == 1.0
    assert total(Rows(0, 10), None) == 1.0
    assert total(Rows(0, 10), Rows(10, 20), None, "rest") == 1.5
    assert total(Rows(0, 1), Rows(2**63 - 2, 2**63 - 1)) == 0.5
    mixed = [(cf.ApproxDP(0.5, 1e-9), Rows(0, 10), ("a",)), (cf.ApproxDP(0.1, 1e-6), Rows(10, 20), ("a",))]
    both = charged(book, *mixed, budget=cf.ApproxDP(1.0, 1e-5))
    assert (both.epsilon, both.delta) == (0.5, 1e-6)


def test_running_totals_are_the_sums_over_the_worst_record(tmp_path):
    """Against enumeration: every place of every scheme, and exact fractions."""
    chance = random.Random(5)
    for budget, make in [
        (cf.PureDP(1e3), lambda: cf.PureDP(chance.uniform(0.01, 1))),
        (cf.GDP(1e3), lambda: cf.GDP(chance.uniform(0.01, 1))),
        (cf.ApproxDP(1e3, 0.5), lambda: cf.ApproxDP(chance.uniform(0.01, 1), chance.uniform(1e-9, 1e-6))),
    ]:
        spendings = []
        for _ in range(60):
            start = chance.randrange(20)
            scheme = chance.choice([None, ("a",), ("b",)])
            spendings.append((make(), Rows(start, start + chance.randint(1, 8)), scheme))
        parameters = [[Fraction(value) for value in vars(guarantee).values()] for guarantee, _, _ in spendings]
        if isinstance(budget, cf.GDP):
            parameters = [[value[0] ** 2] for value in parameters]
        expected = []
        for which in range(len(parameters[0])):
            sizes = [(p[which], part, scheme) for p, (_, part, scheme) in zip(parameters, spendings, strict=True)]
            total = sum(size for size, _, scheme in sizes if scheme is None)
            for name in ("a", "b"):
                here = [(size, part) for size, part, scheme in sizes if scheme == (name,)]
                total += max(sum(size for size, part in here if part.start <= at < part.stop) for at in range(40))
            expected.append(total)
        found = charged(Ledger(tmp_path / f"{type(budget).__name__}.db"), *spendings, budget=budget)
        if isinstance(budget, cf.GDP):
            assert found.mu**2 == pytest.approx(float(expected[0]), rel=1e-14)
            assert Fraction(found.mu) ** 2 >= expected[0]
        else:
            assert [float(value) for value in expected] == pytest.approx(list(vars(found).values()), rel=1e-15)
            assert all(Fraction(f) >= e for f, e in zip(vars(found).values(), expected, strict=True))


def test_pilot_and_rest_compose_in_parallel(book):
    book.open("people", budget=cf.PureDP(0.25))
    data = np.linspace(0, 1, 8)
    release(mean(), data, ledger=book, dataset="people", part=Rows(0, 4))
    release(mean(), data, ledger=book, dataset="people", part=Rows(4, 8))
    assert book.spent("people") == cf.PureDP(0.25)
    with pytest.raises(BudgetError):
        release(mean(), data, ledger=book, dataset="people", part=Rows(2, 6))


def test_two_names_and_two_ledgers_for_one_source_are_warned_of(tmp_path):
    pd.DataFrame({"x": X}).to_parquet(tmp_path / "people.parquet")
    first, second = Ledger(tmp_path / "a.db"), Ledger(tmp_path / "b.db")
    for book in (first, second):
        book.open("people", budget=cf.PureDP(1.0))
    first.open("folk", budget=cf.PureDP(1.0))
    release(mean(), tmp_path / "people.parquet", ledger=first, dataset="people")
    with pytest.warns(UserWarning, match="released before as the data set 'people'"):
        release(mean(), tmp_path / "people.parquet", ledger=first, dataset="folk")
    with pytest.warns(UserWarning, match="two ledgers have two budgets"):
        release(mean(), tmp_path / "people.parquet", ledger=second, dataset="people")


def test_damaged_foreign_and_unwritable_ledgers(tmp_path):
    (tmp_path / "noise.db").write_bytes(b"this is not a database, " * 100)
    with pytest.raises(LedgerError, match="no ledger, or is damaged"):
        Ledger(tmp_path / "noise.db")
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "no" / "folder" / "budget.db")
    for url in ("mysql://localhost/x", "postgresql://localhost:1/nowhere"):
        with pytest.raises(LedgerError):
            Ledger(url)
    with pytest.raises(cf.InvalidArgument):
        Ledger("")
    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    release(mean(), X, ledger=book, dataset="people")
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute('UPDATE confide_releases SET guarantee = \'{"kind": "PureDP", "epsilon": -5}\'')
    with pytest.raises(LedgerError, match="paid for a second time"):
        book.left("people")
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute("UPDATE confide_ledger SET version = 99")
    with pytest.raises(LedgerError, match="version 99"):
        Ledger(tmp_path / "budget.db")
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute("DROP TABLE confide_ledger")
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(tmp_path / "budget.db")


def test_a_locked_ledger_is_waited_for_and_then_refused(tmp_path, monkeypatch):
    from confide.releasing.ledger import store

    monkeypatch.setattr(store, "PATIENCE", 0.2)
    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    holder = sqlite3.connect(tmp_path / "budget.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked"):
        release(mean(), X, ledger=book, dataset="people")
    holder.execute("ROLLBACK")
    holder.close()
    assert release(mean(), X, ledger=book, dataset="people").dataset == "people"


def test_a_full_disk_publishes_nothing(tmp_path):
    import sqlalchemy as sa

    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(100.0))

    @sa.event.listens_for(book._store._engine, "connect")
    def _(connection, _record):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(LedgerError, match="disk is full"):
        for index in range(200):
            release(mean(), X, ledger=book, dataset="people", purpose="x" * 2000 + str(index))
    made = len(book.releases("people"))
    assert book.spent("people") is None if not made else book.spent("people") == cf.PureDP(0.25 * made)


def test_a_read_only_ledger(tmp_path):
    book = Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    readonly = Ledger.__new__(Ledger)
    readonly._store = book._store
    import sqlalchemy as sa

    url = f"sqlite:///file:{tmp_path}/budget.db?mode=ro&uri=true"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    readonly._store._engine = engine
    assert readonly.datasets() == ["people"]
    with pytest.raises(LedgerError, match="read-only"):
        release(mean(), X, ledger=readonly, dataset="people")


WORKER = textwrap.dedent(
    """
    import json, sys, time
    import confide as cf
    from confide.releasing.ledger import store
    store.PATIENCE = 600.0  # beside other work a lock may be waited for long: that is no fault
    place, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    book = cf.Ledger(place)
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(0.125)), n=4)
    cf.release(channel, [0.1, 0.4, 0.35, 0.8])  # load what a first release needs
    print("ready", flush=True)
    start = float(sys.stdin.readline())
    kept, damaged = {}, {}
    for index in range(count):
        # all processes ask for the next data set at the same moment
        time.sleep(max(0.0, start + 0.1 * index - time.time()))
        try:
            made = cf.release(channel, [0.1, 0.4, 0.35, 0.8], ledger=book, dataset=f"people{index}", purpose=name)
            kept[index] = made.integers.counts[0]
        except cf.BudgetError:
            pass
        except cf.LedgerError as error:
            damaged[index] = str(error)
    print(json.dumps([kept, damaged]))
    """
)
#: what a ledger on PostgreSQL without its lock would do, to see that the race finds it
UNLOCKED = "import sqlalchemy as sa\nsa.Select.with_for_update = lambda self, *_, **__: self\n"


def race(book, processes, count, planted=""):
    """Processes that ask for the only release of each data set: what they kept, the place of it all, whose seals broke."""
    for index in range(count):
        book.open(f"people{index}", budget=cf.PureDP(0.125))
    place = book._store._engine.url.render_as_string(hide_password=False).replace("+psycopg", "")
    place = place.removeprefix("sqlite:///") if place.startswith("sqlite") else place
    command = [sys.executable, "-c", planted + WORKER, place]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([*command, str(i), str(count)], **pipes) for i in range(processes)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write(f"{time.time() + 0.5}\n")
        worker.stdin.flush()
    told = [json.loads(worker.communicate(timeout=1200)[0]) for worker in workers]
    kept = [[mine[str(index)] for mine, _ in told if str(index) in mine] for index in range(count)]
    return kept, {index for _, damaged in told for index in damaged}


@pytest.mark.parametrize(("processes", "count"), [(2, 10), pytest.param(16, 50, marks=pytest.mark.slow)])
def test_racing_processes_never_overspend_and_lose_nothing(processes, count, book, capsys):
    """Every data set can pay for one release, and all processes ask for it at once: one gets it, and it is stored."""
    kept, damaged = race(book, processes, count)
    stored = [[made.integers.counts[0] for made in book.releases(f"people{index}")] for index in range(count)]
    assert not damaged
    assert [len(each) for each in stored] == [1] * count
    assert kept == stored
    if processes > 4:
        with capsys.disabled():
            print(f"\n{processes} processes, {count} races for one release: none overspent, none lost")


@pytest.mark.slow
@pytest.mark.parametrize("book", ["postgres"], indirect=True)
def test_the_race_finds_a_ledger_that_does_not_lock(book, capsys):
    """Two are paid for what one can be, or the second finds that the account is not what its seal says."""
    kept, damaged = race(book, 6, 40, UNLOCKED)
    overspent = sum(len(each) > 1 for each in kept)
    with capsys.disabled():
        print(f"\nwithout the lock {overspent} of 40 data sets are overspent, and seals of {len(damaged)} broke")
    assert overspent + len(damaged) > 0
