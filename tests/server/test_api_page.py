"""The page of the API, its schemes of security, and errors that name what is refused."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.server.client import Client
from tests.server.description import DESCRIPTION

OPERATIONS = [
    (method.upper(), path, operation)
    for path, operations in DESCRIPTION["paths"].items()
    for method, operation in operations.items()
]


class _Page(HTMLParser):
    """The ids and the addresses of a page, and the tags that are open at its end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in {"href", "src"}:
                self.links.append(value or "")


def test_the_page_has_every_operation_and_every_shape_once(reader: Client) -> None:
    page = _Page(reader.get("/docs").text)
    wanted = {operation["operationId"] for _, _, operation in OPERATIONS} | set(DESCRIPTION["components"]["schemas"])
    assert wanted <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "Needs the permission <code>decide</code>" in reader.get("/docs").text
    assert {link.removeprefix("#") for link in page.links if link.startswith("#")} <= set(page.ids)


def test_the_page_needs_no_script_and_nothing_from_elsewhere(reader: Client) -> None:
    answer = reader.get("/docs")
    page = _Page(answer.text)
    assert "script" not in page.tags
    assert "style=" not in answer.text
    assert all(link.startswith(("#", "/")) for link in page.links)
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert reader.get("/docs.css").headers["content-type"].startswith("text/css")


def test_an_operation_names_the_permission_that_it_needs() -> None:
    needed = {
        f"{method} {path.removeprefix('/api/v1/')}": next(iter(operation["security"][0].values()), [""])[0]
        for method, path, operation in OPERATIONS
    }
    assert needed["GET values"] == "read"
    assert needed["POST results"] == "upload"
    assert needed["POST arrivals"] == "upload"
    assert needed["POST triage"] == "decide"
    assert needed["POST tokens"] == "admin"
    assert needed["GET version"] == ""
    schemes = DESCRIPTION["components"]["securitySchemes"]
    assert {name for _, _, operation in OPERATIONS for each in operation["security"] for name in each} == set(schemes)


@pytest.mark.parametrize(
    ("method", "path", "options", "error"),
    [
        (
            "POST",
            "/api/v1/triage",
            {"json": {"ids": [1], "stauts": "hidden"}},
            {"error": "There is no field 'stauts'.", "where": "stauts", "remedy": "Did you mean 'status'?"},
        ),
        (
            "GET",
            "/api/v1/traces?repo=x&limit=1",
            {},
            {
                "error": "There is no parameter 'repo'.",
                "where": "repo",
                "remedy": "The parameters are: repository, query,",
            },
        ),
        (
            "GET",
            "/api/v1/values?trace=12&frist=0",
            {},
            {"error": "There is no parameter 'trace'.", "where": "trace", "remedy": "Did you mean 'traces'? The"},
        ),
        (
            "POST",
            "/api/v1/tokens",
            {"json": {"scopes": ["read"]}},
            {"error": "'name' is missing.", "where": "name", "remedy": "Send it; see /docs#post_token."},
        ),
        (
            "GET",
            "/api/v1/traces?limit=many",
            {},
            {
                "error": "Input should be a valid integer, unable to parse string as an integer: 'many' was sent.",
                "where": "limit",
                "remedy": "See /docs#get_traces",
            },
        ),
        (
            "GET",
            "/api/v1/changes?kind=bogus",
            {},
            {
                "error": "There is no kind 'bogus'.",
                "where": "kind",
                "remedy": "The kinds are: step, drift, mode, noise.",
            },
        ),
        (
            "GET",
            "/api/v1/changes?certainty=settld",
            {},
            {
                "error": "There is no certainty 'settld'.",
                "where": "certainty",
                "remedy": "Did you mean 'settled'? The certainties are: provisional, settled.",
            },
        ),
        (
            "GET",
            "/api/v1/changes?since=yesterday",
            {},
            {"error": "'yesterday' is not a day.", "where": "since", "remedy": "Write it as 2026-03-14."},
        ),
        (
            "POST",
            "/api/v1/triage",
            {"json": {"ids": [1], "filter": {"status": "hiden"}}},
            {"error": "There is no status 'hiden'.", "where": "filter.status", "remedy": "Did you mean 'hidden'? The"},
        ),
    ],
)
def test_a_refusal_names_what_is_refused(
    reader: Client, method: str, path: str, options: dict[str, Any], error: dict[str, str]
) -> None:
    answer = reader.ask(method, path, **options)
    assert answer.status_code == 422
    found = answer.json()
    assert (found["error"], found["where"]) == (error["error"], error["where"])
    assert found["remedy"].startswith(error["remedy"])


def test_a_parameter_that_an_address_does_not_take_is_refused_with_those_that_it_takes(reader: Client) -> None:
    wrong = {}
    for method, path, operation in OPERATIONS:
        known = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
        mistyped = f"{known[0]}x" if known else "x"
        parameters = {**dict.fromkeys(known, "1"), mistyped: "secret"}
        answer = reader.ask(method, re.sub(r"\{\w+\}", "1", path), params=parameters)
        found = answer.json()
        meant = f"Did you mean '{known[0]}'" if known else "Leave it out."
        if (
            (answer.status_code, found["error"]) != (422, f"There is no parameter '{mistyped}'.")
            or found["where"] != mistyped
            or not found["remedy"].startswith(meant)
            or not all(name in found["remedy"] for name in known)
            or "secret" in answer.text
        ):
            wrong[f"{method} {path}"] = answer.text
    assert wrong == {}


def test_a_method_that_an_address_does_not_take_is_refused_with_those_that_it_takes(reader: Client) -> None:
    wrong = {}
    for path, operations in DESCRIPTION["paths"].items():
        answer = reader.ask("PATCH", re.sub(r"\{\w+\}", "1", path))
        allowed = set(answer.headers.get("allow", "").split(", "))
        if answer.status_code != 405 or "PATCH" in allowed or not {method.upper() for method in operations} <= allowed:
            wrong[path] = (answer.status_code, allowed)
    assert wrong == {}
