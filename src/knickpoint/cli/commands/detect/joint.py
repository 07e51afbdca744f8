"""Find the steps of all series of a file together, for ``knick detect --method e_divisive_joint``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from knickpoint.cli.commands.detect.clusters import aligned
from knickpoint.cli.commands.detect.series_csv import NamedSeries

if TYPE_CHECKING:
    from knickpoint.model.step import Detection

__all__ = ["detect_together", "is_joint"]

_JOINT: Final = "e_divisive_joint"


def is_joint(method: str) -> bool:
    """Say whether ``method`` looks at all series together."""
    return method.replace("-", "_") == _JOINT


def detect_together(series: Sequence[NamedSeries], parameters: dict[str, Any]) -> list[tuple[NamedSeries, Detection]]:
    """Return the series over the positions of all, and what was decided about each."""
    from knickpoint.detect import e_divisive_joint

    positions, frame = aligned(series)
    found = e_divisive_joint(frame, **parameters)
    return [
        (NamedSeries(one.id, tuple(positions), values), detection)
        for one, values, detection in zip(series, frame, found, strict=True)
    ]
