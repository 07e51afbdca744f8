"""The moment by which a request has to be done."""

from __future__ import annotations

import time
from dataclasses import dataclass

__all__ = ["Deadline"]


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which everything has to be done; ``end`` is of the monotonic clock, in seconds."""

    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the moment ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Return the seconds that are left. Raises ``TimeoutError`` where there are none."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("it does not answer in time")
        return left
