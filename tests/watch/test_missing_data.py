"""What is missing, by what it has in common, and renames: proposed, accepted and taken back."""

from __future__ import annotations

import numpy as np
import pytest

from knickpoint.model.access import AuditKind
from knickpoint.model.change_point import Status
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite
from knickpoint.watch.missing_data import MissingKind, RenameProposal, accept_rename, find_missing_data, withdraw_rename
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import World, levels

BENCHMARKS = ("parse", "print", "read", "write", "sort", "find", "pack", "hash")


Series = tuple[dict[str, str], list[float]]
"""The params of a trace, and its values, one a commit."""


def measure(world: World, *series: Series, first: int = 0, unit: str = "ms") -> None:
    """Measure traces of any params in one run a commit, beginning at ``first``."""
    with world.store.transaction():
        for offset in range(max(len(values) for _, values in series)):
            results = [Result(params, (values[offset],), unit) for params, values in series if offset < len(values)]
            name = f"{first + offset}:{[sorted(each.params.items()) for each in results]}"
            run = RunReport(ResultTable.of(results), identity=name)
            world.store.runs.write(world.repository, [RunWrite(first + offset, run, name, name, "test")])


def matrix(world: World, *, mac_until: int = 40) -> None:
    """Measure eight benchmarks on two systems over 40 commits; each has a level of its own."""
    for system, end, factor in (("linux", 40, 1.0), ("mac", mac_until, 1.3)):
        levels_of = {name: 10.0 * 1.7**number * factor for number, name in enumerate(BENCHMARKS)}
        measure(
            world, *(({"benchmark": name, "os": system}, levels((end, level))) for name, level in levels_of.items())
        )


def trace(world: World, **params: str) -> Trace:
    key = "," + ",".join(f"{name}={value}" for name, value in sorted(params.items())) + ","
    return world.store.traces.find(world.repository, key)[0]


def proposed(world: World) -> list[RenameProposal]:
    return list(find_missing_data(world.store, world.repository).renames)


def test_a_job_that_stopped_is_one_entry(world: World) -> None:
    matrix(world, mac_until=25)
    (entry,) = [each for each in find_missing_data(world.store, world.repository).entries if each.traces]
    assert (entry.kind, entry.params, len(entry.traces)) == (MissingKind.JOB, ("os=mac",), len(BENCHMARKS))
    assert (entry.last, entry.silent, entry.usual) == (24, 15, 1)


def test_a_job_is_one_entry_although_its_series_stopped_at_different_commits(world: World) -> None:
    matrix(world, mac_until=25)
    measure(world, ({"benchmark": "extra", "os": "mac"}, levels((20, 3.0))))
    (entry,) = [each for each in find_missing_data(world.store, world.repository).entries if each.traces]
    assert (entry.params, len(entry.traces), entry.last) == (("os=mac",), len(BENCHMARKS) + 1, 24)


def test_a_single_benchmark_is_a_series(world: World) -> None:
    matrix(world)
    measure(world, ({"benchmark": "extra", "os": "mac"}, levels((20, 3.0))))
    (entry,) = [each for each in find_missing_data(world.store, world.repository).entries if each.traces]
    assert (entry.kind, [each.trace.key for each in entry.traces]) == (
        MissingKind.SERIES,
        [",benchmark=extra,os=mac,"],
    )


def test_a_repository_whose_measuring_stopped_is_one_entry(world: World) -> None:
    matrix(world)
    (entry,) = find_missing_data(world.store, world.repository).entries
    assert (entry.kind, entry.traces, entry.last, entry.silent) == (MissingKind.JOB, (), 39, 40)


def test_commits_between_measured_ones_are_missing_by_the_rhythm_of_the_line(world: World) -> None:
    measure(world, ({"benchmark": "a"}, levels((30, 3.0))))
    measure(world, ({"benchmark": "a"}, levels((46, 3.0))), first=34)
    (entry,) = find_missing_data(world.store, world.repository).entries
    assert (entry.kind, entry.last, entry.until, entry.silent) == (MissingKind.COMMITS, 29, 34, 4)


def test_nothing_is_missing_where_everything_goes_on(world: World) -> None:
    measure(world, *(({"benchmark": name}, levels((80, 3.0))) for name in BENCHMARKS))
    assert find_missing_data(world.store, world.repository).entries == ()


def renamed(world: World, new: str = "parser", level: float = 10.0, *, begin: int = 20) -> None:
    """Let ``parse`` on linux stop at commit 20, and ``new`` begin."""
    matrix(world)
    measure(world, ({"benchmark": "tokenise", "os": "linux"}, levels((20, level))))
    measure(world, ({"benchmark": new, "os": "linux"}, levels((40 - begin, level))), first=begin)


def test_a_series_that_goes_on_under_another_name_is_proposed(world: World) -> None:
    renamed(world, "tokenize")
    (best,) = proposed(world)
    assert (best.old.key, best.new.key) == (",benchmark=tokenise,os=linux,", ",benchmark=tokenize,os=linux,")
    assert best.name_likeness > 0.9
    assert best.value_likeness > 0.9
    assert 0.8 < best.probability <= 0.95


def test_another_level_makes_a_rename_less_likely(world: World) -> None:
    matrix(world)
    measure(world, ({"benchmark": "tokenise", "os": "linux"}, levels((20, 10.0))))
    measure(world, ({"benchmark": "tokenize", "os": "linux"}, levels((20, 17.0))), first=20)
    found = proposed(world)
    assert all(each.probability < 0.5 for each in found)


