"""Detect in all series of a file together, with a method that takes several, such as ``e_divisive_joint``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from knickpoint.cli.commands.detect.series import aligned
from knickpoint.formats.series import NamedSeries

if TYPE_CHECKING:
    from knickpoint.model.step import Detection


def detect_together(
    series: Sequence[NamedSeries], method: str, parameters: Mapping[str, str]
) -> list[tuple[NamedSeries, Detection]]:
    """Return each series over the positions of all series, and the detection of ``method`` in it."""
    from knickpoint.detect import explain_jointly

    positions, frame = aligned(series)
    found = explain_jointly(frame, [each.id for each in series], method=method, **parameters)
    return [
        (NamedSeries(each.id, tuple(positions), values), detection)
        for each, values, detection in zip(series, frame, found, strict=True)
    ]
