"""Commands that work: what they print for people and for programs."""

import contextlib
import html
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import confide as cf
from confide._digits import within
from confide_cli.choose import in_words
from confide_cli.schemas import NAMES, schema_of

MEAN = ("--statistic", "mean abs(x)", "--bounds", "-10", "10", "--n", "100")
GAUSSIAN = ("--mechanism", "gaussian", "--privacy", "gdp:1")
NORMAL = ("--population", "normal_variance")


def valid(name, found):
    jsonschema.Draft202012Validator(schema_of(name)).validate(found)


def channel(statistic, mechanism, n=100):
    return cf.Channel(statistic, mechanism, n)


@pytest.mark.parametrize("arguments", [(), ("--help",), *((name, "--help") for name in
                         ("information", "compare", "optimize", "study", "release", "infer", "estimate", "require", "ledger", "verify", "denoise", "adapt", "account", "audit", "schema", "reproduce", "explore", "demo"))])  # fmt: skip
def test_help_shows_an_example(arguments, confide):
    code, printed, said = confide(*arguments)
    assert code == 0
    assert said == ""
    assert "Example: confide" in printed or "Start with: confide demo" in printed


def test_help_is_quick_because_nothing_heavy_is_imported():
    code = (
        "import sys; from confide_cli import run; run(['compare', '--help']); "
        "print(sorted({'confide', 'jax', 'numpy', 'pandas', 'rich'} & set(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert printed.splitlines()[-1] == "[]"


def test_shells_can_complete_a_command():
    environment = {"_CONFIDE_COMPLETE": "complete_bash", "COMP_WORDS": "confide com", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['confide']; from confide_cli import main; main()"
    made = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | environment,
    )
    assert made.stdout.split() == ["compare"]


def test_version(confide):
    assert confide("--version")[:2] == (0, f"confide {cf.__version__}\n")


def test_information(confide, result):
    arguments = ("information", *NORMAL, *MEAN, *GAUSSIAN, "--theta", "1:3:3", "--method", "normal")
    found = result(*arguments)
    valid("information", found)
    model = cf.Model(cf.populations.normal_variance(), channel(cf.Mean("abs(x)", (-10, 10)), cf.Gaussian(cf.GDP(1.0))))
    wanted = cf.information(model, np.array([1.0, 2.0, 3.0]), method="normal")
    np.testing.assert_array_equal(found["matrix"], wanted.matrix)
    assert found["theta"] == [[1.0], [2.0], [3.0]]
    code, printed, _ = confide(*arguments)
    assert code == 0
    assert "Fisher information about variance" in printed


def test_compare_by_options_and_by_a_study(confide, result, tmp_path):
    arguments = (*NORMAL, *GAUSSIAN, "--n", "100", "--bounds", "-10", "10", "--theta", "2", "--method", "normal",
                 "--statistic", "mean abs(x)", "--statistic", "mean x**2 on -3.2 3.2")  # fmt: skip
    found = result("compare", *arguments)
    valid("compare", found)
    assert found["best"] == "mean x**2 on -3.2 3.2"
    assert found["channels"]["mean x**2 on -3.2 3.2"]["statistic"]["bounds"] == [-3.2, 3.2]
    (tmp_path / "study.toml").write_text(
        'population = "normal_variance"\nmechanism = "gaussian"\nprivacy = "gdp:1"\nn = 100\nbounds = [-10, 10]\n'
        'theta = 2.0\nmethod = "normal"\nstatistic = ["mean abs(x)", "mean x**2 on -3.2 3.2"]\n'
    )
    assert result("compare", "study.toml") == found
    assert result("compare", "study.toml", "--theta", "1")["rows"] != found["rows"]
    code, printed, _ = confide("compare", "study.toml")
    assert code == 0
    assert "Best by expected variance: mean x**2 on -3.2 3.2." in printed


@pytest.mark.slow
def test_optimize_of_rows_chooses_bounds_by_column(result, confide):
    rows = (
        "--population",
        "independent(a=normal, b=bernoulli)",
        "--privacy",
        "zcdp:0.5",
        "--n",
        "500",
        "--theta",
        "0,1,0.4",
    )
    found = result("optimize", *rows, "--statistic", "mean a, a**2, b", "--bounds", "a=-2:3")
    valid("optimize", found)
    assert "--bounds a=-2.0:3.0 --bounds b=0.0:1.0" in found["words"]
    code, _, said = confide("optimize", *rows, "--family", "clip")
    assert code == 2 and "records of one number" in said


def test_optimize_gives_words_that_release_takes(result, confide, people):
    found = result("optimize", "--population", "bernoulli", "--privacy", "pure:1", "--n", "100", "--theta", "0.3")
    valid("optimize", found)
    code, printed, _ = confide("release", people, "--column", "x", *shlex.split(found["words"]))
    assert code == 0
    assert "No ledger keeps count" in printed


def test_study_keeps_its_cells(confide, result, monkeypatch):
    words = (
        "study", "--population", "bernoulli", "--statistic", "mean x", "--bounds", 0, 1, "--privacy", "gdp:1", "--n", 100,
        "--mechanism", "gaussian", "--prior", "probability ~ Beta(2, 2)", "--theta", 0.3, "--theta", 0.6, "--releases", 50,
        "--route", "normal", "--keep", "cells",
    )  # fmt: skip
    first, again = result(*words), result(*words)
    jsonschema.validate(first, schema_of("study"))
    assert (first["computed"], again["computed"], again["found"]) == (2, 0, 2)
    assert first["rows"] == again["rows"]
    assert [row["theta"] for row in first["rows"]] == [0.3, 0.6]
    code, printed, _ = confide(*words)
    assert code == 0
    assert "0 cells computed, 2 found on disk." in printed
    code, _, said = confide(*words, "--workers", 2, "--dask", "tcp://127.0.0.1:1")
    assert (code, said.count("\n")) == (2, 1)
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, said = confide(*words, "--dask", "tcp://127.0.0.1:1")
    assert code == 2
    assert 'pip install "confide[dask]"' in said


def test_adapt_keeps_a_plan_in_a_file(confide, result, tmp_path):
    begin = (
        "--population",
        "normal_mean",
        "--prior",
        "mean ~ Normal(0, 10)",
        "--privacy",
        "pure:2",
        "--batches",
        "3*1",
    )
    found = result("adapt", "plan.json", *begin, "--next")
    valid("adapt", found)
    assert found["part"] == "rows:0:1" and not found["done"]
    plan = cf.Adaptive.load(tmp_path / "plan.json")
    cf.Release(plan.channel, [1.0]).save(tmp_path / "one.json")
    found = result("adapt", "plan.json", "--update", "one.json", "--next")
    assert found["answered"] == 1 and found["part"] == "rows:1:2"
    code, _, said = confide("adapt", "plan.json", "--update", "one.json")
    assert code and "next channel" in said
    code, _, said = confide("adapt", "nowhere.json")
    assert code and "--batches" in said


def test_denoise_says_what_the_true_counts_were(confide, result, tmp_path):
    noise = cf.Laplace(scale=2.0, step=1)
    cf.Release(cf.Channel(cf.Histogram("age", edges=[18, 65]), noise), [30.0, 52.0, 20.0]).save("cells.json")
    cf.Release(cf.Channel(cf.Count(), noise), 99.0).save("total.json")
    found = result(
        "denoise", "cells.json", "--total", "total.json", "--claim", "18 to 65 > below 18", "--quantile", "0.5"
    )
    valid("denoise", found)
    assert found["cells"]["18 to 65"]["low"] > found["cells"]["below 18"]["high"]
    assert found["claims"]["18 to 65 > below 18"] > 0.99
    assert found["quantiles"]["0.5"] == [18, 65]
    code, printed, _ = confide("denoise", "cells.json", "--total", "100", "--quantile", "0.1")
    assert code == 0
    assert "they add up to 100" in printed and "between -inf and 18" in printed
    code, _, said = confide("denoise", "nowhere.json")
    assert code == 1 and "cannot be read" in said
    code, _, said = confide("denoise", "total.json", "--quantile", "0.5")
    assert code == 1 and "cells of one column" in said
    code, _, said = confide("denoise", "cells.json", "--claim", "old, young > 3")
    assert code == 1 and '"below 18 > 65 or more"' in said


def test_denoise_reads_tables_that_others_publish(confide, result):
    """The same numbers as in Python; a row without a count was left out."""
    rows = ["county,tract,n,v"] + [f"{c},{c}{i},{60 * i + 7},9" for c in "AB" for i in range(3)]
    Path("tracts.csv").write_text("\ufeff" + "\n".join(rows) + "\n\n", encoding="utf-8")
    Path("counties.csv").write_text("county,n,v\nA,200,4\nB,190,4\n", encoding="utf-8")
    found = result(
        "denoise", "tracts.csv", "--count", "n", "--variance", "v", "--total", "counties.csv", "--total", "390"
    )
    valid("denoise", found)
    tracts = {"county": list("AAABBB"), "tract": [f"{c}{i}" for c in "AB" for i in range(3)], "count": [7, 67, 127] * 2}
    expected = cf.denoise(
        cf.published_counts(tracts, variance=9.0),
        totals=[cf.published_counts({"county": ["A", "B"], "count": [200, 190]}, variance=4.0), 390],
    )
    assert [cell["mean"] for cell in found["cells"].values()] == pytest.approx(expected.mean, rel=1e-12)
    Path("few.csv").write_text("ward,count\nnorth,412\nwest,\n", encoding="utf-8")
    kind = ["--variance", "8", "--noise", "laplace", "--nonnegative", "--processed", "suppressed(below=5)"]
    few = ("denoise", "few.csv", *kind)
    assert result(*few)["cells"]["west"]["high"] < 12 < 405 < result(*few)["cells"]["north"]["low"]
    for words, told in (
        (["--variance", "v"], "few.csv"), (["--variance", "8"], "processed"), (["--count", "m"], "--count"),
        (["--variance", "-1", "--processed", "suppressed(5)"], "below 0"), (["--variance", "8", "--noise", "cauchy"], "--noise"),
        (["--variance", "8", "--step", "one"], "--step"), (["--variance", "8", "--processed", "hidden(3)"], "--processed"),
        (["--variance", "8", "--processed", "rounded(3, 4, 5)"], "--processed"),
    ):  # fmt: skip
        code, _, said = confide("denoise", "few.csv", *words)
        assert code == 1 and told in said
    for text in (b"", b"count\n", b"count,count\n1,2\n", b"a,count\n1\n", b"\xff\xfe\x00", b'count\n"1\n'):
        Path("bad.csv").write_bytes(text)
        code, _, said = confide("denoise", "bad.csv", "--variance", "8")
        assert code == 1 and "bad.csv" in said


def test_verify_says_whether_a_file_is_as_it_was_written(confide, result, people, tmp_path):
    confide("ledger", "budget.db", "people", "--budget", "gdp:2")
    confide("release", str(people), "--column", "x", *MEAN, *GAUSSIAN, "--ledger", "budget.db", "--dataset", "people",
            "--output", "release.json")  # fmt: skip
    found = result("verify", "release.json", "--ledger", "budget.db")
    valid("verify", found)
    assert (found["sound"], found["confirmed"], found["entry"]["position"]) == (True, True, 1)
    code, printed, _ = confide("verify", "release.json")
    assert code == 0
    assert "only the ledger" in printed
    code, printed, _ = confide("ledger", "budget.db", "--check")
    assert code == 0
    assert "as it was written" in printed
    Path("release.json").write_text(Path("release.json").read_text().replace('"people"', '"others"'))
    code, printed, _ = confide("verify", "release.json", "--json")
    assert code == 1
    valid("verify", json.loads(printed))
    assert "edited" in json.loads(printed)["words"]


def test_release_ledger_and_infer(confide, result, people, tmp_path):
    assert confide("ledger", "budget.db", "people", "--budget", "gdp:2")[0] == 0
    asked = ("release", people, "--column", "x", "--statistic", "mean x > 0", "--bounds", "-10", "10", *GAUSSIAN, "--n", "100",
             "--ledger", "budget.db", "--dataset", "people", "--output", "release.json")  # fmt: skip
    made = result(*asked)
    valid("release", made)
    assert made == json.loads(Path("release.json").read_text())
    assert result(*asked)["integers"] == made["integers"]  # the same release, for free
    account = result("ledger", "budget.db", "people")
    valid("ledger", account)
    assert account["datasets"][0]["spent"] == {"kind": "GDP", "mu": 1.0}
    code, printed, _ = confide("ledger", "budget.db")
    assert code == 0
    assert "people" in printed
    posterior = result(
        "infer", "release.json", "--population", "bernoulli", "--prior", "probability ~ Beta(1, 1)", "--route", "normal", "--method", "grid",
    )  # fmt: skip
    valid("infer", posterior)
    assert posterior["method"] == "grid"
    found = posterior["parameters"]["probability"]
    assert 0 < found["low"] < found["mean"] < found["high"] < 1


def test_a_number_that_somebody_published(result):
    found = result(
        "infer", "--value", "0.3", "--population", "bernoulli", "--prior", "probability ~ Beta(1, 1)", "--statistic", "mean",
        "--bounds", "0", "1", "--mechanism", "gaussian(scale=0.01)", "--n", "100", "--route", "normal", "--method", "grid",
        "--probability", "0.5",
    )  # fmt: skip
    assert found["probability"] == 0.5
    assert found["parameters"]["probability"]["mean"] == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas(name, confide):
    code, printed, _ = confide("schema", name)
    assert code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(printed))


