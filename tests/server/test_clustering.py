"""The traces of a query are clustered through the API."""

from __future__ import annotations

import asyncio

import pytest
from fastapi import FastAPI
from starlette.types import Message, Scope
from tests.server.client import Client, error_of
from tests.watch.clustered import LATE, LATER, SOON, SOONER, generated

from knickpoint.server import create_app

URL = "/api/v1/clustering"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(generated(tmp_path_factory.mktemp("clustered")))


@pytest.fixture
def client(app: FastAPI) -> Client:
    return Client(app)


def test_the_strongest_step_comes_first_with_its_commit_and_what_its_traces_share(client: Client) -> None:
    found = client.get(URL, params={"k": 3}).json()
    assert found["selected"] == 30
    moved = [each for each in found["clusters"] if each["interesting"]]
    assert {(each["commit"]["position"], each["traces"]) for each in moved} == {(SOON, SOONER), (LATE, LATER)}
    strengths = [abs(each["regression"]) for each in found["clusters"]]
    assert strengths == sorted(strengths, reverse=True)
    assert len(moved[0]["centroid"]) == len(found["positions"]) == 80
    soon = next(each for each in moved if each["commit"]["position"] == SOON)
    assert soon["params"][0]["name"] == "arch"
    assert [each["id"] for each in soon["best"]] == soon["ids"][:20]


def test_a_query_and_a_cutoff_choose_what_is_clustered_and_what_counts(client: Client) -> None:
    found = client.get(URL, params={"query": "arch=x86", "interesting": 1000}).json()
    assert found["selected"] == 18
    assert not any(each["interesting"] for each in found["clusters"])


@pytest.mark.parametrize(
    ("params", "where"),
    [({"k": -1}, "k"), ({"query": "arch~("}, "query"), ({"first": 5000}, "no stretch"), ({"cutoff": 2}, "cutoff")],
)
def test_what_cannot_be_clustered_is_refused(client: Client, params: dict[str, object], where: str) -> None:
    answer = client.get(URL, params=params)
    assert answer.status_code in {400, 422}
    assert where in str(error_of(answer))


def test_the_work_ends_when_whoever_asked_has_gone(app: FastAPI) -> None:
    sent: list[Message] = []
    arriving: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        return arriving.pop() if arriving else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": URL, "raw_path": URL.encode(), "query_string": b"k=3", "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 499
