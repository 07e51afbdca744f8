"""The first line of a message: what changed, by how much and where, in one sentence."""

from __future__ import annotations

from typing import Final

from knickpoint.model.plain_text import counted
from knickpoint.notify.messages.facts import ChangeFacts, RangeFacts

__all__ = ["headline", "place_text", "shorten", "shorten_all"]

_LONGEST_NAME: Final = 80
_CUT: Final = "…"
_TAIL_SHARE: Final = 2
"""A name that is cut keeps as much of its end as of its beginning: names often differ at their ends."""


_OPENINGS: Final = {
    "improved": "Improvement: ",
    "moved": "Corrected place: ",
    "grew": "Goes on: ",
    "located": "Commit found: ",
    "bisected": "Bisection ended: ",
    "returned": "Back again: ",
    "provisional": "First sign: ",
}
_OUTCOME_OPENINGS: Final = {
    "range": "Fewer commits left: ",
    "not reproducible": "Not reproducible: ",
    "gave up": "Commit not found: ",
}
"""How a message begins that says how a bisection ended."""


def headline(change: ChangeFacts) -> str:
    """Return the sentence that says what changed, by how much and where, without a full stop."""
    if change.kind == "withdrawn":
        return f"No change after all: {_name(change)}, reported as {change.lead.change}"
    if change.kind in {"recovered", "fixed"}:
        are = "are" if change.traces > 1 else "is"
        by = f" with {change.cause_commit.short}" if change.cause_commit else ""
        return f"{change.kind.capitalize()}: {_name(change)} {are} back at the earlier level{by}, after {change.lead.change}"
    opening = _outcome_opening(change) or _OPENINGS.get(
        change.kind, _OPENINGS["provisional"] if change.provisional else ""
    )
    return f"{opening}{_name(change)} {_verb(change)} since {place_text(change.suspect_range)}"


def _outcome_opening(change: ChangeFacts) -> str:
    if change.kind != "bisected" or change.outcome is None:
        return ""
    return "Several commits found: " if change.culprits else _OUTCOME_OPENINGS.get(change.outcome.state, "")


def place_text(place: RangeFacts) -> str:
    """Return the commits that may have made the change: one by its hash, several as git writes a range."""
    if place.commits == 1:
        return place.last.short
    bounds = f"{place.before.short}..{place.last.short}" if place.before else f"up to {place.last.short}"
    return f"one of the {place.commits:,} commits {bounds}"


def _name(change: ChangeFacts) -> str:
    lead = change.lead
    name = shorten(lead.name, _LONGEST_NAME)
    name = f"{name} ({shorten(lead.params, _LONGEST_NAME)})" if lead.params else name
    return name if change.traces <= 1 else f"{name} and {counted(change.traces - 1, 'further trace')}"


def _verb(change: ChangeFacts) -> str:
    """Return the change as the rest of a sentence: "is 12 % slower", "takes 5× the time", "are up to 12 % slower"."""
    text, several = change.lead.change, change.traces > 1
    judged = text.endswith(("slower", "faster")) or change.lead.verdict == "changed"
    remark = "" if judged else f" ({change.lead.verdict})"
    if "×" in text:
        begin = "take up to" if several else "takes"
        if not text.endswith("time"):
            begin = "have up to" if several else "has"
        return f"{begin} {text}{remark}"
    if text.endswith("from 0"):
        return f"{'are' if several else 'is'} {text.partition(',')[0]} than the earlier 0{remark}"
    if several:
        mixed = change.worse > 0 and change.better > 0
        return f"changed: up to {text}{remark}" if mixed else f"are up to {text}{remark}"
    return f"is {text}{remark}"


def shorten(name: str, longest: int) -> str:
    """Return ``name`` cut in its middle to ``longest`` characters."""
    if len(name) <= longest:
        return name
    tail = (longest - len(_CUT)) // _TAIL_SHARE
    return f"{name[: longest - len(_CUT) - tail]}{_CUT}{name[len(name) - tail :]}"


def shorten_all(names: tuple[str, ...], longest: int) -> tuple[str, ...]:
    """Return ``names`` cut to ``longest`` characters where they are equal, so that they still differ.

    What all of them begin with, and what all of them end with, is cut first; what differs is cut last.
    """
    if all(len(name) <= longest for name in names) or len(set(names)) < 2:
        return tuple(shorten(name, longest) for name in names)
    begin = _common(names)
    end = _common(tuple(name[begin:][::-1] for name in names))
    return tuple(_cut_equal(name, begin, end, longest) for name in names)


def _common(names: tuple[str, ...]) -> int:
    """Return how many characters all of ``names`` begin with."""
    first, last = min(names), max(names)
    shortest = min(map(len, names))
    return next((index for index in range(shortest) if first[index] != last[index]), shortest)


def _cut_equal(name: str, begin: int, end: int, longest: int) -> str:
    """Return ``name`` with as much of its equal parts as fits beside the part that differs."""
    if len(name) <= longest:
        return name
    middle = name[begin : len(name) - end]
    room = longest - len(middle)
    if room < 2 * len(_CUT):
        return _CUT + shorten(middle, longest - 2 * len(_CUT)) + _CUT
    # The beginning gives way first: it says least about a benchmark.
    after = name[len(name) - end :]
    kept_end = after if len(after) <= room - len(_CUT) else after[: max(0, room - 2 * len(_CUT))] + _CUT
    kept = room - len(kept_end) - len(_CUT)
    before = name[begin - kept : begin] if kept else ""
    return f"{_CUT}{before}{middle}{kept_end}"