def test_a_table_of_noisy_records_and_parts(confide, result, people):
    asked = ("release", people, "--column", "x", "--statistic", "each x > 0", "--bounds", "-2", "2", "--mechanism",
             "randomized_response", "--privacy", "pure:1")  # fmt: skip
    made = result(*asked, "--n", "40", "--part", "rows:10:50", "--output", "each.json")
    valid("release", made)
    assert Path(made["records"]["file"]).exists()
    assert made["part"] == {"kind": "rows", "start": 10, "stop": 50}
    code, _, said = confide(*asked, "--n", "100")
    assert code == 2
    assert "--output" in said


def page_of(path):
    """What a report's page says: the command and the script that it shows, run again, and the page itself."""
    page = Path(path).read_text(encoding="utf-8")
    command, script = (
        html.unescape(page.split(f'<pre id="{name}">')[1].split("</pre>")[0]) for name in ("command", "script")
    )
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(script, {})
    return command, stream.getvalue(), html.unescape(page)


def test_reports_say_the_answer_and_how_to_get_it_again(confide, result, people):
    compared = ("compare", *NORMAL, *GAUSSIAN, "--n", "100", "--bounds", "-10", "10", "--theta", "2", "--method", "normal",
                "--statistic", "mean abs(x)", "--statistic", "mean x**2", "--report", "compare.html")  # fmt: skip
    code, printed, _ = confide(*compared)
    assert code == 0
    assert "Report written to compare.html" in printed
    command, said, page = page_of("compare.html")
    assert command == shlex.join(["confide", *compared])
    assert "Best by expected variance: mean abs(x)." in said
    assert "Best by expected variance: mean abs(x)." in page

    assert confide("ledger", "budget.db", "people", "--budget", "gdp:2")[0] == 0
    asked = ("release", people, "--column", "x", "--statistic", "mean x > 0", "--bounds", "-10", "10", *GAUSSIAN, "--n", "100",
             "--ledger", "budget.db", "--dataset", "people", "--output", "release.json", "--report", "release.html")  # fmt: skip
    made = result(*asked)  # --json prints nothing but JSON beside a report
    valid("release", made)
    _, said, page = page_of("release.html")
    assert str(round(made["value"], 4)) in said  # at the precision that its noise leaves it
    assert str(round(made["value"], 4)) in page
    assert result("ledger", "budget.db", "people")["datasets"][0]["spent"] == {
        "kind": "GDP",
        "mu": 1.0,
    }  # read again for free

    asked = ("infer", "release.json", "--population", "bernoulli", "--prior", "probability ~ Beta(1, 1)", "--route", "normal",
             "--report", "infer.html")  # fmt: skip
    posterior = result(*asked)["parameters"]["probability"]
    _, said, page = page_of("infer.html")
    assert f"probability: {posterior['mean']:.4g} ± {posterior['sd']:.4g}" in said
    assert f"the population's probability is {within(posterior['mean'], posterior['sd'])} ±" in page


