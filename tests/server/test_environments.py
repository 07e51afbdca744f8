"""Where the environment of a trace changed."""

from __future__ import annotations

import json
from typing import Any

from tests.server.client import Client
from tests.server.story import REPOSITORY, commit_hash

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance


def measure(instance: Instance, position: int, **environment: str) -> None:
    sidecar = Sidecar(repository=REPOSITORY, commit=commit_hash(position), run=f"r{position}", environment=environment)
    data = json.dumps([{"name": "fresh", "value": 100 + position, "unit": "ns/iter"}]).encode()
    assert not import_data(instance, data, source=f"fresh {position}", stated=sidecar).failed


def ask(client: Client, benchmark: str) -> Any:
    found = client.get("/api/v1/traces", params={"query": f"benchmark={benchmark}"}).json()["traces"]
    answer = client.get(f"/api/v1/traces/{found[0]['id']}/environments")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_another_processor_is_told_with_its_commit(instance: Instance, client: Client) -> None:
    for position, processor in ((10, "one"), (12, "one"), (15, "two")):
        measure(instance, position, cpu=processor, os="Debian")
    (change,) = ask(client, "fresh")
    assert (change["previous"], change["position"], change["commit"]["hash"]) == (12, 15, commit_hash(15))
    assert change["facts"] == [{"name": "cpu", "before": "one", "after": "two"}]


def test_a_trace_that_stayed_where_it_was_has_no_changes(client: Client) -> None:
    assert ask(client, "parse") == []
