"""Suggest what a mistyped word may mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_MOST: Final = 3
_LEAST_SIMILARITY: Final = 0.68
"""Share of characters in common from which a name is suggested (as ``difflib`` measures it)."""
_BEHIND_THE_BEST: Final = 0.12
"""By how much less similar than the best suggestion another one may be."""


def closest(word: str, known: Iterable[str]) -> list[str]:
    """Return the names of ``known`` that ``word`` may mean, the most similar first; at most three."""
    names = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), names, _MOST, _LEAST_SIMILARITY)
    if found:
        best = _similarity(word, found[0])
        found = [name for name in found if _similarity(word, name) >= best - _BEHIND_THE_BEST]
    else:
        found = sorted(name for name in names if len(word) > 1 and name.startswith(word.lower()))[:_MOST]
    return [names[name] for name in found]


def _similarity(word: str, name: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name, word.lower()).ratio()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the question "Did you mean this or that?", "" where nothing known is similar to ``word``."""
    found = closest(word, known)
    if not found:
        return ""
    *others, last = found
    return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"
