"""Errors in the language of whoever reads them."""

import re
import traceback

import numpyro.distributions as dist
import pytest

import confide as cf
from confide.design.studies import studying
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


def test_a_table_is_spoken_of_in_the_words_of_the_command_line(confide, tmp_path):
    (tmp_path / "wards.csv").write_text("ward,age\nnorth,30\nsouth,\n")
    counted = ("--privacy", "pure:1", "--n")
    code, _, said = confide("release", "wards.csv", "--statistic", "count", *counted, "private")
    assert code == 1
    assert "--column must name one of several columns; the data have ward, age" in said
    mean = ("--statistic", "mean age", "--bounds", "age=0:100", *counted, 2)
    assert "as in age=…" in confide("release", "wards.csv", *mean)[2]
    rows = ("--statistic", "mean age, ward", "--bounds", "age=0:9", "--bounds", "ward=0:1", *counted, 2, "--theta", 1)
    _, _, said = confide("information", "--population", "bernoulli", *rows)
    assert "with age clipped to [0, 9]" in said
    assert "--bounds {" not in said


def test_rows_and_cells_are_described_in_words(result):
    """A population of rows, bounds by column, and a histogram, which has no bounds."""
    rows = ("--population", "independent(age=normal_mean, smokes=bernoulli)", "--theta", "40,0.2")
    mean = ("--statistic", "mean smokes", "--bounds", "smokes=0:1", "--privacy", "pure:1", "--n", 100)
    found = result("information", *rows, *mean)["matrix"][0]
    assert found[0][0] == 0 < found[1][1]  # the mean of another column says nothing about age
    cells = ("--statistic", "histogram x: 0", "--mechanism", "laplace(step=1)", "--privacy", "pure:1", "--n", 100)
    assert result("information", "--population", "normal_mean", "--theta", 0, *cells)["matrix"][0][0][0] > 0


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
    assert "--same-quantity is not said, and the releases are about" in said
    assert "column 'readmitted' of 'ward' and column 'cost' of 'ward'" in said
    assert confide(*asked, "--same-quantity", "--route", "normal")[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--privacy", "1"], "--privacy = '1' is no guarantee; write pure:1, approx:1,1e-6, zcdp:0.5 or gdp:1"),
        (["--privacy", "pure"], "write pure:1"),
        (["--privacy", "pure:-1"], "or --mechanism noiseless for a release without privacy"),
        (["--statistic", "mean age"], "--statistic 'age' uses the unknown name 'age'; x stands for the values of the column"),
        (["--mechanism", "smooth_laplace", "--statistic", "median x"], "smooth_laplace cannot give pure:1.0"),
        (["--dataset", "nobody", "--ledger", "budget.db"], "open it with confide ledger LEDGER 'nobody' --budget pure:1"),
        (["--ledger", "budget.db"], "--dataset must name the data set of the ledger"),
    ],
)  # fmt: skip
def test_a_wrong_release_is_answered_in_the_words_of_the_command_line(confide, people, tmp_path, words, told):
    confide("ledger", "budget.db", "people", "--budget", "pure:1")
    given = {"--statistic": "mean x", "--privacy": "pure:1"} | dict(zip(words[::2], words[1::2], strict=True))
    options = [word for pair in given.items() for word in pair]
    code, printed, said = confide("release", people, "--column", "x", "--bounds", -2, 2, "--n", 100, *options)
    assert (code, printed) == (1, "")
    assert told in said
    assert not re.search(r"PureDP|ApproxDP|SmoothLaplace|Unlimited|ledger\.open|None", said)


def test_a_file_that_is_no_release_is_named(confide, tmp_path):
    (tmp_path / "broken.json").write_text("{")
    code, _, said = confide("infer", "broken.json", "--population", "normal_mean", "--prior", "mean ~ Normal(0, 1)")
    assert code == 1
    assert "broken.json: the file is not JSON" in said
    assert confide("verify", "nothere.json")[1].count("nothere.json") == 1
    code, _, said = confide("information", "--population", "normal_variance", *RELEASE, "--n", 5, "--theta", -2)
    assert "variance must be above 0" in said
