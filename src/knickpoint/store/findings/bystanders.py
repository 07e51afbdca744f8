"""Keep the regressions that findings were in before a split or merge of others moved them.

The triage log has an entry for each finding that somebody split or merged. Such an act also moves findings beside them:
the rest of a regression that was split may get a new id. Undoing the act gives all of them their former ids.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, select

from knickpoint.store.database import Database
from knickpoint.store.tables.findings import bystander

__all__ = ["former_regressions", "keep_bystanders"]


def keep_bystanders(connection: Connection, act: int, former: Mapping[int, int]) -> None:
    """Keep change point → former regression for the split or merge with the number ``act``."""
    rows = [
        {"decision_id": act, "change_point_id": point, "regression_id": key} for point, key in sorted(former.items())
    ]
    if rows:
        connection.execute(bystander.insert(), rows)


def former_regressions(database: Database, connection: Connection, acts: Collection[int]) -> dict[int, int]:
    """Return change point → regression before the first of the splits and merges ``acts`` that moved it."""
    query = select(bystander).where(database.among(bystander.c.decision_id, "acts"))
    rows = connection.execute(query.order_by(bystander.c.decision_id.desc()), {"acts": database.listed(sorted(acts))})
    return {row.change_point_id: row.regression_id for row in rows}
