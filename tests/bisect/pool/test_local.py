"""The pool of this machine, with real processes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.bisect.pool.probes import CALL, ROOT, Workspace, job

from knickpoint.bisect.job import Device
from knickpoint.bisect.pool.local import LocalPool
from knickpoint.bisect.pool.probe_process import session_members
from knickpoint.model.bisection import ProbeOutcome, ProbeResult

_LONGEST = 60.0


class _Progress:
    """What probes report, by probe."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.changed = threading.Event()

    def __call__(self, probe: str, line: str) -> None:
        self.lines.append((probe, line))
        self.changed.set()

    def line(self, probe: str, word: str) -> str:
        """Wait for a line of a probe that begins with a word, and return it."""
        while True:
            for name, line in tuple(self.lines):
                if name == probe and line.startswith(word):
                    return line
            assert self.changed.wait(_LONGEST)
            self.changed.clear()

    def number(self, probe: str, word: str) -> int:
        """Wait for the process that a probe reports with a word, and return its number."""
        return int(self.line(probe, word).split()[1])


@pytest.fixture
def progress() -> _Progress:
    return _Progress()


@pytest.fixture
def new_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, progress: _Progress
) -> Iterator[Callable[..., LocalPool]]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pools = []

    def make(*devices: Device, at_once: int = 1, grace: float | None = None) -> LocalPool:
        workspace = Workspace(tmp_path / "workspace", 100)
        pools.append(LocalPool(workspace, devices, at_once, progress=progress, call=CALL, grace=grace))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def _results(pool: LocalPool, count: int) -> list[ProbeResult]:
    found: list[ProbeResult] = []
    while len(found) < count:
        arrived = pool.wait(_LONGEST)
        assert arrived
        found += arrived
    return found


def _ended(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except OSError:
        return True


def test_each_probe_has_its_result_and_one_that_cannot_answer_costs_itself_only(
    new_pool: Callable[..., LocalPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNICKPOINT_POOL_SECRET", "x" * 40)
    pool = new_pool(Device("rack", slots=4), at_once=4)
    for probe, does in {"1": "die", "2": "fail", "3": "write 40000000", "4": "print"}.items():
        pool.submit(job(probe, does=does, commit=probe * 40))
    died, failed, wrote, measured = sorted(_results(pool, 4), key=lambda result: result.probe)
    assert (died.outcome, "signal 9" in died.reason) == (ProbeOutcome.LOST, True)
    assert (failed.outcome, "the repository is gone" in failed.reason) == (ProbeOutcome.LOST, True)
    assert (wrote.outcome, "more than 32,000,000" in wrote.reason) == (ProbeOutcome.SKIPPED, True)
    assert (measured.outcome, measured.device) == (ProbeOutcome.MEASURED, "rack")
    assert measured.measured[",test=a,"].value == float(0x4444)
    # The process of a probe gets few variables, and no secret.
    seen = json.loads(measured.files[0].content)["environment"]
    assert "PATH" in seen
    assert not [name for name in seen if name.startswith("KNICKPOINT")]
    assert pool.wait(0.0) == []


def test_a_probe_that_hangs_is_lost_with_all_of_its_processes(
    new_pool: Callable[..., LocalPool], progress: _Progress
) -> None:
    pool = new_pool(grace=-5999.5)
    pool.submit(job("1", does="spawn deaf"))
    (result,) = _results(pool, 1)
    assert (result.outcome, "no progress" in result.reason) == (ProbeOutcome.LOST, True)
    assert session_members(progress.number("1", "measure")) == ()
    assert _ended(progress.number("1", "child"))


def test_a_cancelled_probe_has_no_result_and_frees_its_slot(
    new_pool: Callable[..., LocalPool], progress: _Progress
) -> None:
    pool = new_pool()
    pool.submit(job("1", does="spawn"))
    child = progress.number("1", "child")
    pool.submit(job("2"))
    pool.cancel("1")
    assert [result.probe for result in _results(pool, 1)] == ["2"]
    assert _ended(child)


def test_closing_ends_every_process(new_pool: Callable[..., LocalPool], progress: _Progress) -> None:
    pool = new_pool()
    pool.submit(job("1", does="spawn"))
    numbers = [progress.number("1", word) for word in ("measure", "child")]
    pool.close()
    assert all(_ended(number) for number in numbers)


def test_pools_over_one_workspace_make_one_probe_at_a_time(
    new_pool: Callable[..., LocalPool], progress: _Progress, tmp_path: Path
) -> None:
    first, second = new_pool(Device("rack")), new_pool(Device("rack"))
    first.submit(job("1", does=f"until {tmp_path / 'go'}"))
    progress.number("1", "measure")
    second.submit(job("2"))
    progress.line("2", "waits")
    assert "2 rack" not in (tmp_path / "workspace" / "begun.txt").read_text()
    (tmp_path / "go").touch()
    assert [result.probe for result in (*_results(first, 1), *_results(second, 1))] == ["1", "2"]
