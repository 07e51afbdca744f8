"""What a tracker is, and what a ticket has beside the words for people: a marker, labels, fields."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from knickpoint.model.notification import TicketFields, TrackerTicket
from knickpoint.model.plain_text import plain_line
from knickpoint.store.findings.tickets import TrackerCursor

# What a ticket has beside the words for people: a marker, labels, and fields that programs read back.
#
# Markdown hides the block in an HTML comment; Jira shows it as unformatted text. The block is JSON::
#
#     {"version": 1, "key": "…", "changes": [{"repository": "…", "first_failing_revision": "…", …}]}
#
# A ticket is text that others may edit: a block that cannot be read is not a block.


LABEL: Final = "knickpoint"
"""The label of every ticket that a channel made; a sync reads the tickets that have it."""

_VERSION: Final = 1
_LONGEST_TITLE: Final = 250
_LONGEST_BLOCK: Final = 100_000
_MOST_CHANGES: Final = 50
_BLOCKS: Final = (
    re.compile(r"<!-- knickpoint\s+(\{.*?\})\s*-->", re.DOTALL),
    re.compile(r"\{noformat[^}\n]*\}\s*(\{\"version\".*?\})\s*\{noformat\}", re.DOTALL),
)
_FIXED: Final = re.compile(
    r"^[ \t>*-]*(?:fixed by|fixing revision)[ \t]*:?[ \t]*`?([0-9a-f]{7,64})\b", re.IGNORECASE | re.MULTILINE
)
_TEXTS: Final = {
    "repository": "repository",
    "query": "query",
    "trace": "trace",
    "line": "line",
    "failing": "first_failing_revision",
    "fixed": "fixing_revision",
    "severity": "severity",
    "link": "link",
}
_NUMBERS: Final = {"traces": "traces", "change": "change"}


@dataclass(frozen=True, slots=True)
class TicketDraft:
    """A ticket that is to be made.

    ``key`` is the same in every attempt, and unique: with it the ticket is found again. ``body`` is Markdown without
    the block.
    """

    key: str
    title: str
    body: str
    labels: tuple[str, ...] = ()
    changes: tuple[TicketFields, ...] = ()


def title_line(text: str) -> str:
    """Return ``text`` as a title that every tracker takes."""
    return plain_line(text, _LONGEST_TITLE) or "A benchmark changed"


def severity_label(changes: Sequence[TicketFields]) -> str:
    """Return the label for the highest severity of ``changes``, without a space, which Jira does not take."""
    order = ("high", "normal", "low")
    found = {change.severity for change in changes}
    return f"severity-{next((each for each in order if each in found), 'normal')}"


def unique_label(key: str) -> str:
    """Return the label by which a tracker without a search in texts finds the ticket with this key."""
    return f"{LABEL}-{hashlib.sha256(key.encode()).hexdigest()[:20]}"


def comment_mark(key: str) -> str:
    """Return the mark of a comment: by it, a repetition of the comment is noticed."""
    return f"knickpoint {hashlib.sha256(key.encode()).hexdigest()[:20]}"


def has_mark(text: str, key: str) -> bool:
    """Return True if a comment has the mark of ``key``."""
    return comment_mark(key) in text


def markdown_block(draft: TicketDraft) -> str:
    """Return the block of a ticket for Markdown, in a comment that no page shows."""
    return f"<!-- knickpoint\n{_json(draft)}\n-->"


def text_block(draft: TicketDraft) -> str:
    """Return the block of a ticket for Jira."""
    return f"{{noformat:title=Knickpoint}}\n{_json(draft)}\n{{noformat}}"


def _json(draft: TicketDraft) -> str:
    changes = [
        {outside: getattr(change, inside) for inside, outside in (_TEXTS | _NUMBERS).items()}
        for change in draft.changes[:_MOST_CHANGES]
    ]
    text = json.dumps({"version": _VERSION, "key": draft.key, "changes": changes}, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")  # no value ends the comment


def read_block(body: str) -> tuple[str, tuple[TicketFields, ...]]:
    """Return the key and the changes of the block in ``body``; "" and none where there is no block that can be read."""
    for pattern in _BLOCKS:
        found = pattern.search(body[:_LONGEST_BLOCK])
        if found:
            try:
                block = json.loads(found[1])
            except (ValueError, RecursionError):
                continue
            if isinstance(block, dict) and block.get("version") == _VERSION and isinstance(block.get("key"), str):
                changes = block.get("changes")
                entries = changes[:_MOST_CHANGES] if isinstance(changes, list) else []
                return block["key"], tuple(_fields(each) for each in entries if isinstance(each, dict))
    return "", ()


def relocated(body: str, was: str, located: str) -> str:
    """Replace the first failing revision ``was`` in the block and in the line for people."""
    pattern = rf"(first[ _]failing[ _]revision\W{{1,8}}){re.escape(was)}\b"
    return re.sub(pattern, lambda found: f"{found[1]}{located}", body, flags=re.IGNORECASE)


def with_fix(body: str, fixed: str) -> str:
    """Write the fixing revision ``fixed`` into the block."""
    return re.sub(r'("fixing_revision": )"[0-9A-Fa-f]*"', lambda found: f'{found[1]}"{fixed}"', body)


def _fields(entry: Mapping[str, object]) -> TicketFields:
    text = {inside: str(entry.get(outside) or "") for inside, outside in _TEXTS.items()}
    return TicketFields(
        repository=text["repository"],
        query=text["query"],
        trace=text["trace"],
        traces=_number(entry.get("traces")),
        line=text["line"],
        failing=text["failing"],
        fixed=text["fixed"],
        change=_number(entry.get("change", entry.get("regression"))),
        severity=text["severity"],
        link=text["link"],
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else 0


def fixing_revision(text: str) -> str:
    """Return the hash that a line such as ``Fixed by: 1a2b3c4`` in ``text`` names, the last one; "" without one."""
    found = _FIXED.findall(text)
    return str(found[-1]).lower() if found else ""


# What a tracker is: the few things that Knickpoint asks of GitHub, GitLab and Jira.


@dataclass(frozen=True, slots=True)
class Issue:
    """A ticket as its tracker describes it, with its text."""

    ticket: TrackerTicket
    body: str


@dataclass(frozen=True, slots=True)
class ChangedIssues:
    """The tickets that changed since a cursor, and the cursor from which to go on."""

    issues: tuple[Issue, ...]
    cursor: TrackerCursor


class Tracker(Protocol):
    """The tickets of one project; every method raises a DeliveryError where the tracker refuses or does not answer."""

    def find(self, key: str) -> Issue | None:
        """Return the ticket that was made with this key, if there is one."""

    def create(self, draft: TicketDraft) -> Issue:
        """Make a ticket."""

    def has_comment(self, ticket: TrackerTicket, key: str) -> bool:
        """Return True if the ticket has the comment with this key."""

    def comment(self, ticket: TrackerTicket, key: str, text: str) -> None:
        """Add a comment, Markdown, which gets the mark of ``key``."""

    def relocate(self, ticket: TrackerTicket, was: str, located: str) -> None:
        """Replace the first failing revision ``was`` by ``located`` in the fields of a ticket; other text stays."""

    def finish(self, ticket: TrackerTicket, fixed: str) -> None:
        """Close a ticket whose change is gone; ``fixed`` is the fixing revision, "" where it is unknown."""

    def changed(self, cursor: TrackerCursor) -> ChangedIssues:
        """Return the tickets with the label of Knickpoint that changed since ``cursor``."""
