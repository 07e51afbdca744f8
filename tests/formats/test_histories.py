"""Published histories of github-action-benchmark, as their projects publish them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from knickpoint.formats import read_report
from knickpoint.model.report import Report
from knickpoint.model.unit import Better


def history(reference: Path, name: str) -> Report:
    report, problems = read_report((reference / "data" / "histories" / f"{name}_data.js").read_bytes(), name=name)
    assert problems == ()
    return report


def traces(report: Report) -> dict[str, int]:
    counts: dict[str, int] = {}
    for run in report.runs:
        for key in run.results.keys:
            counts[key] = counts.get(key, 0) + 1
    return counts


@pytest.mark.parametrize(
    ("name", "counts"),
    [("hyper", (879, 440, 7603, 27)), ("safetensors", (498, 494, 4630, 12)), ("msal-dotnet", (733, 137, 2898, 16))],
)
def test_a_history_comes_in_whole(reference: Path, name: str, counts: tuple[int, int, int, int]) -> None:
    report = history(reference, name)
    values = sum(len(run.results) for run in report.runs)
    assert (len(report.runs), len(report.commits), values, len(traces(report))) == counts


def test_every_entry_of_a_history_has_a_place_of_its_own(reference: Path) -> None:
    report = history(reference, "msal-dotnet")
    assert len({run.entry for run in report.runs}) == len(report.runs)


def test_a_history_brings_commits_with_author_time_and_subject(reference: Path) -> None:
    commit = history(reference, "hyper").commits[0]
    assert commit.author == "Sean McArthur"
    assert commit.subject == "Use patched GH action"
    assert commit.time.isoformat() == "2020-11-17T00:00:07+00:00"
    assert commit.url.endswith(commit.hash)


def test_the_tool_of_a_history_tells_the_direction(reference: Path) -> None:
    report = history(reference, "safetensors")
    codes = np.concatenate([run.results.better_codes for run in report.runs])
    assert set(codes.tolist()) == {list(Better).index(Better.HIGHER)}


def test_the_range_of_an_entry_is_kept_with_the_point(reference: Path) -> None:
    result = history(reference, "hyper").runs[0].results[0]
    assert result.summary == {"range": 41739.0}
