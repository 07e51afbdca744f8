"""The columns and rows of ``knick changes``: one row a change point."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.cli.output import Column, Row, percent
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.change import Change, ChangePoint, SuspectRange
    from knickpoint.model.commit import Repository
    from knickpoint.store import Store

__all__ = ["COLUMNS", "DETAILS", "change_rows", "text_columns"]

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


COLUMNS = (
    Column("change"),
    Column("id"),
    Column("commit"),
    Column("suspects", text=_authors, listed="commit"),
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

_TEXT_COLUMNS: Final = {
    "commit": Column("suspects", "commit", _commits),
    "subject": Column("suspects", "subject", _subject),
}
"""Columns that show all suspects to people; in data, they are the first commit measured at the new level."""

DETAILS = (
    *(Column(name) for name in ("author", "repository", "line", "previous_commit", "date", "unit")),
    *(Column(name) for name in ("before_level", "after_level", "deviation", "low", "high", "sign")),
    *(Column(name) for name in ("reference", "over_reference")),
    *(Column(f"{side}_{name}") for side in ("before", "after") for name in ("mean", "median", "count")),
    *(
        Column(name)
        for name in (
            "score",
            "p_value",
            "method",
            "alerts",
            "alert_kind",
            "alert_severity",
            "ticket",
            "note",
            "assignee",
        )
    ),
)


def text_columns(*, several: bool) -> tuple[Column, ...]:
    """Return the columns for people; the repository is one where the rows are of ``several``."""
    change, *others = (_TEXT_COLUMNS.get(column.name, column) for column in COLUMNS)
    return (change, *([Column("repository")] if several else []), *others)


class _Suspects:
    """The commits in the suspect ranges of one repository, read at once."""

    def __init__(self, store: Store, repository: Repository, ranges: Collection[SuspectRange]) -> None:
        from knickpoint.watch.lines import Lines

        self._lines = Lines(store, repository)
        self._slots = {each: self._slots_of(each) for each in set(ranges)}
        slots = {slot for each, within in self._slots.items() for slot in (each.previous, *within)}
        self._known = {
            each.slot: {
                "commit": each.commit.hash,
                "author": each.commit.author,
                "date": each.commit.time.date().isoformat() if each.commit.has_time else "",
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

    def within(self, suspect_range: SuspectRange) -> list[Mapping[str, str]]:
        """Return the commits of a suspect range, oldest first."""
        return [self._known[slot] for slot in self._slots[suspect_range] if slot in self._known]

    def hash(self, slot: int) -> str:
        """Return the hash of the commit at ``slot``, "" if it is unknown."""
        return self._known[slot]["commit"] if slot in self._known else ""


def change_rows(store: Store, found: Sequence[tuple[Repository, Change]]) -> Iterator[Row]:
    """Yield a row for each member of the changes, in their order."""
    from knickpoint.watch.changes.bisection_text import bisection_text

    suspects = {
        repository.id: _Suspects(
            store,
            repository,
            [point.suspect_range for owner, change in found if owner == repository for point in change.members],
        )
        for repository in {each.id: each for each, _ in found}.values()
    }
    bisections = store.bisections.of_changes([change.id for _, change in found])
    for repository, change in found:
        bisection = bisection_text(store, repository, bisections.get(change.id))
        for point in change.members:
            yield {**_row(repository, change, point, suspects[repository.id]), "bisection": bisection}


def _row(repository: Repository, change: Change, point: ChangePoint, known: _Suspects) -> Row:
    suspects = known.within(point.suspect_range)
    first = suspects[-1]  # measured at the new level
    numbers = point.numbers
    return {
        "id": f"P{point.id}",
        "change": f"R{change.id}",
        "repository": repository.name,
        "line": point.suspect_range.line,
        "commit": first["commit"],
        "previous_commit": known.hash(point.suspect_range.previous),
        "suspects": suspects,
        "author": first["author"],
        "date": first["date"],
        "subject": first["subject"],
        "trace": point.key,
        "unit": point.unit,
        "direction": point.direction.value,
        "before_level": numbers.before_level,
        "after_level": numbers.after_level,
        "deviation": numbers.deviation,
        "relative_size": numbers.relative_size,
        "low": numbers.low,
        "high": numbers.high,
        "sign": numbers.sign,
        "reference": numbers.reference,
        "over_reference": numbers.over_reference,
        "hazard": numbers.hazard,
        "score": numbers.score,
        "p_value": numbers.p_value,
        "method": numbers.method,
        "alerts": point.alerts,
        "alert_kind": point.alert_kind.value,
        "alert_severity": point.alert_severity.value,
        "status": point.effective_status.value,
        "condition": point.condition.value,
        "history": point.history,
        "joined": bool(point.found and change.found and point.found > change.found),
        "kind": point.kind.value,
        "certainty": point.settlement.certainty.value,
        "ticket": point.linked_ticket,
        "note": point.note,
        "assignee": point.assignee,
        **{
            f"{side}_{name}": getattr(region, name)
            for side, region in (("before", numbers.before), ("after", numbers.after))
            for name in ("mean", "median", "count")
        },
    }
