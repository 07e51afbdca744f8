"""Keep the local levels of change points, and the number that lists of regressions are sorted by.

What was found before has no local levels. The medians of its regions stand for them until an alert judges the trace
again, which the next run of each alert does: what was judged is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

REAL = sa.Float(precision=53).with_variant(sa.DOUBLE_PRECISION(), "postgresql")

_BLOCK = 10_000
_READ = (
    "movement",
    "direction",
    *(f"{side}_{name}" for side in ("before", "after") for name in ("count", "median", "variance")),
)
_ADDED = ("before_level", "after_level", "deviation")
_CLASSES = {"regression": 2, "unknown": 1, "improvement": 0}
_OPPOSITE = {"regression": "improvement", "improvement": "regression", "unknown": "unknown"}


def upgrade() -> None:
    """Add the columns and fill them."""
    for table in ("change_point", "sighting"):
        for name in _ADDED:
            op.add_column(table, sa.Column(name, REAL, nullable=True))
    op.add_column("change_point", sa.Column("severity", REAL, nullable=False, server_default="0"))
    _fill("change_point", ("id",))
    _fill("sighting", ("change_point_id", "alert"))
    op.execute("DELETE FROM judged")


def _fill(table: str, keys: tuple[str, ...]) -> None:
    """Measure all rows of ``table`` by the medians of their regions."""
    rows = op.get_bind().execute(sa.text(f"SELECT {', '.join((*keys, *_READ))} FROM {table}")).mappings().all()  # noqa: S608
    written = (*_ADDED, "size", "relative_size", "direction", *(("severity",) if table == "change_point" else ()))
    changes = ", ".join(f"{name} = :{name}" for name in written)
    where = " AND ".join(f"{key} = :key_{key}" for key in keys)
    statement = sa.text(f"UPDATE {table} SET {changes} WHERE {where}")  # noqa: S608
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK]
        op.get_bind().execute(statement, [{f"key_{key}": row[key] for key in keys} | _measured(row) for row in block])


def _measured(row: Mapping[Any, Any]) -> dict[str, Any]:
    before, after = row["before_median"], row["after_median"]
    if before is None or after is None:
        size, relative = None, None
    else:
        size = after - before
        if abs(size) <= 1e-9 * max(abs(before), abs(after)):
            size = 0.0
        relative = size / abs(before) if before else math.copysign(math.inf, size) if size else 0.0
    direction = row["direction"]
    if size == 0:
        direction = "unknown"
    elif size is not None and (size > 0) != (row["movement"] > 0):
        direction = _OPPOSITE[direction]
    return {
        "before_level": before,
        "after_level": after,
        "deviation": _deviation(row),
        "size": size,
        "relative_size": relative,
        "direction": direction,
        "severity": _severity(direction, relative),
    }


def _deviation(row: Mapping[Any, Any]) -> float | None:
    """Return the pooled standard deviation of both regions, None where they have no more than two values."""
    freedom = row["before_count"] + row["after_count"] - 2
    variances = row["before_variance"], row["after_variance"]
    if freedom < 1 or None in variances:
        return None
    within = (row["before_count"] - 1) * variances[0] + (row["after_count"] - 1) * variances[1]
    return math.sqrt(within / freedom)


def _severity(direction: str, relative: float | None) -> float:
    if not relative:
        return 0.0
    magnitude = abs(relative)
    return 2.0 * _CLASSES[direction] + (1.0 if math.isinf(magnitude) else magnitude / (1.0 + magnitude))
