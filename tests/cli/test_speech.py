"""Errors in the language of whoever reads them."""

import re
import traceback

import numpyro.distributions as dist
import pytest

import confide as cf
from confide.design import studying
from confide_cli.speech import spoken

RELEASE = ("--statistic", "mean x", "--bounds", -2, 2, "--privacy", "pure:1")


def test_missing_values_are_asked_for_by_the_option(confide, tmp_path):
    (tmp_path / "gaps.csv").write_text('x\n1\n""\n2\n')
    code, printed, said = confide("release", "gaps.csv", "--column", "x", *RELEASE, "--n", 3)
    assert (code, printed) == (1, "")
    assert "give --missing <a public number" in said
    assert "missing=" not in said
    code, _, said = confide("release", "gaps.csv", "--column", "x", *RELEASE, "--n", 3, "--missing", 90)
    assert "--missing 90.0 is no number within the bounds" in said


def test_a_part_that_is_a_name_selects_nothing_and_says_so(confide, people):
    code, _, said = confide("release", people, "--column", "x", *RELEASE, "--n", 50, "--part", "F")
    assert code == 1
    assert "selects no records" in said
    assert "rows:0:1000" in said


@pytest.mark.parametrize(
    ("population", "told"),
    [
        ("lognormal(scale=1)", "write lognormal alone: loc, scale are what is learnt"),
        ("normal_mean(sigma=1)", "it takes variance"),
    ],
)
def test_wrong_arguments_are_answered_with_the_right_ones(confide, population, told):
    code, _, said = confide("information", "--population", population, *RELEASE, "--n", 5, "--theta", 1)
    assert code == 1
    assert told in said


def test_what_is_inside_of_a_call_is_left_as_it_is():
    assert spoken("use laplace(step=1), n = 3 or release.present(missing=count)") == (
        "use laplace(step=1), n = 3 or release.present(missing=count)"
    )


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupted_study_says_how_to_continue_and_shows_no_frames(monkeypatch, tmp_path, kept):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(studying, "simulate", interrupted)
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Gaussian(cf.GDP(1.0)), n=10)
    path = {"path": tmp_path / "cells"} if kept else {}
    with pytest.raises(KeyboardInterrupt, match="run the same study again" if kept else "give path=") as caught:
        cf.study(
            cf.populations.bernoulli(), {"x": channel}, prior={"probability": dist.Beta(1.0, 1.0)}, theta=0.5, **path
        )
    text = "".join(traceback.format_exception(caught.value))
    assert "in interrupted" not in text
    assert len(re.findall(r"^  File", text, flags=re.MULTILINE)) < 8


def test_releases_of_two_columns_need_the_readers_word(confide, tmp_path):
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Gaussian(scale=0.05), n=100)
    for column in ("readmitted", "cost"):
        cf.Release(channel, 0.3, dataset="ward", part=column, column=column).save(tmp_path / f"{column}.json")
    asked = (
        "infer",
        "readmitted.json",
        "cost.json",
        "--population",
        "bernoulli",
        "--prior",
        "probability ~ Beta(1, 1)",
    )
    code, printed, said = confide(*asked)
    assert (code, printed) == (1, "")
    assert "--same-quantity" in said
    assert "column 'readmitted' of 'ward' and column 'cost' of 'ward'" in said
    assert confide(*asked, "--same-quantity", "--route", "normal")[0] == 0
