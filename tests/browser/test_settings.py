"""The settings page and saved views in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations, wait_until_loaded
from tests.examples import in_the_long_run

pytestmark = pytest.mark.browser


def go(page: Page, address: str) -> None:
    page.goto(address)
    if address.endswith("/settings"):
        expect(page.get_by_role("heading", name="You")).to_be_visible()
    else:
        wait_until_loaded(page)


def save_view(page: Page, name: str) -> None:
    page.get_by_role("button", name="Saved views").click()
    page.get_by_label("Save this page as").fill(name)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text(f"Saved the view {name}.")).to_be_visible()


@pytest.mark.core
def test_dates_are_written_in_the_chosen_time_zone_on_every_page_from_then_on(page: Page, shared_address: str) -> None:
    go(page, f"{shared_address}/settings")
    zones = page.get_by_label("Time zone")
    zones.select_option("Asia/Tokyo")
    expect(page.get_by_text("UTC+09:00")).to_be_visible()
    go(page, f"{shared_address}/")
    expect(page.locator("[title*='UTC+09:00']").first).to_be_attached()
    go(page, f"{shared_address}/settings")
    expect(zones).to_have_value("Asia/Tokyo")


def test_a_chosen_theme_is_used_at_once_and_after_a_reload(page: Page, shared_address: str) -> None:
    go(page, f"{shared_address}/settings")
    page.get_by_role("radio", name="Dark").check()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.core
def test_a_saved_view_opens_the_page_with_all_that_its_address_says(page: Page, shared_address: str) -> None:
    go(page, f"{shared_address}/triage?tab=processed")
    save_view(page, "All of them")
    go(page, f"{shared_address}/status")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("link", name="All of them").click()
    expect(page).to_have_url(f"{shared_address}/triage?tab=processed")


def test_a_pinned_view_stands_on_the_overview_until_it_is_removed_and_removal_is_undone(
    page: Page, shared_address: str
) -> None:
    go(page, f"{shared_address}/explore")
    save_view(page, "Lines")
    go(page, f"{shared_address}/settings")
    page.get_by_role("button", name="Show Lines on the overview").click()
    expect(page.get_by_role("button", name="Show Lines on the overview")).to_have_attribute("aria-pressed", "true")
    pinned = page.get_by_role("navigation", name="Pinned views").get_by_role("link", name="Lines")
    go(page, shared_address)
    expect(pinned).to_be_visible()
    go(page, f"{shared_address}/settings")
    page.get_by_role("button", name="Remove Lines").click()
    expect(page.get_by_role("link", name="Lines")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="Lines")).to_be_visible()


def test_a_shared_view_is_found_by_everybody_until_it_is_taken_back(page: Page, shared_address: str) -> None:
    go(page, f"{shared_address}/explore?plot=suite%3Dspeed")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_label("Save this page as").fill("All speeds")
    page.get_by_label("Share it with everybody").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("finds the view All speeds")).to_be_visible()
    page.evaluate("() => localStorage.clear()")  # as another person's browser
    go(page, f"{shared_address}/status")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("link", name="All speeds").click()
    expect(page).to_have_url(f"{shared_address}/explore?plot=suite%3Dspeed")
    go(page, f"{shared_address}/settings")
    assert violations(page) == []
    page.get_by_role("button", name="Stop sharing All speeds").click()
    expect(page.get_by_role("link", name="All speeds")).to_have_count(0)


def test_a_view_with_a_hostile_name_is_text(page: Page, shared_address: str) -> None:
    go(page, f"{shared_address}/status")
    save_view(page, "<img src=x onerror=alert(1)> \u202eabc")
    go(page, f"{shared_address}/settings")
    expect(page.get_by_role("link", name="<img src=x")).to_be_visible()


@pytest.mark.parametrize("theme", ["dark", *in_the_long_run("light")])
def test_the_settings_page_is_accessible(page: Page, shared_address: str, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    go(page, f"{shared_address}/settings")
    assert violations(page) == []