@pytest.mark.slow
def test_demo(confide):
    code, printed, said = confide("demo", "--folder", "trial")
    assert code == 0
    assert said == ""
    assert "Left of the budget of people: 0.8-differential privacy (pure)" in printed
    assert "the analyst was told: " in printed
    for name in ("choice.html", "release.html", "report.html"):
        assert str(Path("trial", name).resolve()) in printed
    mean = float(printed.split("the analyst was told: ")[1].split()[0])
    assert 2.3 < mean < 3.4  # four standard deviations of the posterior, and what the model misses


@pytest.mark.parametrize(
    "described",
    [
        channel(cf.Mean(["x", "x**2"], (-3, 3)), cf.Laplace(cf.PureDP(1.0))),
        channel(cf.Quantile("abs(x)", 0.9, (-3, 3)), cf.Exponential(cf.PureDP(0.5), cap=7)),
        channel(cf.Median("x", (0, 1)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6))),
        channel(cf.Mean("clip(x, 0, 1)", (-3.5, 3)), cf.Gaussian(scale=0.25)),
        channel(cf.Maximum("x", (0, 1)), cf.Laplace(cf.PureDP(1.0), step=0.01)),
    ],
)
def test_words_of_a_channel_read_back_as_the_channel(described):
    from confide_cli.build import channel_of
    from confide_cli.study import Arguments

    words = shlex.split(in_words(described))
    at = {name: words.index(f"--{name}") for name in ("statistic", "bounds", "mechanism", "n")}
    options = {"statistic": words[at["statistic"] + 1], "mechanism": words[at["mechanism"] + 1], "n": int(words[-1])}
    options["bounds"] = [float(end) for end in words[at["bounds"] + 1 : at["bounds"] + 3]]
    if "--privacy" in words:
        options["privacy"] = words[words.index("--privacy") + 1]
    assert channel_of(Arguments(None, options)) == described


