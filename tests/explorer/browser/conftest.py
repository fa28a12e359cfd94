"""The explorer as users start it, in Debian's chromium; a request to anywhere else fails the test."""

import os
import re
import subprocess
import sys

import pytest

#: seconds that a computation may take here, compiling included, and everything else, on a machine that does other things
LONG, SHORT = 240, 20


@pytest.fixture(scope="session")
def address():
    """`confide explore`, until the tests are over."""
    code = "import sys; sys.argv = ['confide', 'explore', '--no-browser']; from confide_cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", server.stdout.readline())
        yield found[0]
        server.terminate()


@pytest.fixture(scope="session")
def chromium():
    """The browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")
    with playwright.sync_playwright() as started:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        # whoever is root has no sandbox to run it in
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page with the address of the explorer, and what went wrong in it."""

    def __init__(self, context, address):
        self.base = address.partition("/?")[0]
        self.page = context.new_page()
        self.page.set_default_timeout(SHORT * 1000)
        self.wrong = []
        self.page.on("request", self._asked)
        self.page.on("pageerror", lambda error: self.wrong.append(f"an error of the script: {error}"))
        self.page.on("console", lambda told: self.wrong.append(told.text) if "Content Security" in told.text else None)
        self.page.on("dialog", lambda dialog: self.wrong.append("a dialog: a script of somebody else ran"))

    def _asked(self, request):
        if not request.url.startswith(f"{self.base}/"):
            self.wrong.append(f"asked for {request.url}")

    def go(self, path, done=True):
        """Open a screen, and wait for what it computes."""
        self.page.goto(self.base + path)
        if done:
            self.found()
        return self.page

    def found(self):
        self.page.locator("[data-job]").first.wait_for(state="detached", timeout=LONG * 1000)
        return self.page


@pytest.fixture
def context(chromium, address):
    made = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = made.new_page()
    page.goto(address)
    page.close()
    yield made
    made.close()


@pytest.fixture
def tab(context, address):
    made = Tab(context, address)
    yield made
    assert not made.wrong, made.wrong


@pytest.fixture
def other(context, address):
    """A second tab of the same browser."""
    made = Tab(context, address)
    yield made
    assert not made.wrong, made.wrong
