"""Read the lines of Rust's built-in benchmarks, which Criterion.rs writes too with ``--output-format bencher``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, missing_end, plain, rejoined
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit_names import Better

_NAME: Final = "libtest"
_BENCH: Final = re.compile(r"^[.iFa]*test (?P<name>.+?)\s+\.\.\. bench:\s*(?P<rest>.*)$")
_OPEN: Final = re.compile(r"^[.iFa]*test (?P<name>.+?)\s+\.\.\. (?!(?:bench:|ok\b|ignored\b|FAILED\b))")
_TAIL: Final = re.compile(r"^.*?(?P<rest>bench:\s+\S+ \S+/iter\b.*)$")
"""What ends the result of a benchmark that printed lines of its own behind its name."""
_RESULT: Final = re.compile(r"(?P<value>[\d,.]+)\s+(?P<unit>\S+/\S+)(?:\s+\(\+/- (?P<spread>[\d,.]+)\))?(?:\s+= .*)?")
_BEGUN: Final = re.compile(r"^[.iFa]*test\b")
_WHOLE: Final = re.compile(r"\(\+/- [\d,.]+\)|\.\.\. (?:ok|ignored|FAILED)\b")
"""What says that a last line without a line end is whole."""
_OTHER: Final = re.compile(r"^[.iFa]*test (?P<name>.+?)\s+\.\.\. (?P<what>ignored|FAILED)(?:, (?P<why>.*))?\s*$")

_RUNNING: Final = re.compile(r"running (?P<count>\d+) tests?")
_TOTALS: Final = re.compile(r"test result: .*?(?P<measured>\d+) measured;.*")
_DONE: Final = re.compile(r"[.iFa]*test .+\.\.\. (?:bench:|ok\b|ignored\b|FAILED\b)")
_DOTS: Final = re.compile(r"(?P<tests>[.iFa]+)(?: +\d+/\d+)?")


@dataclass
class _Promise:
    """What one program of tests says about itself: how many tests it runs, and at its end how many it measured."""

    count: int = 0
    line: int = 0
    done: int = 0
    measured: int = 0
    warnings: list[Problem] = field(default_factory=list)

    def take(self, line: str, number: int) -> None:
        """Count line ``number`` among the tests of the program that runs."""
        if running := _RUNNING.fullmatch(line):
            if self.done < self.count:
                self.warnings.append(missing_end(f"{self._missing()}; then the next program begins", number))
            self.count, self.line, self.done, self.measured = int(running["count"]), number, 0, 0
        elif totals := _TOTALS.fullmatch(line):
            lost = int(totals["measured"]) - self.measured
            if self.line and lost > 0:
                self.warnings.append(
                    replace(
                        missing_end(
                            f"{totals['measured']} benchmarks were measured, and {lost} of them have no line with a "
                            "result",
                            number,
                            remedy="Let benchmarks print nothing, so that each result has a line of its own.",
                        ),
                        severity=Severity.LOSS,
                    )
                )
            self.count = self.line = 0
        elif _DONE.match(line):
            self.done += 1
            self.measured += "... bench:" in line
        elif dots := _DOTS.fullmatch(line):
            self.done += len(dots["tests"])

    def check_end(self, file: FileContent) -> None:
        """Raise ``FormatError`` where the file ends before the last program had run all its tests."""
        if self.done < self.count:
            raise FormatError(
                f"{self._missing()}, and no line 'test result:'",
                where=file.name,
                remedy="The file is truncated, or the benchmarks were aborted; run them again.",
            )

    def _missing(self) -> str:
        return f"line {self.line} says 'running {self.count} tests', and {self.done} of them follow"


def fits(file: FileContent) -> bool:
    """Return True if any line is a benchmark's."""
    text = file.prose
    return "bench:" in text and any(
        _BENCH.match(plain(line)) for line in text.splitlines() if "bench:" in line and len(line) <= LONGEST_LINE
    )


def read(file: FileContent) -> Parsed:
    """Read one run: the median time of each benchmark, with its spread (largest minus smallest) in the summary."""
    rows, promise = Rows(), _Promise()
    lines = ((number, plain(raw)) for number, raw in enumerate(file.lines, 1))
    for number, line in rejoined((line for line in lines if len(line[1]) <= LONGEST_LINE), _begun, _ended):
        if number == file.open_line and _BEGUN.match(line) and not _WHOLE.search(line):
            raise file.cut_short()
        promise.take(line.rstrip(), number)
        found = _BENCH.match(line)
        if found:
            _add(rows, {"benchmark": found["name"]}, found["rest"].strip(), number)
            continue
        other = _OTHER.match(line)
        if other and other["what"] == "ignored":
            rows.skip({"benchmark": other["name"]}, other["why"] or "")
        elif other:
            rows.fail({"benchmark": other["name"]})
    promise.check_end(file)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(promise.warnings)


def _begun(line: str) -> str | None:
    """Return the benchmark whose result may follow its output, "" where another begins, None for other lines."""
    if opened := _OPEN.match(line):
        return f"test {opened['name']} ... "
    return "" if _BEGUN.match(line) else None


def _ended(line: str) -> str:
    return tail["rest"] if (tail := _TAIL.match(line)) else ""


def _add(rows: Rows, params: dict[str, str], rest: str, number: int) -> None:
    with rows.failing(params):
        result = _RESULT.fullmatch(rest)
        if result is None:
            raise NoNumberError(f"{rest!r} is not a result", where=f"line {number}")
        value = _grouped(result["value"], number)
        spread = {"spread": _grouped(result["spread"], number)} if result["spread"] else {}
        rows.add(
            params,
            (value,),
            result["unit"],
            Better.LOWER if "/iter" in result["unit"] else Better.UNKNOWN,
            summary=spread,
        )


def _grouped(text: str, number: int) -> float:
    """Return the number that ``text`` writes with commas between thousands."""
    try:
        return float(text.replace(",", ""))
    except ValueError as error:
        raise NoNumberError(f"{text!r} is not a number", where=f"line {number}") from error
