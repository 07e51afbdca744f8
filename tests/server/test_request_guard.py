"""Who may ask, and what every answer carries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from starlette.datastructures import Headers
from tests.server.client import Client

from knickpoint.instance import Instance
from knickpoint.server import create_app
from knickpoint.server.request_guard import is_known_host, is_own_origin


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "10.1.2.3", "perf.example"]
)
def test_addresses_and_own_names_are_known(host: str) -> None:
    assert is_known_host(host, {"perf.example"})


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "perf.example.evil:8765"])
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
    assert reader.get("/api/v1/regressions").json()["processed"] == 0


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
    assert set(answer.json()) == {"error", "where", "remedy"}
    assert "secret" not in answer.text


def _pieces(number: int) -> Iterator[bytes]:
    yield b'{"ids": [1'
    for _ in range(number):
        yield b", 1" * 100_000
    yield b'], "status": "hidden"}'


@pytest.mark.parametrize("path", ["/api/v1/triage", "/api/v1/triage/merge", "/api/v1/shortcuts"])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(reader: Client, path: str) -> None:
    answer = reader.post(path, content=b"x" * 4_000_001)
    assert (answer.status_code, answer.json()["error"]) == (413, "The body is larger than 4,000,000 bytes")


def test_a_body_without_an_end_is_refused_where_it_gets_too_large(reader: Client) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for piece in _pieces(20):
            yield piece

    answer = reader.post("/api/v1/triage", content=endless(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert set(answer.json()) == {"error", "where", "remedy"}
