"""The description of the API accepts no more than the API does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.server.client import Client
from tests.server.description import DESCRIPTION, PATHS

from knickpoint.answers.changes import Ordering

SHAPES: dict[str, Any] = DESCRIPTION["components"]["schemas"]


def parameter(path: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in PATHS[path]["get"]["parameters"] if each["name"] == name]
    schema: dict[str, Any] = found["schema"]
    return schema


def texts(schema: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [schema, *schema.get("anyOf", ()), schema.get("items", {})]
    return [part for part in parts if part.get("type") == "string"]


def test_every_text_of_an_address_is_described_by_a_pattern_or_a_format() -> None:
    operations = [(path, operation) for path, methods in PATHS.items() for operation in methods.values()]
    undescribed = [
        (path, each["name"])
        for path, operation in operations
        for each in operation.get("parameters", ())
        if not all({"pattern", "enum", "format"} & part.keys() for part in texts(each["schema"]))
    ]
    assert undescribed == []


@pytest.mark.parametrize(
    "shape", ["ListFilter", "TriageRequest", "RegroupRequest", "UndoRequest", "ShortcutRequest", "TokenRequest"]
)
def test_every_text_of_a_body_is_described_by_a_pattern_or_a_format(shape: str) -> None:
    for name, schema in SHAPES[shape]["properties"].items():
        assert all({"pattern", "enum", "format"} & part.keys() for part in texts(schema)), name


@pytest.mark.parametrize(
    "path", ["commits?line=%00", "changes?filter=a%00b", "shortcuts/%00", "commits/abcdefg%00", "traces?x%00=1"]
)
def test_an_address_with_the_character_nul_is_refused(reader: Client, path: str) -> None:
    answer = reader.get(f"/api/v1/{path}")
    assert (answer.status_code, "NUL" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("triage", {"ids": [1], "note": "a\0b"}),
        ("triage", {"ids": [1], "ticket": "\0"}),
        ("triage", {"ids": [1], "assignee": "\0"}),
        ("triage/undo", {"ids": [1], "filter": {"filter": "\0"}}),
        ("triage/split", {"ids": [1], "note": "\0"}),
        ("shortcuts", {"keys": [",a=\0,"]}),
        ("tokens", {"name": "a", "scopes": ["read"], "repositories": ["\0"]}),
        ("triage", {"ids": [1], "note": "\ud800"}),
    ],
)
def test_a_body_with_a_text_that_no_store_holds_is_refused(reader: Client, path: str, body: dict[str, Any]) -> None:
    content = json.dumps(body)  # writes half of a character as an escape
    answer = reader.post(f"/api/v1/{path}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422


def test_the_orders_of_a_list_are_described() -> None:
    pattern = parameter("/api/v1/changes", "sort")["pattern"]
    assert all(re.search(pattern, f"{sign}{each.value}") for each in Ordering for sign in ("", "-"))
    assert not any(re.search(pattern, text) for text in ("", "name", "--change", "change,hazard"))


@pytest.mark.parametrize("ids", ["1", "1,2", ",".join(["123456789012345"] * 256)])
def test_ids_of_traces_that_are_accepted_are_described(ids: str) -> None:
    assert re.search(parameter("/api/v1/values", "traces")["pattern"], ids)


@pytest.mark.parametrize("ids", ["", "a", "1, 2", "-1", ",".join(["1"] * 257), "1234567890123456"])
def test_ids_of_traces_that_are_refused_are_not_described(reader: Client, ids: str) -> None:
    assert not re.search(parameter("/api/v1/values", "traces")["pattern"], ids)
    assert reader.get("/api/v1/values", params={"traces": ids}).status_code == 400


def test_keys_of_a_short_id_and_names_of_tokens_are_described() -> None:
    assert SHAPES["ShortcutRequest"]["properties"]["keys"]["items"]["pattern"].startswith("^,")
    assert re.search(SHAPES["TokenRequest"]["properties"]["name"]["pattern"], "ci-2.x")
    assert SHAPES["TokenRequest"]["properties"]["scopes"]["minItems"] == 1
