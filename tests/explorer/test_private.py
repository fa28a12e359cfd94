"""A private number of records in the explorer: planned with one that is assumed, and published by nothing."""

import contextlib
import html
import io
import re
import shlex

import numpy as np
import pytest

import confide as cf
from confide_cli.build import channel_of
from confide_cli.study import Arguments
from confide_explorer.pages import settled
from confide_explorer.reading import read_channel, read_plan
from confide_explorer.screens.statistic import command_of, searched
from confide_explorer.scripts import channel_file, words_of
from confide_explorer.state import PageState
from tests.explorer.test_pages import cells, run, script_of

SHARE = {"counting": "private", "n": "400", "population": "bernoulli"}
LISTED = {"statistics": "sum 1, x\nsum 1, 2 * x"}


def by_command(page):
    """What the page's command line prints."""
    from confide_cli import run as confide

    line = html.unescape(re.sub("<.*?>", "", re.search(r"confide (?:compare|optimize) .*", page)[0]))
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        assert confide(shlex.split(line)[1:]) == 0
    return told.getvalue()


def sd_of(weight, epsilon, n, believed):
    """The sd that is left of a share p: count and weighted sum, jointly normal with n unknown, averaged over p."""
    variance = 2.0 * ((1.0 + weight) / epsilon) ** 2
    found = []
    for p in believed:

        def moments(p, n):
            covariance = np.array([[0.0, 0.0], [0.0, weight**2 * p * (1 - p)]])
            # a count moves with n alone
            return n * np.array([1.0, weight * p]), n * covariance + variance * np.eye(2)

        step = 1e-5
        slopes, spreads = [], []
        for a, b in (((p + step, n), (p - step, n)), ((p, n + 1e-3), (p, n - 1e-3))):
            (m1, h1), (m0, h0) = moments(*a), moments(*b)
            width = sum(np.subtract(a, b))
            slopes.append((m1 - m0) / width)
            spreads.append((h1 - h0) / width)
        inverse = np.linalg.inv(moments(p, n)[1])
        f = np.array([[s @ inverse @ t + 0.5 * np.trace(inverse @ g @ inverse @ h)
                       for t, h in zip(slopes, spreads, strict=True)] for s, g in zip(slopes, spreads, strict=True)])  # fmt: skip
        found.append(f[0, 0] - f[0, 1] ** 2 / f[1, 1])
    return np.asarray(found)


def test_statistics_are_compared_at_the_assumed_number(client):
    page = client.get("/statistic", params=SHARE | LISTED).text
    rows = {row[0]: row for row in cells(page, "Ranked")}
    plan, _ = read_plan(settled(PageState(**SHARE)))
    from scipy.stats import beta

    law = beta(*(float(each) for each in re.findall(r"[\d.]+", plan.prior_words[0])))
    p = law.ppf((np.arange(400) + 0.5) / 400)
    for name, weight in (("sum 1, x", 1.0), ("sum 1, 2 * x", 2.0)):
        # information on average over the prior
        assert float(rows[name][2]) == pytest.approx(sd_of(weight, 1.0, 400.0, p).mean(), rel=5e-3), name
    assert "400 records is assumed" in html.unescape(page)
    printed = run(script_of(page))
    assert all(row[5] in printed for row in rows.values())
    assert rows["sum 1, x"][5] in by_command(page)


def test_what_needs_a_public_number_is_refused_beside_the_field(idle):
    page = html.unescape(idle.get("/statistic", params=SHARE | {"statistics": "mean x\nmedian x"}).text)
    assert 'id="statistics-wrong"' in page and "publish Sum and Count instead" in page
    page = html.unescape(idle.get("/worth", params=SHARE | {"pick": "mean x"}).text)
    assert 'id="pick-wrong"' in page and "publish Sum and Count instead" in page


def test_a_release_of_a_private_number_is_simulated(client):
    page = client.get("/statistic", params=SHARE | LISTED | {"pick": "sum 1, x with laplace(step=1)"}).text
    noise = cells(page, "Noise against")
    # the noise of L1 norm 2 at ε = 1 on whole numbers, and the sampling error of a binomial sum of 400
    assert {row[1] for row in noise} == {f"{(2 * np.exp(-0.5)) ** 0.5 / (1 - np.exp(-0.5)):.3g}"}
    for p, _, error in noise:
        expected = (400 * float(p) * (1 - float(p))) ** 0.5
        assert float(error) == pytest.approx(expected, rel=0.1)  # 2,000 of them: six standard errors
    rows = cells(page, "Simulated releases")
    assert [row[0] for row in rows] == ["probability", "n"] and rows[1][1] == "400"
    told = run(script_of(page, 1))
    assert all(row[3][:4] in told for row in rows)


def test_accuracy_against_privacy_and_an_assumed_number(client):
    page = html.unescape(client.get("/worth", params=SHARE | {"pick": "sum 1, x", "sd1": "0.04"}).text)
    by_n = cells(page, "Accuracy against n")
    assert [row[0] for row in by_n][::8] == ["40", "4,000"]
    spreads = [float(row[1]) for row in by_n]
    assert sorted(spreads, reverse=True) == spreads
    # at the number that is assumed both curves are one release
    here = next(row for row in cells(page, "Accuracy against privacy") if row[0] == "ε = 1")
    assert here[1] == next(row for row in by_n if row[0] == "400")[1]
    told = run(script_of(page))
    printed = [float(each) for each in told.splitlines()[-2:]]
    least, fewest = cells(page, "What it costs")
    assert least[1] == f"about ε = {printed[0]:.3g}" and fewest[1] == f"about {printed[1]:,.0f} records"
    assert "n is private" in page and "confide require does not serve" in page
    assert all(f"{spread:.3g}"[:4] in told for spread in spreads)


def test_what_is_taken_along_tells_no_number(tmp_path, monkeypatch):
    from confide_cli import run as confide

    state = settled(PageState(**SHARE, **LISTED))
    plan, _ = read_plan(state)
    chosen = read_channel("sum 1, x", plan)
    file = channel_file(chosen, plan, False)
    assert 'n = "private"' in file and "400" not in file
    (tmp_path / "channel.toml").write_text(file)
    assert channel_of(Arguments(tmp_path / "channel.toml", {})) == chosen
    assert "--n private --assume 400" in command_of(state, plan)
    (tmp_path / "DATA.csv").write_text("sick\n" + "1\n0\n" * 60)
    monkeypatch.chdir(tmp_path)
    told = ["release", "DATA.csv", "--column", "sick", "--study", "channel.toml", "--output", "release.json"]
    assert confide(told) == 0
    assert cf.Release.load(tmp_path / "release.json").channel.n is None


@pytest.mark.slow
def test_a_search_finds_sums_beside_a_count():
    state = settled(PageState(counting="private"))
    plan, _ = read_plan(state)
    found, picks = searched(state, plan)
    assert all(channel.n is None for channel in found.channels)
    assert [read_channel(each, plan) for each in picks] == list(found.channels)
    assert words_of(found.best) == picks[0]
