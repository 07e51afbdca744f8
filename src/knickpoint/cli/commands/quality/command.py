"""The group ``knick quality``, and its tables of alerts, doubtful labels and noisy traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Cell, Column, OutputFormat, Row, format_option, percent, show, show_answers
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.watch.quality.alert_table import AlertRow, Rate
    from knickpoint.watch.quality.report import AuditedList, Period, QualityReport
    from knickpoint.watch.quality.traces import DetectableChange, NoisyTrace


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
    """Show what became of the findings of each alert and method, and what it missed.

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
    """List the noisiest traces: those whose findings people hid, or later data took back, most often.

    The smallest change is that which 20 new values of the trace could show, relative to its level.
    """
    from knickpoint.watch.quality.report import measure_quality
    from knickpoint.watch.quality.traces import smallest_changes

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
