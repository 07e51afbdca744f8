"""Light and dark, narrow windows, and accessibility."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations, wait_until_loaded
from tests.browser.pages import PAGES
from tests.examples import in_the_long_run

from knickpoint.server import dashboard

pytestmark = pytest.mark.browser

_IN_EACH_RUN = ("/triage?open=R1", "/explore?plot=suite%3Dspeed", "/alerts?name=default&edit=1", "/change/R1")
VIEWS = (*_IN_EACH_RUN, *in_the_long_run(*(page for page in PAGES if page not in _IN_EACH_RUN)))


def test_all_pages_of_the_server_are_among_those_that_are_looked_at() -> None:
    opened = {urlsplit(page).path.split("/")[1] for page in PAGES}
    assert {view.split("/")[1] for view in dashboard._VIEWS} == opened


def paper(page: Page) -> str:
    return str(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))


@pytest.mark.parametrize("theme", ["dark", *in_the_long_run("light")])
def test_paper_is_light_and_has_nothing_to_press(page: Page, shared_address: str, theme: str) -> None:
    page.goto(f"{shared_address}/trace/0")
    page.evaluate(f"() => localStorage.setItem('knickpoint-theme', '{theme}')")
    page.reload()
    expect(page.locator("kp-chart canvas")).to_be_visible()
    page.emulate_media(media="print")
    assert paper(page) == "rgb(255, 255, 255)"
    expect(page.locator("kp-chart canvas")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for name in ("header.top", ".button", "select"):
        expect(page.locator(f"{name}:visible")).to_have_count(0)


_INK = """() => {
  const canvas = document.querySelector("kp-chart canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let darkest = 255;
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250) darkest = Math.min(darkest, data[i] + data[i + 1] + data[i + 2]);
  return darkest;
}"""


def test_a_plot_in_the_dark_theme_is_printed_in_the_colours_of_the_light_one(page: Page, shared_address: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{shared_address}/trace/0")
    expect(page.locator("kp-chart canvas")).to_be_visible()
    page.emulate_media(media="print", color_scheme="light")
    light = page.evaluate(_INK)
    page.emulate_media(media="screen", color_scheme="dark")
    page.wait_for_function(f"light => ({_INK})() !== light", arg=light)
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_function(f"light => ({_INK})() === light", arg=light)


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 24, 29)")])
def test_the_page_is_as_light_as_the_system(
    page: Page, shared_address: str, scheme: Literal["light", "dark"], colour: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{shared_address}/triage")
    expect(page.locator("tr.change-row")).to_have_count(2)
    assert paper(page) == colour


@pytest.mark.core
def test_a_chosen_theme_stays(page: Page, shared_address: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{shared_address}/triage")
    for _ in range(2):
        page.get_by_role("button", name="Theme").click()
    assert paper(page) == "rgb(21, 24, 29)"
    page.reload()
    assert paper(page) == "rgb(21, 24, 29)"


_FITS = """(width) => {
    const root = document.documentElement;
    return innerWidth === width && root.scrollWidth <= root.clientWidth;
}"""
"""Plots follow the window at the next frame, so a test waits for this."""


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_the_window(page: Page, shared_address: str, view: str) -> None:
    page.goto(shared_address + view)
    wait_until_loaded(page)
    for width in (1400, 800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(_FITS, arg=width)


def test_commits_and_their_traces_share_their_columns(page: Page, shared_address: str) -> None:
    page.goto(f"{shared_address}/triage")
    page.locator("tr.change-row").first.click()
    expect(page.locator("tr.finding-row")).to_have_count(2)
    script = "(cells) => new Set(cells.map((cell) => Math.round(cell.getBoundingClientRect().left))).size"
    for width in (1400, 800):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => innerWidth === width", arg=width)
        assert page.locator("td.c-act").evaluate_all(script) == 1


@pytest.mark.core
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["dark", *in_the_long_run("light")])
@pytest.mark.parametrize("width", [1440, *in_the_long_run(390)])
def test_names_roles_and_contrast_are_as_they_should_be(
    page: Page, shared_address: str, scheme: Literal["light", "dark"], view: str, width: int
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(shared_address + view)
    wait_until_loaded(page)
    assert violations(page) == []


def test_on_a_phone_the_link_of_the_page_is_in_sight(page: Page, shared_address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    script = """link => {
        const [own, all] = [link, link.parentElement].map((element) => element.getBoundingClientRect());
        return own.left >= all.left && own.right <= all.right;
    }"""
    for path, name in (("/status", "Status"), ("/", "Overview")):
        page.goto(shared_address + path)
        link = page.get_by_role("navigation", name="Views").get_by_role("link", name=name)
        expect(link).to_have_attribute("aria-current", "page")
        page.wait_for_function(script, arg=link.element_handle())
