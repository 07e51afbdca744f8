"""Published pages in a browser, served by a plain file server below a path."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, Response, expect
from tests.browser.conftest import leaving, wait_until_loaded
from tests.server.story import SLOWER, commit_hash
from tests.server.test_plotted_summaries import make_tails

from knickpoint.instance import Instance, open_instance
from knickpoint.publish import Chosen, publish


class _Files(SimpleHTTPRequestHandler):
    """Serve files, and write no log."""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the name of the base class
        """Stay silent."""


@pytest.fixture(scope="module")
def site(served: tuple[Instance, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve what was published below a path, and return its address."""
    with _published(served[0], tmp_path_factory.mktemp("web")) as address:
        yield address


def test_a_site_that_is_opened_from_disk_says_how_to_serve_it(
    page: Page, served: tuple[Instance, str], tmp_path: Path, expected_errors: list[str]
) -> None:
    expected_errors += ["file://", "ERR_FAILED"]
    with _published(served[0], tmp_path):
        page.goto((tmp_path / "ada" / "engine" / "index.html").as_uri())
        expect(page.get_by_text("python3 -m http.server")).to_be_visible()


@contextmanager
def _published(instance: Instance, directory: Path) -> Iterator[str]:
    names = [repository.name for repository in instance.store.commits.repositories()]
    publish(instance, directory / "ada" / "engine", Chosen(names, datetime(2026, 3, 1, tzinfo=UTC)))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/ada/engine/"
        server.shutdown()
        thread.join()


@pytest.fixture
def refused(page: Page) -> Iterator[list[str]]:
    """Collect the requests that the server refused."""
    found: list[str] = []

    def on_response(response: Response) -> None:
        if response.status >= 400:
            found.append(response.url)

    page.on("response", on_response)
    yield found
    page.remove_listener("response", on_response)


@pytest.mark.core
def test_a_person_reads_from_the_overview_to_a_commit_without_a_server(
    page: Page, site: str, refused: list[str]
) -> None:
    page.goto(site)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_text("Read-only copy, published on 2026-03-01 00:00 UTC.")).to_be_visible()
    page.get_by_role("link", name="Triage", exact=True).click()
    expect(page.get_by_text("Check every bracket").first).to_be_visible()
    assert page.url.startswith(f"{site}#/triage")
    page.goto(f"{site}#/trace/1")
    expect(page.locator("kp-trace canvas").first).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Check every bracket").first).to_be_visible()
    page.get_by_role("link", name="Explore", exact=True).click()
    page.get_by_role("searchbox").or_(page.get_by_label("Query")).first.fill("benchmark=parse")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 trace", exact=True)).to_be_visible()
    assert refused == []


