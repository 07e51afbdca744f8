"""Render the reference page of the API from its OpenAPI description."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]


def render_openapi(description: Node) -> str:
    """Return the description as indented JSON with sorted keys, so that changes are easy to read."""
    return json.dumps(description, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def render_reference(description: Node) -> str:
    """Return the reference page: every address with its parameters and answers, then every shape."""
    lines = [
        "# The HTTP API",
        "",
        "Written from the program by `make docs-write`. The same as OpenAPI: `/api/v1/openapi.json`.",
        "",
        *str(description["info"]["description"]).strip().splitlines(),
        "",
    ]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            lines += [*_operation(f"{method.upper()} {path}", operation), ""]
    lines += ["## Shapes", ""]
    for name, shape in sorted(description["components"]["schemas"].items()):
        if name not in {"HTTPValidationError", "ValidationError"}:
            lines += [f"### {name}", "", *render_shape(shape), ""]
    return "\n".join(lines).rstrip() + "\n"


def _operation(title: str, operation: Node) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield _flat(str(operation["description"]))
    parameters: Sequence[Node] = operation.get("parameters", ())
    if parameters:
        yield ""
        yield "| parameter | kind | meaning |"
        yield "|---|---|---|"
        for parameter in parameters:
            required = " (required)" if parameter.get("required") else ""
            meaning = _cell(parameter.get("description", ""))
            yield f"| `{parameter['name']}`{required} | {_kind(parameter['schema'])} | {meaning} |"
    body = operation.get("requestBody", {}).get("content", {})
    for kind, content in body.items():
        yield ""
        yield f"Takes {_kind(content['schema']) if kind == 'application/json' else f'`{kind}`'}."
    responses = operation["responses"]
    success = next(responses[code] for code in sorted(responses) if code.startswith("2"))
    for kind, content in success.get("content", {}).items():
        yield ""
        yield f"Answers {_kind(content['schema']) if kind == 'application/json' else f'`{kind}`'}."


def render_shape(shape: Node) -> list[str]:
    """Render a shape: its description, then its values or the table of its fields."""
    lines = [_flat(str(shape.get("description", ""))), ""]
    if "enum" in shape:
        return [*lines, "One of " + ", ".join(f"`{value}`" for value in shape["enum"]) + "."]
    lines += ["| field | kind | meaning |", "|---|---|---|"]
    fields = shape.get("properties", {}).items()
    return [*lines, *(f"| `{name}` | {_kind(each)} | {_cell(each.get('description', ''))} |" for name, each in fields)]


def _kind(schema: Node) -> str:
    if "enum" in schema:
        return f"one of {', '.join(f'`{value}`' for value in schema['enum'])}"
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {' and '.join(map(_kind, schema.get('prefixItems') or [schema['items']]))}"
    if kind == "object" and "additionalProperties" in schema:
        extra = schema["additionalProperties"]
        return f"object of {_kind(extra)}" if isinstance(extra, Mapping) else "object"
    return {"string": "text", "date-time": "time"}.get(str(schema.get("format", kind)), kind)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _flat(text).replace("|", "\\|")
