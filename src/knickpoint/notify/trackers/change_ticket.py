"""The ticket that a person asks for: about one or several changes, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knickpoint.model.change import Change, ChangePoint
from knickpoint.model.commit import Repository
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.quantity_text import figure_text
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
    leads = [each.lead for _, each in changes if each.lead is not None]
    title = f"{_named(leads[0])}: {_amount(leads[0])}"
    traces = sum(len(each.members) for _, each in changes)
    further = f" (and {counted(traces - 1, 'further trace')})" if traces > 1 else ""
    body = "\n\n".join(_section(each, about) for (_, each), about in zip(changes, fields, strict=True))
    return TicketDraft(key, title_line(title + further), body, channel.labels(fields), fields)


def _fields(store: Store, repository: Repository, change: Change, address: str) -> TicketFields:
    lead = change.lead
    (found,) = store.commits.get(repository, [change.suspect_range.slot]) or (None,)
    fields = TicketFields(
        repository=repository.name,
        query="",
        trace=lead.key if lead else "",
        traces=len(change.members),
        line=change.suspect_range.line,
        failing=found.commit.hash if found else "",
        change=change.id,
        severity=change.alert_severity.value,
        link=f"{address.rstrip('/')}/trace/{lead.trace_id}" if address and lead else "",
    )
    return replace(fields, query=covered_traces(store, fields))


def _section(change: Change, about: TicketFields) -> str:
    heading = f"## R{change.id} in {code_span(about.repository)}"
    rows = [
        f"- {code_span(_named(point))}: {_amount(point)}, "
        f"{figure_text(point.numbers.before_level, '.4g')} → {figure_text(point.numbers.after_level, '.4g')} {escape_markdown(point.unit)}".rstrip()
        for point in change.members[:_MOST_TRACES]
    ]
    left = len(change.members) - _MOST_TRACES
    rows += [f"- and {counted(left, 'further trace')}"] if left > 0 else []
    rows += [f"\nFirst failing revision: {code_span(about.failing)}"]
    rows += [f"\n[Open in the dashboard]({link_target(about.link)})"] if about.link else []
    return "\n".join([heading, "", *rows])


def _named(point: ChangePoint) -> str:
    return plain_line(" ".join(decode_key(point.key).values()), 150)


def _amount(point: ChangePoint) -> str:
    return figure_text(point.numbers.relative_size, "+.1%")
