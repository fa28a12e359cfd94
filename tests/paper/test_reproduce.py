"""Verdicts, the page, resuming, and the command."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.design.studies.study_cache import StudyCache
from confide.paper import running
from confide.paper.figures import label, panels, style
from confide.paper.page import page
from confide.paper.result import Check, Effect, Result
from confide.paper.settings import kept
from confide_cli import run


def result(name="example-1", holds=True, matters=False):
    figure, (axis,) = panels(1)
    axis.plot([1, 2], [3, 4], label="a", **style(0))
    label(axis, "t", "x", "y")
    checks = (Check("<claim>", "1", "2", holds),)
    effects = (Effect(1, "noise", "3", "4", matters),)
    return Result(name, "Title", "Claim", "Setting", checks, {"f": figure}, {"t": pd.DataFrame({"a": [1.0]})}, "Beyond `code`",
                  effects, {"f": "A caption."})  # fmt: skip


@pytest.mark.parametrize(
    ("holds", "matters", "verdict"),
    [
        (True, False, "reproduced"),
        (True, True, "reproduced with a correction"),
        (False, False, "not reproduced"),
        (False, True, "not reproduced"),
    ],
)
def test_the_verdict_follows_from_checks_and_effects(holds, matters, verdict):
    found = result(holds=holds, matters=matters)
    assert found.verdict == verdict
    assert verdict in str(found)
    assert ("<claim>" in found.why) == (not holds)


def test_the_page_is_whole_and_loads_nothing():
    text = page([result(), result("section-5.1", holds=False)], full=False)
    assert not re.search(r'(?:src|href)="(?!data:|#)', text)
    assert "&lt;claim&gt;" in text and "<claim>" not in text
    assert text.count("data:image/svg+xml;base64,") == 2
    assert "not reproduced" in text and "<code>confide reproduce section-5.1</code>" in text
    assert 'alt="Title. A caption."' in text


def test_a_finished_cell_is_not_computed_again(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"a": np.arange(3.0), "b": 1.5, "c": "text"}

    for _ in range(2):
        found = kept(StudyCache(tmp_path), {"what": "x"}, compute)
        np.testing.assert_array_equal(found["a"], [0.0, 1.0, 2.0])
        assert found["b"] == 1.5 and found["c"] == "text"
    assert len(calls) == 1
    kept(StudyCache(tmp_path), {"what": "y"}, compute)
    assert len(calls) == 2


def test_files_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "function_of", lambda name: lambda full, path: result(name))
    running.reproduce("example-1", output=tmp_path)
    assert {p.name for p in (tmp_path / "example-1").iterdir()} == {"f.png", "f.svg", "t.csv", "index.html"}
    assert len(running.reproduce("all", output=tmp_path)) == len(running.EXPERIMENTS)
    assert (tmp_path / "index.html").exists()


def test_every_experiment_has_a_function_of_its_name():
    import confide.paper as paper

    for name in running.EXPERIMENTS:
        assert running.function_of(name) is getattr(paper, name.replace("-", "_").replace(".", "_"))
    with pytest.raises(cf.InvalidArgument, match="is not an experiment"):
        running.reproduce("section-9")


def test_nothing_but_the_command_and_the_lazy_name_knows_the_paper():
    source = Path(cf.__file__).parent.parent
    known = {
        str(p.relative_to(source)) for p in source.rglob("*.py") if "confide.paper" in p.read_text(encoding="utf-8")
    }
    outside = {name for name in known if not name.startswith("confide/paper/")}
    assert outside == {"confide_cli/reproducing.py"}
    mistaken = {name for name in known if "mistakes" in (source / name).read_text(encoding="utf-8")}
    assert all(name.startswith("confide/paper/") for name in mistaken)
    assert cf.paper.reproduce is running.reproduce


def test_the_command_says_what_it_does_not_know(capsys):
    assert run(["reproduce", "section-9"]) == 1
    assert "is not an experiment; use all, example-1" in capsys.readouterr().err
