"""``knick regressions``: list what was found, one row a change point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, format_option, percent, show

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository, SlottedCommit
    from knickpoint.model.regression import Regression
    from knickpoint.store import Store

__all__ = ["command"]

_COLUMNS = (
    Column("regression"),
    Column("id"),
    Column("commit", text=lambda commit: commit[:10]),
    Column("author"),
    Column("subject", text=lambda subject: subject if len(subject) <= 44 else f"{subject[:43]}…"),
    Column("trace"),
    Column("direction"),
    Column("relative_size", "change", percent, right=True),
    Column("hazard", text=lambda hazard: "–" if math.isnan(hazard) else f"{hazard:+.3f}", right=True),
    Column("status"),
    Column("condition"),
    Column("history", text=lambda history: "history" if history else ""),
)

_DETAILS = (
    *(Column(name) for name in ("repository", "line", "previous_commit", "date", "unit")),
    *(Column(f"{side}_{name}") for side in ("before", "after") for name in ("mean", "median", "count")),
    *(Column(name) for name in ("score", "p_value", "method", "alerts", "ticket", "note", "assignee")),
)


def _rows(
    repository: Repository, regressions: list[Regression], commits: Mapping[int, SlottedCommit]
) -> Iterator[dict[str, Any]]:
    for regression in regressions:
        for point in regression.members:
            at = commits[point.place.slot].commit
            before = commits.get(point.place.previous)
            regions = {
                f"{side}_{name}": getattr(region, name)
                for side, region in (("before", point.before), ("after", point.after))
                for name in ("mean", "median", "count")
            }
            yield {
                "id": f"P{point.id}",
                "regression": f"R{regression.id}",
                "repository": repository.name,
                "line": point.place.line,
                "commit": at.hash,
                "previous_commit": before.commit.hash if before else "",
                "author": at.author,
                "date": at.time.date().isoformat(),
                "subject": at.subject,
                "trace": point.key,
                "unit": point.unit,
                "direction": point.direction.value,
                "relative_size": point.relative_size,
                "hazard": point.hazard,
                "score": point.score,
                "p_value": point.p_value,
                "method": point.method,
                "alerts": point.alerts,
                "status": point.effective_status.value,
                "condition": point.condition.value,
                "history": point.history,
                "ticket": point.ticket or point.matched_ticket,
                "note": point.note,
                "assignee": point.assignee,
                **regions,
            }


def _commits_of(store: Store, repository: Repository, regressions: list[Regression]) -> dict[int, SlottedCommit]:
    slots = {
        slot
        for regression in regressions
        for point in regression.members
        for slot in (point.place.previous, point.place.slot)
        if slot >= 0
    }
    return {slotted.slot: slotted for slotted in store.commits.get(repository, sorted(slots))}


@click.command("regressions")
@click.option(
    "--status",
    type=click.Choice(["unprocessed", "processed", "all"]),
    default="unprocessed",
    show_default=True,
    help="Unprocessed: what nobody has decided about.",
)
@click.option("--work", is_flag=True, help="Only what is work.")
@click.option("--history", is_flag=True, help="Only what is history: found up to the first run over the repository.")
@click.option("--match", default="", metavar="WORDS", help="Words that trace, commit, author or subject contain.")
@click.option(
    "--direction",
    type=click.Choice(["regression", "improvement", "unknown"]),
    default=None,
    help="Only bad news, or only good news.",
)
@click.option("--gone", is_flag=True, help="Include findings that later data no longer show.")
@instance_option
@format_option
def command(
    status: str,
    match: str,
    direction: str | None,
    instance: str | None,
    *,
    work: bool,
    history: bool,
    gone: bool,
    output: OutputFormat,
) -> None:
    """List what was found, work before history, the largest hazard level first; one row a change point.

    `knick triage` takes both ids: R for a whole regression, P for the finding in one of its traces.
    """
    from knickpoint.model.regression import Condition, Direction
    from knickpoint.store.findings import Selection

    conditions = frozenset(Condition) if gone else frozenset({Condition.PRESENT, Condition.RECOVERED})
    selection = Selection(
        conditions=conditions,
        directions=frozenset() if direction is None else frozenset({Direction(direction)}),
        text=match,
    )
    processed = {"unprocessed": False, "processed": True, "all": None}[status]
    rows: list[dict[str, Any]] = []
    with open_chosen_instance(instance) as opened:
        # Work comes first, of all repositories, then their history; both flags mean both, as none does.
        for side, wanted in ((False, work or not history), (True, history or not work)):
            for repository in opened.store.commits.repositories() if wanted else ():
                chosen = replace(selection, history=side)
                found = opened.store.findings.regressions(repository, processed=processed, selection=chosen)
                rows.extend(_rows(repository, found, _commits_of(opened.store, repository, found)))
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    show(columns, rows, output, empty="Nothing to triage. New results are judged by `knick run`.")
