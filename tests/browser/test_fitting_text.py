"""Text and controls of every page fit: nothing is cut, broken inside a word, or outside the window."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route
from tests.browser.conftest import wait_until_loaded
from tests.browser.pages import PAGES
from tests.examples import in_the_long_run

pytestmark = pytest.mark.browser

_WORDS = ("parse", "improve/debugging", "http2_parallel_x10", "std::collections", "benchTheWholeTree")

# Values of params beside a list are shortened in their middle (`.cut`), with the whole value as their title.
_FAULTS = """(width) => {
    const faults = [];
    const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    for (let text; (text = texts.nextNode()); ) {
        const holder = text.parentElement;
        if (!text.data.trim() || !shown(holder) || holder.closest(".sr-only, .cut, svg, select, caption")) continue;
        for (const word of text.data.matchAll(/[A-Z]?[a-z0-9]+|[A-Z]+/g)) {
            const range = document.createRange();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
            if (lines.size > 1) faults.push(`broken: ${word[0]}`);
        }
        const style = getComputedStyle(holder);
        if (style.overflowX !== "visible" && holder.scrollWidth > holder.clientWidth + 1) faults.push(`cut: ${text.data}`);
    }
    for (const control of document.querySelectorAll("main :is(a, button, input, select, summary)")) {
        if (!shown(control) || control.closest(".sr-only")) continue;
        const { left, right } = control.getBoundingClientRect();
        if (left < 0 || right > width) faults.push(`outside: ${control.outerHTML.slice(0, 80)}`);
    }
    return faults;
}"""


def _name(length: int, number: int) -> str:
    """Return a name of ``length`` characters of usual words."""
    text = "_".join(_WORDS[(number + each) % len(_WORDS)] for each in range(length))
    return f"{text[: length - 2]}_{number}"


@pytest.mark.parametrize("width", [390, *in_the_long_run(1024, 1440)])
@pytest.mark.parametrize("path", PAGES)
def test_names_of_any_length_fit(page: Page, shared_address: str, path: str, width: int) -> None:
    def long(route: Route) -> None:
        answer = route.fetch()
        if "json" not in answer.headers.get("content-type", ""):
            route.fulfill(response=answer)  # values are binary
            return
        text = answer.text()
        for number, word in enumerate(("parse", "load", "Check every bracket", "Read files ahead")):
            text = text.replace(f'"{word}"', f'"{_name((10, 60, 120, 200)[number], number)}"')
        route.fulfill(response=answer, body=text)

    page.set_viewport_size({"width": width, "height": 900})
    page.route("**/api/v1/**", long)
    page.goto(shared_address + path)
    page.wait_for_load_state("networkidle")
    wait_until_loaded(page)
    assert page.evaluate(_FAULTS, width) == []
    page.unroute("**/api/v1/**")
