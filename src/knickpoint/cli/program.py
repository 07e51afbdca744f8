"""The program ``knick``: its commands by name, and its exit codes."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final, NoReturn

import click

from knickpoint import __version__
from knickpoint.cli.exit_codes import FAILED, INTERRUPTED
from knickpoint.cli.missing_package import explain_missing
from knickpoint.cli.terminal import TerminalText, without_control
from knickpoint.model.errors import KnickpointError

__all__ = ["COMMANDS", "knick", "main"]

COMMANDS: Final = {
    "demo": ("demo", "Show everything on a repository that it creates and benchmarks."),
    "init": ("init", "Create an instance: knickpoint.toml and an embedded store."),
    "import": ("import_results", "Import results or whole histories into the store, exactly once."),
    "ingest": ("ingest", "List the files that wait or were refused, and import them again."),
    "detect": ("detect", "Find steps in series from a file or a pipe, without an instance."),
    "run": ("run", "Run the alerts once over the store."),
    "gate": ("gate", "Show which commits gates measure, and run them."),
    "worker": ("worker", "Import what arrives, and run the alerts over it and by schedule."),
    "alerts": ("alerts", "Compare the alerts of the configuration with the applied ones, and apply them."),
    "regressions": ("regressions", "List regressions and improvements."),
    "clusters": ("clusters", "List the clusters of a regression: which traces belong, which were left out, and why."),
    "suspects": ("suspects", "List the commits that may have caused a regression, the most likely first."),
    "bisect": ("bisect", "Find the commit that made a change, by building and measuring commits between two."),
    "bisections": ("bisections", "List the searches for commits, and stop one."),
    "missed": ("missed", "Mark changes that no alert found."),
    "quality": ("quality", "Measure the alerts by what people decided about their findings."),
    "backtest": ("backtest", "Replay an alert over the past, and compare it with what people decided."),
    "missing": ("missing", "List what should have results and has none, and accept renames."),
    "canaries": ("canaries", "List results that are quarantined because a machine moved, and lift their quarantine."),
    "triage": ("triage", "Decide about findings."),
    "history": ("history", "Show and move the history boundary, and keep the history of a CI on a branch."),
    "tickets": ("tickets", "Import tickets of an issue tracker."),
    "notify": ("notify", "Send what is due, print what would go to whom, or test a channel."),
    "deliveries": ("deliveries", "List what was sent to whom, send it again, or drop it."),
    "tokens": ("tokens", "Create, list and revoke tokens for machines."),
    "audit": ("audit", "List the audit log: sign-ins, tokens, the configuration, decisions."),
    "explain": ("explain", "Explain why there is, or is not, a finding."),
    "plot": ("plot", "Draw a trace with its findings as a picture."),
    "check": ("check", "Judge new results against the history."),
    "comment": ("comment", "Post the report of a check as the one comment of a pull request."),
    "compare": ("compare", "Build and measure two commits in turns on this machine, and judge what changed."),
    "serve": ("serve", "Serve the API and the dashboard, and run a worker."),
    "pool": ("pool", "Run the scheduler of a pool of devices, and make its certificates."),
    "agent": ("agent", "Lend this machine to a pool as a device."),
    "devices": ("devices", "List the devices of the pool, drain them, and resume them."),
    "export": ("export", "Write the points, one row each."),
    "backup": ("backup", "Copy the whole instance into one file while it is in use."),
    "restore": ("restore", "Restore an instance from a backup."),
    "doctor": ("doctor", "Check the health of the instance, its data and its alerts."),
}
"""Command → (module in ``knickpoint.cli.commands``, help)."""


class _Program(click.Group):
    """A group that imports a command when it runs, so that no command waits for the imports of others."""

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
    sys.stdout, sys.stderr = TerminalText.over(sys.stdout), TerminalText.over(sys.stderr)
    try:
        code = knick.main(standalone_mode=False)
    except click.ClickException as refused:
        refused.show()
        sys.exit(FAILED)
    except (click.Abort, KeyboardInterrupt):
        print("knick: interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(INTERRUPTED)
    except KnickpointError as error:
        lines = [without_control(line) for line in str(error).split("\n")]
        print("knick: " + "\n".join(lines), file=sys.stderr)  # noqa: T201
        sys.exit(FAILED)
    except ModuleNotFoundError as error:
        reason = explain_missing(error)
        if not reason:
            raise
        print(f"knick: {reason}", file=sys.stderr)  # noqa: T201
        sys.exit(FAILED)
    except MemoryError:
        print("knick: this takes more memory than the process may take; ask for less at a time", file=sys.stderr)  # noqa: T201
        sys.exit(FAILED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)