def test_audit_tries_the_shape_of_a_source_and_fails_when_it_finds_something(confide, result, tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from confide.releasing import aggregate

    pq.write_table(pa.table({"id": [1], "x": [1.5]}), tmp_path / "people.parquet")
    arguments = ("audit", "--like", "people.parquet", "--column", "x", *MEAN, "--privacy", "pure:1", "--pairs", "20")
    found = result(*arguments)
    valid("audit", found)
    assert found["passed"]
    assert list(found["tried"]) == ["parquet (float64)"]
    code, printed, _ = confide(*arguments)
    assert code == 0
    assert "No record showed more than the noise is calibrated to hide" in printed
    monkeypatch.setattr(aggregate, "_sum", lambda plan, source, column: (column.sum() + column.max()).cast("string"))
    code, printed, said = confide(*arguments[:-1], "60", "--json")
    assert (code, said) == (1, ""), printed
    valid("audit", json.loads(printed))
    assert "moved by" in json.loads(printed)["failures"][0]["problem"]


def test_audit_takes_persons_and_cells(result, tmp_path):
    (tmp_path / "people.csv").write_text("who,age\n")
    found = result("audit", "--like", "people.csv", "--statistic", "histogram age: 18, 65", "--n", "private", "--person", "who",
                   "--at-most", "2", "--privacy", "pure:1", "--pairs", "15")  # fmt: skip
    valid("audit", found)
    assert found["passed"]
    assert found["records"] == [None]
    assert found["tried"] == {"csv (text)": 15}


def test_audit_reads_the_header_alone(result, tmp_path):
    # what follows the first line could not be read as text at all
    (tmp_path / "people.csv").write_bytes(b"id,x\n" + bytes(range(128, 256)))
    found = cf.audit(
        channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0))), like=tmp_path / "people.csv", column="x", pairs=1
    )
    assert list(found.tried) == ["csv (text)"]


