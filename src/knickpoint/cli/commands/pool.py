"""``knick pool``: run the scheduler of a pool of devices, and make its certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.configured_pool import configured_pool
from knickpoint.cli.options import instance_option
from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from knickpoint.bisect.pool import PoolRules
    from knickpoint.instance import Config

_STATE: Final = "pool"
"""The directory below the instance for what the scheduler keeps."""


@click.group("pool", invoke_without_command=True)
@click.option("--listen", default="", metavar="HOST", help="Listen there. Default: at the host of the address.")
@instance_option
@click.pass_context
def command(context: click.Context, *, listen: str, instance: str | None) -> None:
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


@command.command("certificates")
@click.argument("directory", type=click.Path(file_okay=False))
@click.argument("names", nargs=-1, required=True)
def certificates(directory: str, names: tuple[str, ...]) -> None:
    """Make certificates in DIRECTORY, one for each of NAMES: the scheduler, the server, each agent.

    The first call makes their authority as well. Who has its key can join the pool: keep it where no agent is.
    """
    from knickpoint.bisect.pool.certificates import make_certificate_files

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
