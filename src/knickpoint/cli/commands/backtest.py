"""``knick backtest``: replay an alert over the past, and compare it with what people decided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance, read_pairs, require_results
from knickpoint.cli.output import Cell, Column, OutputFormat, Row, format_option, percent, show
from knickpoint.cli.terminal import Progress
from knickpoint.model.errors import InputError
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.alert import Alert
    from knickpoint.model.commit import Repository
    from knickpoint.store import Store
    from knickpoint.watch.backtest.backtest import Backtest
    from knickpoint.watch.backtest.replay import ScoredFinding
    from knickpoint.watch.quality.report import Rate


def _share(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else figure_text(value, ".0%")


def _values(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:g}"


_SUMMARY: Final = (
    Column("alert"),
    Column("repository"),
    Column("method"),
    *(Column(name, right=True) for name in ("traces", "replayed", "commits")),
    *(Column(name, right=True) for name in ("found", "lost", "noise", "avoided", "undecided", "new")),
    Column("precision", text=_share, right=True),
    Column("precision_interval", "95 %", right=True),
    Column("recall", text=_share, right=True),
    Column("recall_interval", "95 %", right=True),
    Column("delay", "delay, values", _values, right=True),
    Column("delay_p90", "p90", _values, right=True),
    Column("changes", "announced", right=True),
    Column("announcements", "messages", right=True),
)

_LIST: Final = (
    Column("alert"),
    Column("outcome"),
    Column("label"),
    Column("commit", text=lambda name: name[:10]),
    Column("trace"),
    Column("relative_size", "change", percent, right=True),
    Column("delay", text=lambda delay: "" if delay is None else str(delay), right=True),
    Column("reason"),
)

_OUTCOMES: Final = ("found", "lost", "noise", "avoided", "undecided", "new")


@click.command("backtest")
@click.option("--alert", "name", default="", metavar="NAME", help="Replay this alert. Default: all of them.")
@click.option("--method", "-m", default="", metavar="METHOD", help="Replay with this detection method instead.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Replay with another setting of the alert, or parameter of its method; repeatable.",
)
@click.option("--compare", is_flag=True, help="Also replay the current alert, for comparison.")
@click.option(
    "--since",
    default="",
    metavar="COMMIT|DATE",
    help="Start of the replay. Default: the history boundary.",
)
@click.option("--repository", default="", metavar="NAME", help="Only this repository. Default: all of them.")
@click.option(
    "--list",
    "listed",
    type=click.Choice([*_OUTCOMES, "all"]),
    default=None,
    help="List these findings, not the counts.",
)
@click.option(
    "--most-traces", type=click.IntRange(1), default=5000, show_default=True, help="Replay at most N traces with steps."
)
@click.option(
    "--corpus",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    default=None,
    metavar="FILE",
    help="Replay the series of a corpus, and compare with its labels; - reads the standard input.",
)
@instance_option
@format_option
def command(
    *,
    name: str,
    method: str,
    settings: tuple[str, ...],
    compare: bool,
    since: str,
    repository: str,
    listed: str | None,
    most_traces: int,
    corpus: str | None,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Replay an alert over the past, and compare it with what people decided.

    The commits are replayed in order, each with the results that were known then, and each finding counts when it would
    have been announced. found and lost are changes that people acknowledged, linked to a ticket or marked as missed;
    noise and avoided are findings that they hid; undecided are findings without a decision, and new is what no alert
    has found so far. Nothing is written.

    With --corpus, the past and the decisions are those that knick quality corpus --values wrote, for example elsewhere.
    The alert is the default one, or --alert NAME of this instance.
    """
    changes = read_pairs(settings, "--set")
    with ExitStack() as stack:
        store: Store | None = None
        if corpus is None:
            opened = stack.enter_context(open_chosen_instance(instance))
            require_results(opened)
            store = opened.store
            alerts = _alerts(opened.alerts, name, method, changes, compare=compare)
            results = list(_past(stack, store, alerts, since=since, repository=repository, most_traces=most_traces))
        else:
            if since or repository:
                raise InputError(
                    "a corpus is always replayed in full",
                    where="--corpus",
                    remedy="Leave out --since and --repository.",
                )
            known = _known_alerts(instance, name)
            results = list(_corpus(stack, corpus, _alerts(known, name, method, changes, compare=compare)))
        if listed:
            show(_LIST, list(_finding_rows(store, results, listed)), output, empty=f"No finding is {listed}.")
            return
        show(
            _SUMMARY,
            [_summary_row(result) for result in results],
            output,
            empty="No repository with results is watched by these alerts.",
        )
        if output is OutputFormat.TEXT:
            _show_limits(results)
            lost = list(_finding_rows(store, results, "lost"))
            if lost:
                click.echo("\nLost:")
                show(_LIST, lost, output)


