"""Requests through a proxy on loopback that connects as it is asked: by the address that was checked, or by an allowed name."""

from __future__ import annotations

import base64
import socket
import socketserver
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import pytest
from tests.outgoing.conftest import WebServer

from knickpoint.model.errors import AddressError, ServiceError
from knickpoint.outgoing import Network, OutgoingRule, fetch
from knickpoint.outgoing.fetch import proxy_for
from knickpoint.outgoing.rule import IPAddress, check_address

_NETWORK = OutgoingRule(("127.0.0.0/8",))
_NAME = OutgoingRule(("allowed.example",))


@dataclass
class ConnectProxy:
    """A proxy on loopback: what it was asked to connect to, with which credentials, and what it answers."""

    port: int = 0
    asked: list[str] = field(default_factory=list)
    credentials: list[str] = field(default_factory=list)
    status: str = "200 Connection established"


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(65_536):
            target.sendall(block)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectProxy]:
    """Run a proxy, which knows each name as loopback, and name it in the environment."""
    state = ConnectProxy()

    class Handler(socketserver.StreamRequestHandler):
        rbufsize = 0

        def handle(self) -> None:
            target = self.rfile.readline().split()[1].decode()
            state.asked.append(target)
            while (line := self.rfile.readline().strip()) != b"":
                if line.lower().startswith(b"proxy-authorization: basic "):
                    state.credentials.append(base64.b64decode(line.split()[-1]).decode())
            self.wfile.write(f"HTTP/1.1 {state.status}\r\nVia: 1.1 test\r\n\r\n".encode())
            if not state.status.startswith("200"):
                return
            with socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2]))) as behind:
                back = Thread(target=_copy, args=(behind, self.connection), daemon=True)
                back.start()
                _copy(self.connection, behind)
                back.join()

    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        state.port = server.server_address[1]
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{state.port}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def _network(tls: ssl.SSLContext | None = None) -> Network:
    def resolver(host: str) -> Sequence[IPAddress]:
        return {"allowed.example": [ip_address("127.0.0.2")], "inside.example": [ip_address("10.0.0.1")]}[host]

    return Network(resolver, tls) if tls else Network(resolver)


def test_a_proxy_gets_the_address_that_was_checked_and_not_the_name(proxy: ConnectProxy, web: WebServer) -> None:
    answer = fetch(f"http://allowed.example:{web.port}/a", _NETWORK, network=_network())
    assert answer.body == b"fine"
    assert proxy.asked == [f"127.0.0.2:{web.port}"]
    assert web.asked[0][1:3] == ("/a", web.asked[0][2])
    assert web.asked[0][2]["Host"] == f"allowed.example:{web.port}"


def test_a_name_that_may_have_any_address_is_looked_up_by_the_proxy(proxy: ConnectProxy, web: WebServer) -> None:
    def no_lookup(host: str) -> Sequence[IPAddress]:
        raise AssertionError(host)

    fetch(f"http://allowed.example:{web.port}/", _NAME, network=Network(no_lookup))
    assert proxy.asked == [f"allowed.example:{web.port}"]


def test_what_must_not_be_contacted_is_not_asked_of_a_proxy_either(proxy: ConnectProxy) -> None:
    with pytest.raises(AddressError):
        fetch("http://inside.example/", OutgoingRule(), network=_network())
    assert proxy.asked == []


def test_the_certificate_behind_a_proxy_is_that_of_the_name(
    proxy: ConnectProxy, secure_web: WebServer, certificate: Path
) -> None:
    tls = ssl.create_default_context(cafile=str(certificate))
    answer = fetch(f"https://allowed.example:{secure_web.port}/", _NETWORK, network=_network(tls))
    assert (answer.body, proxy.asked) == (b"fine", [f"127.0.0.2:{secure_web.port}"])


def test_credentials_of_the_variable_are_sent_to_the_proxy_alone(
    proxy: ConnectProxy, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://ann:se%40cret@127.0.0.1:{proxy.port}")
    fetch(f"http://allowed.example:{web.port}/", _NAME)
    assert proxy.credentials == ["ann:se@cret"]
    assert "Proxy-Authorization" not in web.asked[0][2]
    found = proxy_for(check_address("http://allowed.example/", OutgoingRule()))
    assert "Basic" not in repr(found)


def test_a_proxy_that_refuses_is_named(proxy: ConnectProxy, web: WebServer) -> None:
    proxy.status = "407 Proxy Authentication Required"
    with pytest.raises(ServiceError, match=rf"the proxy 127\.0\.0\.1:{proxy.port} answers 407 to CONNECT"):
        fetch(f"http://allowed.example:{web.port}/", _NAME)
    assert web.asked == []


@pytest.mark.parametrize(
    ("url", "excluded"),
    [
        ("http://127.0.0.1/", ""),
        ("http://[::1]/", ""),
        ("http://localhost/", ""),
        ("http://tracker.internal/", "tracker.internal"),
        ("http://tracker.internal/", "example.org, .internal"),
        ("http://tracker.internal/", "*"),
    ],
)
@pytest.mark.usefixtures("proxy")
def test_this_machine_and_the_hosts_of_no_proxy_are_reached_directly(
    monkeypatch: pytest.MonkeyPatch, url: str, excluded: str
) -> None:
    monkeypatch.setenv("NO_PROXY", excluded)
    assert proxy_for(check_address(url, OutgoingRule(("127.0.0.1", "::1", "localhost")))) is None


@pytest.mark.parametrize("text", ["socks5://127.0.0.1:1080", "https://proxy.example", "http://", "http://a:b:c"])
def test_a_variable_that_names_no_http_proxy_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("https_proxy", text)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(ServiceError, match=r"HTTPS_PROXY: not the address of an HTTP proxy"):
        proxy_for(check_address("https://example.org/", OutgoingRule()))
