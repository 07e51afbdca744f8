"""Read what pytest-benchmark writes with ``--benchmark-json``."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures, members
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows, tidy
from knickpoint.model.commit import Commit, commit_name
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit_names import Better

_NAME: Final = "pytest-benchmark"
_STATISTICS: Final = ("min", "max", "mean")
_SUMMARY: Final = {name: name for name in ("stddev", "iqr", "q1", "q3", "rounds", "iterations")}
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}|^UNSERIALIZABLE")
_LONGEST_VALUE: Final = 80
_MEASURED: Final = ("data", "median", "mean", "min")


def fits(file: FileContent) -> bool:
    """Return True if this has what only pytest-benchmark writes."""
    document = file.document
    return (
        isinstance(document, dict)
        and isinstance(document.get("benchmarks"), list)
        and ("machine_info" in document or "commit_info" in document)
        and (not document["benchmarks"] or any(map(_are_stats, members(document["benchmarks"], "stats"))))
    )


def _are_stats(stats: object) -> bool:
    return stats == {} or measures([stats], _MEASURED)


def read(file: FileContent) -> Parsed:
    """Read one run; times are in seconds. Samples where all were saved, else the median and other statistics."""
    root = Node(file.json)
    benchmarks = list(root["benchmarks"].elements())
    rows = Rows()
    problems: list[Problem] = []
    for params, benchmark in zip(_params(benchmarks), benchmarks, strict=True):
        _add(rows, params, benchmark)
    commit_info = root.maybe("commit_info")
    environment = _environment(root)
    revision, branch, project = "", "", ""
    commits: tuple[Commit, ...] = ()
    if commit_info is not None:
        revision = commit_name(commit_info.words("id"))
        branch = (
            commit_info.words("branch") if commit_info.words("branch") not in {"(unknown)", "(detached head)"} else ""
        )
        project = commit_info.words("project")
        time = read_moment(commit_info.words("time"))
        commits = (Commit(revision, "", "", time, ""),) if revision and time else ()
        if commit_info.words("dirty") == "true":
            environment["commit.dirty"] = "true"
        if revision and "commit.dirty" in environment:
            problems.append(
                Problem(
                    f"the work tree had changes that commit {revision[:12]} does not have",
                    where="commit_info.dirty",
                    remedy="Measure a clean checkout, or import it for another commit with --commit.",
                    severity=Severity.WARNING,
                )
            )
    run = RunReport(
        rows.table(),
        revision=revision,
        branch=branch,
        time=read_moment(root.words("datetime")),
        environment=environment,
    )
    return Report(_NAME, (run,), commits, project), tuple(problems)


def _params(benchmarks: list[Node]) -> list[dict[str, str]]:
    """Name each benchmark by its node id, without the parameter id where plain parameters say the same.

    Parameters that differ in white space alone, such as a tab and a space, would be one in a key.
    """
    split = [_split(benchmark) for benchmark in benchmarks]
    names = [benchmark["fullname"].text() for benchmark in benchmarks]
    owners: dict[tuple[tuple[str, str], ...], set[str]] = {}
    for params, name in zip(split, names, strict=True):
        owners.setdefault(_tidied(params), set()).add(name)
    return [
        params if len(owners[_tidied(params)]) == 1 else {"benchmark": name}
        for params, name in zip(split, names, strict=True)
    ]


def _tidied(params: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, tidy(text)) for name, text in params.items())


def _split(benchmark: Node) -> dict[str, str]:
    name = benchmark["fullname"].text()
    given = benchmark.maybe("params")
    ending = f"[{benchmark.words('param')}]"
    if given is None or not name.endswith(ending):
        return {"benchmark": name}
    params = {"benchmark": name.removesuffix(ending)}
    for key, node in given.members():
        text = str(node.value) if isinstance(node.value, str | int | float) else ""
        if (
            not text.strip()
            or len(text) > _LONGEST_VALUE
            or _ADDRESS.search(text)
            or key in {"benchmark", "metric", "stat"}
        ):
            return {"benchmark": name}
        params[key] = text
    return params


def _add(rows: Rows, params: dict[str, str], benchmark: Node) -> None:
    name = params["benchmark"]
    extra = benchmark.maybe("extra_info")
    if extra is not None:
        for metric, node in extra.members():
            if node.is_number():
                rows.add({**params, "metric": metric}, (node.number(name),))
    timed = {**params, "metric": "time"}
    stats = benchmark.maybe("stats")
    if benchmark.maybe("error") or stats is None or not stats.value or not ("data" in stats or "mean" in stats):
        rows.fail(timed, benchmark.words("error") or "no statistics: the benchmark did not run")
        return
    summary = stats.finite(_SUMMARY)
    data = stats.maybe("data")
    if data is not None and data.value and not _is_cut(stats, data):
        with rows.failing(timed):
            rows.add(timed, data.numbers(name), "s", Better.LOWER, summary=summary)
        return
    with rows.failing(timed):
        rows.add(timed, (stats["median"].number(name),), "s", Better.LOWER, summary=summary)
    for statistic in _STATISTICS:
        if stats.has(statistic):
            named = {**timed, "stat": statistic}
            with rows.failing(named):
                rows.add(named, (stats[statistic].number(name),), "s", Better.LOWER)


def _is_cut(stats: Node, data: Node) -> bool:
    """Return True if the samples were taken out of the file afterwards, and the median of all of them is still there.

    That is so where a text stands in their place, where no number is among them, and where there are fewer than the
    rounds that the tool counted.
    """
    median, rounds = stats.maybe("median"), stats.maybe("rounds")
    if median is None or not median.is_number():
        return False
    if isinstance(data.value, str):
        return True
    samples = list(data.elements())
    fewer = rounds is not None and rounds.is_number() and len(samples) < rounds.number()
    return fewer or not any(sample.is_number() for sample in samples)


def _environment(root: Node) -> dict[str, str]:
    machine = root.maybe("machine_info")
    facts = machine.facts() if machine is not None else {}
    version = root.words("version")
    return {**facts, "tool": f"pytest-benchmark {version}".strip()}
