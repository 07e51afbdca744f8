"""Triage in a real browser: mouse, keyboard, addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.conftest import violations, wait_until_loaded
from tests.examples import in_the_long_run
from tests.server.story import REPOSITORY, SLOWER, commit_hash, history, make_instance

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import open_instance
from knickpoint.server import serving
from knickpoint.watch.alert_run.run import run_alerts

pytestmark = pytest.mark.browser

Visit = Callable[[str], Page]


def groups(page: Page) -> Locator:
    return page.locator("tr.change-row")


def members(page: Page) -> Locator:
    return page.locator("tr.finding-row")


def keys(page: Page, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def tab(page: Page, name: str) -> Locator:
    return page.locator(".tab", has_text=re.compile(f"^{name}"))


@pytest.mark.core
def test_a_group_shows_commit_author_date_change_hazard_and_traces(browse: Visit) -> None:
    first = groups(browse("/triage")).first
    for text in (
        "2 slower by up to 25 %",
        "Check every bracket",
        "Ada Lovelace",
        "2026-01-10",
        commit_hash(SLOWER)[:10],
    ):
        expect(first).to_contain_text(text)
    expect(first.locator("td.c-hazard")).to_have_text(re.compile(r"^\s*−0\.2"))
    expect(first.locator(".c-traces")).to_have_text("2")
    expect(first.locator("svg.spark")).to_be_visible()


def test_the_hazard_level_never_stands_below_the_word_of_the_change(browse: Visit) -> None:
    page = browse("/triage")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Hazard").check()
    keys(page, "Escape", "j", "ArrowRight")
    for width in (1400, 1200, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => innerWidth === width", arg=width)
        expect(page.locator("tr.finding-row").first).to_contain_text("hazard −")
        assert not [text for text in page.locator("td.c-change").all_inner_texts() if "hazard" in text]


def test_on_a_phone_the_subject_stands_beside_what_opens_the_row(browse: Visit) -> None:
    page = browse("/triage")
    page.set_viewport_size({"width": 390, "height": 844})
    row = groups(page).first
    twist, subject = row.locator(".twist").bounding_box(), row.locator(".subject").bounding_box()
    assert twist
    assert subject
    assert subject["y"] < twist["y"] + twist["height"]


def test_the_words_of_a_button_have_room_in_it(browse: Visit) -> None:
    page = browse("/triage")
    script = """(all) => all.map((element) => {
        const words = document.createRange();
        words.selectNodeContents(element);
        return element.getBoundingClientRect().width - words.getBoundingClientRect().width;
    })"""
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => innerWidth === width", arg=width)
        assert min(page.locator(".actions .button").evaluate_all(script)) >= 12  # pixels


def test_a_row_names_its_leading_trace_and_compares_the_levels(browse: Visit) -> None:
    page = browse("/triage")
    keys(page, "v")  # without the panel, the trace has a column
    lead = groups(page).first.locator(".c-lead")
    expect(lead.get_by_role("link")).to_have_text("parse")
    expect(lead).to_have_text(re.compile(r"\d\sµs/iter → 1\.2\d*\sµs/iter, \+2\d\.\d\s%, \d+\sσ"))


def test_an_improvement_says_so_and_names_its_suspects(browse: Visit) -> None:
    second = groups(browse("/triage")).nth(1)
    expect(second).to_contain_text("20 % faster")
    expect(second).to_contain_text("one of 6 commits")


def test_opening_a_commit_shows_its_traces_with_units(browse: Visit) -> None:
    page = browse("/triage")
    groups(page).first.click()
    expect(members(page)).to_have_count(2)
    expect(members(page).first).to_contain_text("parse")
    expect(members(page).first).to_contain_text("µs/iter")


@pytest.mark.core
def test_acknowledging_a_commit_moves_it_to_the_processed_tab(visit: Visit) -> None:
    page = visit("/triage")
    groups(page).first.get_by_role("button", name="Acknowledge").click()
    expect(groups(page)).to_have_count(1)
    tab(page, "Processed").click()
    expect(groups(page)).to_have_count(1)
    expect(groups(page).first).to_contain_text("acknowledged 2")


def test_one_trace_is_acknowledged_and_the_other_hidden(visit: Visit) -> None:
    page = visit("/triage")
    groups(page).first.click()
    members(page).first.get_by_role("button", name="Acknowledge").click()
    expect(members(page)).to_have_count(1)
    members(page).first.get_by_role("button", name="Hide").click()
    expect(groups(page)).to_have_count(1)
    tab(page, "Processed").click()
    expect(groups(page).first).to_contain_text("acknowledged 1")
    expect(groups(page).first).to_contain_text("hidden 1")


@pytest.mark.core
def test_many_are_hidden_at_once_and_brought_back_by_undo(visit: Visit) -> None:
    page = visit("/triage")
    page.get_by_label("Select all change points on this page").click()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Hide").click()
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(groups(page)).to_have_count(2)


@pytest.mark.core
def test_the_keyboard_does_it_all(visit: Visit) -> None:
    page = visit("/triage")
    expect(groups(page)).to_have_count(2)
    keys(page, "j", "x", "a")
    expect(groups(page)).to_have_count(1)
    keys(page, "u")
    expect(groups(page)).to_have_count(2)
    keys(page, "k", "k", "Enter")
    expect(members(page)).to_have_count(2)
    keys(page, "j", "j", "h")
    expect(members(page)).to_have_count(1)
    keys(page, "p")
    expect(groups(page)).to_have_count(1)
    expect(groups(page).first).to_contain_text("hidden")
    keys(page, "r")
    expect(page.get_by_role("heading", name="Nothing has been processed yet")).to_be_visible()


def test_enter_on_a_trace_opens_it_and_back_returns_to_the_same_place(browse: Visit) -> None:
    page = browse("/triage")
    keys(page, "j", "k", "Enter", "j", "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("parse")
    page.go_back()
    expect(members(page)).to_have_count(2)
    expect(page.locator('tr[aria-current="true"]')).to_contain_text("parse")


def test_a_reload_right_after_a_key_keeps_the_row(browse: Visit) -> None:
    page = browse("/triage")
    keys(page, "j", "j")
    current = page.locator('tr[aria-current="true"]')
    row = current.get_attribute("data-row")
    page.reload()
    wait_until_loaded(page)
    assert row != page.locator("tr[data-row]").first.get_attribute("data-row")
    expect(current).to_have_attribute("data-row", row or "")


def test_a_reload_keeps_what_the_address_says(browse: Visit) -> None:
    page = browse("/triage?sort=date&q=bracket")
    groups(page).first.click()
    expect(members(page)).to_have_count(2)
    page.reload()
    expect(members(page)).to_have_count(2)
    expect(page.get_by_placeholder("Filter")).to_have_value("bracket")
    expect(page.locator("th.c-date")).to_have_attribute("aria-sort", "ascending")


def test_filter_and_sort_write_the_address(browse: Visit) -> None:
    page = browse("/triage")
    keys(page, "/")
    page.keyboard.type("load")
    expect(groups(page)).to_have_count(1)
    page.wait_for_url("**/triage?q=load")
    page.get_by_role("button", name="Traces", exact=True).click()
    page.wait_for_url("**/triage?q=load&sort=-traces")


def test_small_changes_are_left_out_when_asked(browse: Visit) -> None:
    page = browse("/triage")
    page.get_by_label("Minimum change").select_option("From 100 %")
    page.wait_for_url("**/triage?least=100")
    expect(page.get_by_role("heading", name="No change matches the filter")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    expect(groups(page)).to_have_count(2)


def test_columns_stay_as_chosen_after_a_reload(browse: Visit) -> None:
    page = browse("/triage")
    page.set_viewport_size({"width": 1900, "height": 900})
    hazard = page.locator("td.c-hazard").first
    expect(hazard).to_be_hidden()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Hazard").check()
    expect(hazard).to_be_visible()
    assert violations(page) == []
    page.reload()
    expect(groups(page).first).to_be_visible()
    expect(hazard).to_be_visible()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Hazard").uncheck()
    expect(hazard).to_be_hidden()


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_menu_of_the_columns_stays_in_the_window(browse: Visit, width: int) -> None:
    page = browse("/triage?tab=all")
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_text("Columns", exact=True).click()
    box = page.locator(".columns fieldset").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_a_panel_shows_the_picture_of_the_current_row(browse: Visit) -> None:
    page = browse("/triage")
    panel = page.get_by_role("complementary", name="The current change")
    expect(panel.get_by_role("img")).to_have_attribute("alt", "Values of parse around the change")
    assert panel.get_by_role("img").evaluate(
        "async (image) => { await image.decode(); return image.naturalWidth > 0; }"
    )
    expect(panel).to_contain_text("The values jumped from about")
    keys(page, "j", "j")
    expect(panel.get_by_role("img")).to_have_attribute("alt", "Values of load around the change")
    expect(panel).to_contain_text("The change lies in one of 6 commits")
    keys(page, "v")
    expect(panel).to_be_hidden()
    page.reload()
    expect(groups(page).first).to_be_visible()
    expect(panel).to_be_hidden()


@pytest.mark.parametrize("width", [1440, 1024])
def test_a_row_is_as_high_as_what_it_shows(browse: Visit, width: int) -> None:
    page = browse("/triage")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("width => innerWidth === width", arg=width)
    box = groups(page).first.bounding_box()
    assert box
    assert box["height"] < 90  # pixels: the column of the trace has no room here, and no height


def test_a_change_without_a_recipe_says_what_its_search_needs(browse: Visit) -> None:
    page = browse("/triage")
    groups(page).nth(1).get_by_role("button", name="Find the commit").click()
    expect(page.get_by_text("No recipe fits this change.")).to_be_visible()


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("kind:bogus", "The kinds are: step,"),
        ("since:yesterday", "Write it as 2026-03-14."),
        ("knid:step", "kind:step?"),
    ],
)
def test_a_filter_that_is_not_known_is_refused(
    browse: Visit, expected_errors: list[str], word: str, remedy: str
) -> None:
    expected_errors.append("422")
    page = browse(f"/triage?q={word}")
    expect(page.get_by_role("alert")).to_contain_text(remedy)


def test_keys_turn_the_pages(browse: Visit) -> None:
    page = browse("/triage?size=1")
    expect(groups(page)).to_contain_text("Check every bracket")
    keys(page, "]")
    page.wait_for_url("**page=2*")
    expect(groups(page)).to_contain_text("Read files ahead")
    keys(page, "[")
    expect(groups(page)).to_contain_text("Check every bracket")


def test_a_key_leads_to_why_a_trace_is_on_the_list(browse: Visit) -> None:
    page = browse("/triage")
    keys(page, "j", "w")
    page.wait_for_url("**/trace/*why=1")
    expect(page.locator('table.candidates tr[aria-current="true"]').get_by_text("✓ a change")).to_be_visible()


def test_back_from_a_trace_that_was_decided_about_leads_to_the_next_row(visit: Visit) -> None:
    page = visit("/triage")
    keys(page, "j", "k", "Enter", "j", "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("parse")
    expect(page.locator("table.changes")).to_be_visible()
    keys(page, "a")
    expect(page.locator("table.changes .status.acknowledged")).to_be_visible()
    page.go_back()
    expect(members(page)).to_have_count(1)
    expect(page.locator('tr[aria-current="true"]')).to_contain_text("print")


_HOLD = """() => {
    const fetched = window.fetch;
    window.fetch = (url, options) => {
        if (!String(url).endsWith("/api/v1/triage")) return fetched(url, options);
        return new Promise((_, reject) => (window.refuse = () => reject(new TypeError("no way"))));
    };
}"""


def test_a_decision_leaves_the_list_before_the_server_answers(visit: Visit) -> None:
    page = visit("/triage")
    expect(groups(page)).to_have_count(2)
    page.evaluate(_HOLD)
    keys(page, "j", "k", "a")
    expect(groups(page)).to_have_count(1)
    expect(page.locator('tr[aria-current="true"]')).to_be_focused()
    page.evaluate("() => window.refuse()")
    expect(groups(page)).to_have_count(2)
    expect(page.get_by_text("Nothing was recorded: the changes are as before.")).to_be_visible()
    expect(page.locator('tr[aria-current="true"]')).to_contain_text("Check every bracket")
    expect(page.locator('tr[aria-current="true"]')).to_be_focused()


def test_after_a_failed_decision_whoever_has_moved_on_stays_there(visit: Visit) -> None:
    page = visit("/triage?open=R1")
    expect(members(page)).to_have_count(2)
    page.evaluate(_HOLD)
    keys(page, "j", "j", "h", "j")
    expect(page.locator('tr[aria-current="true"]')).to_contain_text("Read files ahead")
    page.evaluate("() => window.refuse()")
    expect(members(page)).to_have_count(2)
    expect(page.locator('tr[aria-current="true"]')).to_contain_text("Read files ahead")


def test_a_ticket_takes_a_finding_off_the_list(visit: Visit) -> None:
    page = visit("/triage")
    keys(page, "j", "t")
    page.get_by_label("Key or address of the ticket").fill("PERF-12")
    page.get_by_role("button", name="Link").click()
    expect(groups(page)).to_have_count(1)
    keys(page, "p")
    expect(groups(page).first).to_contain_text("ticket 2")
    keys(page, "Enter")
    expect(members(page).first).to_contain_text("PERF-12")


def test_a_finding_is_assigned_and_found_by_its_assignee(visit: Visit) -> None:
    page = visit("/triage")
    page.keyboard.press("i")
    name = page.get_by_label("Assignee; empty for nobody")
    expect(name).not_to_have_value("")
    name.fill("grace")
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.get_by_text("Assigned to grace: 2 change points")).to_be_visible()
    expect(groups(page).first).to_contain_text("grace")
    page.locator("#filter").fill("assignee:grace")
    expect(groups(page)).to_have_count(1)


def test_a_name_that_is_typed_replaces_the_name_in_the_field(visit: Visit) -> None:
    page = visit("/triage")
    keys(page, "i")
    field = page.get_by_label("Assignee; empty for nobody")
    expect(field).to_be_focused()
    expect(field).not_to_have_value("")
    page.keyboard.type("grace@example.org")
    expect(field).to_have_value("grace@example.org")


def test_a_note_is_saved_by_the_keyboard(visit: Visit) -> None:
    page = visit("/triage")
    keys(page, "n")
    page.keyboard.type("expected: it verifies checksums")
    keys(page, "Control+Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("status")).to_contain_text("Wrote a note on 2 change points")


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_tags_leave_room_for_the_subject(visit: Visit, width: int) -> None:
    page = visit("/triage")
    page.set_viewport_size({"width": width, "height": 900})
    keys(page, "i")
    page.keyboard.type("a.person.with.a.long.name@example.org")
    keys(page, "Enter")
    row = groups(page).first
    expect(row).to_contain_text("a.person.with.a.long.name@example.org")
    subject = row.locator(".subject").bounding_box()
    assert subject
    assert subject["width"] > 120


def test_a_trace_is_set_apart_from_its_commit_and_back(visit: Visit) -> None:
    page = visit("/triage")
    groups(page).first.click()
    expect(members(page)).to_have_count(2)
    keys(page, "j", "s")
    expect(groups(page)).to_have_count(3)
    keys(page, "u")
    expect(groups(page)).to_have_count(2)


def test_two_selected_commits_are_merged_into_one_finding(visit: Visit) -> None:
    page = visit("/triage")
    page.get_by_label("Select all change points on this page").click()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Merge").click()
    expect(groups(page)).to_have_count(1)
    expect(groups(page).first.locator(".c-traces")).to_contain_text("3")
    page.get_by_role("button", name="Undo").click()
    expect(groups(page)).to_have_count(2)


def test_the_list_of_what_is_gone_says_what_it_is(browse: Visit) -> None:
    page = browse("/triage")
    keys(page, "G")
    page.wait_for_url("**/triage?tab=gone")
    expect(page.get_by_role("heading", name="Nothing is gone")).to_be_visible()


def test_the_help_lists_the_keys(browse: Visit) -> None:
    page = browse("/triage")
    keys(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text("hide as noise")
    keys(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.core
def test_an_empty_instance_says_what_to_do_next(page: Page, empty_address: str) -> None:
    page.goto(f"{empty_address}/triage")
    expect(page.get_by_role("heading", name="No results yet")).to_be_visible()
    expect(page.get_by_text("knick import")).to_be_visible()


def test_results_that_no_run_has_judged_are_not_said_to_have_no_changes(page: Page, tmp_path: Path) -> None:
    make_instance(tmp_path / "instance", with_findings=False)
    with open_instance(tmp_path / "instance") as instance:
        import_data(instance, history(), source="history", stated=Sidecar(repository=REPOSITORY))
        with serving(instance) as address:
            page.goto(f"{address}triage")
            expect(page.get_by_role("heading", name="Not searched for changes yet")).to_be_visible()
            expect(page.get_by_text("No run of the alert has ended yet.")).to_be_visible()
            run_alerts(instance.store, instance.alerts, as_work=True)
            page.reload()
            expect(page.locator("tr.change-row")).to_have_count(2)


@pytest.mark.core
def test_a_server_that_is_gone_is_an_error_with_a_way_back(browse: Visit, expected_errors: list[str]) -> None:
    expected_errors.append("ERR_FAILED")
    page = browse("/triage")
    page.route("**/api/v1/changes*", lambda route: route.abort())
    page.get_by_role("button", name="Date").click()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/api/v1/changes*")
    page.get_by_role("button", name="Try again").click()
    expect(groups(page)).to_have_count(2)


def test_what_another_person_decides_appears_without_a_reload(visit: Visit, address: str) -> None:
    page = visit("/triage")
    expect(groups(page)).to_have_count(2)
    found = httpx.get(f"{address}/api/v1/changes").json()["changes"][0]
    decision = {"changes": [found["id"]], "status": "acknowledged"}
    assert httpx.post(f"{address}/api/v1/triage", json=decision).status_code == 200
    expect(groups(page)).to_have_count(1, timeout=10_000)


def test_words_of_the_filter_name_alerts_people_and_days(browse: Visit, expected_errors: list[str]) -> None:
    expected_errors.append("400")
    page = browse("/triage?q=since:2026-01-11 alert:default")
    expect(groups(page)).to_have_count(1)
    expect(groups(page)).to_contain_text("Read files ahead")
    page.locator("#filter").fill("until:2026-01-10 sigma:0.5")
    page.wait_for_url("**until*")
    expect(groups(page).first).to_be_visible()
    expect(page.locator("table.findings")).not_to_contain_text("Read files ahead")
    page.locator("#filter").fill("sigma:1000")
    expect(groups(page)).to_have_count(0)
    page.locator("#filter").fill("since:2026-03-01 assignee:grcae")
    expect(page.get_by_role("alert")).to_contain_text("No change has the assignee 'grcae'")
    expect(groups(page)).to_have_count(0)


def test_the_list_says_when_the_alerts_ran(browse: Visit) -> None:
    page = browse("/triage")
    expect(page.locator(".foot")).to_contain_text(re.compile(r"The alert ran (just now|\d+ minutes? ago)"))


def test_what_keeps_the_list_from_being_up_to_date_is_shown_above_it(page: Page, shared_address: str) -> None:
    def troubled(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "status": "troubled", "troubles": ["alert night cannot run"]})

    page.route("**/api/v1/health", troubled)
    page.goto(f"{shared_address}/triage")
    expect(page.get_by_role("status", name="Troubles")).to_have_text("alert night cannot run")
    expect(groups(page)).to_have_count(2)
    assert violations(page) == []
    page.unroute("**/api/v1/health")


def test_notices_are_loaded_when_they_are_opened(browse: Visit) -> None:
    page = browse("/triage")
    page.get_by_text("Canaries that moved, benchmarks that stopped, directions that changed").click()
    expect(page.get_by_text("No canary moved, no benchmark stopped, and no direction changed.")).to_be_visible()


def test_an_alert_leads_to_all_its_changes_with_what_people_decided(visit: Visit) -> None:
    page = visit("/alerts")
    page.get_by_role("link", name="Changes of default").click()
    expect(page.get_by_role("heading", name="Changes of default")).to_be_visible()
    expect(groups(page)).to_have_count(2)
    expect(groups(page).first).to_contain_text("Read files ahead")  # the newest commit
    expect(groups(page).last.locator(".c-decision")).to_have_text("unprocessed 2")

    keys(page, "j", "j", "t")
    page.get_by_label("Key or address").fill("https://tickets.example.org/PERF-7")
    page.get_by_role("textbox", name="Note").fill("The new check.")
    page.get_by_role("button", name="Link").click()
    decision = groups(page).last.locator(".c-decision")
    expect(decision).to_contain_text("ticket 2")
    expect(decision.get_by_role("link", name="PERF-7")).to_have_attribute("href", "https://tickets.example.org/PERF-7")
    expect(decision).to_contain_text("The new check.")
    expect(decision.locator("time")).to_be_visible()
    expect(tab(page, "All")).to_contain_text("2")

    page.get_by_label("Status").select_option("new")
    expect(groups(page)).to_have_count(1)
    expect(groups(page).first.get_by_role("button", name="Acknowledge")).to_be_visible()
    page.get_by_label("Status").select_option("ticket")
    expect(groups(page).first).to_contain_text("Check every bracket")
    groups(page).first.get_by_role("button", name="Put back").click()
    expect(page.get_by_text("No change matches the filter")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    expect(groups(page)).to_have_count(2)
    expect(page.get_by_role("heading", name="Changes of default")).to_be_visible()


def test_a_row_of_all_that_is_decided_about_stays_and_can_be_put_back(visit: Visit) -> None:
    page = visit("/triage?tab=all")
    expect(groups(page)).to_have_count(2)
    keys(page, "h")
    expect(groups(page).first.locator(".c-decision")).to_contain_text("hidden 2")
    groups(page).first.get_by_role("button", name="Put back").click()
    expect(groups(page).first.locator(".c-decision")).to_have_text("unprocessed 2")


@pytest.mark.parametrize("scheme", ["dark", *in_the_long_run("light")])
@pytest.mark.parametrize("width", [390, *in_the_long_run(1024, 1440)])
def test_decisions_have_room_beside_the_changes_of_an_alert(visit: Visit, width: int, scheme: str) -> None:
    page = visit("/triage?tab=all&q=alert:default&sort=-date")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    keys(page, "j", "j", "n")
    page.get_by_role("textbox", name="Note").fill("The new check. " * 8)
    page.get_by_role("button", name="Save", exact=True).click()
    cell = groups(page).last.locator(".c-decision")
    expect(cell).to_contain_text("The new check.")
    box = cell.bounding_box()
    assert box
    assert box["width"] > 180
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_a_filter_by_an_alert_that_is_not_there_is_refused_with_those_that_are(
    browse: Visit, expected_errors: list[str]
) -> None:
    expected_errors.append("400")
    page = browse('/triage?tab=all&q=alert:"night"')
    expect(page.get_by_text("o change has the alert 'night'")).to_be_visible()
    expect(page.get_by_text("There are: ")).to_be_visible()
