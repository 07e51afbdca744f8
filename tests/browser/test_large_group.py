"""A change of hundreds of traces: rows in view only, by keyboard alone, and two people who decide at the same time."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.conftest import violations, wait_until_loaded

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance, Worker, create_instance
from knickpoint.server import serving
from knickpoint.watch.triage.decisions import Targets, undo

pytestmark = pytest.mark.browser

TRACES = 450
"""Traces of the large change: the list has the first one, and the page loads 200 more at once."""

COMMITS = 2
"""Changes on the page: the large one, and that of three traces."""

PLACE = 2 + 401 - 9
"""The number of the row that tests go to, below the head and the commit: the tenth loaded trace from the end."""

MOST_IN_DOCUMENT = 46
"""Rows: 41 around the middle of the view, and 5 around the one with the keyboard."""

VISIBLE = """row => {
    const box = row.getBoundingClientRect();
    const cover = document.querySelector(".selection")?.getBoundingClientRect().top ?? innerHeight;
    return box.top >= 0 && box.bottom <= cover;
}"""

SCROLL = """async () => {
    const seen = {};
    const frame = () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    for (scrollTo(0, 0), await frame(); ; scrollBy(0, 700), await frame()) {
        for (const row of document.querySelectorAll("tr[data-row]")) {
            const { top, bottom } = row.getBoundingClientRect();
            if (bottom > 0 && top < innerHeight) seen[row.ariaRowIndex] = row.dataset.row;
        }
        if (scrollY + innerHeight >= document.documentElement.scrollHeight - 1) return seen;
    }
}"""


@pytest.fixture(scope="module")
def large_instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Instance, str]]:
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
            yield instance, found.rstrip("/")


@pytest.fixture
def large(large_instance: tuple[Instance, str]) -> Iterator[str]:
    """Return the address of the server; afterwards, undo the decisions of the test."""
    instance, address = large_instance
    yield address
    repository = instance.store.commits.repositories()[0]
    everything = Targets(points=tuple(member.id for member in instance.store.findings.groups.members(repository)))
    while undo(instance.store, everything, who="the next test").decisions:
        pass


def traces(page: Page) -> Locator:
    """Return the rows of traces that are in the document."""
    return page.locator("tr.finding-row")


def expect_traces(page: Page, number: int) -> None:
    """Expect that the table has this many rows of traces, in the document or not, beside its head and its commits."""
    expect(page.locator("table.findings")).to_have_attribute("aria-rowcount", str(1 + COMMITS + number))


def current(page: Page) -> Locator:
    return page.locator('tr[aria-current="true"]')


def name_of(page: Page) -> str:
    """Return the benchmark of the current row."""
    return current(page).locator(".trace-link").inner_text()


def open_large(page: Page, address: str) -> None:
    """Open the large change by keyboard, and load a second page of its traces."""
    page.goto(f"{address}/triage?sort=-traces")
    wait_until_loaded(page)
    page.keyboard.press("ArrowRight")
    expect_traces(page, 201)
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    expect_traces(page, 401)


def open_deep(page: Page, address: str) -> None:
    """Open the large change, and go to the tenth of its loaded traces from the end: from the commit below them."""
    open_large(page, address)
    page.keyboard.press("J")
    for _ in range(10):
        page.keyboard.press("k")
    expect(current(page)).to_have_attribute("aria-rowindex", str(PLACE))
    expect(current(page)).to_be_focused()


@pytest.mark.parametrize("width", [1440, 390])
def test_scrolling_shows_each_row_once_and_keeps_few_of_them_in_the_document(
    page: Page, large: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_large(page, large)
    seen = page.evaluate(SCROLL)
    assert [int(index) for index in seen] == list(range(2, 2 + COMMITS + 401))
    assert len(set(seen.values())) == COMMITS + 401
    assert traces(page).count() <= MOST_IN_DOCUMENT
    # The row with the keyboard is far above. It keeps the focus, and a key goes on from it.
    expect(current(page)).to_be_focused()
    page.keyboard.press("j")
    expect(current(page)).to_have_attribute("aria-rowindex", "4")
    assert current(page).evaluate(VISIBLE)
    assert violations(page) == []


def test_paper_has_all_rows(page: Page, large: str) -> None:
    open_large(page, large)
    assert traces(page).count() <= MOST_IN_DOCUMENT
    expect(page.get_by_text("filters all")).to_be_visible()
    page.evaluate("() => void dispatchEvent(new Event('beforeprint'))")
    expect(traces(page)).to_have_count(401)
    page.evaluate("() => void dispatchEvent(new Event('afterprint'))")
    assert traces(page).count() <= MOST_IN_DOCUMENT


def test_hundreds_of_traces_are_loaded_walked_and_decided_about_by_keyboard_alone(page: Page, large: str) -> None:
    open_deep(page, large)
    assert current(page).evaluate(VISIBLE)
    page.keyboard.press("x")
    for _ in range(4):
        page.keyboard.press("j")
    page.keyboard.press("X")
    expect(page.get_by_role("region", name="Selection")).to_contain_text("5 change points selected")
    assert current(page).evaluate(VISIBLE)
    page.keyboard.press("a")
    expect_traces(page, 396)
    expect(current(page)).to_be_focused()
    assert current(page).evaluate(VISIBLE)
    page.keyboard.press("u")
    expect_traces(page, 401)
    assert current(page).evaluate(VISIBLE)
    page.keyboard.press("K")
    expect(current(page)).to_contain_text("Change 20")
    page.keyboard.press("J")
    expect(current(page)).to_contain_text("Change 28")
    assert current(page).evaluate(VISIBLE)
    assert violations(page) == []


def test_two_people_decide_about_one_change_and_see_each_other_without_a_reload(
    page: Page, browser: Browser, large: str
) -> None:
    open_deep(page, large)
    reading = name_of(page)
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        other = context.new_page()
        other.goto(f"{large}/triage?sort=-traces")
        wait_until_loaded(other)
        other.keyboard.press("ArrowRight")
        expect_traces(other, 201)
        for _ in range(3):
            other.keyboard.press("j")
        decided = name_of(other)
        other.keyboard.press("h")
        expect(other.get_by_text(decided, exact=True)).to_have_count(0)
        # The reader keeps the place, and as many rows as were loaded: one above left, and the list has one more at its
        # end.
        expect(current(page)).to_have_attribute("aria-rowindex", str(PLACE - 1), timeout=10_000)
        expect_traces(page, 401)
        assert name_of(page) == reading
        expect(current(page)).to_be_focused()
        assert current(page).evaluate(VISIBLE)
        # And the other way round
        page.keyboard.press("a")
        expect(other.locator("tr.change-row").first).to_contain_text(f"{TRACES - 2}", timeout=10_000)
