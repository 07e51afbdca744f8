"""Find the format of a results file, read it, and check the report; refuse to guess between two that fit.

A format is known by its record; the module that reads it is imported when it is first used. The entry points of other
packages are read when a file's format has to be found, when all formats are listed, or when ``--as`` names one that is
not built in.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from itertools import islice
from typing import Final

import numpy as np

from knickpoint.formats.built_in import FORMATS
from knickpoint.formats.format import Format, Parsed, companion_of
from knickpoint.formats.json_documents import among_lines, read_documents
from knickpoint.formats.toolbox.file_content import UNLIMITED, FileContent, ReadingLimits, held_back
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, plain
from knickpoint.formats.toolbox.storable_text import keepable, keepable_text, may_need_tidying
from knickpoint.model.commit import commit_name, is_placeholder
from knickpoint.model.errors import FormatError
from knickpoint.model.params import decode_key
from knickpoint.model.report import Outcome, Problem, Report, ResultTable, Severity
from knickpoint.model.unit import read_unit
from knickpoint.plugins import Plugin, find_plugins

ENTRY_POINTS: Final = "knickpoint.formats"
"""The group of entry points under which other packages register formats."""


def _load(plugin: Plugin) -> Format:
    known = plugin.load()
    if not isinstance(known, Format):
        raise plugin.error(f"{plugin.entry_point.value} is {type(known).__name__}, not knickpoint.formats.Format")
    if known.name.replace("-", "_") != plugin.name:
        raise plugin.error(f"{plugin.entry_point.value} is the format {known.name!r}, not {plugin.name!r}")
    return known


@cache
def all_formats() -> tuple[Format, ...]:
    """Return the built-in formats, then those of other packages, by name.

    Raises:
        PluginError: a package registers something else than a format, or a name that is taken.
    """
    plugins = find_plugins(ENTRY_POINTS, {known.name.replace("-", "_") for known in FORMATS})
    return *FORMATS, *(_load(plugins[name]) for name in sorted(plugins))


# Remove from a report what a tool wrote in place of a commit that it did not know.


def without_placeholders(report: Report) -> Report:
    """Return ``report`` with revisions that name a commit, or are empty, and with commits that have a name."""
    if not any(is_placeholder(run.revision) for run in report.runs) and not any(
        is_placeholder(commit.hash) for commit in report.commits
    ):
        return report
    return dataclasses.replace(
        report,
        runs=tuple(dataclasses.replace(run, revision=commit_name(run.revision)) for run in report.runs),
        commits=tuple(commit for commit in report.commits if not is_placeholder(commit.hash)),
    )


# Name results that are probably not meant so: durations below zero, and names with several units or spellings.


_MARGINS: Final = frozenset({"frameOverrunMs"})
"""Metrics that say by how much a deadline was missed, and are below zero where it was met."""

_MEASURED: Final = list(Outcome).index(Outcome.MEASURED)


def negative_times(report: Report, name: str) -> tuple[Problem, ...]:
    """Return a warning where results of ``report``, which stand in the file ``name``, are durations below zero."""
    found = [text for run in report.runs for text in _of_run(run.results)]
    if not found:
        return ()
    warning = Problem(
        f"{len(found)} {'result is a duration' if len(found) == 1 else 'results are durations'} below zero "
        f"({', '.join(islice(found, 3))}{', …' if len(found) > 3 else ''})",
        where=name,
        remedy="Check the clock of the machine, and what is subtracted from the times.",
        severity=Severity.WARNING,
    )
    return (warning,)


def _of_run(results: ResultTable) -> list[str]:
    """Return the durations below zero of one run: the benchmark with its lowest sample."""
    if not results.samples.size or not (results.samples < 0).any():
        return []
    times = np.array([read_unit(unit).dimension == "time" for unit in results.units], dtype=bool)
    sizes = np.diff(results.offsets)
    owners = np.repeat(np.arange(sizes.size), sizes)
    below = np.unique(owners[results.samples < 0])
    texts = []
    for index in below[times[results.unit_codes[below]]].tolist():
        lowest = results.samples[results.offsets[index] : results.offsets[index + 1]].min()
        if decode_key(results.keys[index]).get("metric") in _MARGINS:
            continue
        texts.append(f"{_benchmark(results.keys[index])}: {lowest:g} {results.units[results.unit_codes[index]]}")
    return texts


def several_spellings(report: Report, name: str) -> tuple[Problem, ...]:
    """Return a warning where traces of ``report`` have units that do not convert, or differ in letter case only."""
    units: dict[str, dict[str, str]] = {}
    for run in report.runs:
        results = run.results
        for key, code, outcome in zip(
            results.keys, results.unit_codes.tolist(), results.outcome_codes.tolist(), strict=True
        ):
            if outcome == _MEASURED:
                unit = results.units[code]
                units.setdefault(key, {}).setdefault(read_unit(unit).dimension, unit)
    spelled: dict[str, list[str]] = {}
    for key in units:
        spelled.setdefault(key.casefold(), []).append(key)
    found = [
        f"{_benchmark(key)}: {' and '.join(unit or 'no unit' for unit in several.values())}"
        for key, several in units.items()
        if len(several) > 1
    ]
    found += [" and ".join(key.strip(",") for key in keys) for keys in spelled.values() if len(keys) > 1]
    if not found:
        return ()
    warning = Problem(
        f"{len(found)} {'name has' if len(found) == 1 else 'names have'} several units or spellings"
        f" ({'; '.join(found[:3])}{'; …' if len(found) > 3 else ''}), which make a trace each",
        where=name,
        remedy="Write one of them if they are the same benchmark.",
        severity=Severity.WARNING,
    )
    return (warning,)


def _benchmark(key: str) -> str:
    return decode_key(key).get("benchmark") or key


# Name results that are too large for each whole number to be kept: from 2^53 on, 64-bit floats have every second one.


_EXACT: Final = 2.0**53
_COUNTER: Final = 2.0**64
"""No counter of a machine reaches it, so larger numbers were fractions before they were written."""


def large_numbers(report: Report, name: str) -> tuple[Problem, ...]:
    """Return a warning where results of ``report``, which stand in the file ``name``, may be counters rounded."""
    found, example = 0, ""
    for run in report.runs:
        sizes = np.abs(run.results.samples)
        if not sizes.size or not (sizes.max() >= _EXACT):
            continue
        samples = np.flatnonzero((sizes >= _EXACT) & (sizes < _COUNTER))
        owners = np.unique(np.searchsorted(run.results.offsets, samples, side="right") - 1).tolist()
        found += len(owners)
        if owners and not example:
            key = run.results.keys[owners[0]]
            example = decode_key(key).get("benchmark") or key
    if not found:
        return ()
    warning = Problem(
        f"{found:,} {'result is' if found == 1 else 'results are'} 2^53 or more "
        f"({example}{', …' if found > 1 else ''}), where whole numbers are rounded to 16 digits",
        where=name,
        remedy="If the last digits count, measure less at once, or subtract what is always there.",
        severity=Severity.WARNING,
    )
    return (warning,)


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
