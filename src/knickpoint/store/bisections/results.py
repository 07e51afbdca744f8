"""Keep the results files of probes until they are imported, so that a kill between measuring and importing loses none."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from sqlalchemy import Connection, select, update

from knickpoint.model.bisection import ResultsFile
from knickpoint.store.array_codec import decompressed, stored_json
from knickpoint.store.bisections.records import ProbeValue, WaitingResults
from knickpoint.store.bisections.rows import target_of
from knickpoint.store.tables.bisections import bisection, planned_probe, probe, probe_file
from knickpoint.store.timestamps import moment

__all__ = ["finish_import", "keep_files", "merged", "values_of_trace", "waiting_results"]

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


def values_of_trace(connection: Connection, trace_id: int) -> list[ProbeValue]:
    """Return what probes measured of a trace for bisections of it, by probe.

    Values of combinations of old and new commits of two repositories are none of the trace, and left out.
    """
    query = (
        select(probe, bisection.c.trace_key, bisection.c.id.label("bisection_id"))
        .join(planned_probe, planned_probe.c.probe_id == probe.c.id)
        .join(bisection, bisection.c.id == planned_probe.c.bisection_id)
        .where(bisection.c.trace_id == trace_id)
        .where(*(planned_probe.c.name.not_like(f"%-{part}-%") for part in ("cells", "other")))
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
