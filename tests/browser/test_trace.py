"""The trace page and the explore page in a real browser."""

from __future__ import annotations

import getpass
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import leaving, point_at, violations
from tests.server.story import COMMITS, FAILED, FASTER, SLOWER, UNMEASURED, make_instance
from tests.server.test_plotted_summaries import make_tails

from knickpoint.instance import open_instance
from knickpoint.model.change_point import PointUpdate, Transition
from knickpoint.server import serving

pytestmark = pytest.mark.browser

Visit = Callable[[str], Page]


@pytest.fixture
def trace(shared_address: str) -> Callable[[str], int]:
    """Find a trace by its benchmark."""

    def find(benchmark: str) -> int:
        answer = httpx.get(f"{shared_address}/api/v1/traces", params={"query": f"benchmark={benchmark}"})
        return int(answer.json()["traces"][0]["id"])

    return find


def painted(page: Page) -> int:
    """Count the different colours of the plot."""
    script = """() => {
        const canvas = document.querySelector("kp-chart canvas");
        const data = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        return new Set(data).size;
    }"""
    return int(page.evaluate(script))


@pytest.mark.core
def test_a_trace_shows_its_values_levels_and_changes(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    expect(page.get_by_role("heading", level=1)).to_have_text("parse")
    expect(page.get_by_text("60 of 60 commits measured")).to_be_visible()
    expect(page.locator("table.changes tbody tr")).to_have_count(1)
    label = page.get_by_role("img", name="Values of parse").get_attribute("aria-label") or ""
    assert "25 % slower" in label
    assert "unprocessed" in label
    assert painted(page) > 20


@pytest.mark.core
def test_hovering_shows_value_unit_commit_author_and_subject(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    point_at(page, 0.1)
    tip = page.locator(".chart-tip")
    expect(tip).to_contain_text("µs/iter")
    expect(tip).to_contain_text("Change number")
    expect(tip).to_contain_text("2026-01-0")
    expect(tip.get_by_text("Ada Lovelace").or_(tip.get_by_text("Grace Hopper"))).to_be_visible()


def test_the_tooltip_stays_while_the_plot_is_built_anew(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    point_at(page, 0.1)
    tip = page.locator(".chart-tip")
    expect(tip.get_by_text("Ada Lovelace").or_(tip.get_by_text("Grace Hopper"))).to_be_visible()
    before = tip.inner_text()
    page.evaluate("""() => {
        document.querySelector(".chart-tip").hidden = true;
        window.dispatchEvent(new Event("kp-theme"));
    }""")
    expect(tip).to_be_visible()
    expect(tip).to_have_text(before, use_inner_text=True)


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_the_strip_below_the_plot_moves_and_resizes_what_it_shows(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    window = page.get_by_role("slider", name="Shown commits")
    expect(window).to_have_attribute("aria-valuetext", "commits 1 to 60")
    expect(page.locator(".strip path")).to_have_count(1)
    strip = page.locator(".strip").bounding_box()
    assert strip is not None
    left, width, middle = strip["x"], strip["width"], strip["y"] + strip["height"] / 2
    places = [left + width * (position - 1) / 59 for position in range(1, 61)]
    drag(page, (places[20], middle), (places[40], middle))
    page.wait_for_url("**first=20&last=40*")
    drag(page, (places[30], middle), (places[35], middle))
    page.wait_for_url("**first=25&last=45*")
    drag(page, (places[45], middle), (places[59], middle))
    page.wait_for_url("**first=25&last=59*")
    expect(window).to_have_attribute("aria-valuetext", "commits 26 to 60")


def test_the_window_of_the_strip_moves_by_keys(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}?first=20&last=40")
    window = page.get_by_role("slider", name="Shown commits")
    window.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**first=25&last=45")
    page.keyboard.press("Home")
    page.wait_for_url("**first=0&last=20")
    expect(window).to_be_focused()


def test_clicking_a_value_pins_its_commit_in_the_address(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    point_at(page, 0.9)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**commit=5*")
    expect(page.locator("dl.facts")).to_contain_text("of 60 on")
    expect(page.locator("dl.facts")).to_contain_text("1.2")


def test_commits_that_were_not_measured_are_listed_as_suspects(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('load')}?commit={FASTER}")
    expect(page.get_by_text("The change lies in one of 6 commits")).to_be_visible()
    expect(page.locator("ol.suspects li")).to_have_count(6)
    expect(page.get_by_text("suspect range, not measured")).to_be_visible()


def test_a_change_leads_to_the_comparison_of_all_traces_before_and_after(
    browse: Visit, trace: Callable[[str], int]
) -> None:
    page = browse(f"/trace/{trace('parse')}?commit={SLOWER}")
    page.get_by_role("link", name="All traces before and after").click()
    page.wait_for_url("**/compare?repository=*&base=*&head=*")
    expect(page.locator("main")).to_contain_text("regressed")


def test_suspects_are_listed_with_their_probability_and_what_no_commit_explains(
    browse: Visit, trace: Callable[[str], int]
) -> None:
    page = browse(f"/trace/{trace('load')}?commit={FASTER}")
    expect(page.locator("ol.suspects .chance").first).to_have_text("14 %")
    expect(page.get_by_text("None of them: 15 %.")).to_be_visible()
    assert violations(page) == []


def test_suspects_that_are_not_ranked_yet_are_listed_without_a_probability(page: Page, tmp_path: Path) -> None:
    make_instance(tmp_path / "instance")
    with open_instance(tmp_path / "instance") as instance, serving(instance) as address, leaving(page):
        traces = httpx.get(f"{address}api/v1/traces", params={"query": "benchmark=load"}).json()["traces"]
        page.goto(f"{address}trace/{traces[0]['id']}?commit={FASTER}")
        expect(page.locator("ol.suspects li")).to_have_count(6)
        expect(page.locator("ol.suspects .chance")).to_have_count(0)


def test_a_suspect_that_failed_to_be_measured_says_so(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('load')}?commit={FASTER}")
    expect(page.locator("ol.suspects li", has_text=f"Change number {FAILED}")).to_contain_text("failed")
    expect(page.locator("ol.suspects .outcome")).to_have_count(1)


def test_a_run_without_a_value_is_marked_and_can_be_pinned(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('load')}?commit={min(UNMEASURED) - 1}")
    expect(page.locator(".legend").get_by_text("failed")).to_be_visible()
    expect(page.locator("dl.facts")).to_contain_text(f"commit {min(UNMEASURED)} of 60")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**commit={FAILED}")
    expect(page.locator("dl.facts .outcome")).to_have_text("failed")


def test_another_machine_is_marked_and_shown(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('idle')}")
    expect(page.get_by_text("environment changed")).to_be_visible()
    point_at(page, 0.99)
    expect(page.locator(".chart-tip")).to_contain_text("one → two")
    page.keyboard.press("e")
    page.wait_for_url(f"**commit={COMMITS - 1}")
    expect(page.locator("dl.facts")).to_contain_text("one → two")


def test_a_point_leads_to_what_ran(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('idle')}?commit={COMMITS - 1}")
    expect(page.get_by_role("link", name="task")).to_have_attribute(
        "href", f"https://ci.example.org/task/{COMMITS - 1}"
    )
    expect(page.get_by_role("link", name="log", exact=True)).to_be_visible()


def test_the_value_of_a_commit_says_what_it_is_the_median_of(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('idle')}?commit={COMMITS - 1}")
    expect(page.locator("dl.facts")).to_contain_text("median of 2 runs with 2 samples")
    page.goto(page.url.replace(f"commit={COMMITS - 1}", f"commit={COMMITS - 2}"))
    expect(page.locator("dl.facts")).to_contain_text("one sample")


@pytest.mark.core
def test_a_decision_on_the_trace_page_changes_the_mark(visit: Visit, trace: Callable[[str], int]) -> None:
    page = visit(f"/trace/{trace('parse')}")
    page.keyboard.press("j")
    expect(page.locator("dl.facts")).to_contain_text("commit 31 of 60")
    page.keyboard.press("h")
    expect(page.locator("table.changes .status.hidden")).to_be_visible()
    expect(page.locator(".legend .status.hidden")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("table.changes .status.new")).to_be_visible()


def test_the_history_of_a_finding_shows_who_decided_and_takes_it_back(
    visit: Visit, trace: Callable[[str], int]
) -> None:
    page = visit(f"/trace/{trace('parse')}?commit=30")
    expect(page.locator("dl.facts")).to_contain_text("commit 31 of 60")
    page.keyboard.press("h")
    expect(page.locator("table.changes .status.hidden")).to_be_visible()
    page.get_by_text("Decisions").click()
    expect(page.locator("kp-decision-log li").first).to_contain_text(getpass.getuser())
    page.get_by_role("button", name="Undo the last").click()
    expect(page.locator("table.changes .status.new").first).to_be_visible()


@pytest.fixture
def gone_address(tmp_path: Path) -> Iterator[str]:
    """Serve an instance in which later data no longer show that `parse` got slower."""
    make_instance(tmp_path / "gone")
    with open_instance(tmp_path / "gone") as instance:
        repository = instance.store.commits.repositories()[0]
        members = instance.store.findings.groups.members(repository)
        gone = [PointUpdate(Transition.GONE, member.id, member.trace_id, ()) for member in members]
        instance.store.findings.apply(repository, gone, {})
        with serving(instance) as found:
            yield found.rstrip("/")


def test_what_later_data_no_longer_show_is_shown_when_asked(page: Page, gone_address: str) -> None:
    answer = httpx.get(f"{gone_address}/api/v1/traces", params={"query": "benchmark=parse"})
    page.goto(f"{gone_address}/trace/{answer.json()['traces'][0]['id']}")
    expect(page.get_by_text("No change was found in this trace")).to_be_visible()
    page.get_by_label("1 gone").click()
    page.wait_for_url("**gone=1")
    expect(page.locator("table.changes tbody.gone")).to_contain_text("25 % slower")
    expect(page.get_by_role("img", name="25 % slower")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("G")
    expect(page.locator("table.changes tbody.gone")).to_have_count(0)


def test_the_scale_of_the_values_is_in_the_address(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    page.keyboard.press("y")
    page.wait_for_url("**y=zero")
    expect(page.get_by_label("Scale of the values")).to_have_value("zero")


def test_a_rejected_candidate_is_shown_on_the_plot(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}?why=1")
    expect(page.locator(".legend").get_by_text("candidate")).to_be_visible()
    page.locator("table.candidates").get_by_role("button", name="commit").first.click()
    page.wait_for_url("**commit=*")
    expect(page.locator('table.candidates tr[aria-current="true"]')).to_have_count(1)


def test_dragging_zooms_and_back_zooms_out(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    page.wait_for_load_state("networkidle")  # what arrives late draws the plot anew
    point_at(page, 0.25)
    page.mouse.down()
    point_at(page, 0.5)
    page.mouse.up()
    page.wait_for_url("**first=*&last=*")
    expect(page.get_by_role("button", name="Whole line")).to_be_enabled()
    page.go_back()
    expect(page.get_by_text("commits 1 to 60 of 60")).to_be_visible()


def test_a_key_zooms_in_on_the_pinned_commit_and_back(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('load')}?commit={FASTER}")
    expect(page.locator("dl.facts")).to_contain_text("commit 46 of 60")
    page.keyboard.press("z")
    page.wait_for_url("**first=10&last=59*")
    page.keyboard.press("z")
    page.wait_for_url(f"**/trace/*?commit={FASTER}")


@pytest.mark.core
def test_the_why_panel_lists_the_candidates(browse: Visit, trace: Callable[[str], int]) -> None:
    page = browse(f"/trace/{trace('parse')}")
    page.keyboard.press("w")
    expect(page.locator("table.candidates").get_by_text("✓ a change")).to_be_visible()


def test_a_trace_that_does_not_exist_says_so(browse: Visit, expected_errors: list[str]) -> None:
    expected_errors.append("status of 404")
    page = browse("/trace/4711")
    expect(page.get_by_role("alert")).to_contain_text("no trace 4711")


def test_a_facet_narrows_the_list_and_writes_the_query(browse: Visit) -> None:
    page = browse("/explore")
    expect(page.locator("tr[data-trace]")).to_have_count(4)
    page.get_by_role("group", name="benchmark").get_by_role("checkbox", name="parse").click()
    expect(page.locator("tr[data-trace]")).to_have_count(1)
    expect(page.locator("#query")).to_have_value("benchmark=parse")
    page.go_back()
    expect(page.locator("tr[data-trace]")).to_have_count(4)


def test_several_traces_are_plotted_together(browse: Visit) -> None:
    page = browse("/explore")
    expect(page.locator("tr[data-trace]")).to_have_count(4)
    for key in ("x", "j", "x"):
        page.keyboard.press(key)
    expect(page.locator(".legend.series tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile("traces=0%2C1"))  # the address follows within a sixth of a second
    page.reload()
    expect(page.locator(".legend.series tbody tr")).to_have_count(2)


def test_more_traces_are_listed_when_asked(browse: Visit) -> None:
    page = browse("/explore?list=2")
    expect(page.locator("tr[data-trace]")).to_have_count(2)
    page.get_by_role("button", name="Show 2 more").click()
    expect(page.locator("tr[data-trace]")).to_have_count(4)


def test_benchmarks_that_were_never_measured_are_listed(browse: Visit) -> None:
    page = browse("/explore")
    page.get_by_text("1 benchmark never measured").click()
    expect(page.locator("details.never li")).to_contain_text("broken")
    expect(page.locator("details.never .outcome")).to_have_text("failed")


def test_each_unit_has_a_separate_axis(browse: Visit) -> None:
    page = browse("/explore?traces=0&f=norm(filter(%22benchmark%3Dload%22))")
    expect(page.get_by_text("2 lines, an axis for each of 2 units")).to_be_visible()
    expect(page.locator(".legend.series")).to_contain_text("axis 2")


def test_a_formula_is_plotted_and_is_in_the_address(browse: Visit) -> None:
    page = browse("/explore")
    page.keyboard.press("f")
    page.keyboard.type('ave(filter("benchmark=parse|print"))')
    page.keyboard.press("Enter")
    expect(page.locator(".legend.series tbody tr")).to_have_count(1)
    page.wait_for_url("**/explore?f=ave*")
    page.get_by_role("button", name="from the plot").click()
    expect(page.locator(".legend.series")).to_have_count(0)


def test_an_error_in_a_formula_points_at_its_column(browse: Visit, expected_errors: list[str]) -> None:
    expected_errors.append("status of 400")
    page = browse("/explore")
    page.get_by_role("textbox", name="Formula").fill('ave(nothing("a=b"))')
    page.get_by_role("button", name="Plot the formula").click()
    expect(page.locator("#formula-error")).to_contain_text("column 5")
    expect(page.get_by_role("textbox", name="Formula")).to_have_attribute("aria-invalid", "true")
    assert page.evaluate("() => document.querySelector('#formula').selectionStart") == 4


def test_a_plot_has_a_short_address_that_stays(visit: Visit) -> None:
    page = visit("/explore?traces=0,1&f=ave(filter(%22benchmark%3Dload%22))")
    expect(page.locator(".legend.series tbody tr")).to_have_count(3)
    page.get_by_role("button", name="Short address").click()
    page.wait_for_url("**/explore?keys=*")
    page.reload()
    expect(page.locator(".legend.series tbody tr")).to_have_count(3)


def test_the_error_of_an_invalid_query_is_beside_its_field(browse: Visit, expected_errors: list[str]) -> None:
    expected_errors.append("status of 400")
    page = browse("/explore?q=benchmark~%5B")
    expect(page.locator("#query-error")).not_to_be_empty()
    expect(page.locator("#query")).to_have_attribute("aria-invalid", "true")


def test_the_plot_of_a_percentile_finding_draws_the_percentile_says_so_and_can_be_switched(
    page: Page, tmp_path: Path
) -> None:
    with open_instance(make_tails(tmp_path / "tails")) as instance, serving(instance) as address, leaving(page):
        page.goto(f"{address}trace/0")
        chart = page.get_by_role("img", name="The p95 of the samples of latency")
        expect(chart).to_be_visible()
        field = page.get_by_label("Statistic of the samples")
        expect(field).to_have_value("p95")
        expect(page.get_by_text(re.compile(r"newest p95 (29|30|31)"))).to_be_visible()
        assert violations(page) == []
        field.select_option("median")
        expect(page.get_by_role("img", name="Values of latency")).to_be_visible()
        expect(page.get_by_text(re.compile(r"newest value (9|10)\."))).to_be_visible()
        page.reload()
        expect(field).to_have_value("median")


def test_a_trace_whose_changes_are_of_medians_has_no_choice_of_samples(
    browse: Visit, trace: Callable[[str], int]
) -> None:
    page = browse(f"/trace/{trace('parse')}")
    expect(page.get_by_role("img", name="Values of parse")).to_be_visible()
    expect(page.get_by_label("Statistic of the samples")).to_have_count(0)


def test_keys_on_a_trace_link_a_ticket_write_a_note_and_assign(visit: Visit, trace: Callable[[str], int]) -> None:
    page = visit(f"/trace/{trace('parse')}?commit={SLOWER}")
    asked = (("n", "Note", "Save"), ("i", "Assignee", "Assign"), ("t", "Key or address", "Link"))
    for key, field, button in asked:
        page.keyboard.press(key)
        page.get_by_role("dialog").get_by_label(field).fill(f"PERF-{key}")
        page.get_by_role("dialog").get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_be_hidden()
    row = page.locator("table.changes tbody tr").first
    expect(row).to_contain_text("PERF-t")
    expect(row).to_contain_text("ticket")
