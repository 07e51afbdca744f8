"""``knick explain``: explain why there is, or is not, a change point in a trace."""

from __future__ import annotations

import json
from typing import Final

import click

from knickpoint.cli.arguments import find_change_points, find_trace
from knickpoint.cli.evidence import json_ready
from knickpoint.cli.explanation_text import explanation_lines, number_lines
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.terminal import Verbosity, note, plain_json, verbosity

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
def command(what: str, at: str | None, output: str, instance: str | None) -> None:
    """Explain in five sentences why there is, or is not, a change point in a trace.

    They say what changed, how it compares with the noise, what was compared, why it is a change point or none, and
    what would change that. The headline of its change comes first. With --verbose or --format json you get every
    candidate, every check and every filter. Without --at the sentences are about the newest change, or about the
    likeliest candidate if there is none. TRACE is a trace key, or a query that matches one trace, such as
    benchmark=parse. P34 is a change point, and R12 a change, of which the first trace is explained.
    """
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
