"""``knick quality``: measure the alerts by what people decided, and propose changes of alerts."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Cell, Column, OutputFormat, Row, format_option, percent, show, show_answers
from knickpoint.cli.terminal import note, plain_json
from knickpoint.model.plain_text import guarded
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.model.quality import ProposalDecision
    from knickpoint.watch.backtest.backtest import ReplayedCounts
    from knickpoint.watch.quality.proposals import Proposal
    from knickpoint.watch.quality.report import (
        AlertRow,
        AuditedList,
        DetectableChange,
        NoisyTrace,
        Period,
        QualityReport,
        Rate,
    )


# The options ``--since`` and ``--until`` of the commands about alert quality.


def period_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--since`` and ``--until`` to a command, as the arguments ``since`` and ``until``."""
    since = click.option(
        "--since",
        default="",
        metavar="DAYSd|DATE",
        help="Only findings made on this day (UTC) or later, or in the last days.",
    )
    until = click.option("--until", default="", metavar="DAYSd|DATE", help="Only findings made before this day (UTC).")
    return since(until(command))


def read_period(since: str, until: str) -> Period:
    """Return the period that the texts of both options name, "" for no bound.

    Raises:
        InputError: a text is not a time.
    """
    from knickpoint.access.tokens import read_since
    from knickpoint.watch.quality.report import Period

    now = datetime.now(UTC)
    return Period(read_since(since, now) if since else None, read_since(until, now) if until else None)


@click.group("quality", invoke_without_command=True)
@instance_option
@format_option
@click.pass_context
def command(context: click.Context, *, instance: str | None, output: OutputFormat) -> None:
    """Measure the alerts by what people decided about their findings; without a command, show the table of alerts."""
    if context.invoked_subcommand is None:
        context.invoke(alerts, since="", until="", instance=instance, output=output)


def _measured(instance: str | None, since: str, until: str) -> QualityReport:
    from knickpoint.watch.quality.report import measure_quality

    with open_chosen_instance(instance) as opened:
        store = opened.store
        return measure_quality(store, opened.alerts, store.commits.repositories(), read_period(since, until))


# The table of alerts


