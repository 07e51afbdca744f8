"""Read what devices did, from the probes that bisections and schedules made on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func, literal, select, union_all

from knickpoint.model.bisection import ProbeOutcome
from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.tables.bisections import probe
from knickpoint.store.tables.schedules import scheduled_probe
from knickpoint.store.timestamps import moment

__all__ = ["DeviceUse", "read_device_use"]


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """How many probes a device made, during how many of them it was lost, and when the last one began or ended."""

    name: str
    probes: int
    lost: int
    last: datetime


def read_device_use(database: Database, repositories: Collection[Repository], since: datetime) -> list[DeviceUse]:
    """Return the use of each device by ``repositories`` from ``since`` on, by name."""
    ids, begin = [each.id for each in repositories], since.timestamp()
    lost = case((probe.c.outcome == ProbeOutcome.LOST.value, 1), else_=0)
    made = union_all(
        select(probe.c.device, lost.label("lost"), probe.c.started.label("time")).where(
            probe.c.repository_id.in_(ids), probe.c.started >= begin
        ),
        select(scheduled_probe.c.device, literal(0).label("lost"), scheduled_probe.c.ended.label("time")).where(
            scheduled_probe.c.repository_id.in_(ids), scheduled_probe.c.ended >= begin, scheduled_probe.c.device != ""
        ),
    ).subquery()
    query = (
        select(
            made.c.device,
            func.count().label("probes"),
            func.sum(made.c.lost).label("lost"),
            func.max(made.c.time).label("last"),
        )
        .group_by(made.c.device)
        .order_by(made.c.device)
    )
    with database.reading() as connection:
        return [DeviceUse(row.device, row.probes, int(row.lost), moment(row.last)) for row in connection.execute(query)]
