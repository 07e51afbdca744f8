"""Keep which proposals to change alerts people accepted and rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import RowMapping, delete, select

from knickpoint.model.alert import Alert
from knickpoint.model.alert_settings import alert_from, alert_settings
from knickpoint.model.proposal import ProposalDecision, ProposalKind
from knickpoint.store.array_codec import stored_json
from knickpoint.store.database import Database
from knickpoint.store.findings.row_writes import next_id
from knickpoint.store.tables.proposals import proposal_decision as table
from knickpoint.store.timestamps import moment

__all__ = ["ProposalDecisions"]


class ProposalDecisions:
    """Hold one row for each decision that stands."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, decision: ProposalDecision) -> ProposalDecision:
        """Write ``decision``, and return it with its id; the id that it has does not count."""
        with self._database.transaction() as connection:
            added = replace(decision, id=next_id(connection, table))
            connection.execute(
                table.insert().values(
                    id=added.id,
                    alert=added.alert,
                    kind=added.kind.value,
                    accepted=int(added.accepted),
                    change=added.change,
                    hidden=added.hidden,
                    before=_written(added.before),
                    after=_written(added.after),
                    who=added.who,
                    time=added.time.timestamp(),
                )
            )
        return added

    def remove(self, key: int) -> None:
        """Delete the decision ``key``; nothing happens where there is none."""
        with self._database.transaction() as connection:
            connection.execute(delete(table).where(table.c.id == key))

    def all(self) -> list[ProposalDecision]:
        """Return the decisions that stand, by id."""
        with self._database.reading() as connection:
            return [_decision_of(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


def _written(alerts: Mapping[str, Alert | None]) -> str:
    plain = {name: alert_settings(alert) if alert else None for name, alert in alerts.items()}
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)


def _read(text: str) -> dict[str, Alert | None]:
    return {name: alert_from(name, settings) if settings else None for name, settings in stored_json(text).items()}


def _decision_of(row: RowMapping) -> ProposalDecision:
    return ProposalDecision(
        id=row["id"],
        alert=row["alert"],
        kind=ProposalKind(row["kind"]),
        accepted=bool(row["accepted"]),
        change=row["change"],
        hidden=row["hidden"],
        before=_read(row["before"]),
        after={name: alert for name, alert in _read(row["after"]).items() if alert},
        who=row["who"],
        time=moment(row["time"]),
    )
