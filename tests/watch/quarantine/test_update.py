"""Quarantined results in a store: levels, findings and announcements follow."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Commit
from knickpoint.model.errors import InputError
from knickpoint.model.quarantine import QuarantineState
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store, create_store, open_store
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.quarantine.canaries import Canary, QuarantineRule
from knickpoint.watch.quarantine.update import QuarantineUpdate, lift_quarantine, update_quarantines

RULE = QuarantineRule((Canary("loop", "name=loop"),))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALERTS = [Alert("all", query="name=parse", method="threshold", settle_share=0, settle_least=3, settle_most=3)]
COMMITS = 60


class Bench:
    """A store whose machine measures one benchmark and one canary."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.repository = store.commits.repository("main")

    def measure(self, slot: int, parse: float, loop: float | None = 10.0, name: str = "", content: str = "") -> None:
        noise = 0.01 * (slot * 7 % 5)
        results = [Result({"name": "parse"}, (parse + noise,), "ms")]
        if loop is not None:
            results.append(Result({"name": "loop"}, (loop + noise,), "ms"))
        report = RunReport(ResultTable.of(results), environment={"machine": "bench-1"})
        identity = name or f"run-{slot:03}"
        write = RunWrite(slot, report, identity, content or f"{identity} {parse} {loop}", "test")
        self.store.runs.write(self.repository, [write])

    def update(self, hours: float = 0.0) -> QuarantineUpdate:
        return update_quarantines(self.store, self.repository, RULE, now=NOW + timedelta(hours=hours))

    def run(self) -> None:
        run_alerts(self.store, ALERTS, as_work=True)

    def points(self) -> list[float]:
        line = self.store.commits.line(self.repository)
        (trace,) = self.store.traces.find(self.repository, ",name=parse,")
        values = np.nan_to_num(self.store.frames.values(line, [trace.id])[0])
        return [float(each) for each in values.round()]

    def states(self) -> dict[str, QuarantineState]:
        return {each.identity: each.state for each in self.store.quarantines.all(self.repository)}


def calm(bench: Bench, slots: Sequence[int], parse: float = 100.0) -> None:
    for slot in slots:
        bench.measure(slot, parse)