def _share(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else figure_text(value, ".0%")


def _hours(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value / 24:.1f} d" if value >= 48 else f"{value:.1f} h"


_TABLE: Final = (
    Column("alert"),
    Column("method"),
    *(Column(name, right=True) for name in ("findings", "acknowledged", "ticketed", "hidden", "undecided", "missed")),
    *(Column(name, right=True) for name in ("gone", "changes", "tickets")),
    Column("precision", text=_share, right=True),
    Column("precision_interval", "95 %", right=True),
    Column("recall", text=_share, right=True),
    Column("recall_interval", "95 %", right=True),
    Column("hours_to_finding", "to finding", _hours, right=True),
    Column("hours_to_finding_p90", "p90", _hours, right=True),
    Column("hours_to_decision", "to decision", _hours, right=True),
    Column("hours_to_decision_p90", "p90", _hours, right=True),
)


@command.command("alerts")
@period_options
@instance_option
@format_option
def alerts(*, since: str, until: str, instance: str | None, output: OutputFormat) -> None:
    """Show the outcome of the findings of each alert and method, and the changes that it missed.

    Precision is the share of the decided findings that people acknowledged or linked to a ticket. Recall is the share
    of the real changes that the alert found, of those found and those marked as missed. Both have the 95 % interval of
    Wilson. Times are medians and 90th percentiles, from the commit to the finding, and from there to the first
    decision.
    """
    report = _measured(instance, since, until)
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.quality import AlertRowAnswer, alert_answer

        show_answers(AlertRowAnswer, [alert_answer(row) for row in (*report.rows, report.total)], output)
        return
    rows = [_alert_row(row) for row in report.rows]
    if len(rows) != 1:
        rows.append({**_alert_row(report.total), "alert": "all"})
    show(_TABLE, rows, output)


def _alert_row(row: AlertRow) -> dict[str, Cell]:
    return {
        **{name: getattr(row, name) for name in ("alert", "method", "findings", "acknowledged", "ticketed", "hidden")},
        **{name: getattr(row, name) for name in ("undecided", "missed", "gone", "changes", "tickets")},
        "precision": row.precision.share,
        "precision_interval": _interval(row.precision),
        "recall": row.recall.share,
        "recall_interval": _interval(row.recall),
        "hours_to_finding": row.to_finding.median,
        "hours_to_finding_p90": row.to_finding.p90,
        "hours_to_decision": row.to_decision.median,
        "hours_to_decision_p90": row.to_decision.p90,
    }


def _interval(rate: Rate) -> str:
    if not rate.whole:
        return "–"
    low, high = rate.interval
    return f"{figure_text(low, '.0%')}–{figure_text(high, '.0%')}"


# The audit of labels

_DOUBTS: Final = (
    Column("doubt"),
    Column("meaning"),
    Column("count", right=True),
)
_DOUBTFUL: Final = (
    Column("id"),
    Column("change"),
    Column("trace"),
    Column("status"),
    Column("ticket"),
    Column("condition"),
    Column("relative_size", "change", percent, right=True),
)


@command.command("audit")
@click.argument("doubt", default="")
@period_options
@instance_option
@format_option
def audit(*, doubt: str, since: str, until: str, instance: str | None, output: OutputFormat) -> None:
    """List decisions that contradict each other or the data.

    Without DOUBT, count the findings of each list; with it, such as hidden-with-ticket, list them. A decision is
    corrected by deciding again, with knick triage.
    """
    from knickpoint.model.errors import InputError
    from knickpoint.watch.quality.report import LabelDoubt

    lists = _measured(instance, since, until).audit
    if not doubt:
        _show_doubts(lists, output)
        return
    known = [each.value for each in LabelDoubt]
    if doubt not in known:
        raise InputError(f"there is no list {doubt!r}", where="knick quality audit", remedy=f"Use {', '.join(known)}.")
    chosen = next(each for each in lists if each.doubt.value == doubt)
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.quality import DoubtfulAnswer, doubtful_answer

        show_answers(DoubtfulAnswer, [doubtful_answer(record) for record in chosen.records], output)
        return
    found: list[Row] = [
        {
            "id": f"P{record.id}",
            "change": f"R{record.change_id}",
            "trace": record.trace_key,
            "status": record.status.value,
            "ticket": record.ticket,
            "condition": record.condition.value,
            "relative_size": record.relative_size,
        }
        for record in chosen.records
    ]
    show(_DOUBTFUL, found, output, empty="No label is in doubt for this reason.")


def _show_doubts(lists: Sequence[AuditedList], output: OutputFormat) -> None:
    if output is OutputFormat.TEXT:
        rows: list[Row] = [
            {"doubt": each.doubt.value, "meaning": each.doubt.meaning, "count": len(each.records)} for each in lists
        ]
        show(_DOUBTS, rows, output)
    else:
        from knickpoint.answers.quality import DoubtAnswer, doubt_answer

        show_answers(DoubtAnswer, [doubt_answer(each) for each in lists], output)


# The noisiest traces

_NOISY: Final = (
    Column("trace"),
    *(Column(name, right=True) for name in ("findings", "hidden", "real", "gone")),
    Column("share", "of all hidden", _share, right=True),
    Column("cumulated", "up to here", _share, right=True),
    Column(
        "smallest_change",
        "smallest change",
        lambda size: figure_text(size, ".1%") if math.isfinite(size) else "–",
        right=True,
    ),
)


@command.command("traces")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of traces to list."
)
@period_options
@instance_option
@format_option
def traces(*, limit: int, since: str, until: str, instance: str | None, output: OutputFormat) -> None:
    """List the noisiest traces: those whose findings were most often hidden by people or withdrawn by later data.

    The smallest change is the one visible in 20 new values, relative to the level.
    """
    from knickpoint.watch.quality.report import measure_quality, smallest_changes

    with open_chosen_instance(instance) as opened:
        store, repositories = opened.store, opened.store.commits.repositories()
        noisy = measure_quality(store, opened.alerts, repositories, read_period(since, until)).noisiest[:limit]
        smallest = smallest_changes(store, repositories, noisy)
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.quality import NoisyTraceAnswer, noisy_answer

        show_answers(NoisyTraceAnswer, [noisy_answer(each, smallest.get(each.trace_id)) for each in noisy], output)
        return
    rows = [_noisy_row(trace, smallest.get(trace.trace_id)) for trace in noisy]
    show(_NOISY, rows, output, empty="No finding was hidden or went away.")


