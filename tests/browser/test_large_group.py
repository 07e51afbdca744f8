"""A regression of hundreds of traces by keyboard alone, and two people who decide about it at the same time."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.conftest import violations, wait_until_loaded

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.instance import Worker, create_instance
from knickpoint.server import serving

pytestmark = pytest.mark.browser

TRACES = 450
"""Traces of the large regression: the list has the first one, and the page loads 200 more at once."""

VISIBLE = """row => {
    const box = row.getBoundingClientRect();
    const cover = document.querySelector(".selection")?.getBoundingClientRect().top ?? innerHeight;
    return box.top >= 0 && box.bottom <= cover;
}"""


@pytest.fixture
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an instance in which 450 traces step at one commit, and three others at a later one."""
    chance = random.Random(5)
    rows = ["commit,commit_time,subject,benchmark,value,unit,better"]
    for number in range(36):
        commit = f"{number + 16:040x},2026-01-01T{number // 2:02d}:{number % 2 * 30:02d}:00Z,Change {number}"
        for place in range(TRACES + 3):
            step, factor = (20, 1.2 + place / 1000) if place < TRACES else (28, 1.1)
            level = 100 * (factor if number >= step else 1)
            rows.append(f"{commit},b{place:03d},{level + chance.gauss(0, 0.5):.3f},ms,lower")
    directory = tmp_path_factory.mktemp("large") / "instance"
    with create_instance(directory, repositories={"main": ""}, as_work=True) as instance:
        imported = import_data(instance, "\n".join(rows).encode(), source="rows", stated=Sidecar(repository="main"))
        assert not imported.failed
        Worker(instance).step()
        with serving(instance) as found:
            yield found.rstrip("/")


def traces(page: Page) -> Locator:
    return page.locator("tr.finding-row")


def current(page: Page) -> Locator:
    return page.locator('tr[aria-current="true"]')


def name_of(page: Page) -> str:
    """Return the benchmark of the current row."""
    return current(page).locator(".trace-link").inner_text()


def open_deep(page: Page, address: str) -> None:
    """Open the large regression by keyboard, load a second page of its traces, and go to the 220th."""
    page.goto(f"{address}/triage?sort=-traces")
    wait_until_loaded(page)
    page.keyboard.press("ArrowRight")
    expect(traces(page)).to_have_count(201)
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    expect(traces(page)).to_have_count(401)
    for _ in range(219):
        page.keyboard.press("j")
    expect(current(page)).to_be_focused()


def test_hundreds_of_traces_are_loaded_walked_and_decided_about_by_keyboard_alone(page: Page, large: str) -> None:
    open_deep(page, large)
    assert current(page).evaluate(VISIBLE)
    walked = page.evaluate("() => [...document.querySelectorAll('tr.finding-row')].indexOf(document.activeElement)")
    assert walked == 219
    page.keyboard.press("x")
    for _ in range(4):
        page.keyboard.press("j")
    page.keyboard.press("X")
    expect(page.get_by_role("region", name="Selection")).to_contain_text("5 findings selected")
    assert current(page).evaluate(VISIBLE)
    page.keyboard.press("a")
    expect(traces(page)).to_have_count(396)
    expect(current(page)).to_be_focused()
    assert current(page).evaluate(VISIBLE)
    page.keyboard.press("u")
    expect(traces(page)).to_have_count(401)
    assert current(page).evaluate(VISIBLE)
    page.keyboard.press("K")
    expect(current(page)).to_contain_text("Change 20")
    page.keyboard.press("J")
    expect(current(page)).to_contain_text("Change 28")
    assert current(page).evaluate(VISIBLE)
    assert violations(page) == []


def test_two_people_decide_about_one_regression_and_see_each_other_without_a_reload(
    page: Page, browser: Browser, large: str
) -> None:
    open_deep(page, large)
    reading = name_of(page)
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        other = context.new_page()
        other.goto(f"{large}/triage?sort=-traces")
        wait_until_loaded(other)
        other.keyboard.press("ArrowRight")
        expect(traces(other)).to_have_count(201)
        for _ in range(3):
            other.keyboard.press("j")
        decided = name_of(other)
        other.keyboard.press("h")
        expect(other.get_by_text(decided, exact=True)).to_have_count(0)
        # The reader keeps the place, and all rows that were loaded but the one that left.
        expect(page.get_by_text(decided, exact=True)).to_have_count(0, timeout=10_000)
        expect(traces(page)).to_have_count(401)
        assert name_of(page) == reading
        expect(current(page)).to_be_focused()
        assert current(page).evaluate(VISIBLE)
        # And the other way round
        page.keyboard.press("a")
        expect(page.locator("tr.regression-row").first).to_contain_text(f"{TRACES - 2}")
        expect(other.locator("tr.regression-row").first).to_contain_text(f"{TRACES - 2}", timeout=10_000)
