"""Signs of life: a clock where steps cannot be counted, on a terminal only."""

import io
import sys
import time
from types import SimpleNamespace

import numpyro.distributions as dist
import pytest

import confide as cf
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
    monkeypatch.setattr(progress.tqdm, "_instances", [SimpleNamespace(last_print_n=1)], raising=False)
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


def test_the_clock_goes_on_beside_bars_that_are_not_shown_yet(quick):
    """Many short pieces of work, each with a bar that waits: nothing was shown at all."""
    stream = quick(Terminal())
    with progress.working("infer"):
        for _ in progress.progress(range(1), "one of many"):
            time.sleep(0.1)
    assert "infer: 0 s" in stream.getvalue()


def test_the_clock_tells_what_is_done_so_far(quick):
    stream = quick(Terminal())
    with progress.working("infer"):
        progress.counted(1000, "likelihoods")
        progress.counted(500, "likelihoods")
        time.sleep(0.1)
    assert "infer: 0 s, 1,500 likelihoods (" in stream.getvalue()
    with progress.working("again"):
        time.sleep(0.1)
    assert "again: 0 s (" in stream.getvalue()


def test_who_listens_is_told_of_work_inside_of_work():
    """A posterior is one step of a page, and takes a minute: what happens inside of it was not told."""
    heard = []
    progress.listen(lambda steps, counts: heard.append(([(s.what, s.done, s.total) for s in steps], dict(counts))))
    try:
        for _ in progress.progress(["a release"], "releases"):
            with progress.working("infer"):
                for _ in progress.progress(range(2), "parts"):
                    progress.counted(100, "likelihoods")
        with pytest.raises(ValueError), progress.working("again"):
            raise ValueError
    finally:
        progress.listen(None)
    assert ([("releases", 0, 1), ("infer", 0, 0), ("parts", 1, 2)], {"likelihoods": 200}) in heard
    # what is over is over, errors included, and what was counted is counted anew
    assert heard[-1] == ([("again", 0, 0)], {}) and not progress._begun


@pytest.fixture
def steps(monkeypatch):
    """How many steps each bar has, and is shown."""
    found = {}

    def bar(items, desc, total=None, **_):
        items = list(items)
        assert total in (None, len(items))
        found.setdefault(desc, []).append(len(items))
        return items

    monkeypatch.setattr(progress, "tqdm", bar)
    return found


def test_quadrature_counts_its_likelihoods(steps):
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=50)
    progress._done.clear()
    cf.infer(cf.populations.bernoulli(), cf.Release(channel, 0.31), {"probability": dist.Beta(1.0, 1.0)})
    assert progress._done["likelihoods"] >= sum(steps["likelihood"]) > 0


@pytest.mark.parametrize("mechanism", [cf.Exponential(cf.PureDP(1.0)), cf.SmoothCauchy(cf.PureDP(1.0), cap=3)])
def test_simulated_windows_are_a_step_for_each_theta(steps, mechanism):
    model = cf.Model(cf.populations.exponential(), cf.Channel(cf.Median("x", bounds=(0, 5)), mechanism, n=21))
    model.log_likelihood([0.5, 1.0, 2.0], 0.9, route=cf.Pool(size=64))
    assert steps.pop("simulated windows") == [3]
    if isinstance(mechanism, cf.SmoothCauchy):
        return  # whose program takes long to compile
    cf.information(model, [0.5, 1.0], method=cf.Pool(), outer=64)
    assert steps.pop("simulated windows") == [2]


def test_the_information_of_a_vector_is_a_step_for_each_batch(steps, monkeypatch):
    monkeypatch.setattr(sys.modules["confide.information.montecarlo"], "_BATCH", 1000)
    vector = cf.Mean(["x", "x**2"], bounds=(-3, 3))
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(vector, cf.Laplace(cf.PureDP(1.0)), n=10))
    found = cf.information(model, 0.5, method="replicates", outer=20, inner=20)
    assert steps == {"Fisher information": [4]}
    assert found.matrix.shape == (1, 1)
