"""A NATS server of our own, on loopback."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

Result = TypeVar("Result")

SECONDS = 30.0
"""No test waits longer than this for anything."""


@dataclass
class NatsServer:
    """A server with JetStream that can be killed and started again with what it kept."""

    program: str
    data: Path
    port: int
    options: tuple[str, ...] = ()
    jetstream: bool = True
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and return when connections are taken."""
        keeps = ["-js", "-sd", str(self.data)] if self.jetstream else []
        command = [self.program, "-a", "127.0.0.1", "-p", str(self.port), *keeps, *self.options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        limit = threading.Timer(SECONDS, self.process.kill)
        limit.start()
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if "Server is ready" in line:
                break
        limit.cancel()
        assert "Server is ready" in lines[-1], "".join(lines)

    def kill(self) -> None:
        """End at once, as in a power cut."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(SECONDS)
            assert self.process.stderr is not None
            self.process.stderr.close()
        self.process = None

    def ask(self, question: Callable[[Any], Awaitable[Result]]) -> Result:
        """Ask JetStream something over a connection of our own."""
        import nats

        async def answer() -> Result:
            client = await nats.connect(self.url)
            try:
                return await asyncio.wait_for(question(client.jetstream()), SECONDS)
            finally:
                await client.close()

        return asyncio.run(answer())


NewServer = Callable[..., NatsServer]


def _program() -> str:
    found = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        message = "NATS is not installed: the relay of events is not tested"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """Start a NATS server with JetStream that tests share; skip where there is none, fail where CI promises it."""
    server = NatsServer(_program(), tmp_path_factory.mktemp("nats"), _free_port())
    server.start()
    yield server
    server.kill()


@pytest.fixture
def new_nats_server(tmp_path: Path) -> Iterator[NewServer]:
    """Make servers for one test alone, which may kill them."""
    made: list[NatsServer] = []

    def make(*options: str) -> NatsServer:
        made.append(NatsServer(_program(), tmp_path / f"nats-{len(made)}", _free_port(), options))
        return made[-1]

    yield make
    for server in made:
        server.kill()
