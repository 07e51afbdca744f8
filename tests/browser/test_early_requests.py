"""What the server names with a page, so that browsers ask for it early: the page has to ask for the same."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Request, Route
from tests.server.story import SLOWER, commit_hash

pytestmark = pytest.mark.browser

BASE, HEAD = commit_hash(SLOWER - 5), commit_hash(SLOWER + 5)
PAGES = {
    "/": ["trends"],
    "/triage": ["changes"],
    "/triage?sort=-traces&open=R1": ["changes"],
    "/trace/1": ["traces/1/change-points", "values"],
    "/change/R1": ["changes/R1"],
    "/trace/1?line=main&commit=30": ["traces/1/change-points", "values"],
    f"/commit/{HEAD}": [f"commits/{HEAD}/report"],
    "/commit/refs%2Ftags%2Fv~1(a)": ["commits/refs%2Ftags%2Fv~1(a)/report"],
    "/explore": ["traces", "facets"],
    "/explore?query=benchmark%3Dload+print&plot=*&smooth=5": ["traces", "values", "commits/times", "traces", "facets"],
    "/explore?plot=benchmark%3D~lo*.": ["traces", "values", "commits/times", "traces", "facets"],
    "/benchmark?param=benchmark&name=load": ["traces", "facets"],
    "/compare": ["commits", "releases"],
    f"/compare?base={BASE}&head={HEAD}&query=benchmark%3Dload": ["comparison"],
    "/alerts": ["alerts"],
    "/status": ["status"],
    "/missing": ["missing"],
    "/quality": ["alert-quality"],
    "/settings": [],
}


@pytest.mark.parametrize(("path", "answers"), PAGES.items())
def test_a_page_asks_for_all_that_the_server_named_with_it(
    page: Page, shared_address: str, expected_errors: list[str], path: str, answers: list[str]
) -> None:
    expected_errors.append("404")
    named: list[str] = []
    asked: list[str] = []

    def without_names(route: Route) -> None:
        answer = route.fetch()
        named.extend(re.findall(r"<(.*?)>", answer.headers["link"]))
        route.fulfill(response=answer, headers={**answer.headers, "link": ""})

    def note(request: Request) -> None:
        asked.append(request.url.removeprefix(shared_address))

    page.route(shared_address + path, without_names)
    page.on("request", note)
    try:
        page.goto(shared_address + path)
        page.wait_for_selector("main :is(h1, h2)")
        page.wait_for_load_state("networkidle")
    finally:
        page.remove_listener("request", note)
        page.unroute_all()
    own = [name.removeprefix("/api/v1/").partition("?")[0] for name in named if name.startswith("/api/")]
    assert own[3:] == answers
    assert [name for name in named if name not in asked] == []


@pytest.mark.core
def test_what_was_named_is_asked_for_once(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/explore")
    page.wait_for_selector("tr[data-trace]")
    page.wait_for_load_state("networkidle")
    urls = page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    assert sorted(urls) == sorted(set(urls))
