"""The columns and rows of ``knick changes`` for people: one row a change point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.cli.output import Column, Row, percent
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.change import Change
    from knickpoint.model.change_point import ChangePoint
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.store import Store
    from knickpoint.watch.suspect_ranges import RangeReader

__all__ = ["change_rows", "text_columns"]

_MOST_AUTHORS: Final = 3
"""Authors of a suspect range that text names."""


def _authors(suspects: Sequence[Commit]) -> str:
    authors = list(dict.fromkeys(commit.author for commit in suspects if commit.author))
    named = ", ".join(authors[:_MOST_AUTHORS]) + (", …" if len(authors) > _MOST_AUTHORS else "")
    return named if len(suspects) == 1 else ": ".join([f"{len(suspects)} suspects", *([named] if named else [])])


def _commits(suspects: Sequence[Commit]) -> str:
    """Return the commit, or the first and the last of several, any of which may be the culprit."""
    ends = (suspects[0], suspects[-1])[-min(len(suspects), 2) :]
    return "…".join(commit.short for commit in ends)


def _subject(suspects: Sequence[Commit]) -> str:
    """Return the shortened subject of a single suspect; a dash for several, because one of them would look guilty."""
    if len(suspects) > 1:
        return "–"
    subject = suspects[0].subject
    return subject if len(subject) <= 44 else f"{subject[:43]}…"


_COLUMNS: Final = (
    Column("change"),
    Column("id"),
    Column("commit"),
    Column("suspects"),
    Column("subject"),
    Column("trace"),
    Column("direction"),
    Column("relative_size", "size", percent, right=True),
    Column(
        "hazard",
        text=lambda hazard: "–" if math.isnan(hazard) else figure_text(hazard, "+.3f"),
        right=True,
        detail=True,
    ),
    Column("status"),
    Column("condition"),
    Column("kind", text=lambda kind: "" if kind == "step" else kind),
    Column("certainty", text=lambda certainty: "" if certainty == "settled" else certainty),
    Column("history", text=lambda history: "history" if history else ""),
    Column("joined", text=lambda joined: "joined later" if joined else ""),
    Column("bisection", text=lambda text: text),
)


def text_columns(*, several: bool) -> tuple[Column, ...]:
    """Return the columns for people; the repository is one where the rows are of ``several``."""
    change, *others = _COLUMNS
    return (change, *([Column("repository")] if several else []), *others)


def _likely(change: Change) -> tuple[int, ...]:
    """Return the likely commit of a change as a slot, none where only its suspect range is known."""
    return (change.statement.likely.slot,) if change.statement and change.statement.likely else ()


def change_rows(store: Store, found: Sequence[tuple[Repository, Change]]) -> Iterator[Row]:
    """Yield a row for each member of the changes, in their order."""
    from knickpoint.watch.changes.bisection_text import bisection_text
    from knickpoint.watch.suspect_ranges import RangeReader

    readers = {each.id: RangeReader(store, each) for each, _ in found}
    for key, reader in readers.items():
        changes = [change for owner, change in found if owner.id == key]
        ranges = [point.suspect_range for change in changes if not _likely(change) for point in change.members]
        reader.load(ranges, [slot for change in changes for slot in _likely(change)], whole=True)
    bisections = store.bisections.of_changes([change.id for _, change in found])
    for repository, change in found:
        bisection = bisection_text(store, repository, bisections.get(change.id))
        for point in change.members:
            yield {**_row(readers[repository.id], change, point), "bisection": bisection}


def _row(reader: RangeReader, change: Change, point: ChangePoint) -> Row:
    suspects = [reader.commit(slot) for slot in _likely(change) or reader.slots(point.suspect_range)]
    return {
        "id": f"P{point.id}",
        "change": f"R{change.id}",
        "repository": reader.repository.name,
        "commit": _commits(suspects),
        "suspects": _authors(suspects),
        "subject": _subject(suspects),
        "trace": point.key,
        "direction": point.direction.value,
        "relative_size": point.numbers.relative_size,
        "hazard": point.numbers.hazard,
        "status": point.effective_status.value,
        "condition": point.condition.value,
        "kind": point.kind.value,
        "certainty": point.settlement.certainty.value,
        "history": point.history,
        "joined": bool(point.found and change.found and point.found > change.found),
    }
