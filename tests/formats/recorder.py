"""What all recordings of tools share: running a tool, its version, a server beside it, and the golden file."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

GOLDEN: Final = Path(__file__).resolve().parent / "golden"


def run(*command: str | Path, directory: Path | None = None, fails: bool = False) -> str:
    """Return what a command prints, without what it says on its standard error.

    It may exit otherwise than 0 if it ``fails``.
    """
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=not fails)
    return done.stdout


def version(*command: str, pattern: str) -> str:
    """Return the version that a command prints on either output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(pattern, done.stdout + done.stderr)
    if found is None:
        raise SystemExit(f"{command[0]} does not name its version")
    return found[1]


def write(name: str, text: str) -> None:
    """Write one golden file."""
    (GOLDEN / name).write_text(text, encoding="utf-8")
    print(f"golden/{name}: {len(text):,} bytes")  # noqa: T201


def free_port() -> int:
    """Return a port of the loopback interface that is free."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def started(*command: str, port: int) -> Iterator[None]:
    """Run a server until the end of the block, which begins when its ``port`` answers."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=10).close()
                    break
                except ConnectionRefusedError:
                    if server.poll() is not None:
                        raise SystemExit(f"{command[0]} ended at once") from None
            yield
        finally:
            server.terminate()
