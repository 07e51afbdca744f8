"""GitHub as its REST API is documented: issues, comments and events of one repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.notify.tracker_server import TOKEN, Answer, Call, Stored, TrackerServer, text_time

_REPOSITORY = "/repos/ada/textmill"
_ISSUE = rf"{_REPOSITORY}/issues/(?P<number>\d+)"


def _issue(ticket: Stored) -> dict[str, Any]:
    return {
        "number": ticket.number,
        "html_url": f"https://github.example/ada/textmill/issues/{ticket.number}",
        "title": ticket.title,
        "body": ticket.body,
        "state": "open" if ticket.open else "closed",
        "labels": [{"name": label} for label in ticket.labels],
        "assignees": [{"login": ticket.assignee}] if ticket.assignee else [],
        "updated_at": text_time(ticket.updated),
        **ticket.fields,
    }


def _create(call: Call) -> Answer:
    if not call.body.get("title"):
        return 422, {"message": "Validation Failed", "errors": [{"field": "title", "code": "missing_field"}]}
    ticket = call.server.add(call.body["title"], call.body["body"], call.body["labels"])
    return 201, _issue(ticket)


def _list(call: Call) -> Answer:
    found = [each for each in call.server.tickets.values() if call.query["labels"] in each.labels]
    found = [each for each in found if text_time(each.updated) >= call.query.get("since", "")]
    if call.query["sort"] == "updated":
        found.sort(key=lambda each: each.updated)
    if call.query["direction"] == "desc":
        found.reverse()
    return call.server.paged(call, [_issue(each) for each in found])


def _comments(call: Call) -> Answer:
    return call.server.paged(call, [{"body": body} for body in call.ticket.comments])


def _comment(call: Call) -> Answer:
    call.ticket.comments.append(call.body["body"])
    call.server.touch(call.ticket)
    return 201, {"body": call.body["body"]}


def _events(call: Call) -> Answer:
    events = [] if call.ticket.open else [{"event": "closed", "commit_id": call.ticket.fixed or None}]
    return call.server.paged(call, [{"event": "labeled"}, *events])


def _get(call: Call) -> Answer:
    return 200, _issue(call.ticket)


def _edit(call: Call) -> Answer:
    is_open = call.body.get("state", "open") != "closed"
    call.server.touch(call.ticket, open=is_open, body=call.body.get("body", call.ticket.body))
    return 200, _issue(call.ticket)


@dataclass
class GitHubServer(TrackerServer):
    """GitHub with the repository ``ada/textmill``."""

    def __post_init__(self) -> None:
        self.routes = (
            ("GET", f"{_REPOSITORY}/issues", _list),
            ("POST", f"{_REPOSITORY}/issues", _create),
            ("GET", f"{_ISSUE}/comments", _comments),
            ("POST", f"{_ISSUE}/comments", _comment),
            ("GET", f"{_ISSUE}/events", _events),
            ("GET", _ISSUE, _get),
            ("PATCH", _ISSUE, _edit),
        )

    def is_allowed(self, headers: dict[str, str]) -> bool:
        return headers.get("authorization") == f"Bearer {TOKEN}"
