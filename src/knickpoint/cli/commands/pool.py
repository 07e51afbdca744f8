"""``knick pool``, ``agent`` and ``devices``: run a pool of devices, lend this machine to it, see what each does."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, read_pairs
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.cli.terminal import note
from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from knickpoint.bisect.pool import PoolRules
    from knickpoint.bisect.settings import PoolSettings
    from knickpoint.instance import Config


def require_cluster() -> None:
    """Refuse to go on without the package of pools over machines, before anything is asked of the configuration.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    if find_spec("distributed") is None:
        raise ModuleNotFoundError("No module named 'distributed'", name="distributed")


def configured_pool(instance: str | None) -> tuple[Config, Path]:
    """Return the configuration of an instance with a pool over machines, and the directory that its paths start from.

    Raises:
        ConfigError: there is no instance, or its section ``[pool]`` has no address.
        ModuleNotFoundError: the package of pools is not installed.
    """
    from knickpoint.instance import CONFIG_FILE, find_instance, read_config

    require_cluster()
    directory = find_instance(instance)
    config = read_config(directory / CONFIG_FILE)
    if not config.pool.address:
        raise ConfigError(
            "the instance has no pool of machines",
            where=f"{directory / CONFIG_FILE}, [pool]",
            remedy='Set address = "tls://HOST:8786" and secret there; see docs/guide/devices.md.',
        )
    return config, directory


_STATE: Final = "pool"
"""The directory below the instance for what the scheduler keeps."""


@click.group("pool", invoke_without_command=True)
@click.option("--listen", default="", metavar="HOST", help="Listen there. Default: at the host of the address.")
@instance_option
@click.pass_context
def pool(context: click.Context, *, listen: str, instance: str | None) -> None:
    """Run the scheduler of the pool of an instance: agents join it, bisections and schedules submit probes to it.

    It reads the recipes and devices of knickpoint.toml, and follows changes of that file. Ctrl-C or SIGTERM ends it
    after the probes under way; a second one ends it at once. Agents and bisections wait until it is back.
    """
    if context.invoked_subcommand:
        return
    from knickpoint.bisect.pool import pool_access, serve_pool

    config, directory = configured_pool(instance)
    access = pool_access(config.pool, directory)
    serve_pool(access, _rules(config, directory), state=directory / _STATE, announce=click.echo, listen=listen)


@pool.command("certificates")
@click.argument("directory", type=click.Path(file_okay=False))
@click.argument("names", nargs=-1, required=True)
def certificates(directory: str, names: tuple[str, ...]) -> None:
    """Make certificates in DIRECTORY, one for each of NAMES: the scheduler, the server, each agent.

    The first call makes their authority as well. Whoever has its key can join the pool: keep it away from agents.
    """
    from knickpoint.bisect.pool.access import make_certificate_files

    for made in make_certificate_files(Path(directory), names):
        click.echo(str(made))


def _rules(config: Config, directory: Path) -> Callable[[], PoolRules]:
    """Return a reader of the rules of the pool for each change of the configuration; a broken one changes nothing."""
    from knickpoint.bisect.pool import PoolRules
    from knickpoint.instance import CONFIG_FILE, read_config

    def rules_of(config: Config) -> PoolRules:
        recipes = {
            name: replace(recipe, prebuilt=_absolute(directory, recipe.prebuilt))
            for name, recipe in config.bisect.items()
        }
        return PoolRules(recipes, config.devices, config.pool.heartbeat_seconds)

    file = directory / CONFIG_FILE
    known = file.stat().st_mtime_ns
    rules = rules_of(config)

    def current() -> PoolRules:
        nonlocal known, rules
        try:
            changed = file.stat().st_mtime_ns
        except OSError:
            return rules
        if changed != known:
            known = changed
            try:
                rules = rules_of(read_config(file))
                click.echo("knickpoint.toml changed and was read again")
            except ConfigError as error:
                click.echo(f"knickpoint.toml changed and cannot be used: {error}", err=True)
        return rules

    return current


def _absolute(directory: Path, prebuilt: str) -> str:
    """Return a place of finished artefacts as the worker writes it into jobs."""
    return prebuilt if not prebuilt or "://" in prebuilt else str(directory.absolute() / Path(prebuilt).expanduser())


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
def agent(
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

    Ctrl-C or SIGTERM ends the agent after its probes; a second one ends it at once. The agent reconnects by itself
    after an outage of the pool.
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
def devices(context: click.Context, *, instance: str | None, output: OutputFormat) -> None:
    """List the devices of the pool: the state of each, since when, and its probes."""
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


@devices.command("drain")
@click.argument("name")
@instance_option
def drain(name: str, instance: str | None) -> None:
    """Give a device no further probe; the current one ends first."""
    _drain(name, instance, resume=False)
    note(f"{name} is drained. To resume it: knick devices resume {name}")


@devices.command("resume")
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
