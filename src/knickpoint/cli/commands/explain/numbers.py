"""Print everything that was decided about a trace: every step, every candidate, every check.

``knick explain --verbose``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from knickpoint.cli.evidence import check_lines, detection_lines, outcome_of
from knickpoint.cli.output import percent
from knickpoint.model.quantity_text import flipping_text

if TYPE_CHECKING:
    from knickpoint.model.commit import SlottedCommit
    from knickpoint.watch.explanation import AlertExplanation, ExplainedStep, Explanation


def _commit(slotted: SlottedCommit) -> str:
    return f"{slotted.commit.hash[:10]} {slotted.commit.subject}"


def _step(step: ExplainedStep) -> str:
    held = step.point is not None and step.point.held
    sure = step.point.certainty if step.point and held else step.sighting.settlement.certainty
    reason = step.point.certainty_reason if step.point and held else step.sighting.settlement.reason
    certainty = sure.value + (f", {reason}" if reason else "")
    known = (
        f"change point P{step.point.id}, {step.point.effective_status.value}, {certainty}"
        if step.point
        else "not recorded yet: knick run"
    )
    status = f"rejected by the alert: {step.reason}" if step.reason else known
    return f"    step at {_commit(step.commit)}: {percent(step.sighting.numbers.relative_size)} ({status})"


def _alert_lines(explained: AlertExplanation, unit: str, *, at: bool) -> Iterator[str]:
    yield f"alert {explained.alert.name} (method {explained.alert.method}, line {explained.line})"
    if explained.reason:
        yield f"  does not judge this trace: {explained.reason}"
        return
    if explained.detection is None:
        yield from cluster_lines(explained)
        return
    yield from (f"  {line}" for line in detection_lines(explained.detection))
    for flipping in explained.flipping:
        where = f"{flipping.first.commit.hash[:10]} to {flipping.last.commit.hash[:10]}"
        yield f"  {flipping_text(flipping.stretch, unit)}, from {where}"
    yield f"  steps: {len(explained.steps)}" + (" near the commit" if at else "")
    for step in explained.steps:
        yield _step(step)
        if at:
            yield from (f"      {line}" for line in check_lines(step.evidence))
    yield f"  candidates: {len(explained.candidates)}" + (" near the commit" if at else "")
    for each in explained.candidates:
        yield f"    at {_commit(each.commit)}: {each.note or outcome_of(each.candidate)}"
        if at or not each.candidate.accepted:
            yield from (f"      {line}" for line in check_lines(each.candidate.checks))
    if explained.omitted:
        yield f"  {explained.omitted} candidates elsewhere are left out"


def cluster_lines(explained: AlertExplanation) -> Iterator[str]:
    """Yield the clusters that the trace was judged for, and the checks that say why it belongs, or does not."""
    yield f"  clusters that step with this trace or near it: {len(explained.candidates)}"
    for each in explained.candidates:
        yield f"    at {_commit(each.commit)}: {each.note}"
        yield f"      {f'change point P{each.point.id}' if each.point else each.candidate.reason or 'no change point'}"
        yield from (f"      {line}" for line in check_lines(each.candidate.checks))
    if explained.omitted:
        yield f"  {explained.omitted} clusters elsewhere are left out"


def number_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the decisions of every alert about a trace, with every number."""
    yield f"{explanation.trace.key} in {explanation.repository}: {explanation.measured} measured commits"
    if explanation.at is not None:
        yield f"at {_commit(explanation.at)}"
    for each in explanation.quarantines:
        quarantine = each.quarantine
        yield (
            f"is excluded from levels: the result at {_commit(each.commit)} is {quarantine.state.value} "
            f"(Q{quarantine.id})"
        )
        yield f"  {quarantine.reason}"
    for change in explanation.changes:
        yield f"R{change.change_id}: {change.text}"
    for bisection in explanation.bisections:
        yield f"search for the commit of R{bisection.change_id}: bisection {bisection.text}"
    for alert in explanation.alerts:
        yield from _alert_lines(alert, explanation.trace.unit, at=explanation.at is not None)
