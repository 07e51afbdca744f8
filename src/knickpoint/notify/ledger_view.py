"""See the announcements and their change points as they are at a moment, read once for the deliveries of a batch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from knickpoint.model.announcement import Announcement
from knickpoint.model.change import ChangePoint
from knickpoint.store import Store

__all__ = ["LedgerView"]


@dataclass
class LedgerView:
    """Reads what deliveries are about, and keeps it for further deliveries; use a new one for the next moment."""

    store: Store
    _announced: dict[int, Announcement] = field(default_factory=dict, init=False, repr=False)
    _chains: dict[int, list[Announcement]] = field(default_factory=dict, init=False, repr=False)
    _members: dict[int, list[ChangePoint]] = field(default_factory=dict, init=False, repr=False)

    def get(self, ids: Collection[int]) -> list[Announcement]:
        """Return announcements by id, ascending; ids that do not exist are left out."""
        missing = set(ids) - self._announced.keys()
        if missing:
            self._announced |= {each.id: each for each in self.store.findings.announcements.get(missing)}
        return [self._announced[key] for key in sorted(set(ids)) if key in self._announced]

    def chains(self, ids: Collection[int]) -> dict[int, list[Announcement]]:
        """Return the announcements of chains that exist, each in order."""
        missing = set(ids) - self._chains.keys()
        if missing:
            self._chains |= self.store.findings.announcements.chains(missing)
        return {key: self._chains[key] for key in set(ids)}

    def members(self, ids: Collection[int]) -> dict[int, list[ChangePoint]]:
        """Return the change points of chains, by id; chains without any have an empty list."""
        missing = set(ids) - self._members.keys()
        if missing:
            self._members |= {key: [] for key in missing}
            for point in self.store.findings.announcements.members(missing):
                self._members[point.announced].append(point)
        return {key: self._members[key] for key in set(ids)}
