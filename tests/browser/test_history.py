"""History in the dashboard: a separate tab, and faint marks on plots."""

from __future__ import annotations

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
    page.locator("tr.change-row .trace-link").first.click()
    expect(page.locator(".legend", has_text="history")).to_be_visible()
    expect(page.locator("table.changes .tag", has_text="history")).to_be_visible()
