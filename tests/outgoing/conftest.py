"""Servers on loopback that answer as they are told, in plain HTTP, over TLS, and byte by byte."""

from __future__ import annotations

import socketserver
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.certificates import make_certificate

_HOSTS = ("127.0.0.1", "allowed.example")


@dataclass(frozen=True)
class Answer:
    """What the server sends for a path."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b"fine"


@dataclass
class WebServer:
    """A server on loopback: ``answers`` by path, and the requests it got as (method, path, headers, body)."""

    port: int
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    def redirect(self, path: str, location: str, status: int = 302) -> None:
        self.answers[path] = Answer(status, (("Location", location),), b"")


def _handler(server: WebServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(length)
            server.asked.append((self.command, self.path, dict(self.headers.items()), body))
            answer = server.answers.get(self.path, Answer())
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_GET = do_POST = do_HEAD = do_PUT = _answer  # noqa: N815 - names of the standard library

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the base class has it
            pass

    return Handler


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[WebServer]:
    """Serve on a free port of loopback."""
    server = WebServer(0)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as http:
        http.daemon_threads = True
        server.port = http.server_address[1]
        if tls is not None:
            http.socket = tls.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


@pytest.fixture
def web() -> Iterator[WebServer]:
    """Serve plain HTTP on loopback."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for loopback and ``allowed.example`` that signs itself; the file has its key, too."""
    return make_certificate(tmp_path_factory.mktemp("tls"), _HOSTS)


@pytest.fixture
def secure_web(certificate: Path) -> Iterator[WebServer]:
    """Serve HTTP over TLS on loopback, with the certificate of the tests."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context) as server:
        yield server


@contextmanager
def answering_raw(send: Callable[[Callable[[bytes], None]], None]) -> Iterator[int]:
    """Serve each connection by ``send``, which gets a function that sends bytes; yield the port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            with suppress(OSError):  # the client has gone, as it should
                send(self.request.sendall)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
