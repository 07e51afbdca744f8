"""Machines as network namespaces, plugged into one switch."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

__all__ = ["Machine", "Network", "check_namespaces"]

_PREFIX = "198.18"
"""Addresses that are kept for tests of networks (RFC 2544)."""

_DIES_SECONDS = 30.0


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def check_namespaces() -> None:
    """Skip the test where network namespaces cannot be made; in CI, a skip is a failure."""
    if os.getuid() != 0 or shutil.which("ip") is None:
        pytest.skip("machines as network namespaces need root and iproute2")
    name = f"kp{os.getpid()}try"
    try:
        _ip("netns", "add", name)
        _ip("netns", "exec", name, "true")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be made here: {error.stderr.decode().strip()}")
    finally:
        with suppress(subprocess.CalledProcessError):
            _ip("netns", "del", name)


@dataclass
class Machine:
    """A machine of the network: its programs see its own addresses and its one cable, and nothing else."""

    name: str
    namespace: str
    address: str
    switch: str
    port: str
    folder: Path
    programs: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: str, directory: Path | None = None, variables: Mapping[str, str] | None = None) -> None:
        """Start a program, whose messages go to a file with the name of the machine."""
        with (self.folder / f"{self.name}.log").open("ab") as log:
            program = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *command],
                cwd=directory or self.folder,
                env={**os.environ, **(variables or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.programs.append(program)

    def cut(self) -> None:
        """Pull the cable: nothing comes in or goes out, and nobody is told."""
        _ip("-n", self.switch, "link", "set", self.port, "down")

    def plug(self) -> None:
        """Put the cable back."""
        _ip("-n", self.switch, "link", "set", self.port, "up")

    def kill(self) -> None:
        """Kill every program of the machine at once, and those that these started."""
        while found := self._processes():
            for process in found:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._collect()

    def end(self) -> list[int]:
        """Ask the programs to end, and return their exit codes."""
        for program in self.programs:
            program.terminate()
        codes = [program.wait(_DIES_SECONDS) for program in self.programs]
        self.programs.clear()
        return codes

    def _processes(self) -> list[int]:
        listed = subprocess.run(["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=True)
        return [int(line) for line in listed.stdout.split()]

    def _collect(self) -> None:
        for program in self.programs:
            program.wait(_DIES_SECONDS)
        self.programs.clear()


class Network:
    """A switch with machines. This process is plugged in as well, with the last address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.machines: dict[str, Machine] = {}
        self._tag = f"kp{os.getpid()}"
        self._net = f"{_PREFIX}.{os.getpid() % 256}"
        self._switch = f"{self._tag}s"
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "switch", "type", "bridge", "forward_delay", "0")
        _ip("-n", self._switch, "link", "set", "switch", "up")
        _ip("link", "add", self._tag, "type", "veth", "peer", "name", "here", "netns", self._switch)
        self._plug_in("here")
        _ip("address", "add", f"{self._net}.254/24", "dev", self._tag)
        _ip("link", "set", self._tag, "up")

    def add(self, name: str) -> Machine:
        """Plug in a new machine."""
        number = len(self.machines) + 1
        namespace, port = f"{self._tag}m{number}", f"port{number}"
        _ip("netns", "add", namespace)
        _ip("-n", namespace, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self._switch)
        self._plug_in(port)
        address = f"{self._net}.{number}"
        _ip("-n", namespace, "address", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")
        self.machines[name] = Machine(name, namespace, address, self._switch, port, self.folder)
        return self.machines[name]

    def remove(self) -> None:
        """Kill all machines, and take the network away."""
        for machine in self.machines.values():
            machine.kill()
            _ip("netns", "del", machine.namespace)
        _ip("link", "del", self._tag)
        _ip("netns", "del", self._switch)

    def _plug_in(self, port: str) -> None:
        _ip("-n", self._switch, "link", "set", port, "master", "switch")
        _ip("-n", self._switch, "link", "set", port, "up")
