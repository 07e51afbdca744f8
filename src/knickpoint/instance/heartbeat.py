"""Say in the store that a worker is at work, and how it does, so that others can see it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.store import Store

__all__ = ["Presence", "Trouble"]

_EVERY_SECONDS: Final = 30.0
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 300.0


@dataclass(slots=True)
class Trouble:
    """A piece of work that fails: how often in a row, what it said last, and when it is tried again."""

    failures: int = 0
    reason: str = ""
    until: float = 0.0

    def add(self, reason: str, now: float) -> bool:
        """Note a failure; tell whether it is another one than before."""
        other = reason != self.reason
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(self.failures, 16))
        self.failures, self.reason, self.until = self.failures + 1, reason, now + pause
        return other


@dataclass
class Presence:
    """Tells the store about one worker, now and then, and whenever its troubles change."""

    store: Store
    name: str
    clock: Callable[[], float]
    _started: float = field(default_factory=time.time)
    _told: tuple[int, str] = (0, "")
    _next: float | None = None

    def tell(self, troubles: Mapping[str, Trouble]) -> None:
        """Write how the worker does, if that is due.

        Raises:
            StoreError: the store cannot be written.
        """
        worst = max(troubles.items(), key=lambda pair: pair[1].failures, default=None)
        state = (worst[1].failures, f"{worst[0]}: {worst[1].reason}") if worst is not None else (0, "")
        if self._next is not None and self.clock() < self._next and bool(state[0]) == bool(self._told[0]):
            return
        self.store.workers.report(self.name, started=self._started, failures=state[0], reason=state[1])
        self._told = state
        self._next = self.clock() + _EVERY_SECONDS

    def end(self) -> None:
        """Write that the worker ended as it should."""
        self.store.workers.remove(self.name)
