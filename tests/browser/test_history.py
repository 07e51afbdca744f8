"""History in the dashboard: a separate tab, and faint marks on plots."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.server.story import make_instance

from knickpoint.instance import open_instance
from knickpoint.server import serving


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an instance whose findings are all history."""
    directory: Path = tmp_path_factory.mktemp("years") / "instance"
    make_instance(directory, as_work=False)
    with open_instance(directory) as instance, serving(instance) as found:
        yield found.rstrip("/")


def test_the_list_of_work_is_empty_and_leads_to_the_history(page: Page, years: str) -> None:
    page.goto(f"{years}/triage")
    expect(page.get_by_role("heading", name="Nothing to triage")).to_be_visible()
    expect(page.get_by_text("knick history take")).to_be_visible()
    page.get_by_role("link", name="See the history").click()
    page.wait_for_url("**/triage?tab=history")
    expect(page.locator("tr.change-row")).to_have_count(2)


def test_a_key_shows_the_history(page: Page, years: str) -> None:
    page.goto(f"{years}/triage")
    expect(page.get_by_role("heading", name="Nothing to triage")).to_be_visible()
    page.keyboard.press("Shift+H")
    page.wait_for_url("**/triage?tab=history")


@pytest.mark.core
def test_history_that_is_decided_about_leaves_its_list_and_undo_brings_it_back(page: Page, years: str) -> None:
    page.goto(f"{years}/triage?tab=history")
    rows = page.locator("tr.change-row")
    expect(rows).to_have_count(2)
    page.keyboard.press("h")
    expect(rows).to_have_count(1)
    page.locator('a.tab[href*="tab=processed"]').click()
    expect(rows.locator(".tag", has_text="history")).to_be_visible()
    page.keyboard.press("r")
    expect(rows).to_have_count(0)
    page.locator('a.tab[href*="tab=history"]').click()
    expect(rows).to_have_count(2)


def test_a_plot_names_history_in_its_legend_and_in_the_list_of_changes(page: Page, years: str) -> None:
    page.goto(f"{years}/triage?tab=history")
    page.locator("tr.change-row .trace-link:visible").first.click()
    expect(page.locator(".legend", has_text="history")).to_be_visible()
    expect(page.locator("table.changes .tag", has_text="history")).to_be_visible()


@pytest.mark.parametrize("path", ["/triage?tab=history", "/", "/trace/0"])
def test_back_forward_and_reload_keep_the_place(page: Page, years: str, path: str) -> None:
    page.set_viewport_size({"width": 1024, "height": 300})
    page.goto(years + path)
    page.wait_for_load_state("networkidle")  # what comes in later above the place would move it
    page.wait_for_function("() => document.documentElement.scrollHeight > 440")
    page.mouse.wheel(0, 120)
    page.wait_for_function("() => scrollY === 120")
    page.reload()
    page.wait_for_function("() => scrollY === 120")
    page.get_by_role("link", name="Status").click()
    expect(page).to_have_url(re.compile("/status"))
    assert page.evaluate("scrollY") == 0
    page.go_back()
    page.wait_for_function("() => scrollY === 120")
    page.go_forward()
    expect(page).to_have_url(re.compile("/status"))
    page.go_back()
    page.wait_for_function("() => scrollY === 120")


def test_the_selection_is_there_after_back_and_reload(page: Page, years: str) -> None:
    page.goto(f"{years}/triage?tab=history")
    page.get_by_role("row").nth(1).get_by_role("checkbox").check()
    selected = page.get_by_role("region", name="Selection")
    expect(selected).to_be_visible()
    page.reload()
    expect(selected).to_be_visible()
    page.get_by_role("link", name="Status").click()
    expect(selected).to_be_hidden()
    page.go_back()
    expect(selected).to_be_visible()


def test_the_overview_of_an_import_tells_what_history_holds(page: Page, years: str) -> None:
    page.goto(years)
    history = page.get_by_role("region", name="History holds 2 changes; nothing needs you")
    expect(history.locator("tbody tr").first).to_contain_text("Check every bracket")
    expect(page.get_by_text("regressions announced")).to_be_hidden()
    history.get_by_role("link", name="All 2 changes of history").click()
    expect(page).to_have_url(re.compile("tab=history"))


def test_an_unknown_address_gets_a_page(page: Page, years: str, expected_errors: list[str]) -> None:
    expected_errors.append("404")
    answer = page.goto(f"{years}/nowhere/at-all")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("heading", name="There is no page at this address")).to_be_visible()
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
