"""``knick explain``, ``suspects`` and ``clusters``: why there is a change, which commits may have made it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import (
    find_change_points,
    find_trace,
    instance_option,
    local_view,
    open_chosen_instance,
    read_change,
)
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, percent, show, show_answers
from knickpoint.cli.terminal import Verbosity, note, plain_json, verbosity
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.cluster import KeptCluster
    from knickpoint.model.commit import Repository
    from knickpoint.model.suspects import Suspects
    from knickpoint.store import Store


_MOST_NAMED: Final = 8
"""Change points of a change that are named."""


@click.command("explain")
@click.argument("what", metavar="TRACE|R12|P34")
@click.option(
    "--at",
    default=None,
    metavar="COMMIT",
    help="Only steps and candidates near this commit (a hash, HEAD, a tag …), with every number.",
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the explanation.",
)
@instance_option
def explain(what: str, at: str | None, output: str, instance: str | None) -> None:
    """Explain in five sentences why there is, or is not, a change point in a trace.

    They say what changed, how it compares with the noise, what was compared, why it is a change point or none, and
    what would change that. The headline of its change comes first. With --verbose or --format json you get every
    candidate, every check and every filter. Without --at the sentences are about the newest change, or about the
    likeliest candidate if there is none. TRACE is a trace key, or a query that matches one trace, such as
    benchmark=parse. P34 is a change point, and R12 a change, of which the first trace is explained.
    """
    from knickpoint.cli.evidence import json_ready
    from knickpoint.cli.explanation_text import explanation_lines, number_lines
    from knickpoint.instance.named_commits import known_revision
    from knickpoint.watch.explanation import explain_trace, find_trace_in

    with open_chosen_instance(instance) as opened:
        points = find_change_points(opened.store, what)
        trace = points[0].trace_id if points else find_trace(opened.store, what)
        place: int | str | None = points[0].suspect_range.slot if points and at is None else at
        if at is not None:
            place = known_revision(opened, find_trace_in(opened.store, trace)[0], at)
        explanation = explain_trace(opened.store, trace, opened.alerts, at=place)
    if output == "json":
        click.echo(plain_json(json.dumps([json_ready(explanation)], indent=2, ensure_ascii=False)))
        return
    every = verbosity() is Verbosity.VERBOSE
    for line in number_lines(explanation) if every else explanation_lines(explanation):
        click.echo(line)
    if len(points) > 1:
        others = ", ".join(f"P{point.id}" for point in points[1:_MOST_NAMED])
        more = ", …" if len(points) > _MOST_NAMED else ""
        note(f"{what} has {len(points)} traces; this is P{points[0].id}. The others: {others}{more}.", err=True)
    if not every:
        note("For every number, add --verbose.", err=True)


_SHORT: Final = 10
_NOT_RANKED: Final = "The suspects are not ranked yet; the next knick run or the worker ranks them."


def _share(probability: float) -> str:
    return f"{100 * probability:.1f} %"


def _joined(reasons: Sequence[str]) -> str:
    return "; ".join(reasons)


_SUSPECT_COLUMNS: Final = (
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
def suspects(change: str, *, limit: int | None, instance: str | None, output: OutputFormat) -> None:
    """List the commits that may have caused CHANGE, such as R12, the most likely first, with reasons.

    The probabilities come from the location of the change and the files that each commit touches, before any commit is
    measured again. A part of the probability is left for other causes.
    """
    key = read_change(change)
    with open_chosen_instance(instance) as opened:
        repository = opened.store.findings.repository_of(key)
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.members import SuspectAnswer, list_suspects

            show_answers(SuspectAnswer, list_suspects(local_view(opened), key).suspects[:limit], output)
            return
        found = opened.store.findings.suspects.get(key)
        rows = list(_suspect_rows(opened.store, repository, found)) if found else []
    show(_SUSPECT_COLUMNS, rows[:limit], output, empty=found.note if found else _NOT_RANKED)
    if found:
        click.echo(f"None of these commits: {_share(found.none)}.")
        if found.machine:
            click.echo(found.machine)
        if found.note and rows:
            click.echo(found.note)


def _suspect_rows(store: Store, repository: Repository, found: Suspects) -> Iterator[Row]:
    """Yield one row a suspect, the most likely first."""
    from knickpoint.watch.lines import RangeReader

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


_NONE = "No cluster: only alerts whose method judges traces together have them."


def _p_value(value: float) -> str:
    return "" if math.isnan(value) else figure_text(value, ".2g")


_CLUSTER_COLUMNS = (
    Column("cluster"),
    Column("state"),
    Column("rank", right=True),
    Column("since_run", right=True),
    Column("joined", text=lambda joined: "later" if joined else ""),
    Column("change", text=percent, right=True),
    Column("p", text=_p_value, right=True),
    Column("trace"),
    Column("reason"),
)


@click.command("clusters")
@click.argument("change")
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="At most N traces of each state.")
@instance_option
@format_option
def clusters(change: str, *, limit: int | None, instance: str | None, output: OutputFormat) -> None:
    """List the clusters of CHANGE, such as R12: members, traces that were left out, and former members.

    Members come nearest to the centroid first. The reason names the check that a trace failed; knick explain has all
    checks of one trace.
    """
    key = read_change(change)
    with open_chosen_instance(instance) as opened:
        opened.store.findings.repository_of(key)
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.clusters import ClusterAnswer, list_clusters

            answers = list_clusters(local_view(opened), key, most=limit).clusters
            show_answers(ClusterAnswer, answers, output, rows_of="members")
            return
        found = opened.store.findings.clusters.of_change(key)
    rows = [row for cluster in found for row in _member_rows(cluster, limit)]
    show(_CLUSTER_COLUMNS, rows, output, empty=_NONE)
    for cluster in found:
        click.echo(_summary(cluster))


def _member_rows(cluster: KeptCluster, limit: int | None) -> Iterator[Row]:
    for member in cluster.members:
        if limit is not None and member.rank > limit:
            continue
        yield {
            "cluster": f"C{cluster.id}",
            "state": member.state.value,
            "rank": member.rank,
            "since_run": member.run,
            "joined": member.joined,
            "change": member.verdict.relative_size,
            "p": member.verdict.p_value,
            "trace": member.key,
            "reason": member.verdict.reason,
        }


def _summary(cluster: KeptCluster) -> str:
    """Return the params that the members share, with the number of other traces that have them too."""
    shared = ", ".join(
        f"{each.name}={each.value} ({each.others} of {cluster.others} others)" for each in cluster.shared[:5]
    )
    return f"C{cluster.id}, alert {cluster.alert}, since run {cluster.run}: members share {shared or 'no param'}."