def test_a_change_has_its_page_without_a_server(page: Page, site: str, refused: list[str]) -> None:
    page.goto(f"{site}#/change/R1")
    expect(page.get_by_role("heading", level=1)).to_contain_text("slower by up to 25 %")
    expect(page.locator("kp-chart canvas")).to_be_visible()
    expect(page.get_by_role("table", name="Traces of the change").locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.keyboard.press("j")
    expect(page).to_have_url(f"{site}#/change/R2")
    page.goto(f"{site}#/change/R99")
    expect(page.get_by_role("link", name="All changes to triage")).to_be_visible()
    assert refused == []


def test_several_graphs_are_drawn_without_a_server(page: Page, site: str, refused: list[str]) -> None:
    page.goto(f"{site}#/explore?plot=benchmark%3Dparse&graph=plot%3Dbenchmark%253Dprint")
    for number, name in ((1, "parse"), (2, "print")):
        graph = page.get_by_role("region", name=f"Graph {number}", exact=True)
        expect(graph.locator("canvas").first).to_be_visible()
        expect(graph).to_contain_text(name)
    page.get_by_role("button", name="Remove graph 1").click()
    expect(page.get_by_role("region", name="Plot", exact=True)).to_contain_text("print")
    assert refused == []


def test_plotted_lines_have_their_findings_and_a_commit_to_compare_with(
    page: Page, site: str, refused: list[str]
) -> None:
    page.goto(f"{site}#/explore?plot=benchmark%3Dparse&y=ratio")
    marked = "() => document.querySelector('kp-chart')?.findings.length > 0"
    page.wait_for_function(marked)
    field = page.get_by_label("Percent of the values at the commit")
    field.fill(commit_hash(SLOWER + 1)[:12])
    field.press("Enter")
    page.wait_for_url(f"**base={SLOWER + 1}*")
    field.fill("f00ba4")
    field.press("Enter")
    expect(page.get_by_text("The published pages have no commit 'f00ba4'.")).to_be_visible()
    assert refused == []


def test_a_change_of_a_percentile_is_drawn_in_that_percentile(page: Page, refused: list[str], tmp_path: Path) -> None:
    made, web = make_tails(tmp_path / "tails"), tmp_path / "web"
    with open_instance(made) as instance, _published(instance, web) as site, leaving(page):
        page.goto(f"{site}#/trace/0")
        expect(page.get_by_role("img", name="The p95 of the samples of latency")).to_be_visible()
        expect(page.get_by_text(re.compile(r"newest p95 (29|30|31)"))).to_be_visible()
        page.get_by_label("Statistic of the samples").select_option("median")
        expect(page.get_by_text(re.compile(r"newest value (9|10)\."))).to_be_visible()
    assert refused == []


def test_a_page_that_needs_a_server_says_so(page: Page, site: str, refused: list[str]) -> None:
    for path in ("status", "compare", "quality"):
        page.goto(f"{site}#/{path}")
        expect(page.get_by_role("heading", name="This page needs a running server")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("link", name="To the overview", exact=True).click()
    expect(page.get_by_role("list", name="Timeline of")).to_be_visible()
    assert refused == []


@pytest.mark.core
def test_nothing_is_offered_that_needs_a_server(page: Page, site: str, refused: list[str]) -> None:
    navigation = ["Overview", "Triage", "Explore", "Alerts"]
    for path in ("", "triage", "explore?plot=*", "trace/1?why=1", f"commit/{commit_hash(SLOWER)}", "alerts"):
        page.goto("about:blank")
        page.goto(f"{site}#/{path}")
        wait_until_loaded(page)
        expect(page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(0)
        expect(page.get_by_role("navigation", name="Views").get_by_role("link")).to_have_text(navigation)
        for offer in ("Short address", "Plot the formula", "Compare the results", "All traces before and after"):
            expect(page.get_by_text(offer)).to_have_count(0)
        expect(page.locator("main details.why, main a[href*='/api/']")).to_have_count(0)
    assert refused == []


def test_a_page_for_chats_leads_to_its_change(page: Page, site: str) -> None:
    page.goto(f"{site}changes/R1.html")
    expect(page.get_by_role("heading", level=1)).to_contain_text("slower by up to 25 %")
    assert page.url == f"{site}#/change/R1" or page.url.endswith("#/change/R1")


def test_a_link_that_is_copied_leads_to_the_published_page(page: Page, site: str) -> None:
    page.goto(site)
    link = page.get_by_role("link", name="Triage", exact=True)
    link.hover()
    expect(link).to_have_attribute("href", "#/triage")


def test_nobody_is_offered_a_decision(page: Page, site: str) -> None:
    page.goto(f"{site}#/triage")
    expect(page.get_by_text("Check every bracket").first).to_be_visible()
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)


def test_the_changes_of_an_alert_are_listed_without_what_people_wrote(
    page: Page, site: str, refused: list[str]
) -> None:
    page.goto(f"{site}#/alerts")
    page.get_by_role("link", name="Changes of default").click()
    expect(page.get_by_role("heading", name="Changes of default")).to_be_visible()
    expect(page.locator("tr.change-row")).to_have_count(2)
    expect(page.locator("tr.change-row").first).to_contain_text("Read files ahead")
    expect(page.locator(".c-decision").last).to_have_text("unprocessed 2")
    assert refused == []
