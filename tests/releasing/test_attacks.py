"""What an attacker, or bad luck, would try: errors that tell, totals that slip through, engines that round."""

import sqlite3
import traceback

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.published import BudgetError, DataError, LedgerError, Rows
from confide.releasing.ledger.budget import NOTHING, amount_of, plus, refusal
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers

LAPLACE = cf.Laplace(cf.PureDP(0.25))
MEAN = cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, n=2)
VALUES = [0.0, 1.0, 3.5, -2.0, 20.0, 1000.0, 5e-324, -700.0, 1e-200]


def refuses(budget, before, asked):
    spent = NOTHING
    for guarantee in before:
        spent = plus(spent, amount_of(guarantee, budget))
    return refusal(budget, spent, plus(spent, amount_of(asked, budget)), asked, "people") is not None


def test_a_release_that_could_not_be_stored_is_told_to_nobody(tmp_path, monkeypatch):
    """The error of a failed insert must not hold the noisy number, which was not paid for."""
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute(
            "CREATE TRIGGER stop BEFORE INSERT ON confide_releases BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
        )
    drawn = []
    publish = plan_of(MEAN).publish
    monkeypatch.setattr(
        "confide.releasing.plan.Additive.publish", lambda self, exact: drawn.append(publish(exact)) or drawn[-1]
    )
    with pytest.raises(LedgerError, match="full") as error:
        cf.release(MEAN, [0.5, 0.5], ledger=book, dataset="people")
    assert len(drawn) == 1
    assert str(drawn[0][0]) not in "".join(traceback.format_exception(error.value))
    cause, seen = error.value, ""
    while cause is not None:
        cause, seen = cause.__cause__ or cause.__context__, seen + str(cause)
    assert str(drawn[0][0]) not in seen
    assert book.spent("people") is None


def test_approximate_budgets_compare_both_sums():
    """A pure 1.05 implies (1, 0.04), but a filter stops at ε = 1."""
    budget = cf.ApproxDP(1.0, 0.04)
    assert cf.PureDP(1.05).implies(budget)
    assert refuses(budget, [], cf.PureDP(1.05))
    assert not refuses(budget, [cf.PureDP(0.5)], cf.ApproxDP(0.5, 0.04))
    assert refuses(budget, [cf.PureDP(0.5)], cf.ApproxDP(0.5, 0.041))
    assert refuses(cf.ApproxDP(10.0, 0.9), [cf.ApproxDP(0.1, 0.6)], cf.ApproxDP(0.1, 0.6))


def test_positions_in_two_files_do_not_compose_in_parallel(tmp_path):
    """The same people sorted differently: somebody may be in both parts."""
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    for name, values in (("sorted", [0.1, 0.2, 0.3, 0.4]), ("other", [0.4, 0.3, 0.2, 0.1])):
        pd.DataFrame({"x": values}).to_parquet(tmp_path / f"{name}.parquet")
    for name, rows in (("sorted", Rows(0, 2)), ("other", Rows(2, 4)), ("sorted", Rows(2, 4))):
        cf.release(MEAN, tmp_path / f"{name}.parquet", ledger=book, dataset="people", part=rows, purpose=name)
    assert book.spent("people") == cf.PureDP(0.5)


