"""Clusters of chosen traces in a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.server.story import SLOWER, commit_hash

from knickpoint.detect import find_clusters
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import create_instance
from knickpoint.model.cluster import Cluster
from knickpoint.server import serving
from knickpoint.watch import trace_clustering

pytestmark = pytest.mark.browser


@pytest.mark.core
def test_traces_are_clustered_by_form_and_lead_to_their_plot(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/explore?query=-idlest")
    page.get_by_role("main").get_by_role("link", name="Clusters").click()
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
    slower.get_by_role("link", name="Changes in triage").click()
    page.wait_for_url(re.compile(rf"/triage\?.*q={commit_hash(SLOWER)[:7]}"))
    expect(page.locator("tr.change-row")).to_have_count(1)


def test_a_cluster_is_decided_where_it_is_shown(page: Page, address: str) -> None:
    page.goto(f"{address}/")
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Clusters").click()
    page.get_by_label("Query").fill("-idlest")
    page.get_by_role("textbox", name="Clusters").fill("3")
    page.get_by_role("button", name="Cluster", exact=True).press("Enter")
    rows = page.get_by_role("table", name="Clusters").get_by_role("row")
    slower = rows.filter(has_text=commit_hash(SLOWER)[:7])
    expect(slower).to_contain_text("2 change points")
    slower.get_by_role("button", name="Acknowledge").click()
    expect(slower.locator(".status.acknowledged")).to_be_visible()
    expect(page.get_by_text("Acknowledged 2 change points")).to_be_visible()
    slower.get_by_role("button", name="Put back").click()
    expect(slower.get_by_role("button", name="Hide")).to_be_visible()


def test_what_cannot_be_clustered_says_why_and_keeps_the_form(
    page: Page, shared_address: str, expected_errors: list[str]
) -> None:
    expected_errors.append("400")
    page.goto(f"{shared_address}/clusters?first=50&last=20&k=0")
    expect(page.get_by_role("alert")).to_contain_text("not a range of the line")
    expect(page.get_by_label("First commit (position)")).to_have_value("50")


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve 800 traces of noise: many clusters of them keep the server at work for a while."""
    noise = np.random.default_rng(3).standard_normal((120, 800))
    rows = ["commit,time,benchmark,unit,value"]
    for commit, values in enumerate(noise.tolist()):
        day = f"2026-01-{1 + commit // 24:02d}T{commit % 24:02d}:00:00Z"
        rows += [f"{commit + 1:040x},{day},bench-{number},ms,{100 + value:.3f}" for number, value in enumerate(values)]
    with create_instance(tmp_path_factory.mktemp("noisy") / "instance") as instance:
        stated = Sidecar(repository="main")
        assert not import_data(instance, "\n".join(rows).encode(), source="noise", stated=stated).failed
        with serving(instance) as address:
            yield address.rstrip("/")


def test_the_page_says_how_far_the_server_is_until_it_has_the_clusters(
    page: Page, noisy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = threading.Semaphore(0)

    def wait_and_find(*args: Any, **parameters: Any) -> list[Cluster]:
        assert turn.acquire(timeout=60)
        return find_clusters(*args, **parameters)

    monkeypatch.setattr(trace_clustering, "find_clusters", wait_and_find)
    page.goto(f"{noisy}/clusters?k=60&skia=1")
    for start in range(1, 9):
        expect(page.locator("kp-clusters .progress")).to_have_text(re.compile(rf"start {start} of 8, iteration \d+$"))
        turn.release()
    expect(page.get_by_role("table", name="Clusters")).to_be_visible(timeout=60_000)


def test_cancelling_takes_what_was_said_away(page: Page, noisy: str) -> None:
    page.goto(f"{noisy}/clusters?k=60&skia=1")
    said = page.locator("kp-clusters .progress")
    expect(said).to_have_text(re.compile("Reading|Grouping|Fitting"))
    page.get_by_role("button", name="Cancel").click()
    expect(said).to_have_count(0)
    expect(page.get_by_role("textbox", name="Clusters")).to_be_visible()
