"""The scheduler and the agents of the tests, as programs of their own: ``python -m tests.bisect.pool.programs pool ORDER``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from tests.bisect.pool.probes import CALL, ROOT, Workspace, job
from tests.bisect.runner import projects

from knickpoint.bisect.coordinator import Bisection, BisectionProgress, FileJournal, coordinate
from knickpoint.bisect.job import Device
from knickpoint.bisect.pool import PoolAccess, PoolRules, pool_access, serve_agent, serve_pool
from knickpoint.bisect.pool.probe_run import RUN_PROBE
from knickpoint.bisect.settings import DeviceSettings, PoolSettings
from knickpoint.model.errors import KnickpointError

__all__ = ["Program", "TestPool", "free_port"]

SECRET = "5ec2e7" * 8


def free_port() -> int:
    """Return a port of loopback that is free now."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Program:
    """A process, with the lines that it prints."""

    def __init__(self, *arguments: str, prefix: tuple[str, ...] = ()) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "tests.bisect.pool.programs", *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                with self._changed:
                    self.lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, word: str, seconds: float = 60.0) -> Self:
        """Wait for a line with a word."""
        with self._changed:
            self._changed.wait_for(lambda: self._has(word) or not self._reader.is_alive(), seconds)
            assert self._has(word), "\n".join(self.lines)
        return self

    def wait_for_more(self, seconds: float = 1.0) -> None:
        """Wait until the program prints a line, at most so long."""
        count = len(self.lines)
        with self._changed:
            self._changed.wait_for(lambda: len(self.lines) > count or not self._reader.is_alive(), seconds)

    def _has(self, word: str) -> bool:
        return any(word in line for line in self.lines)

    def kill(self) -> None:
        """Kill the program at once, and wait for its end."""
        self.process.kill()
        self.end()

    def end(self) -> int:
        """Wait for the end of the program, and return its exit code."""
        code = self.process.wait(60)
        self._reader.join(10)
        return code


@dataclass
class TestPool:
    """A pool of the tests: what starts its programs, and reaches it. ``does`` are what the probes of its recipes do.

    With ``real`` its probes build and measure commits of :mod:`tests.bisect.runner.projects`.
    """

    __test__ = False

    directory: Path
    settings: PoolSettings
    does: tuple[str, ...] = ("measure",)
    real: bool = False
    devices: dict[str, dict[str, object]] = field(default_factory=dict)
    programs: list[Program] = field(default_factory=list)

    @property
    def access(self) -> PoolAccess:
        return pool_access(self.settings, self.directory)

    def pool(self) -> Program:
        """Start the scheduler, and wait until it listens."""
        return self._start("pool").wait_for("listens")

    def agent(self, name: str, *, slots: int = 1, prefix: tuple[str, ...] = (), address: str = "") -> Program:
        """Start an agent."""
        return self._start("agent", name, str(slots), address, prefix=prefix)

    def bisection(self, repository: Path, commits: Sequence[str], journal: Path) -> Program:
        """Start a bisection, or go on with it: it prints its progress, and at last its answer."""
        return self._start("bisection", str(repository), str(journal), *commits)

    def _start(self, *arguments: str, prefix: tuple[str, ...] = ()) -> Program:
        order = json.dumps(
            {
                "directory": str(self.directory),
                "settings": asdict(self.settings),
                "does": self.does,
                "real": self.real,
                "devices": self.devices,
            }
        )
        self.programs.append(Program(order, *arguments, prefix=prefix))
        return self.programs[-1]

    def close(self) -> None:
        """End all programs."""
        for program in self.programs:
            if program.process.poll() is None:
                program.kill()


def main() -> None:
    """Run the program that the arguments name."""
    order = json.loads(sys.argv[1])
    directory = Path(order["directory"])
    settings = PoolSettings(**order["settings"])
    access = pool_access(settings, directory)
    if sys.argv[2] == "pool":
        made = [job("1", does=does).recipe for does in order["does"]] + [projects.recipe()]
        recipes = {recipe.name: recipe for recipe in made}
        devices = {name: DeviceSettings(name, **facts) for name, facts in order["devices"].items()}
        rules = PoolRules(recipes, devices, settings.heartbeat_seconds)
        serve_pool(access, lambda: rules, state=directory / "state", announce=_announce)
        return
    if sys.argv[2] == "bisection":
        _bisect(access, settings, Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
        return
    name, slots, address = sys.argv[3:]
    if address:
        access = PoolAccess(address, access.credentials, access.secret)
    workspace = Workspace(directory / "workspaces" / name, 100)
    call = RUN_PROBE if order["real"] else CALL
    serve_agent(access, Device(name, slots=int(slots)), workspace, announce=_announce, call=call)


def _bisect(access: PoolAccess, settings: PoolSettings, repository: Path, journal: Path, commits: list[str]) -> None:
    """Run a bisection over the pool, and print its progress as "begun B1-3" and "ended B1-3"."""
    from knickpoint.bisect.pool.dask_pool import DaskPool

    seen: set[str] = set()

    def show(progress: BisectionProgress) -> None:
        for entry in progress.entries:
            for line in (f"begun {entry.probe}", f"ended {entry.probe}")[: 1 + (entry.result is not None)]:
                if line not in seen:
                    seen.add(line)
                    _announce(line)

    asked = Bisection("B1", {"": str(repository)}, commits[0], tuple(commits[1:]), projects.recipe(), projects.KEY)
    with (
        FileJournal(journal, {"commits": commits}, resume=journal.exists()) as kept,
        DaskPool(access, heartbeat_seconds=settings.heartbeat_seconds, announce=_announce) as pool,
    ):
        answer = coordinate(asked, pool, kept, progress=show)
    _announce(f"answer {answer.state.value} {' '.join(map(str, answer.places))}")


def _announce(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except KnickpointError as error:
        _announce(str(error))
        sys.exit(2)
