"""A comparison of two commits of a real repository, measured in turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bisect.runner.projects import KEY, project, recipe
from tests.repositories import GitRepository

from knickpoint.bisect.comparison import Comparison, ComparisonRequest, ComparisonRules, Round
from knickpoint.bisect.runner import Workspace


@pytest.fixture
def asked(tmp_path: Path) -> ComparisonRequest:
    repository = GitRepository.make(tmp_path / "project")
    base, head = project(repository, [10.0, "10.00"])
    rules = ComparisonRules(least_rounds=4, most_rounds=4)
    return ComparisonRequest(str(repository.directory), base, head, recipe(), rules)


def test_a_comparison_goes_on_behind_rounds_that_were_made_before(tmp_path: Path, asked: ComparisonRequest) -> None:
    workspace, made, further = Workspace(tmp_path / "workspace"), list[Round](), list[Round]()
    whole = Comparison(asked, workspace, "lab-1", note=made.append).run()
    resumed = Comparison(asked, workspace, "lab-1", earlier=made[:3], note=further.append).run()
    assert (len(made), len(further), resumed.rounds) == (5, 2, 4)
    assert resumed.benchmarks[0].past[:2] == whole.benchmarks[0].past[:2]
    assert resumed.benchmarks[0].past[2:] == tuple(each.values[0][KEY].value for each in further)


def test_a_comparison_that_was_complete_measures_nothing(tmp_path: Path, asked: ComparisonRequest) -> None:
    workspace, made = Workspace(tmp_path / "workspace"), list[Round]()
    whole = Comparison(asked, workspace, "lab-1", note=made.append).run()
    steps: list[str] = []
    again = Comparison(asked, workspace, "lab-1", steps.append, earlier=made, note=made.append).run()
    assert (repr(again.benchmarks), steps, len(made)) == (repr(whole.benchmarks), [], 5)
