"""The page of ``knick profile diff --html``: a flame graph that keyboard and pointer move, and its table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.profiles.made import made

from knickpoint.profiles import Profile, ProfileBuilder, ValueKind, difference, flame_page

pytestmark = pytest.mark.browser

_BASE: Mapping[str, float] = {"main": 10, "main;read": 300, "main;parse": 100, "main;parse;row": 400, "main;write": 190}
_HOSTILE = "</script><img src=x onerror=alert(1)>"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def root(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _write(path: Path, before: Profile, after: Profile, title: str = "a → b") -> None:
    path.write_text(flame_page(difference([before], [after]), [before], [after], title), encoding="utf-8")


@pytest.fixture
def graph(page: Page, folder: Path, root: str) -> Page:
    _write(folder / "page.html", made(_BASE), made({**_BASE, "main;parse;row": 500, f"main;{_HOSTILE}": 50}), _HOSTILE)
    page.goto("about:blank")
    page.goto(f"{root}/page.html")
    return page


def test_the_sentence_stands_on_top_and_names_from_profiles_are_text(graph: Page) -> None:
    expect(graph.locator("#sentence")).to_contain_text("+100 instructions of +150 instructions in row (row.c)")
    expect(graph.locator("h1")).to_have_text(_HOSTILE)
    expect(graph.locator("img")).to_have_count(0)
    expect(graph.locator("tbody tr").first).to_contain_text("row")


def test_keys_walk_zoom_and_go_back_and_the_address_keeps_the_view(graph: Page) -> None:
    graph.locator("#graph").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        graph.keyboard.press(key)
    expect(graph.locator("#detail")).to_contain_text("row: 400\u00a0instructions → 500\u00a0instructions, +100")
    graph.keyboard.press("Enter")
    expect(graph.locator("#reset")).to_be_enabled()
    graph.reload()
    expect(graph.locator("#detail")).to_contain_text("row: 400")
    graph.locator("#graph").focus()
    graph.keyboard.press("Escape")
    expect(graph.locator("#detail")).to_contain_text("parse: 500")
    graph.keyboard.press("/")
    graph.keyboard.type("WRITE")
    expect(graph.locator("tbody tr")).to_have_count(1)
    assert "search=WRITE" in graph.url


def test_a_function_shows_its_callers_and_callees(graph: Page) -> None:
    graph.get_by_role("button", name="parse", exact=True).click()
    expect(graph.locator("#detail")).to_contain_text("all stacks of parse: 500\u00a0instructions → 600")
    graph.get_by_role("button", name="Callers").click()
    graph.locator("#graph").focus()
    graph.keyboard.press("ArrowDown")
    graph.keyboard.press("ArrowDown")
    expect(graph.locator("#detail")).to_contain_text("main: 500\u00a0instructions → 600")
    graph.get_by_role("button", name="Whole program").click()
    graph.keyboard.press("ArrowDown")
    expect(graph.locator("#graph")).to_be_visible()


def test_a_click_zooms_and_what_is_shown_is_saved_as_svg(graph: Page) -> None:
    box = graph.locator("canvas").bounding_box()
    assert box
    graph.mouse.click(box["x"] + 20, box["y"] + 50)
    expect(graph.locator("#detail")).to_contain_text("parse: 500")
    with graph.expect_download() as saved:
        graph.get_by_role("button", name="Save SVG").click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "row: 400" in text
    assert "read" not in text


def test_the_table_sorts_by_each_column_in_both_directions(graph: Page) -> None:
    head = graph.get_by_role("button", name="Function", exact=True)
    head.click()
    expect(graph.locator("tbody td:first-child button").first).to_have_text(_HOSTILE)
    head.click()
    expect(graph.locator("tbody td:first-child button").first).to_have_text("write")
    expect(graph.locator("th").first).to_have_attribute("aria-sort", "descending")


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_any_width_and_breaks_no_rule_of_accessibility(graph: Page, width: int, scheme: str) -> None:
    graph.set_viewport_size({"width": width, "height": 900})
    graph.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    assert graph.evaluate("document.documentElement.scrollWidth") <= width
    assert graph.locator(".scroll").evaluate("({ scrollWidth, clientWidth }) => scrollWidth - clientWidth") == 0
    assert violations(graph) == []


def test_100000_stacks_are_drawn_quickly(page: Page, folder: Path, root: str) -> None:
    builder = ProfileBuilder()
    frames = [builder.frame(f"f{place}") for place in range(200)]
    for place in range(100_000):
        builder.add_path(
            [frames[place % 7], frames[place // 7 % 50], frames[place // 350 % 200], frames[place % 191]], 1
        )
    profile = builder.build("made", ValueKind.COUNT, "samples")
    _write(folder / "large.html", profile, profile)
    page.goto(f"{root}/large.html")
    page.wait_for_selector("tbody tr")
    script = """() => { const took = []; for (let i = 0; i < 9; i++) { const start = performance.now();
        dispatchEvent(new Event("resize")); took.push(performance.now() - start); } return took.sort((a, b) => a - b)[4]; }"""
    assert len(json.dumps(page.evaluate("JSON.parse(document.getElementById('data').textContent).parents"))) > 100_000
    assert page.evaluate(script) < 500  # 100 ms on a quiet machine
