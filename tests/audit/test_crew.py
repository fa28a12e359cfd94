"""Processes that die, hang or grow are told with their task, and everything else is done."""

import os
import signal
import time

from tests.audit import crew


def behave(task, anew):
    """What a task is named after."""
    what, number = task
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ArithmeticError(number)
    if what == "grow":
        held = bytearray(600 * 2**20)
        time.sleep(30)
        del held
    if what == "sleep":
        time.sleep(number)
    return number, anew


def told(found):
    return dict(found)


def test_a_lost_process_takes_nothing_with_it():
    groups = [[("fine", k) for k in range(4)] + [("die", 0), ("fine", 4), ("raise", 5), ("fine", 6)], [("grow", 0)]]
    found = told(crew.run(groups, behave, workers=2, gib=0.5))
    assert len(found) == 9
    assert "exit code -9" in found["die", 0].why
    assert "ArithmeticError: 5" in found["raise", 5].why
    assert "0." in found["grow", 0].why
    assert "GiB" in found["grow", 0].why
    assert all(found["fine", k][0] == k for k in (0, 1, 2, 3, 4, 6))
    assert not found["die", 0].unfinished


def test_what_does_not_come_back_is_ended():
    found = told(crew.run([[("sleep", 60), ("fine", 1)]], behave, workers=1, patience=3.0))
    assert "no answer" in found["sleep", 60].why
    assert found["fine", 1][0] == 1


def test_nothing_is_handed_out_after_the_time_that_is_given(monkeypatch):
    monkeypatch.setattr(crew, "GRACE", 1.0)
    start = time.monotonic()
    found = told(crew.run([[("fine", 1), ("sleep", 60), ("fine", 2)]], behave, workers=1, seconds=6.0))
    assert time.monotonic() - start < 40
    assert found["sleep", 60].unfinished
    assert ("fine", 2) not in found
    assert found["fine", 1] == (1, True)


def test_idle_processes_take_half_of_what_the_longest_group_has_left():
    found = told(crew.run([[("sleep", 0.4 + k / 100) for k in range(8)], [("fine", 1)]], behave, workers=2))
    assert sum(anew for _, anew in found.values()) >= 3
    assert len(found) == 9
