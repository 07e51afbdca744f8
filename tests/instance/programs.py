"""Programs of an instance as processes, each with a log of its own beside the instance."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["KNICK", "Programs"]

KNICK: Final = (sys.executable, "-c", "from knickpoint.cli import main; main()")
"""The program under test."""

_END_SECONDS: Final = 60.0


@dataclass
class Programs:
    """The running processes of the instance in ``directory``, by name."""

    directory: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def serve(self, name: str, *arguments: str, variables: Mapping[str, str] | None = None) -> None:
        """Start ``knick serve``."""
        command = [*KNICK, "serve", *arguments]
        known = {**os.environ, **(variables or {})}
        with self.log(name).open("ab") as log:
            self.running[name] = subprocess.Popen(command, cwd=self.directory, env=known, stdout=log, stderr=log)

    def log(self, name: str) -> Path:
        """Return the file of its messages."""
        return self.directory / f"{name}.log"

    def end(self, name: str) -> int:
        """Ask a process to end, and return its exit code."""
        self.running[name].terminate()
        return self.wait(name)

    def wait(self, name: str) -> int:
        """Wait until a process ends by itself, and return its exit code."""
        return self.running.pop(name).wait(_END_SECONDS)

    def kill(self, *names: str) -> None:
        """Kill processes, by default all."""
        for name in names or tuple(self.running):
            process = self.running.pop(name)
            process.kill()
            process.wait()
