"""The kinds of events, and what an event of each kind states.

The fields of a payload are the members of its JSON, which the database keeps and NATS publishes. Three things change
changes: a run of alerts, a move of the history boundary, and a decision. Each has its own payload of the same kind.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar, Final, TypedDict

import numpy as np
from numpy.typing import NDArray

# Trace ids inside an event: sorted, and in the shortest of three forms.
#
# An import may change a million traces, and each event of it is a row of the database and a message on NATS. So ids are
# not listed one by one. Ids that are neighbours are their first one and their number. Ids that lie close together are a
# bitmap for each 1,024. Other ids are the distances between them, 4 bytes each (8 where one is wider).


_BITMAP_BITS: Final = 1024
_BYTES_OF_A_STEP: Final = 4


class PackedIds(TypedDict, total=False):
    """Trace ids as members of JSON; ``count`` is always there, the others belong to one form each.

    ``first`` alone means neighbours. ``chunks`` and ``bitmaps`` are the numbers of the chunks and their bits, lowest
    first. ``first``, ``wide`` and ``steps`` are distances, little-endian, of 8 bytes where ``wide``, else of 4. Bytes
    are in base64.
    """

    count: int
    first: int
    wide: bool
    steps: str
    chunks: list[int]
    bitmaps: str


def pack_ids(ids: NDArray[np.int64]) -> PackedIds:
    """Return sorted distinct trace ids in the shortest of the three forms."""
    count = len(ids)
    if count == 0:
        return {"count": 0}
    first = int(ids[0])
    if int(ids[-1]) - first + 1 == count:
        return {"count": count, "first": first}

    chunks, starts = np.unique(ids // _BITMAP_BITS, return_index=True)
    if len(chunks) * (_BITMAP_BITS // 8) <= count * _BYTES_OF_A_STEP:
        bits = np.zeros((len(chunks), _BITMAP_BITS), dtype=np.bool_)
        counts = np.diff(starts, append=count)
        bits[np.repeat(np.arange(len(chunks)), counts), ids % _BITMAP_BITS] = True
        packed = np.packbits(bits, axis=1, bitorder="little")
        return {"count": count, "chunks": chunks.tolist(), "bitmaps": base64.b64encode(packed.tobytes()).decode()}

    steps = np.diff(ids)
    wide = bool((steps >= 2**32).any())
    packed = steps.astype("<i8" if wide else "<u4")
    return {"count": count, "first": first, "wide": wide, "steps": base64.b64encode(packed.tobytes()).decode()}


def unpack_ids(payload: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the sorted trace ids of the payload of a ``traces-changed`` event.

    Raises:
        KeyError, TypeError, ValueError: a member is missing, or is not what :func:`pack_ids` writes.
    """
    if "chunks" in payload:
        raw = np.frombuffer(base64.b64decode(payload["bitmaps"]), dtype=np.uint8).reshape(-1, _BITMAP_BITS // 8)
        rows, bits = np.nonzero(np.unpackbits(raw, axis=1, bitorder="little"))
        return np.asarray(payload["chunks"], dtype=np.int64)[rows] * _BITMAP_BITS + bits
    if "first" not in payload:
        return np.empty(0, dtype=np.int64)
    if "steps" not in payload:
        return np.arange(payload["first"], payload["first"] + payload["count"], dtype=np.int64)
    steps = np.frombuffer(base64.b64decode(payload["steps"]), dtype="<i8" if payload["wide"] else "<u4")
    return np.cumsum(np.concatenate([[int(payload["first"])], steps]))


MOST_LISTED: Final = 1000
"""How many slots, runs or changes one event lists; ``truncated`` states that there are more."""


class EventKind(Enum):
    """The subject of an event; the value is its name in the database and on NATS."""

    TRACES_CHANGED = "traces-changed"
    CHANGES_UPDATED = "changes-updated"
    ANNOUNCED = "announced"


@dataclass(frozen=True, slots=True)
class TracesChanged:
    """Results came in, were corrected or removed, or commits of the traces changed their order.

    ``slots`` are those of the commits, and ``runs`` the ids of the runs; of both the first :data:`MOST_LISTED`.
    """

    kind: ClassVar[EventKind] = EventKind.TRACES_CHANGED

    repository: str
    slots: Sequence[int]
    runs: Sequence[int]
    traces: PackedIds
    truncated: bool = False

    def members(self) -> Mapping[str, object]:
        """Return the members of the JSON object; those of the trace ids lie beside the others."""
        where = {"repository": self.repository, "slots": self.slots, "runs": self.runs}
        return where | ({"truncated": True} if self.truncated else {}) | dict(self.traces)


class _ChangesUpdated:
    """What the payloads about changes share: their kind, and JSON members named as their fields."""

    __slots__ = ()
    kind: ClassVar[EventKind] = EventKind.CHANGES_UPDATED

    def members(self) -> Mapping[str, object]:
        """Return the members of the JSON object."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class FindingsChanged(_ChangesUpdated):
    """A run of alerts changed findings.

    ``new_changes`` and ``updated_changes`` are ids of changes that are work, at most
    :data:`MOST_LISTED` of each; ``history_changes`` counts the new ones that are history. The other numbers count
    change points.
    """

    repository: str
    run: int
    new_changes: Sequence[int]
    updated_changes: Sequence[int]
    history_changes: int
    truncated: bool
    new: int
    moved: int
    gone: int
    returned: int
    recovered: int


@dataclass(frozen=True, slots=True)
class BoundaryMoved(_ChangesUpdated):
    """The history boundary moved past changes.

    ``updated_changes`` are ids of those that became work, at most :data:`MOST_LISTED`; ``history_changes``
    counts those that became history.
    """

    repository: str
    updated_changes: Sequence[int]
    history_changes: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class FindingsDecided(_ChangesUpdated):
    """A person or a program decided about ``decided`` findings, which lie in ``changes`` (ids)."""

    repository: str
    decided: int
    changes: Sequence[int]


@dataclass(frozen=True, slots=True)
class Announced:
    """Rows were added to the announcement ledger: ``announcements`` are their ids, at most :data:`MOST_LISTED`.

    ``truncated`` states that there are more, with greater ids.
    """

    kind: ClassVar[EventKind] = EventKind.ANNOUNCED

    repository: str
    announcements: Sequence[int]
    truncated: bool = False

    def members(self) -> Mapping[str, object]:
        """Return the members of the JSON object."""
        return {"repository": self.repository, "announcements": self.announcements, "truncated": self.truncated}


Payload = Announced | TracesChanged | FindingsChanged | BoundaryMoved | FindingsDecided
