"""Read github-action-benchmark: its custom entries, and the whole histories that it publishes as ``data.js``."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.table_columns import roles
from knickpoint.model.commit import NO_TIME, Commit, commit_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better

_NAME: Final = "github-action-benchmark"
_ASSIGNMENT: Final = re.compile(r"\s*(?:(?:window\.|globalThis\.|const |var |let )\s*)?BENCHMARK_DATA\s*=\s*")
_SPREAD: Final = re.compile(
    r"(?P<word>±|\+/-|\+-|stddev:)?\s*(?P<number>\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?)\s*(?P<unit>%)?.*"
)
_LONGEST_SPREAD: Final = 200
_TOOLS: Final = {
    "cargo": Better.LOWER,
    "googlecpp": Better.LOWER,
    "catch2": Better.LOWER,
    "benchmarkdotnet": Better.LOWER,
    "customSmallerIsBetter": Better.LOWER,
    "pytest": Better.HIGHER,
    "benchmarkjs": Better.HIGHER,
    "customBiggerIsBetter": Better.HIGHER,
}
"""Which direction a tool's numbers have; the other tools write several units, and there the unit says."""
_LOWER_UNLESS_RATE: Final = ("go", "jmh", "julia", "benchmarkluau")


def fits(file: FileContent) -> bool:
    """Return True if this is a list of custom entries, which say nothing of commits, or a history."""
    if _ASSIGNMENT.match(file.readable):
        return True
    document = file.document
    if isinstance(document, dict):
        return isinstance(document.get("entries"), dict) and ("lastUpdate" in document or "repoUrl" in document)
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(entry, dict) and {"name", "value", "unit"} <= entry.keys() for entry in document)
        and not any({"commit", "time"} & roles(list(entry)).keys() for entry in document)
    )


def read(file: FileContent) -> Parsed:
    """Read custom entries as one run, a history as one run per entry, with the commits that it describes."""
    found = _ASSIGNMENT.match(file.text)
    if found:
        line = file.text.count("\n", 0, found.end()) + 1
        document = file.parse_json(file.text[found.end() :].rstrip().removesuffix(";"), first_line=line)
    else:
        document = file.json
    root = Node(document)
    if isinstance(document, list):
        rows = Rows()
        for bench in root.elements():
            _add(rows, {}, bench, "")
        return Report(_NAME, (RunReport(rows.table()),)), ()
    return _history(root), tuple(_contradictions(root))


def _history(root: Node) -> Report:
    runs: list[tuple[float, RunReport]] = []
    commits: dict[str, tuple[float, Commit]] = {}
    seen: Counter[str] = Counter()
    names = Rows()
    for suite, entries in root["entries"].members():
        for entry in entries.elements():
            date = _date(entry)
            commit = _commit(entry["commit"], read_moment(date))
            first, _ = commits.get(commit.hash, (date, commit))
            if commit.hash not in commits or date < first:
                commits[commit.hash] = (min(date, first), commit)
            place = f"{suite}/{commit.hash}/{date:.0f}"
            seen[place] += 1
            number = f"~{seen[place]}" if seen[place] > 1 else ""
            runs.append((date, _run(suite, entry, commit, place + number, Rows(like=names))))
    runs.sort(key=lambda run: run[0])
    return Report(
        _NAME,
        tuple(run for _, run in runs),
        tuple(commit for _, commit in sorted(commits.values(), key=lambda pair: pair[0])),
        root.words("repoUrl"),
    )


def _run(suite: str, entry: Node, commit: Commit, place: str, rows: Rows) -> RunReport:
    tool = entry.words("tool")
    for bench in entry["benches"].elements():
        _add(rows, {"suite": suite}, bench, tool)
    links = {"commit": commit.url} if commit.url else {}
    return RunReport(
        rows.table(),
        entry=place,
        revision=commit.hash,
        time=read_moment(entry.finite({"date": "date"}).get("date")),
        environment={"tool": tool} if tool else {},
        links=links,
    )


def _date(entry: Node) -> float:
    """Return when ``entry`` was made, in milliseconds since 1970; where it does not say, when its commit was."""
    date = entry.finite({"date": "date"}).get("date")
    if date is not None:
        return date
    moment = read_moment(entry["commit"].words("timestamp"))
    if moment is None:
        raise entry.refuse("neither the entry nor its commit has a date", remedy="Give it one, or remove the entry.")
    return moment.timestamp() * 1000


def _add(rows: Rows, params: dict[str, str], bench: Node, tool: str) -> None:
    name = bench["name"].text()
    # The tool "go" of early versions kept all that stood after the number: "ns/op\t  1568 B/op\t  12 allocs/op".
    unit, _, others = bench.words("unit").partition("\t")
    better = _direction(tool, unit)
    summary, rest = _spread(bench.words("range"))
    extra = bench.words("extra").strip()
    words = "\n".join(filter(None, (rest, " ".join(others.split()), extra)))
    named = {**params, "benchmark": name}
    with rows.failing(named):
        rows.add(named, (bench["value"].numeral(name),), unit, better, summary=summary, message=words)


def _contradictions(root: Node) -> Iterator[Problem]:
    """Yield a warning for each tool and unit that name opposite directions; the tool's counts."""
    seen: dict[tuple[str, str], str] = {}
    for _, entries in root["entries"].members():
        for entry in entries.elements():
            for bench in entry["benches"].elements():
                seen.setdefault((entry.words("tool"), bench.words("unit")), bench.words("name"))
    for (tool, unit), name in seen.items():
        stated, usual = _TOOLS.get(tool, Better.UNKNOWN), read_unit(unit).better
        if Better.UNKNOWN not in (stated, usual) and stated is not usual:
            yield Problem(
                f"the tool {tool} says that {stated.value} is better; of {unit}, {usual.value} usually is",
                where=f"benchmark {name!r}",
                remedy="If the tool is wrong, state the direction in knickpoint.toml under [directions.NAME].",
                severity=Severity.WARNING,
            )


@lru_cache(maxsize=1024)
def _direction(tool: str, unit: str) -> Better:
    if tool not in _LOWER_UNLESS_RATE:
        return _TOOLS.get(tool, Better.UNKNOWN)
    known = read_unit(unit)
    rate = known.dimension.endswith("/time")
    return Better.LOWER if known.better is Better.UNKNOWN and not rate else known.better


def _spread(text: str) -> tuple[dict[str, float], str]:
    """Return the spread in ``range`` as a number, and the text that is not a number."""
    words = text.strip()
    found = _SPREAD.fullmatch(words) if len(words) <= _LONGEST_SPREAD else None
    number = found["number"].replace(",", "") if found else ""
    if not found or number.count(".") > 1 or not math.isfinite(float(number)):
        return {}, words
    name = "stddev" if found["word"] == "stddev:" else "range_percent" if found["unit"] else "range"
    return {name: float(number)}, ""


def _commit(node: Node, time: datetime | None) -> Commit:
    revision = commit_name(node["id"].text())
    if not revision:
        raise FormatError("the commit has no id", where=node.path, remedy="Remove the entry, or give it its commit.")
    author = node.maybe("author")
    moment = read_moment(node.words("timestamp")) or time or NO_TIME
    subject = next(iter(node.words("message").strip().splitlines()), "")
    return Commit(
        revision,
        (author.words("name") or author.words("username")) if author else "",
        author.words("email") if author else "",
        moment,
        subject,
        url=node.words("url"),
    )
