"""Hostile names on every page of the dashboard: no script of theirs runs, and nothing is wider than the window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import wait_until_loaded
from tests.hostile_names import HOSTILE, make_hostile

from knickpoint.instance import open_instance
from knickpoint.server import serving

pytestmark = pytest.mark.browser

VIEWS = (
    "/triage",
    "/triage?open=R1,R2,R3",
    "/triage?tab=gone",
    "/trace/1?commit=30&why=1",
    "/trace/9?commit=22",
    "/explore?traces=1,2,3,4,5,6,7,8",
    "/explore?query=benchmark%3D*",
    "/tokens",
    "/audit",
    "/trace/%3Cimg%20src=x%20onerror=document.title='pwned'%3E",
    "/explore?f=%3Cimg%20src=x%20onerror=document.title='pwned'%3E",
)


@pytest.fixture(scope="module")
def hostile_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve, once, an instance with hostile names in everything."""
    place = tmp_path_factory.mktemp("hostile")
    make_hostile(place)
    with open_instance(place / "instance") as instance, serving(instance) as address:
        yield address.rstrip("/")


@pytest.fixture
def watched(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """Open a page, and collect what an attack would do: dialogs, refused scripts, requests to elsewhere."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    signs: list[str] = []
    page.on("dialog", lambda dialog: signs.append(f"dialog {dialog.message}"))
    page.on("pageerror", lambda error: signs.append(f"error {error}"))
    page.on(
        "console", lambda message: signs.append(message.text) if "Content Security Policy" in message.text else None
    )
    yield page, signs
    page.close()


@pytest.mark.parametrize("view", VIEWS)
def test_no_name_runs_a_script_or_breaks_a_page(
    hostile_address: str, watched: tuple[Page, list[str]], view: str
) -> None:
    page, signs = watched
    page.goto(hostile_address + view)
    wait_until_loaded(page)
    for element in page.locator("a[href], tr").all()[:20]:
        element.dispatch_event("mouseover")
    assert page.title() != "pwned"
    assert signs == []
    assert page.locator("a[href^='javascript:'], img[src='x'], [onmouseover], [onerror]").count() == 0
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("(width) => innerWidth === width", arg=width)
        page.wait_for_function("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.core
def test_names_are_shown_as_they_are(hostile_address: str, watched: tuple[Page, list[str]]) -> None:
    page, _ = watched
    page.goto(f"{hostile_address}/explore")
    wait_until_loaded(page)
    assert HOSTILE["html"] in page.locator("body").inner_text()
