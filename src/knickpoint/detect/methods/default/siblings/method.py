"""The default method on each of several related traces, and the weak steps that they share.

Each trace has the steps that the default method finds in it. Then the traces are looked at together: around their
common centre, where only a change that some of them made is left, and as they are, where a change that most of them
made shows in their mean. A trace has a step there if its own values speak for it, more weakly than they would have to
alone, and most weakly where its relatives moved: traces that share a param whose traces moved together before. The
guide page ``docs/guide/detect/siblings.md`` describes the method in full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.detect.measured_series import check_frame, safe_unit
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.default.method import DRIFT_EFFECT, detect_default
from knickpoint.detect.methods.default.model import FALSE_ALARMS
from knickpoint.detect.methods.default.siblings.kinship import (
    ParamHistory,
    group_by_params,
    learn_kinship,
    past_changes,
    read_history,
)
from knickpoint.detect.methods.default.siblings.members import SURE, Kin, Membership, judge_siblings
from knickpoint.detect.methods.default.siblings.plain_steps import PlainStep, plain_steps, without_steps
from knickpoint.detect.methods.default.siblings.scan import (
    LEAST,
    Reordering,
    SharedChange,
    find_shared_changes,
    separations,
)
from knickpoint.detect.methods.default.siblings.views import View, around_centre, common_scale, deviations_of
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Frame
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import Candidate, Check, Detection, Step
from knickpoint.native.segmentation.constants import SHORTEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

_NAME: Final = "siblings"
_FEWEST: Final = 3
"""Traces that can speak about each other: of two, none is the odd one out."""

_MOST_VALUES: Final = 10_000_000
"""Values of a group: so many take about a gigabyte while histories are reordered."""

_NEAR: Final = 10
"""Measured values within which a step of the trace is the shared change."""


_OBJECTION: Final = 2.0
"""Log-likelihood by which two levels have to describe the traces better than a slope."""

_LEFT: Final = 3.0
"""Standard errors between the values on both sides of a step from which it is a change of its own beside a shared one.
"""

_ELSEWHERE: Final = (
    "it is the change that its siblings have at another commit, and its own values do not tell both places apart"
)
_LEAST_DOUBT: Final = 1e-12
_MEAN_MOVED: Final = 3.0
"""Standard errors by which the mean of those has to move that do not step by themselves."""

_SHARED: Final = 1.3
"""Deviations of the mean of traces, over that of the mean of independent ones, from which they share noise."""

_OWN: Final = 0.5
"""Share of what a trace seems to move around the centre that it has to move by itself."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A shared change from ``column`` on, which of the traces moved with it, and what shows it.

    ``share`` is that of the reordered histories which are as strong, None where none were compared.
    """

    column: int
    members: Membership
    evidence: tuple[Check, ...]
    share: float | None = None


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a trace has a step: its score, the share of reordered histories, and the evidence."""

    score: float
    p_value: float | None
    evidence: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class _Trace:
    """One of the traces that are judged together, ``number`` among them.

    ``variance`` is that of values over ``unit`` around their level.
    """

    values: NDArray[np.float64]
    number: int
    unit: float
    variance: float

    def measured_from(self, column: int) -> int:
        """Return the first column from ``column`` on with a value, the last such one where there is none."""
        held = np.flatnonzero(~np.isnan(self.values))
        return int(held[min(int(np.searchsorted(held, column)), held.size - 1)])

    def are_near(self, one: int, other: int) -> bool:
        """Return True if fewer than :data:`_NEAR` measured values lie between two columns."""
        low, high = sorted((one, other))
        return int(np.count_nonzero(~np.isnan(self.values[low:high]))) < _NEAR

    def is_shared(self, step: Step, column: int) -> bool:
        """Return True if nothing is left of ``step`` once the trace has the shared change at ``column``.

        The values between both places are compared with those beyond the step.
        """
        if not step.before.first < column <= step.after.last:
            return False
        low, high = sorted((step.index, column))
        beyond = slice(high, step.after.last + 1) if column < step.index else slice(step.before.first, low)
        inner, outer = (part[~np.isnan(part)] / self.unit for part in (self.values[low:high], self.values[beyond]))
        if not inner.size or not outer.size:
            return True
        error = math.sqrt(self.variance * (1 / inner.size + 1 / outer.size))
        return abs(float(inner.mean() - outer.mean())) < _LEFT * error


