"""Read the lines of Rust's built-in benchmarks, which Criterion.rs writes too with ``--output-format bencher``."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.terminal_output import LONGEST_LINE, plain
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit import Better

__all__ = ["fits", "read"]

_NAME: Final = "libtest"
_BENCH: Final = re.compile(r"^[.iFa]*test (?P<name>.+?)\s+\.\.\. bench:\s*(?P<rest>.*)$")
_RESULT: Final = re.compile(r"(?P<value>[\d,.]+)\s+(?P<unit>\S+/\S+)(?:\s+\(\+/- (?P<spread>[\d,.]+)\))?(?:\s+= .*)?")
_BEGUN: Final = re.compile(r"^[.iFa]*test\b")
_WHOLE: Final = re.compile(r"\(\+/- [\d,.]+\)|\.\.\. (?:ok|ignored|FAILED)\b")
"""What says that a last line without a line end is whole."""
_OTHER: Final = re.compile(r"^[.iFa]*test (?P<name>.+?)\s+\.\.\. (?P<what>ignored|FAILED)(?:, (?P<why>.*))?\s*$")


def fits(file: FileContent) -> bool:
    """Tell whether any line is a benchmark's."""
    text = file.prose
    return "bench:" in text and any(
        _BENCH.match(plain(line)) for line in text.splitlines() if "bench:" in line and len(line) <= LONGEST_LINE
    )


def read(file: FileContent) -> Parsed:
    """Read one run: the median time of each benchmark, with its spread (largest minus smallest) in the summary."""
    rows = Rows()
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw)
        if len(line) > LONGEST_LINE:
            continue
        if number == file.open_line and _BEGUN.match(line) and not _WHOLE.search(line):
            raise file.cut_short()
        found = _BENCH.match(line)
        if found:
            _add(rows, {"benchmark": found["name"]}, found["rest"].strip(), number)
            continue
        other = _OTHER.match(line)
        if other and other["what"] == "ignored":
            rows.skip({"benchmark": other["name"]}, other["why"] or "")
        elif other:
            rows.fail({"benchmark": other["name"]})
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _add(rows: Rows, params: dict[str, str], rest: str, number: int) -> None:
    with rows.failing(params):
        result = _RESULT.fullmatch(rest)
        if result is None:
            raise NoNumberError(f"{rest!r} is no result", where=f"line {number}")
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
        raise NoNumberError(f"{text!r} is no number", where=f"line {number}") from error
