"""GitHub and GitLab as their REST APIs are documented: pull requests with comments, pages, rights and rate limits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

PAGE = 3
"""Values on a page, whatever a client asks for: so that lists have several pages."""

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


@dataclass
class Note:
    """A comment of the server."""

    id: int
    author: str
    body: str


@dataclass(frozen=True)
class Call:
    """A request, taken apart."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any]


@dataclass
class ForgeServer:
    """A forge with one project, ``ada/textmill`` with the id 7, and its pull request 12.

    Attributes:
        head: the newest commit of the pull request.
        author: the user of the token; at GitHub, the token of a job has no user, and writes as a bot.
        readonly: whether the token is that of a pull request from a fork.
        refusals: answers to the next requests that write, in the place of what they ask for.
        lost: how many writes are done, and their answers lost.
        before_create: is called once before the next comment is added, as another job may add one.
    """

    port: int = 0
    head: str = "a" * 40
    state: str = "open"
    author: str = "github-actions[bot]"
    readonly: bool = False
    notes: list[Note] = field(default_factory=list)
    refusals: list[Answer] = field(default_factory=list)
    lost: int = 0
    before_create: Callable[[], None] | None = None
    writes: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, author: str, body: str) -> Note:
        note = Note(100 + len(self.notes) + len(self.writes), author, body)
        self.notes.append(note)
        return note

    def answer(self, method: str, target: str, headers: dict[str, str], body: dict[str, Any]) -> Answer | None:
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query))
        if not self.knows(headers):
            return 401, {"message": "Bad credentials"}
        if method != "GET":
            self.writes.append(f"{method} {parts.path}")
            if self.readonly:
                return 403, {"message": "Resource not accessible by integration"}
            if self.refusals:
                return self.refusals.pop(0)
        with self.lock:
            found = self.route(Call(method, unquote(parts.path), query, body))
        if isinstance(found, list):
            return self.page(parts.path, found, query)
        if method != "GET" and self.lost:
            self.lost -= 1
            return None
        return found

    def knows(self, headers: dict[str, str]) -> bool:
        raise NotImplementedError

    def route(self, call: Call) -> Answer | list[Any]:
        raise NotImplementedError

    def page(self, path: str, values: list[Any], query: dict[str, str]) -> Answer:
        number = int(query.get("page", "1"))
        shown = values[(number - 1) * PAGE : number * PAGE]
        others = "&".join(f"{name}={value}" for name, value in query.items() if name != "page")
        following = f'<{self.url}{path}?{others}&page={number + 1}>; rel="next"'
        return 200, shown, {"Link": following} if number * PAGE < len(values) else {}

    def write(self, method: str, number: str, body: dict[str, Any], shown: Callable[[Note], Any]) -> Answer:
        """Add, change or delete a comment."""
        if method == "POST":
            if self.before_create is not None:
                before, self.before_create = self.before_create, None
                before()
            return 201, shown(self.add(self.author, body["body"]))
        note = next((each for each in self.notes if str(each.id) == number), None)
        if note is None:
            return 404, {"message": "Not Found"}
        if method == "DELETE":
            self.notes.remove(note)
            return 204, None
        note.body = body["body"]
        return 200, shown(note)


class GitHubServer(ForgeServer):
    """GitHub, as the token of a job sees it."""

    pulls = "/repos/ada/textmill/pulls"

    def knows(self, headers: dict[str, str]) -> bool:
        return headers.get("authorization") == "Bearer the-token" and "x-github-api-version" in headers

    def route(self, call: Call) -> Answer | list[Any]:
        if call.path == "/user":
            return 403, {"message": "Resource not accessible by integration"}
        if call.path == f"{self.pulls}/12":
            return 200, self._pull()
        if found := re.fullmatch(r"/repos/ada/textmill/collaborators/(\w+)/permission", call.path):
            return 200, {"permission": "admin" if found[1] == "ada" else "read"}
        if call.path == self.pulls:
            wanted = call.query.get("head") == "eve:faster" and call.query.get("state") == self.state
            return [self._pull()] if wanted else []
        if call.path == "/repos/ada/textmill/issues/12/comments" and call.method == "GET":
            return [self._shown(note) for note in self.notes]
        found = re.fullmatch(r"/repos/ada/textmill/issues/(?:12/comments|comments/(\d+))", call.path)
        return (
            self.write(call.method, found[1] or "", call.body, self._shown)
            if found
            else (404, {"message": "Not Found"})
        )

    def _pull(self) -> dict[str, Any]:
        return {"number": 12, "state": self.state, "head": {"sha": self.head}}

    def _shown(self, note: Note) -> dict[str, Any]:
        user = {"login": note.author, "type": "Bot" if note.author.endswith("[bot]") else "User"}
        return {"id": note.id, "body": note.body, "user": user, "html_url": f"{self.url}/{note.id}"}


class GitLabServer(ForgeServer):
    """GitLab with an access token of the project.

    It ends lines with CR LF, as a note that was edited on the page has.
    """

    merge_request = "/api/v4/projects/7/merge_requests/12"

    def knows(self, headers: dict[str, str]) -> bool:
        return headers.get("private-token") == "the-token"

    def route(self, call: Call) -> Answer | list[Any]:
        if call.path == "/api/v4/user":
            return 200, {"id": 99, "username": self.author}
        if call.path == self.merge_request:
            return 200, {"iid": 12, "state": "opened" if self.state == "open" else "closed", "sha": self.head}
        if call.path == f"{self.merge_request}/notes" and call.method == "GET":
            return [self._shown(note) for note in self.notes]
        found = re.fullmatch(rf"{self.merge_request}/notes(?:/(\d+))?", call.path)
        return (
            self.write(call.method, found[1] or "", call.body, self._shown)
            if found
            else (404, {"message": "404 Not Found"})
        )

    def _shown(self, note: Note) -> dict[str, Any]:
        author = {"id": 99 if note.author == self.author else 1}
        return {"id": note.id, "body": note.body.replace("\n", "\r\n"), "author": author}


@contextmanager
def serving(server: ForgeServer) -> Iterator[ForgeServer]:
    """Serve a forge on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def _answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = server.answer(self.command, self.path, headers, json.loads(sent) if sent else {})
            if answer is None:
                self.close_connection = True
                return
            content = b"" if answer[1] is None else json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            for name, value in (answer[2] if len(answer) == 3 else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names that the library calls

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server.port = listener.server_address[1]
    thread = Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
