"""Remove from captured output what is meant for a terminal only."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LONGEST_LINE", "plain"]

LONGEST_LINE: Final = 5000
"""Characters of a line for people; what is longer is noise, and would keep a pattern busy for long."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]|[\x00\x08]")


def plain(line: str) -> str:
    """Return ``line`` without colours, NULs, and what a carriage return had overwritten."""
    return _ESCAPES.sub("", line).rpartition("\r")[2]
