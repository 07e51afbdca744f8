"""Dialogs, each at the widths of a large window, a small one and a phone."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import wait_until_loaded
from tests.examples import in_the_long_run

pytestmark = pytest.mark.browser

_DIALOGS: Final = {
    "the note of a finding": ("/triage", "n"),
    "the ticket of a finding": ("/triage", "t"),
    "the keys of triage": ("/triage", "?"),
    "the keys of a trace": ("/trace/0", "?"),
    "a new token": ("/tokens", "n"),
    "the keys of explore": ("/explore?traces=0,1", "?"),
}

_SEEN: Final = """(dialog) => {
    const box = dialog.getBoundingClientRect();
    const inside = (element) => {
        const part = element.getBoundingClientRect();
        return part.left >= box.left && part.right <= box.right;
    };
    return {
        whole: box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight,
        height: box.height,
        clipped: dialog.scrollWidth > dialog.clientWidth || ![...dialog.querySelectorAll(":not(option)")].every(inside),
        hidden: dialog.scrollHeight > dialog.clientHeight && getComputedStyle(dialog).overflowY !== "auto",
    };
}"""
"""Whether the window shows the whole dialog, and the dialog all of its content or a scroll bar."""


@pytest.mark.parametrize("width", [390, *in_the_long_run(1024, 1440)])
@pytest.mark.parametrize("name", _DIALOGS)
def test_a_dialog_is_seen_whole(page: Page, shared_address: str, name: str, width: int) -> None:
    path, key = _DIALOGS[name]
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(shared_address + path)
    wait_until_loaded(page)
    page.keyboard.press(key)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    seen = dialog.evaluate(_SEEN)
    expect(dialog.get_by_role("heading", level=2)).to_be_in_viewport(ratio=1)
    assert seen["height"] > 150
    assert {**seen, "height": None} == {"whole": True, "height": None, "clipped": False, "hidden": False}


@pytest.mark.parametrize(("key", "field", "button"), [("n", "Note", "Save"), ("t", "Key or address", "Link")])
def test_fields_and_buttons_of_a_dialog_can_be_used(
    page: Page, shared_address: str, key: str, field: str, button: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(f"{shared_address}/triage")
    wait_until_loaded(page)
    page.keyboard.press(key)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label(field)).to_be_in_viewport(ratio=1)
    expect(dialog.get_by_role("button", name=button)).to_be_in_viewport(ratio=1)
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)


@pytest.mark.core
def test_a_note_is_announced_as_a_note(page: Page, address: str) -> None:
    page.goto(f"{address}/triage")
    wait_until_loaded(page)
    page.keyboard.press("n")
    page.get_by_role("dialog").get_by_label("Note").fill("seen before")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Wrote a note on")).to_be_visible()