def detect_siblings(
    frame: ArrayLike | Frame,
    keys: Iterable[str] | None = None,
    *,
    false_alarms: float = FALSE_ALARMS,
    modes: bool = True,
    drift: bool = True,
    drift_effect: float = DRIFT_EFFECT,
    noise: bool = False,
    p: float = 0.01,
    permutations: int = 199,
    seed: int = 0,
    candidates: bool = True,
) -> list[Detection]:
    """Find the steps of each trace by the default method, and weaker ones that several siblings share.

    Returns one detection for each trace. Traces that flip between levels or drift, and exact ones, keep what the
    default method says and take no part in what is looked at together; neither does a group of fewer than three. The
    scan takes O(traces x T) time and memory for each reordered history.

    Args:
        frame: related traces x commits, ``nan`` for missing.
        keys: the trace keys of the rows, from whose params kinship is learnt; those of the frame by default.
        false_alarms: As of the default method; so are ``modes``, ``drift``, ``drift_effect`` and ``noise``.
        modes: Whether flips between the same levels are not steps.
        drift: Whether a slow change is one finding.
        drift_effect: Share of the level that a drift moves it by until it is reported.
        noise: Whether lasting changes of the noise are findings.
        p: Share of the reordered histories that may show a shared change as strong.
        permutations: How many histories are reordered at most.
        seed: Of the orders.
        candidates: Whether to return the candidates, which takes more time.

    Raises:
        SeriesError: not a matrix of finite or missing numbers.
        InputError: a parameter out of its range, more than 10,000,000 values, or another number of keys than of traces.
    """
    if not 0 < p < 1:
        raise InputError(f"p is {p}", remedy="Give a probability between 0 and 1, such as 0.01.")
    if permutations * p < 1 - p:
        raise InputError(
            f"{permutations} permutations cannot show p = {p:g}",
            remedy=f"Give at least {math.ceil(1 / p) - 1} permutations.",
        )
    if seed < 0:
        raise InputError(f"seed is {seed}", remedy="Give 0 or a positive number.")
    matrix = check_frame(frame.values if isinstance(frame, Frame) else frame)
    if matrix.size > _MOST_VALUES:
        raise InputError(
            f"{matrix.shape[0]:,} traces x {matrix.shape[1]:,} commits are too many values for one group",
            remedy=f"Give at most {_MOST_VALUES:,}; in an alert, group_by says which traces are related.",
        )
    names = _names(frame, keys)
    if names and len(names) != len(matrix):
        raise InputError(f"there are {len(names)} keys for {len(matrix)} traces", remedy="Give one key for each row.")
    detect = partial(
        detect_default,
        false_alarms=false_alarms,
        modes=modes,
        drift=drift,
        drift_effect=drift_effect,
        noise=noise,
        candidates=candidates,
    )
    alone = [detect(row) for row in matrix]

    # Those that can speak about each other: noisy levels, and nothing else.
    units = np.array([safe_unit(row[~np.isnan(row)]) for row in matrix])
    scaled = matrix / units[:, None]
    deviations = deviations_of(scaled)
    rows = [row for row, found in enumerate(alone) if deviations[row] > 0 and _has_levels(found)]
    if len(rows) < _FEWEST or matrix.shape[1] < 2 * LEAST:
        return [_named(found) for found in alone]
    view = common_scale(scaled[rows], deviations[rows])
    steps = [[step for step in alone[row].steps if step.kind is FindingKind.STEP] for row in rows]
    histories = _histories(steps, [names[row] for row in rows] if names else [], view)
    spread = deviations[rows] * units[rows] * math.sqrt(view.memory)
    plain = [step for number, own in enumerate(steps) for step in plain_steps(own, number, float(spread[number]))]
    calm = common_scale(without_steps(scaled[rows], plain), deviations[rows])
    places = [
        *_among_most(view, steps, histories, false_alarms),
        *_among_some(calm, plain, histories, Reordering(permutations, p, seed)),
    ]

    # Each of them has the steps of its own, and the shared ones that it moved with.
    detections = list(alone)
    for number, row in enumerate(rows):
        trace = _Trace(matrix[row], number, float(units[row]), float(deviations[row]) ** 2 * view.memory)
        detections[row] = _with_shared(trace, alone[row], places, keep=candidates)
    return [_named(found) for found in detections]


