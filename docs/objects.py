"""The reference page of the objects that scripts get, from the command line and from the API alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from knickpoint.answers.traces import MeasuredTraceAnswer
from knickpoint.server.api_reference import render_shape

__all__ = ["objects_page"]

Node = Mapping[str, Any]

_COMMANDS: Final = {
    "ChangeAnswer": "knick changes",
    "StatementAnswer": "",
    "SuspectRangeAnswer": "",
    "ChangePointAnswer": "",
    "TraceAnswer": "",
    "MeasuredTraceAnswer": "knick traces",
    "CommitAnswer": "",
    "BisectionAnswer": "knick bisections",
    "BisectionStandingAnswer": "",
    "SuspectAnswer": "knick suspects",
    "ClusterAnswer": "knick clusters",
    "DecisionAnswer": "",
    "MissedAnswer": "knick missed list",
    "AlertAnswer": "knick alerts list",
    "TicketAnswer": "knick tickets list",
    "DeliveryAnswer": "knick deliveries list",
    "MissingEntryAnswer": "knick missing",
    "RenameAnswer": "knick missing renames",
    "ScheduleAnswer": "knick schedule",
    "ScheduledProbeAnswer": "knick schedule probes",
    "AlertRowAnswer": "knick quality",
    "DoubtAnswer": "knick quality audit",
    "DoubtfulAnswer": "knick quality audit DOUBT",
    "NoisyTraceAnswer": "knick quality traces",
    "ProposalAnswer": "knick quality proposals",
    "ProposalDecisionAnswer": "knick quality decisions",
    "QuarantineAnswer": "knick canaries",
    "TokenAnswer": "knick tokens list",
    "AuditEntryAnswer": "knick audit",
}
"""Object → the command that lists it; "" for those that are parts of others, or that the API alone has."""

_OF_TYPE: Final = {"string": "…", "date-time": "2026-03-14T15:09:26Z", "integer": 3, "number": 0.25, "boolean": False}


def objects_page(description: Node) -> str:
    """Return the page: for each object what lists it, an example, and its fields."""
    shapes: dict[str, Node] = dict(description["components"]["schemas"])
    shapes["MeasuredTraceAnswer"] = MeasuredTraceAnswer.model_json_schema(  # no address answers with it
        mode="serialization", ref_template="#/components/schemas/{model}"
    )
    lines = [
        "# Objects",
        "",
        "Written from the program by `make docs-write`. `--format json` of a command prints an array of these objects;",
        (
            "the addresses of the API answer with the same ones. An example leaves out the objects within it that have a "
            "section"
        ),
        "of their own. [Scripts](../guide/scripts.md) says how to get at them.",
        "",
    ]
    for name, command in _COMMANDS.items():
        shape = shapes[name]
        meaning, *table = _linked(render_shape(_with_choices(shape, shapes)))
        sources = [*([f"`{command}`"] if command else []), *_addresses(name, description), *_wholes(name, shapes)]
        example = json.dumps(_fields(shape, shapes), indent=2, ensure_ascii=False)
        lines += [f"## {_title(name)}", "", meaning, "", " · ".join(sources), ""]
        lines += ["```json", example, "```", *table, ""]
    return "\n".join(lines).rstrip() + "\n"


def _with_choices(shape: Node, shapes: Mapping[str, Node]) -> Node:
    """Return a shape whose fields have their choices in place, not in a section of the page of the API."""
    fields = {}
    for name, schema in shape["properties"].items():
        choices = shapes.get(_named(schema), {})
        fields[name] = choices | schema if "enum" in choices else schema
    return {**shape, "properties": fields}


def _title(name: str) -> str:
    """Return the name of an object in words: ``Change point`` for ``ChangePointAnswer``."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", name.removesuffix("Answer")).capitalize()


def _linked(lines: list[str]) -> Iterator[str]:
    """Let links lead to the objects of this page, and those to other shapes to the page of the API."""
    for line in lines:
        yield re.sub(r"\[(\w+)\]\(#\w+\)", lambda link: _link(link[1]), line)


def _link(name: str) -> str:
    title = _title(name)
    return (
        f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
        if name in _COMMANDS
        else f"[{name}](api.md#{name.lower()})"
    )


def _addresses(name: str, description: Node) -> Iterator[str]:
    """Yield the addresses that answer with the object, with a list of it, or with one field that is such a list."""
    for path, operations in description["paths"].items():
        content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        answer = content.get("application/json", {}).get("schema", {})
        whole = description["components"]["schemas"].get(_named(answer), {})
        if name in {_named(answer), _named(answer.get("items", {}))}:
            yield f"`GET {path}`"
        for field, schema in whole.get("properties", {}).items() if _named(answer) not in _COMMANDS else ():
            if _named(schema.get("items", {})) == name:
                yield f"`GET {path}`, in `{field}`"


def _wholes(name: str, shapes: Mapping[str, Node]) -> Iterator[str]:
    """Yield the objects of this page that have the object as a part."""
    reference = f'"#/components/schemas/{name}"'
    found = [_link(each) for each in _COMMANDS if reference in json.dumps(shapes[each]["properties"])]
    if found:
        yield f"Part of {', '.join(found)}"


def _named(schema: Node) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _fields(shape: Node, shapes: Mapping[str, Node]) -> dict[str, Any]:
    return {name: _example(each, shapes) for name, each in shape["properties"].items()}


def _example(schema: Node, shapes: Mapping[str, Node]) -> Any:
    """Return a value for a schema: its own example, its first choice, or one of its type."""
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], shapes)
    name = _named(schema)
    schema = shapes.get(name, schema)
    given = schema.get("examples") or schema.get("enum")
    if given:
        return given[0]
    match schema["type"]:
        case "object" if name:
            return {} if name in _COMMANDS else _fields(schema, shapes)
        case "object":
            key = _example(schema.get("propertyNames", {"type": "string"}), shapes)
            return {key: _example(schema["additionalProperties"], shapes)}
        case "array":
            return [_example(schema["items"], shapes)]
        case kind:
            return _OF_TYPE[schema.get("format", kind)]
