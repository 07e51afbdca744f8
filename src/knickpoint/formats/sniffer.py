"""Find the format of a results file and read it; refuse to guess between two that fit."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

from knickpoint.formats.built_in import FORMATS
from knickpoint.formats.companion_files import companion_of
from knickpoint.formats.format import Format, Parsed
from knickpoint.formats.json_documents import among_lines, read_documents
from knickpoint.formats.registry import all_formats
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.parsing_memory import UNLIMITED, ReadingLimits, held_back
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, plain
from knickpoint.formats.toolbox.report_checks import (
    large_numbers,
    negative_times,
    several_spellings,
    without_placeholders,
)
from knickpoint.formats.toolbox.storable_text import keepable, keepable_text, may_need_tidying
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Severity

# Outputs that tools print for people, or tables of theirs that say less than what they also write: what to import
# instead.
#
# Knickpoint does not read them, because they are rounded, compare two sides, or leave out what was measured. Whoever
# has such a file gets the option of the tool that writes one that is read.


_LOOKED_AT: Final = 400
"""Lines from the start of a file."""
_KNOWN: Final = (
    (
        r"│.*\b(?:sec|B|allocs)/op\b|,(?:sec|B|allocs)/op,CI\b|name\s+old \S+\s+new \S+\s+delta",
        (
            "benchstat, which summarises and compares results. Import its input: the output of go test -bench, one file per "
            "commit"
        ),
    ),
    (
        r"Benchmark\s.*\bMode\s+Cnt\s+Score\s",
        "JMH, as it prints it. Write its JSON: -rf json -rff results.json",
    ),
    (
        r"(?:\|\s*)?Method\s*[|,;\t].*\bMean\s*[|,;\t].*\b(?:Error|StdDev)\b",
        "BenchmarkDotNet, as a table. Write its JSON: --exporters json",
    ),
    (
        r"Benchmark\s+Time\s+CPU\s+Iterations\b|\"?name\"?,\"?iterations\"?,\"?real_time\"?,\"?cpu_time\"?,",
        "Google Benchmark, as a table. Write its JSON: --benchmark_out=results.json --benchmark_out_format=json",
    ),
    (
        r"Name \(time in \S+\)\s+Min\s",
        "pytest-benchmark, as it prints it. Write its JSON: --benchmark-json=results.json",
    ),
    (
        r"\"?command\"?,\"?mean\"?,\"?stddev\"?,\"?median\"?,|Benchmark (?:#?\d+|\d+ \S+): |\| Command \| Mean \[",
        "hyperfine, as a table or as it prints it. Write its JSON: --export-json results.json",
    ),
    (
        r"(?:ok|FAIL|\?)\s+\t?\S+\s+(?:[\d.]+s|\(cached\)|\[no test files\])|goos: \S+$",
        "go test, without the result of a benchmark. Run it with -bench=. and look whether the benchmarks failed",
    ),
    (
        r"test result: \S+ \d+ passed; .* 0 measured;",
        "Rust's tests, of which none is a benchmark. Run cargo bench",
    ),
    (r"Performance counter stats for ", "perf stat, as it prints it. Write its JSON: perf stat -j -o results.json"),
    (r"fio-\d+\.\d+$", "fio, as it prints it. Write its JSON: --output-format=json --output=results.json"),
    (r"\[ *ID\] Interval +Transfer +(?:Bitrate|Bandwidth)", "iperf3, as it prints it. Write its JSON: iperf3 -J"),
    (
        r"\w+(?:\{.*\})?\.{2,}: avg=\S+ +min=",
        "k6, as it prints it. Write the summary as JSON: --summary-export=results.json",
    ),
    (
        r"name,(?:param:.*,)?min,max,mean,stddev,",
        "pytest-benchmark, as a table. Write its JSON: --benchmark-json=results.json",
    ),
    (
        r"\[OVERALL\], (?:RunTime|Throughput)\(",
        "YCSB. Write its lines as a table with the columns benchmark, metric, unit and value",
    ),
    (
        r"Requests\s+\[total, rate",
        "vegeta, as it prints it. Write its JSON: vegeta report -type=json",
    ),
    (
        r"#(?:group|datatype),|,result,table,",
        (
            "InfluxDB. Write a table with the columns commit, benchmark, value and unit: pivot its _field, and rename "
            "_value"
        ),
    ),
    (
        r"# (?:HELP|TYPE) [\w:]+ ",
        "Prometheus, which says what counts now. Write a table with the columns commit, benchmark, value and unit",
    ),
    (r"Success rate:\t", "oha, as it prints it. Write its JSON: --output-format json (-j in earlier versions)"),
    (r"benchmark +avg \(min … max\)", "mitata, as it prints it. Write its JSON: run({ format: 'json' })"),
    (r"(?:\S+: )?Mean \+- std dev: ", "pyperf, as it prints it. Write its JSON: -o results.json"),
    (
        r"Command being timed: |Elapsed \(wall clock\) time|real\s+\d+m[\d.,]+s$",
        "time, which measures once. Measure with hyperfine: --export-json results.json",
    ),
)
_PATTERNS: Final = tuple((re.compile(pattern), what) for pattern, what in _KNOWN)


def better_output(file: FileContent) -> str:
    """Return the likely kind of ``file`` and what to import instead, a sentence or two.

    "" if nothing of it is known.
    """
    lines = [plain(line[:LONGEST_LINE]).strip() for line in file.readable.splitlines()[:_LOOKED_AT]]
    # benchstat repeats lines of go test, so patterns take turns, not lines.
    found = next((what for pattern, what in _PATTERNS if any(map(pattern.match, lines))), "")
    return f"It looks like the output of {found}." if found else ""


_BESIDE: Final = {"locust": "Import PREFIX_stats.csv, which locust --csv writes beside it."}
"""What to import instead of files beside results, where there is more to say."""
_LARGE: Final = 1 << 17
"""Bytes from which on it pays to hold the garbage collector back."""


def find_format(name: str) -> Format:
    """Return the format called ``name``; case, spaces and underscores do not matter. Raises ``FormatError``."""
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    # The built-in formats first: the entry points of other packages take 20 ms to read.
    built_in = {known.name: known for known in FORMATS}
    found = built_in.get(plain) or next((known for known in all_formats() if known.name == plain), None)
    if found is None:
        names = ", ".join(known.name for known in all_formats())
        raise FormatError(f"no format is called {name!r}", remedy=f"Choose one of {names}.")
    return found


def sniff(data: bytes, *, name: str = "") -> tuple[Format, ...]:
    """Return every format that ``data`` look like: one where all is well, none or several where it is not."""
    return _fitting(FileContent(data, name))


def _fitting(file: FileContent) -> tuple[Format, ...]:
    return tuple(known for known in all_formats() if known.fits(file))


def read_report(
    data: bytes,
    *,
    name: str = "",
    format: str = "",  # noqa: A002 - the word of the command line
    companions: Mapping[str, bytes] | None = None,
    limits: ReadingLimits = UNLIMITED,
) -> Parsed:
    """Read the results file ``data``, with the warnings that came with it.

    Args:
        data: the whole file, plain or gzip.
        name: of the file, for messages.
        format: name of the format; "" to find it by looking.
        companions: files beside it that its format asks for (:attr:`Format.companions`), by their last name.
        limits: what reading it may take.

    Raises:
        FormatError: the file is empty, too large or was cut short, no format or more than one fits, or something in it
            is not as its format has it. Nothing of such a file is to be kept.
    """
    file = _checked_content(data, name, companions or {}, limits)
    with held_back() if len(data) > _LARGE else nullcontext():
        return _read(file, format)


def read_found(
    data: bytes, *, name: str = "", companions: Mapping[str, bytes] | None = None, limits: ReadingLimits = UNLIMITED
) -> Parsed | None:
    """Return the report in a file that was found in a folder, not named by a user.

    None where the file holds no results.

    Those are files that no format fits, and those that tools leave beside results (:func:`companion_of`). JSON
    that breaks off may have been results, and is refused.

    Raises:
        FormatError: as :func:`read_report`.
    """
    file = _checked_content(data, name, companions or {}, limits)
    with held_back() if len(data) > _LARGE else nullcontext():
        broken = file.data.lstrip()[:1] in (b"", b"{", b"[", b"\x1f") and file.fault is not None
        if file.several and not _fitting(file):
            try:
                parsed = read_documents(file, _fitting, None)
            except FormatError as error:
                raise _placed(error, name) from error
            return parsed and _checked(file, parsed)
        if not broken and (companion_of(file) or not (_fitting(file) or among_lines(file, _fitting)[1])):
            return None
        return _read(file, "")


def _checked_content(data: bytes, name: str, companions: Mapping[str, bytes], limits: ReadingLimits) -> FileContent:
    """Return the content of a file. Raises ``FormatError`` where reading it takes more memory than it may."""
    for neighbour, content in companions.items():
        FileContent(content, neighbour, limits=limits).check_memory()
    file = FileContent(data, name, companions, limits)
    file.check_memory()
    return file


def _read(file: FileContent, wanted: str) -> Parsed:
    name = file.name
    if not file.unpacked.strip():
        raise FormatError(
            "the file is empty",
            where=name,
            remedy="The benchmark run probably failed before it wrote results; look at its log, then run it again.",
        )
    try:
        parsed = _parsed(file, find_format(wanted) if wanted else None)
    except FormatError as error:
        raise _placed(error, name) from error
    return _checked(file, parsed)


def _parsed(file: FileContent, wanted: Format | None) -> Parsed:
    """Read the one document of ``file``, or all of several."""

    def fitting(part: FileContent) -> tuple[Format, ...]:
        return _fitting(part) if wanted is None else (wanted,) if wanted.fits(part) else ()

    whole = bool(fitting(file))
    inner, warnings = (file, ()) if whole else among_lines(file, fitting)
    if warnings:
        report, problems = _parsed(inner, wanted)
        return report, (*warnings, *problems)
    if file.several and not whole:
        parsed = read_documents(file, _fitting, wanted)
        if parsed is not None:
            return parsed
    chosen = wanted or _only(file)
    return chosen.read(file)


def _checked(file: FileContent, parsed: Parsed) -> Parsed:
    """Return ``parsed`` with texts that can be kept, places that name the file, and warnings of what cannot be."""
    name, (report, problems) = file.name, parsed
    if may_need_tidying(file):
        report = keepable(report)
    report = without_placeholders(report)
    if not any(len(run.results) for run in report.runs):
        problems = (
            *problems,
            Problem(
                f"the file holds no results ({find_format(report.format).title})",
                where=name,
                remedy="Check whether a filter excluded all benchmarks.",
                severity=Severity.WARNING,
            ),
        )
    problems = (
        *problems,
        *negative_times(report, name),
        *several_spellings(report, name),
        *large_numbers(report, name),
    )
    return report, tuple(_of_file(problem, name) for problem in problems)


def _of_file(problem: Problem, name: str) -> Problem:
    return dataclasses.replace(
        problem, message=keepable_text(problem.message), where=_at(name, keepable_text(problem.where))
    )


def _only(file: FileContent) -> Format:
    fitting = _fitting(file)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise FormatError(
            f"more than one format fits: {', '.join(known.name for known in fitting)}",
            where=file.name,
            remedy=f"Say which with --as, for example --as {fitting[0].name}.",
        )
    beside = companion_of(file)
    if beside:
        raise FormatError(
            f"the file holds no results: {beside} keeps it beside them",
            where=file.name,
            remedy=_BESIDE.get(beside, "Import the results; it is read along where it is of use."),
        )
    start = file.text.lstrip()[:1]
    if start in ("{", "[") and file.fault is not None and not file.several and not better_output(file):
        raise file.fault
    raise FormatError(f"no format fits this file{_inside(file)}", where=file.name, remedy=_remedy(file))


def _inside(file: FileContent) -> str:
    """Return the position of JSON among other lines, "" without any."""
    if file.document is not None or file.several:
        return ""
    if file.embedded:
        return f"; a JSON document begins on line {file.embedded[0].line}"
    return f"; the JSON that begins on line {file.json_line} is incomplete" if file.json_line else ""


def _remedy(file: FileContent) -> str:
    """Return the remedy for a file that no format fits: its likely kind, and what to import instead."""
    from knickpoint.formats.delimited import unread_table  # formats, which are loaded when they are needed
    from knickpoint.formats.json_rows import unread_rows

    return (
        better_output(file)
        or unread_table(file)
        or unread_rows(file)
        or "Say which it is with --as; knick import --list shows them all, "
        + (
            "and any other results can come as a table with a header such as name,time_ms."
            if file.document is None
            else "and the guide on formats explains how to map any other JSON."
        )
    )


def _at(name: str, where: str) -> str:
    if not name or where == name:
        return where or name
    return f"{name}, {where}" if where else name


def _placed(error: FormatError, name: str) -> FormatError:
    message, where, remedy = map(keepable_text, (error.message, error.where, error.remedy))
    return FormatError(message, where=_at(name, where), remedy=remedy)
