"""Read what messages say about the commits and traces of one repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition, Direction, SuspectRange
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.errors import AbsentError
from knickpoint.model.notification import Announcement
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quantity_text import interval_text, levels_text, over_text, trace_name
from knickpoint.model.statement import Statement
from knickpoint.notify.messages.facts import CommitFacts, RangeFacts, TraceFacts, shorten_all
from knickpoint.plots import draw_trend, png
from knickpoint.store import Store
from knickpoint.watch.lines import RangeReader
from knickpoint.watch.trend import NEAR, change_page, finding_note, read_trend

_LONGEST_TEXT: Final = 200
_LONGEST_NAME: Final = 90
_VERDICTS: Final = {
    Direction.REGRESSION: "worse",
    Direction.IMPROVEMENT: "better",
    Direction.UNKNOWN: "changed",
}


def message_line(text: str) -> str:
    """Return ``text`` as one line of a message: without characters that are not printed, at most 200 characters."""
    return plain_line(text, _LONGEST_TEXT)


class RepositoryFacts:
    """Reads the facts that belong to one repository; lines and commits are read once.

    Attributes:
        store: an open store.
        reader: reads the lines, commits and suspect ranges of the repository.
    """

    def __init__(self, store: Store, repository: Repository) -> None:
        self.store = store
        self.reader = RangeReader(store, repository)

    def commit(self, slot: int) -> CommitFacts:
        """Return the commit at ``slot``."""
        return _commit_facts(self.reader.commit(slot))

    def range_facts(self, suspect_range: SuspectRange) -> RangeFacts:
        """Return a suspect range with both of its ends."""
        last, known = self.commit(suspect_range.slot), self.reader.before(suspect_range)
        before = _commit_facts(known) if known else None
        return RangeFacts(
            line=message_line(self.reader.lines.line(suspect_range.line).name),
            commits=self.reader.count(suspect_range),
            last=last,
            before=before,
            address=_compare_address(before, last),
        )

    def cause(self, announced: Announcement, stated: Statement) -> CommitFacts | None:
        """Return the commit that brought back the level before a change that is over, None where it is unknown."""
        if announced.condition is not Condition.RECOVERED:
            return None
        slot = stated.undone_at
        if slot < 0 and announced.cause_id:
            with suppress(AbsentError):
                slot = self.store.findings.change(announced.cause_id).suspect_range.slot
        return self.commit(slot) if slot >= 0 else None

    def traces(self, points: Sequence[ChangePoint], address: str, alerts: Sequence[Alert] = ()) -> list[TraceFacts]:
        """Describe the changes of the traces of ``points``; equal parts of names are cut.

        ``alerts`` are those in force.
        """
        named = [trace_name(decode_key(each.key)) for each in points]
        names = shorten_all(tuple(_clean(name) for name, _ in named), _LONGEST_NAME)
        rests = shorten_all(tuple(_clean(rest) for _, rest in named), _LONGEST_NAME)
        return [
            replace(_trace_facts(point, name, rest, address), note=message_line(self._note(point, alerts)))
            for point, name, rest in zip(points, names, rests, strict=True)
        ]

    def _note(self, point: ChangePoint, alerts: Sequence[Alert]) -> str:
        """Describe the levels of ``point``, or the change of its distribution, "" if the levels say all."""
        line = self.reader.lines.line(point.suspect_range.line)
        values = self.store.frames.values(line, [point.trace_id])[0] if point.kind.changes_distribution else None
        return finding_note(point, alerts, line, values)

    def picture(self, lead: ChangePoint) -> Callable[[], bytes]:
        """Return a function that draws the trace of ``lead`` as PNG, once, when it is called."""
        drawn: list[bytes] = []

        def draw() -> bytes:
            if not drawn:
                (trace,) = self.store.traces.get([lead.trace_id])
                line = self.reader.lines.line(lead.suspect_range.line)
                trend = read_trend(self.store, self.reader.lines, trace, line, focus=lead, near=NEAR)
                drawn.append(png(draw_trend(trend)))
            return drawn[0]

        return draw

    def reproduce(self, lead: ChangePoint) -> str:
        """Return the command that explains the change again."""
        at = self.reader.find(lead.suspect_range.slot)
        quoted = "'" + _clean(lead.key).replace("'", "'\\''") + "'"
        return f"knick explain {quoted}" + (f" --at {message_line(at.short)}" if at else "")

    def address_of(self, lead: ChangePoint, address: str) -> str:
        """Return the page of the dashboard that shows the change in its trace."""
        return address.rstrip("/") + change_page(self.reader.lines, lead) if address else ""


def _trace_facts(point: ChangePoint, name: str, params: str, address: str) -> TraceFacts:
    numbers = point.numbers
    relative = numbers.relative_size
    return TraceFacts(
        id=point.trace_id,
        name=name,
        params=params,
        trace=_clean(point.key),
        unit=message_line(point.unit),
        change=message_line(point.size_text),
        verdict=_VERDICTS[point.direction],
        levels=message_line(levels_text(numbers.before_level, numbers.after_level, point.unit)),
        before=numbers.before_level,
        after=numbers.after_level,
        relative_size=relative if abs(relative) != float("inf") else None,
        address=f"{address.rstrip('/')}/trace/{point.trace_id}" if address else "",
        between=message_line(interval_text(numbers.before_level, numbers.low, numbers.high, point.unit))
        if numbers.low < numbers.high
        else "",
        over=message_line(over_text(numbers.over_reference, numbers.reference)),
    )


def _commit_facts(commit: Commit) -> CommitFacts:
    return CommitFacts(
        hash=message_line(commit.hash),
        short=message_line(commit.short),
        author=message_line(commit.author),
        subject=message_line(commit.subject),
        date=commit.day,
        address=commit.url if commit.url.startswith(("https://", "http://")) and commit.url.isprintable() else "",
    )


def _compare_address(before: CommitFacts | None, last: CommitFacts) -> str:
    """Return the page that compares two commits, where the address of a commit ends as at GitHub and GitLab."""
    ending = f"/commit/{last.hash}"
    if before is None or not last.address.endswith(ending):
        return ""
    return f"{last.address.removesuffix(ending)}/compare/{before.hash}...{last.hash}"


def _clean(text: str) -> str:
    """Return ``text`` without characters that are not printed, whatever its length: keys are bounded already."""
    return plain_line(text, 10_000)
