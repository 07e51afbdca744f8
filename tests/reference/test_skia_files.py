"""Skia Perf's formats, against what the original does with the same files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.files import by
from tests.reference_data import skip_without_reference

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, Result

skip_without_reference()

# the original lets these in, as 0, unread or without a key; here they are refused
_REFUSED_HERE = {
    "made_up/trailing_garbage": "extra content after the JSON document",
    "made_up/empty_key": "at least one param",
}
# one result fails here, where the original keeps 0 or refuses the file
_FAILED_HERE = {"made_up/no_measurement", "made_up/measurement_string"}
# the original leaves these out for its float32, or by a filter of the instance
_READ_HERE = {*_FAILED_HERE, "made_up/too_large_number", "version_1/unknown_branch.json", "legacy/unknown_branch.json"}


@pytest.fixture
def vectors(reference: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((reference / "vectors" / "skia_ingest.json").read_bytes())
    return found


def _read(case: dict[str, Any]) -> Report:
    text = case.get("content_text")
    data = (text if text is not None else json.dumps(case["content"])).encode()
    form = "skia-legacy" if "legacy" in case["file"] else "skia"
    return read_report(data, name=case["file"], format=form)[0]


def _sanitised(params: Mapping[str, str], invalid: str) -> frozenset[tuple[str, str]]:
    pattern = re.compile(invalid or r"[^a-zA-Z0-9._\-]")
    return frozenset((pattern.sub("_", name), pattern.sub("_", text)) for name, text in params.items())


def _value(result: Result) -> np.float32:
    return np.float32(result.summary.get("value", result.samples[0] if result.samples else np.nan))


def test_files_that_the_original_reads_give_the_same_traces_values_and_commits(vectors: dict[str, Any]) -> None:
    cases = [case for case in vectors["parse_cases"] if case["result"] == "ok" and case["file"] not in _REFUSED_HERE]
    assert len(cases) > 40
    for case in cases:
        run = _read(case).runs[0]
        if case["file"] in _FAILED_HERE:
            assert [result.outcome for result in run.results] == [Outcome.FAILED], case["file"]
            continue
        invalid = case["invalid_param_char_regex"]
        expected = {
            (frozenset(pair for pair in row["params"].items() if pair[1] != "_"), np.float32(row["value"]))
            for row in case["rows_sorted"]
        }
        assert {(_sanitised(result.params, invalid), _value(result)) for result in run.results} == expected, case[
            "file"
        ]
        if isinstance(case["commit_number_from_git_hash"], int):
            assert run.revision == str(case["commit_number_from_git_hash"]), case["file"]


def test_files_that_the_original_refuses_or_misreads_are_refused(vectors: dict[str, Any]) -> None:
    for case in vectors["parse_cases"]:
        refused = case["result"] == "error" and ("content_text" in case or case["content"])
        if case["file"] in _REFUSED_HERE or (refused and case["file"] not in _READ_HERE):
            with pytest.raises(FormatError, match=_REFUSED_HERE.get(case["file"])):
                _read(case)
        elif case["result"] == "skip" and case["file"] not in _READ_HERE:
            assert sum(len(run.results) for run in _read(case).runs) == 0, case["file"]
    for case in vectors["format_parse"]:
        if case["parse_error"]:
            with pytest.raises(FormatError):
                read_report(case["text"].encode(), format="skia")
        else:
            read_report(case["text"].encode(), format="skia")


def test_samples_of_the_older_format_are_those_of_the_original(vectors: dict[str, Any]) -> None:
    first, _ = vectors["legacy_samples"]
    report = _read(next(case for case in vectors["parse_cases"] if case["file"] == first["file"]))
    for expected in first["samples"].values():
        assert list(by(report, **expected["params"]).samples) == pytest.approx(expected["values"])