def _past(
    stack: ExitStack, store: Store, alerts: Iterable[Alert], *, since: str, repository: str, most_traces: int
) -> Iterator[Backtest]:
    """Replay the past of the instance."""
    from knickpoint.watch.backtest.backtest import BacktestBounds, backtest

    for alert in alerts:
        for each in _repositories(store, repository, alert):
            yield backtest(
                store,
                each,
                alert,
                since=_start(store, each, since),
                bounds=BacktestBounds(traces=most_traces),
                report=lambda what: stack.enter_context(Progress(what)),
            )


def _corpus(stack: ExitStack, place: str, alerts: Iterable[Alert]) -> Iterator[Backtest]:
    """Replay the series of the corpus at ``place``."""
    from knickpoint.watch.backtest.backtest import backtest_history
    from knickpoint.watch.backtest.history import read_corpus

    with click.open_file(place, encoding="utf-8", errors="replace") as lines:
        parts = read_corpus(lines, place)
    for alert in alerts:
        for part in parts:
            yield backtest_history(
                part.history, alert, part.labels, report=lambda what: stack.enter_context(Progress(what))
            )


def _known_alerts(instance: str | None, name: str) -> list[Alert]:
    """Return the default alert; where one is named, those of the instance."""
    from knickpoint.watch.alert_run.run import default_alert

    if not name:
        return [default_alert()]
    with open_chosen_instance(instance) as opened:
        return list(opened.alerts)


def _alerts(
    known: Sequence[Alert], name: str, method: str, settings: Mapping[str, str], *, compare: bool
) -> Iterator[Alert]:
    """Yield the alerts to replay: the named one or all, changed as asked for, before that as they are."""
    from dataclasses import replace

    from knickpoint.watch.backtest.backtest import changed_alert

    chosen = [alert for alert in known if name in {"", alert.name}]
    if not chosen:
        names = ", ".join(alert.name for alert in known)
        raise InputError(f"there is no alert {name!r}", where="--alert", remedy=f"The alerts are: {names}.")
    for alert in chosen:
        changed = changed_alert(alert, settings, method)
        if compare and changed != alert:
            yield alert
            yield replace(changed, name=f"{alert.name} (changed)")
        else:
            yield changed


def _repositories(store: Store, name: str, alert: Alert) -> list[Repository]:
    """Return the repositories to replay: of those that the alert watches, the named one or all with results."""
    if name:
        store.commits.repository(name)
    return [
        each
        for each in store.commits.repositories()
        if name in {"", each.name} and alert.repository in {"", each.name} and store.commits.line(each).slots
    ]


def _start(store: Store, repository: Repository, since: str) -> int | None:
    """Return the last position that is known before the replay; None for the history boundary."""
    if not since:
        return None
    from knickpoint.watch.triage.history_boundary import position_before

    return position_before(store, repository, since)


def _summary_row(result: Backtest) -> Row:
    from knickpoint.watch.backtest.replay import Outcome

    score = result.score
    row: dict[str, Cell] = {
        "alert": result.alert.name,
        "repository": result.repository,
        "method": result.alert.method,
        "traces": result.watched,
        "replayed": result.replayed,
        "commits": result.commits,
        **{name: score.count(Outcome(name)) for name in _OUTCOMES},
        "precision": score.precision.share,
        "precision_interval": _interval(score.precision),
        "recall": score.recall.share,
        "recall_interval": _interval(score.recall),
        "delay": score.delay(50),
        "delay_p90": score.delay(90),
        "changes": sum(score.chains.values()),
        "announcements": score.messages,
    }
    return row


def _interval(rate: Rate) -> str:
    if not rate.whole:
        return "–"
    low, high = rate.interval
    return f"{figure_text(low, '.0%')}–{figure_text(high, '.0%')}"


def _show_limits(results: Sequence[Backtest]) -> None:
    for result in results:
        for limit in result.limits:
            click.echo(f"{result.alert.name}, {result.repository}: {limit}")


def _finding_rows(store: Store | None, results: Sequence[Backtest], outcome: str) -> Iterator[Row]:
    from knickpoint.watch.backtest.backtest import lost_reasons

    for result in results:
        reasons = lost_reasons(store, result) if store and outcome in {"lost", "all"} else {}
        for each in result.score.findings:
            if outcome in {"all", each.outcome.value}:
                yield _finding_row(result, each, reasons.get(each, ""))


def _finding_row(result: Backtest, each: ScoredFinding, reason: str) -> Row:
    return {
        "alert": result.alert.name,
        "outcome": each.outcome.value,
        "label": each.name,
        "commit": result.history.commits[each.position].hash,
        "trace": each.trace_key,
        "relative_size": each.relative_size,
        "delay": each.delay,
        "reason": reason,
    }
