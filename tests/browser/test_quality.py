"""Alert quality in a real browser: changes that no alert found, and proposals to change alerts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations, wait_until_loaded

from knickpoint.instance import Instance
from knickpoint.model.change_point import Status
from knickpoint.watch.quality import proposals
from knickpoint.watch.triage.decisions import Targets, decide

pytestmark = pytest.mark.browser

POSITION = 10
"""A commit at which no trace changes."""


@pytest.fixture
def idle(served: tuple[Instance, str]) -> Iterator[int]:
    """Return the id of a trace without changes; afterwards, take the marks back."""
    instance, address = served
    answer = httpx.get(f"{address}/api/v1/traces", params={"query": "benchmark=idle"})
    yield int(answer.json()["traces"][0]["id"])
    missed = instance.store.findings.missed
    for mark in missed.all(instance.store.commits.repositories()[0]):
        missed.remove(mark.id)


def mark_missed(page: Page, address: str, trace: int) -> None:
    page.goto(f"{address}/trace/{trace}?commit={POSITION}")
    page.get_by_role("button", name="Mark a missed change").click()
    page.get_by_label("The values moved").select_option("up")
    page.get_by_label("Why it is a change").fill("seen in production")
    assert violations(page) == []
    page.get_by_role("button", name="Mark", exact=True).click()


@pytest.mark.core
def test_a_missed_change_is_marked_at_the_pinned_commit_and_shown_on_the_plot(
    page: Page, shared_address: str, idle: int
) -> None:
    mark_missed(page, shared_address, idle)
    row = page.get_by_role("list", name="Missed changes").get_by_role("listitem")
    expect(row).to_contain_text("worse")
    expect(row).to_contain_text("seen in production")
    expect(page.locator(".legend")).to_contain_text("missed, by a person")
    expect(page.get_by_role("img", name="Missed changes:")).to_be_visible()
    expect(page.get_by_role("button", name="Mark a missed change")).to_have_count(0)
    assert violations(page) == []


def test_a_mark_is_taken_back_at_once_or_later(page: Page, shared_address: str, idle: int) -> None:
    mark_missed(page, shared_address, idle)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("list", name="Missed changes")).to_have_count(0)
    mark_missed(page, shared_address, idle)
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("list", name="Missed changes")).to_have_count(0)
    expect(page.get_by_role("button", name="Mark a missed change")).to_be_visible()


def test_a_mark_that_the_server_refuses_keeps_the_dialog_with_the_reason(
    page: Page, shared_address: str, idle: int, expected_errors: list[str]
) -> None:
    expected_errors.append("400")
    page.goto(f"{shared_address}/trace/{idle}?commit=0")
    page.get_by_role("button", name="Mark a missed change").click()
    page.get_by_role("button", name="Mark", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("no values on both sides")


@pytest.fixture
def hidden(served: tuple[Instance, str], address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Hide every finding, so that few of them make a proposal; return the address."""
    instance, _ = served
    monkeypatch.setattr(proposals, "_LEAST_HIDDEN", 2)
    repository = instance.store.commits.repositories()[0]
    everything = Targets(points=tuple(member.id for member in instance.store.findings.groups.members(repository)))
    decide(instance.store, everything, who="ada", status=Status.HIDDEN)
    yield address
    assert instance.store.findings.proposals.all() == []
    assert instance.store.findings.alert_definitions.stored() == {}


def test_a_proposal_is_accepted_or_rejected_and_taken_back(page: Page, hidden: str) -> None:
    page.goto(f"{hidden}/quality")
    wait_until_loaded(page)
    assert violations(page) == []
    proposal = page.get_by_text("default:raise: ")
    page.get_by_role("button", name="Reject default:raise").click()
    expect(page.get_by_text("Rejected default:raise.")).to_be_visible()
    expect(proposal).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(proposal).to_be_visible()
    page.get_by_role("button", name="Accept default:raise").click()
    page.get_by_text("Decided: 1").click()
    expect(page.get_by_text("default:raise accepted by")).to_be_visible()
    page.get_by_role("button", name="Take back default:raise").click()
    expect(proposal).to_be_visible()
