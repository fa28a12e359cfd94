"""The explorer in process: pages at once, computations in this process or none at all."""

import pytest

from confide_explorer.app import Explorer
from confide_explorer.jobs import Jobs
from confide_explorer.worker import compute

TOKEN, PORT = "a-token", 8123
HERE = f"http://127.0.0.1:{PORT}"


class AtOnce(Jobs):
    """Computes where it is asked; `never` leaves every computation waiting."""

    def __init__(self, never=False):
        super().__init__()
        self.never = never

    def _grow(self):
        pass

    def ask(self, name, state, text=""):
        job = super().ask(name, state, text)
        if not self.never and not job.over.is_set():
            kind, told = compute(name, state, text)
            job.end(kind, *((told, "") if kind == "done" else (None, told)))
        return job


@pytest.fixture(scope="session")
def jobs():
    return AtOnce()


def client_of(jobs, known=True, **options):
    from starlette.testclient import TestClient

    explorer = Explorer(jobs, patience=0.0)
    app = explorer.app(TOKEN, PORT)
    client = TestClient(app, base_url=HERE, follow_redirects=False, raise_server_exceptions=False, **options)
    client.headers["origin"] = HERE
    if known:
        client.cookies.set(f"confide-{PORT}", TOKEN, domain="127.0.0.1")
    client.explorer = explorer
    return client


@pytest.fixture
def client(jobs):
    return client_of(jobs)


@pytest.fixture
def idle():
    """A client whose computations never end."""
    return client_of(AtOnce(never=True))
