"""Render the reference of the API from its OpenAPI description: as text, and as one plain page without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

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
            lines += [*_operation_text(f"{method.upper()} {path}", operation), ""]
    lines += ["## Shapes", ""]
    for name, shape in sorted(description["components"]["schemas"].items()):
        if name not in {"HTTPValidationError", "ValidationError"}:
            lines += [f"### {name}", "", *render_shape(shape), ""]
    return "\n".join(lines).rstrip() + "\n"


def _operation_text(title: str, operation: Node) -> Iterator[str]:
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
            yield f"| `{parameter['name']}`{required} | {_kind_text(parameter['schema'])} | {meaning} |"
    body = operation.get("requestBody", {}).get("content", {})
    for kind, content in body.items():
        yield ""
        yield f"Takes {_kind_text(content['schema']) if kind == 'application/json' else f'`{kind}`'}."
    responses = operation["responses"]
    success = next(responses[code] for code in sorted(responses) if code.startswith("2"))
    for kind, content in success.get("content", {}).items():
        yield ""
        yield f"Answers {_kind_text(content['schema']) if kind == 'application/json' else f'`{kind}`'}."


def render_shape(shape: Node) -> list[str]:
    """Render a shape: its description, then its values or the table of its fields."""
    lines = [_flat(str(shape.get("description", ""))), ""]
    if "enum" in shape:
        return [*lines, "One of " + ", ".join(f"`{value}`" for value in shape["enum"]) + "."]
    lines += ["| field | kind | meaning |", "|---|---|---|"]
    fields = shape.get("properties", {}).items()
    return [
        *lines,
        *(f"| `{name}` | {_kind_text(each)} | {_cell(each.get('description', ''))} |" for name, each in fields),
    ]


def _kind_text(schema: Node) -> str:
    if "enum" in schema:
        return f"one of {', '.join(f'`{value}`' for value in schema['enum'])}"
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind_text(each) for each in schema["anyOf"]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {' and '.join(map(_kind_text, schema.get('prefixItems') or [schema['items']]))}"
    if kind == "object" and "additionalProperties" in schema:
        extra = schema["additionalProperties"]
        return f"object of {_kind_text(extra)}" if isinstance(extra, Mapping) else "object"
    return {"string": "text", "date-time": "time"}.get(str(schema.get("format", kind)), kind)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _flat(text).replace("|", "\\|")


PAGE_PATH: Final = "/docs"
_STYLE_PATH: Final = "/docs.css"

_ELSEWHERE: Final = (
    '<p>The same for programs: <a href="/api/v1/openapi.json">OpenAPI</a>; as text: '
    '<a href="/api/v1/reference">reference</a>.</p>'
)

_STYLE: Final = """\
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body {
  margin: 0;
  background: light-dark(#ffffff, #101317);
  color: light-dark(#16191f, #e7eaef);
  font: 14px / 20px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}
main { max-width: 960px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 24px; line-height: 32px; }
h2 { margin-top: 32px; font-size: 18px; }
nav a { margin-right: 12px; }
a { color: light-dark(#1f5fbf, #7fb0ff); }
code { font: 13px / 20px ui-monospace, "DejaVu Sans Mono", monospace; }
details { border: 1px solid light-dark(#d8dce3, #333a45); border-radius: 6px; margin: 8px 0; }
summary { padding: 8px 12px; cursor: pointer; }
summary b { display: inline-block; min-width: 56px; }
.body { padding: 0 12px 12px; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 4px 8px 4px 0; text-align: left; vertical-align: top; border-top: 1px solid light-dark(#e6e9ee, #262c35); }
:target > summary { background: light-dark(#eef4fd, #1b2533); }
"""


def render_page(description: Node) -> str:
    """Return the page: the operations by tag, then the shapes of bodies, each folded."""
    info = description["info"]
    body = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}: the HTTP API</h1>",
        *(f"<p>{_text(part)}</p>" for part in str(info["description"]).strip().split("\n\n")),
        _ELSEWHERE,
    ]
    tags = dict.fromkeys(
        tag for _, _, operation in _operations(description) for tag in operation.get("tags", ["other"])
    )
    body.append("<nav>" + "".join(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in tags) + "</nav>")
    for tag in tags:
        body.append(f'<h2 id="{escape(tag)}">{escape(tag)}</h2>')
        for method, path, operation in _operations(description):
            if tag in operation.get("tags", ["other"]):
                body += _operation_html(method, path, operation)
    body.append('<h2 id="shapes">Shapes</h2>')
    for name, shape in sorted(description["components"]["schemas"].items()):
        body += _shape(name, shape)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Knickpoint: the HTTP API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{_STYLE_PATH}"></head><body><main>{"".join(body)}</main></body></html>'
    )


def _operations(description: Node) -> Iterator[tuple[str, str, Node]]:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _text(text: str) -> str:
    """Return a text with its ``code`` marked."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(" ".join(text.split())))


def _operation_html(method: str, path: str, operation: Node) -> Iterator[str]:
    yield f'<details id="{escape(operation["operationId"])}"><summary><b>{method}</b> <code>{escape(path)}</code></summary>'
    yield '<div class="body">'
    yield from (f"<p>{_text(part)}</p>" for part in str(operation["description"]).split("\n\n"))
    needed = {scope for each in operation.get("security", ()) for scopes in each.values() for scope in scopes}
    yield (
        f"<p>Needs the permission <code>{escape(min(needed))}</code>.</p>" if needed else "<p>Open to every caller.</p>"
    )
    parameters = operation.get("parameters", ())
    if parameters:
        yield "<table><tr><th>parameter</th><th>kind</th><th>meaning</th></tr>"
        for each in parameters:
            required = " (required)" if each.get("required") else ""
            yield (
                f"<tr><td><code>{escape(each['name'])}</code>{required}</td><td>{_kind_html(each['schema'])}</td>"
                f"<td>{_text(each.get('description', ''))}</td></tr>"
            )
        yield "</table>"
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"<p>Takes {_kind_html(content['schema'])} as <code>{escape(media)}</code>.</p>"
    for code, response in sorted(operation["responses"].items()):
        kinds = " or ".join(
            f"{_kind_html(content['schema'])} as <code>{escape(media)}</code>"
            for media, content in response.get("content", {}).items()
            if code.startswith("2")
        )
        yield f"<p><b>{escape(code)}</b> {_text(response['description'])} {kinds}</p>"
    yield "</div></details>"


def _shape(name: str, shape: Node) -> Iterator[str]:
    yield f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary><div class="body">'
    yield f"<p>{_text(str(shape.get('description', '')))}</p>"
    if "enum" in shape:
        yield "<p>" + ", ".join(f"<code>{escape(str(value))}</code>" for value in shape["enum"]) + "</p>"
    properties = shape.get("properties", {})
    if properties:
        yield "<table><tr><th>field</th><th>kind</th><th>meaning</th></tr>"
        for field, schema in properties.items():
            required = " (required)" if field in shape.get("required", ()) else ""
            yield (
                f"<tr><td><code>{escape(field)}</code>{required}</td><td>{_kind_html(schema)}</td>"
                f"<td>{_text(str(schema.get('description', '')))}</td></tr>"
            )
        yield "</table>"
    if shape.get("additionalProperties") is False:
        yield "<p>Other fields are refused.</p>"
    yield "</div></details>"


def _kind_html(schema: Node) -> str:
    if "$ref" in schema:
        name = escape(str(schema["$ref"]).rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind_html(each) for each in schema["anyOf"]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {' and '.join(map(_kind_html, schema.get('prefixItems') or [schema['items']]))}"
    if "enum" in schema:
        return ", ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    bounds = [f"{mark} {schema[name]}" for name, mark in (("minimum", "≥"), ("maximum", "≤")) if name in schema]
    return escape(" ".join([str({"string": "text"}.get(kind, kind)), *bounds]))


def add_api_page(app: FastAPI) -> None:
    """Serve the page and its style sheet."""
    app.add_api_route(PAGE_PATH, _page, include_in_schema=False)
    app.add_api_route(_STYLE_PATH, _style, include_in_schema=False)


# Both stand by themselves: FastAPI remembers each endpoint, and a closure would keep its application for ever.
def _page(request: Request) -> Response:
    return HTMLResponse(render_page(request.app.openapi()))


def _style() -> Response:
    return Response(_STYLE, media_type="text/css")
