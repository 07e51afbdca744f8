"""Comparisons of two commits, or of results that are sent and not stored."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, FiniteOrNull
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.flame_graphs import FlameGraphAnswer, profiled_benchmarks, read_flame_graph_of_commits
from knickpoint.answers.trends import MOST_PARTS, SUITE_PARAMS
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.gate import GateOptions, GateReport, Standing, judge_commits, judge_files, judge_upload
from knickpoint.ingest.new_results import NewResults
from knickpoint.instance import Instance
from knickpoint.instance.named_commits import find_revision
from knickpoint.instance.separate_import import read_separately
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.pull_request_check import Attribution
from knickpoint.model.query import parse_query
from knickpoint.model.step import Verdict
from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better
from knickpoint.store import Store
from knickpoint.watch.commit_comparison import LinePosition

# The comparison of two commits, or of results files that are sent.


class ComparisonSideAnswer(Answer):
    """One of the two sides: a commit of a line, or a results file that was sent."""

    line: str = ""
    commit: CommitAnswer | None = None
    file: str = Field(default="", description="Name of the results file.")
    runs: int = Field(default=0, description="Runs that the results file has.")


class JudgedBenchmarkAnswer(Answer):
    """The verdict on one benchmark, with the names that `knick check --format json` has.

    Numbers that are not known are null.
    """

    trace_id: int | None = Field(description="Null where the history does not know the trace.")
    trace: str = Field(description="Key of the trace.")
    benchmark: str
    params: dict[str, str]
    suite: str = Field(description="Its value of `by`, empty without one.")
    unit: str
    better: Better
    verdict: Verdict
    conditional: bool = Field(description="Whether the verdict rests on too little: measure again to confirm.")
    together: bool = Field(
        default=False, description="Whether it moved with most benchmarks, which says nothing about it alone."
    )
    attribution: Attribution = Field(
        default=Attribution.NONE,
        description="What moved it instead of the patch, by earlier checks of pull requests: `moved environment` or "
        "`noise`; empty for nothing.",
    )
    reason: str
    decides: bool = Field(description="False for a statistic beside the main value of its benchmark, and for a canary.")
    canary: bool = Field(description="Whether no commit should change it.")
    accepted: str | None = Field(description="The reason for which a commit accepts that it is worse.")
    fails: bool = Field(description="Whether it regressed, and nothing accepts it.")
    before: FiniteOrNull = Field(description="The level up to the base.")
    after: FiniteOrNull = Field(description="The median of the new values.")
    relative_size: FiniteOrNull = Field(description="Relative change: 0.02 is 2 %.")
    low: FiniteOrNull = Field(description="Lower end of the 95 % interval of the change.")
    high: FiniteOrNull
    detectable: FiniteOrNull = Field(
        description="The smallest relative change that four of five comparisons would show."
    )
    p_value: FiniteOrNull
    samples: int = Field(description="New values that the verdict rests on.")
    past: list[float] = Field(description="The newest values up to the base, oldest first.")
    new: list[float] = Field(description="The values that represent the head.")


class ComparedSuiteAnswer(Answer):
    """The sum of one suite: traces with one value of a param."""

    name: str
    counts: dict[Verdict, int] = Field(description="Verdicts on the traces that decide, listed or not.")


class ComparedMeanAnswer(Answer):
    """The geometric mean of the changes of the traces that decide, and their range.

    Where lower is better for some traces, those for which higher is better count by their inverse.
    """

    traces: int = Field(description="Traces with a known change.")
    better: Better = Field(description="Which side of 0 is better.")
    change: FiniteOrNull = Field(description="Relative change: 0.02 is 2 %; null without traces.")
    low: FiniteOrNull = Field(description="Lower end of its 95 % interval, as if traces were independent.")
    high: FiniteOrNull
    least: FiniteOrNull = Field(description="The lowest change of a trace.")
    most: FiniteOrNull = Field(description="The highest one.")


class ComparisonAnswer(Answer):
    """Two sides, and the verdicts on the traces of a query, worst first."""

    repository: str
    base: ComparisonSideAnswer
    head: ComparisonSideAnswer
    query: str
    summary: str = Field(description="What of the samples of a run is compared.")
    by_samples: bool = Field(
        default=False,
        description="Whether samples of a base file replace its runs, which are too few: changes are conditional.",
    )
    condition: str = Field(
        default="",
        description="What the verdicts depend on: another machine, or what most benchmarks do together; empty for "
        "nothing.",
    )
    again: bool = Field(
        default=False, description="Whether to measure again: most benchmarks moved together on a machine alike."
    )
    warnings: list[str] = Field(
        default=[],
        description="What to know beside the verdicts: canaries that moved, and what is odd in results files.",
    )
    selected: int = Field(description="Traces of the query.")
    compared: int = Field(description="Those with a value on either side.")
    counts: dict[Verdict, int] = Field(description="Verdicts on the traces that decide.")
    mean: ComparedMeanAnswer
    false_positives: float = Field(
        description="Share of unchanged commits at which any of the traces regresses by its values."
    )
    replayed: int = Field(description="Past commits that the bars come from.")
    profiled: list[str] = Field(
        default=[], description="Benchmarks with profiles of both commits; none for callers who may not read profiles."
    )
    total: int = Field(description="Traces that the list has in all.")
    by: str = Field(description="The param that divides the list into suites, empty for one list.")
    suites: list[ComparedSuiteAnswer] = Field(description="The suites, that with the worst trace first.")
    traces: list[JudgedBenchmarkAnswer]


# Build the list of a comparison: its benchmarks, those that changed first, or by suite with a sum for each.


_CHANGED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})
_FEWEST_TRACES: Final = 2
"""Traces that a suite has on average at least: a sum of one row says nothing that the row does not."""

_DIGITS: Final = 6
_MOST_LOG: Final = 700.0
"""Beyond it, a ratio is no number."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which benchmarks are listed: only changes or all, in one list or by suite, and which of them."""

    changed: bool
    by_suite: bool
    first: int
    limit: int


