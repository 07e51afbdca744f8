"""The explore page with many lines: all that fit are drawn, the others are counted, and the selection survives."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.conftest import plot_box, point_at, violations
from tests.server.story import REPOSITORY, SLOWER, commit_hash, make_instance

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import open_instance
from knickpoint.server import serving

pytestmark = pytest.mark.browser

TRACES: Final = 2000
HOSTILE: Final = {"x" * 400: 5.0, "قياس السرعة": 7.0, "huge": 1e300, "tiny": 1e-300, "negative": -3.0}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an instance with 2,000 traces, 40 of which are in the suite "few", and hostile ones."""
    directory = tmp_path_factory.mktemp("explore") / "many"
    make_instance(directory, with_findings=False)
    with open_instance(directory) as instance:
        for number in range(3):
            rows = [f"b{name},{'few' if name < 40 else 'rest'},{10 + name % 50},ms" for name in range(TRACES)]
            for index, (name, value) in enumerate(HOSTILE.items()):
                if number == 0 or index != 0:  # The first name has one point.
                    rows += [f"{name}{copy},hostile,{value},s" for copy in range(4)]
            content = "\n".join(["benchmark,suite,value,unit", *rows]).encode()
            stated = Sidecar(repository=REPOSITORY, commit=str(number + 1), run=f"run {number}")
            assert not import_data(instance, content, source=f"file {number}", stated=stated).failed
        with serving(instance) as found:
            yield found.rstrip("/")


def test_a_plot_of_too_many_traces_says_how_many_it_draws_and_keeps_its_query(page: Page, many: str) -> None:
    page.goto(f"{many}/explore?query=suite%3Dfew%7Crest")
    page.get_by_role("button", name="Plot 1,000 of them").click()
    expect(page.get_by_text("1,000 of 2,000 traces drawn; narrow the query")).to_be_visible()
    page.wait_for_url("**plot=suite%3Dfew%7Crest*")
    page.locator("table.traces input[type=checkbox]").first.click()
    expect(page.get_by_text("Narrow it before you add or remove single traces")).to_be_visible()
    expect(page.locator("table.traces input[type=checkbox]").first).to_be_checked()
    page.locator("#query").fill("suite=few")
    expect(page.get_by_text("1,000 of 2,000 traces drawn")).to_be_visible()
    page.get_by_role("button", name="Plot all").click()
    expect(page.get_by_text("40 lines", exact=True)).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 1 + 40 * 3


def test_the_line_under_the_pointer_has_its_name_and_a_click_keeps_it(page: Page, many: str) -> None:
    page.goto(f"{many}/explore?plot=suite%3Dfew")
    expect(page.locator(".crowd-layer")).to_have_count(2)
    expect(page.locator(".legend-common").first).to_contain_text("suite=few")
    left, top, width, height = plot_box(page)
    x, y = left + width / 2, top + height / 2
    page.mouse.move(x, y)
    name = page.locator(".chart-tip .tip-subject").inner_text()
    page.mouse.click(x, y)
    page.mouse.move(x, top - 200)
    expect(page.locator(".picked")).to_contain_text(name)
    expect(page.locator(".picked")).to_contain_text("1 commit since the value before")
    page.locator(".picked a").click()
    expect(page.locator("h1")).to_contain_text(name)