def _named(found: Detection) -> Detection:
    """Return ``found`` as what this method found."""
    return replace(found, method=_NAME, steps=tuple(replace(step, method=_NAME) for step in found.steps))


def _names(frame: ArrayLike | Frame, keys: Iterable[str] | None) -> list[str]:
    """Return the trace keys of the rows, none where there are none."""
    if keys is None:
        return [trace.key for trace in frame.traces] if isinstance(frame, Frame) else []
    return list(keys)


def _histories(steps: Sequence[Sequence[Step]], keys: Sequence[str], view: View) -> list[ParamHistory]:
    """Return, per param that divides the traces of ``view``, how those with one value moved where they step alone."""
    moves = [(step.index, 1 if step.size > 0 else -1, row) for row, own in enumerate(steps) for step in own]
    if not moves:
        return []
    past = past_changes(moves, view.held)
    return [read_history(past, name, groups) for name, groups in group_by_params(keys).items()]


def _has_levels(found: Detection) -> bool:
    """Return True if a trace is made of levels: it neither drifts nor flips, and is measured often enough."""
    return not found.flipping and all(step.estimate is None for step in found.steps)


def _among_most(
    view: View, steps: Sequence[Sequence[Step]], histories: Sequence[ParamHistory], false_alarms: float
) -> Iterator[_Place]:
    """Yield the steps of the mean of the siblings with which at least half of them moved."""
    found = detect_default(view.mean, false_alarms=false_alarms, candidates=False).steps
    columns = [step.index for step in found if step.kind is FindingKind.STEP]
    for column, members in zip(columns, _members(view, columns, histories), strict=True):
        alone = np.array([any(abs(step.index - column) < _NEAR for step in own) for own in steps])
        if members.belongs.sum() >= len(members.belongs) / 2:
            others = _others_moved(view, alone, column, columns)
            joined = members if others else replace(members, belongs=members.belongs & alone)
            yield _Place(column, joined, (Check("the mean of the siblings has a step here", 1.0),))


def _others_moved(view: View, alone: NDArray[np.bool_], column: int, columns: Sequence[int]) -> bool:
    """Return True if the mean of the traces that do not step ``alone`` moved as well, or there are none.

    A few that step by themselves move the mean of all, and noise that siblings share makes each of the others resemble
    them. Their own mean keeps what they share, in its noise as well. Without shared noise each speaks for itself.
    """
    if alone.all() or not alone.any():
        return True
    mean = View(view.values[~alone], view.held[~alone], view.dependence).mean[None, :]
    deviation = deviations_of(mean)
    if deviation[0] * math.sqrt(float((~alone).sum())) < _SHARED:
        return True
    return abs(float(_separations_at(common_scale(mean, deviation), column, columns, {})[0])) >= _MEAN_MOVED


