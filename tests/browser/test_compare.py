"""The comparison of two commits, and of a results file with a commit, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.examples import in_the_long_run
from tests.server.story import COMMITS, SLOWER, commit_hash, results_of

from knickpoint.instance import Instance
from knickpoint.store.commit_rows import Release

pytestmark = pytest.mark.browser

BASE, HEAD = commit_hash(SLOWER - 1), commit_hash(SLOWER + 5)


@pytest.mark.core
def test_two_commits_are_compared_by_form_and_the_address_holds_all_of_it(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/compare")
    page.get_by_label("Base", exact=True).fill(BASE)
    page.get_by_label("New commit", exact=True).fill(HEAD)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="2 regressed, 2 unchanged")).to_be_visible()
    rows = page.get_by_role("table", name="Compared traces").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("parse")
    page.get_by_label("Verdict").select_option(label="All traces")
    expect(rows).to_have_count(5)
    page.reload()
    expect(rows).to_have_count(5)
    expect(page.get_by_text("geometric mean of 4 traces")).to_be_visible()


@pytest.mark.core
def test_a_page_without_a_base_offers_the_newest_commits_and_the_last_release(
    page: Page, shared_address: str, served: tuple[Instance, str]
) -> None:
    store = served[0].store
    (repository,) = store.commits.repositories()
    slots = store.commits.line(repository).slots
    store.releases.replace(repository, {"v1.4": Release(BASE, slots[SLOWER - 1]), "v2.0": Release(HEAD, slots[-1])})
    try:
        page.goto(f"{shared_address}/compare")
        offers = page.get_by_role("table", name="Recent commits with results").get_by_role("row")
        expect(offers).to_have_count(12)
        expect(offers.nth(1)).to_contain_text("v2.0")
        expect(offers.nth(11)).to_contain_text("v1.4")
        offers.nth(11).get_by_role("link", name="with the newest").click()
        expect(page.get_by_role("heading", name="2 regressed, 1 improved, 1 unchanged")).to_be_visible()
        page.go_back()
        offers.nth(1).get_by_role("link", name="with the one before").click()
        expect(page.get_by_role("heading", name="unchanged")).to_be_visible()
        expect(page.get_by_label("Base", exact=True)).to_have_value(commit_hash(COMMITS - 2)[:10])
    finally:
        store.releases.replace(repository, {})


def test_the_keyboard_begins_on_a_page_at_its_first_field(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/triage")
    expect(page.locator("tr.change-row")).to_have_count(2)
    page.keyboard.press("C")
    expect(page.get_by_role("table", name="Recent commits with results")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Base")).to_be_focused()


def test_a_commit_is_found_by_its_subject_with_the_keyboard(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/compare?head={HEAD}")
    base = page.get_by_role("combobox", name="Base")
    base.fill("bracket")
    options = page.get_by_role("listbox", name="Commits").get_by_role("option")
    expect(options).to_have_count(1)
    expect(options).to_contain_text("Check every bracket")
    base.press("ArrowDown")
    expect(options).to_have_attribute("aria-selected", "true")
    base.press("Enter")
    expect(base).to_have_value(commit_hash(SLOWER)[:10])
    assert violations(page) == []
    base.press("Enter")
    expect(page.get_by_role("heading", name="unchanged")).to_be_visible()
    expect(page.get_by_text("Check every bracket")).not_to_have_count(0)


def test_rows_are_sorted_filtered_and_open_to_their_values_and_stay_so(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/compare?base={BASE}&head={HEAD}&all=1")
    rows = page.get_by_role("table", name="Compared traces").get_by_role("rowheader")
    expect(rows).to_have_text([re.compile(each) for each in ("parse", "print", "load", "idle")])
    page.get_by_role("button", name="Trace", exact=True).click()
    expect(rows).to_have_text([re.compile(each) for each in ("idle", "load", "parse", "print")])
    page.get_by_placeholder("Filter traces").fill("pr")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Values of print").click()
    expect(page.get_by_role("img", name="3 new values")).to_be_visible()
    expect(page.get_by_text("knick compare")).to_contain_text(f"{BASE[:10]} {HEAD[:10]}")
    assert violations(page) == []
    page.reload()
    expect(rows).to_have_count(1)
    expect(page.get_by_role("img", name="3 new values")).to_be_visible()


def test_several_new_revisions_stand_side_by_side(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/compare?base={commit_hash(SLOWER - 5)}&head={BASE}&more={HEAD}")
    expect(page.get_by_role("heading", name="2 new revisions")).to_be_visible()
    table = page.get_by_role("table", name="Compared traces")
    expect(table.get_by_role("columnheader", name="Change at")).to_have_count(2)
    expect(table.get_by_role("row").nth(1)).to_contain_text("regressed")
    page.get_by_role("button", name="Another revision").click()
    page.get_by_role("combobox", name="New commit 3").fill("newest")
    page.get_by_role("button", name="Compare").click()
    expect(table.get_by_role("columnheader", name="Change at")).to_have_count(3)
    assert violations(page) == []


def test_what_cannot_be_compared_says_why_and_keeps_the_form(
    page: Page, shared_address: str, expected_errors: list[str]
) -> None:
    expected_errors.append("400")
    page.goto(f"{shared_address}/compare?base={HEAD}&head={BASE}")
    expect(page.get_by_role("alert")).to_contain_text("The base has every commit of the head")
    expect(page.get_by_label("Base", exact=True)).to_have_value(HEAD[:10])


def test_the_page_of_a_commit_leads_to_the_comparison_with_the_one_before(browse: Callable[[str], Page]) -> None:
    page = browse(f"/commit/{commit_hash(SLOWER)}")
    page.get_by_role("link", name="Compare the results").click()
    expect(page.get_by_role("heading", name="2 regressed, 2 unchanged")).to_be_visible()


@pytest.mark.parametrize("width", [390, *in_the_long_run(1440)])
def test_the_comparison_is_accessible(browse: Callable[[str], Page], width: int) -> None:
    page = browse(f"/compare?base={BASE}&head={HEAD}&all=1")
    page.set_viewport_size({"width": width, "height": 900})
    assert violations(page) == []


def choose(page: Page, content: bytes, *, side: int = 1, name: str = "mine.js") -> None:
    """Choose a results file: for the base is side 0, the new one 1."""
    file = {"name": name, "mimeType": "text/javascript", "buffer": content}
    page.get_by_label("is a results file").nth(side).set_input_files(file)  # type: ignore[arg-type]


@pytest.mark.core
def test_a_results_file_is_compared_by_suite_and_chosen_again_after_a_reload(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/compare")
    page.get_by_label("Base", exact=True).fill(BASE)
    choose(page, results_of({"fresh": {"a": 1.0, "b": 1.0}, "speed": {"parse": 1400.0, "print": 500.0}}))
    expect(page.get_by_label("New commit", exact=True)).to_be_disabled()
    page.get_by_label("only a part of the benchmarks").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="1 regressed, 1 unchanged, 2 without data")).to_be_visible()
    suites = (
        page.get_by_role("rowheader")
        .filter(has_text="unchanged")
        .or_(page.get_by_role("rowheader").filter(has_text="without data"))
    )
    expect(suites).to_have_text(
        [re.compile("speed.*1 regressed, 1 unchanged", re.DOTALL), re.compile("fresh.*2 without data", re.DOTALL)]
    )
    page.get_by_label("by suite").uncheck()
    expect(suites).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", name="Choose the file mine.js again")).to_be_visible()
    assert violations(page) == []


def test_a_file_that_no_format_reads_says_so_with_its_name(
    page: Page, shared_address: str, expected_errors: list[str]
) -> None:
    expected_errors.append("400")
    page.goto(f"{shared_address}/compare?base={BASE}")
    choose(page, b"\x00\x01")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_contain_text("No format fits this file")
    expect(page.get_by_role("alert")).to_contain_text("mine.js")


@pytest.mark.parametrize("width", [390, *in_the_long_run(1024, 1440)])
def test_a_compared_file_is_accessible_in_light_and_dark(page: Page, shared_address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{shared_address}/compare?base={BASE}&all=1")
    choose(page, results_of({"fresh": {"a": 1.0, "b": 1.0}, "speed": {"parse": 1400.0, "print": 500.0}}))
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="3 regressed")).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []


def test_two_files_are_compared_and_both_chosen_again_after_a_reload(page: Page, shared_address: str) -> None:
    rows = "".join(f"{run},parse,ns,{1000 + run % 3}\n{run},print,ns,{500 + run % 2}\n" for run in range(6))
    head = "run,benchmark,unit,value\n"
    page.goto(f"{shared_address}/compare")
    choose(page, (head + rows).encode(), side=0, name="old.csv")
    expect(page.get_by_label("Base", exact=True)).to_be_disabled()
    choose(page, f"{head}0,parse,ns,1300\n1,parse,ns,1301\n0,print,ns,500\n1,print,ns,501\n".encode(), name="new.csv")
    page.get_by_label("Query").fill("-nothing")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="1 regressed, 1 unchanged")).to_be_visible()
    expect(page.get_by_text("old.csv")).to_be_visible()
    assert "base_file=old.csv" in page.url
    assert violations(page) == []
    page.reload()
    expect(page.get_by_role("heading", name="Choose the file old.csv and new.csv again")).to_be_visible()


def test_a_percentile_of_the_samples_is_compared_on_request(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/compare?base={BASE}&head={HEAD}&all=1")
    page.get_by_text("More: results files").click()
    page.get_by_label("Of the samples").fill("p99")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("The p99 of the samples of each run is compared.")).to_be_visible()
    expect(page.get_by_role("table", name="Compared traces")).to_contain_text("p99 needs 100 samples of a run")