def _noisy_row(trace: NoisyTrace, smallest: DetectableChange | None) -> Row:
    return {
        "trace": trace.trace_key,
        **{name: getattr(trace, name) for name in ("findings", "hidden", "real", "gone", "share", "cumulated")},
        "smallest_change": smallest.relative_size if smallest else math.nan,
    }


_COLUMNS: Final = (
    Column("name"),
    Column("change"),
    *(Column(name, right=True) for name in ("traces", "hidden", "all_hidden", "real", "all_real")),
    Column("reason"),
)
_COUNTS: Final = ("found", "noise", "messages")
_REPLAYED: Final = tuple(
    Column(f"{name}_{when}", f"{name} {when}", right=True) for name in _COUNTS for when in ("before", "after")
)


def _proposals(opened: Instance, period: Period) -> list[Proposal]:
    from knickpoint.instance.alert_proposals import open_proposals
    from knickpoint.watch.quality.report import list_records

    records = list_records(opened.store, opened.store.commits.repositories(), period)
    return open_proposals(opened, opened.alerts, records)


@command.command("proposals")
@click.option("--backtest", "replayed", is_flag=True, help="Replay the past as it was and with each proposal.")
@period_options
@instance_option
@format_option
def proposals(*, replayed: bool, since: str, until: str, instance: str | None, output: OutputFormat) -> None:
    """Propose changes of alerts, with the counts behind each.

    raise lifts the least effect, calibrate lowers the rate of false alarms of the default method, mute leaves out
    values of a param, split gives traces that jump between levels an alert of their own with the method modes. With
    --backtest the past is replayed in the traces with findings of the alert. Nothing is changed: knick quality accept
    NAME does that.
    """
    with open_chosen_instance(instance) as opened:
        found = [
            (each, _replay(opened, each) if replayed else {}) for each in _proposals(opened, read_period(since, until))
        ]
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.quality import ProposalAnswer

        show_answers(ProposalAnswer, [ProposalAnswer.of(each, **counts) for each, counts in found], output)
        return
    rows = [
        {**_row(each), **{f"{name}_{when}": getattr(counts[when], name) for when in counts for name in _COUNTS}}
        for each, counts in found
    ]
    columns = (*_COLUMNS[:-1], *(_REPLAYED if replayed else ()), _COLUMNS[-1])
    show(columns, rows, output, empty="The decisions so far suggest no changes to alerts.")


def _row(proposal: Proposal) -> dict[str, Cell]:
    counts = ("traces", "hidden", "all_hidden", "real", "all_real")
    return {
        "name": proposal.name,
        "change": proposal.change,
        "reason": proposal.reason,
        **{name: getattr(proposal, name) for name in counts},
    }


def _replay(opened: Instance, proposal: Proposal) -> dict[str, ReplayedCounts]:
    """Return the counts that people would have seen before and after, in the traces with findings of the alert."""
    from knickpoint.watch.backtest.backtest import replay_change

    before, after = replay_change(opened.store, proposal.alert, proposal.changed)
    return {"before": before, "after": after}


# Decisions

_DECISIONS: Final = (
    Column("id", right=True),
    Column("name"),
    Column("decision"),
    Column("change"),
    Column("who"),
    Column("date"),
)


