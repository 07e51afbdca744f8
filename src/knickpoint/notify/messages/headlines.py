"""The first line of a message: what changed, by how much and where, in one sentence."""

from __future__ import annotations

from typing import Final

from knickpoint.model.plain_text import counted
from knickpoint.notify.messages.facts import ChangeFacts, RangeFacts, TraceFacts

__all__ = ["cause_text", "first_sentence", "range_text", "shorten", "shorten_all"]

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
_LOST: Final = "Improvement lost"
_OUTCOME_OPENINGS: Final = {
    "range": "Fewer commits left: ",
    "not reproducible": "Not reproducible: ",
    "gave up": "Commit not found: ",
}
"""How a message begins that says how a bisection ended."""


def first_sentence(change: ChangeFacts) -> str:
    """Return the sentence that says what changed, by how much and where, without a full stop."""
    if change.kind == "withdrawn":
        return f"No change after all: {_name(change)}, reported as {change.headline}"
    if change.kind in {"recovered", "fixed"}:
        return f"{_LOST if _is_lost(change) else change.kind.capitalize()}: {_back(change)}"
    if change.recovered:
        return f"{_LOST if _is_lost(change) else 'Recovered'} already: {_back(change)}{cause_text(change)}"
    opening = _outcome_opening(change) or _OPENINGS.get(
        change.kind, _OPENINGS["provisional"] if change.provisional else ""
    )
    if change.kind == "improved" and change.direction != "improvement":
        opening = ""
    if change.headline != change.lead.change:
        return f"{opening}{change.headline}{cause_text(change)}: {_name(change)}"
    others = f", and {counted(change.traces - 1, 'further trace')} changed with it" if change.traces > 1 else ""
    return f"{opening}{_named(change.lead)} {_verb(change)}{cause_text(change)}{others}"


def _is_lost(change: ChangeFacts) -> bool:
    return change.lead.verdict == "better"


def _outcome_opening(change: ChangeFacts) -> str:
    if change.kind != "bisected" or change.outcome is None:
        return ""
    return "Several commits found: " if change.culprits else _OUTCOME_OPENINGS.get(change.outcome.state, "")


def cause_text(change: ChangeFacts) -> str:
    """Return since when, and what names that commit: " since 1a2b3c4", ", probably since 1a2b3c4 (37 %), one of the 5 commits …"."""
    likely, suspects = change.likely, change.suspect_range
    if likely is None:
        return f" since {range_text(suspects)}"
    short = likely.commit.short
    if likely.basis == "suspect":
        return f", probably since {short} ({likely.percent}), {range_text(suspects)}"
    return f" since {short}, found by bisection" if likely.basis == "bisected" else f" since {short}"


def range_text(suspects: RangeFacts) -> str:
    """Return the commits that may have made the change: one by its hash, several as git writes a range."""
    if suspects.commits == 1:
        return suspects.last.short
    bounds = f"{suspects.before.short}..{suspects.last.short}" if suspects.before else f"up to {suspects.last.short}"
    return f"one of the {suspects.commits:,} commits {bounds}"


def _back(change: ChangeFacts) -> str:
    """Return what is back at its earlier level, with which commit, and what it was."""
    are = "are" if change.traces > 1 else "is"
    by = f" with {change.cause_commit.short}" if change.cause_commit else ""
    return f"{_name(change)} {are} back at the earlier level{by}, after {change.headline}"


def _name(change: ChangeFacts) -> str:
    name = _named(change.lead)
    return name if change.traces <= 1 else f"{name} and {counted(change.traces - 1, 'further trace')}"


def _named(trace: TraceFacts) -> str:
    name = shorten(trace.name, _LONGEST_NAME)
    return f"{name} ({shorten(trace.params, _LONGEST_NAME)})" if trace.params else name


def _verb(change: ChangeFacts) -> str:
    """Return the change of the lead as the rest of a sentence: "is 12 % slower", "takes 5× the time"."""
    text = change.lead.change
    judged = text.endswith(("slower", "faster")) or change.lead.verdict == "changed"
    remark = "" if judged else f" ({change.lead.verdict})"
    if "×" in text:
        return f"{'takes' if text.endswith('time') else 'has'} {text}{remark}"
    if text.endswith("from 0"):
        return f"is {text.partition(',')[0]} than the earlier 0{remark}"
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