def _among_some(
    calm: View, plain: Sequence[PlainStep], histories: Sequence[ParamHistory], reordering: Reordering
) -> Iterator[_Place]:
    """Yield the changes that show around the centre of the siblings, with those that moved away from it.

    ``calm`` is without the ``plain`` steps of single traces; where several have one, others may have moved less. Where
    most moved, the centre moved, and those that stayed seem to move the other way: their own values say that they did
    not.
    """
    rest = around_centre(calm)
    found = find_shared_changes(rest, reordering, partial(_is_step, rest))
    weak = [change.column for change in found]
    changes: dict[int, SharedChange | None] = dict.fromkeys(_several_step_at(plain, weak))
    changes |= {change.column: change for change in found}
    for column in sorted(changes):
        own = {step.row: step.apart for step in plain if abs(step.column - column) < _NEAR}
        around, as_it_is = (_separations_at(view, column, weak, own) for view in (rest, calm))
        members = judge_siblings(around, learn_kinship(histories, column, near=_NEAR))
        moved = members.belongs
        seems, is_so = members.separation[moved], members.way * as_it_is[moved]
        if 1 < moved.sum() <= len(moved) / 2 and is_so.mean() >= _OWN * seems.mean():
            yield _place_of(changes[column], column, members, len(own))


def _place_of(change: SharedChange | None, column: int, members: Membership, plain: int) -> _Place:
    """Return the place of a ``change`` that was searched, or of one that ``plain`` traces show by themselves."""
    if change is None:
        return _Place(column, members, (Check("siblings with a plain step of their own here", float(plain)),))
    evidence = (
        Check("strength of the shared change", change.score),
        Check("share of reordered histories as strong", change.share),
    )
    return _Place(column, members, evidence, change.share)


