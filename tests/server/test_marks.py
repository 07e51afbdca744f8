"""What stands on the lines of a plot: findings, and changes of environment, of many traces in one request."""

from __future__ import annotations

from typing import Any

from tests.server.client import Client
from tests.server.story import FASTER, SLOWER
from tests.server.test_environments import measure

from knickpoint.instance import Instance


def trace_ids(client: Client, query: str) -> list[int]:
    found = client.get("/api/v1/traces", params={"query": query}).json()["traces"]
    return [int(trace["id"]) for trace in found]


def ask(client: Client, ids: list[int], **parameters: str) -> Any:
    answer = client.get("/api/v1/marks", params={"traces": ",".join(map(str, ids)), **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_findings_of_several_traces_come_at_once_with_their_traces(reader: Client) -> None:
    ids = trace_ids(reader, "benchmark=parse|print|load")
    marks = ask(reader, ids)
    single = {key: reader.get(f"/api/v1/traces/{key}/change-points").json()["change_points"] for key in ids}
    expected = [(key, each["suspect_range"]["position"], each["id"]) for key in sorted(ids) for each in single[key]]
    assert [(mark["trace"], mark["position"], mark["finding"]["id"]) for mark in marks] == expected
    assert {mark["position"] for mark in marks} == {SLOWER, FASTER}
    assert {mark["finding"]["direction"] for mark in marks if mark["position"] == SLOWER} == {"regression"}


def test_a_change_of_environment_is_a_mark_where_it_is_asked_for(instance: Instance, client: Client) -> None:
    for position, processor in ((10, "one"), (12, "one"), (15, "two")):
        measure(instance, position, cpu=processor)
    ids = trace_ids(client, "benchmark=fresh")
    assert ask(client, ids) == []
    (mark,) = ask(client, ids, environments="true")
    assert (mark["trace"], mark["position"], mark["finding"]) == (ids[0], 15, None)
    assert mark["facts"] == [{"name": "cpu", "before": "one", "after": "two"}]


def test_environments_of_too_many_traces_are_refused(reader: Client) -> None:
    (key,) = trace_ids(reader, "benchmark=parse")
    many = ",".join([str(key)] * 17)
    answer = reader.get("/api/v1/marks", params={"traces": many, "environments": "true"})
    assert answer.status_code == 400
    assert "at most 16 traces" in answer.json()["remedy"]
