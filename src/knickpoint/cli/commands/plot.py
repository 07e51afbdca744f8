"""``knick plot``: draw a trace with its findings as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.arguments import owned_trace
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.terminal import note
from knickpoint.model.errors import HistoryError, InputError

if TYPE_CHECKING:
    from knickpoint.model.commit import Line
    from knickpoint.store import Store

_WIDTH, _HEIGHT = 600, 260
_ENDINGS: Final = (".svg", ".png")


@click.command("plot")
@click.argument("trace")
@click.option(
    "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File to write, .svg or .png."
)
@click.option("--at", default="", metavar="COMMIT", help="Show the surroundings of the change nearest to this commit.")
@click.option("--line", default="", help="Name of the line. Default: the default line.")
@click.option("--width", type=click.IntRange(240, 1600), default=_WIDTH, show_default=True, help="Width in pixels.")
@click.option("--height", type=click.IntRange(140, 1000), default=_HEIGHT, show_default=True, help="Height in pixels.")
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True, help="Background.")
@instance_option
def command(
    trace: str, *, output: Path, at: str, line: str, width: int, height: int, theme: str, instance: str | None
) -> None:
    """Draw TRACE with its findings into a file, as SVG or PNG.

    TRACE is a trace key, or a query that matches one trace, such as benchmark=parse. Without --at the picture has the
    whole line, and the newest change with its levels.
    """
    from knickpoint.instance.named_commits import known_revision
    from knickpoint.plots import Theme, draw_trend, png, svg
    from knickpoint.watch.lines import Lines
    from knickpoint.watch.trend import NEAR, focus_at, read_trend

    if output.suffix.lower() not in _ENDINGS:
        raise InputError("is neither SVG nor PNG", where=str(output), remedy="Use a name that ends in .svg or .png.")
    with open_chosen_instance(instance) as opened:
        store = opened.store
        repository, found = owned_trace(store, trace)
        lines = Lines(store, repository)
        chosen = store.commits.line(repository, line)
        slot = _slot(store, chosen, known_revision(opened, chosen.repository, at)) if at else None
        focus = focus_at(store.findings.change_points(found.id), chosen, slot)
        trend = read_trend(store, lines, found, chosen, focus=focus, near=NEAR if at else None)
        drawing = draw_trend(trend, size=(width, height), theme=Theme(theme))
    content = png(drawing) if output.suffix.lower() == ".png" else svg(drawing)
    try:
        output.write_bytes(content)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", where=str(output), remedy="Choose another place."
        ) from error
    note(f"Wrote {output}.")


def _slot(store: Store, line: Line, revision: str) -> int:
    found = store.commits.find(line.repository, revision)
    if found is None or found.slot not in line.positions:
        raise HistoryError(
            f"there is no commit {revision!r} on the line {line.name!r}",
            where="--at",
            remedy="Give the hash of a commit, its beginning, or its number.",
        )
    return found.slot
