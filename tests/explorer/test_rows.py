"""Rows of several columns in the explorer: what each screen says of them, against closed forms and its own script."""

import html
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import confide as cf
from confide_cli.build import channel_of
from confide_cli.study import Arguments
from confide_explorer.pages import settled, view
from confide_explorer.reading import read_channel, read_channels, read_plan, read_wanted
from confide_explorer.screens.know import likely
from confide_explorer.screens.statistic import command_of
from confide_explorer.scripts import channel_file, words_of
from confide_explorer.state import PageState
from tests.explorer.test_pages import cells, run, script_of
from tests.explorer.test_private import by_command

#: two columns that have nothing to do with each other, and a line
APART = {"column": "age", "population": "normal_mean", "column_b": "weight", "population_b": "normal_mean", "n": "500"}
LINE = {"column": "pain", "column_b": "dose", "rows": "linear_regression"}
BOTH = {"statistics": "mean age, weight\nmean age / 2, weight", "low": "-8", "high": "8", "low_b": "-8", "high_b": "8"}
WIDE = {"family": "normal_mean", "low1": "-3", "high1": "3", "family_b": "normal_mean", "low1_b": "-3", "high1_b": "3"}


def test_the_first_screen_draws_rows_and_says_what_is_clipped(client):
    told = {"low_b": "-1", "high_b": "2", "family_b": "linear_regression.covariate", "low1_b": "-1", "high1_b": "1"}
    page = client.get("/know", params=LINE | told | {"low2_b": "-2", "high2_b": "2"}).text
    rows = cells(page, "How much is clipped")
    assert [row[0] for row in rows] == ["pain", "dose"]
    # nine tenths of the doses lie within ±2
    law = norm(0.0, 2.0 / norm.ppf(0.95))
    share = law.cdf(-1.0) + law.sf(2.0)
    # ten thousand rows: five standard errors are one run in two million
    assert float(rows[1][3][:-1]) / 100 == pytest.approx(share, abs=5 * (share * (1 - share) / 10_000) ** 0.5)
    assert "dose itself is mostly between -2 and 2" in page and "<img" in page
    printed = dict(re.findall(r"(pain|dose) (\S+)", run(script_of(page))))
    assert {f"{float(each):.1%}" for each in printed.values()} == {row[3] for row in rows}


def test_the_second_screen_ranks_lists_of_expressions_as_a_closed_form_does(client):
    """Known variances of 1, bounds of eight: the mean of each column tells 1/(1/n + 2b²), and nothing else."""
    query = APART | BOTH | WIDE
    page = client.get("/statistic", params=query).text
    rows = {row[0]: row for row in cells(page, "Ranked")}
    prior = 1.0 / (3.0 / norm.ppf(0.95)) ** 2
    for name, scales in {"mean age, weight": (1.0, 1.0), "mean age / 2, weight": (0.5, 1.0)}.items():
        width = 16.0 * sum(scales)
        b = width / 500  # Laplace noise at ε = 1 for the L1 norm of both widths
        for scale, told in zip(scales, rows[name][4:6], strict=True):
            expected = (1.0 / (1.0 / (1.0 / 500 + 2.0 * (b / scale) ** 2) + prior)) ** 0.5
            # what the prior knows is told by the quartiles of 256 points
            assert float(told) == pytest.approx(expected, rel=2e-3), name
    assert "best linear combination" in page
    printed = run(script_of(page))
    assert all(each in printed for row in rows.values() for each in row[4:6])
    assert rows["mean age, weight"][4] in by_command(page)


def test_what_lies_at_zero_is_zero():
    """A coefficient "between 0 and 1": its lower quantile is 7e-7 by the six digits of the prior."""
    plan, _ = read_plan(settled(PageState(**LINE)))
    assert sorted(likely(plan)[:, 1].tolist()) == [0.0, 0.5, 1.0]
    plan, _ = read_plan(PageState(low1="1e-9", high1="1"))
    assert likely(plan)[0, 0] == pytest.approx(1e-9, rel=1e-3)  # and a scale may be as small as it likes


def test_the_accuracy_of_a_coefficient_can_be_asked_for(idle):
    state = settled(PageState(**LINE, pick="mean pain, dose", sd2="0.1"))
    plan, _ = read_plan(state)
    assert read_wanted(state, plan) == ({"coefficients[0]": 0.1}, {})
    assert 'for="sd2">coefficients[0], to ±' in idle.get("/worth", params=LINE | {"pick": "mean pain, dose"}).text


def test_what_is_the_same_in_all_rows_is_told_once(client):
    page = client.get("/statistic", params=APART | BOTH | WIDE).text
    names = re.findall(r'role="columnheader">(.*?)<', page.partition("Ranked, the best first</caption>")[2])
    assert names[:3] == ["channel", "expected variance", "information"] and "method" not in names
    assert "efficiency" not in names  # which rows of several columns have none of
    assert "In all rows, method (how the information was computed): normal." in page


