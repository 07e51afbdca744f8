"""Requests made from the description of the API: every answer is described, and none is a defect of the server.

Of each operation, most values agree with their schema, and the others are anything. An answer with a status that
the description does not have, or with a body of another shape, is a failure.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.examples import examples
from tests.server.client import Client
from tests.server.description import DESCRIPTION
from tests.server.story import make_instance

from knickpoint.instance import open_instance
from knickpoint.server import create_app

SCHEMAS: Final[Mapping[str, Any]] = DESCRIPTION["components"]["schemas"]
OPERATIONS: Final = {
    f"{method.upper()} {path}": operation
    for path, operations in DESCRIPTION["paths"].items()
    for method, operation in operations.items()
}

ANYTHING: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


def agreeing(schema: Mapping[str, Any], depth: int = 0) -> SearchStrategy[Any]:
    """Return values that agree with ``schema``, or nearly: bounds of texts are not all kept."""
    if "$ref" in schema:
        return agreeing(SCHEMAS[schema["$ref"].rpartition("/")[2]], depth + 1)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([agreeing(each, depth) for each in schema["anyOf"]])
    build = _BUILDERS.get(schema.get("type", ""))
    return build(schema, depth) if build else _texts(schema)


def _objects(schema: Mapping[str, Any], depth: int) -> SearchStrategy[Any]:
    properties = schema.get("properties", {})
    required = set(schema.get("required", ()))
    if depth > 4:
        properties = {name: properties[name] for name in required}
    fields = {name: agreeing(each, depth + 1) for name, each in properties.items()}
    return st.fixed_dictionaries(
        {name: each for name, each in fields.items() if name in required},
        optional={name: each for name, each in fields.items() if name not in required},
    )


def _integers(schema: Mapping[str, Any], _depth: int) -> SearchStrategy[Any]:
    least, most = int(schema.get("minimum", -3)), int(min(schema.get("maximum", 2**53), 2**53))
    return st.integers(least, most) | st.integers(least, min(most, least + 5))


def _arrays(schema: Mapping[str, Any], depth: int) -> SearchStrategy[Any]:
    parts = schema.get("items") or {"anyOf": schema["prefixItems"]}
    return st.lists(agreeing(parts, depth + 1), min_size=schema.get("minItems", 0), max_size=3)


def _numbers(schema: Mapping[str, Any], _depth: int) -> SearchStrategy[Any]:
    return st.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False, allow_infinity=False)


_BUILDERS: Final[Mapping[str, Callable[[Mapping[str, Any], int], SearchStrategy[Any]]]] = {
    "integer": _integers,
    "number": _numbers,
    "boolean": lambda _schema, _depth: st.booleans(),
    "null": lambda _schema, _depth: st.none(),
    "array": _arrays,
    "object": _objects,
}


def _texts(schema: Mapping[str, Any]) -> SearchStrategy[str]:
    if schema.get("format") == "date-time":
        return st.sampled_from(["2026-01-01T00:00:00Z", "1970-01-01T00:00:00", "9999-12-31T23:59:59+14:00"])
    words = st.sampled_from(
        ["benchmark=parse", "main", "default", 'ave(filter(""))', "R1", "/", "%", "a b", "ä", "\u2028"]
    )
    printable = st.text(string.printable, max_size=30)
    pattern = schema.get("pattern", "")
    numbers = st.from_regex(pattern.replace("255", "3"), fullmatch=True) if re.match(r"\^\[0-9\]", pattern) else words
    return numbers | words | printable


USEFUL: Final = {"repository": [""], "line": ["", "main"], "query": ["", "benchmark=parse"], "formula": ['filter("")']}
"""Parameter → values that name what is there, so that most requests get past the first check."""


def _parameter(each: Mapping[str, Any]) -> SearchStrategy[str]:
    kinds = agreeing(each["schema"]).map(lambda value: value if isinstance(value, str) else json.dumps(value))
    return _mostly(
        st.sampled_from(USEFUL[each["name"]]) if each["name"] in USEFUL else kinds, kinds | st.text(max_size=20)
    )


def _mostly(usual: SearchStrategy[Any], other: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Return values of ``usual`` in three of four cases; ``one_of`` would share them among all alternatives."""
    return st.sampled_from([usual, usual, usual, other]).flatmap(lambda chosen: chosen)


@st.composite
def requests(draw: st.DrawFn, name: str) -> tuple[str, str, dict[str, Any]]:
    """Draw method, address and options of a request for the operation ``name``."""
    operation = OPERATIONS[name]
    method, _, path = name.partition(" ")
    query = {}
    for each in operation.get("parameters", ()):
        if each["in"] == "path":
            text = draw(_parameter(each)).strip("/") or "1"
            path = path.replace(f"{{{each['name']}}}", quote(text, safe=""))
        elif each["in"] == "query" and (each.get("required") or draw(st.booleans())):
            query[each["name"]] = draw(_parameter(each))
    options: dict[str, Any] = {"params": query}
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        options["json"] = draw(_mostly(agreeing(content["application/json"]["schema"]), ANYTHING))
    elif content:
        options["content"] = draw(st.binary(max_size=200))
    return method, path, options


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory: Path = tmp_path_factory.mktemp("fuzzed") / "instance"
    make_instance(directory)
    with (directory / "knickpoint.toml").open("a") as file:  # a fuzz is fast
        file.write("\n[limits]\nrequests_per_minute = 1_000_000\nlarge_bodies_per_minute = 1_000_000\n")
    with open_instance(directory) as opened:
        yield Client(create_app(opened))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_answer_is_described(served: Client, name: str) -> None:
    @settings(
        max_examples=examples(10),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(requests(name))
    def check(request: tuple[str, str, dict[str, Any]]) -> None:
        method, path, options = request
        answer = served.ask(method, path, follow=False, **options)
        described = OPERATIONS[name]["responses"]
        if answer.status_code == 405 or "." in path.rpartition("/")[2]:  # another address
            return
        assert str(answer.status_code) in described, answer.text[:500]
        kind = answer.headers.get("content-type", "").partition(";")[0]
        content = described[str(answer.status_code)].get("content", {})
        assert not content or kind in content, kind
        if kind == "application/json":
            schema = {**content[kind]["schema"], "components": DESCRIPTION["components"]}
            jsonschema.validate(answer.json(), schema)

    check()