def _several_step_at(plain: Sequence[PlainStep], others: Sequence[int]) -> list[int]:
    """Return the columns at which several traces have a plain step the same way, none near one of ``others``."""
    found: list[int] = []
    for way in (-1, 1):
        columns = sorted(step.column for step in plain if step.apart * way > 0)
        while columns:
            together = [column for column in columns if column - columns[0] < LEAST]
            columns = columns[len(together) :]
            middle = together[len(together) // 2]
            if len(together) > 1 and all(abs(middle - column) >= _NEAR for column in (*others, *found)):
                found.append(middle)
    return found


def _is_step(view: View, change: SharedChange) -> bool:
    """Return True if two levels describe the moved traces better than a line: a slow drift of several is not a step."""
    part = slice(change.first, change.stop)
    values, held = view.values[:, part], view.held[:, part]
    moved = judge_siblings(separations(values, held, view.memory)[:, change.column - change.first - 1]).belongs
    if not moved.any():
        return True
    mean = View(values[moved], held[moved], view.dependence).mean
    places = np.flatnonzero(~np.isnan(mean))
    values, later = mean[places], places >= change.column - change.first
    line = values - np.polyval(np.polyfit(places, values, 1), places)
    levels = values - np.where(later, values[later].mean(), values[~later].mean())
    gain = 1 + 2 * _OBJECTION * view.memory / places.size
    return bool(np.square(levels).sum() * gain <= np.square(line).sum())


def _members(view: View, columns: Sequence[int], histories: Sequence[ParamHistory]) -> Iterator[Membership]:
    """Yield which traces moved at each of the ascending ``columns``."""
    for column in columns:
        yield judge_siblings(_separations_at(view, column, columns, {}), learn_kinship(histories, column, near=_NEAR))


def _separations_at(view: View, column: int, columns: Sequence[int], own: Mapping[int, float]) -> NDArray[np.float64]:
    """Return the distance between the levels of each trace at ``column``, taken between its neighbours in ``columns``.

    ``own`` has what is known of some rows.
    """
    first = max((each for each in columns if each < column), default=0)
    stop = min((each for each in columns if each > column), default=view.values.shape[1])
    part = slice(first, stop)
    apart = separations(view.values[:, part], view.held[:, part], view.memory)[:, column - first - 1]
    for row, distance in own.items():
        apart[row] = distance
    return apart


def _with_shared(trace: _Trace, found: Detection, places: Sequence[_Place], *, keep: bool) -> Detection:
    """Return the detection of one trace with its shared changes, and those that it did not join as rejected."""
    levels = {step.index: step for step in found.steps if step.kind is FindingKind.STEP}
    added: dict[int, _Reason] = {}
    examined: list[Candidate] = []
    left: set[int] = set()
    for place in places:
        column = trace.measured_from(place.column)
        checks = _checks(place, trace.number)
        moved = bool(place.members.belongs[trace.number])
        near = [index for index in levels if trace.are_near(index, column) or trace.is_shared(levels[index], column)]
        near += [index for index in added if trace.are_near(index, column)]
        if near and not moved:
            continue
        if near:
            # A step of its own is the shared change; its place is that of the siblings where its own values do not
            # object.
            step = levels.pop(near[0], None)
            if step:
                moves = near == [step.index] and trace.is_shared(step, column)
                levels[column if moves else near[0]] = replace(step, evidence=(*step.evidence, *checks))
                if moves and column != step.index:
                    left.add(step.index)
                    examined.append(Candidate(column, accepted=True, checks=checks))
            continue
        if moved:
            chance = float(place.members.chance[trace.number])
            added[column] = _Reason(math.log(chance / max(1 - chance, _LEAST_DOUBT)), place.share, checks)
            examined.append(Candidate(column, accepted=True, checks=checks))
        else:
            siblings = int(place.members.belongs.sum())
            reason = f"{siblings} of its siblings moved here, and its own values do not say that it did"
            examined.append(Candidate(column, accepted=False, checks=checks, reason=reason))
    if not keep:
        examined = []
    own = (
        replace(each, accepted=False, reason=_ELSEWHERE) if each.accepted and each.index in left else each
        for each in found.candidates
    )
    candidates = tuple(sorted((*own, *examined), key=lambda candidate: candidate.index))
    return replace(found, steps=_joined(trace.values, found.steps, levels, added), candidates=candidates)


def _joined(
    values: NDArray[np.float64], steps: Sequence[Step], levels: Mapping[int, Step], added: Mapping[int, _Reason]
) -> tuple[Step, ...]:
    """Return the steps at ``levels`` and the ``added`` ones, each level reaching to the next.

    Other kinds stay as they are.
    """
    if not added and all(step in steps for step in levels.values()):
        return tuple(steps)
    kept = [_Reason(step.score, step.p_value, step.evidence) for step in levels.values()]
    described = [*kept, *added.values()]
    both = build_steps(
        values,
        [*levels, *added],
        method=_NAME,
        scores=[each.score for each in described],
        p_values=[each.p_value for each in described],
        orders=[*(step.order for step in levels.values()), *range(len(steps), len(steps) + len(added))],
        evidence=[each.evidence for each in described],
    )
    others = [step for step in steps if step.kind is not FindingKind.STEP]
    return tuple(sorted((*both, *others), key=lambda step: step.index))


def _checks(place: _Place, number: int) -> tuple[Check, ...]:
    """Return the numbers that speak for or against a shared change in one trace."""
    members = place.members
    return (
        Check("siblings that moved", float(members.belongs.sum())),
        Check("siblings judged together", float(len(members.belongs))),
        *place.evidence,
        *_kin_checks(members.kin[number]),
        Check("its levels apart the same way (standard errors)", float(members.separation[number])),
        Check(
            "chance that it moved with its siblings",
            float(members.chance[number]),
            ">=",
            SURE,
            passed=bool(members.belongs[number]),
        ),
    )


def _kin_checks(kin: Kin | None) -> tuple[Check, ...]:
    """Return the checks by the relatives of a trace: how they were learnt, and what they predict for it."""
    if kin is None:
        return ()
    name = kin.kinship.name
    return (
        Check(f"past changes that {name} was learnt from", float(kin.kinship.changes)),
        Check(f"share of traces with one {name} that moved together", kin.kinship.together),
        Check(f"share of traces with different {name} that moved together", kin.kinship.apart),
        Check(f"chance to move that those with its {name} give it", kin.share),
    )


METHOD: Final = Method(
    _NAME,
    MethodKind.JOINT,
    detect_siblings,
    fewest=lambda _found: 2 * SHORTEST,
    own_steps=True,
    takes_keys=True,
)
