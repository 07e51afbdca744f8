"""``knick agent``: lend this machine to a pool as a device."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.configured_pool import configured_pool, require_cluster
from knickpoint.cli.options import instance_option, read_pairs

if TYPE_CHECKING:
    from knickpoint.bisect.settings import PoolSettings

_SECRET: Final = "KNICKPOINT_POOL_SECRET"  # noqa: S105 - the name of a variable


@click.command("agent")
@click.option("--device", default=None, metavar="NAME", help="The name of the device. Default: that of this machine.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A param of the device; repeatable.")
@click.option(
    "--slots", default=1, show_default=True, type=click.IntRange(1), help="Number of probes at the same time."
)
@click.option("--address", default=None, help="The pool, as in tls://pool.example.org:8786, instead of an instance.")
@click.option("--certificate", type=click.Path(dir_okay=False), help="With --address: the certificate of this agent.")
@click.option("--private-key", type=click.Path(dir_okay=False), help="With --address: its private key.")
@click.option("--authorities", type=click.Path(dir_okay=False), help="With --address: the authorities to trust.")
@click.option(
    "--workspace",
    type=click.Path(file_okay=False),
    default=None,
    help="Directory for clones, worktrees and artefacts. Default: below ~/.cache/knickpoint/devices.",
)
@click.option(
    "--space",
    type=click.IntRange(1),
    default=None,
    help="Maximum size of this directory in megabytes. Default: that of [pool].",
)
@instance_option
def command(
    *,
    device: str | None,
    params: tuple[str, ...],
    slots: int,
    address: str | None,
    certificate: str | None,
    private_key: str | None,
    authorities: str | None,
    workspace: str | None,
    space: int | None,
    instance: str | None,
) -> None:
    """Lend this machine to the pool of an instance: make probes for bisections and schedules.

    With --address no instance is needed; the secret of the pool is taken from KNICKPOINT_POOL_SECRET then.

    Ctrl-C or SIGTERM ends the agent after its probes; a second one ends it at once. The agent joins again by itself
    when the pool was away.
    """
    from knickpoint.bisect.job import Device
    from knickpoint.bisect.pool import machine_name, pool_access, serve_agent
    from knickpoint.bisect.runner import Workspace

    require_cluster()
    if address is not None:
        settings, directory = _given(address, certificate, private_key, authorities), Path()
    else:
        config, directory = configured_pool(instance)
        settings = config.pool
    name = device or machine_name()
    place = Path(workspace) if workspace else Path.home() / ".cache" / "knickpoint" / "devices" / name
    serve_agent(
        pool_access(settings, directory),
        Device(name, read_pairs(params, "--param"), slots=slots),
        Workspace(place.absolute(), space or settings.space_megabytes),
        announce=click.echo,
    )


def _given(address: str, certificate: str | None, private_key: str | None, authorities: str | None) -> PoolSettings:
    """Return the settings that the options give."""
    from knickpoint.bisect.settings import PoolSettings

    return PoolSettings(
        address=address,
        secret=os.environ.get(_SECRET, ""),
        certificate=certificate or "",
        private_key=private_key or "",
        authorities=authorities or "",
    )
