"""Computations in processes: progress, cancelling that really stops, and what comes after."""

import os
import pickle
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from confide._progress import Step
from confide_explorer.jobs import Jobs, Worker
from confide_explorer.state import PageState
from confide_explorer.worker import Teller
from tests.explorer.conftest import AtOnce, client_of


@pytest.fixture
def jobs():
    made = Jobs()
    yield made
    made.stop()


def running(process):
    return Path(f"/proc/{process.pid}").exists() and process.is_alive()


def test_cancelling_ends_the_process_and_the_next_one_computes(jobs):
    worker = []
    real = Worker._start

    def noted(self):
        real(self)
        worker.append(self._process)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "_start", noted)
        slow = jobs.ask("rank", PageState(precision="exact"))
        while slow.status != "running":
            time.sleep(0.02)
        assert worker[0].pid != os.getpid()
        jobs.cancel(slow.key)
        assert slow.over.wait(20) and slow.status == "cancelled"
        assert not running(worker[0])
        job = jobs.ask("know", PageState())
        assert job.over.wait(120) and job.status == "done", job.error
        # what was found is found again
        assert jobs.ask("know", PageState()) is job and jobs.ask("know", PageState(low="-9")) is not job


class Heard(list):
    """A pipe that keeps what goes through it."""

    def send_bytes(self, told):
        self.append(pickle.loads(told))


def test_the_last_word_is_told_and_nothing_after_what_was_found():
    """A step that takes a minute may begin right after another one: its name was lost."""
    heard = Heard()
    teller = Teller(heard)
    threading.Thread(target=teller.tell, daemon=True).start()
    for done in range(40):
        teller.hear((Step("infer"), Step("releases", 40, done)), Counter())
    until = time.monotonic() + 20
    while ("progress", ("releases, 40 of 40", 39, 40)) not in heard and time.monotonic() < until:
        time.sleep(0.02)
    assert heard[-1] == ("progress", ("releases, 40 of 40", 39, 40)) and len(heard) < 40
    teller.hear((Step("infer"),), Counter(likelihoods=1500))
    teller.found(("done", "an answer"))
    time.sleep(0.3)
    assert heard[-1] == ("done", "an answer")


def test_what_nobody_waits_for_gives_way(jobs, monkeypatch):
    jobs.ask("know", PageState())
    first = jobs.ask("rank", PageState(precision="exact"))
    second = jobs.ask("rank", PageState(precision="exact", n="2000"))
    third = jobs.ask("know", PageState(low="-9"))
    for job in (first, second):
        jobs.leave(job.key)
        jobs.leave(job.key)  # as if long ago
    assert third.over.wait(200) and third.status == "done"
    assert jobs.find(first.key) is None or jobs.find(second.key) is None


def test_a_page_of_a_job_can_be_stopped_and_begun_again():
    waiting = AtOnce(never=True)
    client = client_of(waiting)
    page = client.get("/know").text
    key = page.partition('data-job="')[2].partition('"')[0]
    assert client.get(f"/job/{key}").json()["status"] == "waiting"
    assert 'http-equiv="refresh"' in page  # for who has no script
    back = client.post(f"/job/{key}/cancel", data={"back": "/know?n=5"})
    assert back.headers["location"] == "/know?n=5"
    page = client.get("/know").text
    assert "Stopped, as you asked" in page and 'http-equiv="refresh"' not in page
    client.post(f"/job/{key}/again", data={"back": "/know?"})
    assert "data-job" in client.get("/know").text


def test_another_privacy_level_is_ranked_at_once():
    """The promise is a second for two statistics; what waits is the processor, whatever else the machine does."""
    from confide_explorer.worker import compute

    told = PageState(statistics="mean abs(x)\nmean x**2 on -4 4")
    assert compute("rank", told, "")[0] == "done"
    spent = []
    for level in ("0.9", "0.8", "1.1"):
        began = time.process_time()
        assert compute("rank", replace(told, level=level), "")[0] == "done"
        spent.append(time.process_time() - began)
    assert min(spent) < 1.0, spent


def test_the_first_page_is_there_at_once():
    """A second is what it may take: it waits for nothing while no worker has computed anything, and then for little."""
    waiting = AtOnce(never=True)
    client = client_of(waiting)
    began = time.process_time()
    assert client.get("/know").status_code == 200
    assert time.process_time() - began < 0.4
    for warm, patience in ((False, 60.0), (True, 0.25)):
        waiting.warm, client.explorer.patience = warm, patience
        began = time.monotonic()
        client.get("/know")
        spent = time.monotonic() - began
        assert spent >= 0.25 if warm else spent < 60.0


def test_a_worker_that_has_computed_is_waited_for(jobs):
    assert not jobs.warm
    assert jobs.ask("know", PageState()).over.wait(200)
    until = time.monotonic() + 20
    while not jobs.warm and time.monotonic() < until:
        time.sleep(0.01)
    assert jobs.warm