@pytest.mark.parametrize(
    "case", [{"new": "tokenize", "begin": 15}, {"new": "tokenize", "begin": 5}], ids=["overlap", "long overlap"]
)
def test_a_series_that_was_there_before_is_no_continuation(world: World, case: dict[str, object]) -> None:
    matrix(world)
    measure(world, ({"benchmark": "tokenise", "os": "linux"}, levels((20, 10.0))))
    begin = case["begin"]
    assert isinstance(begin, int)
    measure(world, ({"benchmark": "tokenize", "os": "linux"}, levels((40 - begin, 10.0))), first=begin)
    assert proposed(world) == []


def test_another_unit_is_no_continuation(world: World) -> None:
    matrix(world)
    measure(world, ({"benchmark": "tokenise", "os": "linux"}, levels((20, 10.0))))
    measure(world, ({"benchmark": "tokenize", "os": "linux"}, levels((20, 10.0))), first=20, unit="bytes")
    assert proposed(world) == []


def test_a_param_that_changed_for_a_whole_job_is_proposed_for_each_series(world: World) -> None:
    matrix(world, mac_until=20)
    goes_on = [
        ({"benchmark": name, "os": "macos"}, levels((20, 13.0 * 1.7**number))) for number, name in enumerate(BENCHMARKS)
    ]
    measure(world, *goes_on, first=20)
    found = proposed(world)
    assert [each.new.key for each in found] == [each.old.key.replace("mac,", "macos,") for each in found]
    assert len(found) == len(BENCHMARKS)
    assert all(each.probability > 0.6 for each in found)


def test_few_bystanders_cannot_make_a_rename_certain(world: World) -> None:
    measure(world, ({"benchmark": "other", "os": "linux"}, levels((40, 99.0))))
    measure(world, ({"benchmark": "tokenise", "os": "linux"}, levels((20, 10.0))))
    measure(world, ({"benchmark": "tokenize", "os": "linux"}, levels((20, 10.0))), first=20)
    (best,) = proposed(world)
    assert best.probability < 0.7


# Accepted renames


def accepted(world: World) -> tuple[Trace, Trace]:
    """Let tokenize continue tokenise, which had a step at commit 10 that a person hid."""
    matrix(world)
    world.run()
    measure(world, ({"benchmark": "tokenise", "os": "linux"}, levels((10, 10.0), (10, 20.0))))
    measure(world, ({"benchmark": "tokenize", "os": "linux"}, levels((10, 20.0), (10, 40.0))), first=20)
    world.run()
    old, new = trace(world, benchmark="tokenise", os="linux"), trace(world, benchmark="tokenize", os="linux")
    (point,) = world.store.findings.change_points(old.id)
    decide(world.store, Targets(points=(point.id,)), who="Ada", status=Status.HIDDEN, note="known")
    accept_rename(world.store, world.repository, old, new, who="Ada")
    return old, new


def values(world: World, of: Trace) -> list[float]:
    row = world.store.frames.values(world.store.commits.line(world.repository), [of.id])[0]
    return [float(value) for value in row[~np.isnan(row)]]


def test_the_new_series_has_the_values_of_the_old_one_and_the_old_one_keeps_them(world: World) -> None:
    old, new = accepted(world)
    assert len(values(world, old)) == 20
    assert values(world, new)[:20] == values(world, old)
    assert len(values(world, new)) == 40


def test_findings_and_decisions_go_on_in_the_new_series(world: World) -> None:
    old, new = accepted(world)
    summary = world.run()
    points = world.store.findings.change_points(new.id)
    assert [point.suspect_range.slot for point in points] == [10, 30]
    assert (points[0].status, points[0].note, points[0].key) == (Status.HIDDEN, "known", new.key)
    assert world.store.findings.change_points(old.id, gone=True) == []
    assert (summary.new, summary.gone) == (0, 0)


def test_a_rename_ends_the_silence(world: World) -> None:
    accepted(world)
    assert find_missing_data(world.store, world.repository).entries[-1].kind is MissingKind.JOB
    assert proposed(world) == []


def test_runs_after_a_rename_find_nothing_else(world: World) -> None:
    accepted(world)
    world.run()
    again = world.run()
    assert (again.judged, again.nothing_new) == (0, True)


def test_a_rename_that_is_taken_back_leaves_everything_as_it_was(world: World) -> None:
    old, new = accepted(world)
    world.run()
    withdraw_rename(world.store, world.repository, old, new, who="Bob")
    world.run()
    assert len(values(world, new)) == 20
    (point,) = world.store.findings.change_points(old.id)
    assert (point.suspect_range.slot, point.status) == (10, Status.HIDDEN)
    assert [each.suspect_range.slot for each in world.store.findings.change_points(new.id)] == [30]
    kinds = [(each.kind, each.who) for each in world.store.audit.entries(limit=2)]
    assert kinds == [(AuditKind.RENAME_WITHDRAWN, "Bob"), (AuditKind.RENAME_ACCEPTED, "Ada")]


def test_what_is_no_rename_is_refused(world: World) -> None:
    old, new = accepted(world)
    other = trace(world, benchmark="parse", os="linux")
    for before, after, reason in (
        (old, old, "same trace"),
        (old, other, "another trace continues"),
        (other, new, "continues another"),
        (new, old, "both have values at 20 commits"),
        (other, trace(world, benchmark="print", os="linux"), "both have values at 40 commits"),
    ):
        with pytest.raises(InputError, match=reason):
            accept_rename(world.store, world.repository, before, after, who="Ada")
    with pytest.raises(InputError, match="does not continue"):
        withdraw_rename(world.store, world.repository, other, new, who="Ada")
