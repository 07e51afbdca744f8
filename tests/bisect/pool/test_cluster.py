"""The pool over machines: a scheduler and agents as real processes on loopback."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bisect.pool.probes import Workspace, job
from tests.bisect.pool.programs import SECRET, Program, TestPool, free_port

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.pool import DeviceState, PoolAccess, pool_access
from knickpoint.bisect.pool.access import make_certificate_files
from knickpoint.bisect.settings import PoolSettings
from knickpoint.model.bisection import ProbeOutcome, ProbeResult
from knickpoint.model.errors import AbsentError, ServiceError

pytest.importorskip("distributed")

from knickpoint.bisect.pool.agent import Agent, RefusedError
from knickpoint.bisect.pool.dask_pool import DaskPool, device_statuses, drain_device

_LONGEST = 60.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestPool, dict[str, Program]]]:
    """A pool with certificates and a secret, and two agents."""
    directory = tmp_path_factory.mktemp("pool")
    make_certificate_files(directory, ("member",))
    settings = PoolSettings(
        address=f"tls://127.0.0.1:{free_port()}",
        secret=SECRET,
        certificate="member.pem",
        private_key="member-key.pem",
        authorities="authority.pem",
        heartbeat_seconds=20.0,
    )
    pool = TestPool(directory, settings, ("measure", "hang", f"until {directory / 'go'}"))
    programs = {"pool": pool.pool(), "a": pool.agent("a"), "b": pool.agent("b")}
    for name in "ab":
        programs[name].wait_for("joined")
    yield pool, programs
    pool.close()


@pytest.fixture
def cluster(made: tuple[TestPool, dict[str, Program]]) -> TestPool:
    return made[0]


def _results(pool: DaskPool, jobs: Sequence[ProbeJob]) -> list[ProbeResult]:
    for each in jobs:
        pool.submit(each)
    found: list[ProbeResult] = []
    while len(found) < len(jobs):
        arrived = pool.wait(_LONGEST)
        assert arrived
        found += arrived
    return sorted(found, key=lambda result: result.probe)


def _state(cluster: TestPool, name: str) -> DeviceState:
    return next(each.state for each in device_statuses(cluster.access) if each.device.name == name)


def test_probes_are_made_by_agents_and_two_requesters_share_one(cluster: TestPool) -> None:
    with DaskPool(cluster.access) as first, DaskPool(cluster.access) as second:
        assert [device.name for device in first.devices()] == ["a", "b"]
        waits = f"until {cluster.directory / 'go'}"
        second.submit(job("s", commit="1" * 40, requester="B2", does=waits))
        first.submit(job("f", commit="1" * 40, does=waits))
        (cluster.directory / "go").touch()
        measured = [*_results(first, [job("2", does="measure", device="a")]), *second.wait(_LONGEST)]
        while len(measured) < 3:
            measured += first.wait(_LONGEST)
    assert {result.outcome for result in measured} == {ProbeOutcome.MEASURED}
    shared = [result for result in measured if result.probe in "sf"]
    assert len({(result.device, result.started) for result in shared}) == 1


def test_agents_of_one_machine_make_their_probes_at_the_same_time(
    made: tuple[TestPool, dict[str, Program]],
) -> None:
    cluster, programs = made
    with DaskPool(cluster.access) as pool:
        for name in "ab":
            pool.submit(job(f"m{name}", does="hang", device=name))
        for name in "ab":
            programs[name].wait_for(f"probe m{name}:")
            _wait_for_probe(cluster, f"m{name}#", name)


def _wait_for_probe(cluster: TestPool, run: str, name: str) -> None:
    """Wait until a device has begun to make a probe."""
    begun = cluster.directory / "workspaces" / name / "begun.txt"
    changed = threading.Event()
    for _ in range(600):
        if begun.exists() and run in begun.read_text():
            return
        changed.wait(0.05)
    raise AssertionError(f"{name} did not begin {run}")


def test_a_recipe_that_the_pool_does_not_have_is_refused(cluster: TestPool) -> None:
    changed = job("y")
    changed = replace(changed, recipe=replace(changed.recipe, measure=("rm", "-rf", "/")))
    with DaskPool(cluster.access) as pool:
        pool.submit(changed)
        with pytest.raises(ServiceError, match="is not that of the request"):
            pool.wait(_LONGEST)


def test_a_drained_device_gets_no_probe_and_a_resumed_one_does(cluster: TestPool) -> None:
    drain_device(cluster.access, "a")
    assert _state(cluster, "a") is DeviceState.DRAINED
    with DaskPool(cluster.access) as pool:
        assert [result.device for result in _results(pool, [job("3")])] == ["b"]
    drain_device(cluster.access, "a", resume=True)
    assert _state(cluster, "a") is DeviceState.IDLE
    with pytest.raises(AbsentError, match="has not joined"):
        drain_device(cluster.access, "unknown")
    with pytest.raises(AbsentError, match="is not drained"):
        drain_device(cluster.access, "a", resume=True)


def test_a_second_agent_with_the_name_of_a_device_is_refused(cluster: TestPool, tmp_path: Path) -> None:
    agent = Agent(cluster.access, Device("a"), Workspace(tmp_path, 100), print)
    with pytest.raises(RefusedError, match="device a is lent by another agent already"):
        asyncio.run(agent.serve())


def test_who_knows_another_secret_is_refused(cluster: TestPool, tmp_path: Path) -> None:
    access = replace(cluster.access, secret="another" * 6)
    with pytest.raises(ServiceError, match="secret"):
        device_statuses(access)
    with pytest.raises(RefusedError, match="secret"):
        asyncio.run(Agent(access, Device("c"), Workspace(tmp_path, 100), print).serve())


def test_a_certificate_of_another_authority_is_refused(cluster: TestPool, tmp_path: Path) -> None:
    make_certificate_files(tmp_path, ("stranger",))
    shown = replace(
        cluster.access.credentials,
        certificate=(tmp_path / "stranger.pem").read_text(),
        private_key=(tmp_path / "stranger-key.pem").read_text(),
    )
    access = replace(cluster.access, credentials=shown)
    with pytest.raises(ServiceError, match="does not answer"):
        device_statuses(access)


def test_a_program_with_another_authority_says_so(cluster: TestPool, tmp_path: Path) -> None:
    make_certificate_files(tmp_path, ("stranger",))
    stranger = replace(cluster.settings, certificate="stranger.pem", private_key="stranger-key.pem")
    access = pool_access(stranger, tmp_path)
    with pytest.raises(ServiceError, match="certificates do not fit"):
        device_statuses(access)
    with pytest.raises(RefusedError, match="certificates do not fit"):
        asyncio.run(Agent(access, Device("c"), Workspace(tmp_path, 100), print).serve())


def test_an_address_in_use_is_one_line(cluster: TestPool) -> None:
    second = replace(cluster, programs=[])
    with pytest.raises(AssertionError, match="cannot listen: Address already in use"):
        second.pool()
    assert second.programs[0].end() == 2


def test_without_a_certificate_nothing_is_read(cluster: TestPool) -> None:
    context = ssl.create_default_context(cafile=str(cluster.directory / "authority.pem"))
    context.check_hostname = False
    access: PoolAccess = cluster.access
    with socket.create_connection((access.host, access.port), timeout=_LONGEST) as plain:
        assert _answer_over_tls(plain, context) == b""


def _answer_over_tls(plain: socket.socket, context: ssl.SSLContext) -> bytes:
    """Return what the other side sends first; in TLS 1.3 the client learns of a refusal when it reads."""
    try:
        with context.wrap_socket(plain) as encrypted:
            return encrypted.recv(1)
    except (ssl.SSLError, ConnectionError):
        return b""


def test_plain_tcp_gets_no_answer(cluster: TestPool) -> None:
    with socket.create_connection((cluster.access.host, cluster.access.port), timeout=_LONGEST) as plain:
        plain.sendall(b"\0" * 64)
        with suppress(ConnectionError):
            assert plain.recv(1) in {b"", b"\x15"}  # the end, or an alert of TLS


def _start_again(made: tuple[TestPool, dict[str, Program]]) -> None:
    """Start the scheduler again, and wait for its agents."""
    cluster, programs = made
    programs["pool"] = cluster.pool()
    for name in "ab":
        programs["pool"].wait_for(f"device {name} joined")


@pytest.mark.long
def test_a_result_that_the_scheduler_did_not_confirm_survives_its_kill(
    made: tuple[TestPool, dict[str, Program]],
) -> None:
    cluster, programs = made
    waits = cluster.directory / "go"
    waits.unlink(missing_ok=True)
    with DaskPool(cluster.access) as pool:
        pool.submit(job("7", does=f"until {waits}", device="a"))
        programs["a"].wait_for("probe 7:")
        programs["pool"].process.send_signal(signal.SIGSTOP)
        waits.touch()
        programs["a"].wait_for("probe 7: measured")
        programs["pool"].kill()
        _start_again(made)
        (result,) = pool.wait(_LONGEST)
    assert (result.probe, result.outcome) == ("7", ProbeOutcome.MEASURED)
    begun = (cluster.directory / "workspaces" / "a" / "begun.txt").read_text().splitlines()
    assert sum(line.startswith("7#") for line in begun) == 1


@pytest.mark.long
def test_a_scheduler_that_is_asked_to_end_hands_out_the_results_of_its_probes_first(
    made: tuple[TestPool, dict[str, Program]],
) -> None:
    cluster, programs = made
    waits = cluster.directory / "go"
    waits.unlink(missing_ok=True)
    with DaskPool(cluster.access) as pool:
        pool.submit(job("8", does=f"until {waits}", device="a"))
        programs["a"].wait_for("probe 8:")
        programs["pool"].process.send_signal(signal.SIGTERM)
        programs["pool"].wait_for("ends after 1 probe under way; a second signal ends it at once")
        waits.touch()
        (result,) = pool.wait(_LONGEST)
    assert result.outcome is ProbeOutcome.MEASURED
    assert programs["pool"].end() == 0
    _start_again(made)


@pytest.mark.long
def test_a_second_signal_ends_a_scheduler_at_once(made: tuple[TestPool, dict[str, Program]]) -> None:
    cluster, programs = made
    with DaskPool(cluster.access) as pool:
        pool.submit(job("9", does="hang", device="a"))
        programs["a"].wait_for("probe 9:")
        programs["pool"].process.send_signal(signal.SIGTERM)
        programs["pool"].wait_for("ends after")
        programs["pool"].process.send_signal(signal.SIGTERM)
        assert programs["pool"].end() == -signal.SIGTERM
        _start_again(made)


@pytest.mark.long
def test_an_agent_ends_after_its_probe_when_it_is_asked_to(made: tuple[TestPool, dict[str, Program]]) -> None:
    cluster, programs = made
    with DaskPool(cluster.access) as pool:
        pool.submit(job("5", does="hang", device="b"))
        programs["b"].wait_for("probe 5:")
        programs["b"].process.send_signal(signal.SIGTERM)
        programs["b"].wait_for("ends after")
        assert _state(cluster, "b") is DeviceState.DRAINING
        pool.cancel("5")
        assert programs["b"].end() == 0
        assert _state(cluster, "b") is DeviceState.GONE


@pytest.mark.long
def test_an_agent_that_is_killed_costs_its_probe_only(made: tuple[TestPool, dict[str, Program]]) -> None:
    cluster, programs = made
    with DaskPool(cluster.access) as pool:
        pool.submit(job("6", does="hang", device="a"))
        programs["a"].wait_for("probe 6:").kill()
        (result,) = pool.wait(_LONGEST)
    assert (result.probe, result.outcome) == ("6", ProbeOutcome.LOST)
