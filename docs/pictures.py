"""Take the pictures of the documentation from the demonstration: the pages of its dashboard, in a browser.

The demonstration measures on this machine, so that the numbers differ from one run to the next; the commits and their
changes are the same. `make docs-pictures` calls it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Page, sync_playwright

from knickpoint.instance import open_instance
from knickpoint.server import serving

_PICTURES: Final = Path(__file__).parent / "pictures"
_CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
_BENCHMARK: Final = "wrap_text"
"""It has two changes in the demonstration; the commits around the second one were not all measured."""


def main() -> int:
    """Make the demonstration, serve it, and take the pictures."""
    with tempfile.TemporaryDirectory() as directory:
        demo = Path(directory) / "demo"
        subprocess.run([sys.executable, "-m", "knickpoint.cli", "demo", str(demo), "--no-serve"], check=True)  # noqa: S603  # this interpreter
        with open_instance(demo) as instance, serving(instance) as address, sync_playwright() as playwright:
            executable = next(found for name in _CHROMIUM if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1200, "height": 640}, color_scheme="light")
            _take(page, f"{address}triage", "triage")
            _take(page, _trace_address(address), "trace")
            browser.close()
    return 0


def _trace_address(address: str) -> str:
    """Return the page of the trace with a change between two measured commits, which is pinned."""
    traces = httpx.get(f"{address}api/v1/traces", params={"query": f"benchmark={_BENCHMARK}"}).json()["traces"]
    changes = httpx.get(f"{address}api/v1/traces/{traces[0]['id']}/change-points").json()["changes"]
    uncertain = max(changes, key=lambda change: change["place"]["suspects"])
    return f"{address}trace/{traces[0]['id']}?commit={uncertain['place']['position']}"


def _take(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=_PICTURES / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
