"""Every page in Firefox: it shows its data, fits a narrow window, and Firefox reports no error."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.browser.conftest import missing_part
from tests.browser.firefox import running_firefox
from tests.browser.pages import PAGES

pytestmark = pytest.mark.long

_LOADED = (
    "document.querySelector('main :is(table, .notice, kp-chart, .settings)')"
    " && !document.querySelector('main .waiting:not(details .waiting)')"
)


def test_firefox_opens_every_page_without_an_error(shared_address: str, tmp_path: Path) -> None:
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        missing_part("no Firefox: install it, for example with apt-get install firefox-esr")
    (tmp_path / "profile").mkdir()
    faults: list[str] = []

    async def visit() -> None:
        async with running_firefox(program, tmp_path / "profile") as firefox:
            for width in (1440, 390):
                await firefox.resize(width, 900)
                for path in PAGES:
                    await firefox.open(shared_address + path)
                    await firefox.wait_for(_LOADED)
                    alert = await firefox.evaluate(
                        "document.querySelector('main [role=alert]')?.innerText.trim() ?? ''"
                    )
                    beyond = await firefox.evaluate("document.documentElement.scrollWidth - innerWidth")
                    faults.extend(f"{path} at {width}: {text}" for text in [alert, *firefox.errors] if text)
                    faults.extend(f"{path} at {width}: {beyond} pixels too wide" for _ in range(beyond > 0))
                    firefox.errors.clear()

    asyncio.run(visit())
    assert faults == []