def test_release_of_rows_by_group(confide, result, tmp_path):
    lines = [f"{'f' if i % 3 else 'm'},{20 + i % 50},{100 * i + 50},{'north' if i % 4 else 'attic'}" for i in range(90)]
    (tmp_path / "hospital.csv").write_text("\n".join(["sex,age,cost,ward", *lines, "m,n/a,,north"]) + "\n")
    words = ["release", "hospital.csv", "--statistic", "mean age, log(cost), age*log(cost), ward == 0", "--bounds", "age=18:90",
             "--bounds", "cost=10:50000", "--category", "ward=north,south", "--privacy", "zcdp:0.5", "--mechanism", "gaussian",
             "--missing", "age=40,cost=100"]  # fmt: skip
    confide("ledger", "budget.db", "hospital", "--budget", "zcdp:2")
    paid = ["--ledger", "budget.db", "--dataset", "hospital"]
    whole = result(*words, "--n", "91", *paid)
    assert whole["version"] == 3
    assert whole["channel"]["statistic"]["bounds"] == {"age": [18.0, 90.0], "cost": [10.0, 50000.0]}
    assert whole["missing"] == {"age": 40.0, "cost": 100.0}
    groups = result(*words, "--by", "sex", "--groups", "f=60,m=31", *paid, "--output", "by.json", "--report", "by.html")
    assert list(groups) == ["f", "m"]
    assert groups["m"]["channel"]["n"] == 31
    for index, name in ((1, "f"), (2, "m")):
        assert cf.Release.load(f"by-{index}.json").part == cf.Grouped("sex", name)
        assert confide("verify", f"by-{index}.json", "--ledger", "budget.db")[0] == 0
    assert cf.Ledger("budget.db").spent("hospital") == cf.ZCDP(1.0)
    code, printed, said = confide("ledger", "budget.db", "hospital", "--check")
    assert code == 0, said
    assert "age" in printed
    (tmp_path / "study.toml").write_text(
        'statistic = "mean age, ward == 0"\nbounds = {age = [18, 90]}\ncategories = {ward = ["north"]}\n'
        'privacy = "zcdp:0.5"\nmechanism = "gaussian"\nn = 91\n'
    )
    code, printed, said = confide("release", "hospital.csv", "--study", "study.toml", "--missing", "age=40")
    assert code == 0, said
    assert "Released:" in printed
    assert str(cf.Release.load("by-2.json")).startswith("Released from hospital, sex = m: ")  # which of the groups


