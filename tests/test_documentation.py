"""The README's Python runs as printed, and prints what it says."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def blocks():
    return re.findall(r"```(python|text)\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_readme_code_runs_and_prints_what_is_printed_below_it():
    namespace: dict = {}
    output = ""
    for kind, content in blocks():
        if kind == "python":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(content, str(README), "exec"), namespace)
            output = stream.getvalue()
        else:
            assert output.strip() == content.strip()
    assert 1.0 < float(namespace["posterior"].mean) < 6.0


def test_readme_names_two_commands():
    commands = re.findall(r"^make \w+", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands == ["make demo", "make test"]
