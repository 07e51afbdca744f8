"""Queries of Skia Perf select, and refuse, what they do there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reference_data import skip_without_reference

from knickpoint.model.errors import QueryError
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_url_query

skip_without_reference()


def test_queries_select_and_refuse_what_those_of_skia_do(reference: Path) -> None:
    cases: dict[str, Any] = json.loads((reference / "vectors" / "skia_query.json").read_text())
    for case in cases["matches"]:
        assert parse_url_query(case["query"]).matches(decode_key(case["key"])) == case["matches"], case
    for case in cases["new_from_string"]:
        if case.get("error"):
            with pytest.raises(QueryError):
                parse_url_query(case["query"])
        else:
            assert len(parse_url_query(case["query"]).terms) == len(case["params"]), case
