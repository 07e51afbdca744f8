"""Read the results of airspeed velocity, versions 1 and 2: one machine, one commit, one environment a file."""

from __future__ import annotations

import itertools
import math
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.timestamps import read_moment
from knickpoint.model.commit import Commit
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "asv"
_COLUMNS: Final = (
    "result",
    "params",
    "version",
    "started_at",
    "duration",
    "stats_ci_99_a",
    "stats_ci_99_b",
    "stats_q_25",
    "stats_q_75",
    "stats_number",
    "stats_repeat",
    "samples",
    "profile",
)
_KINDS: Final = {
    "time": ("s", Better.LOWER),
    "timeraw": ("s", Better.LOWER),
    "mem": ("bytes", Better.LOWER),
    "peakmem": ("bytes", Better.LOWER),
}
_SUMMARY: Final = {
    "stats_ci_99_a": "confidence_low",
    "stats_ci_99_b": "confidence_high",
    "stats_q_25": "q1",
    "stats_q_75": "q3",
    "stats_repeat": "repeat",
    "stats_number": "number",
}
_MOST_COMBINATIONS: Final = 100_000
"""Combinations of one benchmark; a few short lists stand for any number of them."""
_NAMES_UNKNOWN: Final = "param{}"
_UNITS: Final = {"seconds": "s", "unit": ""}
"""What asv writes → the unit; `unit` is what it writes of a tracker that states none."""


def fits(file: FileContent) -> bool:
    """Return True if this is an object of results of one commit."""
    document = file.document
    return (
        isinstance(document, dict)
        and isinstance(document.get("commit_hash"), str)
        and isinstance(document.get("results"), dict)
        and all(map(_is_result, document["results"].values()))
    )


def _is_result(result: object) -> bool:
    """Return True if this is what asv keeps of a benchmark: a value, one for each combination of params, or columns."""
    if isinstance(result, dict):
        return "result" in result
    return result is None or (isinstance(result, int | float | list) and not isinstance(result, bool))


def read(file: FileContent) -> Parsed:
    """Read one run; ``benchmarks.json``, where it is at hand, gives names of params and units of trackers.

    Null is a failure and NaN a skip, as asv has it. Machine, Python and requirements are part of the series.
    """
    root = Node(file.strict_json)
    described = file.companions.get("benchmarks.json")
    benchmarks = (
        Node(FileContent(described, "benchmarks.json", limits=file.limits).json) if described is not None else Node({})
    )
    common = _series(root)
    rows = Rows()
    starts: list[float] = []
    for name, node in root["results"].members():
        columns = _columns(root, node)
        if "started_at" in columns and columns["started_at"].is_number():
            starts.append(columns["started_at"].number(name))
        _add(rows, common, name, columns, benchmarks.maybe(name))
    revision = root["commit_hash"].text()
    date = root.maybe("date")
    time = read_moment(date.number()) if date is not None and date.is_number() else None
    facts = root.maybe("params")
    environment = facts.facts() if facts is not None else {}
    environment["env_name"] = root.words("env_name")
    run = RunReport(
        rows.table(),
        revision=revision,
        time=read_moment(min(starts, default=None)),
        environment={key: text for key, text in environment.items() if text},
    )
    return Report(_NAME, (run,), (Commit(revision, "", "", time, ""),) if time else ()), ()


def _series(root: Node) -> dict[str, str]:
    """Return the params that all results of the file share: machine, Python, requirements, variables."""
    params: dict[str, str] = {}
    facts = root.maybe("params")
    if facts is not None:
        params["machine"] = facts.words("machine")
    python = root.words("python")
    if python and "/" not in python and "\\" not in python:
        params["python"] = python
    for group in ("requirements", "env_vars"):
        given = root.maybe(group)
        params.update(given.facts() if given is not None else {})
    return {name: text for name, text in params.items() if text}


def _columns(root: Node, node: Node) -> dict[str, Node]:
    """Return the entry of one benchmark by column name, whatever the version of the file."""
    if isinstance(node.value, list):
        given = root.maybe("result_columns")
        names = [column.text() for column in given.elements()] if given is not None else list(_COLUMNS)
        return dict(zip(names, node.elements(), strict=False))
    if isinstance(node.value, dict):
        return dict(node.members())
    return {"result": node}


def _add(rows: Rows, common: dict[str, str], name: str, columns: dict[str, Node], described: Node | None) -> None:
    kind = name.rpartition(".")[2].partition("_")[0]
    unit, better = _KINDS.get(kind, ("", Better.UNKNOWN))
    if described is not None and described.words("unit"):
        unit = _UNITS.get(described.words("unit"), described.words("unit"))
    params = {**common, "benchmark": name}
    version = columns["version"].word() if "version" in columns else ""
    message = f"benchmark version {version[:12]}" if version else ""
    combinations = _combinations(columns.get("params"), described)
    result = columns.get("result")
    if result is None:
        raise FormatError(f"benchmark {name!r} has no column 'result'", where="results", remedy="Write the file again.")
    if result.value is None:
        for combination in combinations:
            rows.fail({**params, **combination}, "asv has no result: the benchmark failed")
        return
    results = list(result.elements()) if isinstance(result.value, list) else [result]
    if len(results) != len(combinations):
        raise result.refuse(
            f"{len(results)} results do not go with {len(combinations)} combinations of params", of=name
        )
    for index, (combination, node) in enumerate(zip(combinations, results, strict=True)):
        named = {**params, **combination}
        if node.value is None:
            rows.fail(named, "asv has no result: the benchmark failed")
        elif isinstance(node.value, float) and math.isnan(node.value):
            rows.skip(named, "asv skipped it")
        else:
            cells = {
                column: _cell(cell, index) for column, cell in columns.items() if column not in ("result", "params")
            }
            samples = cells.get("samples")
            summary = {
                statistic: cell.number(name)
                for column, statistic in _SUMMARY.items()
                if (cell := cells.get(column)) is not None and cell.is_number()
            }
            with rows.failing(named):
                values = samples.numbers(name) if samples is not None and samples.value else (node.number(name),)
                rows.add(named, values, unit, better, summary=summary, message=message)


def _cell(column: Node, index: int) -> Node | None:
    if not isinstance(column.value, list) or index >= len(column.value):
        return None
    return Node(column.value[index], column, index)


def _combinations(given: Node | None, described: Node | None) -> list[dict[str, str]]:
    lists = (
        [[value.word() for value in values.elements()] for values in given.elements()] if given and given.value else []
    )
    declared = described.maybe("param_names") if described is not None else None
    names = [name.word() for name in declared.elements()] if declared is not None else []
    count = math.prod(map(len, lists))
    if given is not None and count > _MOST_COMBINATIONS:
        raise given.refuse(f"the lists have more than {_MOST_COMBINATIONS:,} combinations of params")
    names += [_NAMES_UNKNOWN.format(number) for number in range(len(names) + 1, len(lists) + 1)]
    return [
        {name: value.strip("'\"") or value for name, value in zip(names, values, strict=False)}
        for values in itertools.product(*lists)
    ]