def test_a_trace_that_is_taken_out_of_a_query_leaves_the_others_plotted(page: Page, many: str) -> None:
    page.goto(f"{many}/explore?query=suite%3Dfew&plot=suite%3Dfew")
    expect(page.get_by_text("40 lines", exact=True)).to_be_visible()
    page.locator("table.traces input[type=checkbox]").nth(3).click()
    expect(page.get_by_text("39 lines", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_text("39 lines", exact=True)).to_be_visible()
    expect(page.locator("table.traces input[type=checkbox]").nth(3)).not_to_be_checked()


@pytest.mark.parametrize("scale", ["", "log", "ratio"])
def test_lines_of_extreme_values_and_names_are_drawn(page: Page, many: str, scale: str) -> None:
    page.goto(f"{many}/explore?plot=suite%3Dhostile&y={scale}")
    expect(page.get_by_text("20 lines", exact=True)).to_be_visible()
    expect(page.locator(".crowd-layer")).to_have_count(2)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def saved_plot(page: Page, button: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).press("Enter")
    return download.value.path().read_bytes()


def test_what_all_traces_of_a_list_share_is_said_once(browse: Callable[[str], Page]) -> None:
    page = browse("/explore")
    expect(page.get_by_text("In common: suite=speed")).to_have_count(1)
    expect(page.locator("tr[data-trace]").first).to_be_visible()
    expect(page.locator("tr[data-trace]", has_text="speed")).to_have_count(0)


@pytest.mark.parametrize("query", ["suite%3Dfew", "suite%3Dhostile", "suite%3Dfew+benchmark~b1."])
def test_a_plot_is_saved_as_its_values_and_as_pictures(page: Page, many: str, query: str) -> None:
    page.goto(f"{many}/explore?plot={query}&x=dates")
    page.wait_for_selector(".export")
    lines = int(page.get_by_text(re.compile(r"^\d+ lines$")).inner_text().split()[0])
    rows = list(csv.DictReader(io.StringIO(saved_plot(page, "Save the values shown as CSV").decode())))
    assert len({row["benchmark"] for row in rows}) == lines
    assert all(row["commit"] == str(int(row["pos"]) + 1) and math.isfinite(float(row["value"])) for row in rows)
    svg = ET.fromstring(saved_plot(page, "Save the plot as SVG"))
    drawn = svg.findall("{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}path[@fill='none']")
    assert len(drawn) == lines
    assert not any("NaN" in path.get("d", "") for path in drawn)
    assert saved_plot(page, "Save the plot as PNG").startswith(b"\x89PNG")


@pytest.mark.core
def test_what_was_typed_just_now_is_what_is_plotted(page: Page, many: str) -> None:
    page.goto(f"{many}/explore?query=suite%3Dfew")
    page.get_by_role("button", name="Plot all").wait_for()
    page.evaluate(
        """() => {
            const field = document.querySelector("#query");
            field.value = "benchmark~^b5.$";
            field.dispatchEvent(new Event("input"));
            Array.from(document.querySelectorAll("button"), (each) => each).find((each) => each.innerText === "Plot all").click();
        }"""
    )
    page.wait_for_url("**plot=benchmark*")
    expect(page.get_by_role("region", name="Plot", exact=True)).to_contain_text("10 lines")
    expect(page.locator("#query")).to_have_value("benchmark~^b5.$")


def test_the_tooltip_says_of_how_many_samples_a_value_is_the_median(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Didle")
    page.wait_for_load_state("networkidle")
    point_at(page, 0.955)  # the third commit from the end
    expect(page.locator(".chart-tip")).to_contain_text("median of 2 runs with 2 samples")


@pytest.mark.core
def test_a_query_is_completed_and_a_caret_stands_where_it_is_wrong(
    page: Page, many: str, expected_errors: list[str]
) -> None:
    expected_errors.append("400 (Bad Request)")
    page.goto(f"{many}/explore")
    query = page.locator("#query")
    query.press_sequentially("FEW suite=")
    expect(page.locator("#query-error")).to_contain_text("FEW suite=\n          ^")
    options = "() => [...document.querySelectorAll('#query-completions option')].map((option) => option.value)"
    page.wait_for_function(f"({options})().includes('FEW suite=few')")
    query.fill("FEW -b1")
    expect(page.locator(".tools [role=status]")).to_have_text("29 traces")
    expect(page.locator("#query-error")).to_be_empty()


@pytest.mark.core
def test_a_finding_stands_on_its_line_and_the_tooltip_says_what_it_is(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Dparse%7Cprint")
    page.wait_for_selector(".export")
    page.wait_for_load_state("networkidle")
    svg = ET.fromstring(saved_plot(page, "Save the plot as SVG"))
    first, second = svg.findall("{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}circle")
    assert first.get("cx") == second.get("cx")
    left, top, _, _ = plot_box(page)
    page.mouse.move(left + float(first.get("cx", "")), top + float(first.get("cy", "")))
    expect(page.locator(".chart-tip .tip-note").first).to_contain_text(re.compile(r"2\d\s%"))


def test_the_strip_below_a_plot_draws_each_of_its_lines(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Dparse%7Cprint")
    expect(page.locator(".strip path")).to_have_count(2)
    page.goto(f"{page.url}&first=20&last=40")
    page.get_by_role("slider", name="Shown commits").press("End")
    page.wait_for_url("**first=39&last=59*")
    expect(page.locator(".strip path")).to_have_count(2)


def test_values_are_shown_in_percent_of_those_at_a_chosen_commit(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Dparse%7Cprint&y=ratio")
    field = page.get_by_label("Percent of the values at the commit")
    field.fill(commit_hash(SLOWER + 1)[:12])
    field.press("Enter")
    page.wait_for_url(f"**base={SLOWER + 1}*")
    expect(page.get_by_label("Scale of the values")).to_contain_text(f"% of commit {commit_hash(SLOWER + 1)[:7]}")
    drawn = "async (chart) => (await chart.updateComplete) && chart.lines.every(({ base }) => base !== undefined)"
    page.wait_for_function(f"({drawn})(document.querySelector('kp-chart'))")
    point_at(page, 0.25, 0.85)
    # The level before was 1000 of 1250, and 500 of 610.
    expect(page.locator(".chart-tip .tip-value")).to_contain_text(re.compile(r"8[0-2]\.\d % of commit"))
    page.reload()
    expect(field).to_have_value(re.compile(commit_hash(SLOWER + 1)[:7]))


def test_the_lines_stand_in_a_table_by_params(page: Page, many: str) -> None:
    page.goto(f"{many}/explore?plot=benchmark~%5Eb%5B01%5D%24")
    page.get_by_text("Table by params").press("Enter")
    page.locator(".pivot").get_by_label("Rows").select_option("benchmark")
    page.wait_for_url("**rows=benchmark*")
    expect(page.locator(".pivot tbody tr")).to_have_count(2)
    expect(page.locator(".pivot tbody tr").nth(1)).to_contain_text("11 ms")
    expect(page.locator(".param-chart circle title")).to_have_text([re.compile(r"b0: 10.ms"), re.compile(r"b1: 11.ms")])
    page.reload()
    expect(page.locator(".pivot tbody td").first).to_contain_text("10 ms")


def test_small_multiples_have_a_plot_for_each_line_with_a_common_range(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Dparse%7Cprint")
    page.get_by_role("button", name="Small multiples").click()
    page.wait_for_url("**multiples=1*")
    expect(page.locator("kp-chart")).to_have_count(2)
    left, top, width, _ = plot_box(page)
    page.mouse.move(left + width * 0.25, top + 40)
    page.mouse.down()
    page.mouse.move(left + width * 0.75, top + 40, steps=4)
    page.mouse.up()
    page.wait_for_url("**first=*")
    page.keyboard.press("m")
    expect(page.locator("kp-chart")).to_have_count(1)


def test_the_cursors_of_small_multiples_stand_at_the_same_commit(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Dparse%7Cprint&multiples=1")
    expect(page.locator("kp-chart canvas")).to_have_count(2)
    left, top, width, _ = plot_box(page)
    page.mouse.move(left + width * 0.5, top + 40)
    expect(page.locator(".chart-tip:visible")).to_have_count(1)
    expect(page.locator(".u-cursor-x").nth(1)).to_be_visible()
    script = "() => Array.from(document.querySelectorAll('.u-cursor-x'), (each) => each.style.transform)"
    first, second = page.evaluate(script)
    assert first == second


GRAPHS: Final = "/explore?plot=benchmark%3Dparse&graph=plot%3Dbenchmark%253Dprint"


def graph(page: Page, number: int) -> Locator:
    """Return one of several graphs, once it is drawn."""
    found = page.get_by_role("region", name=f"Graph {number}", exact=True)
    expect(found.locator("canvas").first).to_be_visible()
    return found


def test_each_graph_has_a_query_of_its_own_and_the_address_keeps_all(page: Page, many: str) -> None:
    page.goto(f"{many}/explore?query=suite%3Dfew&plot=suite%3Dfew")
    page.locator("#query").fill("benchmark~^b5.$")
    expect(page.locator(".tools [role=status]")).to_have_text("10 traces")
    page.get_by_role("button", name="In a new graph").click()
    expect(graph(page, 1)).to_contain_text("40 lines")
    expect(graph(page, 2)).to_contain_text("10 lines")
    expect(graph(page, 2)).to_have_attribute("aria-current", "true")
    page.locator("table.traces input[type=checkbox]").first.click()
    expect(graph(page, 2)).to_contain_text("9 lines")
    page.reload()
    expect(graph(page, 1)).to_contain_text("40 lines")
    expect(graph(page, 2)).to_contain_text("9 lines")


def test_a_range_chosen_in_one_graph_is_that_of_all_and_their_cursors_stand_at_one_commit(
    browse: Callable[[str], Page],
) -> None:
    page = browse(GRAPHS)
    graph(page, 2)
    left, top, width, _ = plot_box(page)
    page.mouse.move(left + width * 0.25, top + 40)
    page.mouse.down()
    page.mouse.move(left + width * 0.75, top + 40, steps=4)
    page.mouse.up()
    page.wait_for_url("**first=*")
    ranges = "() => new Set(Array.from(document.querySelectorAll('kp-chart'), ({ range }) => JSON.stringify(range)))"
    page.wait_for_function(f"({ranges})().size === 1 && document.querySelector('kp-chart').range.first > 0")
    left, top, width, _ = plot_box(page)
    page.mouse.move(left + width * 0.5, top + 40)
    expect(page.locator(".chart-tip:visible")).to_have_count(1)
    script = "() => Array.from(document.querySelectorAll('.u-cursor-x'), (each) => each.style.transform)"
    page.wait_for_function(f"({script})().every((place, _, [first]) => place !== '' && place === first)")


def test_graphs_are_added_used_moved_and_removed_by_keyboard_alone(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?query=benchmark%3Dparse&plot=benchmark%3Dparse")
    page.wait_for_selector("tr[data-trace]")
    page.keyboard.press("n")
    expect(page.get_by_role("region", name="Graph 2")).to_contain_text("Tick traces below")
    page.locator("#query").fill("benchmark=print")
    page.locator("#query").press("Enter")
    expect(page.locator("tr[data-trace]")).to_contain_text("print")
    page.keyboard.press("x")
    expect(graph(page, 2)).to_contain_text("1 line")
    page.keyboard.press("N")
    expect(graph(page, 1)).to_have_attribute("aria-current", "true")
    expect(page.locator("#query")).to_have_value("benchmark=parse")
    page.get_by_role("button", name="Move graph 2 to graph 1").press("Enter")
    expect(page.get_by_role("region", name="Plot", exact=True)).to_contain_text("2 lines")
    page.go_back()
    expect(graph(page, 2)).to_contain_text("1 line")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Plot", exact=True)).to_contain_text("print")


def test_arrow_keys_pass_over_graphs_and_the_button_moves_to_the_chosen_one(browse: Callable[[str], Page]) -> None:
    page = browse(f"{GRAPHS}&graph=plot%3Dbenchmark%253Didle")
    choice = page.get_by_label("Where graph 3 moves")
    choice.press("ArrowDown")
    expect(choice).to_have_value("1")
    expect(graph(page, 3)).to_contain_text("idle")
    page.get_by_role("button", name="Move graph 3", exact=True).press("Enter")
    expect(page.get_by_role("region", name="Graph 3", exact=True)).to_have_count(0)
    expect(graph(page, 1)).to_contain_text("1 line")
    expect(graph(page, 2)).to_contain_text("2 lines")


def test_a_line_moves_to_another_graph_by_keyboard_and_the_address_keeps_it(browse: Callable[[str], Page]) -> None:
    page = browse(f"{GRAPHS}%7Cidle")
    expect(graph(page, 2)).to_contain_text("2 lines")
    line = graph(page, 2).locator(".legend tbody tr").filter(has_text="idle")
    line.locator("summary").press("Enter")
    line.get_by_role("button", name="Move to graph 1").press("Enter")
    expect(graph(page, 1)).to_contain_text("2 lines")
    expect(graph(page, 2)).to_contain_text("1 line")
    page.reload()
    expect(graph(page, 1).locator(".legend")).to_contain_text("idle")
    page.go_back()
    expect(graph(page, 2)).to_contain_text("2 lines")


def test_the_legend_is_sorted_by_its_numbers_and_shows_the_strokes_of_its_lines(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=suite%3Dspeed")
    names = page.get_by_role("table", name="Lines").get_by_role("rowheader")
    expect(names).to_have_count(4)
    plotted = names.all_inner_texts()
    head = page.get_by_role("columnheader", name="Change")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(names.first).to_contain_text("parse")
    head.get_by_role("button").click()
    head.get_by_role("button").click()
    expect(names).to_have_text(plotted)
    assert violations(page) == []


def test_back_leads_to_the_row_of_the_list(browse: Callable[[str], Page]) -> None:
    page = browse("/explore")
    expect(page.locator("tr[data-trace]")).to_have_count(4)
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("kp-trace")).to_be_visible()
    page.go_back()
    expect(page.locator("tr[data-trace]").nth(2)).to_have_attribute("aria-current", "true")


def test_a_range_is_chosen_by_days(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Dparse")
    page.get_by_label("From this day").fill("2026-01-05")
    page.get_by_label("From this day").press("Enter")
    expect(page).to_have_url(re.compile("first=13"))
    expect(page.get_by_label("From this day")).to_have_value("2026-01-05")
    page.get_by_role("button", name="Whole line").click()
    expect(page.get_by_label("From this day")).to_have_value("2026-01-01")


def test_a_line_is_hidden_in_its_colour_and_moves_to_a_new_graph(browse: Callable[[str], Page]) -> None:
    page = browse("/explore?plot=benchmark%3Dparse%7Cprint")
    plot = page.get_by_role("region", name="Plot", exact=True)
    line = plot.locator(".legend tbody tr").first
    chart = "document.querySelector('kp-chart')"
    drawn = f"(wanted) => Array.from({chart}?.lines ?? [], ({{ values }}) => values.length > 0).join() === wanted"
    page.wait_for_function(drawn, arg="true,true")
    line.locator("summary").click()
    line.get_by_role("button", name="Hide").click()
    page.wait_for_url("**hide=*")
    page.wait_for_function(drawn, arg="false,true")
    page.reload()
    page.wait_for_function(drawn, arg="false,true")
    assert violations(page) == []
    page.go_back()
    page.wait_for_function(drawn, arg="true,true")
    line.locator("summary").click()
    line.get_by_role("button", name="Move to a new graph").click()
    expect(graph(page, 1)).to_contain_text("1 line")
    expect(graph(page, 2)).to_contain_text("1 line")


def test_on_a_phone_a_graph_is_removed_beside_its_name(browse: Callable[[str], Page]) -> None:
    page = browse(GRAPHS)
    page.set_viewport_size({"width": 390, "height": 844})
    name = graph(page, 2).get_by_role("heading", name="Graph 2").bounding_box()
    remove = page.get_by_role("button", name="Remove graph 2").bounding_box()
    assert name
    assert remove
    assert abs(name["y"] + name["height"] / 2 - remove["y"] - remove["height"] / 2) < 12  # pixels


def test_one_graph_has_a_scale_of_its_own_and_the_address_keeps_it(browse: Callable[[str], Page]) -> None:
    page = browse(GRAPHS)
    have = "(wanted) => Array.from(document.querySelectorAll('kp-chart'), ({ scale }) => scale).join() === wanted"
    graph(page, 2).get_by_label("Scale of graph 2").select_option("logarithmic")
    page.wait_for_function(have, arg="auto,log")
    page.keyboard.press("y")
    page.wait_for_function(have, arg="zero,log")
    page.keyboard.press("Y")
    page.wait_for_function(have, arg="auto,log")
    page.wait_for_url("**y=zero*")
    page.wait_for_url("**scale=auto*")
    page.reload()
    graph(page, 2)
    page.wait_for_function(have, arg="auto,log")
    graph(page, 2).get_by_label("Scale of graph 2").select_option("scale of all graphs")
    page.wait_for_function(have, arg="auto,zero")
    page.get_by_role("button", name="Remove graph 2").click()
    page.wait_for_function(have, arg="zero")


def test_each_graph_is_saved_by_itself(browse: Callable[[str], Page]) -> None:
    page = browse(GRAPHS)
    for number, name in ((1, "parse"), (2, "print")):
        with page.expect_download() as download:
            graph(page, number).get_by_role("button", name="Save the values shown as CSV").click()
        rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
        assert {row["benchmark"] for row in rows} == {name}
        with page.expect_download() as download:
            graph(page, number).get_by_role("button", name="Save the plot as SVG").click()
        assert name in download.value.path().read_text(encoding="utf-8")


def test_a_short_address_keeps_all_graphs(browse: Callable[[str], Page]) -> None:
    page = browse(GRAPHS)
    graph(page, 2)
    page.get_by_role("button", name="Short address").click()
    page.wait_for_url(re.compile(r"keys=\w+&graph=keys%3D\w+"))
    page.reload()
    expect(graph(page, 1)).to_contain_text("parse")
    expect(graph(page, 2)).to_contain_text("print")


def test_several_graphs_break_no_rule_of_accessibility(browse: Callable[[str], Page]) -> None:
    page = browse(GRAPHS)
    graph(page, 2)
    assert violations(page) == []


def open_query_dialog(page: Page, address: str) -> Locator:
    page.goto(address)
    page.wait_for_selector(".facets .choice")
    page.keyboard.press("q")
    return page.get_by_role("dialog", name="Query")


def test_the_query_dialog_selects_leaves_out_and_counts_before_anything_is_plotted(page: Page, many: str) -> None:
    dialog = open_query_dialog(page, f"{many}/explore?query=suite%3Dfew")
    expect(dialog.get_by_role("status")).to_have_text("40 traces match")
    dialog.get_by_role("button", name="Leave out b7", exact=True).click()
    expect(dialog.get_by_role("status")).to_have_text("39 traces match")
    expect(dialog.locator("#query-built")).to_have_value("suite=few benchmark!=b7")
    dialog.get_by_label("rest", exact=False).first.check()
    expect(dialog.get_by_role("status")).to_have_text("1,999 traces match")
    expect(page.locator(".chart-panel")).to_have_count(0)
    dialog.get_by_role("button", name="Plot 1,000 of them").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("1,000 of 1,999 traces drawn")).to_be_visible()


def test_the_query_dialog_matches_regular_expressions_by_keyboard_alone(page: Page, many: str) -> None:
    dialog = open_query_dialog(page, f"{many}/explore?query=suite%3Dfew")
    field = dialog.get_by_label("benchmark matches the regular expression")
    field.focus()
    page.keyboard.type("^b(1|2)$")
    page.keyboard.press("Tab")
    expect(dialog.get_by_role("status")).to_have_text("2 traces match")
    page.keyboard.type("^b1")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_have_text("1 trace matches")
    expect(page.locator("#query")).to_have_value('suite=few benchmark~"^b(1|2)$" benchmark!~^b1')
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.reload()
    expect(page.locator("table.traces tbody tr")).to_have_count(1)


def test_the_query_dialog_breaks_no_rule_of_accessibility(page: Page, many: str) -> None:
    dialog = open_query_dialog(page, f"{many}/explore")
    expect(dialog.get_by_role("status")).to_contain_text("traces match")
    assert violations(page) == []


def open_formula_menu(page: Page, address: str) -> Locator:
    page.goto(address)
    page.wait_for_selector(".facets .choice")
    page.keyboard.press("F")
    return page.get_by_role("dialog", name="Formula")


def test_the_menu_of_formulas_plots_a_pivot_that_can_also_be_typed(page: Page, many: str) -> None:
    dialog = open_formula_menu(page, f"{many}/explore?query=suite%3Dfew%7Crest")
    dialog.get_by_label("Combine them").select_option("geometric mean")
    dialog.get_by_label("Group them").select_option("a line for each suite")
    written = 'geo(filter("suite=few|rest"), "suite")'
    expect(dialog.locator("output")).to_have_text(written)
    dialog.get_by_role("button", name="Plot").click()
    expect(page.get_by_text("2 lines", exact=True)).to_be_visible()
    expect(page.locator(".legend")).to_contain_text("suite=few")
    page.get_by_role("button", name="Clear", exact=True).click()
    page.locator("#formula").fill(written)
    page.locator("#formula").press("Enter")
    expect(page.get_by_text("2 lines", exact=True)).to_be_visible()


def test_a_formula_of_the_menu_can_be_changed_and_an_error_names_its_place(
    page: Page, many: str, expected_errors: list[str]
) -> None:
    expected_errors.append("400 (Bad Request)")
    dialog = open_formula_menu(page, f"{many}/explore?query=suite%3Dfew")
    dialog.get_by_label("Compare with a second query").select_option("divided by")
    dialog.get_by_label("Second query", exact=True).fill("suite=")
    dialog.get_by_role("button", name="Insert into the field").click()
    field = page.locator("#formula")
    expect(field).to_have_value('ave(filter("suite=few")) / ave(filter("suite="))')
    expect(field).to_be_focused()
    field.press("Enter")
    expect(page.locator("#formula-error")).to_contain_text("(column 39)")
    field.fill('ave(filter("suite=few"), "os")')
    field.press("Enter")
    expect(page.locator("#formula-error")).to_contain_text("No trace has the param 'os' to group by")


def test_the_menu_of_formulas_breaks_no_rule_of_accessibility(page: Page, many: str) -> None:
    dialog = open_formula_menu(page, f"{many}/explore")
    dialog.get_by_label("Compare with a second query").select_option("minus")
    assert violations(page) == []


def test_smoothing_is_stated_and_kept_by_the_link_while_tooltips_have_what_was_measured(
    browse: Callable[[str], Page],
) -> None:
    page = browse("/explore?plot=benchmark%3Dparse")
    page.wait_for_selector(".export")
    expect(page.get_by_text("Smoothed: medians")).to_have_count(0)
    measured = saved_plot(page, "Save the values shown as CSV")
    drawn = saved_plot(page, "Save the plot as SVG")
    page.get_by_label("Smoothing").select_option("median of 15 values")
    page.wait_for_url("**smooth=15*")
    page.reload()
    expect(page.get_by_text("Smoothed: medians of 15 neighbouring values drawn.")).to_be_visible()
    smooth = saved_plot(page, "Save the plot as SVG")
    assert b"medians of 15 neighbouring values" in smooth
    assert drawn_path(smooth) != drawn_path(drawn)
    assert saved_plot(page, "Save the values shown as CSV") == measured
    point_at(page, 0.4)
    expect(page.locator(".tip-value")).to_contain_text("drawn")


def test_what_stands_below_a_slow_plot_does_not_wait_for_it(page: Page, many: str) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/values?**crowd=**", hold)
    page.goto(f"{many}/explore?plot=suite%3Dfew")
    page.wait_for_selector("tr[data-trace]")
    page.wait_for_selector(".facet")
    expect(page.locator("kp-chart")).to_have_count(0)
    for each in held:
        each.continue_()
    page.wait_for_selector("kp-chart .crowd-layer")
    page.unroute_all()


def drawn_path(svg: bytes) -> str | None:
    path = ET.fromstring(svg).find("{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}path[@fill='none']")
    assert path is not None
    return path.get("d")
