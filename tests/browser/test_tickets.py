"""Tickets in a real browser: on the plots, also where no change is."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import point_at, violations

from knickpoint.instance import Instance
from knickpoint.model.notification import TrackerTicket
from knickpoint.store.findings.tickets import Ticket

pytestmark = pytest.mark.browser

POSITION = 10
"""A commit at which no trace changes."""


@pytest.fixture
def idle(served: tuple[Instance, str]) -> Iterator[int]:
    """Keep a ticket about the trace `idle` for one test; return the id of the trace."""
    instance, address = served
    findings = instance.store.findings
    (repository,) = instance.store.commits.repositories()
    slot = instance.store.commits.line(repository).slots[POSITION]
    url = "https://tracker.example/7"
    kept = findings.tracker_tickets.put(TrackerTicket("code", "ada/textmill#7", url, "Another kernel", assignee="ada"))
    findings.tickets.put(repository, [Ticket("ada/textmill#7", "benchmark=idle", slot, url)])
    answer = httpx.get(f"{address}/api/v1/traces", params={"query": "benchmark=idle"})
    yield int(answer.json()["traces"][0]["id"])
    findings.tickets.remove(repository, "ada/textmill#7")
    findings.tracker_tickets.forget(kept)


@pytest.mark.parametrize("path", ["/trace/{}", "/explore?traces={}"])
def test_a_ticket_has_its_title_and_its_link_below_the_plot(
    page: Page, shared_address: str, idle: int, path: str
) -> None:
    page.goto(shared_address + path.format(idle))
    row = page.get_by_role("list", name="Tickets").get_by_role("listitem")
    expect(row).to_contain_text("ada/textmill#7 Another kernel")
    expect(row).to_contain_text("open, ada")
    expect(row.get_by_role("link")).to_have_attribute("href", "https://tracker.example/7")
    assert violations(page) == []


def test_the_tooltip_of_its_commit_names_a_ticket(page: Page, shared_address: str, idle: int) -> None:
    page.goto(f"{shared_address}/trace/{idle}?first=0&last=20")
    expect(page.get_by_role("list", name="Tickets")).to_be_visible()
    page.wait_for_load_state("networkidle")  # what arrives late draws the plot anew
    point_at(page, 0.5)
    expect(page.locator(".chart-tip")).to_contain_text("ada/textmill#7")
