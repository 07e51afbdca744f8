"""Tell columns that number or date the rows of a table from series, and refuse rows that go backwards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from knickpoint.model.errors import InputError

COMMITS: Final = (
    "commit",
    "revision",
    "commit_hash",
    "git_commit",
    "git_hash",
    "hash",
    "sha",
    "commit_id",
    "commit_sha",
)
"""Columns that say which rows are of one commit where none gives positions; the first one counts."""
_BUILDS: Final = frozenset({"build", "build_id", "build_number", "run_id", "run_number", "pipeline", "pipeline_id"})
"""Columns with numbers of a CI, which rise from build to build."""

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

_ENOUGH: Final = 3
"""Different numbers from which on their order says something."""
_WHOLE: Final = re.compile(r"\d{1,12}")
"""A number; a hash without a letter is longer, or one of few."""
_DECIMAL: Final = re.compile(r"\d+\.(\d+)")


def _whole(texts: Sequence[str]) -> list[int]:
    """Return the whole numbers in ``texts``, none where one is something else."""
    plain = [text.strip() for text in texts]
    return list(map(int, plain)) if all(map(_WHOLE.fullmatch, plain)) else []


def _runs(numbers: Sequence[int]) -> int:
    """Return 1 for numbers that only rise, -1 for those that only fall, 0 for others and few.

    Neighbours may be equal.
    """
    steps = {later > earlier for earlier, later in pairwise(numbers) if later != earlier}
    if len(steps) != 1 or len(set(numbers)) < _ENOUGH:
        return 0
    return 1 if steps == {True} else -1


def _is_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return bool(text.strip())
    return False


def column_of_commits(header: Sequence[str], rows: Sequence[Sequence[str]], *, wide: bool) -> int | None:
    """Return the column that names the commits of rows, None for none.

    In a ``wide`` table, where each column may be a series, it has to have text such as a hash, or whole numbers that
    only rise or only fall: ``commit`` may be what a data base takes for one.
    """
    column = next((header.index(name) for name in COMMITS if name in header), None)
    if column is None or not wide:
        return column
    texts = [fields[column] for fields in rows]
    return column if any(map(_is_text, texts)) or _runs(_whole(texts)) else None


def numbers_rows(title: str, texts: Sequence[str]) -> bool:
    """Return True if a column only numbers the rows: each number is the next one, or it is a rising build number."""
    numbers = _whole(texts)
    if len(set(numbers)) < _ENOUGH:
        return False
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    return steps in ({1}, {-1}) or (title.strip().lower() in _BUILDS and _runs(numbers) != 0)


def check_numbers(
    header: Sequence[str], rows: Sequence[Sequence[str]], first: str, last: str, *, wide: bool = False
) -> None:
    """Refuse rows whose commits or builds are numbered backwards, where no column orders them.

    In a ``wide`` table, a column that counts down to the last row is refused as well. ``first`` and ``last`` are the
    places of the first and the last row, for messages.

    Raises:
        InputError: the rows go backwards, so that each change would be found in the wrong direction.
    """
    for column, title in enumerate(header):
        texts = [fields[column] for fields in rows]
        named = title.strip().lower() in _BUILDS.union(COMMITS)
        if (named or (wide and numbers_rows(title, texts))) and _runs(_whole(texts)) < 0:
            raise InputError(
                f"the rows go backwards: {title!r} falls from {texts[0].strip()} to {texts[-1].strip()} ({last})",
                where=first,
                remedy="Name that column pos, which sorts the rows, or leave it out if their order is right.",
            )


def are_versions(positions: Sequence[str]) -> bool:
    """Return True if positions such as 1.9 and 1.10 are versions: as decimals, 1.10 would be 1.1, and come before 1.9.

    Decimals either have as many digits as all others, or end with no zero that says nothing.
    """
    decimals = [found[1] for found in (_DECIMAL.fullmatch(text.strip()) for text in positions) if found]
    return len(set(map(len, decimals))) > 1 and any(len(digits) > 1 and digits[-1] == "0" for digits in decimals)


def is_moment(title: str) -> bool:
    """Return True if a column with this title says when, and is not a series."""
    return title.strip().lower() in _MOMENTS


def seconds(text: str) -> float:
    """Return the seconds since 1970 of a date or time in ISO 8601; without an offset it is UTC.

    Raises ``ValueError``.
    """
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
