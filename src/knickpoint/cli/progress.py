"""A progress bar on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self, TextIO

from knickpoint.cli.terminal import TerminalText, Verbosity, verbosity

_WIDTH: Final = 30
_PATIENCE_SECONDS: Final = 1.0
_REFRESH_SECONDS: Final = 0.1


class Progress:
    """Draws ``label [#####     ] 12/40`` on standard error if that is a terminal.

    Call it with (done, total). It draws nothing in the first ``patience`` seconds, and clears its line at the end.
    """

    def __init__(self, label: str, stream: TextIO | None = None, patience: float = _PATIENCE_SECONDS) -> None:
        self._label = label
        self._stream = stream or TerminalText.below(sys.stderr)
        self._patience = patience
        self._terminal = self._stream.isatty() and verbosity() is not Verbosity.QUIET
        self._started = self._drawn = time.monotonic()
        self._visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._visible:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def __call__(self, done: int, total: int) -> None:
        """Draw that ``done`` of ``total`` are done."""
        now = time.monotonic()
        if not self._terminal or now - self._started < self._patience:
            return
        if done < total and now - self._drawn < _REFRESH_SECONDS and self._visible:
            return
        filled = _WIDTH * done // max(total, 1)
        bar = "#" * filled + " " * (_WIDTH - filled)
        self._stream.write(f"\r\x1b[K{self._label} [{bar}] {done}/{total}")
        self._stream.flush()
        self._drawn, self._visible = now, True
