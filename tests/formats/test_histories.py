"""Histories as github-action-benchmark publishes them."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.published_history import PublishedHistory, commit_hash

from knickpoint.formats import read_report
from knickpoint.model.report import Report
from knickpoint.model.unit_names import Better


def read(history: PublishedHistory) -> Report:
    report, problems = read_report(history.text().encode(), name="data.js")
    assert problems == ()
    return report


@pytest.mark.parametrize("history", [PublishedHistory(), PublishedHistory(commits=100, benchmarks=1, rerun_every=0)])
def test_a_history_comes_in_whole(history: PublishedHistory) -> None:
    report = read(history)
    keys = Counter(key for run in report.runs for key in run.results.keys)
    assert (len(report.runs), len(report.commits)) == (len(history.entries), history.commits)
    assert list(keys.values()) == [len(history.entries)] * history.benchmarks


def test_each_entry_of_a_history_is_another_run() -> None:
    report = read(PublishedHistory())
    assert len({run.entry for run in report.runs}) == len(report.runs)


def test_a_history_brings_commits_with_author_time_and_subject() -> None:
    commit = read(PublishedHistory()).commits[25]
    assert (commit.hash, commit.author, commit.subject) == (commit_hash(25), "Author 1", "Change 25")
    assert commit.time.isoformat() == "2024-01-02T01:00:00+00:00"
    assert commit.url.endswith(commit.hash)


@pytest.mark.parametrize(
    ("tool", "better"), [("customBiggerIsBetter", Better.HIGHER), ("customSmallerIsBetter", Better.LOWER)]
)
def test_the_tool_of_a_history_gives_the_direction(tool: str, better: Better) -> None:
    report, _ = read_report(PublishedHistory(tool=tool).text().encode(), name="data.js")
    assert report is not None
    assert {result.better for run in report.runs for result in run.results} == {better}


def test_the_range_of_an_entry_is_kept_with_the_point() -> None:
    results = read(PublishedHistory()).runs[0].results
    assert [result.summary for result in results] == [{"range": float(number + 1)} for number in range(5)]
