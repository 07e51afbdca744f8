"""Read Go's benchmark text, the events of ``go test -json`` around it, and benchfmt files."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import NoNumberError, read_moment
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, missing_end, plain, rejoined, unread_result
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.commit import commit_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit_names import Better

_NAME: Final = "go"
_RESULT: Final = re.compile(r"^(?P<name>Benchmark\S*)\s+(?P<count>\d+)\s+(?P<rest>\S.*)$")
_MARK: Final = re.compile(r"^(?P<name>Benchmark[^\sa-z]\S*)\s+(?P<rest>\S.*\S/(?:op|s|sec)(?:\s.*)?)$")
"""A result without a count of iterations, or with something else in its place."""
_PER: Final = re.compile(r"[^\W\d]\S*/\S+")
_BEGUN: Final = re.compile(r"^(?P<name>Benchmark[^\sa-z]\S*) *\t(?P<rest>.*)$")
_TAIL: Final = re.compile(r"^.*?(?P<result>\d+\t\s*\S+ \S+/op(?:\t.*)?)$")
"""The end of a line of results, whose beginning may be what the benchmark printed."""
_LOOK: Final = re.compile(r"^(?:\x1b\[[\d;]*m)*Benchmark\S*\s+\d+\s+[\d.eE+]+ [^\s\d]\S*")
_EVENT: Final = re.compile(r'^\{"(?:Time|Action|ImportPath)":')
_NUMBER: Final = re.compile(r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|NaN|Inf)", re.ASCII | re.IGNORECASE)
_CONFIG: Final = re.compile(r"^(?P<key>[a-z][^\sA-Z:]*):(?:[ \t]+(?P<value>.*))?$")
_UNIT: Final = re.compile(r"^Unit\s+(?P<unit>\S+)\s+(?P<pairs>.+)$")
_OUTCOME: Final = re.compile(r"^(?P<whole>Benchmark\S*)?\s*--- (?P<what>FAIL|SKIP): (?P<name>Benchmark\S*)")
_PANIC: Final = re.compile(r"^(?:(?P<name>Benchmark\S*)\s+)?(?P<why>panic: .*)")
_PROCESSORS: Final = re.compile(r"^(?P<name>.+)-(?P<count>[1-9]\d*)$")
_END: Final = re.compile(r"PASS$|ok\s|FAIL(?:\s+(?P<package>\S+)(?:\s.*)?)?$")
_HEADER: Final = {"goos", "goarch", "pkg", "cpu"}
"""What ``go test`` writes above results; benchfmt files of other tools, which have no end, have more or less."""
_METRICS: Final = {"ns/op": "time", "sec/op": "time", "B/op": "memory", "allocs/op": "allocs", "MB/s": "throughput"}
_LOWER: Final = ("ns/op", "sec/op", "B/op", "allocs/op")
_MOST_SETTINGS: Final = 100
"""Settings in force at a result; it keeps all of them."""
_SERIES_CONFIG: Final = ("goos", "goarch", "pkg")
_REVISION: Final = ("commit", "revision", "git-commit")
_TIME: Final = ("date", "time", "timestamp", "commit-time", "upload-time")
_RESERVED: Final = ("benchmark", "metric", "stat", "procs", *_SERIES_CONFIG)


@dataclass
class _Line:
    """A result line, or a benchmark that failed or was skipped, with the configuration in force there.

    ``values`` are pairs of a number as it is written and its unit; ``broken`` says why a result line has none,
    ``units`` which units it names, and without a ``name`` it is that line. The name of a benchmark that failed is
    ``whole`` where Go had begun its result line: then it ends with the number of processors.
    """

    name: str
    number: int
    config: dict[str, str]
    values: list[tuple[str, str]] = field(default_factory=list)
    outcome: str = ""
    whole: bool = False
    broken: str = ""
    units: tuple[str, ...] = ()


def fits(file: FileContent) -> bool:
    """Return True if any line is a result of a Go benchmark."""
    text = file.prose
    if "Benchmark" not in text:
        return False
    if _EVENT.match(text.lstrip()):
        return '"Output":"' in text and "Benchmark" in text
    if any(_LOOK.match(plain(line)) for line in text.splitlines() if "Benchmark" in line):
        return True
    lines = ((number, plain(line)) for number, line in enumerate(text.splitlines()) if len(line) <= LONGEST_LINE)
    return "/op" in text and any(_LOOK.match(line) for _, line in rejoined(lines, _begun, _ended))


def _begun(line: str) -> str | None:
    """Return the benchmark whose result may follow its output, "" at the end of one or of its package, else None."""
    if _OUTCOME.match(line) or _PANIC.match(line) or _END.match(line):
        return ""
    if not line.startswith("Benchmark"):
        return None
    begun = _BEGUN.match(line)
    return f"{begun['name']}\t" if begun and not _is_result(line) else ""


def _is_result(line: str) -> bool:
    result = _RESULT.match(line)
    return result is not None and _NUMBER.fullmatch(result["rest"].split()[0]) is not None


def _ended(line: str) -> str:
    return tail["result"] if len(line) <= LONGEST_LINE and (tail := _TAIL.match(line)) else ""


def read(file: FileContent) -> Parsed:
    """Read a run for every commit that the file names: every unit is a metric, repeated lines are samples.

    The number of processors at a name's end is a param only where the file has one benchmark with several.
    """
    units: dict[str, Better] = {}
    excess: list[int] = []
    outputs = [list(rejoined(text, _begun, _ended)) for text in _outputs(file)]
    read = [line for text in outputs for line in _lines(text, units, excess)]
    found = [line for line in read if line.name]
    warnings = (
        *_check_end(file, found),
        *(() if units else itertools.chain.from_iterable(map(_ends, outputs))),
        *map(_too_many_settings, excess[:1]),
        *(problem for line in read if not line.name for problem in unread_result(Rows(), {}, line.broken, line.number)),
    )
    names = _split_names(found)
    varying = _varying(found, names)
    several = {base for base, counts in _by_base(names).items() if len(counts) > 1}
    runs: dict[tuple[str, str], tuple[Rows, dict[str, str]]] = {}
    for line in found:
        config = line.config
        place = (_revision(config), config.get("branch", ""))
        rows, facts = runs.setdefault(place, (Rows(), {}))
        params = {key: config[key] for key in (*_SERIES_CONFIG, *varying) if config.get(key)}
        params.update(_name_params(*_name_of(line, names), several, facts))
        facts.update({key: value for key, value in config.items() if key not in params})
        _add(rows, params, line, units)
    reports = tuple(
        RunReport(
            rows.table(),
            entry="/".join(filter(None, (branch, revision))) if len(runs) > 1 else "",
            revision=revision,
            branch=branch,
            time=next((moment for key in _TIME if (moment := read_moment(facts.get(key))) is not None), None),
            environment={key: value for key, value in facts.items() if key not in (*_REVISION, "branch")},
        )
        for (revision, branch), (rows, facts) in runs.items()
    )
    return Report(_NAME, reports or (RunReport(Rows().table()),)), warnings


def _check_end(file: FileContent, found: list[_Line]) -> tuple[Problem, ...]:
    """Return the warning about a result on a last line without a line end, where its unit does not say it is whole.

    Raises:
        FormatError: the result is not whole: it has no unit, or the beginning of one that the file or Go has.
    """
    number = file.open_line
    if not number or _EVENT.match(file.text.lstrip()) or not plain(file.lines[-1]).startswith("Benchmark"):
        return ()
    last = found[-1] if found and found[-1].number == number else None
    if last is None or last.broken:
        raise file.cut_short()
    units = {unit for line in found if line is not last for _, unit in line.values} | _METRICS.keys()
    ending = last.values[-1][1]
    if ending in units:
        return ()
    if any(unit.startswith(ending) for unit in units):
        raise file.cut_short()
    return file.open_line_warning()


def _ends(text: list[tuple[int, str]]) -> Iterator[Problem]:
    """Yield warnings about packages whose output has no end, or that failed outside of their benchmarks."""
    header: set[str] = set()
    last, explained, panicked = 0, False, False
    for number, line in text:
        if _RESULT.match(line):
            last = number
        elif end := _END.match(line):
            if end["package"] and (panicked or not explained):
                yield missing_end(f"the package {end['package']} failed; benchmarks of it may be missing", number)
            header, last = set(), 0
            if line != "FAIL":  # which the line with the name of the package follows
                explained = panicked = False
        elif _OUTCOME.match(line):
            explained = True
        elif _PANIC.match(line):
            panicked = True
        elif setting := _CONFIG.match(line):
            if last and setting["key"] == "goos":
                yield from _unended(header, last)
                header, last = set(), 0
            header.add(setting["key"])
    yield from _unended(header, last)


def _unended(header: set[str], last: int) -> Iterator[Problem]:
    """Yield the warning that nothing ends the results up to line ``last``, where ``go test`` wrote their header."""
    if last and header <= _HEADER and header >= {"goos", "goarch", "pkg"}:
        yield missing_end("no PASS, ok or FAIL follows this result; benchmarks may be missing", last)


def _outputs(file: FileContent) -> Iterator[list[tuple[int, str]]]:
    """Yield the numbered lines of each stream: the file, or every package's output within events."""
    if not _EVENT.match(file.text.lstrip()):
        yield list(enumerate(map(plain, file.lines), 1))
        return
    pieces: dict[str, list[tuple[int, list[str]]]] = {}
    for number, line in enumerate(file.lines, 1):
        if not line.startswith("{"):
            continue
        event = Node(file.parse_json(line, first_line=number))
        if event.words("Action") == "output" and "Output" in event:
            lines = pieces.setdefault(event.words("Package"), [(number, [])])
            first, *more = event["Output"].text().split("\n")
            if not lines[-1][1]:
                lines[-1] = (number, [])
            lines[-1][1].extend([first] if first else [])
            lines.extend((number, [part] if part else []) for part in more)
    for stream in ([(number, "".join(parts)) for number, parts in lines] for lines in pieces.values()):
        if _RESULT.match(stream[-1][1]):
            raise FormatError(
                f"the output ends within the line {stream[-1][1]!r}",
                where=f"line {stream[-1][0]}",
                remedy="The file is truncated; write it again.",
            )
        yield [(number, plain(text)) for number, text in stream]


