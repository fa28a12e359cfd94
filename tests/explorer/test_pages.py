"""Every screen in process: what it shows, what it says is wrong, and that its script gives the same numbers."""

import contextlib
import html
import io
import re

import pytest

import confide as cf
from confide_cli.build import channel_of
from confide_cli.study import Arguments
from confide_explorer.families import FORMS
from confide_explorer.pages import SCREENS, settled, view
from confide_explorer.reading import read_channel, read_plan
from confide_explorer.screens.statistic import searched
from confide_explorer.scripts import channel_file, words_of
from confide_explorer.state import PageState

TWO = "statistics=mean+abs(x)%0Amean+x**2+on+-4+4"
NUMBER = "published=mean+abs(x)&value=1.31&scale=0.02&count=1000"
COUNTS = "published=histogram+ward:+a,+b&value=57,40,1&scale=2&step=1&count=98"


def run(script):
    """What a script prints."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(script, "script", "exec"), {})
    return told.getvalue()


def script_of(page, place=0):
    found = re.findall(r'class="script".*?<pre[^>]*>(.*?)</pre>', page, re.DOTALL)
    return html.unescape(found[place])


def cells(page, caption):
    """The texts of a table's body."""
    table = re.search(rf"<caption>{caption}.*?<tbody[^>]*>(.*?)</tbody>", page, re.DOTALL)[1]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    return [
        [html.unescape(re.sub("<.*?>", "", each)) for each in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows
    ]


def test_the_first_screen_says_what_is_clipped_and_what_privacy_means(client):
    page = client.get("/know?high1=60").text
    rows = cells(page, "How much is clipped")
    # P(|X| > 10) of a normal law whose variance is 60, from the error function
    from scipy.special import erfc

    assert rows[-1] == ["60", f"{erfc(10 / (120**0.5)):.1%}"]
    assert "factor of at most 2.72" in page and "73.1% of the time" in page
    printed = [float(each) for each in re.findall(r"[\d.]+e[-+]\d+", run(script_of(page)))]
    assert printed[-1] == pytest.approx(erfc(10 / (120**0.5)), rel=1e-7)


def test_the_second_screen_ranks_and_its_script_ranks_alike(client):
    page = client.get(f"/statistic?{TWO}&pick=mean+abs(x)").text
    rows = cells(page, "Ranked")
    assert [row[0] for row in rows] == ["mean abs(x)", "mean x**2 on -4 4"]
    told = run(script_of(page))
    assert all(row[5] in told for row in rows)  # what will be known, to ±
    told = run(script_of(page, 1))
    for row in cells(page, "Simulated releases"):
        assert f"{row[0]}: {row[3]} ± {row[4]}" in told
    for row in cells(page, "Noise against"):
        errors = [float(each) for each in re.findall(r"sampling error (\S+)", told)]
        assert any(f"{each:.4g}" == row[-1] for each in errors)


CHANNELS = [
    (cf.Mean("clip(x**2, 0.1, 9.85)", bounds=(-3.14, 1 / 3)), cf.Laplace(cf.PureDP(1.0))),
    (cf.Mean("abs(x)**1.77", bounds=(-6.42, 6.42)), cf.Laplace(cf.PureDP(1.0), step=0.125)),
    (cf.Quantile("abs(x)", bounds=(-21, 21), q=0.123456789), cf.Exponential(cf.PureDP(1.0))),
    (cf.Quantile("abs(x)", bounds=(-21, 21), q=0.85), cf.SmoothCauchy(cf.PureDP(1.0), cap=20)),
    (cf.Median("x", bounds=(0, 1e-7)), cf.SmoothCauchy(cf.PureDP(1.0))),
    (cf.Each("abs(x) > 1.91", bounds=(-21, 21)), cf.RandomizedResponse(cf.PureDP(1.0))),
    (cf.Maximum("x", bounds=(-21, 21)), cf.Exponential(cf.PureDP(1.0))),
    (cf.Mean(["x", "x**2"], bounds=(-21, 21)), cf.Laplace(cf.PureDP(1.0))),
]


@pytest.mark.parametrize("parts", CHANNELS, ids=str)
def test_a_row_is_chosen_by_words_that_read_as_its_channel(parts, tmp_path):
    """To the last digit, on the page and in the channel file."""
    plan, _ = read_plan(PageState())
    channel = cf.Channel(*parts, plan.n)
    assert read_channel(words_of(channel), plan) == channel
    (tmp_path / "channel.toml").write_text(channel_file(channel, plan, False))
    assert channel_of(Arguments(tmp_path / "channel.toml", {})) == channel


@pytest.mark.slow
def test_a_search_offers_its_own_channels():
    plan, _ = read_plan(PageState())
    found, picks = searched(PageState(), plan)
    assert [read_channel(each, plan) for each in picks] == list(found.channels)


def test_the_third_screen_draws_accuracy_against_privacy_and_n(client):
    page = client.get("/worth?pick=mean+x&population=bernoulli&n=500").text
    printed = {f"{float(each):.4g}" for each in re.findall(r" (0\.\d+)$", run(script_of(page)), re.MULTILINE)}
    for caption in ("Accuracy against privacy", "Accuracy against n"):
        rows = cells(page, caption)
        assert len(rows) == 9 and {row[1] for row in rows} <= printed
        # less noise, or more records: never less accurate
        assert sorted((float(row[1]) for row in rows), reverse=True) == [float(row[1]) for row in rows]


@pytest.mark.slow
def test_the_third_screen_says_what_accuracy_costs(client):
    page = client.get("/worth?pick=mean+x&population=bernoulli&sd1=0.05&n=500").text
    told = run(script_of(page))
    loss, fewest = cells(page, "What it costs")
    printed = float(re.search(r"^500 records under ([\d.]+)-differential", told, re.MULTILINE)[1])
    assert loss[1] == f"ε = {printed:.4g}"
    assert f"\n{fewest[2]} records under 1-differential" in told


def test_the_fourth_screen_reads_a_number_and_a_file(client):
    page = client.get(f"/number?{NUMBER}").text
    (name, estimate, sd, *_), *_ = cells(page, "In full")
    assert (name, estimate) == ("variance", "2.70") and f"± 0.{sd[2:3]}" in run(script_of(page))
    assert "the noise alone" in page and "1.264 to 1.356" in page
    page = client.get(f"/number?{COUNTS}").text
    assert [row[0] for row in cells(page, "Counts")] == ["a", "b", "other"]
    assert "they add up to 98" in run(script_of(page))


def test_a_release_file_is_held_in_memory_only(client, tmp_path, monkeypatch):
    channel = cf.Channel(cf.Histogram("ward", categories=["a", "<b>"]), cf.Laplace(scale=2.0, step=1), n=98)
    cf.Release(channel, [57.0, 40.0, 1.0], dataset="people", purpose="<script>alert(1)</script>").save(
        tmp_path / "release.json"
    )
    import tempfile

    def refuse(*_, **__):
        raise AssertionError("something is written to the disk")

    monkeypatch.setattr(tempfile, "_mkstemp_inner", refuse)
    file = {"file": ("release.json", (tmp_path / "release.json").read_bytes(), "application/json")}
    moved = client.post("/release", files=file, data={"n": "500"})
    assert moved.status_code == 303
    page = client.get(moved.headers["location"]).text
    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    assert "&lt;b&gt;" in page and "<b>" not in page.partition("<main")[2]
    pasted = client.post("/release", data={"text": (tmp_path / "release.json").read_text()})
    assert pasted.status_code == 303
    gone = client.get("/number?release=0123456789abcdef0123").text
    assert "nothing is kept on disk; paste it" in gone


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"format": "confide-release", "version": 3}', "\x00\xff", "[" * 9000, '{"a": 1e999}']
)
def test_junk_is_said_beside_the_field_and_stays_there(client, text):
    answer = client.post("/release", data={"text": text, "n": "77"})
    assert answer.status_code == 422 and 'id="text-wrong"' in answer.text
    assert 'name="n" value="77"' in answer.text
    assert (
        html.escape(text.replace("\x00", ""), quote=False)[:40] in html.unescape(answer.text).replace("\x00", "")
        or not text
    )


