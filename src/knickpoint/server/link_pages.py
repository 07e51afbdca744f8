"""The page of a signed link: it shows what the link would decide, asks once, and decides on a POST only.

Programs that look at the links of mails before people do send GET, so that a GET changes nothing. The page needs no
sign-in and no script: the link itself is the permission for its one decision.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from fastapi import FastAPI, Request
from fastapi.responses import Response

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
from knickpoint.server.plain_pages import Button, Link, page
from knickpoint.watch.trend import change_path

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
