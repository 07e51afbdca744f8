"""Turn a site that ``asv publish`` made back into results files of asv, so that both give the same traces.

A site has a graph for each benchmark and environment: pairs of a revision and the value, or a list of values, one for
each combination of params. It has neither samples nor results of earlier versions of a benchmark.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.model.errors import FormatError

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
            raise point.refuse("a point of a graph is a revision and its value")
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
