"""A format is recognised by what it measures, not by its frame: files of other tools with the same outer shape are left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from tests.formats.files import FILES, format_of, read

from knickpoint.formats import sniff
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.report import Outcome

_NAMED: Final = {"benchmarktools", "deno", "fio", "iperf3"}
"""Formats whose files name their tool."""
_FREE: Final = {"asv", "lnt", "skia-legacy"}
"""Formats that leave the names of what was measured to their users."""


def _is_whole(path: Path) -> bool:
    """Tell whether all results of a JSON file have values: failures are recognised without any."""
    if not isinstance(FileContent(path.read_bytes()).document, dict | list):
        return False
    return all(result.outcome is Outcome.MEASURED for run in read(path).runs for result in run.results)


_JSON: Final = [path for path in FILES if format_of(path) not in _NAMED | _FREE and _is_whole(path)]


def _is_measured(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_measured, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _foreign(node: object) -> object:
    """Return a copy of a document in which all that was measured has other names."""
    if isinstance(node, dict):
        return {
            f"other_{name}" if _is_measured(value) else name: value if _is_measured(value) else _foreign(value)
            for name, value in node.items()
        }
    return [_foreign(each) for each in node] if isinstance(node, list) else node


@pytest.mark.parametrize("path", _JSON, ids=lambda path: path.name)
def test_a_file_whose_measurements_have_other_names_is_in_no_format(path: Path) -> None:
    assert sniff(json.dumps(_foreign(FileContent(path.read_bytes()).document)).encode()) == ()


@pytest.mark.parametrize(
    "document",
    [
        {"context": {"build": "x"}, "benchmarks": []},
        {"context": {}, "benchmarks": [{"name": "a", "score": 1.5, "samples": 3}]},
        {"machine_info": {}, "benchmarks": [{"name": "a", "p50": 1.5}]},
        {"metrics": {"http_requests_total": {"type": "counter", "value": 5}}},
        {"metrics": {"http_req_seen": 5}},
        {"charts": {"main": {"bar": {"type": "bar", "labels": ["a"], "units": "ms"}}}},
        [{"name": "a", "unit": "ms", "median": 1.5}],
        [{"benchmark": "a", "mode": "avgt", "primaryMetric": {"name": "x"}}],
        [{"metrics": [{"name": "a", "score": 1}], "attributes": {"git_repo": "x"}}],
        {"commit_hash": "abc", "results": {"lint": "passed", "tests": {"passed": 3}}},
        {"gitHash": "abc", "results": {"tests": {"unit": {"passed": True}}}},
        {"version": "1.0", "benchmarks": [{"name": "a", "runs": [{"score": 5}]}]},
        {"benchmarks": [{"alias": "a", "runs": [{"stats": {"score": 5}}]}]},
        {"files": [{"groups": [{"name": "a", "benchmarks": [{"name": "b"}]}]}]},
        {"testResults": [{"name": "a.test.ts", "assertionResults": [{"benchmarks": [{"name": "b"}]}]}]},
        {"framework": {"name": "x"}, "suites": [{"name": "a", "tests": 5}]},
        {"version": 1, "git_hash": "abc", "results": [{"key": {"a": "b"}, "status": "ok"}]},
        {"HostEnvironmentInfo": {}, "Benchmarks": [{"Name": "a"}]},
        [{"name": "a", "result": {"latency": {"worst": 1}, "throughput": {}}}],
        {"median": {}, "mean": {}, "std_dev": {}, "median_abs_dev": {}},
        {"results": [{"command": "a", "exit_codes": [0]}]},
        {"run_id": "a", "tags": {"b": "c"}, "status": "ok"},
        {"latencies": {"mean": "fast"}, "requests": [1]},
        {"audits": {"a": {"score": 1}}},
        {"summary": {"total": 5}, "details": {}},
    ],
    ids=str,
)
def test_a_document_of_another_tool_with_the_frame_of_a_format_is_in_no_format(document: object) -> None:
    assert [known.name for known in sniff(json.dumps(document).encode())] == []
