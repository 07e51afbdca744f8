"""Reports that tools print for people: several may stand in one text, each begun by a line of a known form.

The rule for every text: a line with the mark of a result (``ops/sec``, ``ns/op``, a label) is one, whatever stands in
place of its number. What cannot be read as a number is a failed result with its name (:meth:`Rows.failing`,
:func:`unread_result`). Patterns of lines therefore take any text in place of a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Severity

# Remove from captured output what is meant for a terminal only.


LONGEST_LINE: Final = 5000
"""Characters of a line for people; what is longer is noise, and would keep a pattern busy for long."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]|[\x00\x08]")


def plain(line: str) -> str:
    """Return ``line`` without colours, NULs, and what a carriage return had overwritten."""
    return _ESCAPES.sub("", line).rpartition("\r")[2]


_LONGEST_SHOWN: Final = 80
"""Characters of a line in a message."""
_CUT: Final = "The file is truncated, or the run was stopped; run the benchmark again."


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a pattern matches: its number, counted from 1, and the match."""

    line: int
    match: re.Match[str]

    def __getitem__(self, group: str) -> str:
        """Return the match of the group, "" if it took no part."""
        return self.match[group] or ""

    def number(self, group: str = "value") -> float:
        """Return the number in ``group``. Raises ``NoNumberError`` where there is none."""
        value = numeral(self[group])
        if value is None:
            raise NoNumberError(f"expected a number, got {self[group]!r}", where=f"line {self.line}")
        return value

    def count(self, group: str = "value") -> int:
        """Return the whole number in ``group``, 0 where it is empty or none."""
        return int(text) if (text := self[group]).isdecimal() and len(text) < 20 else 0


@dataclass(frozen=True, slots=True)
class PrintedReport:
    """The lines of one report, with their numbers."""

    lines: tuple[tuple[int, str], ...]

    @property
    def place(self) -> str:
        """The line that it begins with, for messages."""
        return f"line {self.lines[0][0]}"

    def every(self, pattern: re.Pattern[str]) -> Iterator[Hit]:
        """Iterate over the lines that ``pattern`` matches as a whole."""
        for number, line in self.lines:
            found = pattern.fullmatch(line)
            if found:
                yield Hit(number, found)

    def find(self, pattern: re.Pattern[str]) -> Hit | None:
        """Return the first line that ``pattern`` matches as a whole."""
        return next(self.every(pattern), None)

    def text(self, pattern: re.Pattern[str], group: str) -> str:
        """Return the match of ``group`` in the first such line, "" without one."""
        found = self.find(pattern)
        return found[group].strip() if found else ""

    def need(self, pattern: re.Pattern[str], what: str) -> Hit:
        """Return the first such line. Raises ``FormatError`` where the report ends before ``what``."""
        found = self.find(pattern)
        if found is None:
            raise self.cut(what)
        return found

    def cut(self, what: str) -> FormatError:
        """Return the error that the report ends before ``what``."""
        return FormatError(f"the report ends before {what}", where=f"{self.place} and after", remedy=_CUT)

    def parts(self, begin: re.Pattern[str]) -> Iterator[PrintedReport]:
        """Iterate over the parts of the report, each begun by a line that ``begin`` matches."""
        starts = [index for index, (_, line) in enumerate(self.lines) if begin.fullmatch(line)]
        for start, end in pairwise([*starts, len(self.lines)]):
            yield PrintedReport(self.lines[start:end])


def printed_reports(file: FileContent, begin: re.Pattern[str]) -> Iterator[PrintedReport]:
    """Iterate over the reports of ``file``, without colours; what stands before the first is left out."""
    lines = ((number, plain(line)) for number, line in enumerate(file.lines, 1))
    whole = PrintedReport(tuple((number, line.rstrip()) for number, line in lines if len(line) <= LONGEST_LINE))
    return whole.parts(begin)


def unread_result(rows: Rows, params: Mapping[str, str], line: str, number: int) -> tuple[Problem, ...]:
    """Account for a line that has the mark of a result, and no number that can be read.

    It becomes the failed result of ``params``. Where those name no benchmark, the returned warning says which line is
    lost.
    """
    text = f"{line.strip()[:_LONGEST_SHOWN]!r} has no number that can be read"
    if params.get("benchmark"):
        rows.fail(params, f"{text} at line {number}")
        return ()
    return (
        Problem(
            f"{line.strip()[:_LONGEST_SHOWN]!r} looks like a result, and has no name that can be read",
            where=f"line {number}",
            remedy="Let the benchmark print nothing, or give the tool's output as it is.",
            severity=Severity.LOSS,
        ),
    )


def rejoined(
    lines: Iterable[tuple[int, str]], begun: Callable[[str], str | None], ended: Callable[[str], str]
) -> Iterator[tuple[int, str]]:
    """Join results that the output of their own benchmarks parted.

    Yield other lines as they are, and that output not at all.

    ``begun`` returns the beginning of a result in a line that lacks its end, "" where a line ends the wait for that
    end, and None where it does neither. ``ended`` returns the end of a result in a line, "" for none. Where none comes,
    all lines are yielded.
    """
    beginning = ""
    held: list[tuple[int, str]] = []
    for number, line in lines:
        found = begun(line)
        if found is not None:
            yield from held
            beginning, held = found, []
        end = ended(line) if beginning else ""
        if end:
            yield number, f"{beginning}{end}"
            beginning, held = "", []
        elif beginning:
            held.append((number, line))
        else:
            yield number, line
    yield from held


def has_line(file: FileContent, mark: str, pattern: re.Pattern[str]) -> bool:
    """Return True if a line of ``file`` that holds ``mark`` is as ``pattern`` says; ``mark`` makes the search quick."""
    text = file.prose
    return mark in text and any(
        pattern.fullmatch(plain(line.rstrip()))
        for line in text.split("\n")
        if mark in line and len(line) <= LONGEST_LINE
    )


# Words about output that has no end where its tool always writes one: benchmarks may be missing behind it.


def missing_end(what: str, line: int, *, remedy: str = "") -> Problem:
    """Return the warning that ``what`` is missing after ``line``: what was read is right, and may not be all."""
    return Problem(
        what,
        where=f"line {line}",
        remedy=remedy or "Check whether the benchmarks finished and the file is complete, then import it again.",
        severity=Severity.WARNING,
    )
