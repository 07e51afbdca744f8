"""The traces of a query are clustered through the API."""

from __future__ import annotations

import asyncio
import json
import zlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Scope
from tests.server.client import Client, error_of
from tests.watch.clustered import LATE, LATER, SOON, SOONER, generated

from knickpoint.model.query import parse_query
from knickpoint.progress import Progress, Report, Stage, reporting
from knickpoint.server import create_app
from knickpoint.watch.trace_clustering import ClusteringRules, cluster_traces

URL = "/api/v1/clustering"


def lines_of(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


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
    [({"k": -1}, "k"), ({"query": "arch~("}, "query"), ({"first": 5000}, "not a range"), ({"cutoff": 2}, "cutoff")],
)
def test_what_cannot_be_clustered_is_refused(client: Client, params: dict[str, object], where: str) -> None:
    answer = client.get(URL, params=params)
    assert answer.status_code in {400, 422}
    assert where in str(error_of(answer))


def test_an_answer_in_lines_tells_how_far_the_work_is_and_ends_with_the_clusters(client: Client) -> None:
    answer = client.get(URL, params={"k": 3, "progress": True}, headers={"accept-encoding": "identity"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    *told, last = lines_of(answer)
    assert last == {"answer": client.get(URL, params={"k": 3}).json()}
    assert all(each["progress"]["stage"] in {"reading", "grouping", "fitting"} for each in told)
    assert all(each["progress"]["start"] <= each["progress"]["starts"] for each in told)


def test_what_is_told_while_clusters_are_sought_has_the_start_and_its_iteration(tmp_path: Path) -> None:
    told: list[Progress] = []

    class Listening(Report):
        def __setattr__(self, name: str, value: Progress) -> None:
            told.append(value)
            super().__setattr__(name, value)

    instance = generated(tmp_path)
    (repository,) = instance.store.commits.repositories()
    line = instance.store.commits.line(repository)
    query = parse_query("")
    ids, facets = instance.store.traces.select(repository, query), instance.store.traces.facets(repository, query)
    with reporting(Listening()):
        cluster_traces(instance.store, line, ids, facets, ClusteringRules(k=3))
    assert told[0] == Progress(Stage.READING)
    begun = [each for each in told if each.stage is Stage.GROUPING and each.iteration == 0]
    assert [(each.start, each.starts) for each in begun] == [(start, 8) for start in range(1, 9)]
    counted = [each.iteration for each in told if each.stage is Stage.GROUPING and each.start == 1]
    assert counted == list(range(len(counted)))
    assert len(counted) > 1
    assert told[-1].stage is Stage.FITTING


@pytest.mark.parametrize("params", [{"query": "arch~("}, {"first": 5000}, {"k": -1}])
def test_what_fails_before_it_tells_anything_is_an_error_as_of_any_request(
    client: Client, params: dict[str, object]
) -> None:
    answer, plain = client.get(URL, params={**params, "progress": True}), client.get(URL, params=params)
    assert answer.status_code == plain.status_code
    assert error_of(answer) == error_of(plain)


def test_lines_arrive_compressed_one_by_one(app: FastAPI) -> None:
    sent = exchange(app, b"k=3&progress=true", [(b"accept-encoding", b"gzip")], gone=False)
    assert (b"content-encoding", b"gzip") in sent[0]["headers"]
    reading = zlib.decompressobj(16 + zlib.MAX_WBITS)
    parts = [reading.decompress(message["body"]) for message in sent[1:]]
    assert all(part.endswith(b"\n") for part in parts)
    assert "answer" in json.loads(parts[-1])


@pytest.mark.parametrize("query", [b"k=3", b"k=3&progress=true"])
def test_the_work_ends_when_whoever_asked_has_gone(app: FastAPI, query: bytes) -> None:
    sent = exchange(app, query, [], gone=True)
    last = sent[-1].get("body", b"")
    assert sent[0]["status"] == 499 or json.loads(last.splitlines()[-1])["status"] == 499


def exchange(app: FastAPI, query: bytes, headers: list[tuple[bytes, bytes]], *, gone: bool) -> list[Message]:
    """Return what the server sends to a client that goes at once, or never."""
    sent: list[Message] = []
    arriving: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not arriving and not gone:
            await asyncio.Event().wait()
        return arriving.pop() if arriving else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": URL, "raw_path": URL.encode(), "query_string": query, "headers": [(b"host", b"127.0.0.1"), *headers],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return sent
