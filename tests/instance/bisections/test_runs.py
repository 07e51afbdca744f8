"""Run bisections: the culprit is found, put onto its finding and announced once.

A stop and a death end nothing else.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.instance.bisections.bisectable import BAD, CULPRIT, GOOD, PARSE, Bisectable, QuickPool, recipe
from tests.server.client import Client
from tests.watch.conftest import QUICK

from knickpoint.bisect.job import ProbeJob
from knickpoint.history import Git
from knickpoint.instance import Instance, rank_new_suspects
from knickpoint.instance.bisections import request_bisection, run_bisection, stop_bisection
from knickpoint.instance.bisections.requests import ask_by_rule
from knickpoint.instance.worker import Worker
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.query import parse_query
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.server import create_app
from knickpoint.store import RunWrite
from knickpoint.store.bisections import StoredBisection
from knickpoint.watch.bisections import bisection_text
from knickpoint.watch.explanation import explain_trace
from knickpoint.watch.formula_traces import calculate_traces

FOUND = SuspectRange("main", CULPRIT - 1, CULPRIT)


@pytest.fixture
def pool(slowed: Bisectable) -> QuickPool:
    location = Path(slowed.instance.repositories["project"].location)
    return QuickPool([each.hash for each in Git.at(location).first_parents("main")])


def run(instance: Instance, pool: QuickPool) -> StoredBisection:
    """Ask for the only bisection and run it."""
    (key,) = instance.store.findings.groups.suspect_ranges(instance.store.commits.repository("project"))
    return run_bisection(instance, request_bisection(instance, key, who="ann"), pool, worker="test")


def keys(instance: Instance) -> list[str]:
    repository = instance.store.commits.repository("project")
    return [each.key for each in instance.store.traces.get(instance.store.traces.select(repository, parse_query("")))]


def test_the_range_of_the_finding_is_what_was_found_and_stays_so(slowed: Bisectable, pool: QuickPool) -> None:
    store, key = slowed.instance.store, slowed.change
    done = run(slowed.with_recipes(recipe()), pool)
    assert (done.state, done.answer.culprits) == (BisectionState.CULPRIT, (CULPRIT,))
    assert done.answer.probability >= 0.95
    assert store.findings.change(key).suspect_range == FOUND
    slowed.run()
    assert store.findings.change(key).suspect_range == FOUND


def test_the_culprit_leads_the_suspects_and_no_ranking_overwrites_it(slowed: Bisectable, pool: QuickPool) -> None:
    store, key = slowed.instance.store, slowed.change
    done = run(slowed.with_recipes(recipe()), pool)
    for everything in (False, True):
        rank_new_suspects(slowed.instance, everything=everything)
        suspects = store.findings.suspects.get(key)
        assert suspects is not None
        assert (suspects.suspects[0].slot, suspects.bisection) == (CULPRIT, done.id)
        assert suspects.suspects[0].reasons[0] == "bisection B1 found it"
        assert suspects.suspects[0].probability >= 0.95


@pytest.mark.parametrize("same_machine", [[False], [True]])
def test_one_announcement_names_the_commit_and_none_contradicts_it(
    slowed: Bisectable, pool: QuickPool, same_machine: list[bool]
) -> None:
    store, key = slowed.instance.store, slowed.change
    run(slowed.with_recipes(recipe(same_machine=same_machine[0])), pool)
    slowed.run()
    rows = store.findings.announcements.of_change(key)
    assert [each.kind for each in rows] == [AnnouncementKind.REGRESSED, AnnouncementKind.LOCATED]
    assert rows[-1].suspect_range == FOUND


def test_several_culprits_are_kept_and_named(slowed: Bisectable, pool: QuickPool) -> None:
    store, key = slowed.instance.store, slowed.change
    pool.level = lambda place: 100.0 + 30.0 * (place >= CULPRIT) + 30.0 * (place >= CULPRIT + 2)
    done = run(slowed.with_recipes(recipe()), pool)
    assert (done.state, done.answer.culprits) == (BisectionState.RANGE, (CULPRIT, CULPRIT + 2))
    first, second = pool.commits[CULPRIT][:10], pool.commits[CULPRIT + 2][:10]
    repository = store.commits.repository("project")
    assert bisection_text(store, repository, done).startswith(f"B1 several culprits {first} {second} ")
    assert store.findings.change(key).suspect_range == SuspectRange("main", CULPRIT - 1, CULPRIT + 2)
    rank_new_suspects(slowed.instance, everything=True)
    suspects = store.findings.suspects.get(key)
    assert suspects is not None
    assert [each.slot for each in suspects.suspects[:2]] == [CULPRIT, CULPRIT + 2]


def test_the_log_says_what_was_measured_why_and_what_was_left(slowed: Bisectable, pool: QuickPool) -> None:
    done = run(slowed.with_recipes(recipe()), pool)
    lines = [line.text for line in slowed.instance.store.bisections.journal(done.id).lines()]
    good, culprit = pool.commits[GOOD][:10], pool.commits[CULPRIT][:10]
    assert lines[0] == f"Searches 5 commits after {good} with the recipe quick."
    assert f"Measures {good} on lab-1: the good end." in lines
    assert any(line.startswith(f"{culprit} on lab-1: 13") and " of 5 commits left, " in line for line in lines)
    assert lines[-1] == f"Ends: {culprit} made the change, with a probability of more than 99 %."


def test_the_explanation_of_a_trace_says_how_the_search_stands(slowed: Bisectable, pool: QuickPool) -> None:
    done = run(slowed.with_recipes(recipe()), pool)
    (found,) = explain_trace(slowed.instance.store, PARSE, (QUICK,)).bisections
    assert found.change_id == slowed.change
    assert found.text == f"{done.name} culprit {pool.commits[CULPRIT][:10]} more than 99 %"


@pytest.mark.parametrize("same_machine", [[False], [True]])
def test_values_of_probes_are_listed_beside_the_points_of_the_trace(
    slowed: Bisectable, pool: QuickPool, same_machine: list[bool]
) -> None:
    instance = slowed.with_recipes(recipe(same_machine=same_machine[0]))
    run(instance, pool)
    client = Client(create_app(instance))
    found = client.get(f"/api/v1/traces/{slowed.world.trace('parse')}/remeasured").json()
    assert len(found) == len(pool.jobs)
    assert {each["counts"] for each in found} == set(same_machine)
    assert {(each["device"], *each["bisections"]) for each in found} == {("lab-1", "B1")}
    measured = {pool.commits.index(job.target.commit) for job in pool.jobs}
    assert {each["position"] for each in found if each["value"] > 120} == {each for each in measured if each >= CULPRIT}
    environments = client.get(f"/api/v1/traces/{slowed.world.trace('parse')}/environments").json()
    assert not {fact["name"] for change in environments for fact in change["facts"]} & {"bisection"}


def test_the_list_of_changes_says_how_the_search_stands(slowed: Bisectable, pool: QuickPool) -> None:
    instance = slowed.with_recipes(recipe())
    client = Client(create_app(instance))

    def standing() -> object:
        (group,) = client.get("/api/v1/changes").json()["changes"]
        return group["bisection"] and (group["bisection"]["state"], len(group["bisection"]["culprits"]))

    before = standing()
    request_bisection(instance, slowed.change, who="ann")
    asked = standing()
    run(instance, pool)
    assert [before, asked, standing()] == [None, ("waiting", 0), ("culprit", 1)]


def test_results_of_an_unknown_machine_enter_no_average_and_no_judgement(slowed: Bisectable, pool: QuickPool) -> None:
    store, repository = slowed.instance.store, slowed.world.repository

    def averaged() -> NDArray[np.float64]:
        formula = 'ave(filter("benchmark=parse"))'
        found, _ = calculate_traces(store, store.commits.line(repository), formula, short_id=lambda _name: ())
        return np.asarray(found.values, dtype=np.float64)

    traces, average = keys(slowed.instance), averaged()
    points = store.findings.of_traces(store.traces.select(repository, parse_query("")).tolist())
    pool.level = lambda place: 1000.0 + 300.0 * (place >= CULPRIT)
    done = run(slowed.with_recipes(recipe()), pool)
    slowed.run()
    assert (done.state, keys(slowed.instance)) == (BisectionState.CULPRIT, traces)
    np.testing.assert_array_equal(averaged(), average)
    assert store.findings.of_traces(store.traces.select(repository, parse_query("")).tolist()) == points
    assert [each.value for each in store.bisections.values_of(slowed.world.trace("parse"))]


def test_results_of_the_same_machine_join_the_trace_as_re_runs(slowed: Bisectable, pool: QuickPool) -> None:
    run(slowed.with_recipes(recipe(same_machine=True)), pool)
    assert set(keys(slowed.instance)) == {PARSE, ",benchmark=render,kind=r,"}
    points = slowed.instance.store.runs.points(slowed.world.trace("parse"), CULPRIT)
    assert points
    assert all(each.run.environment == {"bisection": "B1", "device": "lab-1"} for each in points)
    assert all(each.run.identity.startswith("id:bisection B1 probe ") for each in points)


def test_a_person_stops_a_bisection_that_runs(slowed: Bisectable, pool: QuickPool) -> None:
    instance = slowed.with_recipes(recipe())

    def stop(_job: ProbeJob) -> None:
        if not pool.silent.is_set():
            pool.silent.set()
            stop_bisection(instance, 1, who="bob")

    pool.before = stop
    done = run(instance, pool)
    assert (done.state, done.answer.reason) == (BisectionState.STOPPED, "bob stopped it.")


def test_a_worker_that_ends_leaves_the_bisection_to_the_next_one(slowed: Bisectable, pool: QuickPool) -> None:
    instance = slowed.with_recipes(recipe())
    asked = request_bisection(instance, slowed.change, who="ann")
    left = run_bisection(instance, asked, pool, worker="one", stop=lambda: len(pool.jobs) >= 4)
    assert left.state is BisectionState.RUNNING
    probes = [each.name for each in instance.store.bisections.journal(1).probes() if each.result]
    assert probes
    done = run_bisection(instance, asked, pool, worker="two")
    assert done.state is BisectionState.CULPRIT
    made = [job.probe for job in pool.jobs]
    assert all(made.count(name) == 1 for name in probes)


def test_a_recipe_that_changed_meanwhile_is_not_run(slowed: Bisectable, pool: QuickPool) -> None:
    asked = request_bisection(slowed.with_recipes(recipe()), slowed.change, who="ann")
    other = slowed.with_recipes(recipe(measure=("rm", "-rf", "everything")))
    done = run_bisection(other, asked, pool, worker="test")
    assert (done.state, pool.jobs) == (BisectionState.GAVE_UP, [])
    assert done.answer.reason == "the recipe quick has changed since the bisection was requested"


def test_a_search_that_gives_up_names_the_range_that_is_left(slowed: Bisectable, pool: QuickPool) -> None:
    done = run(slowed.with_recipes(recipe(most_probes=2)), pool)
    assert done.state is BisectionState.GAVE_UP
    good, bad = pool.commits[GOOD], pool.commits[BAD]
    assert done.answer.reason.startswith("the budget of 2 probes is spent; a change above ")
    assert " % is excluded; with a probability of " in done.answer.reason
    assert done.answer.reason.endswith(f"the change is in {good[:10]}..{bad[:10]} (5 commits)")


def test_the_answer_names_another_repository_that_moved_between_the_ends(slowed: Bisectable, pool: QuickPool) -> None:
    world, old, new = slowed.world, "a" * 40, "b" * 40
    probe = {"bisection": "B7"}  # what a bisection measured says nothing of what moved
    for number, (slot, commit, facts) in enumerate([(GOOD, old, {}), (BAD, new, {}), (GOOD, new, probe)]):
        report = RunReport(
            ResultTable.of([Result({"benchmark": "load"}, (1.0,), "ms")]),
            identity=f"load {number}",
            environment=facts,
            revisions={"engine": commit, "project": commit},
        )
        write = RunWrite(slot, report, report.identity, f"content {number}", "test")
        slowed.instance.store.runs.write(world.repository, [write])
    done = run(slowed.with_recipes(recipe()), pool)
    says = (
        "the runs at the ends also differ in engine: aaaaaaaaaa..bbbbbbbbbb, and the recipe quick does not take it "
        "along. Name engine in `also` of the recipe and its clone in [repositories.engine]."
    )
    assert (done.state, done.answer.reason) == (BisectionState.CULPRIT, says)
    assert says in [line.text for line in slowed.instance.store.bisections.journal(1).lines()]


def test_a_settled_change_of_the_stated_size_is_bisected_by_rule_once(slowed: Bisectable) -> None:
    assert ask_by_rule(slowed.with_recipes(recipe())) == []
    assert ask_by_rule(slowed.with_recipes(recipe(minimum_effect=0.5))) == []
    instance = slowed.with_recipes(recipe(minimum_effect=0.2))
    (asked,) = ask_by_rule(instance)
    assert (asked.request.change_id, asked.request.who, asked.request.by_rule) == (slowed.change, "rule", True)
    assert ask_by_rule(instance) == []
    stop_bisection(instance, asked.id, who="ann")
    assert ask_by_rule(instance) == []


def test_no_bisection_by_rule_begins_once_the_hours_of_the_day_are_spent(slowed: Bisectable, pool: QuickPool) -> None:
    instance = slowed.with_recipes(recipe(minimum_effect=0.2, budget_hours=1e-6))
    other = slowed.with_recipes(recipe(minimum_effect=0.2, budget_hours=1e-6), recipe(name="x", query="z=z"))
    (asked,) = ask_by_rule(instance)
    run_bisection(instance, asked, pool, worker="test")
    store = instance.store
    assert store.bisections.seconds_by_rule("quick", datetime.now(UTC) - timedelta(days=1)) > 1e-6 * 3600
    assert ask_by_rule(other) == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_worker_finds_the_culprit_by_real_builds_of_real_commits(slowed: Bisectable) -> None:
    instance = slowed.with_recipes(recipe(minimum_effect=0.2))
    lines: list[str] = []
    Worker(instance, lines.append).once()
    found = instance.store.bisections.get(1)
    assert (found.state, found.answer.culprits) == (BisectionState.CULPRIT, (CULPRIT,))
    assert "bisection B1: culprit" in lines
