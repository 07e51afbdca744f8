"""Answer in at most seven lines: may this be merged?"""

from __future__ import annotations

import math
from collections.abc import Callable

from knickpoint.gate.report import GateReport
from knickpoint.model.judged_benchmark import HOPELESS, JudgedBenchmark, ResultKind
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.pull_request_check import Attribution
from knickpoint.model.quantity_text import crosses_zero, levels_text, number_text, percent_text, value_text

LONGEST_REASON = 300
"""Characters of a reason from outside, such as the output of a failed benchmark."""

_ENORMOUS_PERCENT = 1e8
"""Percent from which on digits say nothing."""
_LEAST_PERCENT = 0.05
"""Percent below which one decimal says that nothing changed."""
_LONGEST_NAME = 120
_ENOUGH = 3
"""Results files from which on what comes and goes within one of them is seen as noise."""

_ORDER = (
    ResultKind.REGRESSED,
    ResultKind.IMPROVED,
    ResultKind.UNCHANGED,
    ResultKind.UNSTABLE,
    ResultKind.NO_DATA,
    ResultKind.FAILED,
    ResultKind.VANISHED,
)


def answer(report: GateReport, name: Callable[[str], str] = str) -> list[str]:
    """Return the answer: verdict, base, counts, the worst change, the rate of false positives, what could be seen.

    ``name`` writes what comes from outside, such as names and reasons, as the form of the report needs it.
    """
    lines = [headline(report, name), name(report.base), counts(report)]
    if (worst := report.worst) is not None:
        lines.append(f"Worst: {name(title(worst))}, {levels(worst)}, {change(worst)}.")
    lines += [f"Profiles: {name(cause)}" for cause in report.causes]
    if report.accepted:
        row = report.accepted[0]
        assert row.accepted is not None
        rest = f", and {len(report.accepted) - 1} more" if len(report.accepted) > 1 else ""
        by, why = plain_line(row.accepted.author, _LONGEST_NAME), plain_line(row.accepted.reason, LONGEST_REASON)
        lines.append(f"Accepted: {name(title(row))} by {name(by)}: {name(why)}{rest}.")
    if report.results.replayed:
        where = " on a machine like that of the history" if report.results.move.unlike else ""
        lines.append(
            f"At most {percent_text(report.results.false_positives)} of unchanged pull requests fail{where}, over all "
            f"benchmarks together (set from {counted(report.results.replayed, 'past commit')})."
        )
    seen = _visible(report)
    return [*lines, seen] if seen else lines


def next_steps(report: GateReport, name: Callable[[str], str] = str) -> list[str]:
    """Return the next steps after the verdict, a sentence each; ``name`` writes names, commands and trailers."""
    steps = []
    unlike = any(
        row.kind is ResultKind.UNSTABLE and row.conditional and row.attribution is Attribution.NONE
        for row in report.deciding
    )
    if report.again or unlike or any(row.conditional for row in report.failures):
        turns = name("knick compare BASE HEAD")
        steps.append(f"Measure again: run the job again, or measure both sides in turns on one machine, by {turns}.")
    if report.failures:
        accepted = name(f"Knickpoint-Accept: {report.failures[0].benchmark}, REASON")
        steps.append(f"If it is worth it, accept it by a line in a commit message: {accepted}.")
    if report.environment:
        steps.append("Measure main again and import it, so that the history has the new environment.")
    noisy = (row for row in report.deciding if row.attribution is not Attribution.ENVIRONMENT)
    if any(row.kind is ResultKind.UNSTABLE and not row.together and not row.conditional for row in noisy):
        steps.append(
            f"If runs are slow at times, compare the minimum of their samples: {name('knick check --summary min')}."
        )
    return steps


def headline(report: GateReport, name: Callable[[str], str] = str) -> str:
    """Return the verdict after the name of the job and its condition, if it has them; ``name`` writes those."""
    job = f"{name(plain_line(report.name, _LONGEST_NAME))}: " if report.name else ""
    condition = f"{name(report.condition)} " if report.condition else ""
    return f"{job}{condition}{report.verdict}"


def counts(report: GateReport) -> str:
    """Return the number of benchmarks of each kind; zeros are left out but for regressed and improved."""
    found = report.counts
    shown = [kind for kind in _ORDER if found[kind] or kind in {ResultKind.REGRESSED, ResultKind.IMPROVED}]
    return ", ".join(f"{found[kind]:,} {kind.value}" for kind in shown) + "."


def title(row: JudgedBenchmark) -> str:
    """Return the name of a row as a line that cannot change how the text around it is shown."""
    return plain_line(f"{row.benchmark} {row.label}".rstrip(), _LONGEST_NAME)


def levels(row: JudgedBenchmark) -> str:
    """Return before and after with the unit, "" without numbers."""
    if math.isnan(row.before) or math.isnan(row.after):
        return ""
    return levels_text(row.before, row.after, plain_line(row.unit, 24))


def change(row: JudgedBenchmark) -> str:
    """Return the relative change with its 95 % interval: ``+12.3 % (+10.1 … +14.5)``; "" without numbers."""
    if math.isnan(row.relative_size):
        return ""
    if not math.isfinite(row.relative_size):
        return "from 0"
    if crosses_zero(row.before, row.after):
        size = row.after - row.before
        return f"{'+' if size > 0 else ''}{value_text(size, plain_line(row.unit, 24))}"
    text = f"{_signed(row.relative_size)} %"
    known = math.isfinite(row.low) and math.isfinite(row.high)
    return f"{text} ({_signed(row.low)} … {_signed(row.high)})" if known else text


def reason(row: JudgedBenchmark) -> str:
    """Return the reason for the verdict of a row, and the person who accepted it."""
    text = row.reason
    if row.accepted is not None:
        text = f"accepted by {row.accepted.author} in {row.accepted.commit[:12]}: {row.accepted.reason}; {text}"
    return plain_line(text, LONGEST_REASON)


def found_from(row: JudgedBenchmark) -> str:
    """Return the smallest change that would be found, "" where it is unknown or the noise hides everything."""
    return percent_text(row.detectable) if row.detectable < HOPELESS else ""


def _signed(share: float) -> str:
    percent = share * 100
    if 0 < abs(percent) < _LEAST_PERCENT:
        # Counters without noise: +0.0 % would say that nothing changed.
        return f"{'+' if percent > 0 else ''}{number_text(percent, 1)}"
    return f"{percent:{'+.1f' if abs(percent) < _ENORMOUS_PERCENT else '+.3g'}}".replace("-", "−")


def _visible(report: GateReport) -> str:
    """Return the changes that could have been found, "" if nothing was judged by its values."""
    known = sorted(row.detectable for row in report.deciding if not math.isnan(row.detectable))
    if not known:
        return ""
    middle, most = known[len(known) // 2], known[min(len(known) - 1, math.ceil(0.9 * len(known)) - 1)]
    if not middle < HOPELESS:
        text = "The noise is too large to find changes in half of the benchmarks."
        once = max(row.samples for row in report.deciding) < _ENOUGH
        return f"{text} Measure three times: samples in one results file count once." if once else text
    if not middle:
        rest = f", those from {percent_text(most)} in nine of ten" if 0 < most < HOPELESS else ""
        return f"Any change is found in half of the benchmarks{rest}." if most else "Any change is found."
    text = f"Changes from {percent_text(middle)} are found in half of the benchmarks"
    return f"{text}, from {percent_text(most)} in nine of ten." if most < HOPELESS else f"{text}."
