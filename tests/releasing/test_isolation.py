"""Who may import what: publishing never reads records, and the modelling core needs no package of the release."""

import ast
import subprocess
import sys
from pathlib import Path

import confide

ROOT = Path(confide.__file__).parent
#: the parts that touch data or the ledger, and the packages that only they need
READERS = "confide.releasing"
HEAVY = {"ibis", "duckdb", "opendp", "sqlalchemy", "pydantic", "pyarrow", "pandas", "polars"}


def imported(path):
    """Every module that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_only_the_root_and_the_commands_that_publish_know_what_reads_records():
    commands = ROOT.parent / "confide_cli"
    allowed = {ROOT / "__init__.py", commands / "publish.py", commands / "budgets.py"}
    for path in [*ROOT.rglob("*.py"), *(ROOT.parent / "confide_cli").glob("*.py")]:
        if path.is_relative_to(ROOT / "releasing") or path in allowed:
            continue
        assert not any(name == READERS or name.startswith(READERS + ".") for name in imported(path)), path


def test_publishing_imports_nothing_that_reads_data():
    for path in (ROOT / "published").glob("*.py"):
        assert not {name.split(".")[0] for name in imported(path)} & {
            "ibis",
            "duckdb",
            "opendp",
            "sqlalchemy",
            "pandas",
        }, path


def test_the_names_that_the_core_exports_load_nothing_heavy():
    code = (
        "import sys; from confide.published import Release, Rows, Hashed; from confide.releasing import release; "
        "from confide.releasing.ledger.ledger import Ledger; "
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.strip() == "[]"


def test_the_verb_and_its_package_do_not_collide():
    """Whatever is imported first, `confide.release` is the function."""
    code = (
        "import confide.releasing.verb, confide.published.release, confide as cf; assert callable(cf.release); "
        "from confide import release, Ledger, Release; assert 'release' in dir(cf) and release is cf.release"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
