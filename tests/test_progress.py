"""Signs of life: a clock where steps cannot be counted, on a terminal only."""

import io
import sys
import time

import pytest

import confide._progress as progress
from confide._call import remembered


class Terminal(io.StringIO):
    """A stream that says it is a terminal, or that it is none."""

    def __init__(self, yes=True):
        super().__init__()
        self.isatty = lambda: yes


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(progress, "_QUIET", 0.01)
    monkeypatch.setattr(progress, "_TICK", 0.01)

    def on(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return on


def test_long_work_shows_a_clock_and_wipes_it_away(quick):
    stream = quick(Terminal())
    with progress.working("infer"), progress.working("information"):
        time.sleep(0.2)
    assert "\rinfer: 0 s" in stream.getvalue()
    assert "information" not in stream.getvalue()  # work inside of work has no clock of its own
    assert stream.getvalue().endswith("\r\x1b[K")


def test_nothing_is_shown_in_a_file_or_beside_a_bar_or_for_short_work(quick, monkeypatch):
    stream = quick(Terminal(False))
    with progress.working("infer"):
        time.sleep(0.05)
    assert stream.getvalue() == ""
    stream = quick(Terminal())
    with progress.working("infer"):
        pass
    monkeypatch.setattr(progress.tqdm, "_instances", {object()}, raising=False)
    with progress.working("infer"):
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_the_clock_stops_with_an_error_and_every_verb_has_one(quick):
    stream = quick(Terminal())

    @remembered
    def optimize():
        time.sleep(0.1)
        raise ValueError

    with pytest.raises(ValueError):
        optimize()
    assert "optimize: 0 s" in stream.getvalue()
    with progress.working("again"):
        time.sleep(0.1)
    assert "again: 0 s" in stream.getvalue()
