"""Colours of verdicts and states, where the output is a terminal that has them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from typing import Final, TextIO

__all__ = ["Tone", "colours_allowed", "painted", "tone_of"]


class Tone(Enum):
    """What a colour says; the value is the code of the colour in a control sequence (ECMA-48, SGR)."""

    BAD = "31"
    GOOD = "32"
    UNSURE = "33"
    PALE = "2"


_TONES: Final[Mapping[str, Tone]] = {
    "regressed": Tone.BAD,
    "regression": Tone.BAD,
    "failed": Tone.BAD,
    "vanished": Tone.BAD,
    "bad": Tone.BAD,
    "error": Tone.BAD,
    "refused": Tone.BAD,
    "improved": Tone.GOOD,
    "improvement": Tone.GOOD,
    "good": Tone.GOOD,
    "culprit": Tone.GOOD,
    "unstable": Tone.UNSURE,
    "warning": Tone.UNSURE,
    "provisional": Tone.UNSURE,
    "accepted": Tone.UNSURE,
    "unchanged": Tone.PALE,
    "no data": Tone.PALE,
    "hidden": Tone.PALE,
    "gone": Tone.PALE,
}
"""Verdict, state, direction or status → its tone; other words have none."""


def tone_of(word: str) -> Tone | None:
    """Return the tone of a verdict, state, direction or status, None for a word without one."""
    return _TONES.get(word)


def colours_allowed(stream: TextIO) -> bool:
    """Return whether ``stream`` gets colours.

    ``NO_COLOR`` forbids them (https://no-color.org), else ``FORCE_COLOR`` demands them; else a terminal has them, unless
    ``TERM`` is ``dumb``. An empty variable counts as none.
    """
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def painted(text: str, tone: Tone | None) -> str:
    """Return ``text`` in the colour of ``tone``; without one, ``text``."""
    return text if tone is None else f"\x1b[{tone.value}m{text}\x1b[0m"
