"""Turn the end of a comparison into the report that people read, and into rows for programs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from knickpoint.bisect.comparison import ComparedBenchmark, ComparisonEnd, ComparisonRules
from knickpoint.cli.commands.check.gate_rows import standing_fields
from knickpoint.cli.output import Row
from knickpoint.model.commit import Commit
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.quantity_text import percent_text, trace_name
from knickpoint.model.step import Verdict
from knickpoint.reports import Acceptance, GateReport, GateRow, RowKind

__all__ = ["comparison_report", "comparison_rows"]

_LONGEST_SUBJECT = 80
_KINDS = {
    Verdict.REGRESSED: RowKind.REGRESSED,
    Verdict.IMPROVED: RowKind.IMPROVED,
    Verdict.UNCHANGED: RowKind.UNCHANGED,
    Verdict.UNSTABLE: RowKind.UNSTABLE,
    Verdict.NO_DATA: RowKind.NO_DATA,
}


def comparison_rows(
    end: ComparisonEnd, base: Commit, head: Commit, rules: ComparisonRules, gate: GateReport
) -> list[Row]:
    """Return one row a benchmark; ``low`` and ``high`` are the 95 % interval of the level of the head."""
    return [
        {
            "verdict": each.verdict.value,
            "trace": each.key,
            "relative_size": each.relative,
            "detectable_relative": each.detectable,
            "samples": each.rounds,
            "reason": each.reason,
            "unit": each.unit,
            "level": each.after,
            "centre": each.before,
            "low": each.before + abs(each.before) * each.low,
            "high": each.before + abs(each.before) * each.high,
            "detectable": each.detectable * abs(each.before),
            "p_value": each.p_value,
            "conditional": False,
            "margin": _margin(each) * abs(each.before),
            **standing_fields(gate, row),
            "false_positives": rules.false_positives,
            "base": base.hash,
            "base_time": base.time.isoformat() if base.has_time else None,
            "base_subject": base.subject,
            "base_reason": end.reason,
            "base_commits": 1,
            "head": head.hash,
        }
        for each, row in zip(end.benchmarks, gate.rows, strict=True)
    ]


def comparison_report(
    end: ComparisonEnd,
    base: Commit,
    head: Commit,
    rules: ComparisonRules,
    fail_on: Collection[Verdict],
    *,
    canaries: Collection[str] = (),
    accepted: Mapping[str, Acceptance] | None = None,
) -> GateReport:
    """Return the report for people; ``canaries`` decide nothing, and what commits accept does not fail."""
    shared = _shared_params(end.benchmarks)
    sentence = (
        f"Base {base.hash[:12]} {_subject(base)}, head {head.hash[:12]} {_subject(head)}, measured in turns on this machine;"
        f" {counted(end.rounds, 'round')}: {end.reason}."
        f" At most {percent_text(rules.false_positives)} of comparisons without a change end as regressed, over all"
        " benchmarks together."
    )
    known = accepted or {}
    rows = tuple(
        replace(_row(each, shared), canary=each.key in canaries, accepted=known.get(each.key))
        for each in end.benchmarks
    )
    return GateReport("", sentence, rows, rules.false_positives, 0, frozenset(fail_on), complete=_is_complete(end))


def _is_complete(end: ComparisonEnd) -> bool:
    """Return whether no benchmark waits for rounds that were not made; a limit that is reached leaves a verdict."""
    waiting = [each for each in end.benchmarks if not each.decided]
    return not waiting or (not end.interrupted and all(each.verdict is not Verdict.NO_DATA for each in waiting))


def _row(each: ComparedBenchmark, shared: Collection[str]) -> GateRow:
    params = decode_key(each.key)
    name, _ = trace_name(params)
    others = " ".join(f"{key}={value}" for key, value in params.items() if key not in shared and value != name)
    return GateRow(
        key=each.key,
        name=name,
        params=others,
        kind=RowKind.FAILED if each.failed else RowKind.VANISHED if each.vanished else _KINDS[each.verdict],
        verdict=each.verdict,
        reason=each.reason,
        unit=each.unit,
        before=each.before,
        after=each.after,
        relative=each.relative,
        margin=_margin(each),
        # Exact values say nothing about what noise hides, and too few rounds nothing at all.
        detectable=each.detectable if 0 < each.detectable < math.inf else math.nan,
        samples=each.rounds,
    )


def _margin(each: ComparedBenchmark) -> float:
    """Return half of the width of the 95 % interval of the change; nan without one."""
    return (each.high - each.low) / 2 if math.isfinite(each.low) and math.isfinite(each.high) else math.nan


def _subject(commit: Commit) -> str:
    return repr(plain_line(commit.subject, _LONGEST_SUBJECT))


def _shared_params(benchmarks: Sequence[ComparedBenchmark]) -> frozenset[str]:
    """Return the names of the params that all benchmarks have with the same value."""
    rows = [set(decode_key(each.key).items()) for each in benchmarks]
    return frozenset(name for name, _ in set.intersection(*rows)) if len(rows) > 1 else frozenset()