def _too_many_settings(number: int) -> Problem:
    return Problem(
        f"there are more than {_MOST_SETTINGS} lines KEY: VALUE with different keys; further ones are not read",
        where=f"line {number}",
        remedy="If they are the output of a program, keep it out of the file.",
        severity=Severity.WARNING,
    )


def _lines(text: list[tuple[int, str]], units: dict[str, Better], excess: list[int]) -> Iterator[_Line]:
    """Yield the results, add declared units to ``units``, and to ``excess`` the lines of settings that are too many."""
    config: dict[str, str] = {}
    for number, line in text:
        if (found := _line(line, number, config)) is not None:
            yield found
        elif unit := _UNIT.match(line):
            pairs = dict(pair.partition("=")[::2] for pair in unit["pairs"].split())
            units[unit["unit"]] = {"higher": Better.HIGHER, "lower": Better.LOWER}.get(
                pairs.get("better", ""), units.get(unit["unit"], Better.UNKNOWN)
            )
        elif (setting := _CONFIG.match(line)) and setting["key"] not in config and len(config) >= _MOST_SETTINGS:
            excess.append(number)
        elif setting:
            config = {key: value for key, value in config.items() if key != setting["key"]}
            if value := (setting["value"] or "").strip():
                config[setting["key"]] = value
        elif begun := _BEGUN.match(line):
            yield _Line(begun["name"], number, config, broken="it began and has no result")
        elif _ended(line):
            yield _Line("", number, config, broken=line)


