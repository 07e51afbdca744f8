"""Read Conbench results: what its clients post, one result or a list."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures, members
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport

_NAME: Final = "conbench"


def fits(file: FileContent) -> bool:
    """Return True if these are results with a run and tags."""
    document = file.document
    results = document if isinstance(document, list) else [document]
    return (
        bool(results)
        and all(
            isinstance(result, dict) and "run_id" in result and isinstance(result.get("tags"), dict)
            for result in results
        )
        and (measures(results, ("error",)) or measures(members(results, "stats"), ("data",)))
    )


def read(file: FileContent) -> Parsed:
    """Read a run for every run id: tags are params, machine and context its environment."""
    root = Node(file.json)
    results = list(root.elements()) if isinstance(root.value, list) else [root]
    runs: dict[str, tuple[Rows, list[Node]]] = {}
    for result in results:
        rows, members = runs.setdefault(result["run_id"].text(), (Rows(), []))
        members.append(result)
        _add(rows, result)
    repositories = {_github(result, "repository") for result in results} - {""}
    if len(repositories) > 1:
        raise FormatError(
            f"the results belong to {len(repositories)} repositories: {', '.join(sorted(repositories))}",
            remedy="Split the file, one per repository.",
        )
    reports = tuple(_run(identity, rows, members, several=len(runs) > 1) for identity, (rows, members) in runs.items())
    return Report(_NAME, reports, (), next(iter(repositories), "")), ()


def _run(identity: str, rows: Rows, members: list[Node], *, several: bool) -> RunReport:
    environment: dict[str, str] = {}
    for result in members:
        for prefix, name in (("", "machine_info"), ("context.", "context"), ("info.", "info")):
            facts = result.maybe(name)
            environment.update({f"{prefix}{key}": text for key, text in (facts.facts() if facts else {}).items()})
        environment.update({name: text for name in ("run_name", "run_reason") if (text := result.words(name))})
        if pull := _github(result, "pr_number"):
            environment["pull_request"] = pull
    times = [moment for result in members if (moment := read_moment(result.words("timestamp"))) is not None]
    return RunReport(
        rows.table(),
        entry=identity if several else "",
        revision=_github(members[0], "commit"),
        branch=_github(members[0], "branch"),
        identity=identity,
        time=min(times, default=None),
        environment=environment,
    )


def _github(result: Node, name: str) -> str:
    found = result.maybe("github")
    return found.words(name) if found is not None else ""


def _add(rows: Rows, result: Node) -> None:
    params = {"benchmark" if name == "name" else name: node.word() for name, node in result["tags"].members()}
    name = params.get("benchmark", "")
    error = result.maybe("error")
    if error is not None and error.value:
        facts = error.facts()
        rows.fail(params, facts.get("stack_trace") or facts.get("command") or str(facts))
        return
    stats = result["stats"]
    data = list(stats["data"].elements())
    if any(sample.value is None for sample in data):
        rows.fail(params, f"{sum(sample.value is None for sample in data)} of {len(data)} iterations failed")
        return
    with rows.failing(params):
        rows.add(params, [sample.numeral(name) for sample in data], stats.words("unit"))