WRONG = {
    "know": {"low": "a", "high": "-20", "low1": "x", "high1": "0.5", "n": "many", "level": "-1", "population": "bernouli",
             "known": "z", "kind": "none", "counting": "perhaps"},
    "statistic": {"level": "0", "statistics": "mean sin(x)\nmean x", "precision": "some", "kind": "q"},
    "worth": {"pick": "mean x on 3 2", "n": "0", "sd1": "-1", "level": "nan"},
    "number": {"published": "mein x", "value": "a", "scale": "0", "step": "-1", "count": "-5", "noise": "uniform", "total": "1.5"},
}  # fmt: skip


#: rows on the second screen and after it, and a private n: what is assumed of them, and the fields that they have there
_LINE = {"column": "pain", "column_b": "dose", "rows": "linear_regression"}
_APART = {"column": "age", "population": "normal_mean", "column_b": "visits", "population_b": "poisson"}
_PRIVATE = {"counting": "private", "population": "bernoulli"}
#: what is said beside, so that the field is there
BESIDE = {
    "know": {},
    "statistic": {},
    "worth": {"pick": "mean x"},
    "number": {"published": "mean x", "value": "1", "scale": "1", "count": "9"},

    "line": {"column": "pain", "rows": "linear_regression", "column_b": "dose", "family": "linear_regression.outcome",
             "low": "0", "high": "10", "low1": "-1", "high1": "1", "low2": "1", "high2": "2",
             "family_b": "linear_regression.covariate", "low_b": "-4", "high_b": "4", "low1_b": "-1", "high1_b": "1",
             "low2_b": "-2", "high2_b": "2"},
    "rows ranked": _LINE,
    "rows' worth": _LINE | {"pick": "mean pain, dose"},
    "columns' worth": _APART | {"pick": "mean age, visits"},
    "a row's number": _LINE | {"value": "1, 2", "scale": "1", "published": "mean pain, dose"},
    "private": _PRIVATE,
    "private ranked": _PRIVATE,
    "private worth": _PRIVATE | {"pick": "sum 1, x"},
    "apart": {"column": "age", "population": "normal_mean", "family": "normal_mean", "low1": "-1", "high1": "1",
              "column_b": "share", "population_b": "normal_mean", "family_b": "normal_mean", "low_b": "0", "high_b": "1",
              "low1_b": "0.1", "high1_b": "0.5", "column_c": "visits", "population_c": "poisson", "family_c": "poisson",
              "low_c": "0", "high_c": "20", "low1_c": "1", "high1_c": "2"},
}  # fmt: skip
#: of rows and of a private n, with the screen that each is on
SCREEN = {
    "line": "know", "apart": "know", "rows ranked": "statistic", "rows' worth": "worth", "columns' worth": "worth",
    "a row's number": "number", "private": "know", "private ranked": "statistic", "private worth": "worth",
}  # fmt: skip
WRONG_ROWS = {
    "rows ranked": {"statistics": "mean height\nmean pain", "level": "0"},
    "rows' worth": {"pick": "mean pain on height=0:1", "n": "0", "sd1": "-1", "sd2": "x", "sd3": "0"},
    "columns' worth": {"pick": "mean age * height", "sd1": "nan", "sd2": "-1"},
    "a row's number": {"published": "mean height", "value": "1, 2, 3", "count": "0.5"},
    "private": {"n": "none", "counting": "secret"},
    "private ranked": {"statistics": "mean x\nmedian x"},
    "private worth": {"pick": "mean x", "n": "-3", "sd1": "0"},
    "line": {"column": "a b", "column_b": "dose!", "low_b": "x", "high_b": "-9", "low1_b": "none", "high1_b": "-2",
             "low2_b": "much", "high2_b": "-3", "low2": "0", "high1": "-1", "column_c": "pain", "rows": "circle"},
    "apart": {"column": "1st", "population": "normale", "known_b": "?", "high_b": "-1", "high1_b": "0.05",
              "population_c": "fish", "low1_c": "-1", "column_d": "age", "counting": "never", "n": "0"},
}  # fmt: skip
EACH_WRONG = [
    (screen, beside, name, text)
    for screens in ({screen: (screen, each) for screen, each in WRONG.items()},
                    {beside: (SCREEN[beside], each) for beside, each in WRONG_ROWS.items()})
    for beside, (screen, each) in screens.items()
    for name, text in each.items()
]  # fmt: skip


