"""``knick devices``: list the devices of the pool, drain them, and resume them."""

from __future__ import annotations

from typing import Final

import click

from knickpoint.cli.configured_pool import configured_pool
from knickpoint.cli.options import instance_option
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.cli.terminal import note

_COLUMNS: Final = (
    Column("name"),
    Column("state"),
    Column("use"),
    Column("slots", right=True),
    Column("params", text=lambda params: " ".join(params) or "–"),
    Column("probes", text=lambda probes: " ".join(probes) or "–"),
    Column("progress", text=lambda text: text or "–"),
    Column("since"),
)


@click.group("devices", invoke_without_command=True)
@instance_option
@format_option
@click.pass_context
def command(context: click.Context, *, instance: str | None, output: OutputFormat) -> None:
    """List the devices of the pool: what each does, since when, and the probes that it makes."""
    if context.invoked_subcommand:
        return
    from knickpoint.bisect.pool import pool_access
    from knickpoint.bisect.pool.dask_pool import device_statuses

    config, directory = configured_pool(instance)
    access = pool_access(config.pool, directory)
    rows = [
        {
            "name": status.device.name,
            "state": status.state.value,
            "use": status.device.use.value,
            "slots": status.device.slots,
            "params": [f"{name}={value}" for name, value in sorted(status.device.params.items())],
            "probes": list(status.probes),
            "progress": status.progress,
            "since": status.since.isoformat(timespec="seconds"),
        }
        for status in device_statuses(access)
    ]
    show(_COLUMNS, rows, output, empty="No device has joined; lend one with: knick agent --device NAME")


@command.command("drain")
@click.argument("name")
@instance_option
def drain(name: str, instance: str | None) -> None:
    """Give a device no further probe; the one that it makes ends first."""
    _drain(name, instance, resume=False)
    note(f"{name} is drained. To resume it: knick devices resume {name}")


@command.command("resume")
@click.argument("name")
@instance_option
def resume(name: str, instance: str | None) -> None:
    """Give a drained device probes again."""
    _drain(name, instance, resume=True)
    note(f"{name} accepts probes again")


def _drain(name: str, instance: str | None, *, resume: bool) -> None:
    from knickpoint.bisect.pool import pool_access
    from knickpoint.bisect.pool.dask_pool import drain_device

    config, directory = configured_pool(instance)
    drain_device(pool_access(config.pool, directory), name, resume=resume)
