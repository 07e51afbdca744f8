"""A real browser, and a real server to look at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright
from tests.server.story import make_instance

from knickpoint.instance import open_instance
from knickpoint.server import serving
from knickpoint.server.pages import STATIC

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def _missing(what: str) -> None:
    """Skip for want of a part; in CI, where every part is installed, fail."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Chromium once for all tests."""
    executable = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if executable is None:
        _missing("no Chromium: install it, for example with apt-get install chromium")
    if not (STATIC / "index.html").is_file():
        _missing("the dashboard is not built: run make setup")
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=executable, args=_ARGUMENTS)
        except Error as error:
            _missing(f"Chromium does not start: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an instance with findings, to be copied."""
    directory = tmp_path_factory.mktemp("browser") / "instance"
    make_instance(directory)
    return directory


@pytest.fixture(scope="session")
def shown(story: Path) -> Iterator[str]:
    """Serve an instance for tests that change nothing."""
    with open_instance(story) as instance, serving(instance) as found:
        yield found.rstrip("/")


@pytest.fixture
def address(story: Path, tmp_path: Path) -> Iterator[str]:
    """Serve an instance with findings of the test's own."""
    directory = tmp_path / "instance"
    shutil.copytree(story, directory)
    with open_instance(directory) as instance, serving(instance) as found:
        yield found.rstrip("/")


@pytest.fixture
def empty_address(tmp_path: Path) -> Iterator[str]:
    """Serve an instance without results."""
    make_instance(tmp_path / "empty", with_findings=False)
    with open_instance(tmp_path / "empty") as instance, serving(instance) as found:
        yield found.rstrip("/")


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Open a window that nobody has used before, in which nothing from elsewhere is loaded."""
    with browser.new_context(viewport={"width": 1400, "height": 900}, timezone_id="UTC") as opened:
        opened.set_default_timeout(15_000)
        yield opened


@pytest.fixture
def complaints() -> list[str]:
    """Collect what the page complains about."""
    return []


@pytest.fixture
def page(context: BrowserContext, complaints: list[str]) -> Iterator[Page]:
    """Open a page; the test fails if anything on it goes wrong or leaves this machine."""
    opened = context.new_page()
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("request", lambda request: complaints.append(request.url) if _is_remote(request.url) else None)
    yield opened
    assert complaints == []


def settle(page: Page) -> None:
    """Wait until the view has what it asked the server for."""
    page.wait_for_selector("main :is(table, .notice)")
    page.wait_for_function("() => !document.querySelector('main .waiting:not(details .waiting)')")


def _is_remote(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:"))


@pytest.fixture
def look(page: Page, shown: str) -> Callable[[str], Page]:
    """Open a view in which nothing will be changed."""

    def go(path: str) -> Page:
        page.goto(shown + path)
        settle(page)
        return page

    return go


@pytest.fixture
def visit(page: Page, address: str) -> Callable[[str], Page]:
    """Open a view and wait until it is there."""

    def go(path: str) -> Page:
        page.goto(address + path)
        settle(page)
        return page

    return go