@pytest.mark.parametrize(("screen", "beside", "name", "text"), EACH_WRONG, ids=lambda each: str(each)[:12])
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_lost(idle, screen, beside, name, text):
    given = BESIDE[beside] | {name: text}
    page = idle.get(f"/{screen}", params=given).text
    assert f'id="{name}-wrong"' in page, page
    field = re.search(rf'<(?:input|select|textarea) (?!type="hidden")[^>]*name="{name}"[^>]*>', page)[0]
    assert f"{name}-wrong" in re.search(r'aria-describedby="([^"]*)"', field)[1] and "aria-invalid" in field
    assert html.escape(text).splitlines()[0] in page
    for other, told in given.items():
        assert told.splitlines()[0] in html.unescape(page), other
        # in a field of its own, where it is seen or goes along
        assert re.search(rf'name="{other}"', page), other


def test_all_that_is_wrong_is_said_at_once(idle):
    page = idle.get("/know", params={"low": "a", "high1": "0.5", "n": "many", "level": "x", "counting": "no"}).text
    assert set(re.findall(r'id="(\w+)-wrong"', page)) == {"low", "high1", "n", "level", "counting"}
    wrong = BESIDE["line"] | {"column_b": "a b", "low": "a", "high_b": "-9", "low1": "b", "high2_b": "-5"}
    page = idle.get("/know", params=wrong).text
    assert set(re.findall(r'id="(\w+)-wrong"', page)) == {"column_b", "low", "high_b", "low1", "high2_b"}


