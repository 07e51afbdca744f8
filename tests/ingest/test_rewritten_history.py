"""Rebases, inserted commits and force-pushes, in real git repositories, under findings that people decided about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from tests.ingest.conftest import Lab
from tests.repositories import GitRepository

from knickpoint.ingest import retry_waiting
from knickpoint.instance import create_instance
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition, Status
from knickpoint.store import EventKind, unpack_ids
from knickpoint.store.findings.tickets import Ticket
from knickpoint.watch.alert_run.persistence import RunSummary
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide, undo

_ALERTS = (Alert("quick", method="threshold"),)


@dataclass
class Story:
    """A repository with twelve measured commits, of which the seventh (number 6) made sorting slower."""

    lab: Lab
    git: GitRepository
    hashes: list[str]

    def measure(self, hashes: Sequence[str], value: Callable[[int], float]) -> None:
        """Import a result for each of ``hashes``."""
        self.lab.take(
            *(self.lab.skia(f"{name}.json", name, sort=value(place)) for place, name in enumerate(hashes)),
        )

    def run(self) -> RunSummary:
        """Run the alerts over everything."""
        return run_alerts(self.lab.instance.store, _ALERTS)

    @property
    def points(self) -> list[ChangePoint]:
        """The change points of the one trace, gone ones too."""
        store = self.lab.instance.store
        (trace,) = store.traces.find(store.commits.repository("lib"), ",benchmark=sort,unit=ms,")
        return store.findings.change_points(trace.id, gone=True)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the repository, the default one first."""
        commits = self.lab.instance.store.commits
        return commits.lines(commits.repository("lib"))

    def hash_of(self, slot: int) -> str:
        """Return the hash of the commit at ``slot``."""
        commits = self.lab.instance.store.commits
        return commits.get(commits.repository("lib"), [slot])[0].commit.hash

    def slot_of(self, revision: str) -> int:
        """Return the slot of a commit."""
        commits = self.lab.instance.store.commits
        found = commits.find(commits.repository("lib"), revision)
        assert found is not None
        return found.slot

    def insert_below(self, number: int) -> list[str]:
        """Put a commit before commit ``number`` and rebase the rest onto it; return the hashes of the line now."""
        self.git.git("checkout", "--quiet", "-b", "insertion", f"{self.hashes[number]}~1")
        inserted = self.git.commit("Put in between")
        self.git.git("rebase", "--quiet", "--onto", inserted, f"{self.hashes[number]}~1", "main")
        self.git.git("branch", "--quiet", "-D", "insertion")
        return self.git.git("rev-list", "--first-parent", "--reverse", "main").splitlines()


def slower_from(number: int) -> Callable[[int], float]:
    return lambda place: (10.0 if place < number else 20.0) + 0.01 * (place % 3)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Story:
    place = tmp_path_factory.mktemp("measured")
    lab, repository = Lab(place, create_instance(place / "instance")), GitRepository.make(place / "lib")
    lab.configure('[repositories.lib]\nlocation = "../lib"\n')
    made = Story(lab, repository, repository.commits(12))
    made.measure(made.hashes, slower_from(6))
    made.run()
    lab.instance.close()
    return made


@pytest.fixture
def story(lab: Lab, template: Story) -> Story:
    """Begin with a copy of the measured repository and its instance."""
    lab.begin_as(template.lab)
    return Story(lab, GitRepository(lab.directory / "lib", template.git.minutes), list(template.hashes))


def hide(story: Story) -> ChangePoint:
    (point,) = story.points
    decide(story.lab.instance.store, Targets(points=(point.id,)), who="ada", status=Status.HIDDEN, note="known")
    return point


def test_a_triaged_finding_stays_triaged_over_a_rebase_of_its_commit(story: Story) -> None:
    point = hide(story)
    hashes = story.insert_below(4)
    story.measure(hashes, slower_from(7))
    summary = story.run()
    (after,) = story.points
    assert (after.id, after.status, after.note, after.condition) == (
        point.id,
        Status.HIDDEN,
        "known",
        Condition.PRESENT,
    )
    assert story.hash_of(after.suspect_range.slot) == hashes[7] != story.hashes[6]
    assert (summary.new, summary.new_changes) == (0, ())


def test_a_run_between_the_rebase_and_the_new_results_loses_nothing(story: Story) -> None:
    point = hide(story)
    hashes = story.insert_below(4)
    retry_waiting(story.lab.instance)
    story.run()
    assert [kept.condition for kept in story.points] == [Condition.GONE]
    story.measure(hashes, slower_from(7))
    assert story.run().new == 0
    assert [(kept.id, kept.status) for kept in story.points] == [(point.id, Status.HIDDEN)]


