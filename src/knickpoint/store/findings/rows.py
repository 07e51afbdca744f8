"""Convert rows of the findings tables to the classes of the model, and back; NULL in a number is nan."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, Update, bindparam, func, select, update

from knickpoint.model.alert import AlertKind, AlertSeverity
from knickpoint.model.change_point import (
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
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.tables.findings import change, change_point

Values = Mapping[Any, Any]

MARKED_POINTS: Final = select(change_point, func.coalesce(change.c.history, 0).label("history")).outerjoin(
    change, change_point.c.change_id == change.c.id
)
"""Change points, each with the mark of its change: 1 for history."""


def number_or_nan(value: float | None) -> float:
    """Read a number that is NULL for nan."""
    return math.nan if value is None else value


def finite_or_none(value: float | None) -> float | None:
    """Return a number as it is stored: None for nan."""
    return None if value is None or math.isnan(value) else float(value)


def _region_of(row: Values, name: str) -> StableRegion:
    return StableRegion(
        row[f"{name}_first"],
        row[f"{name}_last"],
        row[f"{name}_count"],
        number_or_nan(row[f"{name}_minimum"]),
        number_or_nan(row[f"{name}_maximum"]),
        number_or_nan(row[f"{name}_median"]),
        number_or_nan(row[f"{name}_mean"]),
        number_or_nan(row[f"{name}_variance"]),
    )


def _region_values(region: StableRegion, name: str) -> dict[str, Any]:
    return {
        f"{name}_first": region.first,
        f"{name}_last": region.last,
        f"{name}_count": region.count,
        f"{name}_minimum": finite_or_none(region.minimum),
        f"{name}_maximum": finite_or_none(region.maximum),
        f"{name}_median": finite_or_none(region.median),
        f"{name}_mean": finite_or_none(region.mean),
        f"{name}_variance": finite_or_none(region.variance),
    }


def _numbers_of(row: Values) -> StepNumbers:
    return StepNumbers(
        before=_region_of(row, "before"),
        after=_region_of(row, "after"),
        before_level=number_or_nan(row["before_level"]),
        after_level=number_or_nan(row["after_level"]),
        deviation=number_or_nan(row["deviation"]),
        size=number_or_nan(row["size"]),
        relative_size=number_or_nan(row["relative_size"]),
        hazard=number_or_nan(row["hazard"]),
        score=number_or_nan(row["score"]),
        p_value=row["p_value"],
        order=row["found_order"],
        method=row["method"],
        low=number_or_nan(row["low"]),
        high=number_or_nan(row["high"]),
        sign=number_or_nan(row["sign"]),
        reference=row["reference"],
        over_reference=number_or_nan(row["over_reference"]),
    )


def _number_values(numbers: StepNumbers) -> dict[str, Any]:
    return {
        **_region_values(numbers.before, "before"),
        **_region_values(numbers.after, "after"),
        "before_level": finite_or_none(numbers.before_level),
        "after_level": finite_or_none(numbers.after_level),
        "deviation": finite_or_none(numbers.deviation),
        "size": finite_or_none(numbers.size),
        "relative_size": finite_or_none(numbers.relative_size),
        "hazard": finite_or_none(numbers.hazard),
        "score": finite_or_none(numbers.score),
        "p_value": finite_or_none(numbers.p_value),
        "found_order": numbers.order,
        "method": numbers.method,
        "low": finite_or_none(numbers.low),
        "high": finite_or_none(numbers.high),
        "sign": finite_or_none(numbers.sign),
        "reference": numbers.reference,
        "over_reference": finite_or_none(numbers.over_reference),
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
        "interval_before": sighting.interval_before,
        "interval_after": sighting.interval_after,
        "direction": sighting.direction.value,
        "condition": sighting.condition.value,
        "recovered_at": sighting.recovered_at,
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
        interval_before=row["interval_before"],
        interval_after=row["interval_after"],
        recovered_at=row["recovered_at"],
    )


def text_of_names(names: Sequence[str]) -> str:
    """Write names of alerts into one column."""
    return json.dumps(list(names), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=1024)
def names_of(text: str) -> tuple[str, ...]:
    """Read what :func:`text_of_names` wrote."""
    return tuple(stored_json(text))


def change_point_of(row: Values) -> ChangePoint:
    """Read a row of ``change_point`` with ``history``, the mark of its change."""
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
        change_id=row["change_id"],
        interval=row["interval"],
        matched_ticket=row["matched_ticket"],
        found=moment(row["found"]),
        history=bool(row["history"]),
        kind=FindingKind(row["kind"]),
        settlement=_settlement_of(row),
        announced=row["announced"],
        absent_since=row["absent_since"],
        held=row["held"],
        alert_kind=AlertKind(row["alert_kind"]),
        alert_severity=tuple(AlertSeverity)[row["alert_severity"]],
        interval_before=row["interval_before"],
        interval_after=row["interval_after"],
        recovered_at=row["recovered_at"],
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
        until=row["after_last"] if row["kind"] == FindingKind.DRIFT.value else None,
        interval_before=row["interval_before"],
        interval_after=row["interval_after"],
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
        change_id=row["change_id"],
    )


# Write rows whose ids the program chooses: the next id of a table, and updates of many rows by id.


def next_id(connection: Connection, table: Table) -> int:
    """Return the id after the greatest of ``table``, 1 for an empty table."""
    return int(connection.execute(_greatest_id(table)).scalar_one()) + 1


@cache
def _greatest_id(table: Table) -> Select[int]:
    return select(func.coalesce(func.max(table.c.id), 0))


def update_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set the columns of ``rows`` by their ``id``; all rows have the same columns."""
    if not rows:
        return
    parameters = [{("key" if name == "id" else name): value for name, value in row.items()} for row in rows]
    connection.execute(_update_by_id(table, tuple(name for name in rows[0] if name != "id")), parameters)


@cache
def _update_by_id(table: Table, columns: tuple[str, ...]) -> Update:
    return update(table).where(table.c.id == bindparam("key")).values({name: bindparam(name) for name in columns})
