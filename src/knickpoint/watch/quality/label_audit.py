"""The audit of labels: decisions that contradict each other or the data, as lists that a person can go through.

Labels measure the alerts and train what comes after them, so wrong ones cost twice. The usual causes are a whole group
that is acknowledged because of one member, and the wrong button.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from knickpoint.model.change_point import Condition, Status
from knickpoint.model.quality import FindingRecord, Label

__all__ = ["AuditedList", "LabelDoubt", "audit_labels"]


class LabelDoubt(Enum):
    """Why a label is in doubt."""

    ACKNOWLEDGED_WITHOUT_TICKET = "acknowledged-without-ticket"
    HIDDEN_WITH_TICKET = "hidden-with-ticket"
    ACKNOWLEDGED_GONE = "acknowledged-gone"
    HIDDEN_GONE = "hidden-gone"
    ACKNOWLEDGED_WITHIN_NOISE = "acknowledged-within-noise"
    MIXED = "mixed"

    @property
    def meaning(self) -> str:
        """What the list holds, in words."""
        return _MEANINGS[self]


_MEANINGS: Final[Mapping[LabelDoubt, str]] = {
    LabelDoubt.ACKNOWLEDGED_WITHOUT_TICKET: "acknowledged, and no ticket follows it",
    LabelDoubt.HIDDEN_WITH_TICKET: "hidden as noise, and a ticket is about it",
    LabelDoubt.ACKNOWLEDGED_GONE: "acknowledged, and later data no longer show it",
    LabelDoubt.HIDDEN_GONE: "hidden, and later data took it back anyway",
    LabelDoubt.ACKNOWLEDGED_WITHIN_NOISE: "acknowledged, and smaller than the deviation of single values",
    LabelDoubt.MIXED: "of a change in which some findings count as real and others as noise",
}

_DOUBTS: Final[Mapping[LabelDoubt, Callable[[FindingRecord], bool]]] = {
    LabelDoubt.ACKNOWLEDGED_WITHOUT_TICKET: lambda each: each.status is Status.ACKNOWLEDGED and not each.ticket,
    LabelDoubt.HIDDEN_WITH_TICKET: lambda each: each.status is Status.HIDDEN and bool(each.ticket),
    LabelDoubt.ACKNOWLEDGED_GONE: lambda each: each.status is Status.ACKNOWLEDGED and each.condition is Condition.GONE,
    LabelDoubt.HIDDEN_GONE: lambda each: each.status is Status.HIDDEN and each.condition is Condition.GONE,
    LabelDoubt.ACKNOWLEDGED_WITHIN_NOISE: lambda each: (
        each.status is Status.ACKNOWLEDGED and abs(each.size) < each.deviation
    ),
}


@dataclass(frozen=True, slots=True)
class AuditedList:
    """The findings whose label is in doubt for one reason, the newest first."""

    doubt: LabelDoubt
    records: tuple[FindingRecord, ...]


def audit_labels(records: Iterable[FindingRecord]) -> list[AuditedList]:
    """Return one list for each doubt, in the order of :class:`LabelDoubt`; a finding may be in several."""
    decided = [record for record in records if record.label is not Label.UNDECIDED]
    newest = sorted(decided, key=lambda record: (record.found, record.id), reverse=True)
    mixed = _mixed_changes(newest)
    lists = [AuditedList(doubt, tuple(each for each in newest if holds(each))) for doubt, holds in _DOUBTS.items()]
    return [*lists, AuditedList(LabelDoubt.MIXED, tuple(each for each in newest if each.change_id in mixed))]


def _mixed_changes(records: Sequence[FindingRecord]) -> set[int]:
    real, noise = (
        {record.change_id for record in records if record.label is label} for label in (Label.REAL, Label.NOISE)
    )
    return real & noise
