"""Executors: the same results from whatever computes them, and nothing lost when a process is killed."""

import operator
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.errors import ConfideError, InvalidArgument
from confide.workers import computed

VARIANCE = cf.populations.normal_variance()
PRIOR = {"variance": dist.LogNormal(0.5, 0.6)}
CHANNEL = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Gaussian(cf.GDP(1.0)), n=100)


class Backwards:
    """An executor of this process that does the last task first, and loses some of them."""

    def __init__(self, lost=0):
        self.waiting, self.lost = [], lost

    def submit(self, function, *arguments):
        future = Future()
        self.waiting.append((future, function, arguments))
        if len(self.waiting) == 1:
            threading.Timer(0.05, self.work).start()
        return future

    def work(self):
        while self.waiting:
            future, function, arguments = self.waiting.pop()
            if self.lost:
                self.lost -= 1
                future.set_exception(BrokenExecutor("killed"))
            else:
                try:
                    future.set_result(function(*arguments))
                except Exception as error:
                    future.set_exception(error)


def nothing(shared, number):
    return shared, number


def test_results_come_from_wherever_they_are_computed():
    tasks = [(number,) for number in range(50)]
    here = list(computed(nothing, ("s",), tasks, None, "test"))
    assert here == [(number, ("s", number)) for number in range(50)]
    there = list(computed(nothing, ("s",), tasks, Backwards(), "test"))
    assert there != here
    assert sorted(there) == here


def precise(shared, number):
    return str(shared.dtype), str(number.dtype)


def test_arrays_of_jax_arrive_in_double_precision():
    with jax.enable_x64(True):
        array = jax.device_put(np.ones(3))
    ((_, found),) = computed(precise, (array,), [(array,)], Backwards(), "test")
    assert found == ("float64", "float64")


def test_a_task_whose_worker_was_lost_is_done_again():
    assert len(dict(computed(nothing, (0,), [(number,) for number in range(9)], Backwards(lost=3), "test"))) == 9


def test_a_task_that_loses_worker_after_worker_is_given_up():
    with pytest.raises(ConfideError, match="workers end before anything is done"):
        list(computed(nothing, (0,), [(1,)], Backwards(lost=10**6), "test"))


def test_an_error_of_a_task_is_told_and_the_rest_is_cancelled():
    executor = Backwards()
    with pytest.raises(ZeroDivisionError):
        list(computed(operator.truediv, (1.0,), [(1.0,)] * 3 + [(0.0,)], executor, "test"))


@pytest.mark.parametrize("given", [3, "dask", object()])
def test_what_cannot_compute_is_refused(given):
    settings = {"prior": PRIOR, "theta": 2.0, "releases": 10, "route": "normal"}
    with pytest.raises(InvalidArgument, match="submit"):
        cf.study(VARIANCE, {"abs": CHANNEL}, executor=given, **settings)
    with pytest.raises(InvalidArgument, match="submit"):
        cf.sbc(cf.Model(VARIANCE, CHANNEL), PRIOR, executor=given)
    for count in (0, -1, 2.0, True, "2"):
        with pytest.raises(InvalidArgument, match="workers"):
            cf.Workers(count)


def test_a_study_and_a_calibration_do_not_depend_on_their_executor(tmp_path):
    settings = {"prior": PRIOR, "theta": [1.0, 2.0], "releases": 40, "route": "normal"}
    here = cf.study(VARIANCE, {"abs": CHANNEL, "again": CHANNEL}, **settings)
    there = cf.study(VARIANCE, {"abs": CHANNEL, "again": CHANNEL}, executor=Backwards(), path=tmp_path, **settings)
    assert there.table.equals(here.table)
    assert (there.computed, len(list(tmp_path.glob("*.json")))) == (2, 2)
    kept = cf.study(VARIANCE, {"abs": CHANNEL}, executor=Backwards(lost=10**6), path=tmp_path, **settings)
    assert (kept.computed, kept.found) == (0, 2)
    model = cf.Model(VARIANCE, CHANNEL)
    ranks = [cf.sbc(model, PRIOR, releases=10, route="normal", executor=e).ranks for e in (None, Backwards())]
    assert np.array_equal(*ranks)


def kill_once(place, number):
    """Kills the process that it runs in, the first time."""
    if number == 3 and not Path(place).exists():
        Path(place).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.slow
def test_a_killed_worker_is_replaced(tmp_path):
    tasks = [(number,) for number in range(20)]
    with cf.Workers(2) as workers:
        found = dict(computed(kill_once, (str(tmp_path / "killed"),), tasks, workers, "test"))
    assert (tmp_path / "killed").exists()
    assert found == {number: number for number in range(20)}
    (tmp_path / "killed").unlink()
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(ConfideError, match="takes no more work"),
    ):
        dict(computed(kill_once, (str(tmp_path / "killed"),), tasks, pool, "test"))


@pytest.mark.slow
def test_spawned_workers_give_the_same_bits_however_many_they_are():
    noisy = cf.Channel(cf.Mean("abs(x)", bounds=(-3, 3)), cf.Laplace(cf.PureDP(1.0)), n=50)
    settings = {"prior": PRIOR, "theta": [1.0, 2.0, 4.0], "releases": 50}
    tables = [cf.study(VARIANCE, {"noisy": noisy}, **settings).table]
    for count in (1, 2):
        with cf.Workers(count) as workers:
            tables.append(cf.study(VARIANCE, {"noisy": noisy}, executor=workers, **settings).table)
    assert tables[0].equals(tables[1])
    assert tables[1].equals(tables[2])


PROGRAM = """
import sys, time
import confide as cf
from confide.workers import computed
from tests.test_workers import slow_cell
if __name__ == "__main__":
    with cf.Workers(2) as workers:
        for place, _ in computed(slow_cell, (sys.argv[1],), [(i,) for i in range(1000)], workers, "test"):
            print(place, flush=True)
"""


def slow_cell(folder, number):
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(0.05)
    return number


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_what_started_it(tmp_path, how):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "seen").mkdir()
    process = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", tmp_path / "seen"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    while len(list((tmp_path / "seen").iterdir())) < 2:
        assert process.stdout.readline()
    process.send_signal(how)
    process.wait(60)
    process.stdout.close()
    pids = [int(path.name) for path in (tmp_path / "seen").iterdir()]
    assert len(pids) == 2
    until = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until, "a worker is still there"
        time.sleep(0.1)


@pytest.mark.slow
def test_a_killed_study_continues_on_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    settings = {"prior": PRIOR, "theta": [1.0, 2.0], "releases": 40, "route": "normal"}
    here = cf.study(VARIANCE, {"abs": CHANNEL}, **settings)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        there = cf.study(VARIANCE, {"abs": CHANNEL}, executor=client.get_executor(), path=tmp_path, **settings)
    assert there.table.equals(here.table)
    assert cf.study(VARIANCE, {"abs": CHANNEL}, path=tmp_path, **settings).computed == 0
