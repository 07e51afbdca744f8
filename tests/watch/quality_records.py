"""Records of findings for tests of alert quality: everything has a default."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from knickpoint.model.change_point import Condition, Direction, Status, SuspectRange
from knickpoint.model.quality import FindingRecord
from knickpoint.model.settlement import FindingKind

__all__ = ["BEGIN", "record"]

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)

_PLAIN: Final = FindingRecord(
    id=1,
    trace_id=1,
    trace_key=",benchmark=parse,",
    unit="ms",
    suspect_range=SuspectRange("main", 9, 10),
    movement=1,
    interval=0,
    direction=Direction.REGRESSION,
    kind=FindingKind.STEP,
    condition=Condition.PRESENT,
    methods={"all": "default"},
    before_level=10.0,
    after_level=11.0,
    deviation=0.1,
    size=1.0,
    relative_size=0.1,
    score=5.0,
    status=Status.NEW,
    ticket="",
    change_id=1,
    committed=BEGIN,
    found=BEGIN + timedelta(hours=2),
    decided=None,
)


def record(number: int = 1, **settings: Any) -> FindingRecord:
    """Return a finding with the id ``number``, found so many hours after :data:`BEGIN`."""
    return replace(_PLAIN, id=number, found=BEGIN + timedelta(hours=number), **settings)