def _line(line: str, number: int, config: dict[str, str]) -> _Line | None:
    """Return the result or the outcome that ``line`` has, None for another line."""
    result = _RESULT.match(line) or (_MARK.match(line) if len(line) <= LONGEST_LINE else None)
    if result:
        return _result(result, number, config)
    if outcome := _OUTCOME.match(line):
        return _Line(outcome["name"], number, config, outcome=outcome["what"], whole=outcome["whole"] is not None)
    panic = _PANIC.match(line)
    if panic and panic["name"]:
        return _Line(panic["name"], number, config, outcome="FAIL", whole=True, broken=panic["why"])
    return None


def _result(result: re.Match[str], number: int, config: dict[str, str]) -> _Line:
    words = result["rest"].split()
    if result.re is _MARK and len(words) % 2:
        del words[0]  # what stands in place of the count of iterations
    pairs = list(zip(words[::2], words[1::2], strict=False))
    odd = next((unit for _, unit in pairs if _NUMBER.fullmatch(unit)), words[-1] if len(words) % 2 else "")
    if odd:
        units = tuple(word for word in words if _PER.fullmatch(word))
        return _Line(result["name"], number, config, broken=f"{odd!r} has no unit", units=units)
    return _Line(result["name"], number, config, pairs)


_Names = dict[tuple[str, str, str], tuple[str, str]]
"""Revision, package and printed name → the name without its number of processors, and that number, "" where it is
unknown.
"""


