"""Read the JSON of Nyrkiö: results of one commit after another, with attributes."""

from __future__ import annotations

from collections import Counter
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, inner, measures
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.commit import Commit, commit_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, ResultTable, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "nyrkio"
_BETTER: Final = {"higher_is_better": Better.HIGHER, "lower_is_better": Better.LOWER}
_NO_FACTS: Final = ("git_repo", "git_commit", "branch", "test_name")


def fits(file: FileContent) -> bool:
    """Return True if this is a list of entries with metrics and attributes."""
    document = file.document
    return (
        isinstance(document, list)
        and bool(document)
        and all(
            isinstance(entry, dict)
            and isinstance(entry.get("metrics"), list)
            and isinstance(entry.get("attributes"), dict)
            for entry in document
        )
        and measures(inner(document, "metrics"), ("value",))
    )


def read(file: FileContent) -> Parsed:
    """Read a run for every entry; its timestamp, in seconds, is the commit's."""
    entries = list(Node(file.json).elements())
    names = Rows()
    runs: list[RunReport] = []
    commits: dict[str, Commit] = {}
    repositories: dict[str, None] = {}
    places: Counter[str] = Counter()
    for entry in entries:
        attributes = entry["attributes"]
        revision, branch = commit_name(_first(attributes, "git_commit")), _first(attributes, "branch")
        stamp = entry.finite({"timestamp": "seconds"}).get("seconds")
        time = read_moment(stamp)
        if repository := _first(attributes, "git_repo"):
            repositories[repository] = None
        if revision and time:
            commits.setdefault(revision, Commit(revision, "", "", time, ""))
        place = f"{revision or 'unknown'}/{'unknown' if stamp is None else f'{stamp:.0f}'}"
        places[place] += 1
        if places[place] > 1:
            place = f"{place}~{places[place]}"
        runs.append(
            RunReport(
                _table(entry, Rows(like=names)),
                entry=place if len(entries) > 1 else "",
                revision=revision,
                branch=branch,
                time=time,
                environment={name: text for name, text in attributes.facts().items() if name not in _NO_FACTS},
            )
        )
    if len(repositories) > 1:
        raise FormatError(
            f"the entries belong to {len(repositories)} repositories: {', '.join(repositories)}",
            remedy="Split the file, one per repository.",
        )
    ordered = sorted(commits.values(), key=lambda commit: commit.time)
    return Report(_NAME, tuple(runs), tuple(ordered), next(iter(repositories), "")), ()


def _table(entry: Node, rows: Rows) -> ResultTable:
    test = _first(entry["attributes"], "test_name")
    for metric in entry["metrics"].elements():
        name = metric["name"].text()
        params = {"metric": name, "benchmark": test}
        better = _BETTER.get(metric.words("direction"), Better.UNKNOWN)
        with rows.failing(params):
            rows.add(params, (metric["value"].number(name),), metric.words("unit"), better)
    return rows.table()


def _first(attributes: Node, name: str) -> str:
    """Return an attribute, which may stand in a list."""
    found = attributes.maybe(name)
    if found is None:
        return ""
    if isinstance(found.value, list):
        return next((element.word() for element in found.elements()), "")
    return found.word()
