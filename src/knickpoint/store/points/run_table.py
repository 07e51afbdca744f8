"""Read and write the rows of runs, and of the environments that they ran in."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, bindparam, select, update

from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.report import Outcome, Result
from knickpoint.store.array_codec import stored_json
from knickpoint.store.database import Database
from knickpoint.store.points.run_records import Run, RunWrite
from knickpoint.store.tables.runs import environment, run
from knickpoint.store.timestamps import moment

__all__ = ["RunRecord", "RunTable", "StoredRun", "run_of"]

_IDENTITIES_AT_ONCE: Final = 500

_HEAD: Final = (run.c.id, run.c.slot, run.c.identity, run.c.content_hash, run.c.corrections)
_BY_IDENTITY: Final = select(*_HEAD).where(
    run.c.repository_id == bindparam("owner"), run.c.identity == bindparam("named")
)
_BY_IDENTITIES: Final = select(*_HEAD).where(
    run.c.repository_id == bindparam("owner"), run.c.identity.in_(bindparam("names", expanding=True))
)
_INSERT: Final = run.insert().returning(run.c.id)
_INSERT_MANY: Final = run.insert().returning(run.c.id, sort_by_parameter_order=True)
_UPDATE: Final = update(run).where(run.c.id == bindparam("written"))


class StoredRun(NamedTuple):
    """A stored run, as far as a write compares it with one that arrives."""

    id: int
    slot: int
    identity: str
    content_hash: str
    corrections: int


class RunRecord(NamedTuple):
    """A run to record: with the stored run that it corrects, the number of its traces, and where its parts are."""

    write: RunWrite
    corrects: StoredRun | None
    points: int
    chunks: bytes


class RunTable:
    """Hold the rows of all runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, connection: Connection, repository_id: int, identities: Sequence[str]) -> dict[str, StoredRun]:
        """Return identity → the stored run, for those of ``identities`` that are known."""
        if len(identities) == 1:
            values = {"owner": repository_id, "named": identities[0]}
            rows = self._database.quick(connection, _BY_IDENTITY, values).fetchall()
            return {row[2]: StoredRun(*row) for row in rows}
        found: dict[str, StoredRun] = {}
        for begin in range(0, len(identities), _IDENTITIES_AT_ONCE):
            names = list(identities[begin : begin + _IDENTITIES_AT_ONCE])
            for row in connection.execute(_BY_IDENTITIES, {"owner": repository_id, "names": names}):
                found[row.identity] = StoredRun(*row)
        return found

    def stored(self, connection: Connection, repository_id: int, run_ids: Collection[int]) -> list[StoredRun]:
        """Return those of the runs ``run_ids`` that ``repository_id`` has."""
        query = select(*_HEAD).where(self._database.among(run.c.id), run.c.repository_id == repository_id)
        rows = connection.execute(query, {"numbers": self._database.listed(sorted(run_ids))})
        return [StoredRun(*row) for row in rows]

    def delete(self, connection: Connection, run_ids: Collection[int]) -> None:
        """Delete the rows of runs; their parts are those of the points."""
        numbers = {"numbers": self._database.listed(sorted(run_ids))}
        connection.execute(run.delete().where(self._database.among(run.c.id)), numbers)

    def record(self, connection: Connection, repository_id: int, records: Sequence[RunRecord]) -> list[int]:
        """Insert new runs and update corrected ones; return their ids in the same order."""
        environments: dict[str, int] = {}
        rows: list[dict[str, Any]] = []
        for record in records:
            facts = _environment_text(record.write.report.environment)
            if facts not in environments:
                environments[facts] = self._environment(connection, facts)
            values = _values_of(record) | {"repository_id": repository_id, "environment_id": environments[facts]}
            if record.corrects is None:
                rows.append(values | {"created": time.time(), "corrections": 0})
            else:
                values |= {"corrections": record.corrects.corrections + 1, "written": record.corrects.id}
                connection.execute(_UPDATE, values)
        new = iter(self._insert(connection, rows))
        return [record.corrects.id if record.corrects is not None else next(new) for record in records]

    def _insert(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> list[int]:
        """Insert rows; return their ids in the same order."""
        if len(rows) == 1:
            return [int(self._database.quick(connection, _INSERT, rows[0]).fetchone()[0])]
        return [int(number) for number in connection.execute(_INSERT_MANY, list(rows)).scalars()] if rows else []

    def _environment(self, connection: Connection, facts: str) -> int:
        """Return the number of an environment, 0 for one without facts."""
        if not facts:
            return 0
        digest = blake2b(facts.encode(), digest_size=16).hexdigest()
        known = connection.execute(select(environment.c.id).where(environment.c.digest == digest)).scalar()
        if known is not None:
            return int(known)
        key = connection.execute(environment.insert().values(digest=digest, facts=facts)).inserted_primary_key
        assert key is not None
        return int(key[0])


def run_of(connection: Connection, row: Row[Any]) -> Run:
    """Return the run of a whole row of the table."""
    facts = ""
    if row.environment_id:
        query = select(environment.c.facts).where(environment.c.id == row.environment_id)
        facts = str(connection.execute(query).scalar_one())
    return Run(
        row.id,
        row.repository_id,
        row.slot,
        row.identity,
        row.content_hash,
        row.source,
        row.entry,
        row.branch,
        moment(row.time) if row.time is not None else None,
        stored_json(facts) if facts else {},
        stored_json(row.links) if row.links else {},
        stored_json(row.revisions) if row.revisions else {},
        moment(row.created),
        row.corrections,
        tuple(
            Result(decode_key(key), outcome=Outcome(outcome), message=message)
            for key, outcome, message in stored_json(row.unmeasured or "[]")
        ),
    )


def _environment_text(facts: Mapping[str, str]) -> str:
    """Return the facts of an environment as JSON, "" for none."""
    return json.dumps(dict(facts), sort_keys=True) if facts else ""


def _values_of(record: RunRecord) -> dict[str, Any]:
    """Return what a new run and a corrected one have in common as a row."""
    write, report = record.write, record.write.report
    return {
        "slot": write.slot,
        "identity": write.identity,
        "content_hash": write.content_hash,
        "source": write.source,
        "entry": report.entry,
        "branch": write.branch or report.branch,
        "time": report.time.timestamp() if report.time is not None else None,
        "links": json.dumps(dict(report.links)) if report.links else "",
        "revisions": json.dumps(dict(report.revisions)) if report.revisions else "",
        "unmeasured": _unmeasured_text(report.unmeasured),
        "points": record.points,
        "chunks": record.chunks,
    }


def _unmeasured_text(results: Sequence[Result]) -> str:
    """Return results without a value as JSON: key, outcome and message of each; "" for none."""
    if not results:
        return ""
    return json.dumps([(encode_key(result.params), result.outcome.value, result.message) for result in results])
