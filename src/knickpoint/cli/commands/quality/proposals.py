"""``knick quality proposals``: changes of alerts that would have left out much of what people hid."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.commands.quality.command import command, period_options, read_period
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Cell, Column, OutputFormat, format_option, show, show_answers
from knickpoint.cli.terminal import note, plain_json
from knickpoint.model.plain_text import guarded

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.model.quality import ProposalDecision
    from knickpoint.watch.backtest.preview import ReplayedCounts
    from knickpoint.watch.quality.proposals import Proposal
    from knickpoint.watch.quality.report import Period


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
    from knickpoint.watch.backtest.preview import replay_change

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