def test_a_ledger_keeps_its_place_and_its_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = cf.Ledger("budget.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    book.open("people", budget=cf.PureDP(1.0))
    assert cf.Ledger(tmp_path / "budget.db").datasets() == ["people"]
    for place in (":memory:", "sqlite://", "sqlite:///:memory:"):
        with pytest.raises(LedgerError, match="forget"):
            cf.Ledger(place)
    for url in ("postgresql://[::1/x", "postgresql://u:secret@localhost:abc/x", "sqlite:/x://y"):
        with pytest.raises(LedgerError) as error:
            cf.Ledger(url)
        assert "secret" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("options", ["nolock=1", "vfs=unix-none", "mode=memory&cache=shared", "timeout=0"])
def test_a_ledger_has_no_options_that_turn_its_locks_off(tmp_path, options):
    """Without locks two processes would both take what is left of a budget."""
    for url in (f"sqlite:///file:{tmp_path}/budget.db?{options}&uri=true", f"sqlite:///{tmp_path}/budget.db?{options}"):
        with pytest.raises(LedgerError, match="options"):
            cf.Ledger(url)
    assert list(tmp_path.iterdir()) == []


def test_a_url_is_the_place_that_its_path_is(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    places = {cf.Ledger(name).place for name in ("link/a.db", "sqlite:///link/a.db", "sqlite+pysqlite:///real/a.db")}
    assert places == {f"sqlite:///{tmp_path}/real/a.db"}


def test_a_ledger_with_two_names_is_refused(tmp_path):
    """What a killed process left to undo lies beside one name; a process that uses the other would go on without."""
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    (tmp_path / "other.db").hardlink_to(tmp_path / "budget.db")
    with pytest.raises(LedgerError, match="second name"):
        cf.Ledger(tmp_path / "other.db")
    with pytest.raises(LedgerError, match="second name"):
        book.left("people")
    (tmp_path / "other.db").unlink()
    assert book.left("people") == cf.PureDP(1.0)


def test_a_ledger_that_exists_is_opened_for_reading_alone(tmp_path, monkeypatch):
    from confide.releasing.ledger.store import Store

    cf.Ledger(tmp_path / "budget.db").open("people", budget=cf.PureDP(1.0))
    asked = []
    connected = Store._connected
    monkeypatch.setattr(
        Store, "_connected", lambda self, work, *, writes: asked.append(writes) or connected(self, work, writes=writes)
    )
    assert cf.Ledger(tmp_path / "budget.db").left("people") == cf.PureDP(1.0)
    assert asked == [False, False]


def test_a_damaged_note_of_ledgers_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "confide").mkdir()
    (tmp_path / "confide" / "sources.jsonl").write_text('{"a": 1}\n[3]\nnull\n"x"\n{"source\n')
    pd.DataFrame({"x": [0.1, 0.2]}).to_csv(tmp_path / "people.csv", index=False)
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    assert cf.release(MEAN, tmp_path / "people.csv", ledger=book, dataset="people").dataset == "people"
    assert len((tmp_path / "confide" / "sources.jsonl").read_text().splitlines()) == 6


@pytest.mark.parametrize(
    "data", [pd.DataFrame([[0.1, 0.2]] * 2, columns=["x", "x"]), {1, 2}, (i for i in "ab"), b"ab", np.zeros((2, 2))]
)
def test_data_of_no_use(data):
    with pytest.raises(cf.ConfideError, match=r"cannot be read as numbers|names several columns"):
        cf.release(MEAN, data, column="x")


def test_only_the_columns_that_are_needed_are_read():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "x": [0.1, 0.2, 0.3], "note": [1, "a", object()]})
    assert numbers(plan_of(cf.Channel(MEAN.statistic, LAPLACE, 3)), frame, "x") == numbers(
        plan_of(cf.Channel(MEAN.statistic, LAPLACE, 3)), frame["x"]
    )
    hashed = cf.release(cf.Channel(MEAN.statistic, LAPLACE, 3), frame, column="x", part=cf.Hashed("id", 0, 1))
    assert hashed.part == cf.Hashed("id", 0, 1)


def test_engines_that_are_not_checked_are_refused():
    """SQLite computes decimals as doubles, MySQL shifts negative numbers as positive ones: sums would be wrong."""
    import ibis

    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE t (x REAL)")
    with pytest.raises(DataError, match="not known to come out of sqlite"):
        cf.release(MEAN, connection, table="t", column="x")
    with pytest.raises(DataError, match="belongs to no database"):
        cf.release(MEAN, ibis.table({"x": "float64"}, name="t"), column="x")
    with pytest.raises(cf.InvalidArgument, match="data"):
        cf.release(MEAN, "postgresql://[::1/x", table="t")


OVERFLOWS = [
    "1/exp(x)",
    "min(exp(x), 5)",
    "min(x**200, 5)",
    "exp(-exp(x))",
    "0*exp(x) + x",
    "interp(x, [0, 1e-320], [0, 1])",
]


