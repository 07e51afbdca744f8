"""Failures and skips, with a trace and without."""

from __future__ import annotations

from typing import Any

from tests.server.client import Client
from tests.server.story import REPOSITORY, commit_hash

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance


def take(instance: Instance, position: int, *results: tuple[str, str, str]) -> None:
    """Import a table of name, value or status, and message."""
    rows = [
        f"{name},{value if value.isdigit() else ''},{'ok' if value.isdigit() else value},{message}"
        for name, value, message in results
    ]
    data = "\n".join(["benchmark,value,status,message", *rows, ""]).encode()
    sidecar = Sidecar(
        repository=REPOSITORY, commit=commit_hash(position), run=f"r{position}", links={"log": "https://l"}
    )
    assert not import_data(instance, data, source=f"fresh {position}", stated=sidecar).failed


def ask(client: Client, path: str) -> Any:
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def trace_of(client: Client, benchmark: str) -> int:
    found = client.get("/api/v1/traces", params={"query": f"benchmark={benchmark}"}).json()["traces"]
    return int(found[0]["id"])


def test_the_failures_of_a_trace_are_told_in_the_order_of_its_commits(instance: Instance, client: Client) -> None:
    take(instance, 10, ("fresh", "1", ""))
    take(instance, 14, ("fresh", "skipped", "not today"))
    take(instance, 12, ("fresh", "failed", "boom"))
    answer = ask(client, f"traces/{trace_of(client, 'fresh')}/without-value")
    assert [(each["commit"]["position"], each["outcome"], each["message"]) for each in answer] == [
        (12, "failed", "boom"),
        (14, "skipped", "not today"),
    ]
    assert answer[0]["links"] == {"log": "https://l"}


def test_a_trace_that_was_always_measured_has_no_failures(client: Client) -> None:
    assert ask(client, f"traces/{trace_of(client, 'parse')}/without-value") == []


def test_benchmarks_without_a_trace_are_listed_with_their_newest_word(instance: Instance, client: Client) -> None:
    take(instance, 10, ("fresh", "1", ""), ("lost", "failed", "first"))
    take(instance, 11, ("fresh", "1", ""), ("lost", "failed", "second"))
    (each,) = ask(client, "never-measured")
    assert (each["params"], each["outcome"], each["message"], each["runs"]) == (
        {"benchmark": "lost"},
        "failed",
        "second",
        2,
    )
    assert each["commit"] == commit_hash(11)


def test_a_benchmark_that_is_measured_at_last_is_no_longer_listed(instance: Instance, client: Client) -> None:
    take(instance, 10, ("fresh", "1", ""), ("lost", "failed", "first"))
    take(instance, 11, ("lost", "2", ""))
    assert ask(client, "never-measured") == []
