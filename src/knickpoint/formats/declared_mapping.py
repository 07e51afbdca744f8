"""Read any JSON by a declaration, in TOML, of where in it the results stand.

A path is a row of names with dots between them, ``[0]`` for one element of a list, ``[*]`` for every element and
``*`` for every member. A name with dots in it stands in double quotes. Within ``each``, paths begin at the element
found; ``^`` goes up to the element that ``each`` came through before, ``$`` back to the root, and ``@`` is the name
(or number) of the element itself. A value that begins with ``=`` is meant literally.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import UNLIMITED, FileContent, ReadingLimits
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.commit import commit_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_STEP: Final = re.compile(r'"(?P<quoted>[^"]*)"|\[(?P<index>[0-9]{1,9}|\*)\]|(?P<name>[^.\[\]"]+)')
_RESULT_OPTIONS: Final = {"each", "params", "value", "unit", "better", "failed", "message", "optional"}
_RUN_OPTIONS: Final = {"revision", "branch", "identity", "time", "environment", "links", "repository"}
_BETTER: Final = {"higher": Better.HIGHER, "lower": Better.LOWER, "": Better.UNKNOWN, "unknown": Better.UNKNOWN}


@dataclass(frozen=True, slots=True)
class _Found:
    """A place in the document: its node, its name, and the place that it was reached through."""

    node: Node
    name: str = ""
    outer: _Found | None = None


def read_mapped(data: bytes, mapping: bytes, *, name: str = "", limits: ReadingLimits = UNLIMITED) -> Parsed:
    """Read the JSON ``data`` by ``mapping``, a TOML text.

    Each of several documents is a run, or an entry of the list that the mapping begins at.

    Raises:
        FormatError: the mapping has an error, a path that it needs leads nowhere, or what stands there is no number.
    """
    declared = _load(mapping)
    file = FileContent(data, name, limits=limits)
    file.check_memory()
    known = str(declared.get("name", "mapping"))
    if not file.several:
        run, repository = _read_run(file.strict_json, declared)
        return Report(known, (run,), (), repository), ()
    if _takes_list(declared):
        entries = [file.parse_json(document.text, first_line=document.line) for document in file.documents]
        run, repository = _read_run(entries, declared)
        return Report(known, (run,), (), repository), ()
    runs: list[RunReport] = []
    repositories: dict[str, None] = {}
    for document in file.documents:
        part = replace(file, data=document.text.encode(errors="surrogatepass"))
        try:
            run, repository = _read_run(part.strict_json, declared)
        except FormatError as error:
            where = f"{document}, {error.where}" if error.where else str(document)
            raise FormatError(error.message, where=where, remedy=error.remedy) from error
        runs.append(run)
        repositories[repository] = None
    if len(repositories) > 1:
        raise FormatError(
            f"the documents belong to {len(repositories)} repositories: {', '.join(repositories)}",
            remedy="Split the file, one per repository.",
        )
    return Report(known, tuple(runs), (), next(iter(repositories))), ()


def _takes_list(declared: Mapping[str, Any]) -> bool:
    """Return True if a mapping begins at a list: documents are then its entries."""
    paths = [result.get("each", "") for result in declared["results"]]
    return any(str(path[0] if isinstance(path, list) and path else path).startswith("[") for path in paths)


def _read_run(document: object, declared: Mapping[str, Any]) -> tuple[RunReport, str]:
    """Return the run that one document has, and its repository."""
    root = _Found(Node(document))
    rows = Rows()
    for number, result in enumerate(declared["results"], 1):
        where = f"mapping, results {number}"
        for place in _each(root, result.get("each", ""), where):
            _add(rows, place, result, where)
    run = declared.get("run", {})
    facts = {
        option: _text(root, run.get(option, ""), "mapping, run") for option in _RUN_OPTIONS - {"environment", "links"}
    }
    groups = {
        group: {
            key: text
            for key, path in run.get(group, {}).items()
            if (text := _text(root, path, f"mapping, run.{group}"))
        }
        for group in ("environment", "links")
    }
    report = RunReport(
        rows.table(),
        revision=commit_name(facts["revision"]),
        branch=facts["branch"],
        identity=facts["identity"],
        time=read_moment(facts["time"]),
        environment=groups["environment"],
        links=groups["links"],
    )
    return report, facts["repository"]


def _load(mapping: bytes) -> dict[str, Any]:
    try:
        declared = tomllib.loads(mapping.decode())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the mapping is not valid TOML: {error}", remedy="Correct that place.") from error
    unknown = declared.keys() - {"name", "run", "results"}
    results = declared.get("results")
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise FormatError("the mapping has no [[results]]", remedy="Say with [[results]] where the values are.")
    if not isinstance(declared.setdefault("run", {}), dict):
        raise FormatError("run is not a table in the mapping", remedy="Write it as [run].")
    unknown |= declared["run"].keys() - _RUN_OPTIONS
    for result in results:
        unknown |= result.keys() - _RESULT_OPTIONS
        if not isinstance(result.get("params"), dict) or not result["params"] or "value" not in result:
            raise FormatError(
                "one of the [[results]] of the mapping has no params or no value",
                remedy='Write, for example, params = { benchmark = "name" } and value = "time".',
            )
    if unknown:
        raise FormatError(
            f"the mapping has unknown options: {', '.join(sorted(unknown))}",
            remedy=f"Known are {', '.join(sorted(_RUN_OPTIONS | _RESULT_OPTIONS))}.",
        )
    return declared


def _add(rows: Rows, place: _Found, result: Mapping[str, Any], where: str) -> None:
    params = {param: _text(place, path, where) for param, path in result["params"].items()}
    label = params.get("benchmark") or str(params)
    if "failed" in result and _truth(place, result["failed"], where):
        rows.fail(params, _text(place, result.get("message", ""), where))
        return
    found = list(_follow(place, str(result["value"]), where))
    if not found:
        if result.get("optional") is True:
            return
        raise FormatError(
            f"the path {result['value']!r} leads to no value (benchmark {label!r})",
            where=f"{where}, at {place.node.path or 'the root'}",
            remedy="Correct the path, or write optional = true.",
        )
    direction = _text(place, result.get("better", ""), where)
    better = _BETTER.get(direction.lower())
    if better is None:
        raise FormatError(f"{direction!r} is not a direction", where=where, remedy='Write "=lower" or "=higher".')
    unit = _text(place, result.get("unit", ""), where)
    with rows.failing(params):
        samples: list[float] = []
        for value in found:
            elements = value.node.elements() if isinstance(value.node.value, list) else (value.node,)
            samples.extend(element.numeral(label) for element in elements)
        rows.add(params, samples, unit, better)


def _each(root: _Found, paths: str | list[str], where: str) -> Iterator[_Found]:
    places = [root]
    for path in [paths] if isinstance(paths, str) else paths:
        places = [found for place in places for found in _follow(place, path, where, keep=True)]
    yield from places


def _text(place: _Found, path: object, where: str) -> str:
    if not isinstance(path, str):
        raise FormatError(f"{path!r} is not a path", where=where, remedy='Write paths as texts: "a.b", or "=literal".')
    if path.startswith("="):
        return path[1:]
    if not path:
        return ""
    found = next(_follow(place, path, where), None)
    return found.node.word() if found is not None else ""


def _truth(place: _Found, path: str, where: str) -> bool:
    found = next(_follow(place, path, where), None)
    return found is not None and found.node.value not in (False, 0, "", [], {})


def _follow(place: _Found, path: str, where: str, *, keep: bool = False) -> Iterator[_Found]:
    """Yield what ``path`` leads to from ``place``; null and missing members lead nowhere.

    With ``keep``, places that a wildcard chose remember the place that they were reached through.
    """
    rest = path.strip()
    if rest.startswith("$"):
        while place.outer is not None:
            place = place.outer
        rest = rest[1:].lstrip(".")
    while rest.startswith("^"):
        if place.outer is None:
            raise FormatError(f"the path {path!r} goes up beyond the root", where=where, remedy="Remove a ^.")
        place, rest = place.outer, rest[1:].lstrip(".")
    if rest == "@":
        yield _Found(Node(place.name, place.node, "@"))
        return
    found = [(place, False)]
    for step in _steps(rest, path, where):
        found = [(inner, chosen or wild) for outer, chosen in found for inner, wild in _step(outer, step)]
    for inner, chosen in found:
        yield _Found(inner.node, inner.name, place if keep and chosen else place.outer if keep else None)


def _steps(rest: str, path: str, where: str) -> list[re.Match[str]]:
    steps: list[re.Match[str]] = []
    position = 0
    while position < len(rest):
        if rest[position] == "." and position:
            position += 1
        step = _STEP.match(rest, position)
        if step is None:
            raise FormatError(
                f"the path {path!r} cannot be read at column {position + 1}",
                where=where,
                remedy='Write it as a.b[0].c, a[*].b or a."b.c".',
            )
        steps.append(step)
        position = step.end()
    return steps


def _step(place: _Found, step: re.Match[str]) -> Iterator[tuple[_Found, bool]]:
    node, value = place.node, place.node.value
    if step["index"] == "*" and isinstance(value, list):
        yield from (
            (_Found(Node(item, node, index), str(index)), True) for index, item in enumerate(value) if item is not None
        )
    elif step["name"] == "*" and isinstance(value, dict):
        yield from ((_Found(Node(item, node, name), name), True) for name, item in value.items() if item is not None)
    elif step["index"] is not None and isinstance(value, list) and step["index"] != "*":
        index = int(step["index"])
        if index < len(value) and value[index] is not None:
            yield _Found(Node(value[index], node, index), str(index)), False
    elif step["index"] is None and isinstance(value, dict):
        name = step["quoted"] if step["quoted"] is not None else step["name"]
        if value.get(name) is not None:
            yield _Found(Node(value[name], node, name), name), False
