"""The pages that are written from the code agree with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.description import KEPT, PATHS

from knickpoint.server import describe_api
from knickpoint.server.api_reference import render_openapi, render_reference

ROOT = Path(__file__).parent.parent.parent


def test_the_description_that_the_dashboard_is_typed_by_is_current() -> None:
    assert KEPT.read_text() == render_openapi(describe_api()), "run `make docs-write` and `npm run schema`"


def test_the_reference_page_is_current() -> None:
    kept = (ROOT / "docs" / "reference" / "api.md").read_text()
    assert kept == render_reference(describe_api()), "run `make docs-write` and `npm run schema`"


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_operation_and_parameter_says_what_it_is(path: str) -> None:
    for operation in PATHS[path].values():
        assert operation["description"]
        assert all(each.get("description") for each in operation.get("parameters", ()) if each["in"] == "query")
