"""Numbers and points in time as files write them, and the error for what stands in a number's place and is none."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import Final, NamedTuple

from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Severity

_NUMERAL: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
NUMBER_AND_UNIT: Final = re.compile(
    r"[+-]?\d[\d.,]*\s?(?:[numµμ]?s|min|h|[kKMGT]?i?[bB]|%|[A-Za-zµμ%]+/[A-Za-z]+)", re.ASCII
)
"""How people write a number with its unit in one cell: ``1.2ms``, ``95 %``."""
_LONGEST_SHOWN: Final = 60


class NoNumberError(FormatError):
    """What stands where the number of one result belongs is a scalar, and no finite number.

    The document around it is sound, so only that result is without a value: :meth:`Rows.failing` makes a failure of
    it. Lists and objects in such a place mean that the file is not what it looks like, and are a plain
    :class:`FormatError`.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "", of: str = "") -> None:
        """Say ``message`` about the place ``where`` and the benchmark ``of``."""
        super().__init__(f"{message} (benchmark {of!r})" if of else message, where=where, remedy=remedy)
        self.reason = f"{message} at {where}" if where else message
        """The message of the failure: what stood there, and where."""


def numeral(text: str, *, decimal_comma: bool = False) -> float | None:
    """Return the number that ``text`` writes, None where it writes none; thousands separators are none."""
    plain = text.strip()
    if decimal_comma and plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    return float(plain) if _NUMERAL.fullmatch(plain) else None


def to_float(value: object) -> float:
    """Return the number that ``value`` is; infinity where it is too large for one, NaN where it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def shown(value: object) -> str:
    """Return ``value`` as messages show it: short, and as the file writes it."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


# The notation of the numbers in a table: one rule that every number supports, or a refusal.
#
# A number that is not read would be a failure, and the failures would be the large numbers, or the slow ones:
# ``"1,250"`` beside ``987``. So a table is read whole, by what its own numbers prove, or it is refused.


