"""The filters of templates: numbers and commits as words."""

from __future__ import annotations

from typing import Final

from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import number_text, percent_text
from knickpoint.notify.messages.facts import LikelyFacts

__all__ = ["hours_text", "likely_text", "signed_percent", "times_text"]

_HOURS_OF_DAY: Final = 24
_MOST_TIMES: Final = 100


def signed_percent(fraction: float) -> str:
    """Return a relative size with its sign: ``+22.8 %``."""
    sign = "+" if fraction > 0 else "−" if fraction < 0 else ""
    size = abs(fraction)
    digits = 0 if size >= 0.9995 else 1 if size >= 0.09995 else 2
    return f"{sign}{size * 100:,.{digits}f} %" if size else percent_text(0)


def times_text(ratio: float) -> str:
    """Return how many times as much: ``6.4 times``."""
    if ratio > _MOST_TIMES:
        return f"more than {_MOST_TIMES} times"
    return f"{number_text(ratio, 2)} times"


def hours_text(hours: float) -> str:
    """Return a time in days from two days on, else in hours: ``5 hours``, ``3 days``."""
    if hours >= 2 * _HOURS_OF_DAY:
        return counted(int(hours // _HOURS_OF_DAY), "day")
    return counted(max(1, int(hours)), "hour")


def likely_text(likely: LikelyFacts) -> str:
    """Return the likely commit in a few words: "1a2b3c4 Keep names, by Ada (62 %)", "1a2b3c4 Keep names, by Ada (bisected)"."""
    commit = likely.commit
    named = " ".join(filter(None, (commit.short, commit.subject))) + (f", by {commit.author}" if commit.author else "")
    why = {"bisected": "found by bisection", "only": "the only commit"}.get(likely.basis, likely.percent)
    return f"{named} ({why})"
