"""What the servers of all trackers share: tickets in memory, JSON, failures on order, and the routes of each API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.notify.conftest import Receiver, Reply, Request

TOKEN = "token-of-the-tracker"
BEGIN = datetime(2026, 11, 22, 12, tzinfo=UTC)

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


@dataclass
class Stored:
    """A ticket of the server."""

    number: int
    title: str
    body: str
    labels: list[str]
    updated: datetime
    open: bool = True
    assignee: str = ""
    fixed: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)


@dataclass
class Call:
    """A request of a tracker's client, taken apart."""

    server: TrackerServer
    found: re.Match[str]
    query: dict[str, str]
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def ticket(self) -> Stored:
        number = int(re.findall(r"\d+", self.found["number"])[-1])
        found = self.server.tickets.get(number)
        if found is None:
            raise LookupError
        return found


Route = tuple[str, str, Callable[[Call], Answer]]


@dataclass
class TrackerServer(Receiver):
    """A tracker with one project; ``routes`` are those of its API, ``replies`` its failures, each used once.

    Failures are those of requests that write, with ``reads_fail`` of the others as well. The clock goes on by a second
    with each change.
    """

    tickets: dict[int, Stored] = field(default_factory=dict)
    page: int = 100
    now: datetime = BEGIN
    routes: tuple[Route, ...] = ()
    reads_fail: bool = False

    def add(self, title: str, body: str, labels: list[str]) -> Stored:
        self.now += timedelta(seconds=1)
        ticket = Stored(len(self.tickets) + 1, title, body, labels, self.now)
        self.tickets[ticket.number] = ticket
        return ticket

    def touch(self, ticket: Stored, **changes: Any) -> None:
        self.now += timedelta(seconds=1)
        ticket.updated = self.now
        for name, value in changes.items():
            setattr(ticket, name, value)

    def is_allowed(self, headers: dict[str, str]) -> bool:
        raise NotImplementedError

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        writes = request.method != "GET" and "/search" not in request.target
        failure = self.replies.pop(0) if self.replies and (writes or self.reads_fail) else None
        if failure is not None and not failure.after:
            return failure
        reply = self._answer(request)
        return failure or reply

    def _answer(self, request: Request) -> Reply:
        parts = urlsplit(request.target)
        if not self.is_allowed(request.headers):
            return _json(401, {"message": "Bad credentials"})
        for method, pattern, route in self.routes:
            found = re.fullmatch(pattern, parts.path)
            if method == request.method and found:
                body = json.loads(request.body) if request.body else {}
                try:
                    answer = route(Call(self, found, dict(parse_qsl(parts.query)), body, request.headers))
                except LookupError:
                    answer = (404, {"message": "Not Found"})
                return _json(*answer)
        return _json(404, {"message": "Not Found"})

    def paged(self, call: Call, values: list[Any]) -> Answer:
        """Answer a page of ``values`` with a Link header and an ETag, or 304."""
        number, size = int(call.query.get("page", "1")), min(self.page, int(call.query["per_page"]))
        shown = values[(number - 1) * size : number * size]
        etag = f'W/"{sha256(json.dumps(shown).encode()).hexdigest()}"'
        if call.headers.get("if-none-match") == etag:
            return 304, None, {"ETag": etag}
        headers = {"ETag": etag}
        if number * size < len(values):
            others = "&".join(f"{name}={value}" for name, value in call.query.items() if name != "page")
            headers["Link"] = (
                f'<{self.url}{call.found[0]}?{others}&page={number + 1}>; rel="next", <{self.url}>; rel="last"'
            )
        return 200, shown, headers


def _json(status: int, value: Any, headers: dict[str, str] | None = None) -> Reply:
    body = b"" if value is None else json.dumps(value).encode()
    return Reply(status, (("Content-Type", "application/json"), *(headers or {}).items()), body)


def text_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
