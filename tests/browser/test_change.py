"""The page of a change in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.server.story import make_instance

from knickpoint.instance import Instance, open_instance, rank_new_suspects
from knickpoint.model.params import decode_key
from knickpoint.profiles import ProfileBuilder, ValueKind, pack_profile
from knickpoint.server import serving
from knickpoint.store.profiles import ProfileWrite

pytestmark = pytest.mark.browser

Visit = Callable[[str], Page]


@pytest.mark.core
@pytest.mark.usefixtures("address")
def test_a_change_is_read_decided_about_and_left_for_the_next_one(browse: Visit) -> None:
    page = browse("/change/R1")
    expect(page.get_by_role("heading", level=1)).to_contain_text("slower by up to 25 %")
    expect(page.locator("kp-chart canvas")).to_be_visible()
    expect(page.get_by_role("heading", name="Likely causes")).to_be_visible()
    rows = page.get_by_role("table", name="Traces of the change").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_have_attribute("aria-current", "true")
    rows.nth(1).get_by_role("button", name="Plot this trace").click()
    expect(rows.nth(1)).to_have_attribute("aria-current", "true")

    page.keyboard.press("a")
    # The instance is that of other tests as well, whose decisions stay in the history: the newest entry counts.
    newest = page.get_by_role("region", name="Decisions and announcements").get_by_role("listitem").first
    expect(newest).to_contain_text("acknowledged")
    page.get_by_role("button", name="Note").click()
    page.get_by_role("dialog").get_by_label("Note").fill("as expected")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(newest).to_contain_text("as expected")
    page.get_by_role("button", name="Put back").click()
    expect(page.get_by_role("button", name="Acknowledge")).to_be_visible()

    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(r"/change/R2$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("R2")
    page.keyboard.press("j")
    expect(page.get_by_text("This is the last change to triage.")).to_be_visible()
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(r"/change/R1$"))


def test_back_and_reload_plot_the_chosen_trace_again(browse: Visit) -> None:
    page = browse("/change/R1")
    second = page.get_by_role("table", name="Traces of the change").locator("tbody tr").nth(1)
    second.get_by_role("button", name="Plot this trace").click()
    page.reload()
    expect(second).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="Status").click()
    expect(second).to_be_hidden()
    page.go_back()
    expect(second).to_have_attribute("aria-current", "true")


def test_an_unknown_change_says_so_and_leads_back(browse: Visit, expected_errors: list[str]) -> None:
    expected_errors.append("404")
    page = browse("/change/R999")
    expect(page.get_by_role("alert")).to_contain_text("There is no change 999")
    page.get_by_role("link", name="All changes to triage").click()
    expect(page).to_have_url(re.compile(r"/triage$"))
    page = browse("/change/none")
    expect(page.get_by_text("There is no page at this address")).to_be_visible()


def test_lists_lead_to_the_page_of_a_change(browse: Visit) -> None:
    page = browse("/")
    page.get_by_role("table", name="The worst of them").get_by_role("link", name="slower").first.click()
    expect(page).to_have_url(re.compile(r"/change/R1$"))


def test_the_page_draws_where_the_cost_changed_and_its_address_keeps_the_view(page: Page, tmp_path: Path) -> None:
    make_instance(tmp_path / "profiled")
    with open_instance(tmp_path / "profiled") as instance, serving(instance) as address:
        key = _profile_both_sides(instance)
        page.goto(f"{address.rstrip('/')}/change/R{key}")
        region = page.get_by_role("region", name="Where the cost changed")
        expect(region).to_contain_text(" in helper (src/helper.py:12).")
        graph = region.locator("#graph")
        graph.focus()
        for name in ("ArrowDown", "ArrowDown", "Enter"):
            page.keyboard.press(name)
        expect(region.locator("#detail")).to_contain_text("helper:")
        expect(page).to_have_url(re.compile(r"flame=.*zoom"))
        page.keyboard.press("/")
        page.keyboard.type("ah")  # no decision is made: these keys belong to the search field
        expect(page.get_by_role("button", name="Acknowledge")).to_be_visible()
        expect(page).to_have_url(re.compile(r"search%3Dah"))
        page.reload()
        expect(region.locator("#search")).to_have_value("ah")
        assert violations(page) == []


def _profile_both_sides(instance: Instance) -> int:
    """Keep profiles before and after a change, of which a function has half of the cost more, and return the change."""
    store = instance.store
    repository = store.commits.repositories()[0]
    key, place = min(store.findings.groups.suspect_ranges(repository).items())
    lead = store.findings.change(key).members[0]
    benchmark = decode_key(lead.key)["benchmark"]
    for slot, cost in ((place.previous, 100.0), (place.slot, 100.0 * (1 + lead.numbers.relative_size))):
        builder = ProfileBuilder()
        main, helper = builder.frame("main", "src/main.py", 1), builder.frame("helper", "src/helper.py", 12)
        builder.add_path([main], 50.0)
        builder.add_path([main, helper], cost - 50.0)
        content = pack_profile(builder.build("made", ValueKind.INSTRUCTIONS, "instructions"))
        name = f"{benchmark}:{slot}"
        write = ProfileWrite(slot, name, benchmark, "", content, "made", "instructions", "instructions", name, 1)
        store.profiles.write(repository, write)
    rank_new_suspects(instance)
    return key