@pytest.fixture(scope="module")
def calm_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a store with twenty calm runs, for copies."""
    file = tmp_path_factory.mktemp("stores") / "calm.db"
    with create_store(file) as store:
        repository = store.commits.add_repository("main")
        commits = [Commit(f"{number:040x}", "", "", NOW, "") for number in range(COMMITS)]
        slots = store.commits.add(repository, commits)
        store.commits.set_line(repository, "main", list(slots.values()))
        calm(Bench(store), range(20))
    return file


@contextmanager
def copied(file: Path, target: Path) -> Iterator[Bench]:
    with open_store(shutil.copy(file, target)) as store:
        yield Bench(store)


@pytest.fixture
def bench(calm_store: Path, tmp_path: Path) -> Iterator[Bench]:
    with copied(calm_store, tmp_path / "store.db") as made:
        yield made


def test_results_of_a_run_whose_canary_moved_leave_the_levels_and_the_canary_stays(bench: Bench) -> None:
    bench.measure(20, 150.0, 12.0)
    (begun,) = bench.update().begun
    assert (begun.identity, begun.machine, begun.traces) == ("run-020", "bench-1", 1)
    assert begun.reason.startswith("canary loop moved by +1")
    assert bench.points()[19:21] == [100, 0]
    again = bench.update()
    assert (again.begun, again.changed, again.held) == ((), (), 0)


def test_a_rerun_at_its_level_takes_the_place_of_the_quarantined_run(bench: Bench) -> None:
    bench.measure(20, 150.0, 12.0)
    bench.update()
    bench.measure(20, 101.0, 10.0, name="again")
    (changed,) = bench.update().changed
    assert (changed.state, bench.points()[20]) == (QuarantineState.KEPT_OUT, 101)


def test_without_an_outcome_the_results_count_after_the_stated_time(bench: Bench) -> None:
    bench.measure(20, 150.0, 12.0)
    bench.update()
    bench.update(hours=47)
    assert bench.points()[20] == 0
    bench.update(hours=48)
    assert bench.states() == {"run-020": QuarantineState.NOT_CONFIRMED}
    assert bench.points()[20] == 150


def test_a_person_lifts_a_quarantine_until_the_run_is_corrected(bench: Bench) -> None:
    bench.measure(20, 150.0, 12.0)
    (begun,) = bench.update().begun
    lift_quarantine(bench.store, bench.repository, begun.id, who="grace", reason="the canary was rebuilt")
    bench.update()
    (lifted,) = bench.store.quarantines.all(bench.repository)
    assert (lifted.state, lifted.who, lifted.outcome) == (QuarantineState.LIFTED, "grace", "the canary was rebuilt")
    assert bench.points()[20] == 150
    bench.measure(20, 151.0, 12.5, content="corrected")
    bench.update()
    assert bench.states() == {"run-020": QuarantineState.QUARANTINED}
    assert bench.points()[20] == 0


def test_a_quarantine_without_a_reason_any_more_ends(bench: Bench) -> None:
    bench.measure(20, 150.0, 12.0)
    bench.update()
    bench.measure(20, 150.0, 10.0, content="corrected")
    bench.update()
    assert bench.states() == {"run-020": QuarantineState.UNFOUNDED}
    assert bench.points()[20] == 150


def test_what_is_held_is_not_announced_until_a_rerun_confirms_it(bench: Bench) -> None:
    calm(bench, range(21, 26), 150.0)
    bench.measure(20, 150.0, 12.0)
    bench.measure(26, 150.0, 12.0)
    bench.update()
    assert bench.states() == {"run-020": QuarantineState.KEPT_OUT, "run-026": QuarantineState.QUARANTINED}
    bench.run()
    assert len(bench.store.findings.announcements.after(0)) == 1


def test_a_gone_finding_is_not_withdrawn_while_its_values_are_quarantined(bench: Bench) -> None:
    for slot in range(20, 24):
        bench.measure(slot, 150.0, None)
    bench.run()
    ledger = bench.store.findings.announcements
    assert [each.kind.value for each in ledger.after(0)] == ["regressed"]

    # The values of the canary arrive late, as a run of their own on the same machine.
    for slot in range(20, 24):
        report = RunReport(
            ResultTable.of([Result({"name": "loop"}, (12.0,), "ms")]), environment={"machine": "bench-1"}
        )
        bench.store.runs.write(bench.repository, [RunWrite(slot, report, f"loop-{slot}", f"{slot}", "test")])
    bench.update()
    bench.run()
    assert bench.points()[20:24] == [0, 0, 0, 0]
    (trace,) = bench.store.traces.find(bench.repository, ",name=parse,")
    (point,) = bench.store.findings.change_points(trace.id, gone=True)
    assert point.held.startswith("canary loop moved by +1")
    assert [each.kind.value for each in ledger.after(0)] == ["regressed"]


def test_an_unknown_quarantine_cannot_be_lifted(bench: Bench) -> None:
    with pytest.raises(InputError, match="no quarantine 9"):
        lift_quarantine(bench.store, bench.repository, 9, who="grace", reason="x")


@pytest.mark.thorough
@settings(max_examples=examples(3), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    tail=st.lists(
        st.tuples(st.integers(20, 27), st.sampled_from([100.0, 150.0]), st.sampled_from([None, 10.0, 12.0])),
        min_size=1,
        max_size=8,
    ),
    order=st.integers(0, 1000),
)
def test_the_end_state_does_not_depend_on_the_order_of_arrival(
    calm_store: Path, tail: list[tuple[int, float, float | None]], order: int
) -> None:
    def end(*, shuffled: bool, every: int) -> tuple[dict[str, QuarantineState], list[float], object]:
        runs = [(slot, parse, loop, f"late-{number}") for number, (slot, parse, loop) in enumerate(tail)]
        if shuffled:
            random.Random(order).shuffle(runs)
        with copied(calm_store, calm_store.with_name(f"{next(_NAMES)}.db")) as bench:
            for number, (slot, parse, loop, name) in enumerate(runs):
                bench.measure(slot, parse, loop, name=name)
                if number % every == every - 1:
                    bench.update()
                    bench.run()
            bench.update()
            bench.update(hours=49)
            bench.run()
            findings = [(each.suspect_range, each.held) for each in bench.store.findings.changes(bench.repository)]
            states: dict[str, QuarantineState] = {
                name: state for name, state in bench.states().items() if state is not QuarantineState.UNFOUNDED
            }
            return states, bench.points(), findings

    expected = end(shuffled=False, every=100)
    assert end(shuffled=True, every=3) == expected
    assert QuarantineState.QUARANTINED not in set(expected[0].values())


_NAMES = iter(range(1_000_000))


def test_without_canaries_and_changed_facts_no_run_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("the runs of the line were read")

    monkeypatch.setattr("knickpoint.watch.quarantine.update.read_runs", refuse)
    assert update_quarantines(bench.store, bench.repository, QuarantineRule(), now=NOW) == QuarantineUpdate()


def test_quarantines_end_once_no_canary_is_configured(bench: Bench) -> None:
    bench.measure(20, 150.0, 12.0)
    bench.update()
    (changed,) = update_quarantines(bench.store, bench.repository, QuarantineRule(), now=NOW).changed
    assert (changed.state, bench.points()[20]) == (QuarantineState.UNFOUNDED, 150)
