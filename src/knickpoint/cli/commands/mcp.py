"""``knick mcp``: serve an instance to an AI agent on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.model.access import Permission
from knickpoint.model.errors import InputError

_OPENED = (Permission.DECIDE, Permission.MEASURE)


def _read_allowed(texts: Sequence[str]) -> frozenset[Permission]:
    """Return the permissions that ``--allow`` names.

    Raises:
        InputError: one of them is unknown.
    """
    names = {name.strip() for text in texts for name in text.split(",")}
    known = {permission.value: permission for permission in _OPENED}
    for name in sorted(names - known.keys()):
        raise InputError(f"{name!r} cannot be allowed", where="--allow", remedy=f"Allow {' or '.join(known)}.")
    return frozenset(known[name] for name in names)


@click.command("mcp")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="decide,measure",
    help="Let the agent do more than read: decide about changes, start bisections and attempts. Default: only read.",
)
@click.option("--instructions", is_flag=True, help="Print instructions for an agent, and exit.")
@instance_option
def command(*, allowed: tuple[str, ...], instructions: bool, instance: str | None) -> None:
    """Serve an instance to an AI agent on this machine, by the Model Context Protocol over standard input and output.

    The client of the agent starts this command. The tools list and explain changes, read values, compare commits, judge
    results, and show bisections. `knick serve` has the same tools for other machines, at /mcp.
    """
    if instructions:
        from knickpoint.agents import read_instructions

        click.echo(read_instructions(), nl=False)
        return
    permissions = _read_allowed(allowed)
    from knickpoint.agents import begin_session, serve_stdio

    with open_chosen_instance(instance) as opened:
        from knickpoint.access.local_user import local_caller

        asyncio.run(serve_stdio(begin_session(opened, local_caller(), permissions, local=True)))
