"""The ticket that a person asks for: about one or several changes, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knickpoint.model.change import Change
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Repository
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.quantity_text import figure_text, percent_text
from knickpoint.model.statement import Basis
from knickpoint.model.ticket import TicketFields
from knickpoint.notify.markup import code_span, escape_markdown, link_target
from knickpoint.notify.trackers.ticket_text import TicketDraft, title_line
from knickpoint.notify.trackers.tracker_channel import TrackerChannel, covered_traces
from knickpoint.store import Store

__all__ = ["draft_ticket"]

_MOST_TRACES = 20


def draft_ticket(
    channel: TrackerChannel, changes: Sequence[tuple[Repository, Change]], *, key: str, address: str
) -> TicketDraft:
    """Return the ticket about ``changes``, each with its repository and its live members, the lead first.

    ``address`` is the public address of the dashboard, "" without one.
    """
    store = channel.store
    fields = tuple(_fields(store, repository, each, address) for repository, each in changes)
    first, more = changes[0][1], len(changes) - 1
    title = f"{_named(_lead(first))}: {_headline(first)}" + (
        f" (and {counted(more, 'further change')})" if more else ""
    )
    body = "\n\n".join(
        _section(store, repository, each, about) for (repository, each), about in zip(changes, fields, strict=True)
    )
    return TicketDraft(key, title_line(title), body, channel.labels(fields), fields)


def _fields(store: Store, repository: Repository, change: Change, address: str) -> TicketFields:
    lead = _lead(change)
    (found,) = store.commits.get(repository, [change.suspect_range.slot]) or (None,)
    fields = TicketFields(
        repository=repository.name,
        query="",
        trace=lead.key,
        traces=_traces(change),
        line=change.suspect_range.line,
        failing=found.commit.hash if found else "",
        change=change.id,
        severity=change.alert_severity.value,
        link=f"{address.rstrip('/')}/trace/{lead.trace_id}" if address else "",
    )
    return replace(fields, query=covered_traces(store, fields))


def _section(store: Store, repository: Repository, change: Change, about: TicketFields) -> str:
    heading = f"## R{change.id} in {code_span(about.repository)}: {escape_markdown(_headline(change))}"
    rows = [
        f"- {code_span(_named(point))}: {_amount(point)}, "
        f"{figure_text(point.numbers.before_level, '.4g')} → {figure_text(point.numbers.after_level, '.4g')} {escape_markdown(point.unit)}".rstrip()
        for point in change.members[:_MOST_TRACES]
    ]
    left = _traces(change) - len(rows)
    rows += [f"- and {counted(left, 'further trace')}"] if left > 0 else []
    rows += [f"\n{likely}"] if (likely := _likely(store, repository, change)) else []
    rows += [f"\nFirst failing revision: {code_span(about.failing)}"]
    rows += [f"\n[Open in the dashboard]({link_target(about.link)})"] if about.link else []
    return "\n".join([heading, "", *rows])


def _named(point: ChangePoint) -> str:
    return plain_line(" ".join(decode_key(point.key).values()), 150)


def _amount(point: ChangePoint) -> str:
    return figure_text(point.numbers.relative_size, "+.1%")


def _lead(change: Change) -> ChangePoint:
    return change.lead or change.members[0]


def _headline(change: Change) -> str:
    return change.statement.headline if change.statement else ""


def _traces(change: Change) -> int:
    stated = change.statement
    return stated.traces if stated else len(change.members)


def _likely(store: Store, repository: Repository, change: Change) -> str:
    """Return the line about the commit that most likely made the change, "" where only the range is known."""
    likely = change.statement.likely if change.statement else None
    (found,) = (store.commits.get(repository, [likely.slot]) if likely else []) or (None,)
    if likely is None or found is None:
        return ""
    commit = found.commit
    why = f"{likely.why}, {percent_text(likely.probability)}" if likely.basis is Basis.BISECTED else likely.why
    about = escape_markdown(
        plain_line(f"{commit.subject} by {commit.author}" if commit.author else commit.subject, 200)
    )
    return f"Most likely commit: {code_span(commit.hash)} {about} ({why})"
