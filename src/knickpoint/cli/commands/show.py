"""``knick plot`` and ``open``: show a change or a trace, as a picture or in the browser."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance, owned_trace, read_change
from knickpoint.cli.terminal import note
from knickpoint.model.errors import HistoryError, InputError, ServiceError

if TYPE_CHECKING:
    from knickpoint.instance import Config
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
def plot(
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


_CHANGE: Final = re.compile(r"R[0-9]{1,15}", re.IGNORECASE)
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # compared, not listened at
_PATIENCE_SECONDS: Final = 5.0


@click.command("open")
@click.argument("what", default="")
@click.option("--print", "only_print", is_flag=True, help="Print the address, and start no browser.")
@instance_option
def open_page(what: str, *, only_print: bool, instance: str | None) -> None:
    """Show the page of WHAT: a change such as R12, or a trace (its key, or a query that matches one).

    Without WHAT, show the list of changes. Without a browser, print the address. It fails if no server answers: start
    one with `knick serve`.
    """
    with open_chosen_instance(instance) as opened:
        page = _page(opened.store, what)
        base = _base(opened.config)
        _check_server(opened.config, base)
    address = base + page
    if only_print or not _shown(address):
        click.echo(address)


def _page(store: Store, what: str) -> str:
    """Return the path of the page.

    Raises:
        InputError: there is no such change or trace.
    """
    from knickpoint.watch.lines import Lines
    from knickpoint.watch.trend import change_page

    if not what:
        return "/triage"
    if _CHANGE.fullmatch(what):
        key = read_change(what)
        found = store.findings.change(key)
        return change_page(Lines(store, store.findings.repository_of(key)), found.lead or found.members[0])
    _, trace = owned_trace(store, what)
    return f"/trace/{trace.id}"


def _base(config: Config) -> str:
    """Return the address of the server: the public one of the configuration, else where it listens."""
    server = config.server
    if server.address:
        return server.address.rstrip("/")
    host = _EVERYWHERE.get(server.host, server.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}"


def _check_server(config: Config, base: str) -> None:
    """Ask the server for its version. Raises ``ServiceError`` where it does not answer, or is another program."""
    from knickpoint.outgoing import fetch

    version = f"{base}/api/v1/version"
    try:
        answer = fetch(version, config.outgoing.rule.also(version), seconds=_PATIENCE_SECONDS)
    except ServiceError as error:
        raise ServiceError(
            f"no server answers: {error.message}", where=base, remedy="Start it: knick serve."
        ) from error
    if answer.status != 200 or b'"knickpoint"' not in answer.body:
        raise ServiceError(
            "another program answers there",
            where=base,
            remedy="Start the server at a free port: set port in [server] of knickpoint.toml, and run knick serve.",
        )


def _shown(address: str) -> bool:
    """Start a browser; return whether there is one."""
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