@command.command("accept")
@click.argument("name")
@period_options
@instance_option
def accept(*, name: str, since: str, until: str, instance: str | None) -> None:
    """Accept the proposal NAME: change its alert in the store, as knick alerts set does.

    The next run takes back what the alert no longer finds. knick quality undo takes the decision back. An alert of
    knickpoint.toml is not changed: the message has the change to write there.
    """
    from knickpoint.instance.alert_proposals import accept_proposal

    _show_decision("Changed", _decide(accept_proposal, name, read_period(since, until), instance))


@command.command("reject")
@click.argument("name")
@period_options
@instance_option
def reject(*, name: str, since: str, until: str, instance: str | None) -> None:
    """Reject the proposal NAME: it is not made again before it would leave out half as many hidden findings more."""
    from knickpoint.instance.alert_proposals import reject_proposal

    _show_decision("Rejected", _decide(reject_proposal, name, read_period(since, until), instance))


def _decide(
    decide: Callable[..., ProposalDecision], name: str, period: Period, instance: str | None
) -> ProposalDecision:
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.alert_proposals import find_proposal

    with open_chosen_instance(instance) as opened:
        return decide(opened, find_proposal(_proposals(opened, period), name), who=local_caller().name)


def _show_decision(done: str, decision: ProposalDecision) -> None:
    note(f"{done}: {decision.change}")
    note(f"To undo it: knick quality undo {decision.id}")


@command.command("decisions")
@instance_option
@format_option
def decisions(*, instance: str | None, output: OutputFormat) -> None:
    """List the proposals that people accepted or rejected, the newest first."""
    with open_chosen_instance(instance) as opened:
        found = opened.store.findings.proposals.all()[::-1]
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.quality import ProposalDecisionAnswer

        show_answers(ProposalDecisionAnswer, [ProposalDecisionAnswer.of(each) for each in found], output)
        return
    rows: list[dict[str, Cell]] = [
        {
            "id": each.id,
            "name": each.name,
            "decision": "accepted" if each.accepted else "rejected",
            "change": each.change,
            "who": each.who,
            "date": each.time.date().isoformat(),
        }
        for each in found
    ]
    show(_DECISIONS, rows, output, empty="No proposal was accepted or rejected.")


@command.command("undo")
@click.argument("decision", type=click.IntRange(0), metavar="ID")
@instance_option
def undo(*, decision: int, instance: str | None) -> None:
    """Take the decision ID back: a rejected proposal can be made again, an accepted one gets its alerts back."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.alert_proposals import undo_proposal_decision

    with open_chosen_instance(instance) as opened:
        undone = undo_proposal_decision(opened, decision, who=local_caller().name)
    note(f"Undone: {undone.change}")


# ``knick quality corpus``: write decisions as labelled examples.


@command.command("corpus")
@click.option("--values", is_flag=True, help="Write the series of each trace, in the first of its rows.")
@click.option(
    "--format",
    "output",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="JSON Lines, or CSV without series.",
)
@instance_option
def corpus(*, values: bool, output: str, instance: str | None) -> None:
    """Write decided findings and missed changes as labelled examples, one row each.

    Rows have no ids, times or names of people, and their order depends on the labels alone.
    """
    from knickpoint.model.errors import InputError
    from knickpoint.watch.quality.corpus import COLUMNS, corpus_rows

    if values and output == "csv":
        raise InputError("CSV cannot hold series", where="--values", remedy="Write JSON Lines: --format jsonl.")
    stream = sys.stdout
    with open_chosen_instance(instance) as opened:
        store = opened.store
        rows: Iterable[Mapping[str, Any]] = (
            row
            for repository in sorted(store.commits.repositories(), key=lambda each: each.name)
            for row in corpus_rows(store, repository, values=values)
        )
        if output == "jsonl":
            for row in rows:
                stream.write(plain_json(json.dumps(row, ensure_ascii=False)) + "\n")
            return
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([_field(row[name]) for name in COLUMNS])


def _field(value: Any) -> str:
    if value is None:
        return ""
    return guarded(value) if isinstance(value, str) else repr(value)
