"""Each request has an id, in its answer and in the answer of an error."""

from __future__ import annotations

import pytest
from tests.server.client import Client

from knickpoint.instance import Instance
from knickpoint.server import create_app


def test_a_request_without_an_id_gets_one(instance: Instance) -> None:
    client = Client(create_app(instance))
    ids = {client.get("/api/v1/version").headers["x-request-id"] for _ in range(2)}
    assert len(ids) == 2
    assert all(len(each) == 16 for each in ids)


@pytest.mark.parametrize("wrong", ["a b", 'x"y', "x" * 65, "\u00e9"])
def test_an_id_that_would_not_fit_into_a_log_is_replaced(instance: Instance, wrong: str) -> None:
    answer = Client(create_app(instance)).get("/api/v1/version", headers={"X-Request-Id": wrong.encode()})
    assert len(answer.headers["x-request-id"]) == 16


def test_a_request_that_the_guard_refuses_has_its_id(instance: Instance) -> None:
    answer = Client(create_app(instance)).get("/api/v1/version", headers={"Host": "evil.example", "X-Request-Id": "r1"})
    assert (answer.status_code, answer.json()["request"], answer.headers["x-request-id"]) == (403, "r1", "r1")


def test_a_defect_of_the_server_is_found_in_the_log_by_the_id_of_the_request(
    instance: Instance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(instance.store.commits, "repositories", fail)
    answer = Client(create_app(instance)).get("/api/v1/ready", headers={"X-Request-Id": "r2"})
    assert (answer.status_code, answer.json()["request"], answer.headers["x-request-id"]) == (500, "r2", "r2")
    assert "(request r2)" in caplog.text


def test_the_log_does_not_have_the_secret_of_a_signed_link(
    instance: Instance, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="knickpoint.requests")
    Client(create_app(instance)).get("/link/pl4nted")
    assert "/link/…: " in caplog.text
    assert "pl4nted" not in caplog.text