@dataclass(frozen=True, slots=True)
class BenchmarkList:
    """The listed benchmarks, ``total`` in all.

    ``by`` is the param that parts them into suites, "" where there are none.
    """

    total: int
    traces: list[JudgedBenchmarkAnswer]
    by: str
    suites: list[ComparedSuiteAnswer]


def list_benchmarks(report: GateReport, wanted: ListRequest) -> BenchmarkList:
    """Return a list, what changed first; by suite, that with the worst row comes first, and its rows follow it."""
    worst = sorted(report.benchmarks, key=lambda each: (*each.changed_first, each.trace, each.unit))
    params = {each.trace: dict(each.params) for each in worst}
    by = _suite_param([params[each.trace] for each in worst]) if wanted.by_suite else ""
    names = {trace: found.get(by, "") if by else "" for trace, found in params.items()}
    counts: dict[str, Counter[Verdict]] = {}
    for each in worst:
        suite = counts.setdefault(names[each.trace], Counter())
        if each.decides:
            suite[each.verdict] += 1
    places = {name: place for place, name in enumerate(counts)}
    worst.sort(key=lambda each: places[names[each.trace]])
    listed = [each for each in worst if not wanted.changed or each.verdict in _CHANGED]
    return BenchmarkList(
        len(listed),
        [
            JudgedBenchmarkAnswer.of(
                each,
                suite=names[each.trace],
                accepted=each.accepted.reason if each.accepted else None,
                fails=report.standing(each) is Standing.FAILS,
                past=_short(each.past),
                new=_short(each.new),
            )
            for each in listed[wanted.first : wanted.first + wanted.limit]
        ],
        by,
        [ComparedSuiteAnswer(name=name, counts=dict(found)) for name, found in counts.items()] if by else [],
    )


def mean_change(benchmarks: Sequence[JudgedBenchmark]) -> ComparedMeanAnswer:
    """Average the changes of the benchmarks that decide; an interval of each says how well the mean is known."""
    known = [each for each in benchmarks if each.decides and -1 < each.relative_size < math.inf]
    known = [each for each in known if each.better is not Better.UNKNOWN] or known
    betters = {each.better for each in known}
    better = next(iter(betters)) if len(betters) == 1 else Better.LOWER
    signs = [-1.0 if each.better is not better else 1.0 for each in known]
    logs = [sign * math.log1p(each.relative_size) for sign, each in zip(signs, known, strict=True)]
    if not known:
        return ComparedMeanAnswer(
            traces=0, better=Better.UNKNOWN, change=None, low=None, high=None, least=None, most=None
        )
    mean = math.fsum(logs) / len(logs)
    # Half of an interval over the ratio is that of its logarithm, to the first order.
    halves = [(each.high - each.low) / 2 / (1 + each.relative_size) for each in known]
    half = math.sqrt(math.fsum(part * part for part in halves)) / len(logs)
    changes = (mean, mean - half, mean + half, min(logs), max(logs))
    change, low, high, least, most = (math.expm1(each) if abs(each) < _MOST_LOG else math.nan for each in changes)
    return ComparedMeanAnswer(
        traces=len(known), better=better, change=change, low=low, high=high, least=least, most=most
    )


