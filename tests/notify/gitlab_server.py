"""GitLab as its REST API is documented: issues and notes of one project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.notify.tracker_server import TOKEN, Answer, Call, Stored, TrackerServer, text_time

_ISSUES = "/api/v4/projects/tools%2Ftextmill/issues"
_ISSUE = rf"{_ISSUES}/(?P<number>\d+)"


def _issue(ticket: Stored) -> dict[str, Any]:
    return {
        "id": 1000 + ticket.number,
        "iid": ticket.number,
        "web_url": f"https://gitlab.example/tools/textmill/-/issues/{ticket.number}",
        "title": ticket.title,
        "description": ticket.body,
        "state": "opened" if ticket.open else "closed",
        "labels": ticket.labels,
        "assignees": [{"username": ticket.assignee}] if ticket.assignee else [],
        "updated_at": text_time(ticket.updated),
    }


def _create(call: Call) -> Answer:
    if not call.body.get("title"):
        return 400, {"message": {"title": ["can't be blank"]}}
    ticket = call.server.add(call.body["title"], call.body["description"], call.body["labels"].split(","))
    return 201, _issue(ticket)


def _list(call: Call) -> Answer:
    found = [each for each in call.server.tickets.values() if call.query["labels"] in each.labels]
    found = [each for each in found if call.query.get("search", "") in each.body]
    found = [each for each in found if text_time(each.updated) >= call.query.get("updated_after", "")]
    found.sort(key=lambda each: each.updated)
    return call.server.paged(call, [_issue(each) for each in found])


def _notes(call: Call) -> Answer:
    return call.server.paged(call, [{"body": body} for body in call.ticket.comments])


def _note(call: Call) -> Answer:
    call.ticket.comments.append(call.body["body"])
    call.server.touch(call.ticket)
    return 201, {"body": call.body["body"]}


def _closed_by(call: Call) -> Answer:
    merged = {"state": "merged", "merge_commit_sha": call.ticket.fixed}
    return call.server.paged(call, [{"state": "opened"}, *([merged] if call.ticket.fixed else [])])


def _get(call: Call) -> Answer:
    return 200, _issue(call.ticket)


def _edit(call: Call) -> Answer:
    is_open = call.body.get("state_event", "") != "close"
    call.server.touch(call.ticket, open=is_open, body=call.body.get("description", call.ticket.body))
    return 200, _issue(call.ticket)


@dataclass
class GitLabServer(TrackerServer):
    """GitLab with the project ``tools/textmill``."""

    def __post_init__(self) -> None:
        self.routes = (
            ("GET", _ISSUES, _list),
            ("POST", _ISSUES, _create),
            ("GET", f"{_ISSUE}/notes", _notes),
            ("POST", f"{_ISSUE}/notes", _note),
            ("GET", f"{_ISSUE}/closed_by", _closed_by),
            ("GET", _ISSUE, _get),
            ("PUT", _ISSUE, _edit),
        )

    def is_allowed(self, headers: dict[str, str]) -> bool:
        return headers.get("private-token") == TOKEN
