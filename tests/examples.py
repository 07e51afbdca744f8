"""How many examples the property tests try that take long: few in each run, more in the long one."""

from __future__ import annotations

import os
from typing import Final

_TIMES: Final = int(os.environ.get("KNICKPOINT_EXAMPLES", "1"))


def examples(few: int) -> int:
    """Return how many examples a test marked ``thorough`` tries: ``few``, times ``KNICKPOINT_EXAMPLES`` where that is set."""
    return few * _TIMES
