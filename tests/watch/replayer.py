"""Feed a store commit by commit and run the alerts after each, until killed; run as a process of its own.

``replayer.py STORE`` begins where the store ends, and prints each commit after its run.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.watch.conftest import QUICK, World, levels

from knickpoint.store import open_store
from knickpoint.watch.alert_run.run import run_alerts

ALERT = replace(QUICK, settle_share=0, settle_least=3, settle_most=3)
VALUES = {
    "parse": levels((12, 10.0), (10, 12.0), (10, 10.0), (14, 9.0)),
    "render": levels((15, 10.0), (31, 13.0)),
}
COMMITS = len(VALUES["parse"])


def replay(world: World) -> None:
    """Feed what the store lacks, and report each commit."""
    trace = world.store.traces.find(world.repository, ",benchmark=parse,kind=p,")
    line = world.store.commits.line(world.repository)
    held = world.store.frames.values(line, [trace[0].id])[0] if trace else []
    begin = int(sum(value == value for value in held))  # noqa: PLR0124 - nan is not equal to itself
    run_alerts(world.store, [ALERT], as_work=True)
    for slot in range(begin, COMMITS):
        world.put(slot, {name: values[slot] for name, values in VALUES.items()})
        run_alerts(world.store, [ALERT], as_work=True)
        sys.stdout.write(f"{slot}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    with open_store(sys.argv[1]) as opened:
        replay(World(opened, opened.commits.repository("project")))
