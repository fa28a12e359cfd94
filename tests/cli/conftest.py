"""What the tests of the command line share: one process, so that compiled functions are shared."""

import json

import pytest

from confide_cli import run


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def confide(capsys):
    """Run a command line; return the exit code, what was printed and what was said about errors."""

    def call(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def result(confide):
    """Run a command line with --json, check that nothing else was printed, and return the object."""

    def call(*arguments):
        code, printed, said = confide(*arguments, "--json")
        assert code == 0, said
        assert said == ""
        return json.loads(printed)

    return call


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text("id,x\n" + "".join(f"{i},{(i * 37 % 100) / 25 - 2}\n" for i in range(100)))
    return tmp_path / "people.csv"
