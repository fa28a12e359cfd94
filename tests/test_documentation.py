"""Every command and every block of Python in the README and the documentation runs as printed, and prints what it says.

Blocks of a page share one namespace and one folder, as a reader's session would: `python` runs, `text` below it is what
it must have printed, `console` holds command lines after `$` and what they print, `toml` with a title is a file. `...`
stands for what differs from run to run (noise). `sh` is for what is not run here, and is checked against a list.
"""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import confide as cf
from confide_cli import run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
#: what a shell would do outside of this process, or takes hours
ELSEWHERE = {
    "make demo",
    "make test",
    "make install",
    "source .venv/bin/activate",
    "confide --install-completion",
    "confide explore",
}
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def blocks(page):
    return [match.groups() for match in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def same(printed, wanted):
    """Equal up to spacing, with `...` for anything."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(f"{wanted.strip()}\n", f"{printed.strip()}\n", options)


def commands(content):
    """The command lines of a console block, each with what it must print; a backslash continues a line."""
    found = []
    for line in content.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line + "\n"
    return found


def captured(function, *arguments):
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        result = function(*arguments)
    return stream.getvalue(), result


class Session:
    """What a reader of one page has typed so far."""

    def __init__(self, page):
        self.page, self.names, self.printed = page, {"__name__": "__main__"}, ""

    def python(self, content, _):
        self.printed, _ = captured(exec, compile(content, str(self.page), "exec"), self.names)

    def text(self, content, _):
        assert same(self.printed, content), self.printed

    def console(self, content, _):
        for command, wanted in commands(content):
            program, *arguments = shlex.split(command)
            assert program == "confide"
            printed, code = captured(run, arguments)
            assert code == 0, command
            assert same(printed, wanted), printed

    def toml(self, content, title):
        Path(re.search('title="([^"]+)"', title)[1]).write_text(content, encoding="utf-8")

    def sh(self, content, _):
        for line in content.splitlines():
            assert line.partition("#")[0].strip() in ELSEWHERE, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    session = Session(page)
    for kind, title, content in blocks(page):
        getattr(session, kind)(content, title)


#: minutes of compiling
_LONG = {"researcher"}


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(each, marks=pytest.mark.slow if each.stem in _LONG else (), id=each.stem) for each in NOTEBOOKS],
)
def test_a_notebook_runs_from_top_to_bottom(notebook, tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    text = notebook.read_text(encoding="utf-8")
    assert text.count("# %%") >= 6
    captured(exec, compile(text, str(notebook), "exec"), {"__name__": "__main__"})
    matplotlib.pyplot.close("all")


def test_commands_in_running_text_are_commands():
    """`confide …` in a sentence or a table names a command that exists (`reproduce` is long, and has its own tests)."""
    from typer.main import get_command

    from confide_cli.app import app

    known = {*get_command(app).commands, "reproduce", "--install-completion", "--show-completion", "…"}
    for page in PAGES:
        for word in re.findall(r"`confide ([^\s`]+)", page.read_text(encoding="utf-8")):
            assert word in known, (page.name, word)


def test_the_noise_of_a_share_is_that_of_the_count_over_n():
    """The row of a census count in the table of `analyse.md`, against the discrete Gaussian law of the count itself."""
    page = (ROOT / "docs" / "analyse.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if "as in the 2020 Census" in line]
    mechanism, value = re.findall(r"`([^`]+)`", row)
    sigma, n, count = 3.0, 100, 31
    told = {"cf": cf, "sigma": sigma, "n": n, "count": count}
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), eval(mechanism, told), n)
    away = np.arange(-60, 61)
    mass = np.exp(-((count - 28) ** 2) / (2 * sigma**2)) / np.exp(-(away**2) / (2 * sigma**2)).sum()
    found = channel.log_prob(eval(value, told), np.repeat([0.0, 1.0], [72, 28]))
    assert float(found) == pytest.approx(np.log(mass), abs=1e-10)


def test_readme_names_two_commands():
    commands = re.findall(r"^make \w+", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands == ["make demo", "make test"]


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        assert set(re.findall(r"`?make ([\w-]+)`?$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)) <= targets


def test_the_harness_notices_what_differs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path / "page.md")
    session.python("print(1 + 1)\n", "")
    session.text("2\n", "")
    with pytest.raises(AssertionError):
        session.text("3\n", "")
    with pytest.raises(AssertionError):
        session.console("$ confide --version\nconfide 9.9\n", "")
    with pytest.raises(AssertionError):
        session.sh("rm -rf /\n", "")
    with pytest.raises(AttributeError):
        session.ruby("", "")