def test_a_private_number_of_records_is_assumed_to_plan_with(result, confide):
    private = ("--population", "exponential", "--privacy", "pure:1", "--n", "private", "--theta", "0.4")
    found = result("optimize", *private, "--assume", "2000", "--family", "clip")
    valid("optimize", found)
    assert "--n private" in found["words"]
    assert '--statistic "sum 1, (x - ' in found["words"]
    told = shlex.split(found["words"])
    told = told[: told.index("--privacy")]  # which `private` has
    again = result("information", *private, "--assume", "2000", *told)
    assert again["matrix"][0][0][0] == pytest.approx(found["rows"][0]["information"])
    code, _, said = confide("optimize", *private)
    assert code == 2
    assert "--assume" in said
    code, _, said = confide("optimize", "--population", "exponential", "--privacy", "pure:1", "--n", "100", "--assume", "50",
                            "--theta", "1")  # fmt: skip
    assert code == 2
    assert "--n private" in said


def test_a_release_is_told_though_its_page_fails(confide, people, monkeypatch):
    """It was made and paid for, and nobody was told what came out."""

    def broken(*_, **__):
        raise cf.InvalidArgument("result", None, "cannot be drawn", "none")

    monkeypatch.setattr("confide.reporting.report", broken)
    asked = (
        "release",
        people,
        "--column",
        "x",
        "--statistic",
        "mean x",
        "--bounds",
        "-2",
        "2",
        *GAUSSIAN,
        "--n",
        "100",
    )
    code, printed, said = confide(*asked, "--report", "release.html")
    assert code == 1
    assert printed.startswith("Released: ")
    assert "cannot be drawn" in said
    assert "Report written" not in printed