@pytest.mark.parametrize("expression", OVERFLOWS)
def test_what_overflows_on_the_way_is_refused_before_records_are_read(expression):
    """PostgreSQL would stop with an error, and whether it does would depend on a record."""
    with pytest.raises(cf.RangeError, match=r"overflows on the way|no certified range"):
        plan_of(cf.Channel(cf.Mean(expression, (0, 1000)), LAPLACE, 2))


UNDERFLOWS = [
    "exp(-x**2)", "abs(x/1000)**200", "2**-abs(x*10)", "0.5**(abs(x) + 10)", "exp(-abs(x))/exp(abs(x)/2)", "abs(x)**2.5",
    "1/(1 + exp(-x/2))", "exp(-abs(x))**1.5", "1e-100/(1 + x**2*1e200)", "abs(x)**0.1",
]  # fmt: skip


@pytest.mark.parametrize("expression", UNDERFLOWS)
def test_what_underflows_is_zero_on_every_engine(expression, postgres, postgres_table):
    plan = plan_of(cf.Channel(cf.Mean(expression, (-1000, 1000)), LAPLACE, len(VALUES)))
    found, there = numbers(plan, VALUES), numbers(plan, postgres, "x", postgres_table(VALUES))
    assert abs(found[0] - there[0]) <= len(VALUES)


def test_whether_noise_fits_does_not_depend_on_the_records():
    """A window of equal records needs little noise and a spread one needs much: both fit, or neither is tried."""
    wide = cf.Channel(cf.Median("x", (0, 1)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6), alpha=0.4, cap=60), n=500)
    plan = plan_of(wide)
    cap, (low, high) = wide.law.window, (plan.grid.low[0], plan.grid.high[0])
    for window in ([low] * (2 * cap + 1), [low] * cap + [high] * (cap + 1)):
        assert isinstance(plan.publish(np.asarray(window))[0], int)
    for cap in range(100, 500, 100):
        channel = cf.Channel(
            cf.Median("x", (0, 1)), cf.SmoothLaplace(cf.ApproxDP(3.0, 1e-2), alpha=0.4, cap=cap), n=5000
        )
        try:
            plan = plan_of(channel)
        except cf.IncompatibleError:
            return
        spread = [plan.grid.low[0]] * cap + [plan.grid.high[0]] * (cap + 1)
        plan.publish(np.asarray(spread))
    pytest.fail("no cap was too large")


def test_mechanisms_of_a_users_own_are_modelled_but_not_released():
    class Louder(cf.Laplace):
        """A promise that nobody checked."""

    with pytest.raises(cf.IncompatibleError, match="is not one of"):
        cf.release(cf.Channel(MEAN.statistic, Louder(cf.PureDP(1.0)), 2), [0.1, 0.2])


def test_a_budget_is_refused_in_words(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(0.25))
    cf.release(MEAN, [0.1, 0.2], ledger=book, dataset="people")
    with pytest.raises(BudgetError, match="nothing is left"):
        cf.release(MEAN, [0.1, 0.2], ledger=book, dataset="people", fresh=True)


@pytest.mark.parametrize("privacy", [cf.PureDP(1e13), cf.PureDP(1e-13)])
def test_absurd_levels_are_neither_released_nor_loaded(privacy):
    """A ledger must be able to read what it stores; and calibration to such numbers can take for ever."""
    from confide.published.codec import encode
    from confide.published.file import parse

    channel = cf.Channel(MEAN.statistic, cf.Laplace(privacy), 2)
    with pytest.raises(cf.IncompatibleError, match="parameters from"):
        cf.release(channel, [0.1, 0.2])
    import json

    with pytest.raises(cf.FileError, match="privacy"):
        parse(json.dumps(encode(cf.Release(channel, 0.5))))
    by_scale = cf.Release(cf.Channel(MEAN.statistic, cf.Laplace(scale=1e-20), 2), 0.5)
    assert parse(json.dumps(encode(by_scale))) == by_scale


def test_a_plan_that_overflows_is_refused_in_words():
    """A lattice near the end of the floats: OverflowError for whoever asked for the plan and not for a release."""
    channel = cf.Channel(cf.Each("x**-1", (3.0, 1.7e308)), cf.Laplace(cf.PureDP(3.0), step=1e308), n=2)
    with pytest.raises(cf.IncompatibleError, match="cannot be released"):
        plan_of(channel)
