"""What is tried in each run, and what in the long one only: few or many examples, one or all of many cases."""

from __future__ import annotations

import math
import os
from typing import Final

import pytest

_TIMES: Final = float(os.environ.get("KNICKPOINT_EXAMPLES", "0.5"))


def examples(few: int) -> int:
    """Return how many examples a test marked ``thorough`` tries: half of ``few``, or ``few`` times ``KNICKPOINT_EXAMPLES``.

    Property tests without a number of their own try 40, and 100 in the long run.
    """
    return math.ceil(few * _TIMES)


def in_the_long_run(*values: object) -> list[object]:
    """Return ``values`` as cases of a test that only the long run tries, beside those that stand for them in each run."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]
