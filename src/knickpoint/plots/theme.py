"""The colours of plots: the light and the dark theme of the dashboard (``frontend/src/styles/tokens.css``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from knickpoint.model.change_point import Direction

__all__ = ["Palette", "Theme", "palette_of"]


class Theme(Enum):
    """What a plot stands on."""

    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme, as ``#rrggbb``; washes are opaque."""

    paper: str
    ink: str
    faint: str
    line: str
    grid: str
    trail: str
    dot: str
    level: str
    suspect: str
    suspect_ink: str
    worse: str
    better: str
    changed: str
    ticket: str

    def of(self, direction: Direction) -> str:
        """Return the colour of a change in this direction."""
        return {
            Direction.REGRESSION: self.worse,
            Direction.IMPROVEMENT: self.better,
            Direction.UNKNOWN: self.changed,
        }[direction]


_PALETTES: Final = {
    Theme.LIGHT: Palette(
        paper="#ffffff",
        ink="#16191f",
        faint="#656d7b",
        line="#d8dce3",
        grid="#e9ecf0",
        trail="#b4bdca",
        dot="#4a5566",
        level="#1d6f78",
        suspect="#f3dfc2",
        suspect_ink="#945600",
        worse="#b3261e",
        better="#17723b",
        changed="#1f5fbf",
        ticket="#7a3fb0",
    ),
    Theme.DARK: Palette(
        paper="#15181d",
        ink="#e7eaef",
        faint="#8f98a7",
        line="#333a45",
        grid="#252a32",
        trail="#56606f",
        dot="#aab4c3",
        level="#58c1cb",
        suspect="#4a3a1e",
        suspect_ink="#f5b83d",
        worse="#ff8f85",
        better="#6fd08c",
        changed="#7fb0ff",
        ticket="#c79bf2",
    ),
}


def palette_of(theme: Theme) -> Palette:
    """Return the colours of ``theme``."""
    return _PALETTES[theme]
