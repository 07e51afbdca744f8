"""A receiver on loopback that answers as real ones do, also when they fail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

import pytest

from knickpoint.model.commit import Commit
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.notify.channel import ChannelContext
from knickpoint.outgoing import OutgoingRule
from knickpoint.store import RunWrite, Store, create_store, open_store
from knickpoint.watch.alert_run.run import default_alert, run_alerts


@dataclass(frozen=True)
class Reply:
    """What a receiver answers: a status with headers and a body, ``half`` of it, or nothing at all.

    With ``after`` a tracker does what it was asked for, and the answer to that is lost.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    half: bool = False
    silent: bool = False
    after: bool = False


@dataclass(frozen=True)
class Request:
    """A request as it arrived; the names of ``headers`` are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A receiver of messages: it takes each of ``replies`` once, then answers 200."""

    port: int = 0
    replies: list[Reply] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    ended: Event = field(default_factory=Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reply(self, request: Request) -> Reply:
        """Answer ``request``; servers that speak more than one sentence replace this."""
        self.requests.append(request)
        return self.replies.pop(0) if self.replies else Reply()


_R = TypeVar("_R", bound=Receiver)


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = receiver.reply(Request(self.command, self.path, headers, body))
            if reply.silent:
                receiver.ended.wait(30)
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) + (10 if reply.half else 0)))
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = self.close_connection or reply.half

        do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815 - names of the standard library

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the base class has it
            pass

    return Handler


@contextmanager
def serving(receiver: _R) -> Iterator[_R]:
    """Serve ``receiver`` on a free port of loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(receiver)) as http:
        http.daemon_threads = True
        receiver.port = http.server_address[1]
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.ended.set()
            http.shutdown()
            thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Serve a receiver on loopback."""
    with serving(Receiver()) as served:
        yield served


@pytest.fixture
def context(tmp_path: Path) -> ChannelContext:
    """Return what channels know of an instance without a store; only the public Internet may be contacted."""
    return ChannelContext(tmp_path, "https://perf.example.org", OutgoingRule(), "Textmill")


def _commits_and_results(store: Store) -> None:
    repository = store.commits.add_repository("textmill")
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    store.commits.add(repository, [Commit(f"{k:040d}", "Ada", "", begin, f"Change {k}") for k in range(30)])
    store.commits.set_line(repository, "main", range(30))
    for slot in range(30):
        value = (10.0 if slot < 15 else 20.0) + 0.01 * (slot % 3)
        run = RunReport(ResultTable.of([Result({"benchmark": "sort", "os": "linux"}, (value,), "ms")]))
        store.runs.write(repository, [RunWrite(slot, run, str(slot), str(slot), "test")])
    run_alerts(store, [default_alert()], as_work=True)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store in which the trace sort steps at commit 15, as work."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    with create_store(path) as made:
        _commits_and_results(made)
    return path


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Iterator[Store]:
    """Open a copy of the store."""
    with open_store(shutil.copy(template, tmp_path / "store.db")) as opened:
        yield opened
