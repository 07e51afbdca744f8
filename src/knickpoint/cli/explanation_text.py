"""An explanation as text: in five sentences (change, noise, comparison, reason, and what if), or with every number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.cli.evidence import check_lines, detection_lines, outcome_of
from knickpoint.cli.output import percent
from knickpoint.model.alert import SINCE_START
from knickpoint.model.change_point import Condition
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import (
    chance_text,
    change_text,
    crosses_zero,
    figure_text,
    flipping_text,
    interval_text,
    levels_text,
    number_text,
    over_text,
    reference_text,
    trace_name,
    value_text,
)
from knickpoint.model.settlement import FindingKind
from knickpoint.model.unit import read_unit

if TYPE_CHECKING:
    from knickpoint.model.change_point import StepNumbers
    from knickpoint.model.commit import SlottedCommit
    from knickpoint.model.step import Check
    from knickpoint.watch.explanation import AlertExplanation, ExplainedCandidate, ExplainedStep, Explanation
    from knickpoint.watch.explanation.parts import ModeCause


# Explain a change of the noise in sentences: its spread, the levels on both sides, and how far its distribution
# changed.


_DIFFERENCE: Final = "largest difference of the shares below a bound"
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six")


def noise_sentences(name: str, commit: str, step: ExplainedStep, checks: Sequence[Check], unit: str) -> Iterator[str]:
    """Yield what changed about the noise of the trace ``name`` at ``commit``, by the ``checks`` of the candidate."""
    numbers = step.sighting.numbers
    known = {check.name: check.value for check in checks}
    if _DIFFERENCE not in known:
        before, after = (value_text(level, unit) for level in (numbers.before_level, numbers.after_level))
        yield (
            f"The values of {name} scatter by {after} around their level since {commit}, by {before} before"
            f" (one standard deviation, {percent(numbers.relative_size)})."
        )
        yield from _of_values(step)
        return
    yield f"The distribution of {name} changed at {commit}: {_levels_text(known, unit)}."
    yield from _of_values(step)
    spreads = (value_text(known[f"noise {when} (standard deviation)"], unit) for when in ("before", "after"))
    yield "The values scatter by {} around their level before, and by {} since (one standard deviation).".format(
        *spreads
    )
    yield (
        f"Up to {known[_DIFFERENCE] * 100:.0f} % of the values lie elsewhere, relative to the median; values of equal "
        f"rank lie {value_text(abs(numbers.size), unit)} apart on average, as a standard deviation."
    )


def _of_values(step: ExplainedStep) -> Iterator[str]:
    """Yield where the values lay before and lie since, where that is known."""
    if step.note:
        yield f"Values from {step.note}."


def _levels_text(known: Mapping[str, float], unit: str) -> str:
    """Return the number of levels before and after, with their places if there are several."""
    before, since = (int(known[f"levels {when}"]) for when in ("before", "since"))
    if before == since == 1:
        return "one level as before, with the values spread differently around it"
    return f"{_side(known, 'before', before, unit)} before, {_side(known, 'since', since, unit)} since"


def _side(known: Mapping[str, float], when: str, count: int, unit: str) -> str:
    word = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    if count == 1:
        return "one level"
    levels = ", ".join(
        f"{value_text(known[f'level {number} {when}'], unit)} "
        f"({known[f'share of the values at level {number} {when}'] * 100:.0f} %)"
        for number in range(1, count + 1)
    )
    return f"{word} levels ({levels})"


_NOISE: Final = "noise (standard deviation)"
"""The fact of a detection that the sentence about the noise uses where there is no step."""

_RELATIONS: Final[Mapping[str, str]] = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """Yield a heading, and a paragraph for each alert."""
    yield f"{explanation.trace.key} in {explanation.repository}: {counted(explanation.measured, 'measured commit')}"
    for each in explanation.quarantines:
        quarantine = each.quarantine
        yield (
            f"The result at {_commit_in_words(each.commit)} is excluded from levels (Q{quarantine.id}, "
            f"{quarantine.state.value}): {quarantine.reason}."
        )
    yield from _changes(explanation)
    for explained in explanation.alerts:
        yield ""
        yield f"alert {explained.alert.name}:"
        yield from (f"  {line}" for line in _alert(explanation, explained))


def _alert(explanation: Explanation, explained: AlertExplanation) -> Iterator[str]:
    if explained.reason:
        yield f"This alert does not judge the trace: {explained.reason.rstrip('.')}."
        return
    if explained.detection is None:
        yield from cluster_lines(explained)
        return
    if explained.alert.summary:
        yield from _of_summary(explained.alert.summary, explained.detection.facts)
    chosen = _chosen(explained)
    rejected = [each for each in explained.candidates if not each.candidate.accepted]
    if chosen:
        if chosen.distance and explanation.at:
            yield from _of_elsewhere(explanation.at, rejected, chosen)
        yield from _of_step(explanation, explained, chosen)
        yield from _others(explained, chosen)
    elif rejected:
        yield from _of_candidate(explanation, explained, max(rejected, key=_nearness))
    else:
        yield from _of_nothing(explanation, explained)
    for flipping in explained.flipping:
        yield (
            f"From {_commit_in_words(flipping.first)} to {_commit_in_words(flipping.last)} it"
            f" {flipping_text(flipping.stretch, explanation.trace.unit)}; its jumps are not changes."
        )
        if flipping.cause:
            yield _cause(flipping.cause, flipping.stretch.levels, explanation.trace.unit)


def _chosen(explained: AlertExplanation) -> ExplainedStep | None:
    """Return the step that the sentences are about: the newest one, or the nearest one to the commit asked for."""
    reported = [step for step in explained.steps if not step.reason]
    return min(reversed(reported or explained.steps), key=lambda step: step.distance, default=None)


def _changes(explanation: Explanation) -> Iterator[str]:
    """Yield what the changes are that the sentences are about, as everything that shows them says it."""
    steps = [step for explained in explanation.alerts if (step := _chosen(explained))]
    clusters = [each for explained in explanation.alerts if not explained.detection for each in explained.candidates]
    points = (*(step.point for step in steps), *(each.point for each in clusters))
    chosen = {point.change_id for point in points if point}
    for change in explanation.changes:
        if change.change_id in chosen:
            yield f"R{change.change_id}: {change.text}"


def _of_summary(summary: str, facts: Mapping[str, float]) -> Iterator[str]:
    """Name the statistic of the samples that the alert judges, and the number of commits without one."""
    few = int(facts.get(f"commits with too few samples for {summary}", 0))
    needed = int(facts.get(f"samples of a run that {summary} needs", 1))
    lacking = (
        f"; {counted(few, 'commit has', 'commits have')} fewer than the {needed:,} samples that it needs" if few else ""
    )
    yield f"It judges the {summary} of the samples of each run, not their median{lacking}."


def _commit_in_words(slotted: SlottedCommit) -> str:
    return (
        f"{slotted.commit.hash[:10]} ({slotted.commit.subject})" if slotted.commit.subject else slotted.commit.hash[:10]
    )


def _name(explanation: Explanation) -> str:
    return trace_name(decode_key(explanation.trace.key))[0] or explanation.trace.key


def _cause(cause: ModeCause, levels: Sequence[float], unit: str) -> str:
    """Return the levels with the text of the fact that explains each."""
    parts = [
        f"{value_text(levels[each.mode], unit)} with {each.text or 'none'} ({each.share * 100:.0f} % of its "
        f"{counted(each.count, 'value')})"
        for each in cause.texts
    ]
    return f"Its {cause.fact} explains the level of {cause.share * 100:.0f} % of these values: {', '.join(parts)}."


# A step


def _of_step(explanation: Explanation, explained: AlertExplanation, step: ExplainedStep) -> Iterator[str]:
    numbers, unit = step.sighting.numbers, explanation.trace.unit
    if step.sighting.kind is FindingKind.NOISE:
        yield from noise_sentences(
            _name(explanation), _commit_in_words(step.commit), step, _checks_at(explained, step), unit
        )
        yield _of_regions(explained, numbers)
        yield _why(explained, step)
        return
    moved = change_text(numbers.size, numbers.relative_size, unit, before=numbers.before_level)
    levels = levels_text(numbers.before_level, numbers.after_level, unit)
    drifts, modes = (step.sighting.kind is kind for kind in (FindingKind.DRIFT, FindingKind.MODE))
    verb = "has drifted and is" if drifts else "is"
    yield f"{_name(explanation)} {verb} {moved} since {_commit_in_words(step.commit)}: {levels}{_share(numbers, unit)}."
    yield from _of_values(step)
    if not numbers.after_level and numbers.before_level > 0 and read_unit(unit).dimension == "time":
        yield (
            "A time of exactly 0 may mean that the benchmark no longer does its work, or that it is too short for the "
            "clock."
        )
    over = over_text(numbers.over_reference, numbers.reference)
    if over:
        yield f"Its end is {over}, which the alert compares drifts with."
    elif drifts and explained.alert.since != SINCE_START:
        yield f"It is compared with its start: {reference_text(explained.alert.since)} says nothing about this drift."
    if numbers.deviation > 0:
        ratio = number_text(abs(numbers.size) / numbers.deviation, 2)
        between = interval_text(numbers.before_level, numbers.low, numbers.high, unit)
        chance = chance_text(numbers.sign)
        known = f"; its 95 % interval is {between}, and its sign is right with {chance}" if between else ""
        yield (
            f"Single values scatter by {value_text(numbers.deviation, unit)} around "
            f"{'their mode' if modes else 'these levels'} (one standard deviation), so the change is {ratio} times the noise{known}."
        )
    else:
        yield "Most values lie exactly on these levels, so there is no noise to compare the change with."
    if drifts:
        yield _of_slope(explained, numbers, unit)
    else:
        yield _of_regions(explained, numbers) + (_OF_MODES if modes else _of_levels(numbers))
    yield _why(explained, step)
    if step.machine:
        yield step.machine
    yield _what_if(explained, step, value_text(numbers.before_level, unit))


def _share(numbers: StepNumbers, unit: str) -> str:
    """Return the change over the level before in brackets, "" where that level is 0 or on the other side of it.

    Percents have their difference in points beside it: 3 % of 95 % are not 3 points.
    """
    if not math.isfinite(numbers.relative_size) or crosses_zero(numbers.before_level, numbers.after_level):
        return ""
    points = f"{number_text(numbers.size)} percentage points, " if unit == "%" else ""
    return f" ({points}{percent(numbers.relative_size)})"


def _of_regions(explained: AlertExplanation, numbers: StepNumbers) -> str:
    before, after = counted(numbers.before.count, "value"), counted(numbers.after.count, "value")
    return (
        f"The method {explained.alert.method} compared the {before} before, back to the previous change, with the "
        f"{after} from there on, up to the next one, on the line {explained.line}."
    )


_OF_MODES: Final = " The levels are means of the modes, each weighted by the share of the values at it."


def _of_levels(numbers: StepNumbers) -> str:
    """Return the values that the levels are medians of, if these are not all that were compared."""
    from knickpoint.detect.local_levels import NEAR

    if max(numbers.before.count, numbers.after.count) <= NEAR:
        return ""
    return (
        f" The levels are medians of the {NEAR} values nearest to the change on each side, or of fewer where there are "
        "fewer."
    )


def _of_slope(explained: AlertExplanation, numbers: StepNumbers, unit: str) -> str:
    rate = value_text(abs(numbers.size) / max(numbers.after.count, 1), unit)
    return (
        f"The method {explained.alert.method} fitted a slope to the {counted(numbers.after.count, 'value')} from there "
        f"on, on the line {explained.line}: they {'rise' if numbers.size > 0 else 'fall'} by {rate} from one to the "
        "next."
    )


def _why(explained: AlertExplanation, step: ExplainedStep) -> str:
    """Explain that the step is a change point, or none."""
    if step.point is None and step.reason:
        return f"It is not a change point, because the alert rejected it: {step.reason}."
    decisive = next((check for check in _checks_at(explained, step) if check.bound is not None and check.passed), None)
    because = f", because {_check(decisive)}" if decisive else ""
    if step.point is None:
        return f"The method accepted it{because}; it becomes a change point with the next knick run."
    return (
        f"It is the change point P{step.point.id} of R{step.point.change_id} "
        f"({step.point.effective_status.value}){because}."
    )


def _checks_at(explained: AlertExplanation, step: ExplainedStep) -> Sequence[Check]:
    """Return the checks of the candidate at the commit of a step."""
    slot = step.commit.slot
    return next((each.candidate.checks for each in explained.candidates if each.commit.slot == slot), ())


def _what_if(explained: AlertExplanation, step: ExplainedStep, before: str) -> str:
    """Return the settings that would change the answer."""
    settlement = step.sighting.settlement
    if step.reason:
        alert = explained.alert
        return (
            f"Other settings of the alert would report it: minimum_effect is {alert.minimum_effect:g}, direction is"
            f" {alert.direction.value}, minimum_traces is {alert.minimum_traces}."
        )
    if not settlement.settled:
        return (
            f"It is provisional, found with {settlement.found_with} of the {settlement.needed} newest values that "
            f"settle it: values near {before} would withdraw it."
        )
    if step.point is not None and step.point.condition is Condition.RECOVERED:
        return (
            f"It has recovered: values are near {before} again; only different results at or before the change would "
            "withdraw it."
        )
    return (
        f"Values near {before} again would mark it as recovered; only different results at or before the change would "
        "withdraw it."
    )


def _of_elsewhere(at: SlottedCommit, rejected: Sequence[ExplainedCandidate], step: ExplainedStep) -> Iterator[str]:
    """Yield that there is no change ``at`` a commit, and why a place there was rejected; the ``step`` is near."""
    here = next((each.candidate.reason for each in rejected if each.commit.slot == at.slot), "")
    why = f"the place was rejected: {here}" if here else "nothing was examined there"
    yield (
        f"At {_commit_in_words(at)} there is no change ({why})."
        f" The nearest one is {counted(step.distance, 'measured commit')} away, at {_commit_in_words(step.commit)}."
    )


def _others(explained: AlertExplanation, chosen: ExplainedStep) -> Iterator[str]:
    others = [step for step in explained.steps if step is not chosen]
    if others:
        yield "Other changes, each explained with --at COMMIT:"
    for step in others:
        known = f"P{step.point.id}" if step.point else f"refused: {step.reason}" if step.reason else "new"
        yield f"  {percent(step.sighting.numbers.relative_size)} at {_commit_in_words(step.commit)} ({known})"


# No step


def _nearness(explained: ExplainedCandidate) -> float:
    """Return the distance of a rejected candidate from acceptance: by the first failed check, relative to its bound."""
    failed = next((check for check in explained.candidate.checks if not check.passed), None)
    if failed is None or failed.bound is None:
        return float("-inf")
    missing = failed.value - failed.bound if failed.relation in {">", ">="} else failed.bound - failed.value
    return missing / (abs(failed.bound) or 1.0)


def _of_candidate(explanation: Explanation, explained: AlertExplanation, best: ExplainedCandidate) -> Iterator[str]:
    assert explained.detection is not None
    yield f"No change was found in {_name(explanation)}; the most likely place is {_commit_in_words(best.commit)}."
    noise = explained.detection.facts.get(_NOISE)
    if noise is not None:
        yield f"Single values scatter by {value_text(noise, explanation.trace.unit)} (one standard deviation)."
    considered = len(explained.detection.candidates)
    yield (
        f"The method {explained.alert.method} considered {counted(considered, 'place')} among"
        f" {counted(explanation.measured, 'value')}"
        f" on the line {explained.line}."
    )
    yield f"It rejected this one: {best.candidate.reason}."
    failed = next((check for check in best.candidate.checks if not check.passed), None)
    if failed is not None:
        yield f"It would be accepted if: {_wanted(failed)}; more values at the new level make it clearer."


def _of_nothing(explanation: Explanation, explained: AlertExplanation) -> Iterator[str]:
    from knickpoint.detect import load_method

    fewest = load_method(explained.alert.method).fewest_values(explained.alert.parameters)
    if explanation.measured < fewest:
        yield (
            f"There are too few values: {explanation.measured}; the method {explained.alert.method} needs at least "
            f"{fewest} to find a change."
        )
        return
    near = " near this commit" if explanation.at is not None else ""
    yield (
        f"The method {explained.alert.method} considered no place{near} among"
        f" {counted(explanation.measured, 'value')} on the line"
        f" {explained.line}: nowhere do the values before and after differ enough to be considered."
    )


def _check(check: Check) -> str:
    assert check.bound is not None
    return f"{check.name} is {figure_text(check.value, '.4g')}, and {_bound(check)} is required"


def _wanted(check: Check) -> str:
    assert check.bound is not None
    return f"{check.name} is {_bound(check)} (it is {figure_text(check.value, '.4g')})"


def _bound(check: Check) -> str:
    return f"{_RELATIONS.get(check.relation, check.relation)} {figure_text(check.bound or 0.0, '.4g')}"


def _commit_line(slotted: SlottedCommit) -> str:
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
    return f"    step at {_commit_line(step.commit)}: {percent(step.sighting.numbers.relative_size)} ({status})"


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
        yield f"    at {_commit_line(each.commit)}: {each.note or outcome_of(each.candidate)}"
        if at or not each.candidate.accepted:
            yield from (f"      {line}" for line in check_lines(each.candidate.checks))
    if explained.omitted:
        yield f"  {explained.omitted} candidates elsewhere are left out"


def cluster_lines(explained: AlertExplanation) -> Iterator[str]:
    """Yield the clusters that the trace was judged for, and the checks that say why it belongs, or does not."""
    yield f"  clusters that step with this trace or near it: {len(explained.candidates)}"
    for each in explained.candidates:
        yield f"    at {_commit_line(each.commit)}: {each.note}"
        yield f"      {f'change point P{each.point.id}' if each.point else each.candidate.reason or 'no change point'}"
        yield from (f"      {line}" for line in check_lines(each.candidate.checks))
    if explained.omitted:
        yield f"  {explained.omitted} clusters elsewhere are left out"


def number_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the decisions of every alert about a trace, with every number."""
    yield f"{explanation.trace.key} in {explanation.repository}: {explanation.measured} measured commits"
    if explanation.at is not None:
        yield f"at {_commit_line(explanation.at)}"
    for each in explanation.quarantines:
        quarantine = each.quarantine
        yield (
            f"is excluded from levels: the result at {_commit_line(each.commit)} is {quarantine.state.value} "
            f"(Q{quarantine.id})"
        )
        yield f"  {quarantine.reason}"
    for change in explanation.changes:
        yield f"R{change.change_id}: {change.text}"
    for bisection in explanation.bisections:
        yield f"search for the commit of R{bisection.change_id}: bisection {bisection.text}"
    for alert in explanation.alerts:
        yield from _alert_lines(alert, explanation.trace.unit, at=explanation.at is not None)
