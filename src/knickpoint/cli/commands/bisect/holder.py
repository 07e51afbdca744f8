"""The name under which a command holds a bisection of an instance, and whether such a command still lives."""

from __future__ import annotations

import os
import platform
import re
from typing import Final

__all__ = ["holder_name", "is_gone"]

_NAME: Final = re.compile(r"knick bisect on (.*), process ([0-9]{1,10})", re.DOTALL)


def holder_name() -> str:
    """Return the name of this process as one that runs a bisection."""
    return f"knick bisect on {platform.node()}, process {os.getpid()}"


def is_gone(holder: str) -> bool:
    """Return whether ``holder`` is a command of this machine that has ended; False where that is unknown."""
    found = _NAME.fullmatch(holder)
    if found is None or found[1] != platform.node():
        return False
    try:
        os.kill(int(found[2]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
