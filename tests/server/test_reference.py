"""The pages that are written from the code agree with it."""

from __future__ import annotations

from tests.server.description import KEPT, PATHS

from knickpoint.server import describe_api
from knickpoint.server.api_reference import render_openapi


def test_the_description_that_tests_and_pages_are_made_from_is_current() -> None:
    assert KEPT.read_text() == render_openapi(describe_api()), "run `make docs-write`"


def test_every_operation_and_parameter_says_what_it_is() -> None:
    operations = [(path, operation) for path, methods in PATHS.items() for operation in methods.values()]
    assert [path for path, operation in operations if not operation["description"]] == []
    parameters = [(path, each) for path, operation in operations for each in operation.get("parameters", ())]
    undescribed = [
        (path, each["name"]) for path, each in parameters if each["in"] == "query" and not each.get("description")
    ]
    assert undescribed == []
