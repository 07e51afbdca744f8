"""Write plain HTML pages without script, whose every text is escaped: the parts of all, and the page of a signed link.

That page shows what the link would decide, asks once, and decides on a POST only. Programs that look at the links of
mails before people do send GET, so that a GET changes nothing. It needs no sign-in: the link itself is the permission
for its one decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from knickpoint.access.sessions import session_key
from knickpoint.instance import Instance
from knickpoint.model.plain_text import counted
from knickpoint.notify.links import (
    LINK_PATH,
    LinkAction,
    LinkClaim,
    LinkState,
    LinkView,
    follow_link,
    read_link,
    view_link,
)
from knickpoint.people import Directory
from knickpoint.watch.trend import change_path

STYLE_PATH: Final = "/sign-in.css"

STYLE: Final = """\
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body {
  margin: 0;
  padding: 12vh 16px 32px;
  background: light-dark(#f6f7f9, #101317);
  color: light-dark(#16191f, #e7eaef);
  font: 14px / 20px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}
main {
  max-width: 440px;
  margin: 0 auto;
  padding: 24px;
  background: light-dark(#ffffff, #15181d);
  border: 1px solid light-dark(#d8dce3, #333a45);
  border-radius: 8px;
}
h1 { margin: 0 0 12px; font-size: 20px; line-height: 28px; font-weight: 600; }
p { margin: 0 0 12px; }
.instance { margin: 0 0 4px; color: light-dark(#656d7b, #8f98a7); font-size: 12px; }
.actions { display: flex; flex-direction: column; gap: 8px; margin-top: 20px; }
form { margin: 0; }
a.action, button {
  display: block;
  width: 100%;
  padding: 9px 16px;
  border: 1px solid light-dark(#d8dce3, #333a45);
  border-radius: 6px;
  background: light-dark(#ffffff, #1d2128);
  color: light-dark(#16191f, #e7eaef);
  font: inherit;
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}
a.action:hover, button:hover { background: light-dark(#f3f6fa, #1b1f26); }
a.action.first, button.first { border-color: transparent; background: light-dark(#1f5fbf, #7fb0ff); color: light-dark(#ffffff, #0c1726); }
:focus-visible { outline: 2px solid light-dark(#1f5fbf, #7fb0ff); outline-offset: 2px; }
"""


@dataclass(frozen=True, slots=True)
class Link:
    """A way on from a page."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Button:
    """A button that sends a POST without a body to an address."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class SignOutButton:
    """The button that signs out."""

    text: str = "Sign out"


def page(
    instance: str,
    title: str,
    lines: Sequence[str],
    actions: Sequence[Link | Button | SignOutButton] = (),
    *,
    status: int = 200,
) -> HTMLResponse:
    """Return a page of ``instance`` with a title, paragraphs and ways on; the first link stands out."""
    paragraphs = "".join(f"<p>{escape(line)}</p>\n" for line in lines if line)
    ways = "".join(_action(action, is_first=number == 0) for number, action in enumerate(actions))
    html = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)} · {escape(instance)}</title>\n<link rel="stylesheet" href="{STYLE_PATH}">\n'
        f'</head>\n<body>\n<main>\n<p class="instance">{escape(instance)}</p>\n<h1>{escape(title)}</h1>\n'
        f'{paragraphs}<div class="actions">{ways}</div>\n</main>\n</body>\n</html>\n'
    )
    return HTMLResponse(html, status, {"cache-control": "no-store"})


def _action(action: Link | Button | SignOutButton, *, is_first: bool) -> str:
    if isinstance(action, Button):
        form = f'<form method="post" action="{escape(action.address)}">'
        return f'{form}<button class="{"first" if is_first else ""}">{escape(action.text)}</button></form>'
    if isinstance(action, SignOutButton):
        return f'<form method="post" action="/sign-out"><button>{escape(action.text)}</button></form>'
    kind = "action first" if is_first else "action"
    return f'<a class="{kind}" href="{escape(action.address)}">{escape(action.text)}</a>'


_PATH: Final = f"{LINK_PATH}{{text}}"

_QUESTION: Final = {
    LinkAction.NOISE: "Mark this change as noise?",
    LinkAction.ACKNOWLEDGE: "Acknowledge this change?",
    LinkAction.TAKE: "Take this change?",
}
_EFFECT: Final = {
    LinkAction.NOISE: "It leaves the work list as hidden, and is not announced again.",
    LinkAction.ACKNOWLEDGE: "It leaves the work list as acknowledged.",
    LinkAction.TAKE: "It is assigned to you, and owners are not reminded of it.",
}
_BUTTON: Final = {
    LinkAction.NOISE: "Mark it as noise",
    LinkAction.ACKNOWLEDGE: "Acknowledge it",
    LinkAction.TAKE: "Take it",
}
_DONE: Final = {
    LinkAction.NOISE: "The change is marked as noise",
    LinkAction.ACKNOWLEDGE: "The change is acknowledged",
    LinkAction.TAKE: "You have taken the change",
}
_TITLES: Final = {
    LinkState.USED: "This link was used before",
    LinkState.EXPIRED: "This link has expired",
    LinkState.CHANGED: "A person decided about this change meanwhile",
    LinkState.GONE: "This change is no longer there",
}
_REASONS: Final = {
    LinkState.USED: "A link makes one decision. Decide again in the dashboard.",
    LinkState.EXPIRED: "Decide in the dashboard instead.",
    LinkState.CHANGED: "The link changes nothing any more. Look at the decision in the dashboard.",
    LinkState.GONE: "Later data no longer show it, or it is part of another change now. There is nothing to decide here.",
}
_GONE: Final = 410
_NOT_FOUND: Final = 404


def add_link_pages(app: FastAPI, instance: Instance, *, clock: Callable[[], datetime]) -> None:
    """Serve the pages of signed links."""
    pages = _LinkPages(instance, clock)
    app.add_api_route(_PATH, pages.show, include_in_schema=False)
    app.add_api_route(_PATH, pages.decide, methods=["POST"], include_in_schema=False)


class _LinkPages:
    """The pages of one instance."""

    def __init__(self, instance: Instance, clock: Callable[[], datetime]) -> None:
        self._instance = instance
        self._clock = clock
        self._people = Directory(instance.config.people)
        self._title = instance.config.name or "Knickpoint"

    def show(self, text: str) -> Response:
        """Show what a link would decide; nothing changes."""
        claim = self._claim(text)
        if claim is None:
            return self._unknown()
        return self._answer(view_link(self._instance.store, claim, self._people, self._clock()), text)

    def decide(self, request: Request, text: str) -> Response:  # noqa: ARG002  # the address of the request is in the audit log
        """Make the decision of a link, and show what became of it."""
        claim = self._claim(text)
        if claim is None:
            return self._unknown()
        return self._answer(follow_link(self._instance.store, claim, self._people, self._clock()), text)

    def _claim(self, text: str) -> LinkClaim | None:
        return read_link(text, session_key(self._instance.directory, self._instance.config.access))

    def _unknown(self) -> Response:
        lines = ["The address is incomplete, or of another instance. Open the link in the message itself."]
        return page(self._title, "This is not a link of a message", lines, [_dashboard("/")], status=_NOT_FOUND)

    def _answer(self, view: LinkView, text: str) -> Response:
        claim = view.claim
        way = _dashboard(change_path(claim.change))
        if view.state is LinkState.OPEN:
            lines = [_described(view), _EFFECT[claim.action], f"The decision is recorded as one of {view.who}."]
            button = Button(_BUTTON[claim.action], f"{LINK_PATH}{text}")
            return page(self._title, _QUESTION[claim.action], lines, [button, way])
        if view.state is LinkState.DONE:
            lines = [_described(view), f"It is recorded as a decision of {view.who}. Undo it in the dashboard."]
            return page(self._title, _DONE[claim.action], lines, [way])
        lines = [_REASONS[view.state], f"It was about R{claim.change}."]
        return page(self._title, _TITLES[view.state], lines, [way], status=_GONE)


def _dashboard(address: str) -> Link:
    return Link("Open the dashboard", address)


def _described(view: LinkView) -> str:
    """Return the part of the mail that names the change."""
    if not view.lead:
        return ""
    others = counted(view.findings - 1, "further trace")
    further = f" and {others}" if view.findings > 1 else ""
    return f"R{view.claim.change} in {view.repository}: {view.headline}: {view.lead.strip(',')}{further}."
