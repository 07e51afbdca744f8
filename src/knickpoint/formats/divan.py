"""Read the tree of benchmarks that Rust's divan prints."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import (
    LONGEST_LINE,
    has_line,
    missing_end,
    plain,
    rejoined,
    unread_result,
)
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "divan"
_HEADER: Final = re.compile(
    r"(?P<name>\S.*?)\s+fastest\s+│ slowest\s+│ median\s+│ mean\s+│ (?P<counts>samples │ iters|iters\s+│ samples)"
)
_ROW: Final = re.compile(
    r"(?P<indent>(?:│  |   )*)(?P<branch>[├╰])─ (?P<name>.*?)(?: {2,}(?P<cells>\S.*│.*|│.*|\(ignored\).*))?"
)
_BELOW: Final = re.compile(r"[│ ]* {2,}(?P<cells>\S.*│.*)")
_TAIL: Final = re.compile(r".*?(?P<cells>\S+ (?:[pnuµm]?s|m|h)\s+│.*│\s*\d+\s*│\s*\d+\s*)")
_TIME: Final = re.compile(r"(?P<value>\S*?) ?(?P<unit>[pnµμum]?s|m|h|d)?")
_THREADS: Final = re.compile(r"t=(?P<threads>\d+)")
_ALLOCATIONS: Final = re.compile(r"(?P<what>max alloc|alloc|dealloc|grow|shrink):")
_BYTES: Final = re.compile(r"(?P<value>\S*) (?P<unit>[KMGTP]?i?B)")
_UNITS: Final = {"m": "min", "d": "days"}
_COLUMNS: Final = ("fastest", "slowest", "median", "mean")
_STATISTICS: Final = {"median": "", "mean": "mean", "fastest": "min", "slowest": "max"}
_WIDTH: Final = len(_COLUMNS) + 2
_INDENT: Final = 3
"""Characters of the tree for each level."""


def fits(file: FileContent) -> bool:
    """Return True if a line is the header above a tree of benchmarks."""
    return has_line(file, "│ slowest", _HEADER)


@dataclass
class _Tree:
    """The place in the output: names above a row, the benchmark of the rows below it, and what allocations count."""

    rows: Rows
    suite: str = ""
    counts: tuple[str, ...] = ()
    path: list[str] = field(default_factory=list)
    leaf: dict[str, str] = field(default_factory=dict)
    allocations: str = ""
    open: bool = False

    def begin(self, header: re.Match[str]) -> None:
        """Take the header of a program."""
        self.suite, self.path, self.leaf, self.allocations = header["name"], [], {}, ""
        self.counts = tuple(name.strip() for name in header["counts"].split("│"))

    def row(self, found: re.Match[str], line: str, number: int) -> None:
        """Take the row of a module, a benchmark, an argument or a number of threads."""
        depth = len(found["indent"]) // _INDENT
        self.path = [*self.path[:depth], found["name"].strip()]
        self.open = found["branch"] == "├" if depth == 0 else self.open
        self.allocations, self.leaf = "", {}
        cells = [cell.strip() for cell in (found["cells"] or "").split("│")]
        if cells[0].startswith("(ignored)"):
            self.rows.skip(self._params())
        elif len(cells) != _WIDTH:
            self.leaf = self._params()
            unread_result(self.rows, {**self.leaf, "metric": "time"}, line, number)
        elif any(cells):
            self.leaf = self._params()
            self._add_times(dict(zip((*_COLUMNS, *self.counts), cells, strict=True)), number)

    def below(self, cells: list[str], number: int) -> None:
        """Take a row below a benchmark: what allocations are counted next, or how many there were, or their bytes."""
        found = _ALLOCATIONS.fullmatch(cells[0])
        if found is not None:
            self.allocations = found["what"]
        elif self.allocations and self.leaf and len(cells) >= len(_COLUMNS):
            median = cells[_COLUMNS.index("median")]
            size = _BYTES.fullmatch(median)
            what = self.allocations.replace(" ", "_")
            named = {**self.leaf, "metric": f"{what}_bytes" if size else f"{what}_count"}
            with self.rows.failing(named):
                value = _number(size["value"] if size else median, number)
                self.rows.add(named, (value,), size["unit"] if size else "", Better.LOWER)

    def _params(self) -> dict[str, str]:
        names = [name for name in self.path if not _THREADS.fullmatch(name)]
        threads = next((found["threads"] for name in self.path if (found := _THREADS.fullmatch(name))), "")
        return {"suite": self.suite, "benchmark": "/".join(names), "threads": threads}

    def _add_times(self, cells: dict[str, str], number: int) -> None:
        counts = {name: count for name in self.counts if (count := numeral(cells[name])) is not None}
        for column, stat in _STATISTICS.items():
            named = {**self.leaf, "metric": "time", **({"stat": stat} if stat else {})}
            found = _TIME.fullmatch(cells[column])
            unit = (found["unit"] if found else "") or ""
            with self.rows.failing(named):
                value = _number(found["value"] if found and unit else cells[column], number)
                if not unit:
                    raise NoNumberError(f"{cells[column]!r} has no unit", where=f"line {number}")
                self.rows.add(named, (value,), _UNITS.get(unit, unit), Better.LOWER, summary=None if stat else counts)


def read(file: FileContent) -> Parsed:
    """Read one run: the median time of each benchmark, other times with ``stat``, and its allocations.

    Throughput stays out: it is a constant over the time. What a benchmark printed between its name and its times is
    left out.
    """
    tree = _Tree(Rows())
    lines = ((number, plain(raw).rstrip()) for number, raw in enumerate(file.lines, 1))
    problems: list[Problem] = []
    last = 0
    for number, line in rejoined((each for each in lines if len(each[1]) <= LONGEST_LINE), _begun, _ended):
        if header := _HEADER.fullmatch(line):
            tree.begin(header)
        elif not tree.suite:
            continue
        elif row := _ROW.fullmatch(line):
            if number == file.open_line and len((row["cells"] or "").split("│")) != _WIDTH:
                raise file.cut_short()
            tree.row(row, line, number)
            last = number
        elif below := _BELOW.fullmatch(line):
            tree.below([cell.strip() for cell in below["cells"].split("│")], number)
        elif _ended(line):
            problems += unread_result(tree.rows, {}, line, number)
    if tree.open:
        problems.append(
            missing_end("the tree of benchmarks ends before its last branch (╰─); benchmarks may be missing", last)
        )
    return Report(_NAME, (RunReport(tree.rows.table()),)), tuple(problems)


def _begun(line: str) -> str | None:
    """Return the row of a benchmark up to its times where it has none, "" for another row, None for other lines."""
    if _HEADER.fullmatch(line):
        return ""
    row = _ROW.fullmatch(line)
    if row is None:
        return None
    return f"{row['indent']}{row['branch']}─ {row['name'].split('  ')[0]}  " if not row["cells"] else ""


def _ended(line: str) -> str:
    return tail["cells"] if (tail := _TAIL.fullmatch(line)) else ""


def _number(text: str, line: int) -> float:
    value = numeral(text)
    if value is None:
        raise NoNumberError(f"expected a number, got {text!r}", where=f"line {line}")
    return value