def test_usual_statistics_are_compared_where_none_is_listed():
    state = settled(PageState(**LINE, kind="gdp"))
    plan, _ = read_plan(state)
    channels, errors = read_channels(state, plan)
    assert not errors and len(channels) == 6
    assert all(name.startswith("mean ") and name.endswith("with gaussian") for name in channels)
    for channel in channels.values():
        # one noise scale serves all of them
        assert max(abs(end) for ends in channel.statistic.ranges for end in ends) <= 1 + 1e-12
        assert read_channel(words_of(channel), plan) == channel
    # of two values there is nothing to square, and nothing to clip; a private number needs a count
    told = {"counting": "private", "population": "bernoulli", "column_b": "age", "population_b": "normal"}
    state = settled(PageState(column="ill", **told))
    names = list(read_channels(state, read_plan(state)[0])[0])
    assert names[0] == "sum 1, ill, age / 10" and "ill**2" not in "".join(names)
    assert names[3] == "sum 1, ill, age / 5 on ill=0:1 age=-5:5"


@pytest.mark.slow
def test_a_vector_is_simulated_and_analysed(client):
    pick = "mean age / 8, weight / 8 with gaussian"
    page = client.get("/statistic", params=APART | BOTH | WIDE | {"kind": "gdp", "pick": pick, "statistics": ""}).text
    rows = cells(page, "Simulated releases")
    assert len(rows) == 6 and {row[0] for row in rows} == {"age_mean", "weight_mean"}
    # the posterior of a normal mean with noise: its sd in closed form
    noise = cf.Channel(read_channel(pick, read_plan(PageState(**APART | BOTH | WIDE, kind="gdp"))[0]).statistic,
                       cf.Gaussian(cf.GDP(1.0)), n=500).law.noise.scale  # fmt: skip
    prior = 1.0 / (3.0 / norm.ppf(0.95)) ** 2
    expected = (1.0 / (1.0 / (1.0 / 500 + (8.0 * float(noise)) ** 2) + prior)) ** 0.5
    assert all(float(row[4]) == pytest.approx(expected, rel=0.05) for row in rows)
    told = run(script_of(page, 1))
    assert all(row[3][:4] in told for row in rows)


@pytest.mark.slow
def test_the_third_screen_reads_costs_off_its_curves(client):
    query = APART | BOTH | WIDE | {"pick": "mean age / 8, weight / 8", "sd1": "0.1"}
    page = html.unescape(client.get("/worth", params=query).text)
    least, fewest = cells(page, "What it costs")
    assert "confide require does not serve" in page and "a row of several columns" in page
    printed = [float(each) for each in run(script_of(page)).splitlines()[-2:]]
    assert least[1] == f"about ε = {printed[0]:.3g}" and fewest[1] == f"about {printed[1]:,.0f} records"
    # where 1/sd² is 1/(1/n + 2b²) and what the prior knows
    prior = 1.0 / (3.0 / norm.ppf(0.95)) ** 2
    n, epsilon = np.array([500.0, printed[1]]), np.array([printed[0], 1.0])
    b = 8.0 * 4.0 / (n * epsilon)
    assert (1.0 / (1.0 / (1.0 / n + 2.0 * b**2) + prior)) ** 0.5 == pytest.approx(0.1, rel=0.02)


@pytest.mark.slow
def test_several_numbers_of_somebody_else_about_rows_are_read(client):
    """The one coefficient of a regression is a vector of one entry, whose prior could not be drawn."""
    told = {"published": "mean pain / 5, (pain / 5) * (dose / 4), (pain / 5)**2", "value": "0.05, 0.04, 0.06"}
    page = client.get("/number", params=LINE | told | {"scale": "0.004", "noise": "gaussian", "count": "1000"}).text
    rows = cells(page, "In full")
    assert [row[0] for row in rows] == ["intercept", "coefficients", "variance"]
    # E pain·dose is the coefficient times the variance of a dose, which is assumed
    assert float(rows[1][1]) == pytest.approx(0.04 * 20 / (2.0 / norm.ppf(0.95)) ** 2, rel=0.1)
    told = run(script_of(page))
    for name, estimate, *_ in rows:  # to as many digits as its uncertainty bears
        assert float(re.search(rf"{name}: ([\d.]+)", told)[1]) == pytest.approx(float(estimate), abs=0.006)
    # each number by the noise alone, and each parameter by everything
    assert [row[0] for row in cells(page, "With 90% probability")] == ["the noise alone"] * 3 + [
        "noise, clipping and sample"
    ] * 3


@pytest.mark.slow
def test_what_a_coefficient_costs_is_read_off(client):
    query = LINE | {"kind": "gdp", "pick": "mean pain / 5, (pain / 5) * (dose / 4) with gaussian", "sd2": "0.1"}
    page = html.unescape(client.get("/worth", params=query).text)
    printed = [float(each) for each in run(script_of(page)).splitlines()[-2:]]
    least, fewest = cells(page, "What it costs")
    assert least[1] == f"about μ = {printed[0]:.3g}" and fewest[1] == f"about {printed[1]:,.0f} records"
    assert f"or about {printed[1]:,.0f} records under μ = 1." in page