def test_what_privacy_means_is_said_whatever_else_is_wrong(idle):
    page = idle.get("/know", params={"low": "a", "n": "many"}).text
    assert "73.1% of the time" in page and "What is marked is to be mended" in page
    assert "of the time" not in idle.get("/know", params={"level": "-1"}).text


def test_what_is_wrong_on_another_screen_is_said_with_the_way_there(idle):
    page = idle.get("/statistic", params={"n": "many", "level": "0"}).text
    alert = re.search(r'role="alert">(.*?)</div>', page, re.DOTALL)[1]
    assert "Mend it on the first screen" in alert and "“many”" in alert
    assert "“0”" not in alert and 'id="level-wrong"' in page  # for which there is a field here
    assert "at first cannot be used" not in idle.get("/worth", params={"n": "many", "level": "0"}).text


def test_delta_has_its_own_message(idle):
    assert 'id="delta-wrong"' in idle.get("/know?kind=approx&delta=2").text
    assert 'id="delta-wrong"' in idle.get("/know?kind=approx&delta=small").text


def test_what_was_said_goes_along_to_every_screen(idle):
    query = f"n=1234&low=-7&high=8&column=age&{TWO}"
    for name in SCREENS:
        page = html.unescape(idle.get(f"/{name}?{query}").text)
        for other in SCREENS:
            assert re.search(rf'href="/{other}\?[^"]*column=age[^"]*n=1234', page), (name, other)


@pytest.mark.parametrize("rows", FORMS)
def test_every_field_has_a_label(idle, rows):
    for name in SCREENS:
        page = idle.get(f"/{name}?{TWO}&kind=approx&column_b=age&rows={rows}").text
        fields = re.findall(r"<(?:input|select|textarea)([^>]*)>", page)
        for each in fields:
            if 'type="hidden"' not in each:
                name_of = re.search(r'id="([^"]*)"', each)[1]
                assert f'for="{name_of}"' in page, each
        names = re.findall(r' id="([^"]*)"', page)
        assert len(names) == len(set(names)), names


def test_another_family_brings_what_is_usually_believed_of_it():
    state = settled(PageState(population="bernoulli", low1="1", high1="8"))
    assert (state.low1, state.high1, state.low, state.high) == ("0.1", "0.6", "0", "1")
    assert settled(PageState(population="poisson", family="poisson", high1="9")).high1 == "9"


@pytest.mark.parametrize("name", list(view("know", PageState(), "", {}, "").families))
def test_every_family_that_is_offered_has_a_prior_and_a_picture(name):
    from confide_explorer.worker import compute

    state = settled(PageState(population=name))
    kind, told = compute("know", state, "")
    assert kind == "done", told
    assert "<svg" in told.drawings[0].wide


def test_what_is_taken_along_is_what_was_chosen(client, tmp_path):
    query = f"{TWO}&column=age+now&counting=about"
    page = html.unescape(client.get(f"/take?{query}").text)
    file = client.get(f"/take/channel.toml?{query}")
    assert file.headers["content-disposition"] == 'attachment; filename="channel.toml"'
    (tmp_path / "channel.toml").write_text(file.text)
    plan, _ = read_plan(PageState())
    assert channel_of(Arguments(tmp_path / "channel.toml", {})) == read_channel("mean abs(x)", plan)
    assert "write the exact one" in file.text and "--column 'age now'" in page
    told = re.sub("<.*?>", "", re.search(r"On the command line.*?<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1])
    assert [line.split()[:2] for line in told.splitlines()] == [["confide", "compare"], ["confide", "release"]]
    for line in told.splitlines():  # an option and its value stay together, and belong to one command
        assert page.count(f'<span class="option">{line[line.index(" --") + 1 :].partition(" --")[0]}</span>') >= 1
    report = client.get(f"/take/report.html?{query}")
    assert "<h1>" in report.text and "attachment" in report.headers["content-disposition"]
    assert cells(client.get(f"/statistic?{TWO}").text, "Ranked")[0][5] in run(
        client.get(f"/take/script.py?{query}").text
    )


def test_the_command_line_of_a_release_reads_the_channel_file(client, tmp_path, monkeypatch):
    """The file goes through `confide release`, on records that are made up."""
    import numpy as np

    from confide_cli import run as confide

    (tmp_path / "channel.toml").write_text(client.get(f"/take/channel.toml?{TWO}&n=200").text)
    records = np.random.default_rng(0).normal(size=200)
    (tmp_path / "DATA.csv").write_text("age\n" + "\n".join(map(str, records)))
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        code = confide(
            ["release", "DATA.csv", "--column", "age", "--study", "channel.toml", "--output", "release.json"]
        )
    assert code == 0
    assert cf.Release.load(tmp_path / "release.json").channel.n == 200
