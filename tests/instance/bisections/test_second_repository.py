"""Bisections of a change where the runs at the ends name other commits of a second repository too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.instance.bisections.bisectable import BAD, CULPRIT, GOOD, Bisectable, QuickPool, recipe
from tests.repositories import GitRepository

from knickpoint.bisect.job import ProbeJob
from knickpoint.history import Git
from knickpoint.ingest.settings import RepositorySettings
from knickpoint.instance import Instance
from knickpoint.instance.bisections import request_bisection, run_bisection
from knickpoint.instance.bisections.runs import bisection_of
from knickpoint.instance.bisections.second_repository import other_range
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import InputError
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite
from knickpoint.store.bisections import StoredBisection

_ENGINE_CULPRIT = 3


@dataclass
class TwoRepositories:
    """The instance with a second repository, `engine`, which moved by five commits within the range."""

    slowed: Bisectable
    instance: Instance
    engine: tuple[str, ...]
    pool: QuickPool

    def bisect(self, level: Callable[[bool, bool], float]) -> StoredBisection:
        """Run the bisection; ``level`` says what is measured with and without the culprit of each repository."""
        hashes = self.pool.commits

        def measured(job: ProbeJob) -> float:
            pinned = self.engine.index(dict(job.target.pins)["engine"])
            return level(hashes.index(job.target.commit) >= CULPRIT, pinned >= _ENGINE_CULPRIT)

        self.pool.level_of = measured
        asked = request_bisection(self.instance, self.slowed.change, who="ann")
        return run_bisection(self.instance, asked, self.pool, worker="test")

    def log(self) -> list[str]:
        """Return the lines of the log."""
        return [line.text for line in self.instance.store.bisections.journal(1).lines()]


@pytest.fixture
def two(slowed: Bisectable, tmp_path: Path) -> TwoRepositories:
    engine = GitRepository.make(tmp_path / "engine")
    commits = tuple(engine.commit_files((f"Engine {number}", {"level": f"{number}"}) for number in range(6)))
    for slot, commit in ((GOOD, commits[0]), (BAD, commits[-1])):
        table = ResultTable.of([Result({"benchmark": "load"}, (1.0,), "ms")])
        report = RunReport(table, identity=f"load {slot}", revisions={"engine": commit})
        slowed.instance.store.runs.write(
            slowed.world.repository, [RunWrite(slot, report, report.identity, report.identity, "test")]
        )
    instance = slowed.with_recipes(recipe(also={"engine": "engine"}))
    repositories = {**instance.config.repositories, "engine": RepositorySettings(location=str(engine.directory))}
    instance = replace(instance, config=replace(instance.config, repositories=repositories))
    location = Path(instance.repositories["project"].location)
    return TwoRepositories(
        slowed, instance, commits, QuickPool([each.hash for each in Git.at(location).first_parents("main")])
    )


def test_the_combinations_come_first_and_the_search_goes_on_in_the_main_repository(two: TwoRepositories) -> None:
    done = two.bisect(lambda project, _engine: 100.0 + 30.0 * project)
    assert (done.state, done.answer.culprits) == (BisectionState.CULPRIT, (CULPRIT,))
    assert done.answer.reason == "engine moved as well, and made no change"
    lines = two.log()
    old, new = two.engine[0][:10], two.engine[-1][:10]
    assert lines[0] == f"engine moved as well, from {old} to {new}: the four combinations of old and new come first."
    assert any(line.startswith("old with new on lab-1: 100") for line in lines)


def test_a_change_of_the_second_repository_names_its_commit_and_leaves_the_range(two: TwoRepositories) -> None:
    store, key = two.instance.store, two.slowed.change
    before = store.findings.change(key).suspect_range
    done = two.bisect(lambda _project, engine: 100.0 + 30.0 * engine)
    assert (done.state, done.answer.culprits) == (BisectionState.CULPRIT, ())
    assert done.answer.reason == f"engine made the change: {two.engine[_ENGINE_CULPRIT][:10]}"
    assert store.findings.change(key).suspect_range == before


def test_values_of_combinations_are_no_points_of_the_trace(two: TwoRepositories) -> None:
    two.bisect(lambda _project, engine: 100.0 + 30.0 * engine)
    assert two.pool.jobs
    store = two.instance.store
    assert store.bisections.values_of(two.slowed.world.trace("parse")) == []
    assert store.bisections.waiting_results() == []
    assert store.runs.probed(two.slowed.world.repository) == set()


def test_a_change_of_neither_is_not_reproducible(two: TwoRepositories) -> None:
    done = two.bisect(lambda _project, _engine: 100.0)
    assert (done.state, done.answer.reason) == (
        BisectionState.NOT_REPRODUCIBLE,
        "no combination differs from the good ends",
    )


def test_a_worker_that_ends_among_the_combinations_leaves_them_to_the_next_one(two: TwoRepositories) -> None:
    two.pool.level_of = lambda _job: 100.0
    asked = request_bisection(two.instance, two.slowed.change, who="ann")
    left = run_bisection(two.instance, asked, two.pool, worker="one", stop=lambda: len(two.pool.jobs) >= 5)
    assert left.state is BisectionState.RUNNING
    measured = {each.name for each in two.instance.store.bisections.journal(1).probes() if each.result}
    done = two.bisect(lambda project, _engine: 100.0 + 30.0 * project)
    made = [job.probe for job in two.pool.jobs]
    assert done.state.ended
    assert all(made.count(name) == 1 for name in measured)


def refusal(two: TwoRepositories, moved: dict[str, tuple[str, str]], **locations: str) -> str:
    """Return why no second repository is searched, and what to do."""
    asked = request_bisection(two.instance, two.slowed.change, who="ann")
    bisection = bisection_of(two.instance, asked)
    with pytest.raises(InputError) as refused:
        other_range(replace(bisection, locations={**bisection.locations, **locations}), moved)
    return str(refused.value)


def test_two_further_repositories_that_moved_ask_for_a_narrower_range(two: TwoRepositories) -> None:
    ends = two.engine[0], two.engine[-1]
    text = refusal(two, {"engine": ends, "fonts": ("a" * 40, "b" * 40)})
    named = f"engine: {ends[0][:10]}..{ends[1][:10]}, fonts: aaaaaaaaaa..bbbbbbbbbb"
    assert text.startswith(f"the runs at the ends also differ in {named}, and only one can be searched beside the main")
    assert "until only one repository moved" in text


def test_a_second_repository_at_a_url_asks_for_a_clone_and_keeps_the_password(two: TwoRepositories) -> None:
    ends = two.engine[0], two.engine[-1]
    text = refusal(two, {"engine": ends}, engine="https://ann:secret@example.org/engine.git")
    assert "its location is a URL and no clone on this machine" in text
    assert text.endswith("Clone it, and set `location` of [repositories.engine] to the clone.")
    assert "secret" not in text


def test_a_clone_without_the_commits_asks_to_fetch_them(two: TwoRepositories) -> None:
    text = refusal(two, {"engine": ("a" * 40, two.engine[-1])})
    assert "its range cannot be searched: " in text
    assert text.endswith("the old one has to be an ancestor of the new one.")