@pytest.mark.parametrize("private", [False, True])
def test_rows_are_taken_along(tmp_path, private):
    head = "sum 1, " if private else "mean "
    state = settled(PageState(**LINE, kind="gdp", counting="private" if private else "public"))
    plan, _ = read_plan(state)
    chosen = read_channel(f"{head}pain / 5, pain * dose on pain=-4:4 dose=-2:3 with gaussian", plan)
    (tmp_path / "channel.toml").write_text(channel_file(chosen, plan, False))
    assert channel_of(Arguments(tmp_path / "channel.toml", {})) == chosen
    assert chosen.n == (None if private else 1000) and chosen.statistic.bounds.by_name["dose"] == (-2.0, 3.0)
    listed = replace(
        state, statistics=f"{head}pain with gaussian\n{head}pain, dose on pain=0:1 dose=-2:3 with gaussian"
    )
    line = shlex.split(command_of(listed, plan))
    assert line[1] == "compare" and ("--assume" in line) == private
    # bounds of those that have none of their own
    assert [each for each in line if ":" in each and "=" in each and " " not in each] == ["pain=-5.0:5.0"]


@pytest.mark.slow
def test_the_last_screen_has_files_of_rows(client):
    query = LINE | {"kind": "gdp", "n": "200", "pick": "mean pain, dose with gaussian"}
    query |= {"statistics": "mean pain with gaussian\nmean dose with gaussian"}
    page = html.unescape(client.get("/take", params=query).text)
    assert "release DATA.csv --study channel.toml" in re.sub("<.*?>", "", page)
    assert "the mean of (pain, dose)" in run(client.get("/take/script.py", params=query).text)


def test_the_channel_file_of_rows_releases_a_table(tmp_path, monkeypatch):
    from confide_cli import run as confide

    plan, _ = read_plan(settled(PageState(**LINE, kind="gdp", n="200")))
    chosen = read_channel("mean pain, dose with gaussian", plan)
    (tmp_path / "channel.toml").write_text(channel_file(chosen, plan, True))
    rows = np.random.default_rng(0).normal(size=(200, 2))
    (tmp_path / "DATA.csv").write_text("pain,dose\n" + "\n".join(f"{a},{b}" for a, b in rows))
    monkeypatch.chdir(tmp_path)
    assert confide(["release", "DATA.csv", "--study", "channel.toml", "--output", "release.json"]) == 0
    assert cf.Release.load(tmp_path / "release.json").channel == chosen


FORMS = {
    "independent": ("independent(age=normal_mean, weight=poisson)", {"population_b": "poisson"}),
    "linear_regression": ("linear_regression(age, weight=Normal(0, 1.21591))", {}),
    "logistic_regression": ("logistic_regression(age, weight=Normal(0, 1.21591))", {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_a_population_with_a_prior_and_a_picture(form):
    from confide_explorer.worker import compute

    told, more = FORMS[form]
    state = settled(PageState(**APART | {"rows": form} | more))
    plan, errors = read_plan(state)
    assert not errors and plan.population_words == told
    kind, answer = compute("know", state, "")
    assert kind == "done" and "<svg" in answer.drawings[0].wide, answer


def test_four_columns_and_no_more():
    names = {"column": "a", "column_b": "b", "column_c": "c", "column_d": "d"}
    shown = view("know", settled(PageState(**names)), "", {}, "")
    assert not shown.errors and shown.free is None and len(shown.columns) == 4
    # one in the middle is left out by taking its name away, and the next one to come takes its place
    left = view("know", settled(PageState(**names | {"column_b": ""})), "", {}, "")
    assert [column.name for column in left.columns] == ["a", "c", "d"] and left.free == "_b"


def test_columns_whose_parameters_have_one_name_are_refused_in_words(idle):
    told = {"column": "x", "population": "normal_mean", "column_b": "x_mean", "population_b": "normal_mean"}
    page = idle.get("/know", params=told).text
    assert 'id="rows-wrong"' in page and "give them two names" in page


def test_what_was_said_of_one_column_comes_back_when_the_others_go(idle):
    page = html.unescape(
        idle.get("/know", params={"population": "poisson", "column_b": "dose", "rows": "linear_regression"}).text
    )
    assert 'type="hidden" name="population" value="poisson"' in page
    page = html.unescape(
        idle.get("/know", params={"population": "poisson", "column_b": "", "rows": "linear_regression"}).text
    )
    assert 'type="hidden" name="rows" value="linear_regression"' in page
    assert re.search(r'<option value="poisson" selected', page)


def test_a_channel_file_of_a_histogram_and_of_a_count(tmp_path):
    plan, _ = read_plan(settled(PageState(counting="private")))
    for text in ("histogram x: -2.0, 0.0, 2.0", "count"):
        channel = read_channel(text, plan)
        (tmp_path / "channel.toml").write_text(channel_file(channel, plan, False))
        assert channel_of(Arguments(tmp_path / "channel.toml", {})) == channel
        assert read_channel(words_of(channel), plan) == channel
