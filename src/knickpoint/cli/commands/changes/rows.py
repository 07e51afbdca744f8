"""The rows of ``knick changes`` for people: one per change, as its statement says, or one per change point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.cli.output import Column, Row, percent
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.change import Change
    from knickpoint.model.change_point import ChangePoint
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.store import Store
    from knickpoint.watch.suspect_ranges import RangeReader

_MOST_AUTHORS: Final = 3
"""Authors of a suspect range that text names."""
_LONGEST_SUBJECT: Final = 44


_COLUMNS: Final = (
    Column("change"),
    Column("id"),
    Column("what", "change or trace"),
    Column("size", right=True),
    Column("direction"),
    Column("commit"),
    Column("author"),
    Column("subject"),
    Column("hazard", right=True, detail=True),
    Column("status"),
    Column("condition"),
    Column("kind"),
    Column("certainty"),
    Column("history"),
    Column("joined"),
    Column("bisection"),
)


def text_columns(*, several: bool) -> tuple[Column, ...]:
    """Return the columns for people; the repository is one where the rows are of ``several``."""
    change, *others = _COLUMNS
    return (change, *([Column("repository")] if several else []), *others)


def _commit_cells(reader: RangeReader, change: Change) -> Row:
    """Return the likely commit and why it is named; else the first and the last one of the range, with its authors."""
    likely = change.statement and change.statement.likely
    commits = [reader.commit(slot) for slot in ((likely.slot,) if likely else reader.slots(change.suspect_range))]
    if len(commits) == 1:
        return _cells_of(commits[0], likely.why if likely else "")
    authors = list(dict.fromkeys(each.author for each in commits if each.author))
    named = ", ".join(authors[:_MOST_AUTHORS]) + (", …" if len(authors) > _MOST_AUTHORS else "")
    # The subject of one of them would make it look guilty.
    return {
        "commit": f"{commits[0].short}…{commits[-1].short}",
        "author": ": ".join(filter(None, (counted(len(commits), "suspect"), named))),
        "subject": "–",
    }


def _cells_of(commit: Commit, why: str) -> Row:
    subject = (
        commit.subject if len(commit.subject) <= _LONGEST_SUBJECT else f"{commit.subject[: _LONGEST_SUBJECT - 1]}…"
    )
    return {"commit": f"{commit.short} ({why})" if why else commit.short, "author": commit.author, "subject": subject}


def change_rows(store: Store, found: Sequence[tuple[Repository, Change]]) -> Iterator[Row]:
    """Yield a row for each change, followed by those of its members, in their order."""
    from knickpoint.watch.bisections import bisection_text
    from knickpoint.watch.suspect_ranges import RangeReader

    readers = {each.id: RangeReader(store, each) for each, _ in found}
    for key, reader in readers.items():
        changes = [change for owner, change in found if owner.id == key]
        stated = [change.statement for change in changes if change.statement]
        ranges = [change.suspect_range for change in changes if not (change.statement and change.statement.likely)]
        reader.load(ranges, [slot for each in stated for slot in each.named_slots], whole=True)
    bisections = store.bisections.of_changes([change.id for _, change in found])
    blank: Row = {column.name: "" for column in _COLUMNS}
    for repository, change in found:
        shared: Row = {**blank, "change": f"R{change.id}", "repository": repository.name}
        bisection = bisection_text(store, repository, bisections.get(change.id))
        yield {**shared, **_of_change(change, readers[repository.id]), "bisection": bisection}
        for point in change.members:
            yield {**shared, **_of_point(change, point)}


def _of_change(change: Change, reader: RangeReader) -> Row:
    stated = change.statement
    if stated is None:
        return _commit_cells(reader, change)
    names = {slot: reader.commit(slot).short for slot in stated.named_slots}
    return {
        **_commit_cells(reader, change),
        "what": stated.headline,
        "size": counted(stated.traces, "trace"),
        "direction": stated.direction.value,
        "status": stated.decision.value,
        "condition": stated.standing(names) or stated.condition.value,
        "kind": _unless(stated.kind.value, "step"),
        "certainty": _unless(stated.certainty.value, "settled"),
        "history": "history" if change.history else "",
    }


def _of_point(change: Change, point: ChangePoint) -> Row:
    hazard = point.numbers.hazard
    return {
        "id": f"P{point.id}",
        "what": point.key,
        "size": percent(point.numbers.relative_size),
        "direction": point.direction.value,
        "hazard": "–" if math.isnan(hazard) else figure_text(hazard, "+.3f"),
        "status": point.effective_status.value,
        "condition": point.condition.value,
        "kind": _unless(point.kind.value, "step"),
        "certainty": _unless(point.certainty.value, "settled"),
        "joined": "joined later" if point.found and change.found and point.found > change.found else "",
    }


def _unless(word: str, usual: str) -> str:
    return "" if word == usual else word
