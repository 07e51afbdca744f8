"""A page of the dashboard in a frame of another website."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, expect
from tests.server.story import make_instance

from knickpoint.instance import open_instance
from knickpoint.server import serving

pytestmark = pytest.mark.browser


class Website:
    """A website whose only page shows an address in a frame."""

    def __init__(self) -> None:
        self.framed = ""
        website = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f'<iframe width=1000 height=700 src="{website.framed}"></iframe>'.encode()
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    made = Website()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def embeddable(tmp_path_factory: pytest.TempPathFactory, website: Website) -> Iterator[str]:
    """Serve an instance that lets the website show its pages."""
    directory = tmp_path_factory.mktemp("embedding") / "instance"
    make_instance(directory)
    file = directory / "knickpoint.toml"
    file.write_text(f'{file.read_text()}embed = ["{website.address}"]\n')
    with open_instance(directory) as instance, serving(instance) as address:
        yield address.rstrip("/")


@pytest.mark.core
def test_a_named_website_shows_a_page_that_decides_nothing(
    page: Page, website: Website, embeddable: str, expected_errors: list[str]
) -> None:
    expected_errors.append("Blocked autofocusing")  # of the closed dialogs of the page
    website.framed = f"{embeddable}/triage?embed"
    page.goto(website.address)
    frame = page.frame_locator("iframe")
    expect(frame.locator("tr.change-row")).to_have_count(2)
    expect(frame.locator("header.top")).to_have_count(0)
    expect(frame.get_by_role("button", name="Acknowledge")).to_have_count(0)
    with page.context.expect_page() as opened:
        frame.locator("tr.change-row a.hash, tr.change-row a:has(code.hash)").first.click()
    expect(opened.value.locator("header.top")).to_be_visible()
    opened.value.close()


def test_a_page_without_embed_stays_out_of_frames(
    page: Page, website: Website, embeddable: str, expected_errors: list[str]
) -> None:
    expected_errors += ["frame-ancestors", "X-Frame-Options", "Framing"]
    website.framed = f"{embeddable}/triage"
    page.goto(website.address)
    expect(page.frame_locator("iframe").locator("tr.change-row")).to_have_count(0)
