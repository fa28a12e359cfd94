"""Processes killed at random moments: a release and its spending are both there, or neither is."""

import json
import multiprocessing
import os
import random
import time
from pathlib import Path

import pytest

import confide as cf
from confide.published.errors import LedgerError
from confide.releasing.ledger.ledger import Ledger

EPSILON = 0.125
PRELOAD = [
    "confide.releasing.ledger.ledger",
    "confide.releasing.ledger.store",
    "confide.releasing.plan",
    "confide.releasing.aggregate",
    "confide.published.schema",
    "ibis.backends.duckdb",
    "opendp.prelude",
    "pyarrow.parquet",
    "pandas",
]


def pay_later():
    """A ledger as it must not be: what was released is stored for good, and only then paid for."""
    from confide.releasing.ledger import account

    settle = account.settle

    def after(book, *asked):
        book._connection.exec_driver_sql("COMMIT")
        book._connection.exec_driver_sql("BEGIN IMMEDIATE")
        return settle(book, *asked)

    account.settle = after


def work(place, told, stop, ready, fault=None):
    """Release without end; note outside of the ledger when noise was drawn, and each release once it was returned."""
    from confide.releasing import release
    from confide.releasing.plan import Additive

    if fault is not None:
        fault()
    publish = Additive.publish

    def noted(self, exact):
        drawn = publish(self, exact)
        if Path(ready).exists() and isinstance(self.channel.statistic, cf.Mean):
            with Path(f"{told}.drawn").open("a") as file:
                file.write("drawn\n")
        return drawn

    Additive.publish = noted
    book = Ledger(place)
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(EPSILON)), n=4)
    each = cf.Channel(cf.Each("x", (0, 1)), cf.Laplace(cf.PureDP(EPSILON)), n=4)
    release(each, [0.1, 0.4, 0.35, 0.8])  # load and start what a first release needs
    with Path(told).open("a") as file:
        index = 0
        Path(ready).touch()
        while time.time() < stop:
            chosen = each if index % 4 == 3 else channel
            made = release(
                chosen, [0.1, 0.4, 0.35, 0.8], ledger=book, dataset="people", purpose=f"{os.getpid()}/{index}"
            )
            file.write(json.dumps([made.purpose, repr(made.value)]) + "\n")
            file.flush()
            index += 1


def check(place, told):
    """Every release that a process returned is stored, every stored one is whole, and the budget agrees with them."""
    book = Ledger(place)
    while True:
        # a server may still be committing what a killed process had asked for: look until nothing happens in between
        spent = book.spent("people")
        found = book.releases("people")
        if spent == book.spent("people"):
            break
    stored = {made.purpose: repr(made.value) for made in found}
    single = sum(isinstance(made.value, float) for made in found)
    returned = dict(json.loads(line) for line in Path(told).read_text().splitlines() if line.endswith("]"))
    assert returned.items() <= stored.items()
    assert (0 if spent is None else spent.epsilon) == EPSILON * len(stored)
    return len(stored), len(returned), single


def kill_many(place, tmp_path, kills, fault=None):
    """Start, kill, check; a fork server with everything imported makes a run short."""
    Ledger(place).open("people", budget=cf.PureDP(1e6))
    told = tmp_path / "told.jsonl"
    told.touch()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    chance = random.Random(0)
    made = returned = single = 0
    for index in range(kills):
        # a file and no event: whoever is killed while it holds the lock of an event keeps it for ever
        ready = tmp_path / f"ready{index}"
        process = context.Process(target=work, args=(place, str(told), time.time() + 60, str(ready), fault))
        process.start()
        if chance.random() < 0.9:
            patience = time.monotonic() + 30
            while not ready.exists() and process.is_alive() and time.monotonic() < patience:
                time.sleep(0.002)
        # a few releases: any moment of one is as likely as any other
        time.sleep(chance.uniform(0, 0.4))
        process.kill()
        process.join()
        made, returned, single = check(place, told)
        assert made - returned <= kills
    drawn = len(Path(f"{told}.drawn").read_text().splitlines()) if Path(f"{told}.drawn").exists() else 0
    # killed after the noise was drawn and before the commit, which leaves nothing; and after the commit, before the return
    return made, drawn - single, made - returned


def test_killed_processes_leave_both_or_neither(tmp_path):
    assert kill_many(str(tmp_path / "budget.db"), tmp_path, 5)[0] > 0


def empty(url):
    """Forget the ledger of a server."""
    import sqlalchemy as sa

    with sa.create_engine(url.replace("postgresql", "postgresql+psycopg", 1)).begin() as connection:
        for table in ("chunks", "pieces", "releases", "datasets", "ledger"):
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS confide_{table} CASCADE")


def test_killed_processes_leave_both_or_neither_on_postgres(tmp_path, postgres):
    empty(postgres)
    assert kill_many(postgres, tmp_path, 3)[0] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:there was another ledger")  # there was, on the server: one after another
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_hundred_killed_processes(kind, tmp_path, postgres, capsys):
    """Four ledgers of 25 kills each: the whole ledger is read after every kill, which takes longer as it grows."""
    totals = [0, 0, 0]
    for index in range(4):
        folder = tmp_path / str(index)
        folder.mkdir()
        if kind == "postgres":
            empty(postgres)
        place = postgres if kind == "postgres" else str(folder / "budget.db")
        totals = [a + b for a, b in zip(totals, kill_many(place, folder, 25), strict=True)]
    with capsys.disabled():
        print(
            f"\n{kind}: 100 processes killed, {totals[0]} releases stored; {totals[1]} kills fell between noise and "
            f"commit, {totals[2]} between commit and return"
        )
    assert totals[0] > 50
    # the kills that matter did happen
    assert totals[1] > 0


@pytest.mark.slow
def test_a_ledger_that_pays_after_it_stores_is_found(tmp_path):
    """A kill between the two leaves a release that nobody paid for: the budget disagrees, or the chain is broken."""
    with pytest.raises((AssertionError, LedgerError)):
        kill_many(str(tmp_path / "budget.db"), tmp_path, 100, pay_later)
