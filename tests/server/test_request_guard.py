"""Who may ask, and what every answer carries."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest
from starlette.datastructures import Headers
from tests.server.client import ERROR_FIELDS, Client

from knickpoint.instance import Instance
from knickpoint.server import create_app
from knickpoint.server.request_guard import SEND_LESS, is_known_host, is_own_origin


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "10.1.2.3", "perf.example"]
)
def test_addresses_and_own_names_are_known(host: str) -> None:
    assert is_known_host(host, {"perf.example"})


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "perf.example.evil:8765",
        "localhost:evil",
        "localhost:80@evil.example",
        "[127.0.0.1]evil.example",
        "[localhost",
        "localhost:8765/evil",
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert not is_known_host(host, {"perf.example"})


@pytest.mark.parametrize(
    ("headers", "each"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:8765"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://127.0.0.1:9999"}, False),
        ({"origin": "https://127.0.0.1:8765"}, False),
        ({"origin": "ftp://127.0.0.1:8765"}, False),
        ({"origin": "https://127.0.0.1:8765", "sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
    ],
)
def test_a_change_must_come_from_our_own_page_or_from_no_page(headers: dict[str, str], *, each: bool) -> None:
    assert is_own_origin(Headers({"host": "127.0.0.1:8765", **headers})) is each


def test_a_name_that_is_not_ours_is_refused(reader: Client) -> None:
    answer = reader.get("/api/v1/health", headers={"host": "evil.example"})
    assert answer.status_code == 403
    assert "evil.example" in answer.json()["error"]


def test_a_form_of_another_site_changes_nothing(reader: Client) -> None:
    body = {"ids": [1], "status": "hidden"}
    answer = reader.post("/api/v1/triage", json=body, headers={"origin": "http://evil.example"})
    assert answer.status_code == 403
    assert reader.get("/api/v1/changes").json()["processed"] == 0


def test_a_name_given_to_the_server_is_known(instance: Instance) -> None:
    client = Client(create_app(instance, hosts=["knick.test"]), "http://knick.test")
    assert client.get("/api/v1/health").status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/health", "/triage", "/nothing"])
def test_every_answer_forbids_what_is_not_ours(reader: Client, path: str) -> None:
    policy = reader.get(path).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_a_defect_shows_no_traceback(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(instance.store.commits, "repositories", fail)
    answer = Client(create_app(instance)).get("/api/v1/health")
    assert answer.status_code == 500
    assert set(answer.json()) == ERROR_FIELDS
    assert "secret" not in answer.text


def _pieces(number: int) -> Iterator[bytes]:
    yield b'{"ids": [1'
    for _ in range(number):
        yield b", 1" * 100_000
    yield b'], "status": "hidden"}'


@pytest.mark.parametrize("path", ["/api/v1/triage", "/api/v1/triage/merge", "/api/v1/shortcuts", "/api/v1/comparison"])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(reader: Client, path: str) -> None:
    answer = reader.post(path, content=b"x" * 4_000_001)
    assert (answer.status_code, answer.json()["error"]) == (413, "The body is larger than 4,000,000 bytes")
    assert answer.json()["remedy"] == SEND_LESS


def test_a_body_without_an_end_is_refused_where_it_gets_too_large(reader: Client) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for piece in _pieces(20):
            yield piece

    answer = reader.post("/api/v1/triage", content=endless(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["remedy"]) == (413, SEND_LESS)
    assert set(answer.json()) == ERROR_FIELDS


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({"origin": "https://perf.example"}, True),
        ({"origin": "http://perf.example"}, False),
        ({"origin": "https://perf.example.evil"}, False),
        ({"origin": "https://perf.example", "sec-fetch-site": "cross-site"}, False),
        ({"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
    ],
)
def test_behind_a_proxy_the_public_address_is_the_own_origin(headers: dict[str, str], *, own: bool) -> None:
    assert is_own_origin(Headers({"host": "127.0.0.1:8765", **headers}), "https://perf.example/") is own


@pytest.mark.parametrize(
    ("origin", "own"),
    [("https://perf.example", True), ("http://perf.example", False), ("https://perf.example:8443", False)],
)
@pytest.mark.parametrize("address", ["https://perf.example/", "https://perf.example/knick"])
def test_a_page_under_the_public_name_without_https_is_another_site(origin: str, address: str, *, own: bool) -> None:
    assert is_own_origin(Headers({"host": "perf.example", "origin": origin}), address) is own


@pytest.mark.parametrize(("origin", "code"), [("http://perf.example", 403), ("https://perf.example", 401)])
def test_the_scheme_of_a_page_is_that_which_a_known_proxy_forwards(instance: Instance, origin: str, code: int) -> None:
    server = replace(instance.config.server, proxies=("127.0.0.1",))
    app = create_app(replace(instance, config=replace(instance.config, server=server)), hosts=["perf.example"])
    client = Client(app, "http://perf.example", peer="127.0.0.1")
    headers = {"origin": origin, "x-forwarded-proto": "https"}
    assert client.post("/api/v1/triage", json={}, headers=headers).status_code == code


@pytest.mark.parametrize(
    "headers",
    [{"origin": "null"}, {"origin": ""}, {"sec-fetch-site": "cross-site"}, {"origin": "http://127.0.0.1.evil.example"}],
)
@pytest.mark.parametrize("path", ["/api/v1/triage", "/api/v1/triage/undo", "/api/v1/shortcuts", "/api/v1/results"])
def test_no_page_of_another_site_changes_anything(reader: Client, path: str, headers: dict[str, str]) -> None:
    assert reader.post(path, json={"keys": [",a=1,"]}, headers=headers).status_code == 403
    assert reader.post(path, content=b"ids=1", headers={**headers, "content-type": "text/plain"}).status_code == 403


def test_the_name_in_the_public_address_is_known(instance: Instance) -> None:
    server = replace(instance.config.server, address="https://perf.example/knick")
    app = create_app(replace(instance, config=replace(instance.config, server=server)))
    assert Client(app, "http://perf.example").get("/api/v1/version").status_code == 200
    assert Client(app, "http://evil.example").get("/api/v1/version").status_code == 403


@pytest.mark.parametrize(("address", "only_https"), [("https://perf.example", True), ("http://perf.example", False)])
def test_a_public_address_with_https_keeps_browsers_on_https(
    instance: Instance, address: str, *, only_https: bool
) -> None:
    server = replace(instance.config.server, address=address)
    client = Client(create_app(replace(instance, config=replace(instance.config, server=server))))
    assert ("strict-transport-security" in client.get("/triage").headers) is only_https


@pytest.mark.parametrize("path", ["/api/v1/health", "/triage", "/nothing", "/api/v1/triage/undo"])
def test_every_answer_has_the_headers_of_security(reader: Client, path: str) -> None:
    headers = reader.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "camera=()" in headers["permissions-policy"]
    assert "object-src 'none'" in headers["content-security-policy"]
    assert (headers.get("cache-control") == "no-store") is path.startswith("/api/")


def _embeddable(instance: Instance) -> Client:
    server = replace(instance.config.server, embed=("https://wiki.example", "http://board.example:8080"))
    return Client(create_app(replace(instance, config=replace(instance.config, server=server))))


def test_pages_with_embed_may_be_shown_by_the_websites_of_the_configuration(instance: Instance) -> None:
    headers = _embeddable(instance).get("/triage?embed").headers
    assert "frame-ancestors https://wiki.example http://board.example:8080" in headers["content-security-policy"]
    assert "x-frame-options" not in headers


@pytest.mark.parametrize("path", ["/triage", "/sign-in?embed", "/link/x?embed", "/api/v1/health?embed"])
def test_other_pages_stay_out_of_frames(instance: Instance, path: str) -> None:
    headers = _embeddable(instance).get(path).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"


def test_without_websites_embed_changes_nothing(reader: Client) -> None:
    assert reader.get("/triage?embed").headers["x-frame-options"] == "DENY"


def _addresses(client: Client) -> Iterator[str]:
    """Yield an address of every endpoint that answers GET."""
    known = {"key": "1", "revision": "1", "name": "none", "change": "1", "bisection": "1"}
    required = {"traces": "1", "change": "1", "finding": "1", "commit": "1", "formula": 'ave(filter(""))'}
    for template, operations in client.get("/api/v1/openapi.json").json()["paths"].items():
        if "get" in operations:
            wanted = [each["name"] for each in operations["get"].get("parameters", ()) if each["in"] == "query"]
            query = "&".join(f"{name}={quote(required[name])}" for name in wanted if name in required)
            yield f"{template.format_map(known)}?{query}"


@pytest.mark.long
def test_reading_changes_nothing_in_the_store(instance: Instance) -> None:
    client = Client(create_app(instance))

    def content() -> list[str]:
        database = sqlite3.connect(instance.directory / "knickpoint.db")
        try:
            return list(database.iterdump())
        finally:
            database.close()

    before = content()
    answers = {
        address: client.ask(method, address).status_code for method in ("GET", "HEAD") for address in _addresses(client)
    }
    assert content() == before
    assert len(answers) > 20
    assert {code for code in answers.values() if code >= 500} == set()
    assert sum(code == 200 for code in answers.values()) > 15, answers
