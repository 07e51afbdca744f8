"""Write down what a bisection asks for and what it gets, at once, so that another worker can go on after a kill."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, and_, func, select, update

from knickpoint.model.bisection import (
    PROBE_RUN,
    BisectionState,
    ProbePurpose,
    ProbeResult,
    ResultsFile,
    Target,
)
from knickpoint.model.errors import BusyError
from knickpoint.model.posterior import Posterior
from knickpoint.store.array_codec import decompressed, moment, stored_json
from knickpoint.store.bisections.records import (
    JournalProbe,
    LogLine,
    ProbeValue,
    WaitingResults,
    bounded,
    packed_posterior,
    probe_of,
    probe_values,
    stored_of,
    target_of,
    target_text,
)
from knickpoint.store.database import Database
from knickpoint.store.tables.bisections import bisection, bisection_line, planned_probe, probe, probe_file

# Keep the results files of probes until they are imported, so that a kill between measuring and importing loses none.


_LEVEL = 6


def keep_files(connection: Connection, probe_id: int, files: Sequence[ResultsFile]) -> None:
    """Write the results files of a probe; of two with one name, the last one counts."""
    contents = {each.name: each.content for each in files}
    rows = [
        {"probe_id": probe_id, "name": name, "content": zlib.compress(content, _LEVEL)}
        for name, content in sorted(contents.items())
    ]
    if rows:
        connection.execute(probe_file.insert(), rows)


def waiting_results(connection: Connection, limit: int) -> list[WaitingResults]:
    """Return the results of probes that wait for their import, by id."""
    waiting = connection.execute(select(probe).where(probe.c.waits == 1).order_by(probe.c.id).limit(limit)).all()
    found = []
    for row in waiting:
        files = connection.execute(
            select(probe_file).where(probe_file.c.probe_id == row.id).order_by(probe_file.c.name)
        )
        served = select(planned_probe.c.bisection_id, planned_probe.c.target).where(planned_probe.c.probe_id == row.id)
        asked = connection.execute(served).all()
        found.append(
            WaitingResults(
                probe_id=row.id,
                repository_id=row.repository_id,
                identity=row.identity,
                slot=row.slot,
                device=row.device,
                started=moment(row.started),
                pins=target_of(asked[0].target).pins,
                bisections=[f"B{key}" for key in sorted({each.bisection_id for each in asked})],
                files=tuple(ResultsFile(each.name, decompressed(each.content)) for each in files),
            )
        )
    return found


def finish_import(connection: Connection, probe_id: int, problem: str) -> None:
    """Delete the files of a probe; note a problem with its reason."""
    connection.execute(probe_file.delete().where(probe_file.c.probe_id == probe_id))
    changes: dict[str, object] = {"waits": 0}
    if problem:
        changes["reason"] = f"its results are not imported: {problem}"
    connection.execute(update(probe).where(probe.c.id == probe_id).values(**changes))


def merged(kept: str, new: str) -> str:
    """Return the values of two readings of the same results, as JSON by trace key."""
    return json.dumps({**stored_json(kept), **stored_json(new)}, ensure_ascii=False, sort_keys=True)


_OF_MAIN_SEARCH: Final = and_(*(planned_probe.c.name.not_like(f"%-{part}-%") for part in ("cells", "other")))
"""Not of the search in a second repository."""


def values_of_trace(connection: Connection, trace_id: int) -> list[ProbeValue]:
    """Return the values of a trace that probes of its bisections measured, by probe.

    Values of combinations of old and new commits of two repositories are none of the trace, and left out.
    """
    query = (
        select(probe, bisection.c.trace_key, bisection.c.id.label("bisection_id"))
        .join(planned_probe, planned_probe.c.probe_id == probe.c.id)
        .join(bisection, bisection.c.id == planned_probe.c.bisection_id)
        .where(bisection.c.trace_id == trace_id)
        .where(_OF_MAIN_SEARCH)
        .order_by(probe.c.id, bisection.c.id)
    )
    found: dict[int, ProbeValue] = {}
    for row in connection.execute(query):
        value, _, unit = stored_json(row.measured).get(row.trace_key, (None, (), ""))
        if value is None:
            continue
        before = found[row.id].bisections if row.id in found else ()
        found[row.id] = ProbeValue(
            row.slot, row.identity, row.device, moment(row.started), value, unit, (*before, row.bisection_id)
        )
    return list(found.values())


_MOST_LINES: Final = 500
_RESULT: Final = ("outcome", "started", "seconds", "measured", "reason", "output", "built", "waits")


class Journal:
    """The journal of one bisection.

    Anybody may read it. Writes are those of the worker ``holder``; they raise a BusyError once another worker has taken
    the bisection over, or when it ended.
    """

    def __init__(self, database: Database, key: int, holder: str = "") -> None:
        self._database = database
        self._key = key
        self._holder = holder

    # What is read

    def probes(self) -> list[JournalProbe]:
        """Return the probes that were asked for and not dropped, by number."""
        columns = (planned_probe, probe.c.device.label("measured_on"))
        measured = [probe.c[name] for name in _RESULT]
        query = select(*columns, *measured).outerjoin(probe, probe.c.id == planned_probe.c.probe_id)
        query = query.where(planned_probe.c.bisection_id == self._key).order_by(planned_probe.c.number)
        with self._database.reading() as connection:
            return [probe_of(row) for row in connection.execute(query).mappings()]

    def lines(self, *, last: int = _MOST_LINES) -> list[LogLine]:
        """Return the newest lines of the log, in their order."""
        query = select(bisection_line).where(bisection_line.c.bisection_id == self._key)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(bisection_line.c.number.desc()).limit(last)).all()
        return [LogLine(moment(row.time), row.text) for row in reversed(rows)]

    # What the coordinator writes

    def begin(self, name: str, *, place: int, device: str, purpose: ProbePurpose, target: Target) -> None:
        """Note a probe before a device gets it; the same name twice is one probe."""
        with self._database.transaction() as connection:
            self._check(connection)
            number = (
                1
                + connection.execute(
                    select(func.coalesce(func.max(planned_probe.c.number), 0)).where(
                        planned_probe.c.bisection_id == self._key
                    )
                ).scalar_one()
            )
            row = {
                "bisection_id": self._key,
                "number": number,
                "name": name,
                "place": place,
                "device": device,
                "purpose": purpose.value,
                "target": target_text(target),
                "begun": datetime.now(UTC).timestamp(),
                "probe_id": 0,
            }
            insert = self._database.insert(planned_probe).values(row)
            connection.execute(insert.on_conflict_do_nothing(index_elements=["bisection_id", "name"]))
            self._touch(connection)

    def record(self, result: ProbeResult) -> None:
        """Keep the result of a probe; a second result under its name changes nothing.

        Where another bisection has the result of the same measurement already, both share one probe: the device and the
        start are the same.
        """
        with self._database.transaction() as connection:
            self._check(connection)
            ours = and_(planned_probe.c.bisection_id == self._key, planned_probe.c.name == result.probe)
            planned = connection.execute(select(planned_probe).where(ours)).first()
            if planned is None or planned.probe_id:
                return
            request = stored_of(
                connection.execute(select(bisection).where(bisection.c.id == self._key)).mappings().one()
            ).request
            key = result.target.key(request.digest)
            values = probe_values(
                result,
                request.repository_id,
                request.slots[planned.place],
                key,
                f"{PROBE_RUN}{self._key} probe {planned.number}",
            )
            probe_id = self._shared(connection, values) or self._written(connection, values, result)
            connection.execute(update(planned_probe).where(ours).values(probe_id=probe_id))
            self._touch(connection)

    def drop(self, name: str) -> None:
        """Forget a probe that was cancelled before it had a result."""
        with self._database.transaction() as connection:
            self._check(connection)
            ours = and_(planned_probe.c.bisection_id == self._key, planned_probe.c.name == name)
            connection.execute(planned_probe.delete().where(ours, planned_probe.c.probe_id == 0))
            self._touch(connection)

    def log(self, *lines: str) -> None:
        """Add lines to the log; the oldest lines go where it is long."""
        with self._database.transaction() as connection:
            self._check(connection)
            newest = select(func.coalesce(func.max(bisection_line.c.number), 0))
            last = connection.execute(newest.where(bisection_line.c.bisection_id == self._key)).scalar_one()
            now = datetime.now(UTC).timestamp()
            rows = [
                {"bisection_id": self._key, "number": number, "time": now, "text": bounded(text)}
                for number, text in enumerate(lines, last + 1)
            ]
            connection.execute(bisection_line.insert(), rows)
            oldest = last + len(lines) - _MOST_LINES
            old = and_(bisection_line.c.bisection_id == self._key, bisection_line.c.number <= oldest)
            connection.execute(bisection_line.delete().where(old))
            self._touch(connection)

    def state(self, posterior: Posterior, devices: Sequence[str], seconds_left: float | None) -> None:
        """Keep what is known so far, which devices take its probes, and how long it may still take.

        Probes that ended since the last call keep it as what was known after them.
        """
        known = packed_posterior(posterior)
        ended = and_(planned_probe.c.probe_id > 0, planned_probe.c.known.is_(None), _OF_MAIN_SEARCH)
        ours = update(planned_probe).where(planned_probe.c.bisection_id == self._key, ended)
        with self._database.transaction() as connection:
            self._check(connection)
            connection.execute(ours.values(known=known))
            self._touch(
                connection,
                posterior=known,
                devices=json.dumps([bounded(name) for name in devices], ensure_ascii=False),
                left_seconds=seconds_left,
            )

    def _check(self, connection: Connection) -> None:
        """Raise a BusyError unless the holder of this journal coordinates the bisection."""
        check_holder(connection, self._key, self._holder)

    def _touch(self, connection: Connection, **changes: Any) -> None:
        changed = update(bisection).where(bisection.c.id == self._key)
        connection.execute(changed.values(edition=bisection.c.edition + 1, **changes))

    @staticmethod
    def _shared(connection: Connection, values: dict[str, Any]) -> int:
        """Return the id of the probe with the same measurement, 0 for none; it gets the values that it lacks."""
        same = [probe.c[name] == values[name] for name in ("key", "device", "started", "outcome")]
        row = connection.execute(select(probe.c.id, probe.c.measured).where(*same)).first()
        if row is None:
            return 0
        together = merged(row.measured, values["measured"])
        connection.execute(update(probe).where(probe.c.id == row.id).values(measured=together))
        return int(row.id)

    @staticmethod
    def _written(connection: Connection, values: dict[str, Any], result: ProbeResult) -> int:
        key = int(connection.execute(select(func.coalesce(func.max(probe.c.id), 0))).scalar_one()) + 1
        connection.execute(probe.insert().values(id=key, **values))
        keep_files(connection, key, result.files)
        return key


def check_holder(connection: Connection, key: int, holder: str) -> None:
    """Raise a BusyError unless ``holder`` coordinates the bisection ``key``, which runs."""
    row = connection.execute(select(bisection.c.holder, bisection.c.state).where(bisection.c.id == key)).first()
    if row is None or row.holder != holder or row.state != BisectionState.RUNNING.value:
        raise BusyError(
            f"another worker coordinates bisection B{key}, or it ended",
            remedy="Nothing is lost: it continues from its journal.",
        )
