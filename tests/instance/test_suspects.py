"""The suspects of changes: ranked from a real repository by the run and the worker, kept, and listed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.instance.test_worker import Clock
from tests.repositories import GitRepository
from tests.server.client import Client
from tests.watch.conftest import QUICK, World, levels

from knickpoint.history import Git
from knickpoint.instance import Instance, create_instance, open_instance, rank_new_suspects
from knickpoint.instance.worker import Worker
from knickpoint.model.change_point import Status
from knickpoint.model.commit import Commit
from knickpoint.model.suspects import SuspectFacts, Suspects
from knickpoint.server import create_app
from knickpoint.watch.suspects.commit_facts import KeyWords, count_words
from knickpoint.watch.triage.decisions import Targets, decide

CULPRIT = 22
"""The commit that touches what `parse` is named after; 20 and 25 are measured, those between are not."""

GAP = range(21, 25)


def make_repository(directory: Path) -> GitRepository:
    """Make 40 commits; the culprit touches src/parser.py, all others files that are named after nothing."""
    made = GitRepository.make(directory)
    touched = ("src/parser.py" if position == CULPRIT else f"src/x{position % 3}.py" for position in range(40))
    made.commit_files((f"Change number {position}", {path: f"{position}\n"}) for position, path in enumerate(touched))
    return made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return make_repository(tmp_path_factory.mktemp("git") / "project")


@dataclass
class Story:
    """An instance in which `parse` becomes slower between two measured commits, and `render` does not."""

    instance: Instance
    world: World

    def run(self) -> None:
        self.world.run(QUICK)

    def suspects(self) -> Suspects:
        (key,) = self.world.store.findings.groups.suspect_ranges(self.world.repository)
        found = self.world.store.findings.suspects.get(key)
        assert found is not None
        return found


def story(directory: Path, location: str, commits: Sequence[Commit]) -> Iterator[Story]:
    with create_instance(directory, repositories={"project": location}) as instance:
        store = instance.store
        repository = store.commits.add_repository("project", location)
        store.commits.add(repository, commits)
        store.commits.set_line(repository, "main", range(len(commits)))
        world = World(store, repository)
        with store.transaction():
            for name, series in (("parse", levels((21, 100.0), (19, 130.0))), ("render", levels((40, 100.0)))):
                for slot, value in enumerate(series):
                    if slot not in GAP:
                        world.put(slot, {name: value})
        made = Story(instance, world)
        made.run()
        yield made


def make_template(directory: Path, project: GitRepository) -> Path:
    """Make the instance of a story with the commits of a repository, to be copied."""
    for _ in story(directory, str(project.directory), Git.at(project.directory).first_parents("main")):
        pass
    return directory


def copied(template: Path, directory: Path) -> Iterator[Story]:
    """Open a copy of the instance of a story."""
    with open_instance(shutil.copytree(template, directory)) as instance:
        yield Story(instance, World(instance.store, instance.store.commits.repository("project")))


@pytest.fixture(scope="module")
def template(project: GitRepository, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("slowed") / "instance", project)


@pytest.fixture
def slowed(template: Path, tmp_path: Path) -> Iterator[Story]:
    yield from copied(template, tmp_path / "instance")


@pytest.fixture
def without_git(tmp_path: Path, project: GitRepository) -> Iterator[Story]:
    yield from story(tmp_path / "instance", "", Git.at(project.directory).first_parents("main"))


def test_the_culprit_comes_first_of_the_commits_of_its_range(slowed: Story) -> None:
    assert rank_new_suspects(slowed.instance) == 1
    found = slowed.suspects()
    assert {suspect.slot for suspect in found.suspects} == {21, 22, 23, 24, 25}
    assert found.suspects[0].slot == CULPRIT
    assert found.facts is SuspectFacts.GIT
    assert found.note == ""


def test_suspects_are_ranked_once_until_something_changes(slowed: Story) -> None:
    rank_new_suspects(slowed.instance)
    assert rank_new_suspects(slowed.instance) == 0
    assert rank_new_suspects(slowed.instance, everything=True) == 1


def test_the_words_of_keys_are_counted_anew_where_there_are_further_traces(
    slowed: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []

    def count(keys: Iterable[str]) -> KeyWords:
        found = count_words(keys)
        counted.append(found.traces)
        return found

    monkeypatch.setattr("knickpoint.watch.suspects.update.count_words", count)
    for _ in range(2):
        rank_new_suspects(slowed.instance, everything=True)
    slowed.world.put(39, {"scan": 5.0})
    rank_new_suspects(slowed.instance, everything=True)
    moved = 1
    assert counted == [moved, 2, moved, moved, 3]


def test_suspects_of_a_range_that_moved_are_not_shown_and_ranked_again(slowed: Story) -> None:
    rank_new_suspects(slowed.instance)
    slowed.world.put(23, {"parse": 130.0})
    slowed.run()
    (key,) = slowed.world.store.findings.groups.suspect_ranges(slowed.world.repository)
    assert slowed.world.store.findings.suspects.get(key) is None
    assert rank_new_suspects(slowed.instance) == 1
    assert {suspect.slot for suspect in slowed.suspects().suspects} == {21, 22, 23}


def test_without_git_all_commits_of_the_range_are_equally_likely_and_the_note_says_so(without_git: Story) -> None:
    rank_new_suspects(without_git.instance)
    found = without_git.suspects()
    assert found.facts is SuspectFacts.RESULTS
    assert len({suspect.probability for suspect in found.suspects}) == 1
    assert (
        found.note
        == "The repository has no location, so the files of its commits are unknown. All commits weigh the same."
    )


def test_a_repository_that_cannot_be_read_stops_nothing(tmp_path: Path, project: GitRepository) -> None:
    commits = Git.at(project.directory).first_parents("main")
    for slowed in story(tmp_path / "instance", str(tmp_path / "missing"), commits):
        rank_new_suspects(slowed.instance)
        assert slowed.suspects().facts is SuspectFacts.RESULTS
        assert "there is no such directory" in slowed.suspects().note


def test_the_worker_ranks_what_a_run_finds(slowed: Story) -> None:
    Worker(slowed.instance).once()
    assert slowed.suspects().suspects[0].slot == CULPRIT


def test_the_worker_looks_for_what_is_to_be_ranked_where_data_changed(
    slowed: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def count(instance: Instance) -> int:
        looked.append(rank_new_suspects(instance))
        return looked[-1]

    monkeypatch.setattr("knickpoint.instance.worker.worker.rank_new_suspects", count)
    worker = Worker(slowed.instance, clock=Clock())
    for _ in range(5):
        worker.step()
    assert looked == [1, 0]
    slowed.world.put(39, {"parse": 131.0})
    worker.step()
    assert len(looked) > 2


def test_a_file_of_an_earlier_confirmed_cause_speaks_for_a_commit(slowed: Story) -> None:
    slowed.world.measure({"other": levels((31, 100.0), (9, 140.0))})
    slowed.run()
    (other,) = slowed.world.points("other")
    decide(
        slowed.instance.store, Targets(points=(other.id,)), status=Status.ACKNOWLEDGED, who="Ada"
    )  # commit 31 touches src/x1.py, as 25 does
    rank_new_suspects(slowed.instance)
    (parse,) = slowed.world.points("parse")
    found = slowed.instance.store.findings.suspects.get(parse.change_id)
    assert found is not None
    reasons = {suspect.slot: suspect.reasons for suspect in found.suspects}
    assert reasons[25] == ("touches src/x1.py, as the cause of an earlier confirmed finding does",)
    assert not reasons[24]


def test_the_api_lists_the_suspects_as_they_are_kept(slowed: Story) -> None:
    client = Client(create_app(slowed.instance))
    (key,) = slowed.world.store.findings.groups.suspect_ranges(slowed.world.repository)
    address = f"/api/v1/changes/{key}/suspects"
    unranked = client.get(address).json()
    assert (unranked["ranked"], unranked["suspects"]) == (False, [])
    rank_new_suspects(slowed.instance)
    answer = client.get(address).json()
    first = answer["suspects"][0]
    assert (answer["ranked"], answer["facts"], answer["none"]) == (True, "git", slowed.suspects().none)
    assert (first["commit"]["position"], first["commit"]["author"]) == (CULPRIT, "Ada")
    assert first["reasons"] == ["touches src/parser.py, and benchmark=parse moved"]


def test_a_change_that_does_not_exist_has_no_suspects(slowed: Story) -> None:
    assert Client(create_app(slowed.instance)).get("/api/v1/changes/999/suspects").status_code == 404
