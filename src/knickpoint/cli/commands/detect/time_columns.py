"""Compare the order of rows with a column that says when they were measured, where no column orders them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from knickpoint.model.errors import InputError

__all__ = ["check_times", "is_moment", "seconds"]

_MOMENTS: Final = frozenset({"timestamp", "date", "datetime", "epoch"})
"""Titles of columns that hold moments and nothing else."""
_TIMES: Final = _MOMENTS | {
    "time",
    "when",
    "ts",
    "day",
    "commit_date",
    "commit_time",
    "commit_timestamp",
    "author_date",
    "authored_at",
    "committed_at",
    "committer_date",
    "created_at",
    "measured_at",
    "run_at",
}


def is_moment(title: str) -> bool:
    """Tell whether a column with this title says when, and is no series."""
    return title.strip().lower() in _MOMENTS


def seconds(text: str) -> float:
    """Return the seconds since 1970 of a date or time in ISO 8601; without an offset it is UTC. Raises ``ValueError``."""
    moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() - (  # noqa: DTZ001
        offset.total_seconds() if (offset := moment.utcoffset()) else 0.0
    )


def _moments(title: str, texts: Sequence[str]) -> list[float]:
    """Return the moments in ``texts``, none where they are none: a number in a column ``time`` is a duration."""
    try:
        return [seconds(text.strip()) for text in texts]
    except ValueError:
        pass
    try:
        return [] if title == "time" else [float(text) for text in texts]
    except ValueError:
        return []


def check_times(header: Sequence[str], rows: Sequence[Sequence[str]], first: str, last: str) -> str:
    """Return a word about rows that are not in the order of a column of moments, "" where they are or none is there.

    ``first`` and ``last`` are the places of the first and the last row, for messages.

    Raises:
        InputError: the rows go backwards, so that each change would be found in the wrong direction.
    """
    for column, title in enumerate(header):
        name = title.strip().lower()
        moments = _moments(name, [fields[column] for fields in rows]) if name in _TIMES else []
        steps = [later - earlier for earlier, later in pairwise(moments) if later != earlier]
        if steps and max(steps) < 0:
            raise InputError(
                f"the rows go backwards in time: {title!r} falls from {rows[0][column].strip()!r} to "
                f"{rows[-1][column].strip()!r} ({last})",
                where=first,
                remedy="Name that column pos, which sorts the rows, or leave it out if their order is right.",
            )
        if steps and min(steps) < 0:
            return (
                f"the rows are taken in the order of the file, which is not that of their column {title!r}; "
                "name the column pos if it orders them"
            )
    return ""
