"""Late answers and a server that stops: the page shows nothing false and loses nothing."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Error, Page, Route, expect
from tests.browser.conftest import wait_until_loaded
from tests.server.story import make_instance

from knickpoint.instance import Instance, open_instance
from knickpoint.server import serving

pytestmark = pytest.mark.browser

Visit = Callable[[str], Page]


class Server:
    """Start and stop a server of an instance at one address."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._port = 0
        self._serving = serving(instance)
        self.address = ""

    def start(self) -> None:
        self._serving = serving(self._instance, port=self._port)
        self.address = self._serving.__enter__().rstrip("/")
        self._port = int(self.address.rpartition(":")[2])

    def stop(self) -> None:
        self._serving.__exit__(None, None, None)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    make_instance(tmp_path / "instance")
    with open_instance(tmp_path / "instance") as instance:
        found = Server(instance)
        found.start()
        yield found
        found.stop()


class Held:
    """Hold the answers to some requests until they are released."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page, self._pattern = page, pattern
        self.routes: list[Route] = []
        page.route(re.compile(pattern), self._hold)

    def _hold(self, route: Route) -> None:
        self.routes.append(route)

    def wait(self) -> None:
        """Wait until there is a request."""
        while not self.routes:
            self._page.wait_for_timeout(20)

    def release(self) -> None:
        for route in self.routes:
            route.continue_()
        self._page.unroute(re.compile(self._pattern))


def navigate(page: Page, path: str) -> None:
    """Open another page as a click on a link does."""
    page.evaluate("(path) => { history.pushState(null, '', path); window.dispatchEvent(new Event('kp-route')); }", path)


def wait_for_answers(page: Page) -> None:
    """Wait for answers to requests that follow the released ones."""
    for _ in range(3):
        page.evaluate("() => fetch('/api/v1/repositories').then((answer) => answer.text())")


@pytest.mark.parametrize("late", [r"/traces/0/change-points", r"/values\?traces=0&"])
def test_a_late_answer_for_one_trace_does_not_overwrite_the_next(browse: Visit, late: str) -> None:
    page = browse("/explore")
    held = Held(page, late)
    navigate(page, "/trace/0")
    page.wait_for_function("() => document.querySelector('kp-trace')")
    held.wait()
    navigate(page, "/trace/1")
    expect(page.get_by_role("heading", level=1)).to_have_text("print")
    wait_until_loaded(page)
    newest = page.get_by_text("newest value").inner_text()
    held.release()
    wait_for_answers(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("print")
    assert page.get_by_text("newest value").inner_text() == newest


def test_a_late_list_does_not_overwrite_the_one_asked_for_since(browse: Visit) -> None:
    page = browse("/triage")
    held = Held(page, r"/changes\?.*filter=load")
    navigate(page, "/triage?q=load")
    held.wait()
    navigate(page, "/triage")
    expect(page.locator("tr.change-row")).to_have_count(2)
    held.release()
    wait_for_answers(page)
    expect(page.locator("tr.change-row")).to_have_count(2)


def test_decisions_in_quick_succession_end_as_the_last_one_left_the_list(visit: Visit) -> None:
    """The answer to the first one, from before the second one, would bring the change back if it came last."""
    page = visit("/triage")
    rows = page.locator("tr.finding-row")
    page.locator("tr.change-row").first.click()
    expect(rows).to_have_count(2)
    answers: list[tuple[Route, APIResponse]] = []
    page.route(re.compile(r"/api/v1/triage$"), lambda route: answers.append((route, route.fetch())), times=1)
    rows.first.get_by_role("button", name="Acknowledge").click()
    expect(rows).to_have_count(1)
    while not answers:
        page.wait_for_timeout(20)
    rows.first.get_by_role("button", name="Hide").click()
    expect(page.locator("tr.change-row")).to_have_count(1)
    wait_for_answers(page)
    for route, response in answers:
        route.fulfill(response=response)
    expect(page.get_by_text("Hid 1 change point")).to_be_visible()
    wait_for_answers(page)
    expect(page.locator("tr.change-row")).to_have_count(1)


@pytest.mark.core
def test_a_decision_that_cannot_be_sent_puts_its_row_back_and_says_so(
    page: Page, server: Server, expected_errors: list[str]
) -> None:
    expected_errors += ["ERR_CONNECTION", "ERR_EMPTY"]
    page.goto(f"{server.address}/triage")
    expect(page.locator("tr.change-row")).to_have_count(2)
    before = page.locator("tbody").inner_text()
    server.stop()
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(
        page.get_by_text("Nothing was recorded: the changes are as before. The server does not answer.")
    ).to_be_visible()
    expect(page.locator("tr.change-row")).to_have_count(2)
    assert page.locator("tbody").inner_text() == before
    page.set_viewport_size({"width": 390, "height": 800})
    toast = page.locator(".toast").bounding_box()
    assert toast
    assert toast["width"] > 300
    server.start()
    page.keyboard.press("a")
    expect(page.locator("tr.change-row")).to_have_count(1)


@pytest.mark.parametrize(
    ("path", "there"),
    [("/triage?q=load", "tr.change-row"), ("/trace/1", "kp-chart"), ("/explore?traces=0,1", "kp-chart")],
)
def test_a_view_without_its_server_says_so_and_recovers_by_itself(
    page: Page, server: Server, expected_errors: list[str], path: str, there: str
) -> None:
    expected_errors += ["ERR_CONNECTION", "ERR_EMPTY"]
    page.goto(f"{server.address}{'/triage' if path.startswith('/explore') else '/explore'}")
    wait_until_loaded(page)
    server.stop()
    navigate(page, path)
    expect(page.get_by_role("alert").get_by_text("The server does not answer.")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    for never in ("No changes found", "No change matches", "No trace matches", "No results yet", "All done"):
        expect(page.get_by_text(never)).to_have_count(0)
    expect(page.locator("main .waiting")).to_have_count(0)
    server.start()
    expect(page.locator(there)).to_be_visible(timeout=20_000)
    expect(page.get_by_role("alert").get_by_text("The server does not answer.")).to_have_count(0)


@pytest.mark.parametrize(("view", "rows"), [("/triage", "tr.change-row"), ("/explore", "table.traces tbody tr")])
def test_rows_of_another_filter_are_not_shown_below_an_error(
    page: Page, server: Server, expected_errors: list[str], view: str, rows: str
) -> None:
    expected_errors += ["ERR_CONNECTION", "ERR_EMPTY"]
    page.goto(f"{server.address}{view}")
    wait_until_loaded(page)
    before = page.locator(rows).count()
    server.stop()
    navigate(page, f"{view}?q=benchmark%3Dload")
    expect(page.get_by_role("alert").get_by_text("The server does not answer.")).to_be_visible()
    expect(page.locator(rows)).to_have_count(0)
    server.start()
    expect(page.locator(rows).first).to_be_visible(timeout=20_000)
    assert page.locator(rows).count() < before


def test_rows_stay_below_an_error_when_the_same_list_is_read_again(
    page: Page, server: Server, expected_errors: list[str]
) -> None:
    expected_errors += ["ERR_CONNECTION", "ERR_EMPTY"]
    page.goto(f"{server.address}/triage")
    expect(page.locator("tr.change-row")).to_have_count(2)
    server.stop()
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("alert").get_by_text("The server does not answer.")).to_be_visible()
    expect(page.locator("tr.change-row")).to_have_count(2)


def test_a_decision_while_another_list_is_read_reaches_only_the_rows_that_were_shown(visit: Visit) -> None:
    page = visit("/triage?q=print")
    expect(page.locator("tr.change-row .c-traces")).to_have_text("1")
    held = Held(page, r"/changes\?(?!.*filter=print)")
    navigate(page, "/triage")
    held.wait()
    page.keyboard.press("a")
    expect(page.get_by_text("Acknowledged 1 change point.")).to_be_visible()
    held.release()
    expect(page.locator("tr.change-row")).to_have_count(2)


def test_a_tab_that_was_read_before_a_decision_was_recorded_is_read_again(visit: Visit) -> None:
    page = visit("/triage")
    decision = Held(page, "/api/v1/triage$")
    page.locator("tr.change-row").first.get_by_role("button", name="Acknowledge").click()
    decision.wait()
    processed = Held(page, r"/changes\?.*processed=true")
    page.locator(".tab", has_text=re.compile("^Processed")).click()
    processed.wait()
    before = processed.routes[0].fetch()
    decision.release()
    expect(page.get_by_text("Acknowledged 2 change points.")).to_be_visible()
    with contextlib.suppress(Error):  # where the page has given that request up
        processed.routes.pop(0).fulfill(response=before)
    processed.release()
    expect(page.locator("tr.change-row")).to_contain_text("acknowledged 2")


def test_a_trace_is_painted_before_the_page_asks_for_what_is_drawn_over_it(page: Page, shared_address: str) -> None:
    held = Held(page, r"/values\?traces=0&points=2400")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{shared_address}/trace/0")
    expect(page.get_by_role("heading", level=1)).to_have_text("parse")
    held.wait()
    wait_for_answers(page)
    assert not [url for url in asked if "/traces/0/" in url and "/change-points" not in url]
    held.release()
    page.wait_for_selector("kp-chart canvas")
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if url.endswith("/traces/0/environments")]
