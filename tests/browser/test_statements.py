"""A mixed, a bisected and a recovered change say the same on every page that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import violations, wait_until_loaded
from tests.server.stated_changes import BROKEN, CULPRIT, MIXED, REVERTED, SEARCHED, make_stated_changes
from tests.server.story import commit_hash

from knickpoint.instance import Instance, open_instance
from knickpoint.server import serving

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Said:
    """What all pages say of a change, which has a trace `benchmark` that was first measured with the new level at `seen`."""

    commit: int
    headline: str
    note: str
    benchmark: str
    seen: int
    tags: tuple[str, ...] = ()


SAID = [
    Said(MIXED, "6 faster by up to 55 %; 1 larger by 0.49 %, mixed", "only commit", "binary", MIXED),
    Said(CULPRIT, "20 % slower", "found by bisection", "pack", SEARCHED),
    Said(
        BROKEN, "150 % slower", "only commit", "draw", BROKEN, ("recovered", f"undone at {commit_hash(REVERTED)[:10]}")
    ),
]


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Instance, str]]:
    directory = tmp_path_factory.mktemp("stated") / "instance"
    make_stated_changes(directory)
    with open_instance(directory) as instance, serving(instance) as found:
        yield instance, found.rstrip("/")


def trace_page(instance: Instance, said: Said) -> str:
    (repository,) = instance.store.commits.repositories()
    (key,) = instance.store.traces.find_ids(repository, {f",benchmark={said.benchmark},"}).values()
    return f"/trace/{key[0]}?commit={said.seen}"


def expect_said(row: Locator, said: Said) -> None:
    for text in (said.headline, commit_hash(said.commit)[:10], said.note, *said.tags):
        expect(row).to_contain_text(text)
    if not said.tags:
        expect(row).not_to_contain_text("recovered")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("said", SAID, ids=lambda said: said.benchmark)
def test_a_change_is_the_same_on_every_page(page: Page, stated: tuple[Instance, str], said: Said, width: int) -> None:
    instance, address = stated
    page.set_viewport_size({"width": width, "height": 900})
    digest = commit_hash(said.commit)

    def opened(path: str) -> Page:
        page.goto(address + path)
        wait_until_loaded(page)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        return page

    expect_said(opened("/triage").locator(f"tr[data-hash='{digest}']"), said)
    here = opened(f"/commit/{digest}?repository=engine")
    row = here.get_by_role("table", name="What changed here").locator("tbody tr", has_text=said.headline)
    for text in (said.note, *said.tags):
        expect(row).to_contain_text(text)
    expect_said(opened(trace_page(instance, said)).locator("table.changes tr[aria-current=true]"), said)
    largest = opened("/").get_by_role("table", name="Largest open changes").locator("tbody tr")
    if said.tags:
        expect(largest.filter(has_text=said.headline)).to_have_count(0)
    else:
        expect_said(largest.filter(has_text=said.headline), said)


def test_the_trace_page_hatches_no_range_once_a_bisection_found_the_commit(
    page: Page, stated: tuple[Instance, str]
) -> None:
    instance, address = stated
    page.goto(address + trace_page(instance, SAID[1]))
    wait_until_loaded(page)
    commit = page.get_by_role("region", name="Commit", exact=True)
    expect(commit.get_by_role("heading", name="A bisection found the commit")).to_be_visible()
    expect(page.locator(".legend")).not_to_contain_text("suspect range")
    expect(page.get_by_text("one of 5 commits")).to_have_count(0)
    commit.get_by_role("link", name="All findings at this commit").click()
    expect(page.locator(f"tr[data-hash='{commit_hash(CULPRIT)}']")).to_be_visible()
    assert violations(page) == []


def test_the_overview_counts_what_waits_by_direction(page: Page, stated: tuple[Instance, str]) -> None:
    page.goto(stated[1])
    wait_until_loaded(page)
    expect(page.get_by_role("region", name="Largest open changes")).to_contain_text(
        "All 4 changes to triage (2 regressions, 1 improvement, 1 mixed)"
    )
    assert violations(page) == []


def test_triage_filters_by_the_direction_of_the_change(page: Page, stated: tuple[Instance, str]) -> None:
    page.goto(f"{stated[1]}/triage")
    page.get_by_label("Direction").select_option("Mixed")
    expect(page.locator("tr.change-row")).to_have_count(1)
    expect(page.locator("tr.change-row")).to_contain_text(SAID[0].headline)
