"""Histories that projects really published: everything in them comes in, once."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.conftest import Lab
from tests.reference_data import skip_without_reference

from knickpoint.formats import read_report
from knickpoint.ingest import ImportState
from knickpoint.instance import create_instance

skip_without_reference()

# name → entries, commits, values, benchmarks, and the points of the commits; counted in the published files
_COUNTS = {
    "hyper": (879, 440, 7603, 27),
    "safetensors": (498, 494, 4630, 12),
    "msal-dotnet": (733, 137, 2898, 16),
}


def test_published_histories_come_in_whole_and_once(tmp_path: Path, reference: Path) -> None:
    lab = Lab(tmp_path, create_instance(tmp_path / "instance"))
    for name, (entries, commits, values, benchmarks) in _COUNTS.items():
        path = reference / "data" / "histories" / f"{name}_data.js"
        report, problems = read_report(path.read_bytes(), name=name)
        assert problems == (), name
        assert (len(report.runs), len(report.commits)) == (entries, commits), name
        assert sum(len(run.results) for run in report.runs) == values, name
        (outcome,) = lab.take(path).files
        assert (outcome.new + outcome.rerun, outcome.points, outcome.new_traces) == (entries, values, benchmarks), name
        assert lab.take(path).files[0].state is ImportState.UNCHANGED, name
    lab.instance.close()