def _suite_param(params: Sequence[dict[str, str]]) -> str:
    """Return the first usual param of suites that parts the traces into several, "" for none."""
    for name in SUITE_PARAMS:
        count = len({each.get(name, "") for each in params})
        if 1 < count <= min(MOST_PARTS, len(params) // _FEWEST_TRACES):
            return name
    return ""


def _short(values: tuple[float, ...]) -> list[float]:
    """Return values with as many digits as a drawing shows."""
    return [float(f"{value:.{_DIGITS}g}") for value in values]


# Build the answers about two commits that are compared, or about results that someone sends; what is sent is not
# stored.


_MOST_COMPARED: Final = 2_000
"""Traces of one comparison: all of them are read and judged together."""

_MOST_WARNINGS: Final = 20


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What to compare: a revision on a line each, the traces of ``query``, and which part of the list."""

    repository: str
    line: str
    head_line: str
    base: str
    head: str
    query: str
    summary: str
    values: int
    listed: ListRequest


@dataclass(frozen=True, slots=True)
class UploadedRequest:
    """What the results of the file ``name`` are compared with, and which part of the list is wanted.

    The base is a revision, or with a ``base_name`` or ``base_bytes`` another file: so many bytes of the body, from its
    beginning. ``partial`` says that the new results lack benchmarks on purpose.
    """

    repository: str
    line: str
    base: str
    base_name: str
    base_bytes: int
    name: str
    query: str
    summary: str
    partial: bool
    listed: ListRequest


@dataclass(frozen=True, slots=True)
class FlameGraphRequest:
    """The two commits whose profiles are compared, a revision on a line each; "" is the first benchmark with both."""

    repository: str
    line: str
    head_line: str
    base: str
    head: str
    benchmark: str


def compare(visible: VisibleRepositories, instance: Instance, wanted: ComparisonRequest) -> ComparisonAnswer:
    """Return the verdicts on the traces of a query.

    Raises:
        HistoryError: the repository, the line or a commit does not exist, or a commit is not on its line.
        InputError: the query selects too many traces, or the head does not come after the base.
        QueryError: the query cannot be read.
    """
    store = visible.store
    base_line = visible.line(wanted.repository, wanted.line)
    head_line = visible.line(wanted.repository, wanted.head_line) if wanted.head_line else base_line
    base = find_revision(instance, base_line, wanted.base)
    head = find_revision(instance, head_line, wanted.head)
    ids = store.traces.select(base_line.repository, parse_query(wanted.query))
    if len(ids) > _MOST_COMPARED:
        raise InputError(
            f"the query selects {len(ids):,} traces",
            where="query",
            remedy=f"Select at most {_MOST_COMPARED:,}, for example one benchmark, suite or configuration.",
        )
    options = GateOptions(wanted.query, wanted.summary)
    report = judge_commits(instance, base, head, ids.tolist(), options, values=wanted.values)
    sides = _commit_side(store, base), _commit_side(store, head)
    profiled = profiled_benchmarks(visible, base_line.repository, _slots(base, head))
    return _answer(base_line.repository.name, sides, report, wanted, selected=len(ids), profiled=profiled)


def read_compared_flame_graph(
    visible: VisibleRepositories, instance: Instance, wanted: FlameGraphRequest
) -> FlameGraphAnswer:
    """Return the differential flame graph of two commits.

    Raises:
        FormatError: a profile is damaged.
        HistoryError: the repository, the line or a commit does not exist, or a commit is not on its line.
        NotSignedInError: the caller may not read profiles.
        UnknownError: there are no profiles of the benchmark at both commits.
    """
    base_line = visible.line(wanted.repository, wanted.line)
    head_line = visible.line(wanted.repository, wanted.head_line) if wanted.head_line else base_line
    base, head = find_revision(instance, base_line, wanted.base), find_revision(instance, head_line, wanted.head)
    return read_flame_graph_of_commits(visible, instance, base_line.repository, _slots(base, head), wanted.benchmark)


def _slots(base: LinePosition, head: LinePosition) -> tuple[int, int]:
    return base.line.slots[base.position], head.line.slots[head.position]


def compare_uploaded(
    visible: VisibleRepositories, instance: Instance, data: bytes, wanted: UploadedRequest
) -> ComparisonAnswer:
    """Return the verdicts on the results of a file, judged against the history up to a commit, or against another file.

    Raises:
        DeadlineError: the time of the request is up.
        FormatError: a file cannot be read; ``where`` names it and the place in it.
        HistoryError: the repository, the line or the commit does not exist, or the commit is not on the line.
        InputError: a file has no results or those of too many traces, the new results are of several commits, the query
            selects nothing, or an option cannot be.
        QueryError: the query cannot be read.
    """
    if wanted.base_name or wanted.base_bytes:
        return _compare_files(visible, instance, data, wanted)
    line = visible.line(wanted.repository, wanted.line)
    base = find_revision(instance, line, wanted.base)
    read = _read(instance, data, wanted.name, line.repository.name)
    report = judge_upload(instance, read, _options(wanted), file=wanted.name, base=base)
    sides = _commit_side(visible.store, base), ComparisonSideAnswer(file=wanted.name, runs=len(read.runs))
    return _answer(line.repository.name, sides, report, wanted)


def _compare_files(
    visible: VisibleRepositories, instance: Instance, data: bytes, wanted: UploadedRequest
) -> ComparisonAnswer:
    """Return the verdicts on one part of a body against the other; the history only says which traces it knows."""
    if wanted.base_bytes > len(data):
        raise InputError(
            f"base_bytes is {wanted.base_bytes:,}, and the body has {len(data):,} bytes",
            where="base_bytes",
            remedy="Send the base first and the new results directly behind it; base_bytes is the size of the base.",
        )
    repository = visible.choose(wanted.repository) if wanted.repository or visible.all() else None
    name = repository.name if repository else ""
    before, after = wanted.base_name or "base", wanted.name
    if before == after:
        before, after = f"base {before}", f"new {after}"
    base = _read(instance, data[: wanted.base_bytes], before, name)
    new = _read(instance, data[wanted.base_bytes :], after, name)
    report = judge_files(
        instance.config,
        base,
        new,
        _options(wanted),
        against=[before],
        file=after,
        directions=visible.store.traces.directions,
        repository=name,
        named=True,
    )
    sides = (
        ComparisonSideAnswer(file=before, runs=len(base.runs)),
        ComparisonSideAnswer(file=after, runs=len(new.runs)),
    )
    return _answer(name, sides, _with_known_ids(visible.store, repository, report), wanted)


def _options(wanted: UploadedRequest) -> GateOptions:
    return GateOptions(wanted.query, wanted.summary, partial=wanted.partial)


def _with_known_ids(store: Store, repository: Repository | None, report: GateReport) -> GateReport:
    """Return ``report`` with the ids of those of its traces that the history has."""
    if repository is None:
        return report
    found = store.traces.find_ids(repository, [each.trace for each in report.benchmarks])
    known = store.traces.get([number for ids in found.values() for number in ids])
    ids = {(trace.key, trace.dimension): trace.id for trace in known}
    benchmarks = tuple(
        replace(each, trace_id=ids.get((each.trace, read_unit(each.unit).dimension))) for each in report.benchmarks
    )
    return replace(report, results=replace(report.results, benchmarks=benchmarks))


def _answer(
    repository: str,
    sides: tuple[ComparisonSideAnswer, ComparisonSideAnswer],
    report: GateReport,
    wanted: ComparisonRequest | UploadedRequest,
    *,
    selected: int | None = None,
    profiled: list[str] | None = None,
) -> ComparisonAnswer:
    """Return the answer.

    ``selected`` are the traces of the query, where there may be more than those that were judged.
    """
    compared = len(report.benchmarks)
    return ComparisonAnswer.of(
        list_benchmarks(report, wanted.listed),
        report.results,
        repository=repository,
        base=sides[0],
        head=sides[1],
        query=wanted.query,
        summary=wanted.summary,
        condition=report.condition,
        again=report.again,
        warnings=list(report.warnings[:_MOST_WARNINGS]),
        selected=compared if selected is None else selected,
        compared=compared,
        counts=dict(report.results.counts),
        profiled=profiled or [],
        mean=mean_change(report.benchmarks),
    )


def _commit_side(store: Store, at: LinePosition) -> ComparisonSideAnswer:
    """Return the side of a comparison that is a commit."""
    [found] = store.commits.get(at.line.repository, [at.line.slots[at.position]])
    return ComparisonSideAnswer(line=at.line.name, commit=commit_answer(found.commit, at.position))


def _read(instance: Instance, data: bytes, name: str, repository: str) -> NewResults:
    """Read a file and keep nothing of it."""
    read = read_separately(instance, data, name=name, repository=repository)
    keys = {key for run in read.runs for key in run.results.keys}
    if len(keys) > _MOST_COMPARED:
        raise InputError(
            f"the file has results of {len(keys):,} traces",
            where=name,
            remedy=f"Send at most {_MOST_COMPARED:,}, or use knick check, which has no such limit.",
        )
    return read
