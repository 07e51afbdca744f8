"""A coordinator finds the culprit with real builds and measurements, and says honestly where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tests.bisect.coordinator.inline_pool import InlinePool
from tests.bisect.runner.projects import KEY, project, recipe, script
from tests.repositories import GitRepository

from knickpoint.bisect.coordinator import Bisection, BisectionAnswer, FileJournal, coordinate
from knickpoint.bisect.job import Device
from knickpoint.bisect.pool import LocalPool
from knickpoint.bisect.runner import Workspace
from knickpoint.bisect.search.problem import Level
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.bisection import BisectionState, ProbeOutcome, ProbePurpose

Make = Callable[[str], GitRepository]
Values = list[float | str]


@pytest.fixture
def repository(new_repository: Make) -> GitRepository:
    return new_repository("project")


ONE_PASSES = script("raise SystemExit(open('value.txt').read() != '1')")


def _search(
    repository: GitRepository, tmp_path: Path, values: Values, settings: RecipeSettings | None = None, trace: str = KEY
) -> tuple[BisectionAnswer, list[str]]:
    hashes = project(repository, values)
    chosen = settings or recipe()
    locations = {"": str(repository.directory)}
    asked = Bisection("B1", locations, hashes[0], tuple(hashes[1:]), chosen, trace if chosen.results else "")
    with FileJournal(tmp_path / "journal.jsonl", {"search": 1}, resume=False) as journal:
        return coordinate(asked, InlinePool(Workspace(tmp_path / "workspace")), journal), hashes


def test_the_commit_that_moved_the_value_is_found(repository: GitRepository, tmp_path: Path) -> None:
    values: Values = [10.0, 10.0, "broken", *[10.0] * 4, *[10.4] * 6]
    answer, _ = _search(repository, tmp_path, values)
    assert (answer.state, answer.places) == (BisectionState.CULPRIT, (7,))
    assert answer.probability >= 0.95
    assert answer.before is not None
    assert answer.after is not None
    assert answer.after.mean - answer.before.mean == pytest.approx(0.4, abs=0.02)
    first = [entry.planned for entry in answer.entries[:2]]
    assert [(planned.place, planned.purpose) for planned in first] == [(0, ProbePurpose.END), (12, ProbePurpose.END)]


@pytest.mark.long
def test_three_devices_find_one_of_sixteen_commits_together(repository: GitRepository, tmp_path: Path) -> None:
    hashes = project(repository, [10.0] * 10 + [10.4] * 7)
    asked = Bisection("B1", {"": str(repository.directory)}, hashes[0], tuple(hashes[1:]), recipe(), KEY)
    devices = [Device("one"), Device("two"), Device("three")]
    with (
        LocalPool(Workspace(tmp_path / "workspace"), devices, at_once=3) as pool,
        FileJournal(tmp_path / "journal.jsonl", {}, resume=False) as journal,
    ):
        answer = coordinate(asked, pool, journal)
    log = (tmp_path / "journal.jsonl").read_text()
    assert (answer.state, answer.places) == (BisectionState.CULPRIT, (10,))
    # A probe whose answer decides nothing any more is cancelled: how many have a result depends on the load of the
    # machine.
    assert {device for device in ("one", "two", "three") if f" on {device}: " in log} == {"one", "two", "three"}
    # Levels of one device are compared; on a loaded machine, further probes of an end begin before its first one has a
    # result.
    ends = [entry.planned for entry in answer.entries if entry.planned.purpose is ProbePurpose.END]
    of_first, of_last = ({planned.device for planned in ends if planned.place == place} for place in (0, 16))
    assert of_first & of_last


def test_commits_that_cannot_be_built_leave_a_range(repository: GitRepository, tmp_path: Path) -> None:
    answer, _ = _search(repository, tmp_path, [10.0, 10.0, "broken", "broken", 12.0, 12.0])
    assert (answer.state, answer.places) == (BisectionState.RANGE, (2, 3, 4))
    skipped = [
        entry.result for entry in answer.entries if entry.result and entry.result.outcome is ProbeOutcome.SKIPPED
    ]
    assert all("not a number" in result.reason for result in skipped)


@pytest.mark.long
def test_two_changes_are_named_as_culprits_and_not_as_a_range_between_them(
    repository: GitRepository, tmp_path: Path
) -> None:
    answer, hashes = _search(repository, tmp_path, [10.0, 10.0, 12.0, 12.0, 14.0, 14.0])
    assert (answer.state, answer.places, answer.several) == (BisectionState.RANGE, (2, 4), True)
    assert answer.reason == f"each of {hashes[2][:10]} and {hashes[4][:10]} made a change"


def test_ends_alike_are_not_reproducible(repository: GitRepository, tmp_path: Path) -> None:
    hashes = project(repository, [10.0, 10.0, 10.0])
    before, after = Level(10.0, 0.01, 20), Level(12.0, 0.01, 20)
    locations = {"": str(repository.directory)}
    asked = Bisection("B1", locations, hashes[0], tuple(hashes[1:]), recipe(), KEY, before, after)
    with FileJournal(tmp_path / "journal.jsonl", {}, resume=False) as journal:
        answer = coordinate(asked, InlinePool(Workspace(tmp_path / "workspace")), journal)
    assert (answer.state, answer.places) == (BisectionState.NOT_REPRODUCIBLE, ())
    assert answer.reason.startswith("the ends do not differ when they are measured again; a change above ")


def test_ends_alike_name_the_longest_stretch_that_is_open(repository: GitRepository, tmp_path: Path) -> None:
    hashes = project(repository, [10.0] * 9)
    before, after = Level(10.0, 0.01, 20), Level(12.0, 0.01, 20)
    locations = {"": str(repository.directory)}
    asked = Bisection("B1", locations, hashes[0], tuple(hashes[1:]), recipe(), KEY, before, after)
    with FileJournal(tmp_path / "journal.jsonl", {}, resume=False) as journal:
        answer = coordinate(asked, InlinePool(Workspace(tmp_path / "workspace")), journal)
    places = sorted({0, 8, *(entry.planned.place for entry in answer.entries)})
    length, first = max((after - before, -before) for before, after in pairwise(places))
    stretch = f"{hashes[-first][:10]}..{hashes[length - first][:10]} ({length} commits)"
    assert answer.state is BisectionState.NOT_REPRODUCIBLE
    assert answer.reason.endswith(f"changes there may cancel each other; the longest stretch that is open is {stretch}")


@pytest.mark.parametrize(
    ("values", "state", "places"),
    [
        (["1", "1", "1", "0", "0"], BisectionState.CULPRIT, (3,)),
        (["1", "1"], BisectionState.NOT_REPRODUCIBLE, ()),
    ],
)
def test_a_test_that_fails_since_a_commit_is_traced_to_it(
    repository: GitRepository, tmp_path: Path, values: Values, state: BisectionState, places: tuple[int, ...]
) -> None:
    answer, _ = _search(repository, tmp_path, values, recipe(build=(), measure=ONE_PASSES, results=()))
    assert (answer.state, answer.places) == (state, places)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["1", "1", "1"], "the bad end passes"),
        (["0", "1", "0"], "the good end fails"),
        (["0", "1"], "the good end fails and the bad end passes: are they swapped?"),
    ],
)
def test_an_end_that_contradicts_the_range_is_named_after_two_probes(
    repository: GitRepository, tmp_path: Path, values: Values, reason: str
) -> None:
    answer, _ = _search(repository, tmp_path, values, recipe(build=(), measure=ONE_PASSES, results=()))
    assert (answer.state, answer.reason) == (BisectionState.NOT_REPRODUCIBLE, reason)
    assert len(answer.entries) == 2


def test_an_end_that_cannot_be_measured_is_named(repository: GitRepository, tmp_path: Path) -> None:
    answer, _ = _search(repository, tmp_path, ["broken", 10.0, 12.0])
    assert answer.state is BisectionState.GAVE_UP
    assert answer.reason.startswith("the good end cannot be measured: build ended with exit code 1: value.txt:1: error")


def test_a_trace_that_the_results_lack_is_answered_with_close_ones(repository: GitRepository, tmp_path: Path) -> None:
    answer, _ = _search(repository, tmp_path, [10.0, 12.0], trace=",benchmark=rendr,")
    assert answer.state is BisectionState.GAVE_UP
    assert "the results have no trace benchmark=rendr; they have benchmark=render" in answer.reason


def test_a_trace_that_no_probe_has_is_named_where_the_history_knows_its_levels(
    repository: GitRepository, tmp_path: Path
) -> None:
    hashes = project(repository, [10.0, 12.0])
    before, after = Level(10.0, 0.01, 20), Level(12.0, 0.01, 20)
    locations = {"": str(repository.directory)}
    asked = Bisection("B1", locations, hashes[0], tuple(hashes[1:]), recipe(), ",benchmark=rendr,", before, after)
    with FileJournal(tmp_path / "journal.jsonl", {}, resume=False) as journal:
        answer = coordinate(asked, InlinePool(Workspace(tmp_path / "workspace")), journal)
    assert answer.state is BisectionState.GAVE_UP
    assert answer.reason.startswith("no commit can be measured: the results have no trace benchmark=rendr; they have")
    assert "no value of the trace" in (tmp_path / "journal.jsonl").read_text()


def test_some_params_of_a_trace_are_enough_where_they_mean_one(repository: GitRepository, tmp_path: Path) -> None:
    settings = recipe(most_probes=2)
    several = script(
        "import json, os",
        "rows = [{'benchmark': 'a', 'os': os, 'value': 1.0, 'commit': 'c' * 40} for os in ('x', 'y')]",
        "json.dump(rows + [{'benchmark': 'b', 'os': 'x', 'value': 1.0, 'commit': 'c' * 40}], open('out.json', 'w'))",
    )
    one, _ = _search(repository, tmp_path, [1.0, 1.0], replace(settings, measure=several), trace=",benchmark=b,")
    assert one.trace == ",benchmark=b,os=x,"
    two, _ = _search(repository, tmp_path, [2.0, 2.0], replace(settings, measure=several), trace=",benchmark=a,")
    assert "several traces have benchmark=a: benchmark=a,os=x or benchmark=a,os=y; name more params" in two.reason


def test_the_budget_ends_a_search(repository: GitRepository, tmp_path: Path) -> None:
    answer, _ = _search(repository, tmp_path, [10.0, 10.0, 10.0, 12.0, 12.0], recipe(most_probes=3))
    assert answer.state is BisectionState.GAVE_UP
    assert re.fullmatch(r"the budget of 3 probes is spent; a change above [0-9.]+ % is excluded", answer.reason)
    assert len([entry for entry in answer.entries if entry.result]) == 3


def test_a_stop_ends_the_probes(repository: GitRepository, tmp_path: Path) -> None:
    hashes = project(repository, [10.0, 12.0])
    hang = recipe(measure=script("import time", "time.sleep(60)"))
    asked = Bisection("B1", {"": str(repository.directory)}, hashes[0], (hashes[1],), hang, KEY)
    begun: list[int] = []
    with (
        LocalPool(Workspace(tmp_path / "workspace")) as pool,
        FileJournal(tmp_path / "journal.jsonl", {}, resume=False) as journal,
    ):
        answer = coordinate(
            asked, pool, journal, stop=lambda: bool(begun), progress=lambda now: begun.append(len(now.entries))
        )
    assert answer.state is BisectionState.STOPPED
