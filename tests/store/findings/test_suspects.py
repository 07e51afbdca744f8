"""The suspects of changes, on both databases."""

from __future__ import annotations

from dataclasses import replace

from tests.store.findings.test_findings import new, put, sighting

from knickpoint.model.change_point import PointUpdate, Status, SuspectRange, Transition
from knickpoint.model.commit import Repository
from knickpoint.model.settlement import Certainty, Settlement
from knickpoint.model.suspects import Suspect, SuspectFacts, Suspects
from knickpoint.store import Store
from knickpoint.watch.triage.decisions import Targets, decide

FOUND = Suspects(
    SuspectRange("main", 9, 10), 0.15, SuspectFacts.GIT, (Suspect(10, 0.85, ("touches a.py",)),), "All is known."
)


def test_suspects_read_back_as_they_were_written(store: Store, repository: Repository) -> None:
    put(store, repository, new(sighting()))
    (ranked,) = store.findings.suspects.stale(repository)
    assert (ranked.suspect_range, ranked.traces, ranked.interval) == (FOUND.suspect_range, 1, 2)
    assert store.findings.suspects.get(ranked.id) is None
    store.findings.suspects.put({ranked: FOUND})
    assert store.findings.suspects.get(ranked.id) == FOUND
    assert store.findings.suspects.members([ranked.id]) == {ranked.id: [",name=a%25b,"]}


def test_suspects_written_again_replace_the_earlier_ones(store: Store, repository: Repository) -> None:
    put(store, repository, new(sighting()))
    (ranked,) = store.findings.suspects.stale(repository)
    for none in (0.15, 0.4):
        store.findings.suspects.put({ranked: replace(FOUND, none=none)})
    assert store.findings.suspects.get(ranked.id) == replace(FOUND, none=0.4)


def test_a_change_that_was_ranked_is_stale_when_it_becomes_certain(store: Store, repository: Repository) -> None:
    provisional = replace(sighting(), settlement=Settlement(Certainty.PROVISIONAL, 1, 3))
    (point,) = put(store, repository, new(provisional))
    (ranked,) = store.findings.suspects.stale(repository)
    store.findings.suspects.put({ranked: FOUND})
    assert store.findings.suspects.stale(repository) == []
    assert store.findings.suspects.stale(repository, everything=True) == [ranked]
    put(store, repository, PointUpdate(Transition.UNCHANGED, point, 7, (sighting(),)))
    assert store.findings.suspects.stale(repository) == [replace(ranked, certainty=Certainty.SETTLED)]


def test_a_change_without_live_members_is_not_ranked(store: Store, repository: Repository) -> None:
    (point,) = put(store, repository, new(sighting()))
    put(store, repository, PointUpdate(Transition.GONE, point, 7, ()))
    store.findings.groups.refresh([point])
    assert store.findings.suspects.stale(repository) == []


def test_the_confirmed_changes_are_those_that_a_person_acknowledged(store: Store, repository: Repository) -> None:
    first, _ = put(store, repository, new(sighting()), new(sighting(30, trace=8)))
    assert store.findings.suspects.confirmed(repository, 10) == {}
    decide(store, Targets(points=(first,)), who="Ada", status=Status.ACKNOWLEDGED)
    assert list(store.findings.suspects.confirmed(repository, 10).values()) == [SuspectRange("main", 9, 10)]
