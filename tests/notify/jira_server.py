"""Jira as its REST API is documented, in version 2: Cloud, and Server (Data Center)."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.notify.tracker_server import BEGIN, TOKEN, Answer, Call, Stored, TrackerServer

_API = "/rest/api/2"
_ISSUE = rf"{_API}/issue/PERF-(?P<number>\d+)"
FIXING = "customfield_10102"
FAILING = "customfield_10101"


def _issue(ticket: Stored) -> dict[str, Any]:
    return {
        "id": str(10_000 + ticket.number),
        "key": f"PERF-{ticket.number}",
        "fields": {
            "summary": ticket.title,
            "description": ticket.body,
            "labels": ticket.labels,
            "status": {"name": "Any", "statusCategory": {"key": "new" if ticket.open else "done"}},
            "assignee": {"displayName": ticket.assignee} if ticket.assignee else None,
            "updated": ticket.updated.strftime("%Y-%m-%dT%H:%M:%S.000+0000"),
            FIXING: ticket.fixed or None,
        },
    }


def _create(call: Call) -> Answer:
    fields = call.body["fields"]
    if not fields.get("summary") or any(" " in label for label in fields["labels"]):
        return 400, {"errorMessages": [], "errors": {"labels": "The label can't contain spaces."}}
    ticket = call.server.add(fields["summary"], fields["description"], fields["labels"])
    ticket.fields = {name: value for name, value in fields.items() if name.startswith("customfield_")}
    return 201, {"id": str(10_000 + ticket.number), "key": f"PERF-{ticket.number}", "self": "…"}


def _matching(call: Call) -> list[Stored]:
    jql = call.body["jql"]
    project, label = re.findall(r'project = "(\w+)" AND labels = ([\w-]+)', jql)[0]
    assert project == "PERF"
    found = [each for each in call.server.tickets.values() if label in each.labels]
    if minutes := re.search(r"updated >= -(\d+)m", jql):
        found = [each for each in found if each.updated >= call.server.now - timedelta(minutes=int(minutes[1]))]
    return sorted(found, key=lambda each: each.updated)


def _search(call: Call) -> Answer:
    assert isinstance(call.server, JiraServer)
    if call.server.cloud:
        return 410, {"errorMessages": ["The requested API has been removed. Please use /rest/api/3/search/jql."]}
    found, start = _matching(call), int(call.body.get("startAt", 0))
    shown = found[start : start + min(call.server.page, call.body["maxResults"])]
    return 200, {"startAt": start, "total": len(found), "issues": [_issue(each) for each in shown]}


def _search_jql(call: Call) -> Answer:
    assert isinstance(call.server, JiraServer)
    if not call.server.cloud:
        return 404, {"message": "null for uri"}
    found, start = _matching(call), int(call.body.get("nextPageToken", "0"))
    end = start + min(call.server.page, call.body["maxResults"])
    more = {"nextPageToken": str(end)} if end < len(found) else {"isLast": True}
    return 200, {"issues": [_issue(each) for each in found[start:end]], **more}


def _comments(call: Call) -> Answer:
    start, found = int(call.query["startAt"]), call.ticket.comments
    shown = [{"body": body} for body in found[start : start + call.server.page]]
    return 200, {"startAt": start, "total": len(found), "comments": shown}


def _comment(call: Call) -> Answer:
    call.ticket.comments.append(call.body["body"])
    call.server.touch(call.ticket)
    return 201, {"id": "1", "body": call.body["body"]}


def _transitions(_call: Call) -> Answer:
    to = {"11": "indeterminate", "31": "done"}
    known = [{"id": key, "to": {"statusCategory": {"key": category}}} for key, category in to.items()]
    return 200, {"transitions": known}


def _transition(call: Call) -> Answer:
    if call.body["transition"]["id"] == "31":
        call.server.touch(call.ticket, open=False)
    return 204, None


def _get(call: Call) -> Answer:
    return 200, _issue(call.ticket)


def _edit(call: Call) -> Answer:
    edited, ticket = call.body["fields"], call.ticket
    call.server.touch(ticket, fixed=edited.get(FIXING, ticket.fixed), body=edited.get("description", ticket.body))
    ticket.fields |= {name: value for name, value in edited.items() if name == FAILING}
    return 204, None


def _server_info(call: Call) -> Answer:
    assert isinstance(call.server, JiraServer)
    return 200, {"deploymentType": "Cloud" if call.server.cloud else "Server"}


@dataclass
class JiraServer(TrackerServer):
    """Jira with the project PERF."""

    cloud: bool = True

    def __post_init__(self) -> None:
        self.now = BEGIN
        self.routes = (
            ("GET", f"{_API}/serverInfo", _server_info),
            ("POST", f"{_API}/issue", _create),
            ("POST", f"{_API}/search", _search),
            ("POST", f"{_API}/search/jql", _search_jql),
            ("GET", f"{_ISSUE}/comment", _comments),
            ("POST", f"{_ISSUE}/comment", _comment),
            ("GET", f"{_ISSUE}/transitions", _transitions),
            ("POST", f"{_ISSUE}/transitions", _transition),
            ("GET", _ISSUE, _get),
            ("PUT", _ISSUE, _edit),
        )

    def is_allowed(self, headers: dict[str, str]) -> bool:
        basic = base64.b64encode(f"ada@example.org:{TOKEN}".encode()).decode()
        return headers.get("authorization") == (f"Basic {basic}" if self.cloud else f"Bearer {TOKEN}")
