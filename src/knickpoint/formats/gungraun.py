"""Read what Gungraun, formerly iai-callgrind, prints: lines for people, or a JSON summary per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, missing_end, plain
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "gungraun"
_SUMMARY: Final = re.compile(r'\{"baselines":\[.*"module_path":".*"profiles":\[.*', re.DOTALL)
_VERSION: Final = "6"
_NAME_LINE: Final = re.compile(r"(?P<path>\w+(?:::\w+)+)(?: (?P<id>\S.*))?")
_TOOL_LINE: Final = re.compile(r"  =+ (?P<tool>[A-Z]+) =+")
_METRIC_LINE: Final = re.compile(
    r"  (?P<label>[A-Z][\w +.()/-]*?):\s+(?P<new>[\d.]+|N/A|\*+)\s*\|(?P<old>[\d.]+|N/A|\*+)\s*\([^)]*\)(?:\s+\[[^\]]*\])?"
)
_MARK: Final = re.compile(r"  (?P<label>[A-Z][\w +.()/-]*?):(?P<new>[^|]*)\|[^|]*\(.*\).*")
_CUT: Final = re.compile(r"  [A-Z][\w +.-]*:?.*|\w+(?:::\w*)+.*")
_RESULT: Final = re.compile(r"(?:Gungraun|Iai-Callgrind) result: .*\d benchmarks? finished in .*")
_LABELS: Final = {
    "AtTEndBlocks": "At t-end blocks",
    "AtTEndBytes": "At t-end bytes",
    "AtTGmaxBlocks": "At t-gmax blocks",
    "AtTGmaxBytes": "At t-gmax bytes",
    "D1MissRate": "D1 Miss Rate",
    "EstimatedCycles": "Estimated Cycles",
    "I1MissRate": "I1 Miss Rate",
    "Ir": "Instructions",
    "L1HitRate": "L1 Hit Rate",
    "L1hits": "L1 Hits",
    "LLHitRate": "LL Hit Rate",
    "LLMissRate": "LL Miss Rate",
    "LLdMissRate": "LLd Miss Rate",
    "LLhits": "LL Hits",
    "LLiMissRate": "LLi Miss Rate",
    "MaximumBlocks": "Maximum blocks",
    "MaximumBytes": "Maximum bytes",
    "RamHitRate": "RAM Hit Rate",
    "RamHits": "RAM Hits",
    "ReadsBytes": "Reads bytes",
    "SuppressedContexts": "Suppressed Contexts",
    "SuppressedErrors": "Suppressed Errors",
    "TotalBlocks": "Total blocks",
    "TotalBytes": "Total bytes",
    "TotalEvents": "Total events",
    "TotalLifetimes": "Total lifetimes",
    "TotalRW": "Total read+write",
    "TotalUnits": "Total units",
    "WritesBytes": "Writes bytes",
}
"""Members of summaries by the labels of the lines, so that both give the same metrics; others have one name in both."""
_OLD_LABELS: Final = {"L2 Hits": "LL Hits"}
"""Labels of earlier versions."""
_HIGHER: Final = frozenset({"L1 Hit Rate"})
_UNKNOWN: Final = frozenset({"L1 Hits", "LL Hits", "LL Hit Rate", "Total units", "Total lifetimes"})
"""More hits of a cache may be fewer of a better one, or more accesses."""
_CALLGRIND: Final = "callgrind"
_ABSENT: Final = "N/A"
"""In place of a count that one of the two runs does not have."""


def fits(file: FileContent) -> bool:
    """Return True if a line counts an event of a benchmark, or is a summary of one."""
    text = file.readable
    if '"module_path"' in text and any(map(_SUMMARY.fullmatch, _summaries(text))):
        return True
    return "|" in file.prose and any(
        _METRIC_LINE.fullmatch(plain(line.rstrip()))
        for line in file.prose.split("\n")
        if "|" in line and len(line) <= LONGEST_LINE
    )


def read(file: FileContent) -> Parsed:
    """Read one run: the new counts of each tool of Valgrind, by benchmark and its id; those of a baseline stay out.

    Counts of Callgrind have no param ``tool``; those of others have. Fewer are better, but for cache hits.
    """
    rows = Rows()
    problems: tuple[Problem, ...] = ()
    if '"module_path"' in file.text and any(map(_SUMMARY.fullmatch, _summaries(file.text))):
        for number, line in enumerate(file.lines, 1):
            if line.startswith('{"baselines"'):
                _add_summary(rows, Node(file.parse_json(line, first_line=number), step=f"line {number}: "))
    else:
        problems = tuple(_add_lines(rows, file).problems())
    return Report(_NAME, (RunReport(rows.table()),)), problems


def _summaries(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line.startswith('{"baselines"'))


def _add_summary(rows: Rows, root: Node) -> None:
    version = root.words("version")
    if version != _VERSION:
        raise FormatError(
            f"the summary has version {version or '?'}, and {_VERSION} is read",
            where=root.path.rstrip(": "),
            remedy="Write lines for people (--output-format=default), or use a newer Gungraun.",
        )
    name = root["module_path"].text()
    params = {"benchmark": name, "id": root.words("id")}
    for profile in root["profiles"].elements():
        tool = profile["tool"].text().lower()
        for _, metrics in profile["summaries"]["total"]["summary"].members():
            for member, entry in metrics.members():
                value = _new(entry["metrics"])
                if value is not None:
                    _add(rows, params, tool, _LABELS.get(member, member), value.number(name))


def _new(metrics: Node) -> Node | None:
    """Return the new value: alone, or the first of a pair; None where there is only that of the baseline."""
    for side, node in metrics.members():
        if side == "Right":
            return None
        pair = list(node.elements()) if side == "Both" else [node]
        for _, number in pair[0].members() if pair else ():
            return number
    return None


@dataclass
class _Ends:
    """What the end of the lines lacks, by what stands before it.

    ``counts`` are the labels below each heading of a tool. ``begun``, ``last`` and ``ended`` are the lines of the
    newest name, count, and ``Gungraun result: …``, of which each program writes one; earlier versions and
    ``--nosummary`` write none.
    """

    name: str = ""
    begun: int = 0
    last: int = 0
    ended: int = 0
    counts: list[tuple[str, list[str]]] = field(default_factory=list)

    def begin(self, name: str, number: int) -> None:
        """Take the line that names a benchmark."""
        self.name, self.begun = name, number
        self.head(_CALLGRIND)

    def head(self, tool: str) -> None:
        """Take what begins the counts of a tool."""
        self.counts.append((tool, []))

    def add(self, label: str, number: int) -> None:
        """Take a count."""
        self.counts[-1][1].append(label)
        self.last = number

    def problems(self) -> Iterator[Problem]:
        """Yield a warning where the last benchmark has no count or fewer than others, or its program has no result."""
        if self.begun > max(self.last, self.ended):
            yield missing_end(f"the benchmark {self.name} has no counts; others may be missing behind it", self.begun)
        elif self.last > self.ended:
            tool, labels = self.counts[-1]
            whole = max((many for name, many in self.counts if name == tool and many[: len(labels)] == labels), key=len)
            if len(whole) > len(labels):
                what = f"the benchmark {self.name} has {len(labels)} of the {len(whole)} counts of others"
                yield missing_end(f"{what}; benchmarks may be missing behind it", self.last)
            elif self.ended:
                what = "the line with the result of the program is missing, which an earlier program has"
                yield missing_end(f"{what}; benchmarks may be missing too", self.last)


def _add_lines(rows: Rows, file: FileContent) -> _Ends:
    params: dict[str, str] = {}
    tool = _CALLGRIND
    ends = _Ends()
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw).rstrip()
        if len(line) > LONGEST_LINE:
            continue
        found = _METRIC_LINE.fullmatch(line) or _MARK.fullmatch(line)
        if found is not None:
            if not params:
                raise FormatError("counts before the first benchmark", where=f"line {number}", remedy="Run it again.")
            label = _OLD_LABELS.get(found["label"], found["label"])
            ends.add(label, number)
            _add_count(rows, {**params, "metric": label}, tool, found["new"].strip(), f"line {number}")
        elif number == file.open_line and params and _CUT.fullmatch(line):
            raise file.cut_short()
        elif (name := _NAME_LINE.fullmatch(line)) is not None:
            # What follows the id are the arguments, which the summaries do not have.
            params, tool = {"benchmark": name["path"], "id": (name["id"] or "").partition(":")[0]}, _CALLGRIND
            ends.begin(name[0], number)
        elif (heading := _TOOL_LINE.fullmatch(line)) is not None:
            tool = heading["tool"].lower()
            ends.head(tool)
        elif _RESULT.fullmatch(line):
            ends.ended = number
    return ends


def _add_count(rows: Rows, named: dict[str, str], tool: str, text: str, where: str) -> None:
    value = numeral(text)
    if value is not None:
        _add(rows, named, tool, named["metric"], value)
    elif text == _ABSENT:
        rows.skip(_named(named, tool, named["metric"]), "only the baseline has this count")
    else:
        rows.fail(_named(named, tool, named["metric"]), f"expected a count at {where}, got {text!r}")


def _named(params: dict[str, str], tool: str, label: str) -> dict[str, str]:
    return {**params, "metric": label, **({"tool": tool} if tool != _CALLGRIND else {})}


def _add(rows: Rows, params: dict[str, str], tool: str, label: str, value: float) -> None:
    named = _named(params, tool, label)
    better = Better.HIGHER if label in _HIGHER else Better.UNKNOWN if label in _UNKNOWN else Better.LOWER
    unit = "B" if label.endswith(" bytes") else "%" if label.endswith(" Rate") else ""
    rows.add(named, (value,), unit, better)
