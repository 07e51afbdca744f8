"""The kinds of events, and what an event of each kind states.

The fields of a payload are the members of its JSON, which the database keeps and NATS publishes. Three things change
changes: a run of alerts, a move of the history boundary, and a decision. Each has its own payload of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import ClassVar, Final

from knickpoint.store.events.packed_ids import PackedIds

__all__ = [
    "MOST_LISTED",
    "Announced",
    "BoundaryMoved",
    "EventKind",
    "FindingsChanged",
    "FindingsDecided",
    "Payload",
    "TracesChanged",
]

MOST_LISTED: Final = 1000
"""How many slots, runs or changes one event lists; ``truncated`` states that there are more."""


class EventKind(Enum):
    """Say what an event is about; the value is its name in the database and on NATS."""

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
