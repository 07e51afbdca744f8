"""The overview, the page of a commit, the status page, and the alerts page."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from tests.server.story import REPOSITORY

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance
from knickpoint.instance.alert_definition import read_alert, remove_alert, set_alert
from knickpoint.model.alert import Alert
from knickpoint.store.commit_rows import Release

pytestmark = pytest.mark.browser


@pytest.mark.core
def test_the_first_page_leads_to_what_it_counts(browse: Callable[[str], Page]) -> None:
    page = browse("/?days=30")
    lanes = page.get_by_role("list", name="Timeline of")
    expect(lanes.locator(".lane-name")).to_have_text(["All", "parse", "print", "idle", "load"])
    lanes.get_by_role("listitem").filter(has_text="parse").locator(".mark.regression").click()
    expect(page).to_have_url(re.compile(r"/change/R\d+$"))
    page.go_back()
    largest = page.get_by_role("region", name="Start here: 2 changes need you")
    expect(largest.locator("tbody tr").first).to_contain_text("Check every bracket")
    expect(page.get_by_text("In common")).to_have_count(0)

    page.get_by_role("searchbox", name="Query").fill("benchmark=load|idle")
    page.get_by_role("searchbox", name="Query").press("Enter")
    expect(page.locator(".overview-sum")).to_contain_text("better")
    lanes.get_by_role("link", name="load", exact=True).click()
    expect(page).to_have_url(re.compile(r"/explore\?.*benchmark%3Dload"))
    page.go_back()
    page.get_by_role("link", name="All 2 changes to triage").click()
    expect(page.locator("tr.change-row")).to_have_count(2)


def test_news_count_from_the_last_look(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/triage")
    page.evaluate("() => localStorage.setItem('knickpoint-last-look', '1000000000000 1000000000000')")
    page.goto(shared_address)
    # Other tests of the instance may have announced more.
    expect(page.locator(".figures li", has_text=re.compile("regressions? announced"))).to_contain_text(
        re.compile("[1-9]")
    )
    look = page.evaluate("() => localStorage.getItem('knickpoint-last-look')")
    assert json.loads(look.split()[0]) == 1000000000000
    assert json.loads(look.split()[1]) > 1700000000000
    page.goto(f"{shared_address}/?at=R1")
    expect(page.locator("tr.change-row")).to_have_count(2)


@pytest.mark.core
def test_a_hash_leads_to_the_page_of_its_commit(browse: Callable[[str], Page]) -> None:
    page = browse("/triage")
    page.locator("tr.change-row", has_text="Read files ahead").locator("a", has=page.locator("code")).first.click()
    expect(page.get_by_role("heading", name="Read files ahead")).to_be_visible()
    expect(page.get_by_role("table", name="What changed here").locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Measured before:").click()
    expect(page.get_by_text("No alert found a change that begins at this commit.")).to_be_visible()
    expect(page.get_by_role("table", name="Runs").locator("tbody tr")).to_have_count(1)


@pytest.mark.core
def test_the_status_page_tries_a_refused_file_again(visit: Callable[[str], Page], served: tuple[Instance, str]) -> None:
    instance, _ = served
    import_data(instance, b"no results", source="ci 7", stated=Sidecar(repository=REPOSITORY))
    try:
        page = visit("/status")
        page.get_by_role("button", name="Try ci 7 again").click()
        expect(page.get_by_role("status").filter(has_text="ci 7: refused")).to_be_visible()
        coverage = page.get_by_role("table", name="Coverage by suite")
        expect(coverage.get_by_role("row", name="load")).to_contain_text("of 60")
        expect(page.get_by_role("table", name="Newest commits").locator("tbody tr")).to_have_count(8)
    finally:
        for refused in instance.store.ledger.quarantined(payloads=False):
            instance.store.ledger.discharge(refused.id)


@pytest.mark.core
def test_the_editor_of_alerts_shows_what_an_alert_would_find_and_writes_configuration(
    browse: Callable[[str], Page], served: tuple[Instance, str], expected_errors: list[str]
) -> None:
    expected_errors.append("400")  # the method that there is not
    page = browse("/alerts")
    page.get_by_role("table", name="Alerts").get_by_role("link", name="default", exact=True).click()
    expect(page.get_by_text("3 present, unprocessed.")).to_be_visible()
    page.get_by_role("link", name="New alert").click()
    page.get_by_label("Name", exact=True).fill('the "parser"')
    page.get_by_label("Query; empty").fill("benchmark=parse|print")
    page.get_by_label("Minimum change in percent").fill("5")
    page.get_by_label("Direction").select_option("worse")
    page.get_by_text("More settings:").click()
    page.get_by_label("Judge all samples of a commit").check()
    page.get_by_label("Compare drifts with").fill("v9")
    page.get_by_role("button", name="Apply …").click()
    expect(page.get_by_role("alert")).to_contain_text("has no tag of that name")
    page.get_by_label("Compare drifts with").fill("best")
    page.get_by_role("button", name="Apply …").click()
    expect(page.get_by_role("status", name="Dry run")).to_contain_text("2 of 2 traces judged")
    written = page.locator(".alert-editor pre").inner_text()
    (name, settings), *_ = tomllib.loads(written)["alerts"].items()
    read_alert(served[0], name, settings, where="the page")
    assert (name, settings["query"], settings["minimum_effect"]) == ('the "parser"', "benchmark=parse|print", 0.05)
    assert (settings["samples"], settings["since"]) == (True, "best")
    expect(page.get_by_role("link", name="Download")).to_have_attribute("download", "alert.toml")

    page.get_by_label("Method", exact=True).fill("guess")
    page.get_by_role("button", name="Apply …").click()
    expect(page.get_by_role("alert")).to_contain_text("guess")


def test_an_alert_is_applied_after_its_effect_was_shown_and_taken_back(
    browse: Callable[[str], Page],
) -> None:
    page = browse("/alerts?edit=1")
    keep = page.get_by_label("Also keep watching everything else")
    expect(keep).to_be_checked()
    page.get_by_label("Name", exact=True).fill("small")
    page.get_by_label("Query; empty").fill("benchmark=nothing")
    keep.uncheck()
    page.get_by_role("button", name="Apply …").click()
    effect = page.get_by_role("status", name="Dry run")
    expect(effect).to_contain_text("2 changes would no longer be watched by any alert")
    expect(page.get_by_role("button", name="Yes, apply and let them go")).to_be_visible()
    keep.check()
    page.get_by_role("button", name="Apply …").click()
    expect(effect).to_contain_text("No finding would come or go")
    page.get_by_role("button", name="Yes, apply").click()
    table = page.get_by_role("table", name="Alerts")
    expect(table.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone")).to_be_visible()
    expect(table.get_by_role("row")).to_have_count(2)


def test_removing_an_alert_shows_first_what_goes(browse: Callable[[str], Page], served: tuple[Instance, str]) -> None:
    instance, _ = served
    for name in ("default", "other"):
        set_alert(instance, Alert(name), who="ada")
    try:
        page = browse("/alerts?name=other")
        page.get_by_role("button", name="Remove …").click()
        expect(page.get_by_role("status").get_by_text("No finding would come or go.")).to_be_visible()
        page.get_by_role("button", name="Yes, remove it").click()
        expect(page.get_by_role("table", name="Alerts").get_by_role("row")).to_have_count(2)
    finally:
        for name in instance.store.findings.alert_definitions.stored():
            remove_alert(instance, name, who="ada")


def test_the_editor_writes_the_number_of_the_samples_that_an_alert_judges(
    browse: Callable[[str], Page], expected_errors: list[str]
) -> None:
    expected_errors.append("400")  # the two ways to judge samples at once
    page = browse("/alerts")
    page.get_by_role("link", name="New alert").click()
    page.get_by_label("Name", exact=True).fill("tail")
    page.get_by_text("More settings:").click()
    page.get_by_label("Statistic of the samples").fill("p99")
    written = tomllib.loads(page.locator(".alert-editor pre").inner_text())
    assert written["alerts"]["tail"] == {"summary": "p99"}
    page.get_by_label("Judge all samples of a commit").check()
    page.get_by_role("button", name="Apply …").click()
    expect(page.get_by_role("alert")).to_contain_text("Remove one of them")


def test_a_trace_leads_to_all_traces_of_its_benchmark(browse: Callable[[str], Page]) -> None:
    page = browse("/trace/0")
    page.get_by_role("link", name="All of this benchmark").click()
    expect(page.get_by_role("heading", name="1 trace")).to_be_visible()
    expect(page.get_by_text("They differ in")).to_have_count(0)
    row = page.get_by_role("table", name="Traces").locator("tbody tr")
    expect(row).to_contain_text("µs")
    row.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("parse")


def test_the_editor_offers_the_tags_of_the_repository_to_compare_drifts_with(
    browse: Callable[[str], Page], served: tuple[Instance, str], expected_errors: list[str]
) -> None:
    expected_errors.append("400")  # the day that there is not
    store = served[0].store
    (repository,) = store.commits.repositories()
    store.releases.replace(repository, {"v1.4": Release("0" * 40, store.commits.line(repository).slots[20])})
    try:
        page = browse("/alerts?name=default&edit=1")
        page.get_by_text("More settings:").click()
        field = page.get_by_label("Compare drifts with")
        expect(field).to_have_value("start")
        offered = page.locator("#references option")
        expect(offered).to_have_count(3)
        assert [each.get_attribute("value") for each in offered.all()] == ["start", "best", "v1.4"]
        field.fill("v1.4")
        written = page.locator(".alert-editor pre").inner_text()
        (name, settings), *_ = tomllib.loads(written)["alerts"].items()
        assert read_alert(served[0], name, settings, where="the page").since == "v1.4"
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_role("status", name="Dry run")).to_contain_text("traces judged")
        field.fill("2026-13-45")
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_role("alert")).to_contain_text("2026-13-45")
    finally:
        store.releases.replace(repository, {})


def test_the_status_page_says_what_slows_a_worker_down(
    browse: Callable[[str], Page], served: tuple[Instance, str]
) -> None:
    workers = served[0].store.workers
    workers.report("bench/1", started=1e9, slowed="there is no store here")
    try:
        row = browse("/status").get_by_role("listitem").filter(has_text="bench/1")
        expect(row).to_contain_text("working")
        expect(row).to_contain_text("slowed down: values are sent to those who detect. there is no store here")
    finally:
        workers.remove("bench/1")