def test_a_finding_stays_over_one_rebase_after_another(story: Story) -> None:
    point = hide(story)
    for number in (4, 2):
        hashes = story.insert_below(number)
        story.hashes = hashes
        retry_waiting(story.lab.instance)
    story.measure(hashes, slower_from(8))
    story.run()
    assert [(kept.id, kept.status) for kept in story.points] == [(point.id, Status.HIDDEN)]


def test_a_force_push_back_to_the_former_commits_brings_all_back(story: Story) -> None:
    point = hide(story)
    tip = story.hashes[-1]
    story.insert_below(4)
    retry_waiting(story.lab.instance)
    story.run()
    story.git.git("reset", "--quiet", "--hard", tip)
    retry_waiting(story.lab.instance)
    assert story.run().new == 0
    (after,) = story.points
    assert (after.id, after.status, after.condition) == (point.id, Status.HIDDEN, Condition.PRESENT)
    assert story.hash_of(after.suspect_range.slot) == story.hashes[6]


def test_a_reworded_commit_keeps_its_finding(story: Story) -> None:
    point = hide(story)
    story.git.git("reset", "--quiet", "--hard", story.hashes[6])
    date = story.git.git("log", "-1", "--format=%ad", "--date=raw")
    story.git.git("commit", "--quiet", "--amend", "--allow-empty", "-m", "Said better", f"--date={date}")
    hashes = [*story.hashes[:6], story.git.git("rev-parse", "HEAD")]
    story.measure(hashes, slower_from(6))
    story.run()
    assert [(kept.id, kept.status) for kept in story.points] == [(point.id, Status.HIDDEN)]


def test_a_checkout_that_never_had_the_old_commits_knows_them_by_what_they_say(story: Story) -> None:
    point = hide(story)
    hashes = story.insert_below(4)
    fresh = story.lab.directory / "fresh"
    story.git.git("clone", "--quiet", "--no-local", str(story.git.directory), str(fresh))
    story.lab.configure('[repositories.lib]\nlocation = "../fresh"\n')
    story.measure(hashes, slower_from(7))
    story.run()
    assert [(kept.id, kept.status) for kept in story.points] == [(point.id, Status.HIDDEN)]


def test_a_decision_can_be_taken_back_after_a_rebase(story: Story) -> None:
    point = hide(story)
    hashes = story.insert_below(4)
    story.measure(hashes, slower_from(7))
    story.run()
    undo(story.lab.instance.store, Targets(points=(point.id,)), who="ada")
    story.run()
    assert [(kept.id, kept.status) for kept in story.points] == [(point.id, Status.NEW)]


def test_another_commit_in_the_place_of_an_old_one_takes_nothing_over(story: Story) -> None:
    point = hide(story)
    story.git.git("reset", "--quiet", "--hard", story.hashes[5])
    others = [story.git.commit(f"Something else {number}") for number in range(8)]
    story.measure([*story.hashes[:6], *others], lambda place: 10.0 if place < 11 else 20.0)
    story.run()
    found = {kept.id: (kept.status, kept.condition) for kept in story.points}
    assert found.pop(point.id) == (Status.HIDDEN, Condition.GONE)
    assert list(found.values()) == [(Status.NEW, Condition.PRESENT)]


def test_a_ticket_follows_its_commit(story: Story) -> None:
    store = story.lab.instance.store
    repository = store.commits.repository("lib")
    store.findings.tickets.put(repository, [Ticket("PERF-1", "benchmark=sort", story.slot_of(story.hashes[6]))])
    hashes = story.insert_below(4)
    retry_waiting(story.lab.instance)
    assert [ticket.slot for ticket in store.findings.tickets.all(repository)] == [story.slot_of(hashes[7])]


def test_a_rebase_is_announced_at_once_for_the_traces_it_concerns(story: Story) -> None:
    store = story.lab.instance.store
    story.lab.take(story.lab.skia("old.json", story.hashes[0], search=1))
    for event in store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 1000):
        store.outbox.done(event)
    story.insert_below(4)
    notes = retry_waiting(story.lab.instance).notes
    (event,) = store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 10)
    (trace,) = store.traces.find(store.commits.repository("lib"), ",benchmark=sort,unit=ms,")
    assert unpack_ids(event.payload).tolist() == [trace.id]
    assert [note.split(": ")[1] for note in notes] == [
        "8 commits left it, 8 of them recognised under new hashes; findings there moved along"
    ]


