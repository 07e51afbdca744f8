"""Keep what alerts found last: sightings, digests of the data they read, verdicts on newest values, clusters."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, Select, bindparam, delete, func, select

from knickpoint.model.change_point import Condition, Sighting, SuspectRange
from knickpoint.model.cluster import KeptCluster, KeptMember, MemberState, MemberVerdict, SharedParam
from knickpoint.model.commit import Repository
from knickpoint.model.judged_benchmark import NewestVerdict
from knickpoint.model.step import Check, Verdict
from knickpoint.store.array_codec import checked, is_damaged, moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import finite_or_none, next_id, number_or_nan, sighting_of
from knickpoint.store.tables.announcements import newest_verdict
from knickpoint.store.tables.findings import change_point, judged, sighting
from knickpoint.store.tables.findings import cluster as table
from knickpoint.store.tables.findings import cluster_member as member

# Read what alerts saw in traces when they last ran over them.


_OF_TRACES: Final = (
    select(sighting).where(Database.among(sighting.c.trace_id, "ids")).order_by(sighting.c.alert, sighting.c.slot)
)


class SightingTable:
    """Read the sightings of a store; they are written with the change points that they belong to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_traces(self, trace_ids: Collection[int]) -> dict[int, list[Sighting]]:
        """Return trace → what all alerts saw in it, by alert name and slot; traces without sightings are left out."""
        listed = {"ids": self._database.listed(sorted(trace_ids))}
        found: dict[int, list[Sighting]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(_OF_TRACES, listed).mappings():
                found.setdefault(row["trace_id"], []).append(sighting_of(row))
        return found

    def count(self, alert: str, trace_ids: Collection[int]) -> int:
        """Count what ``alert`` saw in traces."""
        among = self._database.among(sighting.c.trace_id, "ids")
        query = select(func.count()).select_from(sighting).where(sighting.c.alert == alert, among)
        with self._database.reading() as connection:
            return int(connection.execute(query, {"ids": self._database.listed(list(trace_ids))}).scalar_one())

    def slots(self, alert: str, trace_ids: Collection[int]) -> dict[int, list[int]]:
        """Return trace → the slots at which ``alert`` saw something, ascending, for traces that have any."""
        query = select(sighting.c.trace_id, sighting.c.slot).where(
            sighting.c.alert == alert, self._database.among(sighting.c.trace_id, "ids")
        )
        listed = {"ids": self._database.listed(list(trace_ids))}
        found: dict[int, list[int]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query.order_by(sighting.c.trace_id, sighting.c.slot), listed):
                found.setdefault(row.trace_id, []).append(row.slot)
        return found

    def traces(self, alert: str, repository: Repository) -> list[int]:
        """Return the traces of ``repository`` in which ``alert`` saw something, ascending."""
        matching = (sighting.c.alert == alert) & (sighting.c.repository_id == repository.id)
        query = select(sighting.c.trace_id).where(matching).distinct().order_by(sighting.c.trace_id)
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars())

    def alerts(self) -> list[str]:
        """Return the names of the alerts that have sightings, sorted."""
        with self._database.reading() as connection:
            return list(connection.execute(select(sighting.c.alert).distinct().order_by(sighting.c.alert)).scalars())


# Remember what alerts last detected in, so that a trace that did not change is not detected in again.
#
# A digest is a number made of all that a detection depends on: the values, the method, its parameters. When the digest
# of a trace is the one that was kept, the detection would give the same result, and the alert skips it. Digests of
# 1,024 neighbouring traces are one row. A further digest of such a row stands for all of its traces, so that a run over
# everything need not read the values of a chunk in which nothing changed. A damaged row counts as none, so that its
# traces are detected in anew.


_CHUNK: Final = 1024
_DIGEST: Final = np.dtype("<u8")


_OF_CHUNKS: Final = select(judged.c.chunk, judged.c.digests).where(
    judged.c.alert == bindparam("of"), Database.among(judged.c.chunk, "chunks")
)
_WHOLE: Final = select(judged.c.chunk, judged.c.whole).where(
    judged.c.alert == bindparam("of"), judged.c.whole.is_not(None)
)
_SET_WHOLE: Final = (
    judged.update()
    .where(judged.c.alert == bindparam("of"), judged.c.chunk == bindparam("number"))
    .values(whole=bindparam("digest"))
)


