"""Programs that measure on one machine take turns."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from knickpoint.bisect.runner.machine_slots import machine_slot


@pytest.fixture(autouse=True)
def _own_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_programs_with_other_workspaces_share_the_slot(tmp_path: Path) -> None:
    waited = threading.Event()
    with (
        machine_slot(tmp_path / "one") as first,
        machine_slot(tmp_path / "two", given_up=waited.is_set, waits=waited.set) as second,
    ):
        assert (first is not None, second, waited.is_set()) == (True, None, True)


def test_a_machine_with_two_slots_measures_twice_at_a_time(tmp_path: Path) -> None:
    with machine_slot(tmp_path, 2) as first, machine_slot(tmp_path, 2) as second:
        assert None not in {first, second}


def test_a_program_that_wants_its_slot_back_goes_behind_one_that_waits(tmp_path: Path) -> None:
    order: list[str] = []
    waits = threading.Event()

    def other() -> None:
        with machine_slot(tmp_path, waits=waits.set):
            order.append("the one that waits")

    thread = threading.Thread(target=other)
    with machine_slot(tmp_path):
        thread.start()
        waits.wait()
    with machine_slot(tmp_path):
        order.append("the one that had it")
    thread.join()
    assert order == ["the one that waits", "the one that had it"]


def test_without_a_cache_the_workspace_has_the_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with machine_slot(tmp_path / "workspace") as slot:
        assert slot is not None
        assert os.fstat(slot).st_ino == (tmp_path / "workspace" / "slots" / "0.lock").stat().st_ino
