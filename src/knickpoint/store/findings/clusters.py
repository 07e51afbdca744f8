"""Keep the clusters that alerts find, with their members and the verdict on each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, select

from knickpoint.model.change_point import Condition, SuspectRange
from knickpoint.model.cluster import KeptCluster, KeptMember, MemberState, MemberVerdict, SharedParam
from knickpoint.model.commit import Repository
from knickpoint.model.step import Check
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import finite_or_none, next_id, number_or_nan
from knickpoint.store.tables.findings import change_point
from knickpoint.store.tables.findings import cluster as table
from knickpoint.store.tables.findings import cluster_member as member

_STATES = tuple(MemberState)


class ClusterTable:
    """Read and write kept clusters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_alert(
        self, repository: Repository, alert: str, groups: Collection[tuple[str, ...]] | None = None
    ) -> list[KeptCluster]:
        """Return the clusters of ``alert``, of all its groups or of some, by id."""
        query = select(table).where(table.c.repository_id == repository.id, table.c.alert == alert)
        if groups is not None:
            query = query.where(table.c.group_key.in_([_text(list(key)) for key in groups]))
        return self._read(query)

    def of_change(self, change_id: int) -> list[KeptCluster]:
        """Return the clusters whose members have change points in a change, by id."""
        inside = select(member.c.cluster_id).join(change_point, change_point.c.id == member.c.point_id)
        inside = inside.where(
            change_point.c.change_id == change_id,
            change_point.c.condition != Condition.GONE.value,
            member.c.state == MemberState.MEMBER.value,
        )
        return self._read(select(table).where(table.c.id.in_(inside)))

    def of_trace(self, trace_id: int) -> list[KeptCluster]:
        """Return the clusters that a trace was judged for, by id; each with this trace alone."""
        inside = select(member.c.cluster_id).where(member.c.trace_id == trace_id)
        return self._read(select(table).where(table.c.id.in_(inside)), trace_id=trace_id)

    def _read(self, query: Select[Any], *, trace_id: int | None = None) -> list[KeptCluster]:
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.c.id)).all()
            among = select(member).where(self._database.among(member.c.cluster_id, "ids"))
            if trace_id is not None:
                among = among.where(member.c.trace_id == trace_id)
            found = connection.execute(
                among.order_by(member.c.cluster_id, member.c.rank), {"ids": self._database.listed([r.id for r in rows])}
            ).all()
        begun = {row.id: row.run for row in rows}
        members: dict[int, list[KeptMember]] = {row.id: [] for row in rows}
        for row in found:
            members[row.cluster_id].append(_member(row, begun[row.cluster_id]))
        return [_cluster(row, members[row.id]) for row in rows]

    def put(self, repository: Repository, clusters: Sequence[KeptCluster]) -> list[int]:
        """Write clusters with all their members in place of what was kept of them, and return their ids.

        One with the id 0 is new.
        """
        if not clusters:
            return []
        with self._database.transaction() as connection:
            following = next_id(connection, table)
            ids = []
            for each in clusters:
                ids.append(each.id or following)
                following += not each.id
            self._delete(ids)
            connection.execute(
                table.insert(),
                [_values(key, repository, each) for key, each in zip(ids, clusters, strict=True)],
            )
            rows = [_member_values(key, each) for key, kept in zip(ids, clusters, strict=True) for each in kept.members]
            if rows:
                connection.execute(member.insert(), rows)
        return ids

    def forget(self, clusters: Collection[int]) -> None:
        """Delete clusters and their members."""
        if clusters:
            with self._database.transaction():
                self._delete(sorted(clusters))

    def forget_alert(self, alert: str) -> None:
        """Delete the clusters of an alert that no longer exists."""
        with self._database.reading() as connection:
            ids = list(connection.execute(select(table.c.id).where(table.c.alert == alert)).scalars())
        self.forget(ids)

    def count(self) -> int:
        """Count the clusters."""
        with self._database.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(table)).scalar_one())

    def _delete(self, ids: Sequence[int]) -> None:
        listed = {"ids": self._database.listed(ids)}
        with self._database.transaction() as connection:
            connection.execute(delete(member).where(self._database.among(member.c.cluster_id, "ids")), listed)
            connection.execute(delete(table).where(self._database.among(table.c.id, "ids")), listed)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _seconds(time: datetime | None) -> float:
    return time.timestamp() if time else 0.0


def _values(key: int, repository: Repository, kept: KeptCluster) -> dict[str, Any]:
    body = {
        "centroid": [round(value, 6) for value in kept.centroid],
        "slots": kept.slots,
        "shared": [[each.name, each.value, each.members, each.others] for each in kept.shared],
        "others": kept.others,
    }
    return {
        "id": key,
        "repository_id": repository.id,
        "alert": kept.alert,
        "group_key": _text(list(kept.group)),
        "line": kept.suspect_range.line,
        "previous": kept.suspect_range.previous,
        "slot": kept.suspect_range.slot,
        "movement": kept.movement,
        "regression": kept.regression,
        "gone": int(kept.gone),
        "run": kept.run,
        "found": _seconds(kept.found),
        "body": _text(body),
    }


def _cluster(row: Any, members: Iterable[KeptMember]) -> KeptCluster:
    body = stored_json(row.body)
    return KeptCluster(
        id=row.id,
        alert=row.alert,
        group=tuple(stored_json(row.group_key)),
        suspect_range=SuspectRange(row.line, row.previous, row.slot),
        movement=row.movement,
        regression=row.regression,
        centroid=tuple(body["centroid"]),
        slots=tuple(body["slots"]),
        shared=tuple(SharedParam(*each) for each in body["shared"]),
        others=body["others"],
        gone=bool(row.gone),
        run=row.run,
        found=moment(row.found),
        members=tuple(sorted(members, key=lambda each: (_STATES.index(each.state), each.rank))),
    )


def _member_values(key: int, kept: KeptMember) -> dict[str, Any]:
    verdict = kept.verdict
    body = {
        "checks": [[each.name, each.value, each.relation, each.bound, each.passed] for each in verdict.checks],
        "reason": verdict.reason,
        "size": finite_or_none(verdict.size),
        "relative_size": finite_or_none(verdict.relative_size),
        "p_value": finite_or_none(verdict.p_value),
    }
    return {
        "cluster_id": key,
        "trace_id": kept.trace_id,
        "trace_key": kept.key,
        "state": kept.state.value,
        "rank": kept.rank,
        "distance": kept.distance,
        "run": kept.run,
        "since": _seconds(kept.since),
        "point_id": kept.point_id,
        "body": _text(body),
    }


def _member(row: Any, begun: int) -> KeptMember:
    body = stored_json(row.body)
    state = MemberState(row.state)
    return KeptMember(
        trace_id=row.trace_id,
        key=row.trace_key,
        state=state,
        rank=row.rank,
        distance=row.distance,
        verdict=MemberVerdict(
            checks=tuple(Check(*each) for each in body["checks"]),
            reason=body["reason"],
            size=number_or_nan(body["size"]),
            relative_size=number_or_nan(body["relative_size"]),
            p_value=number_or_nan(body["p_value"]),
        ),
        run=row.run,
        since=moment(row.since),
        joined=state is MemberState.MEMBER and row.run > begun,
        point_id=row.point_id,
    )
