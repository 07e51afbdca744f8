"""A real browser, and a real server with an instance."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect, sync_playwright
from tests.server.story import add_failure, add_machines, make_instance

from knickpoint.instance import Instance, open_instance
from knickpoint.instance.alert_round import rank_new_suspects
from knickpoint.server import serving
from knickpoint.server.dashboard import STATIC
from knickpoint.watch.triage.decisions import Targets, undo

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    # One process for all pages: else each of them starts another, for what is no other site here.
    "--disable-site-isolation-trials",
    "--process-per-site",
    "--renderer-process-limit=1",
    # A page lives for a second: its code is not worth optimizing.
    "--js-flags=--max-lazy --no-opt --single-threaded-gc",
]
_AXE = Path(__file__).parent.parent.parent / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing_part(what: str) -> NoReturn:
    """Skip a test whose part is missing; in CI, which installs every part, fail it."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(what)
    pytest.skip(what)


def plot_box(page: Page) -> tuple[float, float, float, float]:
    """Return left, top, width and height of where the plot draws its values, once it has a place.

    What arrives late builds the plot anew, and a part of it that is asked for its place just then has none.
    """
    script = """() => {
        const box = document.querySelector(".u-over")?.getBoundingClientRect();
        return box?.width ? [box.x, box.y, box.width, box.height] : undefined;
    }"""
    left, top, width, height = page.wait_for_function(script).json_value()
    return left, top, width, height


def point_at(page: Page, across: float, down: float = 0.5) -> None:
    """Point at the plot, ``across`` of its width from the left and ``down`` of its height from the top."""
    left, top, width, height = plot_box(page)
    page.mouse.move(left + width * across, top + height * down)


@pytest.fixture(scope="session")
def _started() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """Start Chromium once.

    Its driver keeps an event loop running, which nobody sees until a module asks for the browser.
    """
    executable = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if executable is None:
        missing_part("no Chromium: install it, for example with apt-get install chromium")
    if not (STATIC / "index.html").is_file():
        missing_part("the dashboard is not built: run make setup")
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=executable, args=_ARGUMENTS)
        except Error as error:
            missing_part(f"Chromium does not start: {error.message.splitlines()[0]}")
        expect.set_options(timeout=15_000)  # as the steps of a page
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield started, loop
        asyncio._set_running_loop(loop)
        started.close()


@pytest.fixture(scope="module")
def browser(_started: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """Lend the browser to a module: tests of other modules run event loops of their own, beside which none may run."""
    started, loop = _started
    asyncio._set_running_loop(loop)
    yield started
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Instance, str]]:
    """Serve one instance with findings for all tests."""
    directory = tmp_path_factory.mktemp("browser") / "instance"
    make_instance(directory)
    with open_instance(directory) as instance:
        add_machines(instance)
        add_failure(instance)
        rank_new_suspects(instance)
        with serving(instance) as found:
            yield instance, found.rstrip("/")


@pytest.fixture(scope="session")
def shared_address(served: tuple[Instance, str]) -> str:
    """Return the address of the server, for tests that change nothing."""
    return served[1]


@pytest.fixture
def address(served: tuple[Instance, str]) -> Iterator[str]:
    """Return the address of the server; afterwards, undo the decisions of the test."""
    instance, found = served
    yield found
    repository = instance.store.commits.repositories()[0]
    everything = Targets(points=tuple(member.id for member in instance.store.findings.groups.members(repository)))
    while undo(instance.store, everything, who="the next test").decisions:
        pass


@pytest.fixture
def empty_address(tmp_path: Path) -> Iterator[str]:
    """Serve an instance without results."""
    make_instance(tmp_path / "empty", with_findings=False)
    with open_instance(tmp_path / "empty") as instance, serving(instance) as found:
        yield found.rstrip("/")


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """Open one window a module: a new one for each test takes longer than the test."""
    with browser.new_context(timezone_id="UTC") as context:
        context.set_default_timeout(15_000)
        yield context.new_page()


@pytest.fixture
def page_errors() -> list[str]:
    """Collect the errors of the page."""
    return []


@pytest.fixture
def expected_errors() -> list[str]:
    """Collect parts of the texts of errors that the test causes; they may arrive at any time."""
    return []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Leave the page before the fixtures of a test end, and with them its servers."""
    window = getattr(item, "funcargs", {}).get("page")
    if isinstance(window, Page):
        _leave(window)


def _leave(window: Page) -> None:
    """Leave a page that stored something, before its server ends: a request of the page to it would be an error then."""
    if window.url.startswith("http"):
        window.evaluate("() => localStorage.clear()")
    window.goto("about:blank")


@contextmanager
def leaving(window: Page) -> Iterator[None]:
    """Leave the page at the end of a ``with``, for a test that ends its server by itself."""
    try:
        yield
    finally:
        _leave(window)


@pytest.fixture
def page(window: Page, page_errors: list[str], expected_errors: list[str]) -> Iterator[Page]:
    """Return a window without stored state; the test fails on an unexpected error or a request to another machine."""
    window.set_viewport_size({"width": 1400, "height": 900})
    window.emulate_media(media="screen", color_scheme="light")

    def on_error(error: Error) -> None:
        page_errors.append(str(error))

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            page_errors.append(message.text)

    def on_request(request: Request) -> None:
        if _is_remote(request.url):
            page_errors.append(request.url)

    window.on("pageerror", on_error)
    window.on("console", on_console)
    window.on("request", on_request)
    yield window
    window.remove_listener("pageerror", on_error)
    window.remove_listener("console", on_console)
    window.remove_listener("request", on_request)
    assert [text for text in page_errors if not any(part in text for part in expected_errors)] == []


def wait_until_loaded(page: Page) -> None:
    """Wait until the page shows the data that it requested."""
    page.wait_for_selector("main :is(table, .notice, kp-chart, .settings)")
    page.wait_for_function("() => !document.querySelector('main .waiting:not(details .waiting)')")


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """Return the rules of axe that the page breaks, each with the elements that break it."""
    if not _AXE.is_file():
        missing_part("no axe-core: run npm ci in frontend/")
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    script = "async () => (await axe.run()).violations.map((v) => [v.id, v.nodes.map((n) => n.html)])"
    return [(str(rule), [str(element) for element in elements]) for rule, elements in page.evaluate(script)]


def _is_remote(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:"))


@pytest.fixture
def browse(page: Page, shared_address: str) -> Callable[[str], Page]:
    """Open a page of the shared instance, for tests that change nothing."""

    def go(path: str) -> Page:
        page.goto(shared_address + path)
        wait_until_loaded(page)
        return page

    return go


@pytest.fixture
def visit(page: Page, address: str) -> Callable[[str], Page]:
    """Open a page of the shared instance; afterwards, undo the decisions of the test."""

    def go(path: str) -> Page:
        page.goto(address + path)
        wait_until_loaded(page)
        return page

    return go
