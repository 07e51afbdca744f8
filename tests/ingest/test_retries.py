from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from tests.ingest.conftest import Lab
from tests.ingest.test_file_import import history
from tests.repositories import GitRepository

from knickpoint.ingest import ImportState, ingest_status, retry_refused, retry_waiting
from knickpoint.model.errors import InputError

NewRepository = Callable[[str], GitRepository]

UNKNOWN = "f" * 40


@pytest.fixture
def made(lab: Lab, new_repository: NewRepository) -> GitRepository:
    repository = new_repository("lib")
    repository.commit("Begin")
    lab.configure('[repositories.lib]\nlocation = "../lib"\n')
    return repository


def ahead(made: GitRepository) -> tuple[str, Callable[[], None]]:
    """Make a commit that the repository does not have yet, and return what brings it there."""
    made.git("clone", "--quiet", ".", "../elsewhere")
    elsewhere = GitRepository(made.directory.parent / "elsewhere", 100)
    commit = elsewhere.commit("From elsewhere")

    def arrive() -> None:
        made.git("pull", "--quiet", "../elsewhere", "main")

    return commit, arrive


def test_what_waits_comes_in_once_its_commit_is_known(lab: Lab, made: GitRepository) -> None:
    commit, arrive = ahead(made)
    lab.take(lab.skia("a.json", commit, sort=1))
    assert retry_waiting(lab.instance).files == ()
    arrive()
    summary = retry_waiting(lab.instance)
    assert [file.state for file in summary.files] == [ImportState.IMPORTED]
    assert lab.values("lib")[commit] == {"sort": 1}
    assert ingest_status(lab.instance).waiting == ()


def test_the_known_part_of_a_history_comes_in_at_once(lab: Lab, made: GitRepository) -> None:
    first = made.git("rev-parse", "HEAD")
    commit, arrive = ahead(made)
    summary = lab.take(lab.write("data.js", history((first, 1, 1), (commit, 2, 2), (UNKNOWN, 3, 3))))
    assert (summary.files[0].new, summary.files[0].unknown) == (1, (commit, UNKNOWN))
    arrive()
    (file,) = retry_waiting(lab.instance).files
    assert (file.new, file.same, file.unknown) == (1, 1, (UNKNOWN,))
    assert [held.unknown for held in ingest_status(lab.instance).waiting] == [(UNKNOWN,)]


@pytest.mark.usefixtures("made")
def test_the_same_waiting_file_twice_waits_once(lab: Lab) -> None:
    path = lab.skia("a.json", UNKNOWN, sort=1)
    lab.take(path)
    lab.take(path)
    (waiting,) = ingest_status(lab.instance).waiting
    assert (waiting.source, waiting.repository, waiting.unknown) == (str(path), "lib", (UNKNOWN,))


def test_a_file_of_another_commit_under_the_same_name_drops_none_that_waits(lab: Lab, made: GitRepository) -> None:
    first = made.git("rev-parse", "HEAD")
    commit, arrive = ahead(made)
    for revision, value in ((commit, 2), (UNKNOWN, 3), (first, 1)):
        lab.take(lab.skia("results.json", revision, sort=value))
    assert {held.unknown for held in ingest_status(lab.instance).waiting} == {(commit,), (UNKNOWN,)}
    arrive()
    assert retry_waiting(lab.instance).files[0].new == 1
    assert lab.values("lib") == {first: {"sort": 1}, commit: {"sort": 2}}
    assert [held.unknown for held in ingest_status(lab.instance).waiting] == [(UNKNOWN,)]


@pytest.mark.usefixtures("made")
def test_what_left_quarantine_is_neither_counted_nor_listed_as_there(lab: Lab) -> None:
    path = lab.write("a.csv", "benchmark,value\nsort,many\n")
    lab.take(path)
    assert ingest_status(lab.instance).counts["quarantined"] == 1
    lab.take(lab.write("a.csv", "benchmark,value\nsort,1\n"), revision="HEAD")
    status = ingest_status(lab.instance)
    assert (status.refused, status.counts) == ((), {"stored": 1, "waiting": 0, "quarantined": 0, "removed": 0})
    assert [entry.state.value for entry in status.recent] == ["stored"]


def test_options_wait_with_their_file(lab: Lab, made: GitRepository) -> None:
    commit, arrive = ahead(made)
    lab.take(lab.write("a.csv", "benchmark,value\nsort,1\n"), revision=commit, params={"machine": "m1"})
    arrive()
    assert retry_waiting(lab.instance).files[0].new == 1


@pytest.mark.usefixtures("made")
def test_too_many_waiting_files_put_the_oldest_into_quarantine(lab: Lab) -> None:
    lab.configure('[ingest]\nwaiting_files = 1\n[repositories.lib]\nlocation = "../lib"\n')
    lab.take(lab.skia("a.json", UNKNOWN, sort=1), lab.skia("b.json", UNKNOWN, sort=2))
    status = ingest_status(lab.instance)
    assert [held.source for held in status.waiting] == [str(lab.directory / "b.json")]
    assert "too many files wait" in status.refused[0].problems[0].message


