"""A real nginx in front, with the configurations of the guide: TLS before an OpenID sign-in, and a proxy that signs people in."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from tests.server.openid import Browser, running_provider
from tests.server.proxy import GUIDE, find_nginx, free_port, make_certificate, nginx_of_guide, running_nginx

from knickpoint.instance import Instance, open_instance, read_config
from knickpoint.instance.config import Config
from knickpoint.server import serving

_TLS, _GATE = 0, 1
"""The nginx configurations of the guide, in order."""

_CLIENT = "127.0.0.2"
"""Another address of loopback than the one that the proxy sends from."""


def _configurations(directory: Path, monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Return the configurations of the guide as they stand there."""
    monkeypatch.setenv("OPENID_SECRET", "word")
    monkeypatch.setenv("KNICKPOINT_SESSION_SECRET", "5ecret" * 6)
    blocks = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = []
    for block in blocks:
        (directory / "knickpoint.toml").write_text(block)
        found.append(read_config(directory / "knickpoint.toml"))
    return found


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory) -> list[Config]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return _configurations(tmp_path_factory.mktemp("guide"), monkeypatch)


@pytest.fixture(scope="module")
def instance(finished_instance: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    directory = tmp_path_factory.mktemp("nginx") / "instance"
    shutil.copytree(finished_instance, directory)
    with open_instance(directory) as opened:
        yield opened


def _served_as(instance: Instance, config: Config, address: str) -> Instance:
    """Return the instance with the sign-in, the roles and the proxies of ``config``, at ``address``."""
    server = replace(instance.config.server, address=address, proxies=config.server.proxies)
    return replace(instance, config=replace(instance.config, server=server, sign_in=config.sign_in, roles=config.roles))


@pytest.fixture(scope="module")
def tls(instance: Instance, guide: list[Config], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser at an instance with an OpenID provider behind nginx."""
    find_nginx()
    directory = tmp_path_factory.mktemp("tls")
    certificate, port = make_certificate(directory), free_port()
    address = f"https://localhost:{port}"
    person = {"sub": "1", "email": "ada@example.org", "email_verified": True}
    with running_provider(person) as issuer:
        sign_in, proxied = guide[0], guide[2]
        company = replace(sign_in.sign_in["company"], issuer=issuer)
        config = replace(sign_in, sign_in={"company": company}, server=proxied.server)
        with serving(_served_as(instance, config, address)) as server:
            text = nginx_of_guide(_TLS, port=port, server=server, certificate=certificate)
            transport = httpx.HTTPTransport(verify=certificate.trust(), local_address=_CLIENT)
            with running_nginx(directory, text, port), Browser(address, mounts={"https://": transport}) as browser:
                yield browser


def test_the_configurations_of_the_guide_are_accepted(guide: list[Config]) -> None:
    assert [sorted(config.sign_in) for config in guide] == [["company"], [], [], ["gate"]]


def test_a_person_signs_in_and_out_behind_tls(tls: Browser) -> None:
    answer = tls.sign_in("1", "/sign-in?next=/trace/3")
    assert (answer.status_code, answer.headers["location"]) == (303, "/trace/3")
    cookie = next(each for each in answer.headers.get_list("set-cookie") if "knick_session" in each)
    assert cookie.startswith("__Host-knick_session=")
    assert {"Secure", "HttpOnly", "Path=/"} <= set(cookie.split("; "))
    me = tls.get("/api/v1/me").json()
    assert (me["kind"], me["name"]) == ("person", "ada@example.org")
    assert tls.post("/sign-out").status_code == 303
    assert tls.get("/api/v1/me").json()["kind"] == "anyone"


def test_the_audit_log_has_the_address_of_the_client_and_not_of_the_proxy(tls: Browser, instance: Instance) -> None:
    tls.client.headers["x-forwarded-for"] = "198.51.100.1"  # nginx drops what the client makes up
    try:
        tls.sign_in("1")
    finally:
        del tls.client.headers["x-forwarded-for"]
    assert instance.store.audit.entries(limit=1)[0].address == _CLIENT


def test_a_client_cannot_have_another_host_or_scheme_believed(tls: Browser) -> None:
    forged = {"x-forwarded-host": "evil.example", "x-forwarded-proto": "http"}
    location = tls.get("/sign-in", headers=forged).headers["location"]
    assert "evil" not in location
    assert "redirect_uri=https%3A%2F%2Flocalhost" in location


def test_no_one_is_the_local_person_behind_a_proxy(instance: Instance, guide: list[Config], tmp_path: Path) -> None:
    certificate, port = make_certificate(tmp_path), free_port()
    config = replace(guide[2], sign_in={}, roles={})
    with serving(_served_as(instance, config, f"https://localhost:{port}")) as server:
        text = nginx_of_guide(_TLS, port=port, server=server, certificate=certificate)
        with running_nginx(tmp_path, text, port):
            answer = httpx.get(f"https://localhost:{port}/api/v1/me", verify=certificate.trust())
            assert answer.json()["kind"] == "anyone"


class _Authentication(BaseHTTPRequestHandler):
    """The service that a proxy asks who sends a request: here, whoever has the cookie."""

    def do_GET(self) -> None:
        known = "gate=alice" in self.headers.get("cookie", "")
        self.send_response(202 if known else 401)
        if known:
            self.send_header("X-Auth-Request-Email", "alice@example.org")
            self.send_header("X-Auth-Request-Groups", "performance,ops")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def gate(
    instance: Instance, guide: list[Config], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, httpx.Client]]:
    """Return the address of an instance behind a proxy that signs people in, and a client that goes through the proxy."""
    find_nginx()
    directory = tmp_path_factory.mktemp("gate")
    certificate, port = make_certificate(directory), free_port()
    address = f"https://localhost:{port}"
    service = ThreadingHTTPServer(("127.0.0.1", 0), _Authentication)
    threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        with serving(_served_as(instance, guide[3], address)) as server:
            text = nginx_of_guide(
                _GATE,
                port=port,
                server=server,
                certificate=certificate,
                authentication=f"http://127.0.0.1:{service.server_port}",
            )
            with (
                running_nginx(directory, text, port),
                httpx.Client(base_url=address, verify=certificate.trust()) as client,
            ):
                yield server, client
    finally:
        service.shutdown()
        service.server_close()


def test_whom_the_proxy_signed_in_is_the_caller(gate: tuple[str, httpx.Client]) -> None:
    me = gate[1].get("/api/v1/me", headers={"cookie": "gate=alice"}).json()
    assert (me["kind"], me["name"], me["mail"]) == ("person", "alice@example.org", "alice@example.org")
    assert me["permissions"]["everywhere"] == ["read", "decide", "measure"]


def test_the_proxy_replaces_what_a_client_writes_into_its_headers(gate: tuple[str, httpx.Client]) -> None:
    forged = {"cookie": "gate=alice", "x-forwarded-user": "boss@example.org", "x-forwarded-groups": "admins"}
    assert gate[1].get("/api/v1/me", headers=forged).json()["name"] == "alice@example.org"


def test_the_proxy_turns_strangers_away(gate: tuple[str, httpx.Client]) -> None:
    assert gate[1].get("/api/v1/me", headers={"x-forwarded-user": "boss@example.org"}).status_code == 401


def test_the_same_headers_past_the_proxy_name_no_one(gate: tuple[str, httpx.Client]) -> None:
    forged = {"x-forwarded-user": "boss@example.org", "x-forwarded-groups": "performance"}
    with httpx.Client(transport=httpx.HTTPTransport(local_address=_CLIENT)) as client:
        answer = client.get(f"{gate[0]}api/v1/me", headers=forged)
        assert answer.json()["kind"] == "anyone"
        assert "boss" not in answer.text
        assert client.get(f"{gate[0]}api/v1/changes", headers=forged).status_code == 401
