"""A command loads what it needs: who lists a budget does not wait for a compiler."""

import subprocess
import sys

import pytest

import confide as cf

_RUN = """
import sys
from confide_cli import run
code = run(sys.argv[2:])
heavy = {"jax", "numpyro", "scipy", "scipy.optimize", "numpy", "pandas", "matplotlib", "sqlalchemy.dialects.postgresql"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    place = tmp_path_factory.mktemp("quick") / "budget.db"
    ledger = cf.Ledger(place)
    ledger.open("people", budget=cf.PureDP(1.0))
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(0.5)), n=2)
    cf.release(channel, {"share": [0.25, 0.75]}, column="share", ledger=ledger, dataset="people", purpose="a trial")
    return place


@pytest.mark.parametrize(
    ("command", "loaded"),
    [
        ("--help", []),
        ("ledger --help", []),
        ("ledger BOOK", []),
        ("ledger BOOK people", []),
        ("ledger BOOK people --budget pure:1", []),
        ("ledger BOOK --check", []),
        ("schema infer", []),
        ("account 2*pure:0.1", ["numpy", "scipy"]),
    ],
)
def test_what_a_command_loads(command, loaded, book):
    words = command.replace("BOOK", str(book)).split()
    found = subprocess.run(
        [sys.executable, "-c", _RUN, "-", *words], capture_output=True, text=True, timeout=120, check=True
    )
    assert found.stderr.strip().splitlines()[-1] == str(loaded)


def test_a_listing_names_the_column_the_day_and_the_purpose(book, capsys):
    from confide_cli import run

    day = cf.Ledger(book).statement("people").days[0]
    assert len(day) == len("2026-11-18")
    assert run(["ledger", str(book), "people"]) == 0
    account, _, head, line = [line.split() for line in capsys.readouterr().out.splitlines()[1:5]]
    assert account[-1] == day
    assert head == ["day", "column", "what", "published", "records", "guarantee", "purpose"]
    assert line[:2] == [day, "share"]
    assert line[-2:] == ["a", "trial"]


def test_a_listing_of_rows_names_the_bounds_of_each_column(tmp_path, capsys):
    """It said that the ledger was damaged."""
    from confide_cli import run

    book = cf.Ledger(tmp_path / "rows.db")
    book.open("people", budget=cf.ZCDP(1.0))
    bounds = {"age": (18, 90), "cost": (0, 50)}
    channel = cf.Channel(cf.Mean(["age", "age * cost"], bounds), cf.Gaussian(cf.ZCDP(0.5)), n=2)
    cf.release(channel, {"age": [20, 30], "cost": [5, 7]}, ledger=book, dataset="people")
    assert run(["ledger", str(tmp_path / "rows.db"), "people"]) == 0
    assert "mean of age, age * cost on age [18, 90], cost [0, 50]" in capsys.readouterr().out


def test_a_page_of_a_whole_ledger(book, tmp_path, capsys):
    from confide_cli import run

    cf.Ledger(book).open("others", budget=cf.GDP(2.0))
    assert run(["ledger", str(book), "--report", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in ("2 data sets and 1 release.", "has spent 0.5-differential privacy (pure)", ">share</td>", ">day</th>"):
        assert text in page
    assert "others may spend 2-Gaussian differential privacy, and has spent nothing" in page
    assert run(["ledger", str(book), "people", "--report", str(tmp_path / "page.txt")]) == 1
    assert "not the name of a web page" in capsys.readouterr().err