@pytest.mark.usefixtures("made")
def test_what_waited_too_long_goes_into_quarantine(lab: Lab) -> None:
    lab.configure('[ingest]\nwaiting_days = 0\n[repositories.lib]\nlocation = "../lib"\n')
    lab.take(lab.skia("a.json", UNKNOWN, sort=1))
    retry_waiting(lab.instance)
    status = ingest_status(lab.instance)
    assert (status.waiting, len(status.refused)) == ((), 1)


def test_a_url_that_does_not_answer_lets_results_wait(lab: Lab, new_repository: NewRepository) -> None:
    far = new_repository("far")
    far.commit()
    lab.configure(f'[repositories.far]\nlocation = "{far.directory.as_uri()}"\n')
    lab.take(lab.skia("a.json", far.git("rev-parse", "HEAD"), sort=1))
    far.directory.rename(lab.directory / "gone")
    summary = lab.take(lab.skia("b.json", UNKNOWN, sort=1))
    assert summary.files[0].state is ImportState.WAITING
    assert "cannot be fetched" in summary.lines()[1]


def test_a_repository_that_is_gone_keeps_no_other_waiting(lab: Lab, made: GitRepository) -> None:
    lab.configure('[repositories.gone]\nlocation = "../gone"\n[repositories.lib]\nlocation = "../lib"\n')
    commit, arrive = ahead(made)
    lab.take(lab.skia("a.json", commit, sort=1), repository="lib")
    arrive()
    summary = retry_waiting(lab.instance)
    assert [file.state for file in summary.files] == [ImportState.IMPORTED]
    assert [line.partition(": ")[0] for line in summary.unread] == ["repository gone"]
    assert summary.failed


def test_a_url_that_is_gone_keeps_no_other_waiting(
    lab: Lab, made: GitRepository, new_repository: NewRepository
) -> None:
    far = new_repository("far")
    known = far.commit()
    url = far.directory.as_uri()
    lab.configure(f'[repositories.far]\nlocation = "{url}"\n[repositories.lib]\nlocation = "../lib"\n')
    commit, arrive = ahead(made)
    lab.take(lab.skia("far.json", known, sort=1), repository="far")
    lab.take(lab.skia("a.json", commit, sort=1), repository="lib")
    arrive()
    far.directory.rename(lab.directory / "gone")
    summary = retry_waiting(lab.instance)
    assert [file.state for file in summary.files] == [ImportState.IMPORTED]
    assert [line.partition(": ")[0] for line in summary.unread] == ["repository far"]


def test_a_refused_file_comes_in_under_better_rules(lab: Lab) -> None:
    lab.configure('[ingest]\nrefuse_params = ["pid"]\n')
    lab.take(lab.write("a.csv", "commit,benchmark,pid,value\n" + "1000001" + ",sort,17,1\n"))
    lab.configure('[ingest]\ndrop_params = ["pid"]\n')
    assert not retry_refused(lab.instance).failed
    assert ingest_status(lab.instance).refused == ()
    assert lab.values() == {"1000001": {"sort": 1}}


def test_a_refused_file_comes_in_with_the_commit_that_it_lacked(lab: Lab) -> None:
    lab.take(lab.write("a.csv", "benchmark,value\nsort,1\n"))
    (refused,) = ingest_status(lab.instance).refused
    assert not retry_refused(lab.instance, [refused.id], revision="1000001").failed
    assert ingest_status(lab.instance).refused == ()


def test_a_file_that_is_refused_again_counts_its_attempts(lab: Lab) -> None:
    lab.take(lab.write("a.json", "{"))
    retry_refused(lab.instance)
    assert [held.attempts for held in ingest_status(lab.instance).refused] == [2]


def test_a_number_that_is_not_in_quarantine_is_an_error(lab: Lab) -> None:
    with pytest.raises(InputError, match="no file 7 in quarantine"):
        retry_refused(lab.instance, [7])


def test_the_status_counts_files(lab: Lab) -> None:
    lab.take(lab.skia("a.json", "1000001", sort=1), lab.write("b.json", "{"))
    status = ingest_status(lab.instance)
    assert (status.counts["stored"], status.counts["quarantined"]) == (1, 1)
    assert status.recent[0].source.endswith("b.json")


def test_a_waiting_file_whose_stored_bytes_are_damaged_goes_on_waiting_and_holds_up_no_others(
    lab: Lab, made: GitRepository
) -> None:
    commit, arrive = ahead(made)
    lab.take(lab.skia("a.json", commit, sort=1), lab.skia("b.json", commit, parse=2))
    arrive()
    first, _ = lab.instance.store.ledger.waiting()
    path = lab.directory / "instance" / "knickpoint.db"
    with closing(sqlite3.connect(path)) as database, database:
        damaged = bytes([*first.payload[:-1], first.payload[-1] ^ 1])
        database.execute("UPDATE ledger_waiting SET payload = ? WHERE id = ?", (damaged, first.id))
    unreadable, imported = retry_waiting(lab.instance).files
    assert (unreadable.state, imported.state) == (ImportState.UNREADABLE, ImportState.IMPORTED)
    assert "doctor --deep" in unreadable.problems[0].remedy
    assert [held.id for held in lab.instance.store.ledger.waiting()] == [first.id]
