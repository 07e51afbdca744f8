"""Values for other programs: JSON beside binary numbers, points as a table, and the JSON data source of Grafana."""

from __future__ import annotations

import csv
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from tests.server.client import Client

ALWAYS = {"from": "1970-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}


def one(reader: Client) -> dict[str, Any]:
    found: dict[str, Any] = reader.get("/api/v1/traces?limit=1").json()["traces"][0]
    return found


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        ("", "*/*", "application/octet-stream"),
        ("&format=json", "*/*", "application/json"),
        ("", "application/json", "application/json"),
        ("", "application/json, application/octet-stream", "application/octet-stream"),
        ("&format=binary", "application/json", "application/octet-stream"),
    ],
)
def test_the_address_decides_about_the_format_before_the_header(
    reader: Client, path: str, accept: str, kind: str
) -> None:
    for address in (f"/api/v1/values?traces={one(reader)['id']}{path}", f"/api/v1/commits/times?{path}"):
        answer = reader.get(address, headers={"accept": accept})
        assert answer.headers["content-type"] == kind
        assert "Accept" in answer.headers["vary"].split(", ")


def test_json_has_the_numbers_of_the_binary_answer(reader: Client) -> None:
    address = f"/api/v1/values?traces={one(reader)['id']}&points=5"
    numbers = np.frombuffer(reader.get(address).content)
    (answer,) = reader.get(address + "&format=json").json()
    count = int(numbers[0])
    assert answer == {
        "trace": one(reader)["id"],
        "measured": int(numbers[1]),
        "positions": numbers[2 : 2 + count].tolist(),
        "values": numbers[2 + count :].tolist(),
    }


def test_times_are_texts_in_json(reader: Client) -> None:
    numbers = np.frombuffer(reader.get("/api/v1/commits/times").content)
    times = reader.get("/api/v1/commits/times?format=json").json()["times"]
    assert [datetime.fromisoformat(time).timestamp() for time in times] == numbers.tolist()


def test_points_have_a_column_for_each_param(reader: Client) -> None:
    trace = one(reader)
    query = " ".join(f"{name}={value}" for name, value in trace["params"].items())
    answer = reader.get("/api/v1/points", params={"query": query, "format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert {name: rows[0][name] for name in trace["params"]} == trace["params"]
    assert {"commit", "commit_time", "author", "value", "pos"} <= rows[0].keys()
    again = reader.get("/api/v1/points", params={"query": query}).json()
    assert [{name: str(cell) for name, cell in row.items()} for row in again] == rows


def test_a_query_of_points_that_cannot_be_read_is_refused(reader: Client) -> None:
    assert reader.get("/api/v1/points", params={"query": "parse="}).status_code == 400


# Grafana


def ask(reader: Client, name: str, body: dict[str, Any], expected: int = 200) -> Any:
    answer = reader.post(f"/api/v1/grafana/{name}", json=body)
    assert answer.status_code == expected, answer.text
    return answer.json()


def test_grafana_finds_the_data_source(reader: Client) -> None:
    assert reader.get("/api/v1/grafana").json() == {"status": "success"}


def test_grafana_is_offered_terms(reader: Client) -> None:
    name, value = next(iter(one(reader)["params"].items()))
    assert f"{name}={value}" in ask(reader, "search", {"target": value[1:].upper(), "type": "timeserie"})
    assert {"label": f"{name}={value}", "value": f"{name}={value}"} in ask(reader, "metrics", {"payload": {}})
    assert ask(reader, "search", {"target": "in no name"}) == []


def test_grafana_plots_queries_and_formulas_by_the_time_of_commits(reader: Client) -> None:
    trace = one(reader)
    query = " ".join(f"{name}={value}" for name, value in trace["params"].items())
    body = {
        "app": "dashboard",
        "range": {**ALWAYS, "raw": {"from": "now-6h", "to": "now"}},
        "maxDataPoints": 100_000,
        "targets": [
            {"target": query, "refId": "A", "type": "timeserie"},
            {"target": f'= filter("{query}") * 2', "refId": "B"},
            {"target": query, "refId": "C", "hide": True},
            {"target": None, "refId": "D"},
        ],
    }
    plain, doubled = ask(reader, "query", body)
    (values,) = reader.get(f"/api/v1/values?traces={trace['id']}&format=json&points=100000").json()
    times = reader.get("/api/v1/commits/times?format=json").json()["times"]
    assert plain["target"] == trace["key"]
    assert [value for value, _ in plain["datapoints"]] == values["values"]
    assert [time for _, time in plain["datapoints"]] == [
        round(datetime.fromisoformat(times[position]).timestamp() * 1000) for position in values["positions"]
    ]
    assert [value for value, _ in doubled["datapoints"]] == [2 * value for value in values["values"]]


def test_grafana_gets_only_what_lies_in_its_range(reader: Client) -> None:
    trace = one(reader)
    query = " ".join(f"{name}={value}" for name, value in trace["params"].items())
    times = reader.get("/api/v1/commits/times?format=json").json()["times"]
    body = {"range": {"from": times[3], "to": times[10]}, "targets": [{"target": query}], "maxDataPoints": 1000}
    ((found),) = ask(reader, "query", body)
    first, last = (round(datetime.fromisoformat(times[position]).timestamp() * 1000) for position in (3, 10))
    assert found["datapoints"]
    assert all(first <= time <= last for _, time in found["datapoints"])


def test_grafana_gets_changes_as_annotations(reader: Client) -> None:
    annotations = ask(reader, "annotations", {"range": ALWAYS, "annotation": {"name": "changes", "query": ""}})
    listed = reader.get("/api/v1/changes").json()["changes"]
    assert {each["title"].partition(":")[0] for each in annotations} >= {each["id"] for each in listed} != set()
    assert [each["time"] for each in annotations] == sorted(each["time"] for each in annotations)
    assert ask(reader, "annotations", {"range": ALWAYS, "annotation": {"query": "benchmark=none"}}) == []


@pytest.mark.parametrize("target", ["parse=", '= ave("'])
def test_a_query_that_cannot_be_read_is_an_error_in_grafana(reader: Client, target: str) -> None:
    assert ask(reader, "query", {"range": ALWAYS, "targets": [{"target": target}]}, 400)["error"]
