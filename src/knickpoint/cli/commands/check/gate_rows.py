"""Turn the verdicts on new results into the report that people read."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from knickpoint.cli.output import Column, Row
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import trace_name
from knickpoint.model.query import parse_query
from knickpoint.model.step import Verdict
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.reports import Acceptance, GateReport, GateRow, RowKind, Standing

if TYPE_CHECKING:
    from knickpoint.ingest.comparison_base import Base
    from knickpoint.instance import CanarySettings
    from knickpoint.watch.results_check import CheckedTrace, CheckReport

__all__ = [
    "COLUMNS",
    "NO_HISTORY",
    "base_sentence",
    "canary_keys",
    "files_sentence",
    "gate_report",
    "standing_fields",
]

COLUMNS = tuple(
    Column(name)
    for name in (
        "verdict", "trace", "relative_size", "detectable_relative", "samples", "reason", "unit", "level", "centre", "low",
        "high", "detectable", "p_value", "conditional", "margin", "decides", "accepted", "fails", "false_positives", "base",
        "base_time", "base_subject", "base_reason", "base_commits", "head",
    )
)  # fmt: skip
"""The columns of rows for programs; the last one is for two commits."""

NO_HISTORY = "there is no history yet"

_NEXT = (
    "Import the results of five commits of main (knick import FILE). If main has results already, this job does not have them:"
    " look where it keeps the instance."
)
"""What to do about an empty history: a new project has no other, and a job may have lost its own."""

_ENOUGH = 5
"""Runs of the base from which on their own noise is known."""

_KINDS = {
    Verdict.REGRESSED: RowKind.REGRESSED,
    Verdict.IMPROVED: RowKind.IMPROVED,
    Verdict.UNCHANGED: RowKind.UNCHANGED,
    Verdict.UNSTABLE: RowKind.UNSTABLE,
    Verdict.NO_DATA: RowKind.NO_DATA,
}


def base_sentence(base: Base | None, report: CheckReport, newest: str, summary: Summary = MEDIAN) -> str:
    """Return the sentence about the base; ``newest`` is the hash of the last measured commit up to it.

    Where the ``summary`` that is compared is not the median, another sentence says so.
    """
    return _with_summary(_base_sentence(base, report, newest), summary)


def files_sentence(files: Sequence[str], runs: int, report: CheckReport, summary: Summary) -> str:
    """Return the sentence about the files that are the base, and what of them is compared."""
    found = f"Base: {' '.join(files)}, {counted(runs, 'run')}."
    if report.by_samples:
        found += (
            " That is too few to know how runs differ, so their samples stand for them, and changes are conditional: measure"
            f" both sides {_ENOUGH} times to be sure."
        )
    return _with_summary(found, summary)


def _with_summary(sentence: str, summary: Summary) -> str:
    return sentence if summary == MEDIAN else f"{sentence} Compared: the {summary} of the samples of each run."


def _base_sentence(base: Base | None, report: CheckReport, newest: str) -> str:
    if base is None:
        return f"Base: none, {NO_HISTORY}. {_NEXT}"
    if base.commit is None:
        return f"Base: none, {base.reason}."
    commit = base.commit.commit
    subject = f" {commit.subject!r}" if commit.subject else ""
    count = counted(report.measured, "measured commit")
    history = f"{count}, the newest {newest[:12]}" if report.measured else "no results of these benchmarks"
    return f"Base: {commit.hash[:12]}{subject} of {commit.time:%Y-%m-%d %H:%M} UTC, {base.reason}. History: {history}."


def canary_keys(settings: Iterable[CanarySettings], repository: str, keys: Iterable[str]) -> frozenset[str]:
    """Return those of ``keys`` that are canaries, which no commit should change."""
    queries = [parse_query(canary.query) for canary in settings if canary.repository in {"", repository}]
    if not queries:
        return frozenset()
    return frozenset(key for key in keys if any(query.matches(decode_key(key)) for query in queries))


def gate_report(
    report: CheckReport,
    *,
    repository: str,
    base: str,
    fail_on: Collection[Verdict],
    canaries: Collection[str] = (),
    accepted: Mapping[str, Acceptance] | None = None,
    address: str = "",
    has_history: bool = True,
) -> GateReport:
    """Return the report for people; ``address`` is that of the dashboard, "" for none.

    ``has_history`` says whether anything is stored to compare with.
    """
    shared = _shared_params([trace.key for trace in report.traces])
    rows = [
        _row(trace, shared, canary=trace.key in canaries, accepted=(accepted or {}).get(trace.key), address=address)
        for trace in report.traces
    ]
    return GateReport(
        repository,
        base,
        tuple(rows),
        report.false_positives,
        report.replayed,
        frozenset(fail_on),
        has_history=has_history,
    )


def standing_fields(report: GateReport, row: GateRow) -> Row:
    """Return the columns that say what the check makes of a row."""
    return {
        "decides": row.decides and not row.canary,
        "accepted": row.accepted.reason if row.accepted else None,
        "fails": report.standing(row) is Standing.FAILS,
    }


def _row(
    trace: CheckedTrace, shared: Collection[str], *, canary: bool, accepted: Acceptance | None, address: str
) -> GateRow:
    judgement = trace.judgement
    name, _ = trace_name(decode_key(trace.key))
    params = {key: value for key, value in decode_key(trace.key).items() if key not in shared}
    others = " ".join(f"{key}={value}" for key, value in params.items() if value != name)
    known = trace.trace is not None and bool(address)
    key = quote(trace.key, safe="")
    return GateRow(
        key=trace.key,
        name=name,
        params=others,
        kind=_kind(trace),
        verdict=judgement.verdict,
        reason=judgement.reason,
        unit=trace.unit,
        before=judgement.centre,
        after=judgement.level,
        relative=judgement.relative_size,
        margin=trace.margin / abs(judgement.centre) if judgement.centre else math.nan,
        detectable=judgement.detectable_relative,
        samples=judgement.samples,
        conditional=judgement.conditional,
        decides=trace.decides,
        canary=canary,
        accepted=accepted,
        address=f"{address}/trace/{trace.trace.id}" if known and trace.trace is not None else "",
        picture=f"{address}/api/v1/traces/{key}/plot.png" if known else "",
    )


def _kind(trace: CheckedTrace) -> RowKind:
    if trace.judgement.verdict is Verdict.REGRESSED and trace.has_failed:
        return RowKind.FAILED
    return RowKind.VANISHED if trace.vanished else _KINDS[trace.judgement.verdict]


def _shared_params(keys: Collection[str]) -> frozenset[str]:
    """Return the names of the params that all keys have with the same value: they tell no row from another."""
    rows = [set(decode_key(key).items()) for key in keys]
    return frozenset(name for name, _ in set.intersection(*rows)) if len(rows) > 1 else frozenset()
