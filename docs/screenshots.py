"""Take the pictures of the explorer that the documentation shows: python docs/screenshots.py; needs chromium."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent / "img"
_LISTED = "statistics=mean+abs(x)%0Amean+x**2+on+-4+4%0Amean+abs(x)+on+-5+5%0Amean+x**2"
_ROWS = "column=pain&column_b=dose&rows=linear_regression&kind=gdp"
#: each: the address of a screen, and how much of it is shown
SHOTS = {
    "explore-statistic": (f"/statistic?{_LISTED}", 960),
    "explore-rows": (f"/statistic?{_ROWS}", 960),
    "explore-worth": ("/worth?pick=mean+abs(x)+on+-8+8&sd1=0.4", 960),
    "explore-number": ("/number?published=mean+abs(x)&value=1.31&scale=0.02&count=1000", 960),
}


def main() -> None:
    """Start the explorer, open each screen, wait for what it computes, and take a picture."""
    code = "import sys; sys.argv = ['confide', 'explore', '--no-browser']; from confide_cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        try:
            _take(found[0])
        finally:
            server.terminate()


def _take(address: str) -> None:
    with sync_playwright() as started:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 960}, color_scheme="light")
        page.goto(address)
        for name, (screen, height) in SHOTS.items():
            page.set_viewport_size({"width": 1280, "height": height})
            page.goto(address.partition("/?")[0] + screen)
            page.locator("[data-job]").first.wait_for(state="detached", timeout=300_000)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=HERE / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
