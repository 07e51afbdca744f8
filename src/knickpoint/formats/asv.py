"""Read the results of airspeed velocity, versions 1 and 2: one machine, one commit, one environment a file.

A site that ``asv publish`` made is turned back into such files, so that both give the same traces. It has a graph for
each benchmark and environment: pairs of a revision and the value, or a list of values, one for each combination of
params. It has neither samples nor results of earlier versions of a benchmark.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
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
        raise result.refuse(f"{len(results)} results for {len(combinations)} combinations of params", of=name)
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


_UNSAFE: Final = re.compile(r'[<>:"/\\^|?*\x00-\x1f]')
_MACHINE: Final = frozenset({"machine", "arch", "cpu", "num_cpu", "os", "ram"})
_VARIABLE: Final = "env-"
_BRANCH: Final = "branch"

_Environment = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PublishedGraph:
    """One graph of a site: its path below the site, the benchmark, and the environment without the branch."""

    path: str
    benchmark: str
    environment: _Environment


@dataclass(frozen=True, slots=True)
class PublishedSite:
    """What ``index.json`` says.

    ``commits`` maps a revision to the hash of its commit, ``dates`` to the time of the commit in milliseconds since
    1970. ``benchmarks`` is the content of ``benchmarks.json``, which has names of params and units.
    """

    project: str
    address: str
    graphs: tuple[PublishedGraph, ...]
    commits: Mapping[str, str]
    dates: Mapping[str, float]
    benchmarks: Mapping[str, object]

    @property
    def companions(self) -> dict[str, bytes]:
        """The files beside restored results."""
        return {"benchmarks.json": json.dumps(self.benchmarks).encode()}


@dataclass(frozen=True, slots=True)
class RestoredResults:
    """One results file as asv would have written it, under its usual name."""

    name: str
    data: bytes


def read_site_index(data: bytes, *, name: str = "index.json") -> PublishedSite:
    """Read the index of a site.

    Raises:
        FormatError: it is not an index of asv.
    """
    root = Node(FileContent(data, name).json)
    missing = [member for member in ("graph_param_list", "benchmarks", "revision_to_hash") if member not in root]
    if missing:
        raise FormatError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing, so this is not a site of asv",
            where=name,
            remedy="Give the directory or the address that asv publish wrote; sites of asv before 0.3 cannot be read.",
        )
    commits = {revision: node.text() for revision, node in root["revision_to_hash"].members()}
    dates = {revision: node.number() for revision, node in (root.maybe("revision_to_date") or Node({})).members()}
    benchmarks = dict(root["benchmarks"].members())
    graphs: dict[str, PublishedGraph] = {}
    for given in root["graph_param_list"].elements():
        params = {param: node.word() if node.value is not None else None for param, node in given.members()}
        environment = tuple(sorted((param, value or "") for param, value in params.items() if param != _BRANCH))
        for benchmark in benchmarks:
            path = _path(params, benchmark)
            graphs[path] = PublishedGraph(path, benchmark, environment)
    return PublishedSite(
        root.words("project"),
        root.words("project_url"),
        tuple(graphs.values()),
        commits,
        dates,
        {benchmark: node.value for benchmark, node in benchmarks.items()},
    )


def restore_results(site: PublishedSite, graphs: Iterable[tuple[PublishedGraph, bytes]]) -> Iterator[RestoredResults]:
    """Yield a results file for each commit and environment, the oldest commit first.

    Raises:
        FormatError: a graph is not what asv writes; the message names it.
    """
    found: dict[tuple[str, _Environment], dict[str, object]] = {}
    for graph, data in graphs:
        described = site.benchmarks.get(graph.benchmark)
        params = described.get("params") if isinstance(described, dict) else None
        for revision, value in _points(data, graph.path):
            if revision in site.commits:
                results = found.setdefault((revision, graph.environment), {})
                # A graph of another branch may have the same commit, with the same value.
                results[graph.benchmark] = {"result": _with_skips(value), "params": params or []}
    for revision, environment in sorted(found, key=lambda pair: (site.dates.get(pair[0], 0.0), pair)):
        yield _file(site, revision, environment, found[revision, environment])


def _path(params: Mapping[str, str | None], benchmark: str) -> str:
    """Return the path at which asv puts the graph of ``benchmark`` in the environment ``params``."""
    parts = sorted(
        _UNSAFE.sub("_", f"{name}-null" if value is None else f"{name}-{value}" if value else name)
        for name, value in params.items()
    )
    return "/".join(["graphs", *parts, f"{_UNSAFE.sub('_', benchmark)}.json"])


def _points(data: bytes, path: str) -> Iterator[tuple[str, object]]:
    for point in Node(FileContent(data, path).json).elements():
        pair = list(point.elements())
        if len(pair) != 2 or not pair[0].is_number():
            raise point.refuse("expected a revision and its value")
        yield str(int(pair[0].number())), pair[1].value


def _with_skips(value: object) -> object:
    """Return ``value`` with NaN for null: a site does not say whether a benchmark failed or was skipped."""
    if isinstance(value, list):
        return [math.nan if item is None else item for item in value]
    return math.nan if value is None else value


def _file(
    site: PublishedSite, revision: str, environment: _Environment, results: Mapping[str, object]
) -> RestoredResults:
    params = dict(environment)
    commit, python = site.commits[revision], params.get("python", "")
    requirements = {
        name: value
        for name, value in params.items()
        if name not in _MACHINE and name != "python" and not name.startswith(_VARIABLE)
    }
    variables = {name.removeprefix(_VARIABLE): value for name, value in params.items() if name.startswith(_VARIABLE)}
    document: dict[str, object] = {
        "commit_hash": commit,
        "params": params,
        "python": python,
        "requirements": requirements,
        "env_vars": variables,
        "results": results,
    }
    if revision in site.dates:
        document["date"] = site.dates[revision]
    name = "-".join(
        part for value in (python, *requirements, *requirements.values()) if (part := _UNSAFE.sub("_", value))
    )
    machine = _UNSAFE.sub("_", params.get("machine", "machine"))
    return RestoredResults(f"results/{machine}/{commit[:8]}-{name}.json", json.dumps(document).encode())
