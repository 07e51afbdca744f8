"""``knick open``: show the page of a change or trace in the browser."""

from __future__ import annotations

import re
import webbrowser
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.arguments import owned_trace, read_change
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.model.errors import ServiceError

if TYPE_CHECKING:
    from knickpoint.instance import Config
    from knickpoint.store import Store

_CHANGE: Final = re.compile(r"R[0-9]{1,15}", re.IGNORECASE)
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # compared, not listened at
_PATIENCE_SECONDS: Final = 5.0


@click.command("open")
@click.argument("what", default="")
@click.option("--print", "only_print", is_flag=True, help="Print the address, and start no browser.")
@instance_option
def command(what: str, *, only_print: bool, instance: str | None) -> None:
    """Show the page of WHAT: a change such as R12, or a trace (its key, or a query that matches one).

    Without WHAT, show the list of changes. Without a browser, print the address. It fails where no server
    answers: start one with `knick serve`.
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
