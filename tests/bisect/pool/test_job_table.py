"""What a pool knows of jobs, probes, devices and what each requester has used."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.bisect.pool.probes import job

from knickpoint.bisect.job import Device
from knickpoint.bisect.pool.job_table import JobTable


def _table(*names: str, most: int | None = None) -> JobTable:
    table = JobTable(most=most)
    for name in names:
        table.join(Device(name))
    return table


def test_a_job_that_comes_later_is_served_by_a_probe_under_way() -> None:
    table = _table("a", "b")
    table.submit(job("1", commit="c" * 40))
    (run,) = table.start(0.0)
    table.submit(job("2", commit="c" * 40, requester="B2"))
    assert table.start(1.0) == ()
    assert [each.probe for each in table.finish(run.id, 2.0)] == ["1", "2"]


def test_a_shared_probe_ends_only_when_no_job_needs_it() -> None:
    table = _table("a")
    table.submit(job("1", commit="c" * 40))
    table.submit(job("2", commit="c" * 40, requester="B2"))
    (run,) = table.start(0.0)
    assert table.cancel("1") is None
    ended = table.cancel("2")
    assert ended is not None
    assert ended.id == run.id
    assert table.finish(run.id, 1.0) == ()


def test_a_device_that_leaves_loses_its_probes_and_no_other() -> None:
    table = _table("a", "b")
    table.submit(job("1", device="a"))
    table.submit(job("2", device="b"))
    table.start(0.0)
    assert [run.job.probe for run in table.leave("a")] == ["1"]
    assert [run.job.probe for run in table.runs.values()] == ["2"]


def test_a_drained_device_gets_no_job_until_it_is_resumed() -> None:
    table = _table("a")
    table.drained.add("a")
    table.submit(job("1"))
    assert table.start(0.0) == ()
    table.drained.discard("a")
    assert [run.device for run in table.start(0.0)] == ["a"]


def test_a_probe_without_a_sign_of_life_hangs_after_the_limits_of_its_steps() -> None:
    table = _table("a")
    table.submit(job("1"))
    (run,) = table.start(0.0)
    limit = 1800 + 3600 + 600 + 5.0
    table.hear(run.id, 100.0, "build")
    assert table.hung(100.0 + limit, grace=5.0) == ()
    assert [each.id for each in table.hung(100.1 + limit, grace=5.0)] == [run.id]


def test_a_second_bisection_gets_half_of_the_device_while_a_long_one_runs() -> None:
    table = _table("a")
    for number in range(200):
        table.submit(job(f"{number}"))
    for now in range(20):
        (run,) = table.start(float(now))
        table.finish(run.id, now + 1.0)
    for number in range(10):
        table.submit(job(f"x{number}", requester="B2", commit=f"f{number:0>39}"))
    requesters = []
    for now in range(20, 40):
        (run,) = table.start(float(now))
        requesters.append(run.job.requester)
        table.finish(run.id, now + 1.0)
    assert requesters.count("B2") == 10
    assert requesters[:4].count("B2") == 2


class JobTableMachine(RuleBasedStateMachine):
    """Submit, cancel, start, finish, join and leave in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.table = JobTable(most=3)
        self.now = 0.0
        self.submitted: set[str] = set()
        self.answered: list[str] = []
        self.cancelled: set[str] = set()
        self.number = 0

    @rule(
        commit=st.sampled_from(["a" * 40, "b" * 40]),
        requester=st.sampled_from(["B1", "B2"]),
        device=st.sampled_from(["", "d1"]),
    )
    def submit(self, commit: str, requester: str, device: str) -> None:
        self.number += 1
        self.table.submit(job(f"{self.number}", commit=commit, requester=requester, device=device))
        self.submitted.add(f"{self.number}")

    @rule(name=st.sampled_from(["d1", "d2", "d3"]), slots=st.integers(1, 2))
    def join(self, name: str, slots: int) -> None:
        self.table.join(Device(name, slots=slots))

    @rule(name=st.sampled_from(["d1", "d2", "d3"]))
    def leave(self, name: str) -> None:
        for run in self.table.leave(name):
            self.answered += [each.probe for each in run.jobs]

    @rule()
    def start(self) -> None:
        self.now += 1
        self.table.start(self.now)

    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        if self.table.runs:
            run = data.draw(st.sampled_from(sorted(self.table.runs)))
            self.answered += [each.probe for each in self.table.finish(run, self.now)]

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.submitted:
            probe = data.draw(st.sampled_from(sorted(self.submitted)))
            if probe not in self.answered:
                self.cancelled.add(probe)
            self.table.cancel(probe)

    @invariant()
    def each_job_waits_runs_or_has_one_answer(self) -> None:
        waiting = list(self.table.waiting)
        running = [each.probe for run in self.table.runs.values() for each in run.jobs]
        assert sorted([*waiting, *running, *self.answered, *self.cancelled]) == sorted(self.submitted)

    @invariant()
    def no_more_runs_than_allowed(self) -> None:
        assert len(self.table.runs) <= 3


TestJobTable = JobTableMachine.TestCase
TestJobTable.settings = settings(max_examples=30, stateful_step_count=30)
