"""Show a search while it runs: one line that changes on a terminal, one line for each probe elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TextIO

from knickpoint.bisect.coordinator import BisectionProgress
from knickpoint.bisect.coordinator.narration import standing_text
from knickpoint.cli.commands.bisect.answer import shown_value
from knickpoint.cli.terminal import TerminalText, Verbosity, verbosity, without_control
from knickpoint.model.commit import Commit

_SHORT: Final = 10
_CLEAR: Final = "\r\x1b[K"


@dataclass
class LiveView:
    """Shows the progress of a search on standard error; ``commits`` are those by place."""

    commits: Sequence[Commit]
    stream: TextIO = field(default_factory=lambda: TerminalText.below(sys.stderr))

    def __post_init__(self) -> None:
        """Begin with nothing shown."""
        self._quiet = verbosity() is Verbosity.QUIET
        self._terminal = self.stream.isatty() and not self._quiet
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._shown: set[str] = set()
        self._steps: dict[str, str] = {}
        self._progress: BisectionProgress | None = None
        self._closed = threading.Event()
        if self._terminal:
            threading.Thread(target=self._tick, name="live view", daemon=True).start()

    def __call__(self, progress: BisectionProgress) -> None:
        """Show where the search stands."""
        with self._lock:
            for entry in progress.entries:
                if entry.result is not None and entry.probe not in self._shown:
                    self._shown.add(entry.probe)
                    result = entry.result
                    commit = self.commits[entry.planned.place]
                    reason = f" ({result.reason})" if result.reason else ""
                    self._line(
                        f"{commit.hash[:_SHORT]} {entry.planned.purpose.value:6} "
                        f"{shown_value(entry, progress.trace)}{reason}  {result.seconds:.1f} s on {result.device}; "
                        f"{self._left(progress)}"
                    )
            self._progress = progress
            self._draw()

    def step(self, probe: str, text: str) -> None:
        """Show the step that a probe begins; called from other threads."""
        with self._lock:
            self._steps[probe] = text
            self._draw()

    def close(self) -> None:
        """Clear the line that changes, and draw it no more."""
        with self._lock:
            self._closed.set()
        if self._terminal:
            self.stream.write(_CLEAR)
            self.stream.flush()

    def _line(self, text: str) -> None:
        if self._quiet:
            return
        clear = _CLEAR if self._terminal else ""
        self.stream.write(f"{clear}{without_control(text)}\n")
        self.stream.flush()

    def _draw(self) -> None:
        if self._terminal and self._progress and not self._closed.is_set():
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"{_CLEAR}{without_control(self._summary(self._progress))[:width]}")
            self.stream.flush()

    def _tick(self) -> None:
        """Draw the time that passes."""
        while not self._closed.wait(1.0):
            with self._lock:
                self._draw()

    def _left(self, progress: BisectionProgress) -> str:
        """Describe the candidates that the posterior leaves."""
        return standing_text(progress.posterior, [commit.hash for commit in self.commits])

    def _summary(self, progress: BisectionProgress) -> str:
        running = [entry for entry in progress.entries if entry.result is None]
        done = len(progress.entries) - len(running)
        elapsed = time.monotonic() - self._started
        steps = ", ".join(
            f"{self.commits[entry.planned.place].hash[:_SHORT]} {self._steps.get(entry.probe, 'waits')}"
            for entry in running
        )
        left = "" if progress.seconds_left is None else f", about {_duration(progress.seconds_left)} left"
        return f"[{_duration(elapsed)}{left}] {done} done; {steps}; {self._left(progress)}"


def _duration(seconds: float) -> str:
    """Return seconds as people say them: 42 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
