"""Published histories: whole, and broken in the ways that break published ones."""

from __future__ import annotations

import re

import pytest
from tests.ingest.conftest import Lab
from tests.published_history import PublishedHistory

from knickpoint.ingest import ImportState, ImportSummary

_VALUE = re.compile(r'"name":\s*"(?P<name>[^"]+)",\s*"value":\s*(?P<value>[-+.0-9e]+)')


TEXT = PublishedHistory().text()


def refusal(lab: Lab, summary: ImportSummary) -> str:
    """Return the one line that a refused history is, and check that nothing of it was stored."""
    store = lab.instance.store
    assert [file.state for file in summary.files] == [ImportState.REFUSED]
    assert store.commits.repositories() == []
    (line,) = summary.lines()
    return line


def test_a_published_history_comes_in_once(lab: Lab) -> None:
    history = PublishedHistory()
    path = lab.write("data.js", TEXT)
    (file,) = lab.take(path).files
    assert (file.new, file.rerun) == (history.commits, len(history.entries) - history.commits)
    assert (file.points, file.new_traces, file.commits) == (
        history.points,
        history.benchmarks,
        history.commits,
    )
    assert lab.take(path).files[0].state is ImportState.UNCHANGED
    assert len(lab.line("org/project")) == history.commits


@pytest.mark.parametrize("wrong", ["NaN", '"fast"', "1e400", "-Infinity", "null"])
def test_one_odd_value_in_a_history_is_one_failure_with_benchmark_and_place_and_the_rest_comes_in(
    lab: Lab, wrong: str
) -> None:
    text = TEXT
    values = list(_VALUE.finditer(text))
    chosen = values[len(values) // 2]
    begin, end = chosen.span("value")
    (file,) = lab.take(lab.write("data.js", text[:begin] + wrong + text[end:])).files
    assert (file.state, file.failed) == (ImportState.IMPORTED, 1)
    (warning,) = [problem.message for problem in file.problems if "1 result failed" in problem.message]
    assert chosen["name"] in warning
    assert re.search(r"entries\.\S+\[\d+\]\.benches\[\d+\]", warning)


@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
def test_a_history_that_was_cut_short_is_one_line_that_says_where(lab: Lab, share: float) -> None:
    text = TEXT
    line = refusal(lab, lab.take(lab.write("data.js", text[: int((len(text) - 1) * share)])))
    assert re.search(r"truncated JSON: the value that begins at line \d+ column \d+ \(byte \d+\)", line)
