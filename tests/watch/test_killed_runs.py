"""A process that is killed in the middle of runs announces nothing twice and loses nothing."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from knickpoint.model.notification import Announcement
from knickpoint.store import open_store

from . import replayer
from .conftest import World, copied

_SCRIPT = Path(replayer.__file__)


def _ledger(world: World) -> list[Announcement]:
    """Return the announcements without their times."""
    rows = world.store.findings.announcements.after(0)
    return [replace(each, time=datetime(2026, 1, 1, tzinfo=UTC)) for each in rows]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_killed_runs_announce_what_runs_without_kills_announce(empty_world: Path, tmp_path: Path) -> None:
    whole = copied(empty_world, tmp_path / "whole.db")
    replayer.replay(whole)
    expected = _ledger(whole)
    assert len(expected) >= 4
    whole.store.close()

    place, pause = tmp_path / "killed.db", random.Random(5)
    shutil.copy(empty_world, place)
    kills, done = 0, False
    while not done:
        with subprocess.Popen([sys.executable, _SCRIPT, place], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(pause.randint(1, 12)):
                process.stdout.readline()
            timer = threading.Timer(pause.uniform(0.0, 0.1), process.kill)
            timer.start()
            process.stdout.read()
            timer.cancel()
            done = process.wait() == 0
        kills += not done
        assert kills < 200
    assert kills > 1
    with open_store(place) as store:
        assert _ledger(World(store, store.commits.repository("project"))) == expected
