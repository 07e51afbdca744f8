"""How long a delivery waits after a failure; pure, and without randomness."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Final

__all__ = ["pause_after"]

_FIRST_SECONDS: Final = 30.0
_LONGEST_SECONDS: Final = 6 * 3600.0
_LONGEST_WAIT_SECONDS: Final = 86_400.0
"""What a receiver that asks for a longer wait gets."""

_SPREAD: Final = 0.25
"""Half of the part of a pause that depends on the delivery: what failed together does not come back together."""


def pause_after(key: str, attempts: int, wait_seconds: float = 0.0) -> timedelta:
    """Return how long a delivery waits after its attempt number ``attempts``, at least 1.

    The pause doubles from 30 seconds to 6 hours, and is up to a quarter shorter or longer, as a digest of ``key`` and the
    number says. It is never shorter than what the receiver asked for, up to a day.
    """
    exact = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(attempts - 1, 30))
    digest = hashlib.sha256(f"{key}/{attempts}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    spread = exact * (1 - _SPREAD + 2 * _SPREAD * share)
    return timedelta(seconds=max(spread, min(wait_seconds, _LONGEST_WAIT_SECONDS)))