def test_commits_that_are_gone_for_good_move_nothing_along_and_say_so(story: Story) -> None:
    story.git.git("reset", "--hard", "HEAD~3")
    story.git.commits(2)
    (note,) = retry_waiting(story.lab.instance).notes
    assert note.endswith(
        "3 commits left it, none of them recognised under a new hash; their results no longer count there"
    )


def test_commits_that_only_come_to_the_end_of_a_line_are_no_news(story: Story) -> None:
    store = story.lab.instance.store
    for event in store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 1000):
        store.outbox.done(event)
    story.git.commits(2)
    assert retry_waiting(story.lab.instance).notes == ()
    assert store.outbox.claim([EventKind.TRACES_CHANGED], "test", 60, 10) == []


def test_results_of_a_rewritten_commit_say_what_it_is_now(story: Story) -> None:
    hashes = story.insert_below(4)
    retry_waiting(story.lab.instance)
    summary = story.lab.take(story.lab.skia("late.json", story.hashes[6], search=1))
    warning = f"commit {story.hashes[6][:12]} was rewritten and is {hashes[7][:12]} now"
    assert any(warning in line for line in summary.lines())


def test_a_branch_follows_its_base_when_that_is_rewritten(story: Story) -> None:
    story.git.git("checkout", "--quiet", "-b", "feature", story.hashes[8])
    branched = story.git.commit("Own")
    story.lab.take(story.lab.skia("own.json", branched, sort=20.0), branch="feature")
    story.insert_below(4)
    retry_waiting(story.lab.instance)
    commits = story.lab.instance.store.commits
    repository = commits.repository("lib")
    line, base = commits.line(repository, "feature"), commits.line(repository)
    assert (line.merge_base, story.lab.line("lib", "feature")) == (3, [*story.hashes[:9], branched])
    assert line.slots[:4] == base.slots[:4]


def test_history_stays_history_over_a_rebase_below_it(story: Story) -> None:
    hashes = story.insert_below(4)
    story.measure(hashes, slower_from(7))
    summary = story.run()
    assert [point.history for point in story.points] == [True]
    assert (boundary_of(story), summary.new_changes) == (hashes[12], ())


def test_what_comes_after_a_rebased_boundary_is_work(story: Story) -> None:
    hashes = [*story.insert_below(4), *story.git.commits(6)]
    story.measure(hashes, lambda place: 10.0 if place < 7 else 20.0 if place < 15 else 40.0)
    story.run()
    assert [point.history for point in story.points] == [True, False]


def test_a_boundary_whose_commit_was_dropped_moves_to_the_last_one_before_it(story: Story) -> None:
    story.git.git("reset", "--quiet", "--hard", story.hashes[9])
    others = [story.git.commit(f"Something else {number}") for number in range(4)]
    story.measure([*story.hashes[:10], *others], lambda place: 10.0 if place < 6 else 20.0 if place < 12 else 40.0)
    story.run()
    assert boundary_of(story) == story.hashes[9]
    assert [point.history for point in story.points] == [True, False]


def test_the_boundary_is_back_when_the_former_commits_are(story: Story) -> None:
    tip = story.hashes[-1]
    story.git.git("reset", "--quiet", "--hard", story.hashes[7])
    story.git.commit("Something else")
    retry_waiting(story.lab.instance)
    assert boundary_of(story) == story.hashes[7]
    story.git.git("reset", "--quiet", "--hard", tip)
    retry_waiting(story.lab.instance)
    assert boundary_of(story) == tip


def boundary_of(story: Story) -> str:
    """Return the hash of the last commit of the line that is history."""
    store = story.lab.instance.store
    repository = store.commits.repository("lib")
    boundary = store.boundaries.get(repository)
    line = store.commits.line(repository)
    assert boundary is not None
    return story.hash_of(line.slots[boundary.position(line)])


@pytest.mark.parametrize("measured", ["before", "on both"])
def test_a_triaged_finding_stays_triaged_where_the_default_branch_gets_another_name(
    story: Story, measured: str
) -> None:
    point = hide(story)
    if measured == "on both":
        story.git.git("checkout", "--quiet", "-b", "trunk")
        story.measure([story.git.commit("On both")], lambda _: 20.0)
        assert story.lines == ("main", "trunk")
        story.git.git("branch", "--quiet", "-D", "main")
    else:
        story.git.git("branch", "--quiet", "-m", "main", "trunk")
    story.measure(story.git.commits(3), lambda _: 20.0)
    assert story.lines == ("trunk",)
    assert story.run().new == 0
    assert [(kept.id, kept.status, kept.condition) for kept in story.points] == [
        (point.id, Status.HIDDEN, Condition.PRESENT)
    ]