class DigestTable:
    """Keep one digest for each alert and trace, 0 for none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, alert: str, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digests of the traces ``ids`` (ascending), 0 where there is none."""
        found = np.zeros(len(ids), dtype=np.uint64)
        with self._database.reading() as connection:
            for part, digests in self._stored(connection, alert, ids):
                found[part] = digests[ids[part] % _CHUNK]
        return found

    def set(self, alert: str, ids: NDArray[np.int64], digests: NDArray[np.uint64]) -> None:
        """Write the digests of the traces ``ids`` (ascending), in the transaction of the caller."""
        if not len(ids):
            return
        with self._database.transaction() as connection:
            known = {int(ids[part.start]) // _CHUNK: kept for part, kept in self._stored(connection, alert, ids)}
            rows = []
            for chunk, part in _chunks(ids):
                changed = known.get(chunk, np.zeros(_CHUNK, dtype=_DIGEST)).copy()
                changed[ids[part] % _CHUNK] = digests[part]
                rows.append({"alert": alert, "chunk": chunk, "digests": checked(changed.tobytes())})
            connection.execute(self._database.replacing(judged, ["alert", "chunk"], ["digests"]), rows)

    def whole(self, alert: str) -> dict[int, int]:
        """Return the digests of whole chunks at the last run of ``alert`` over everything, by chunk."""
        with self._database.reading() as connection:
            return dict(self._database.quick(connection, _WHOLE, {"of": alert}).fetchall())

    def set_whole(self, alert: str, digests: Mapping[int, int]) -> None:
        """Write the digests of whole chunks, in the transaction of the caller; chunks without digests have none."""
        rows = [{"of": alert, "number": chunk, "digest": digest} for chunk, digest in sorted(digests.items())]
        if rows:
            with self._database.transaction() as connection:
                connection.execute(_SET_WHOLE, rows)

    def forget(self, alert: str) -> None:
        """Delete all digests of ``alert``."""
        with self._database.transaction() as connection:
            connection.execute(judged.delete().where(judged.c.alert == alert))

    def _stored(
        self, connection: Connection, alert: str, ids: NDArray[np.int64]
    ) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
        """Yield, for each stored chunk, the part of ``ids`` that lies in it, and its digests."""
        if not len(ids):
            return
        parts = dict(_chunks(ids))
        values = {"of": alert, "chunks": self._database.listed(list(parts))}
        for chunk, digests in self._database.quick(connection, _OF_CHUNKS, values).fetchall():
            if not is_damaged(digests):
                yield parts[chunk], np.frombuffer(digests, dtype=_DIGEST, count=_CHUNK)


def _chunks(ids: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """Yield each chunk, and the part of ``ids`` that lies in it."""
    chunks, begins = np.unique(ids // _CHUNK, return_index=True)
    ends = np.append(begins[1:], len(ids))[: len(chunks)].tolist()
    for chunk, begin, end in zip(chunks.tolist(), begins.tolist(), ends, strict=True):
        yield chunk, slice(begin, end)


# Keep the verdicts on the newest values of traces, where they are remarkable.


_VERDICTS: Final = select(newest_verdict).where(Database.among(newest_verdict.c.trace_id, "ids"))


class NewestVerdicts:
    """Hold one verdict a trace, and none where the newest value is unremarkable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, trace_ids: Collection[int]) -> dict[int, NewestVerdict]:
        """Return the verdicts on traces, by trace."""
        with self._database.reading() as connection:
            rows = connection.execute(_VERDICTS, {"ids": self._database.listed(sorted(trace_ids))}).all()
        return {row.trace_id: _verdict_of(row) for row in rows}

    def at(self, repository: Repository, slot: int) -> list[NewestVerdict]:
        """Return the verdicts on values at the commit ``slot``, the largest first."""
        query = select(newest_verdict).where(
            newest_verdict.c.repository_id == repository.id, newest_verdict.c.slot == slot
        )
        with self._database.reading() as connection:
            found = [_verdict_of(row) for row in connection.execute(query)]
        return sorted(found, key=lambda verdict: (-abs(np.nan_to_num(verdict.relative_size)), verdict.trace_id))

    def replace(self, repository: Repository, trace_ids: NDArray[np.int64], verdicts: Sequence[NewestVerdict]) -> None:
        """Write the ``verdicts`` on ``trace_ids``; traces without one lose theirs."""
        now = time.time()
        rows = [
            {
                "trace_id": each.trace_id,
                "repository_id": repository.id,
                "slot": each.slot,
                "verdict": each.verdict.value,
                "value": each.value,
                "centre": finite_or_none(each.centre),
                "low": finite_or_none(each.low),
                "high": finite_or_none(each.high),
                "relative_size": finite_or_none(each.relative_size),
                "p_value": finite_or_none(each.p_value),
                "judged": now,
            }
            for each in verdicts
        ]
        with self._database.transaction() as connection:
            stale = delete(newest_verdict).where(self._database.among(newest_verdict.c.trace_id, "ids"))
            connection.execute(stale, {"ids": self._database.listed(trace_ids)})
            if rows:
                connection.execute(newest_verdict.insert(), rows)


def _verdict_of(row: Row[Any]) -> NewestVerdict:
    return NewestVerdict(
        trace_id=row.trace_id,
        slot=row.slot,
        verdict=Verdict(row.verdict),
        value=row.value,
        centre=number_or_nan(row.centre),
        low=number_or_nan(row.low),
        high=number_or_nan(row.high),
        relative_size=number_or_nan(row.relative_size),
        p_value=number_or_nan(row.p_value),
    )


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
