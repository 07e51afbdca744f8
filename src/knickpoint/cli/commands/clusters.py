"""``knick clusters``: list the clusters of a change, with the verdict on each trace."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from knickpoint.cli.arguments import read_change
from knickpoint.cli.options import instance_option, local_view, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, percent, show, show_answers
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.cluster import KeptCluster

_NONE = "No cluster: only alerts whose method judges traces together have them."


def _p_value(value: float) -> str:
    return "" if math.isnan(value) else figure_text(value, ".2g")


_COLUMNS = (
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
def command(change: str, *, limit: int | None, instance: str | None, output: OutputFormat) -> None:
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
    rows = [row for cluster in found for row in _rows(cluster, limit)]
    show(_COLUMNS, rows, output, empty=_NONE)
    for cluster in found:
        click.echo(_summary(cluster))


def _rows(cluster: KeptCluster, limit: int | None) -> Iterator[Row]:
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
