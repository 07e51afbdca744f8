"""An agent in a network of its own that is cut off, and comes back."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.bisect.pool.probes import job
from tests.bisect.pool.programs import SECRET, TestPool, free_port

from knickpoint.bisect.settings import PoolSettings
from knickpoint.model.bisection import ProbeOutcome

pytest.importorskip("distributed")

from knickpoint.bisect.pool.dask_pool import DaskPool

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
_NAME = f"knick{os.getpid() % 100_000}"
_HERE, _THERE = "10.213.77.1", "10.213.77.2"
_LONGEST = 90.0


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@dataclass(frozen=True)
class Cable:
    """A pair of network interfaces, one of them in a network namespace."""

    namespace: str

    def cut(self) -> None:
        _ip("link", "set", self.namespace, "down")

    def join(self) -> None:
        _ip("link", "set", self.namespace, "up")


@pytest.fixture
def cable() -> Iterator[Cable]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("a network namespace needs root and the program ip")
    try:
        _ip("netns", "add", _NAME)
    except subprocess.CalledProcessError:
        pytest.skip("the system permits no network namespace")
    try:
        _ip("link", "add", _NAME, "type", "veth", "peer", "name", "eth0", "netns", _NAME)
        _ip("addr", "add", f"{_HERE}/30", "dev", _NAME)
        _ip("link", "set", _NAME, "up")
        _ip("-n", _NAME, "addr", "add", f"{_THERE}/30", "dev", "eth0")
        _ip("-n", _NAME, "link", "set", "eth0", "up")
        _ip("-n", _NAME, "link", "set", "lo", "up")
        yield Cable(_NAME)
    finally:
        _ip("netns", "del", _NAME)


def test_a_cut_costs_one_probe_and_the_agent_comes_back(cable: Cable, tmp_path: Path) -> None:
    settings = PoolSettings(address=f"tls://{_HERE}:{free_port()}", secret=SECRET, heartbeat_seconds=3.0)
    cluster = TestPool(tmp_path, settings, ("measure", "hang"))
    try:
        cluster.pool()
        agent = cluster.agent("far", prefix=("ip", "netns", "exec", _NAME)).wait_for("joined")
        with DaskPool(cluster.access, heartbeat_seconds=3.0) as pool:
            pool.submit(job("1", does="hang"))
            agent.wait_for("probe 1:")
            cable.cut()
            (result,) = pool.wait(_LONGEST)
            assert (result.probe, result.outcome) == ("1", ProbeOutcome.LOST)
            pool.submit(job("2"))
            agent.wait_for("the connection to the pool was lost", _LONGEST)
            cable.join()
            (result,) = pool.wait(_LONGEST)
        assert (result.probe, result.outcome) == ("2", ProbeOutcome.MEASURED)
        assert (tmp_path / "workspaces" / "far" / "begun.txt").read_text().count("\n") == 2
    finally:
        cluster.close()
