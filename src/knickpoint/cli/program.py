"""The program ``knick``: its commands by name, and how it ends when something is wrong."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final, NoReturn

import click

from knickpoint import __version__
from knickpoint.model.errors import KnickpointError

__all__ = ["COMMANDS", "FAILED", "knick", "main"]

FAILED: Final = 2
"""The exit code of a command that could not do its work; 1 is left to ``knick check`` for its verdict."""

COMMANDS: Final = {
    "demo": ("demo", "Show the whole story on a repository that it makes and really benchmarks."),
    "init": ("init", "Make an instance: knickpoint.toml and an embedded store."),
    "import": ("import_results", "Bring results or whole histories into the store, exactly once."),
    "ingest": ("ingest", "Show what waits and what was refused, and try again."),
    "detect": ("detect", "Find steps in series from a file or a pipe, without an instance."),
    "run": ("run", "Run alerts once over the store."),
    "worker": ("worker", "Keep running alerts: when results arrive, and by schedule."),
    "alerts": ("alerts", "Compare the alerts of the configuration with those in force, and change them."),
    "regressions": ("regressions", "List regressions and improvements."),
    "triage": ("triage", "Decide about findings."),
    "history": ("history", "Show up to which commits findings are history, and move that boundary."),
    "tickets": ("tickets", "Take over tickets of an issue tracker."),
    "explain": ("explain", "Say why there is, or is not, a finding."),
    "check": ("check", "Judge new results against history."),
    "serve": ("serve", "Serve the API and the dashboard, and keep working."),
    "export": ("export", "Write the points, one row each."),
    "backup": ("backup", "Copy the whole instance into one file, online."),
    "restore": ("restore", "Bring an instance back from a backup."),
    "doctor": ("doctor", "Examine the health of the instance, its data and its alerts."),
}
"""Command → (module in ``knickpoint.cli.commands``, what it does)."""


class _Program(click.Group):
    """A group that imports a command when it is asked for, so that none pays for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"knickpoint.cli.commands.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


@click.command(cls=_Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="knick")
def knick() -> None:
    """Find the commits that changed your benchmarks.

    Start with `knick demo`, or on your own data with `knick init`, `knick import`, `knick run`, `knick serve`.
    """


def main() -> NoReturn:
    """Run ``knick`` with the arguments of the process and exit."""
    try:
        code = knick.main(standalone_mode=False)
    except click.ClickException as refused:
        refused.show()
        sys.exit(FAILED)
    except (click.Abort, KeyboardInterrupt):
        print("knick: interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except KnickpointError as error:
        print(f"knick: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(FAILED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)