def _split_names(lines: list[_Line]) -> _Names:
    """Tell the numbers of processors at the ends of names from numbers that belong to the names, package by package.

    Go writes the number where it is not 1. The name of a function has no hyphen, so that of a benchmark without parts
    (``/``) shows which numbers the package ran with. Where all have parts, all of them end with the same number, or
    several come with each number; else the names stay whole.
    """
    packages: dict[tuple[str, str], tuple[set[str], set[str], set[str]]] = {}
    for line in lines:
        place = _revision(line.config), line.config.get("pkg", "")
        measured, failed, others = packages.setdefault(place, (set(), set(), set()))
        (others if line.outcome and not line.whole else failed if line.outcome else measured).add(line.name)
    found: _Names = {}
    for place, (measured, failed, others) in packages.items():
        names = measured | failed
        counts = _counts(measured or failed)
        split = {name: _split(name, names, counts) for name in names}
        bases = {base for base, _ in split.values()}
        split |= {name: _ending(name) if _ending(name)[0] in bases else (name, "") for name in others - names}
        found |= {(*place, name): parts for name, parts in split.items()}
    return found


def _by_base(names: _Names) -> dict[str, set[str]]:
    """Return name → numbers of processors of the benchmarks of that name in all packages."""
    found: dict[str, set[str]] = {}
    for base, count in names.values():
        found.setdefault(base, set()).add(count)
    return found


def _ending(name: str) -> tuple[str, str]:
    """Split ``name`` into what may be a name and what may be a number of processors, "1" where it ends with none."""
    found = _PROCESSORS.match(name)
    return (found["name"], found["count"]) if found else (name, "1")


def _counts(names: Collection[str]) -> frozenset[str]:
    """Return the numbers of processors that a package ran with, by the ``names`` it printed.

    {"1"} where nothing shows others.
    """
    plain_names = frozenset(_ending(name)[1] for name in names if "/" not in name)
    if plain_names:
        return plain_names
    endings: dict[str, set[str]] = {}
    for base, count in map(_ending, names):
        endings.setdefault(base, set()).add(count)
    every = frozenset().union(*endings.values())
    several = len(endings) > 1 and all(counts == every for counts in endings.values())
    return every if several or len(every) == 1 else frozenset({"1"})


def _split(name: str, names: Collection[str], counts: frozenset[str]) -> tuple[str, str]:
    """Split ``name``, printed by a package that ran with ``counts`` processors."""
    base, count = _ending(name)
    if base == name or count not in counts:
        return name, ""
    if "1" not in counts or "/" not in name or base in names:
        return base, count
    return name, ""


def _varying(lines: list[_Line], names: _Names) -> tuple[str, ...]:
    """Return the keys of which one benchmark has several values at one commit: they distinguish series."""
    seen: dict[tuple[str, str, str], set[str]] = {}
    known = {*_SERIES_CONFIG, *_REVISION, *_TIME, "branch", "cpu"}
    keys = {key for line in lines for key in line.config} - known
    for line in lines:
        base, _ = _name_of(line, names)
        revision = _revision(line.config)
        for key in keys:
            seen.setdefault((revision, base, key), set()).add(line.config.get(key, ""))
    return tuple(sorted({key for (_, _, key), values in seen.items() if len(values) > 1}))


def _revision(config: dict[str, str]) -> str:
    return next((name for key in _REVISION if (name := commit_name(config.get(key, "")))), "")


def _name_of(line: _Line, names: _Names) -> tuple[str, str]:
    """Return the name of the benchmark of ``line``, and its number of processors."""
    return names[_revision(line.config), line.config.get("pkg", ""), line.name]


def _name_params(base: str, count: str, several: Collection[str], facts: dict[str, str]) -> dict[str, str]:
    params: dict[str, str] = {}
    kept: list[str] = []
    for part in base.split("/"):
        key, sign, value = part.partition("=")
        if kept and sign and key and value and key not in _RESERVED and key not in params:
            params[key] = value
        else:
            kept.append(part)
    params["benchmark"] = "/".join(kept)
    if base in several:
        params["procs"] = count or "1"
    elif count:
        facts["GOMAXPROCS"] = count
    return params


def _add(rows: Rows, params: dict[str, str], line: _Line, units: dict[str, Better]) -> None:
    if line.outcome == "FAIL":
        rows.fail({**params, "metric": "time"}, line.broken or "the benchmark failed")
    elif line.outcome == "SKIP":
        rows.skip({**params, "metric": "time"}, "the benchmark was skipped")
    elif line.broken:
        for unit in line.units or ("ns/op",):
            rows.fail({**params, "metric": _METRICS.get(unit, unit)}, f"{line.broken} at line {line.number}")
    for text, unit in line.values:
        better = units.get(unit, Better.LOWER if unit in _LOWER else Better.UNKNOWN)
        named = {**params, "metric": _METRICS.get(unit, unit)}
        with rows.failing(named):
            value = float(text) if _NUMBER.fullmatch(text) else math.nan
            if not math.isfinite(value):
                raise NoNumberError(f"expected a finite number, got {text!r}", where=f"line {line.number}")
            rows.add(named, (value,), unit, better)