Number = Callable[[str], float | None]
"""Return the number that a text writes, None where it writes none."""
_MINUS: Final = "\u2212"
_PARTED: Final = re.compile(r"(?<=\d)[\u00a0\u2009\u202f '’_](?=\d{3}(?!\d))", re.ASCII)
"""What parts thousands and nothing else."""
_WITH_PARTS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(?:[\u00a0\u2009\u202f '’_]\d{3})+(?:[.,]\d+)?", re.ASCII)
_NO_NUMBER: Final = re.compile(r"[^\w]*\d")
"""The start of what looks like a number, in whichever notation."""
_KINDS: Final = re.compile(
    r"(?P<small>[+-]?\d{1,3})"
    r"|(?P<large>[+-]?(?:\d{4,}|\d+[eE][+-]?\d+))"
    r"|(?P<point_in_threes>[+-]?[1-9]\d{0,2}\.\d{3})"
    r"|(?P<comma_in_threes>[+-]?[1-9]\d{0,2},\d{3})"
    r"|(?P<parting_commas>[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}|(?:,\d{3})+\.\d+))"
    r"|(?P<parting_points>[+-]?[1-9]\d{0,2}(?:(?:\.\d{3}){2,}|(?:\.\d{3})+,\d+))"
    r"|(?P<point>[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<comma>[+-]?\d*,\d+(?:[eE][+-]?\d+)?)",
    re.ASCII,
)
_FIX: Final = "Write all numbers with a point before decimals, and without thousands separators."


class Habit(Enum):
    """What writes tables of a kind: a decimal point, a decimal comma (spreadsheets with ``;``), or either."""

    POINT = "point"
    COMMA = "comma"
    EITHER = "either"


class NumberCell(NamedTuple):
    """A text where a number belongs, its column, and the place of its row."""

    text: str
    column: str
    where: str


@dataclass
class _Seen:
    """The first number of each kind, in the table and in each column, and how many numbers a column has."""

    first: dict[str, NumberCell] = field(default_factory=dict)
    columns: dict[str, dict[str, NumberCell]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, cell: NumberCell) -> None:
        self.first.setdefault(kind, cell)
        self.columns.setdefault(cell.column, {}).setdefault(kind, cell)
        self.counts[cell.column] = self.counts.get(cell.column, 0) + 1


def number_reader(cells: Sequence[NumberCell], habit: Habit) -> tuple[Number, tuple[Problem, ...]]:
    """Return the function that reads the numbers of a table in their notation, and warnings about it.

    Signs prove their meaning where they come twice, come together, or do not stand before three digits. One that may
    part thousands or begin decimals is read only where the others decide it.

    Raises:
        FormatError: a number is in a notation that is not read, two contradict each other, or one may be either of two.
    """
    if habit is Habit.POINT and all(numeral(cell.text) is not None for cell in cells):
        return numeral, ()
    seen = _Seen()
    for cell in cells:
        found = _KINDS.fullmatch(_tidy(cell.text))
        if found is not None:
            seen.add(str(found.lastgroup), cell)
        elif _NO_NUMBER.match(cell.text):
            raise _not_read(cell)
    if not seen.first.keys() - {"small", "large", "point"}:
        return _read, ()
    if "parting_points" in seen.first:
        _check_against(seen, "parting_points", ("parting_commas", "point"))
        return partial(_read, thousands="."), ()
    if "parting_commas" in seen.first:
        _check_against(seen, "parting_commas", ("comma",))
        return partial(_read, thousands=","), ()
    if _commas_part(seen, habit):
        return partial(_read, thousands=","), ()
    return _read, _check_points(seen, habit)


def _read(text: str, *, thousands: str = "") -> float | None:
    """Return the number in ``text``, where the sign ``thousands`` parts thousands and the other one begins decimals."""
    plain = _tidy(text)
    found = _KINDS.fullmatch(plain)
    if found is None:
        return None
    if thousands and found.lastgroup not in {"point", "comma"}:
        plain = plain.replace(thousands, "")
    return numeral(plain, decimal_comma=True)


def _tidy(text: str) -> str:
    """Return ``text`` with a minus of ASCII, without signs that can only part thousands."""
    plain = text.strip()
    if plain.isascii() and plain.isalnum():
        return plain
    plain = plain.replace(_MINUS, "-")
    return _PARTED.sub("", plain) if _WITH_PARTS.fullmatch(plain) else plain


def _not_read(cell: NumberCell) -> FormatError:
    with_unit = NUMBER_AND_UNIT.fullmatch(cell.text.strip())
    return FormatError(
        f"{cell.text.strip()!r} in column {cell.column!r} is a number "
        f"{'with its unit' if with_unit else 'in a notation that is not read'}",
        where=cell.where,
        remedy="Write plain numbers of one unit, and the unit in a column unit or in the header."
        if with_unit
        else f"{_FIX} Leave the cell empty where there is none.",
    )


def _check_against(seen: _Seen, proof: str, others: tuple[str, ...]) -> None:
    """Refuse the table where a number contradicts the one that proves what its signs mean."""
    other = next((seen.first[kind] for kind in others if kind in seen.first), None)
    if other is not None:
        known = seen.first[proof]
        raise FormatError(
            f"{other.text.strip()!r} in column {other.column!r} contradicts {known.text.strip()!r} at {known.where}:"
            " their points and commas mean different things",
            where=other.where,
            remedy=_FIX,
        )


def _commas_part(seen: _Seen, habit: Habit) -> bool:
    """Return True if commas before three digits part thousands; else they begin decimals.

    Raises ``FormatError`` for unclear ones.
    """
    doubtful = seen.first.get("comma_in_threes")
    if doubtful is None:
        return False
    signs = seen.first.keys() & {"comma", "point", "point_in_threes"}
    if signs == {"comma"} or (not signs and habit is Habit.COMMA):
        return False
    beside = [kinds for kinds in seen.columns.values() if "comma_in_threes" in kinds]
    smaller = any(kinds.keys() & {"small", "point"} for kinds in beside) and not any(
        "large" in kinds for kinds in beside
    )
    if habit is Habit.POINT and smaller and "comma" not in signs:
        return True
    raise _either(doubtful, ",", "the other numbers do not decide it")


def _check_points(seen: _Seen, habit: Habit) -> tuple[Problem, ...]:
    """Refuse a point before three digits that may part thousands; warn where it is the only number of its column.

    It may where others have a decimal comma, or where spreadsheets write one, and the others are whole numbers below a
    thousand: 950 and 1.020 are what a spreadsheet of many countries makes of 950 and 1020.
    """
    comma = seen.first.get("comma") or seen.first.get("comma_in_threes")
    warnings = []
    for name, kinds in seen.columns.items():
        doubtful = kinds.get("point_in_threes")
        if doubtful is None:
            continue
        if comma is not None:
            there = kinds.keys() & {"comma", "comma_in_threes"}
            where = "others there" if there else f"those in column {comma.column!r}"
            raise _either(doubtful, ".", f"{where} have a decimal comma")
        if habit is Habit.POINT:
            continue
        if kinds.keys() == {"point_in_threes", "small"}:
            raise _either(doubtful, ".", "others there are whole numbers below 1000")
        if seen.counts[name] == 1:
            warnings.append(_alone(doubtful))
    return tuple(warnings)


def _either(cell: NumberCell, sign: str, why: str) -> FormatError:
    text = cell.text.strip()
    return FormatError(
        f"{text!r} in column {cell.column!r} may be {text.replace(sign, '')} or {text.replace(sign, '.')}: {why}",
        where=cell.where,
        remedy=_FIX,
    )


def _alone(cell: NumberCell) -> Problem:
    text = cell.text.strip()
    return Problem(
        f"{text!r} in column {cell.column!r} is read as a number with decimals, not as {text.replace('.', '')}",
        where=cell.where,
        remedy="If the point separates thousands, write the number without it.",
        severity=Severity.WARNING,
    )


_LATEST: Final = 253402300799.0
"""The last second of the year 9999; what is larger counts milli-, micro- or nanoseconds."""
_LONGEST: Final = 100
_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
_OFFSET: Final = re.compile(r"\s+([+-]\d\d:?\d\d)$")
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]*)?")
_COMPACT: Final = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?")
"""A date and time without anything between.

As microseconds or milliseconds since 1970 it would be one of the seventies.
"""
_PATTERNS: Final = ("%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y %z", "%Y/%m/%d %H:%M:%S")


