"""The ticket that a person asks for: about one or several regressions, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knickpoint.model.commit import Repository
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.regression import ChangePoint, Regression
from knickpoint.model.ticket import TicketFields
from knickpoint.notify.markup import code_span, escape_markdown, link_target
from knickpoint.notify.trackers.ticket_text import TicketDraft, title_line
from knickpoint.notify.trackers.tracker_channel import TrackerChannel, covered_traces
from knickpoint.store import Store

__all__ = ["draft_ticket"]

_MOST_TRACES = 20


def draft_ticket(
    channel: TrackerChannel, regressions: Sequence[tuple[Repository, Regression]], *, key: str, address: str
) -> TicketDraft:
    """Return the ticket about ``regressions``, each with its repository and its live members, the lead first.

    ``address`` is the public address of the dashboard, "" without one.
    """
    store = channel.store
    changes = tuple(_fields(store, repository, each, address) for repository, each in regressions)
    leads = [each.lead for _, each in regressions if each.lead is not None]
    title = f"{_named(leads[0])}: {_amount(leads[0])}"
    traces = sum(len(each.members) for _, each in regressions)
    further = f" (and {counted(traces - 1, 'further trace')})" if traces > 1 else ""
    body = "\n\n".join(_section(each, change) for (_, each), change in zip(regressions, changes, strict=True))
    return TicketDraft(key, title_line(title + further), body, channel.labels(changes), changes)


def _fields(store: Store, repository: Repository, regression: Regression, address: str) -> TicketFields:
    lead = regression.lead
    (found,) = store.commits.get(repository, [regression.suspect_range.slot]) or (None,)
    fields = TicketFields(
        repository=repository.name,
        query="",
        trace=lead.key if lead else "",
        traces=len(regression.members),
        line=regression.suspect_range.line,
        failing=found.commit.hash if found else "",
        regression=regression.id,
        severity=regression.alert_severity.value,
        link=f"{address.rstrip('/')}/trace/{lead.trace_id}" if address and lead else "",
    )
    return replace(fields, query=covered_traces(store, fields))


def _section(regression: Regression, change: TicketFields) -> str:
    heading = f"## R{regression.id} in {code_span(change.repository)}"
    rows = [
        f"- {code_span(_named(point))}: {_amount(point)}, "
        f"{figure_text(point.numbers.before_level, '.4g')} → {figure_text(point.numbers.after_level, '.4g')} {escape_markdown(point.unit)}".rstrip()
        for point in regression.members[:_MOST_TRACES]
    ]
    left = len(regression.members) - _MOST_TRACES
    rows += [f"- and {counted(left, 'further trace')}"] if left > 0 else []
    rows += [f"\nFirst failing revision: {code_span(change.failing)}"]
    rows += [f"\n[Open in the dashboard]({link_target(change.link)})"] if change.link else []
    return "\n".join([heading, "", *rows])


def _named(point: ChangePoint) -> str:
    return plain_line(" ".join(decode_key(point.key).values()), 150)


def _amount(point: ChangePoint) -> str:
    return figure_text(point.numbers.relative_size, "+.1%")
