"""Keep only directions that are not what the unit says, and give units to traces whose metric is named after one.

A rate counted as better when higher, whatever it counted, and that was stored as if the results had stated it. Now
what a unit says is looked up when a trace is read. Metrics called ``ms`` or ``net_mbps`` had no unit, ``requests_per_s``
was in seconds and ``latency_min`` in minutes. Their traces get the unit and the direction that their next results
come with, so that they go on. Values stay as they are: only how they are labelled changes.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

from knickpoint.model.params import decode_key
from knickpoint.model.unit import Better, better_of, read_unit
from knickpoint.model.unit_in_name import unit_in_name
from knickpoint.store.array_codec import pack, unpack
from knickpoint.store.traces.key_digests import digest_each

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

CODES = {Better.LOWER: 0, Better.HIGHER: 1, Better.UNKNOWN: 2}
HIGHER, UNKNOWN = 1, 2
INTERVALS_TEXT = """
ps ns us ms s min h picosecond picoseconds nanosecond nanoseconds nsec µs μs usec microsecond microseconds msec
millis millisecond milliseconds sec secs second seconds minute minutes hour hours
"""
INTERVALS = frozenset(INTERVALS_TEXT.split())
SHORT_RATES = frozenset({"rps", "qps", "tps", "fps"})

UNIT = sa.table("unit", sa.column("id"), sa.column("text"), sa.column("dimension"))
CHUNK = sa.table("chunk", sa.column("id"), sa.column("repository_id"), sa.column("facts"), sa.column("keys"))
IDENTITY = sa.table(
    "trace_identity",
    *(sa.column(name) for name in ("repository_id", "high", "low", "dimension", "trace_id", "unit_id", "better")),
)
CHANGE_POINT = sa.table("change_point", sa.column("trace_id"), sa.column("unit"))
LAYOUT = sa.table("layout")
TRACES_IN_CHUNK = 1024


def upgrade() -> None:
    """Rewrite the facts of the traces that this is about."""
    connection = op.get_bind()
    units = {row.id: row for row in connection.execute(sa.select(UNIT).order_by(UNIT.c.id))}
    rates = [number for number, row in units.items() if _was_rate(row.text)]
    for key in connection.execute(sa.select(CHUNK.c.id).order_by(CHUNK.c.id)).scalars().all():
        row = connection.execute(sa.select(CHUNK).where(CHUNK.c.id == key)).one()
        facts = np.stack(unpack(row.facts, 3))
        before = facts.copy()
        keys = zlib.decompress(row.keys).decode().split("\n")
        facts[2, np.isin(facts[0], rates) & (facts[2] == HIGHER)] = UNKNOWN
        for place in np.flatnonzero(facts[0]).tolist():
            if ",metric=" in keys[place]:
                facts[:, place] = _named(connection, units, row.repository_id, keys[place], facts[:, place])
        changed = np.flatnonzero((facts != before).any(axis=0)).tolist()
        for place in changed:
            same_key, trace = _identity(row.repository_id, keys[place]), key * TRACES_IN_CHUNK + place
            _write(connection, same_key, trace, facts[:, place])
            if facts[0, place] != before[0, place]:
                unit = units[int(facts[0, place])].text
                connection.execute(sa.update(CHANGE_POINT).where(CHANGE_POINT.c.trace_id == trace).values(unit=unit))
        if changed:
            connection.execute(sa.update(CHUNK).where(CHUNK.c.id == key).values(facts=pack(*facts)))
    connection.execute(sa.delete(LAYOUT))


def _was_rate(text: str) -> bool:
    """Say whether a unit counted as a rate, and so as better when higher."""
    _, slash, denominator = text.strip().rpartition("/")
    return text.strip() in SHORT_RATES or bool(slash and denominator in INTERVALS)


def _named(
    connection: sa.Connection, units: dict[int, Any], repository_id: int, key: str, facts: np.ndarray
) -> tuple[int, int, int]:
    """Return unit, dimension and direction of a trace, as the name of its metric says them."""
    number, dimension, better = facts.tolist()
    metric = decode_key(key)["metric"]
    head, _, ending = metric.rpartition("_")
    written, named = units[number].text, unit_in_name(metric)
    from_name = written == (ending if head and written else "")
    if from_name and named != written:
        unit = _unit_of(connection, units, named)
        if _is_free(connection, repository_id, key, unit.dimension, dimension):
            number, dimension, better, written = unit.id, unit.dimension, UNKNOWN, named
    if better == UNKNOWN and (direction := better_of(metric, written)) is not read_unit(written).better:
        better = CODES[direction]
    return number, dimension, better


def _unit_of(connection: sa.Connection, units: dict[int, Any], text: str) -> Any:
    """Return the unit written as ``text``, made where it is missing."""
    for unit in units.values():
        if unit.text == text:
            return unit
    dimension = read_unit(text).dimension
    number = max(units) + 1
    same = [unit.dimension for unit in units.values() if read_unit(unit.text).dimension == dimension]
    connection.execute(sa.insert(UNIT).values(id=number, text=text, dimension=same[0] if same else number))
    units[number] = connection.execute(sa.select(UNIT).where(UNIT.c.id == number)).one()
    return units[number]


def _identity(repository_id: int, key: str) -> tuple[Any, ...]:
    """Return the conditions that the traces of ``key`` meet."""
    high, low = digest_each([key])[0].tolist()
    return IDENTITY.c.repository_id == repository_id, IDENTITY.c.high == high, IDENTITY.c.low == low


def _is_free(connection: sa.Connection, repository_id: int, key: str, dimension: int, before: int) -> bool:
    """Say whether no other trace of ``key`` has ``dimension``; ``before`` is that of the trace that asks."""
    taken = sa.select(IDENTITY.c.trace_id).where(*_identity(repository_id, key), IDENTITY.c.dimension == dimension)
    return dimension == before or connection.execute(taken).first() is None


def _write(connection: sa.Connection, same_key: tuple[Any, ...], trace: int, facts: np.ndarray) -> None:
    """Write the facts of a trace where it is found by key."""
    number, dimension, better = facts.tolist()
    identity = sa.update(IDENTITY).where(*same_key, IDENTITY.c.trace_id == trace)
    connection.execute(identity.values(unit_id=number, dimension=dimension, better=better))
