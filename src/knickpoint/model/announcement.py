"""Announcements: what is worth saying about a change, each thing once.

An announcement is a row of the *announcement ledger*, written in the transaction of the run that made it true. Senders of
mails and messages read the ledger; nothing here sends. Announcements about one change form a *chain*: the first one says
that a level changed, each later one corrects or ends what was announced before. See
``docs/decisions/announcements.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from knickpoint.model.change_point import Condition, Direction, SuspectRange
from knickpoint.model.quantity_text import change_text
from knickpoint.model.settlement import FindingKind

__all__ = ["DEFAULT_ANNOUNCEMENT_RULE", "Announcement", "AnnouncementKind", "AnnouncementRule"]


class AnnouncementKind(Enum):
    """What an announcement says.

    PROVISIONAL is about a change that is not settled yet. REGRESSED (worse, or of unknown direction) and
    IMPROVED announce a settled change; a chain begins with one of them, or has it after its PROVISIONAL row. The other
    one may follow once, where the change is stated to be of the other side after all. MOVED widens the suspect range. GREW says that a drift has become twice as large as was announced last. LOCATED says that
    a bisection found the commit, BISECTED that one ended in another way. RECOVERED says that the level before a
    change is back, or that before an improvement whose loss is no change of its own; FIXED says it of a
    change that a person had decided about. WITHDRAWN says that later data no longer show the change, RETURNED that
    they show it after all.
    """

    PROVISIONAL = "provisional"
    REGRESSED = "regressed"
    IMPROVED = "improved"
    MOVED = "moved"
    GREW = "grew"
    LOCATED = "located"
    BISECTED = "bisected"
    RECOVERED = "recovered"
    FIXED = "fixed"
    WITHDRAWN = "withdrawn"
    RETURNED = "returned"

    @property
    def opens(self) -> bool:
        """Whether it announces a settled change for the first time, or corrects its side."""
        return self in {AnnouncementKind.REGRESSED, AnnouncementKind.IMPROVED}


@dataclass(frozen=True, slots=True)
class AnnouncementRule:
    """What is announced, and when.

    Attributes:
        improvements: whether senders hear of improvements; the ledger has them in any case.
        late_minutes: minutes for which a settled finding waits for late results of unmeasured commits in its suspect
            range.
    """

    improvements: bool = True
    late_minutes: float = 0.0


DEFAULT_ANNOUNCEMENT_RULE = AnnouncementRule()


@dataclass(frozen=True, slots=True)
class Announcement:
    """One row of the ledger, with the numbers at its moment.

    ``chain`` is the id of the first announcement about the change, ``number`` counts from 0 within the chain.
    ``change_id`` is the change that had most of the members then; ``traces`` counts its live members that are
    announced. The levels, the sizes and the trace are those of the ``lead``, the id of the member that got worse most.
    The change lies in ``suspect_range`` or at most ``interval`` values of the trace away from it. Where later data move
    it further, a MOVED row has the range over the announced place and the new one: so a change that moves to and fro is
    corrected once. ``condition`` is RECOVERED where an earlier level was back already. ``cause_id`` is the change that brought
    it back, 0 for none. ``provisional`` marks what only those may hear who ask for findings that are not settled: the
    PROVISIONAL row, and the WITHDRAWN row of what never settled.
    """

    id: int
    chain: int
    number: int
    repository_id: int
    change_id: int
    kind: AnnouncementKind
    time: datetime
    suspect_range: SuspectRange
    direction: Direction
    finding_kind: FindingKind
    condition: Condition
    traces: int
    lead: int
    trace_key: str
    unit: str
    before_level: float
    after_level: float
    size: float
    relative_size: float
    interval: int = 0
    cause_id: int = 0
    provisional: bool = False

    @property
    def size_text(self) -> str:
        """The size in words, as it was announced: "12 % slower"."""
        noise = self.finding_kind is FindingKind.NOISE
        return change_text(self.size, self.relative_size, self.unit, noise=noise, before=self.before_level)