def read_moment(value: str | float | None) -> datetime | None:
    """Return the aware time, in UTC, in ``value``, or None where there is none.

    Numbers count seconds since 1970, or milli-, micro- or nanoseconds where they are too large for that (beyond the
    year 2286 in seconds), unless they write a date and a time: 20260403101112. A time without zone is taken as UTC.
    """
    compact = _COMPACT.fullmatch(
        value.strip() if isinstance(value, str) else f"{value:.0f}" if _is_whole(value) else ""
    )
    if compact is not None:
        return _of_calendar([int(part or 0) for part in compact.groups()])
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST:
            return None
        if _NUMBER.fullmatch(text) and len(text.partition(".")[0]) >= 9:
            return read_moment(float(text))
        return _read_text(text)
    if value is None or not 0 < value < _LATEST * 1e9:
        return None
    seconds = float(value)
    while seconds >= 1e10:
        seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC)


def _of_calendar(parts: Sequence[int]) -> datetime | None:
    """Return the time of year, month, day, hour, minute and second, None where the calendar has no such day."""
    year, month, day, hour, minute, second = parts
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _is_whole(value: float | None) -> bool:
    return value is not None and 0 < value < _LATEST * 1e9 and value == int(value)


def _read_text(text: str) -> datetime | None:
    plain = _OFFSET.sub(r"\1", _FRACTION.sub(r"\1", text.removesuffix(" UTC").removesuffix(" GMT")))
    try:
        return in_utc(datetime.fromisoformat(plain))
    except ValueError:
        pass
    for pattern in _PATTERNS:
        try:
            return in_utc(datetime.strptime(text, pattern))  # noqa: DTZ007 - made aware at once
        except ValueError:
            continue
    return None


def in_utc(moment: datetime) -> datetime | None:
    """Return ``moment`` in UTC, one without zone taken as UTC; None where it falls out of the calendar there."""
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        return None
