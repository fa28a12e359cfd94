"""How long somebody waits for `confide explore` in a real browser: `python benchmarks/explorer.py`; needs chromium.

    first page        from asking for the address that a new server printed to a page that is loaded
    first picture     from the same moment to what the first screen computes, by a process that has computed nothing
    another level     from the Enter that gives ε another value on the second screen, where two statistics were ranked
                      before, to their table at that level; every level is a new one, so that nothing is found again

Seconds of the clock, each a median with its range.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time

from playwright.sync_api import Browser, Page, sync_playwright

_START = "import sys; sys.argv = ['confide', 'explore', '--no-browser']; from confide_cli import main; main()"
_TWO = "/statistic?statistics=mean+abs(x)%0Amean+x**2+on+-4+4"
#: milliseconds in which even a first ranking is there
_LONG = 120_000


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=3, help="that are started, each for one first page")
    parser.add_argument("--levels", type=int, default=7, help="that ε is changed to, in the last of them")
    asked = parser.parse_args()
    found: dict[str, list[float]] = {"first page": [], "first picture": [], "another level": []}
    with sync_playwright() as started:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for place in range(asked.servers):
            with subprocess.Popen([sys.executable, "-c", _START], stdout=subprocess.PIPE, text=True) as server:
                try:
                    address = re.search(r"http://\S+", server.stdout.readline())[0]
                    _measure(browser, address, found, asked.levels if place == asked.servers - 1 else 0)
                finally:
                    server.terminate()
        browser.close()
    for name, each in found.items():
        if each:
            print(f"{name:14s} {statistics.median(each):6.3f} s   {min(each):.3f}–{max(each):.3f} ({len(each)})")


def _measure(browser: Browser, address: str, found: dict[str, list[float]], levels: int) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 960})
    began = time.monotonic()
    page.goto(address)
    found["first page"].append(time.monotonic() - began)
    if levels:
        page.locator("figure img").first.wait_for(timeout=_LONG)
        found["first picture"].append(time.monotonic() - began)
        page.goto(address.partition("/?")[0] + _TWO)
        page.locator("caption", has_text="Ranked").wait_for(timeout=_LONG)
        found["another level"] += [_changed(page, f"{0.9 - 0.05 * place:.2f}") for place in range(levels)]
    page.close()


def _changed(page: Page, level: str) -> float:
    page.locator("#level").fill(level)
    began = time.monotonic()
    page.locator("#level").press("Enter")
    page.wait_for_url(re.compile(f"level={level}"))
    page.locator("caption", has_text="Ranked").wait_for(timeout=_LONG)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
