"""Clusters of chosen traces in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.server.story import SLOWER, commit_hash

pytestmark = pytest.mark.browser


def test_traces_are_clustered_by_form_and_lead_to_their_plot(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/explore?query=-idlest")
    page.get_by_role("link", name="Clusters").click()
    expect(page.get_by_label("Query")).to_have_value("-idlest")
    page.get_by_role("textbox", name="Clusters").fill("3")
    page.get_by_role("button", name="Cluster", exact=True).press("Enter")
    rows = page.get_by_role("table", name="Clusters").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("interesting")
    slower = rows.filter(has_text=commit_hash(SLOWER)[:7])
    expect(slower).to_contain_text("2 traces")
    page.reload()
    expect(page.get_by_role("textbox", name="Clusters")).to_have_value("3")
    assert violations(page) == []
    slower.get_by_role("link", name="2 traces").click()
    page.wait_for_url(re.compile(r"/explore\\?.*traces="))
    expect(page.get_by_text("2 lines")).to_be_visible()


def test_the_step_of_a_cluster_leads_to_its_findings_in_triage(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/clusters?query=-idlest&k=3")
    slower = page.get_by_role("table", name="Clusters").get_by_role("row").filter(has_text=commit_hash(SLOWER)[:7])
    slower.get_by_role("link", name="Findings in triage").click()
    page.wait_for_url(re.compile(rf"/triage\?.*q={commit_hash(SLOWER)[:7]}"))
    expect(page.locator("tr.regression-row")).to_have_count(1)


def test_what_cannot_be_clustered_says_why_and_keeps_the_form(
    page: Page, shared_address: str, expected_errors: list[str]
) -> None:
    expected_errors.append("400")
    page.goto(f"{shared_address}/clusters?first=50&last=20&k=0")
    expect(page.get_by_role("alert")).to_contain_text("no stretch of the line")
    expect(page.get_by_label("First commit (position)")).to_have_value("50")
