"""``knick suspects``: list the commits that may have caused a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.arguments import read_change
from knickpoint.cli.options import instance_option, local_view, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.model.suspects import Suspects
    from knickpoint.store import Store

_SHORT: Final = 10
_NOT_RANKED: Final = "The suspects are not ranked yet; the next knick run or the worker ranks them."


def _share(probability: float) -> str:
    return f"{100 * probability:.1f} %"


def _joined(reasons: Sequence[str]) -> str:
    return "; ".join(reasons)


_COLUMNS: Final = (
    Column("rank", right=True),
    Column("probability", text=_share, right=True),
    Column("commit", text=lambda name: name[:_SHORT]),
    Column("author"),
    Column("subject"),
    Column("reasons", text=_joined),
)


@click.command("suspects")
@click.argument("change")
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="At most N suspects.")
@instance_option
@format_option
def command(change: str, *, limit: int | None, instance: str | None, output: OutputFormat) -> None:
    """List the commits that may have caused CHANGE, such as R12, the most likely first, with reasons.

    The probabilities come from the location of the change and the files that each commit touches, before any commit is
    measured again. A part of the probability is left for other causes.
    """
    key = read_change(change)
    with open_chosen_instance(instance) as opened:
        repository = opened.store.findings.repository_of(key)
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.suspects import SuspectAnswer, list_suspects

            show_answers(SuspectAnswer, list_suspects(local_view(opened), key).suspects[:limit], output)
            return
        found = opened.store.findings.suspects.get(key)
        rows = list(_rows(opened.store, repository, found)) if found else []
    show(_COLUMNS, rows[:limit], output, empty=found.note if found else _NOT_RANKED)
    if found:
        click.echo(f"None of these commits: {_share(found.none)}.")
        if found.machine:
            click.echo(found.machine)
        if found.note and rows:
            click.echo(found.note)


def _rows(store: Store, repository: Repository, found: Suspects) -> Iterator[Row]:
    """Yield one row a suspect, the most likely first."""
    from knickpoint.watch.suspect_ranges import RangeReader

    reader = RangeReader(store, repository)
    reader.load(slots=[each.slot for each in found.suspects])
    for rank, suspect in enumerate(found.suspects, 1):
        commit = reader.commit(suspect.slot)
        yield {
            "rank": rank,
            "probability": suspect.probability,
            "commit": commit.hash,
            "author": commit.author,
            "subject": commit.subject,
            "reasons": suspect.reasons,
        }
