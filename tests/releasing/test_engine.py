"""The engine that all releases of a process share: what one of them did, no other one sees or feels."""

import os
import signal
import threading

import pytest

import confide as cf
from confide.expression.database import compiling
from confide.releasing import release
from confide.releasing.readers import engine

X = [0.1, 0.4, 0.35, 0.8]
MEAN = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(100.0), step=0.25), n=4)


def forked(work, seconds=60):
    """The status of a fork that does some work, ended if it takes too long."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(seconds)
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def test_connections_see_nothing_of_each_other():
    first, second = engine.duckdb(), engine.duckdb()
    assert engine._shared
    first.con.execute("CREATE TEMPORARY TABLE secret AS SELECT 42 AS x")
    first.con.register("view", first.con.sql("SELECT 43 AS x").to_arrow_table())
    assert {"secret", "view"} <= {row[0] for row in first.con.sql("SHOW TABLES").fetchall()}
    assert second.con.sql("SHOW ALL TABLES").fetchall() == []
    first.disconnect()
    assert second.con.sql("SELECT 1").fetchall() == [(1,)]
    second.disconnect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where there are forks")
def test_a_fork_releases_by_itself():
    release(MEAN, X)
    assert forked(lambda: release(MEAN, X)) == 0
    release(MEAN, X)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where there are forks")
def test_a_fork_does_not_wait_for_a_thread_that_it_does_not_have():
    """A thread is writing SQL, or making an engine, when the process forks."""
    release(MEAN, X)
    for busy in (compiling, lambda: engine._SHARING):
        inside, over = threading.Event(), threading.Event()

        def work(busy=busy, inside=inside, over=over):
            with busy():
                inside.set()
                over.wait(2)

        thread = threading.Thread(target=work)
        thread.start()
        inside.wait()
        assert forked(lambda: release(MEAN, X), seconds=30) == 0
        over.set()
        thread.join()


def test_an_engine_that_failed_is_replaced(monkeypatch):
    release(MEAN, X)

    class Broken:
        def cursor(self):
            raise RuntimeError("the database has been invalidated")

    monkeypatch.setattr(engine, "_shared", [Broken()])
    release(MEAN, X)
    assert not isinstance(engine._shared[0], Broken)


def test_nothing_of_a_file_is_kept_for_the_next_reading(tmp_path):
    """Another content of the same length and time, in place: each reading is of what is there."""
    path = tmp_path / "people.csv"
    values = []
    for cell in ("0.0", "1.0"):
        path.write_text("x\n" + f"{cell}\n" * 4)
        os.utime(path, ns=(10**18, 10**18))
        values.append(release(MEAN, path).value)
    assert values[0] < 0.5 < values[1]
    assert engine.duckdb().con.sql("SELECT current_setting('enable_external_file_cache')").fetchall() == [(False,)]
