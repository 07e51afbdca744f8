"""Compare a store with a dictionary, whatever is put, corrected, re-run, removed or sealed, in any order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.examples import examples

from knickpoint.model.commit import Commit
from knickpoint.model.frame import Trace
from knickpoint.store import RunKind, create_store, open_store
from knickpoint.store.points import layouts as cache_module
from knickpoint.store.points import point_writer as writer_module
from knickpoint.store.points import write_plan as plan_module

from .conftest import MOMENT, Bench

SLOTS = st.integers(0, 140)
NAMES = [f"t{number}" for number in range(6)]
VALUES = st.one_of(
    st.integers(-(2**53), 2**53).map(float),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from([0.1, 1e-9, 1e17]),
)
CONTENT = st.dictionaries(st.sampled_from(NAMES), st.lists(VALUES, min_size=1, max_size=3), min_size=1)


class StoreMachine(RuleBasedStateMachine):
    template: Path
    scattered = False

    def __init__(self) -> None:
        super().__init__()
        self.suspect_range = Path(tempfile.mkdtemp(prefix="knickpoint-model-"))
        shutil.copy(self.template, self.suspect_range / "store.db")
        self.store = open_store(self.suspect_range / "store.db")
        self.runs: dict[str, tuple[int, dict[str, list[float]], str]] = {}
        self.ids: dict[str, int] = {}

    @initialize()
    def begin(self) -> None:
        self.repository = self.store.commits.add_repository("main")
        slots = self.store.commits.add(
            self.repository, [Commit(f"{number:040x}", "", "", MOMENT, "") for number in range(141)]
        )
        self.store.commits.set_line(self.repository, "main", list(slots.values()))
        self.line = self.store.commits.line(self.repository)
        self.bench = Bench(self.store, self.repository, self.line)

    @rule(slot=SLOTS, identity=st.sampled_from(["a", "b", "c", "d"]), content=CONTENT)
    def put(self, slot: int, identity: str, content: dict[str, list[float]]) -> None:
        text = repr(sorted(content.items()))
        receipt = self.bench.put(slot, Bench.report(content), identity, text)
        old = self.runs.get(identity)
        if old is None:
            joins = any(
                other_slot == slot and other.keys() & content.keys() for other_slot, other, _ in self.runs.values()
            )
            assert receipt.kind is (RunKind.RERUN if joins else RunKind.NEW)
        elif old == (slot, content, text):
            assert receipt.kind is RunKind.SAME
        else:
            assert receipt.kind is RunKind.CORRECTION
        self.runs[identity] = (slot, content, text)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.runs)))
        run = self.store.runs.get(self.repository, identity)
        assert run is not None
        self.store.runs.remove(self.repository, [run.id])
        del self.runs[identity]

    @rule(everything=st.booleans())
    def seal(self, everything: bool) -> None:  # noqa: FBT001
        self.store.seal(everything=everything)

    @invariant()
    def every_point_is_the_median_of_its_runs(self) -> None:
        if not hasattr(self, "repository"):
            return
        gathered: dict[tuple[str, int], list[float]] = {}
        for slot, content, _ in self.runs.values():
            for name, samples in content.items():
                gathered.setdefault((name, slot), []).append(median(samples))
        traces = self._traces()
        assert {name for name, _ in gathered} <= {trace.key.split("=")[1].rstrip(",") for trace in traces}
        expected = np.full((len(traces), 141), np.nan)
        rows = {trace.key: row for row, trace in enumerate(traces)}
        for (name, slot), values in gathered.items():
            expected[rows[f",name={name},"], slot] = median(values)
        found = self.store.frames.values(self.line, [trace.id for trace in traces])
        np.testing.assert_array_equal(found, expected)

    def check_provenance(self) -> None:
        for identity, (slot, content, _) in self.runs.items():
            for name, samples in content.items():
                pieces = {piece.run.identity: piece for piece in self.store.runs.points(self._id(name), slot)}
                assert pieces[identity].samples == tuple(samples)

    def _id(self, name: str) -> int:
        return self.store.traces.find(self.repository, f",name={name},")[0].id

    def _traces(self) -> list[Trace]:
        found = self.store.traces.find_ids(self.repository, [f",name={name}," for name in NAMES])
        return self.store.traces.get([ids[0] for ids in found.values()])

    def teardown(self) -> None:
        self.check_provenance()
        self.store.close()
        shutil.rmtree(self.suspect_range)


@pytest.mark.thorough
@pytest.mark.parametrize(("scattered", "striped"), [(False, False), (True, True), (False, True)])
def test_a_store_is_a_dictionary_of_medians(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    scattered: bool,
    striped: bool,
) -> None:
    if scattered:
        monkeypatch.setattr(plan_module, "_SCATTERED_CHUNKS", 0)
        monkeypatch.setattr(plan_module, "_SCATTERED_VALUES", 4)  # runs of up to 3 traces are scattered
    if striped:
        monkeypatch.setattr(writer_module, "_SEGMENT_CHUNKS", 1)
        monkeypatch.setattr(cache_module, "_SMALLEST", 2)
    create_store(tmp_path / "template.db").close()
    machine = type("Machine", (StoreMachine,), {"template": tmp_path / "template.db"})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(6),
            stateful_step_count=12,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
