"""Count the steps of a piece of work, to see whether they grow in proportion to its input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from knickpoint.model.errors import InputError

TIMES: Final = 4
MOST: Final = 5.5
"""Growth of the steps that counts as linear.

An input four times as long takes sixteen times the steps where it is not.
"""


def steps(work: Callable[[], object]) -> int:
    """Count the lines of Python that ``work`` runs, also where it ends in a refusal."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(InputError):
            work()
    finally:
        sys.settrace(before)
    return count
