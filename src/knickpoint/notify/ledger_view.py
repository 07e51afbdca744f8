"""See the announcements and their change points as they are at a moment, read once for the deliveries of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from knickpoint.model.change_point import ChangePoint
from knickpoint.model.notification import Announcement
from knickpoint.model.statement import Statement
from knickpoint.store import Store


@dataclass
class LedgerView:
    """Reads what deliveries are about, and keeps it for further deliveries; use a new one for the next moment."""

    store: Store
    _announced: dict[int, Announcement] = field(default_factory=dict, init=False, repr=False)
    _chains: dict[int, list[Announcement]] = field(default_factory=dict, init=False, repr=False)
    _members: dict[int, list[ChangePoint]] = field(default_factory=dict, init=False, repr=False)
    _statements: dict[int, Statement | None] = field(default_factory=dict, init=False, repr=False)

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

    def change_of(self, announced: Announcement) -> int:
        """Return the change that an announcement is about; after a merge, the one that has most of its members."""
        members = Counter(each.change_id for each in self.members([announced.chain])[announced.chain] if each.change_id)
        if not members or announced.change_id in members:
            return announced.change_id
        return min(members, key=lambda key: (-members[key], key))

    def statement(self, announced: Announcement) -> Statement | None:
        """Return the statement of the change of an announcement, None without members.

        A merged change has several chains. Each is stated by its own members, as its messages and its ticket are about
        them.
        """
        if announced.chain not in self._statements:
            self._statements[announced.chain] = self._read_statement(announced)
        return self._statements[announced.chain]

    def _read_statement(self, announced: Announcement) -> Statement | None:
        change, chain, table = self.change_of(announced), announced.chain, self.store.findings.statements
        whole = table.of_changes([change]).get(change)
        if whole is None or all(each.announced in {chain, 0} for each in self.store.findings.live_members(change)):
            return whole
        own = [each.id for each in self.members([chain])[chain] if each.change_id == change]
        part = table.of_part(own)
        return (
            replace(part, likely=whole.likely, machine=whole.machine, cause=whole.cause) if part is not None else whole
        )
