"""Convert rows of the findings tables to the classes of the model, and back; NULL in a number is nan."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from knickpoint.model.regression import (
    Action,
    ChangePoint,
    Condition,
    Decision,
    Direction,
    KnownPoint,
    Sighting,
    Status,
    StepNumbers,
    SuspectRange,
)
from knickpoint.model.settlement import Certainty, FindingKind, Settlement
from knickpoint.model.step import StableRegion
from knickpoint.store.timestamps import moment

__all__ = [
    "change_point_of",
    "decision_of",
    "known_point_of",
    "names_of",
    "settlement_values",
    "sighting_of",
    "step_values",
    "stored_step",
    "text_of_names",
]

Values = Mapping[Any, Any]


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _stored(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _region_of(row: Values, name: str) -> StableRegion:
    return StableRegion(
        row[f"{name}_first"],
        row[f"{name}_last"],
        row[f"{name}_count"],
        _number(row[f"{name}_minimum"]),
        _number(row[f"{name}_maximum"]),
        _number(row[f"{name}_median"]),
        _number(row[f"{name}_mean"]),
        _number(row[f"{name}_variance"]),
    )


def _region_values(region: StableRegion, name: str) -> dict[str, Any]:
    return {
        f"{name}_first": region.first,
        f"{name}_last": region.last,
        f"{name}_count": region.count,
        f"{name}_minimum": _stored(region.minimum),
        f"{name}_maximum": _stored(region.maximum),
        f"{name}_median": _stored(region.median),
        f"{name}_mean": _stored(region.mean),
        f"{name}_variance": _stored(region.variance),
    }


def _numbers_of(row: Values) -> StepNumbers:
    return StepNumbers(
        before=_region_of(row, "before"),
        after=_region_of(row, "after"),
        before_level=_number(row["before_level"]),
        after_level=_number(row["after_level"]),
        deviation=_number(row["deviation"]),
        size=_number(row["size"]),
        relative_size=_number(row["relative_size"]),
        hazard=_number(row["hazard"]),
        score=_number(row["score"]),
        p_value=row["p_value"],
        order=row["found_order"],
        method=row["method"],
    )


def _number_values(numbers: StepNumbers) -> dict[str, Any]:
    return {
        **_region_values(numbers.before, "before"),
        **_region_values(numbers.after, "after"),
        "before_level": _stored(numbers.before_level),
        "after_level": _stored(numbers.after_level),
        "deviation": _stored(numbers.deviation),
        "size": _stored(numbers.size),
        "relative_size": _stored(numbers.relative_size),
        "hazard": _stored(numbers.hazard),
        "score": _stored(numbers.score),
        "p_value": _stored(numbers.p_value),
        "found_order": numbers.order,
        "method": numbers.method,
    }


def settlement_values(settlement: Settlement) -> dict[str, Any]:
    """Return the columns of a settlement."""
    return {
        "certainty": settlement.certainty.value,
        "found_with": settlement.found_with,
        "needed": settlement.needed,
    }


def _settlement_of(row: Values) -> Settlement:
    return Settlement(Certainty(row["certainty"]), row["found_with"], row["needed"])


def step_values(sighting: Sighting) -> dict[str, Any]:
    """Return the columns that a change point and a sighting share."""
    return {
        "line": sighting.suspect_range.line,
        "previous": sighting.suspect_range.previous,
        "slot": sighting.suspect_range.slot,
        "movement": sighting.movement,
        "interval": sighting.interval,
        "direction": sighting.direction.value,
        "condition": sighting.condition.value,
        "kind": sighting.kind.value,
        **settlement_values(sighting.settlement),
        **_number_values(sighting.numbers),
    }


def stored_step(sighting: Sighting) -> tuple[object, ...]:
    """Return the values that are stored of ``sighting``: those of two are equal when nothing is to be written."""
    return tuple(step_values(sighting).values())


def sighting_of(row: Values) -> Sighting:
    """Read a row of ``sighting``."""
    return Sighting(
        alert=row["alert"],
        trace_id=row["trace_id"],
        suspect_range=SuspectRange(row["line"], row["previous"], row["slot"]),
        movement=row["movement"],
        direction=Direction(row["direction"]),
        interval=row["interval"],
        numbers=_numbers_of(row),
        condition=Condition(row["condition"]),
        kind=FindingKind(row["kind"]),
        settlement=_settlement_of(row),
    )


def text_of_names(names: Sequence[str]) -> str:
    """Write names of alerts into one column."""
    return json.dumps(list(names), ensure_ascii=False, separators=(",", ":"))


def names_of(text: str) -> tuple[str, ...]:
    """Read what :func:`text_of_names` wrote."""
    return tuple(json.loads(text))


def change_point_of(row: Values) -> ChangePoint:
    """Read a row of ``change_point`` with ``history``, the mark of its regression."""
    return ChangePoint(
        id=row["id"],
        trace_id=row["trace_id"],
        key=row["trace_key"],
        unit=row["unit"],
        suspect_range=SuspectRange(row["line"], row["previous"], row["slot"]),
        movement=row["movement"],
        direction=Direction(row["direction"]),
        numbers=_numbers_of(row),
        alerts=names_of(row["alerts"]),
        condition=Condition(row["condition"]),
        status=Status(row["status"]),
        note=row["note"],
        ticket=row["ticket"],
        assignee=row["assignee"],
        regression_id=row["regression_id"],
        interval=row["interval"],
        matched_ticket=row["matched_ticket"],
        found=moment(row["found"]),
        history=bool(row["history"]),
        kind=FindingKind(row["kind"]),
        settlement=_settlement_of(row),
    )


def known_point_of(row: Values) -> KnownPoint:
    """Read what the identity rule needs of a row of ``change_point``."""
    anchored = row["anchor_slot"] is not None
    return KnownPoint(
        id=row["id"],
        trace_id=row["trace_id"],
        suspect_range=SuspectRange(row["line"], row["previous"], row["slot"]),
        movement=row["movement"],
        interval=row["interval"],
        condition=Condition(row["condition"]),
        anchor=SuspectRange(row["anchor_line"], row["anchor_previous"], row["anchor_slot"]) if anchored else None,
    )


def decision_of(row: Values) -> Decision:
    """Read a row of ``decision``."""
    return Decision(
        id=row["id"],
        change_point_id=row["change_point_id"],
        status=Status(row["status"]),
        who=row["who"],
        time=moment(row["time"]),
        note=row["note"],
        ticket=row["ticket"],
        assignee=row["assignee"],
        action=Action(row["action"]),
        undoes=row["undoes"],
        suspect_range=SuspectRange(row["line"], row["previous"], row["slot"]),
        regression_id=row["regression_id"],
    )
