"""Summaries of samples: the one number of several samples compared and watched, such as their 99th percentile."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from knickpoint.model.errors import InputError

NO_SUMMARY: Final = ""
"""The samples count as they always do: by their level."""

_PERCENTILE: Final = re.compile(r"p(\d{1,2}(?:\.\d{1,3})?)", re.ASCII)
_SHARES: Final = {"min": 0.0, "median": 0.5, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Summary:
    """A quantile of samples: ``share`` of them lie below it.

    ``name`` is how people write it: `min`, `median`, `max`, `p99`.
    """

    name: str
    share: float

    @property
    def fewest(self) -> int:
        """How many samples it needs, so that one lies beyond it on the shorter side: 20 for `p95`, 100 for `p99`."""
        beyond = min(self.share, 1 - self.share)
        return 1 if beyond in {0.0, 0.5} else math.ceil(1 / beyond - 1e-9)

    def __str__(self) -> str:
        return self.name


MEDIAN: Final = Summary("median", 0.5)
"""What the point of a run is."""


def read_summary(text: str) -> Summary:
    """Return the summary that ``text`` names.

    Raises:
        InputError: it names none.
    """
    if text in _SHARES:
        return Summary(text, _SHARES[text])
    found = _PERCENTILE.fullmatch(text)
    percent = float(found.group(1)) if found else 0.0
    if not 0 < percent < 100:
        raise InputError(
            f"there is no summary {text!r}",
            remedy="Give min, median or max, or a percentile between 0 and 100, such as p95, p99 or p99.9.",
        )
    return Summary(f"p{percent:g}", percent / 100)
