"""The columns and rows of ``knick changes`` for people: one row a change point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.cli.output import Column, Row, percent
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.change import Change
    from knickpoint.model.change_point import ChangePoint, SuspectRange
    from knickpoint.model.commit import Repository
    from knickpoint.store import Store

__all__ = ["change_rows", "text_columns"]

_MOST_AUTHORS: Final = 3
"""Authors of a suspect range that text names."""


def _authors(suspects: Sequence[Mapping[str, str]]) -> str:
    authors = list(dict.fromkeys(commit["author"] for commit in suspects if commit["author"]))
    named = ", ".join(authors[:_MOST_AUTHORS]) + (", …" if len(authors) > _MOST_AUTHORS else "")
    return named if len(suspects) == 1 else ": ".join([f"{len(suspects)} suspects", *([named] if named else [])])


def _commits(suspects: Sequence[Mapping[str, str]]) -> str:
    """Return the commit, or the first and the last of several, any of which may be the culprit."""
    ends = (suspects[0], suspects[-1])[-min(len(suspects), 2) :]
    return "…".join(commit["commit"][:10] for commit in ends)


def _subject(suspects: Sequence[Mapping[str, str]]) -> str:
    """Return the shortened subject of a single suspect; a dash for several, because one of them would look guilty."""
    if len(suspects) > 1:
        return "–"
    subject = suspects[0]["subject"]
    return subject if len(subject) <= 44 else f"{subject[:43]}…"


_COLUMNS: Final = (
    Column("change"),
    Column("id"),
    Column("suspects", "commit", _commits),
    Column("suspects", text=_authors),
    Column("suspects", "subject", _subject),
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


class _Suspects:
    """The commits in the suspect ranges of one repository, read at once."""

    def __init__(self, store: Store, repository: Repository, changes: Sequence[Change]) -> None:
        from knickpoint.watch.lines import Lines

        self._lines = Lines(store, repository)
        ranges = {point.suspect_range for change in changes for point in change.members}
        self._slots = {each: self._slots_of(each) for each in ranges}
        likely = {change.statement.likely.slot for change in changes if change.statement and change.statement.likely}
        slots = {slot for within in self._slots.values() for slot in (*within, *likely)}
        self._known = {
            each.slot: {
                "commit": each.commit.hash,
                "author": each.commit.author,
                "subject": each.commit.subject,
            }
            for each in store.commits.get(repository, sorted(slots))
        }

    def _slots_of(self, suspect_range: SuspectRange) -> Sequence[int]:
        line = self._lines.line(suspect_range.line)
        position = line.positions.get(suspect_range.slot)
        if position is None:
            return [suspect_range.slot]
        first = line.positions.get(suspect_range.previous, position - 1) + 1
        return line.slots[min(first, position) : position + 1]

    def of(self, change: Change, point: ChangePoint) -> list[Mapping[str, str]]:
        """Return the likely commit of the change if one is known, else the suspect range of the point, oldest first."""
        likely = change.statement and change.statement.likely
        slots = [likely.slot] if likely else self._slots[point.suspect_range]
        return [self._known[slot] for slot in slots if slot in self._known]


def change_rows(store: Store, found: Sequence[tuple[Repository, Change]]) -> Iterator[Row]:
    """Yield a row for each member of the changes, in their order."""
    from knickpoint.watch.changes.bisection_text import bisection_text

    suspects = {
        repository.id: _Suspects(
            store,
            repository,
            [change for owner, change in found if owner == repository],
        )
        for repository in {each.id: each for each, _ in found}.values()
    }
    bisections = store.bisections.of_changes([change.id for _, change in found])
    for repository, change in found:
        bisection = bisection_text(store, repository, bisections.get(change.id))
        for point in change.members:
            yield {**_row(repository, change, point, suspects[repository.id]), "bisection": bisection}


def _row(repository: Repository, change: Change, point: ChangePoint, known: _Suspects) -> Row:
    return {
        "id": f"P{point.id}",
        "change": f"R{change.id}",
        "repository": repository.name,
        "suspects": known.of(change, point),
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
