from __future__ import annotations

from dataclasses import replace

from tests.store.conftest import Bench

from knickpoint.store.points.environments import environment_changes


def measure(bench: Bench, slot: int, identity: str, name: str = "a", **environment: str) -> None:
    run = replace(Bench.report({name: 1.0}), environment=environment)
    bench.put(slot, run, identity)


def environment_changes_of(bench: Bench) -> list[tuple[int, int, dict[str, tuple[str, str]]]]:
    changes = environment_changes(bench.store.frames, bench.store.runs, bench.line, bench.id("a"))
    return [(change.previous, change.slot, dict(change.facts)) for change in changes]


def test_another_compiler_is_an_event_on_the_trace(bench: Bench) -> None:
    for slot, compiler in ((0, "gcc 12"), (2, "gcc 12"), (5, "gcc 13"), (6, "gcc 13")):
        measure(bench, slot, f"r{slot}", compiler=compiler, os="Debian")
    assert environment_changes_of(bench) == [(2, 5, {"compiler": ("gcc 12", "gcc 13")})]


def test_the_environment_of_other_traces_does_not_matter(bench: Bench) -> None:
    for slot in range(3):
        measure(bench, slot, f"a{slot}", cpu="one")
        measure(bench, slot, f"b{slot}", "b", cpu=f"other {slot}")
    assert environment_changes_of(bench) == []


def test_a_fact_that_a_run_does_not_state_is_as_before(bench: Bench) -> None:
    measure(bench, 0, "r0", cpu="one")
    measure(bench, 1, "r1")
    measure(bench, 2, "r2", cpu="two")
    assert environment_changes_of(bench) == [(1, 2, {"cpu": ("one", "two")})]


def test_a_fact_of_every_execution_is_no_event(bench: Bench) -> None:
    for slot in range(8):
        measure(bench, slot, f"r{slot}", runner=f"runner {slot}", cpu="one" if slot < 5 else "two")
    assert environment_changes_of(bench) == [(4, 5, {"cpu": ("one", "two")})]


def test_runs_of_one_commit_in_two_environments_stand_beside_each_other(bench: Bench) -> None:
    measure(bench, 0, "r0", cpu="one")
    measure(bench, 1, "r1", cpu="one")
    measure(bench, 1, "r2", cpu="two")
    assert environment_changes_of(bench) == [(0, 1, {"cpu": ("one", "one | two")})]


def test_a_trace_without_facts_has_no_events(bench: Bench) -> None:
    measure(bench, 0, "r0")
    measure(bench, 1, "r1")
    assert environment_changes_of(bench) == []


def test_who_asked_for_a_measurement_says_nothing_of_the_machine(bench: Bench) -> None:
    measure(bench, 0, "r0", gate="nightly")
    measure(bench, 1, "r1", gate="weekly")  # what a schedule was called in runs of older versions
    measure(bench, 2, "r2", schedule="nightly")
    measure(bench, 3, "r3", schedule="weekly")
    assert environment_changes_of(bench) == []
