"""The program ``knick``: its commands by name, and what ends it."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final, NoReturn

import click
from click.shell_completion import CompletionItem

from knickpoint.cli.completions import VARIABLE, add_completion, register_shells
from knickpoint.cli.exit_codes import FAILED, INTERRUPTED, UNREAD
from knickpoint.cli.missing_package import explain_missing
from knickpoint.cli.options import did_you_mean, instance_option
from knickpoint.cli.terminal import (
    TerminalText,
    Tone,
    Verbosity,
    add_verbosity,
    colours_allowed,
    painted,
    set_verbosity,
    verbosity,
    verbosity_options,
    without_control,
)
from knickpoint.model.errors import KnickpointError
from knickpoint.model.renamed import new_name

# Print why a command failed: one line that names the command, what was wrong, and what to do.


_PROGRAM: Final = "knick"
_REFUSED_CHOICE: Final = re.compile("'([^']*)' is not one of ")
_QUERY_WITH_MINUS: Final = "Put a query that begins with - after --."


def print_failure(lines: Sequence[str], *, program: str = _PROGRAM) -> None:
    """Print the lines of an error on standard error, behind the name of the program.

    With --verbose, its traceback first.
    """
    if verbosity() is Verbosity.VERBOSE and sys.exc_info()[0] is not None:
        traceback.print_exc()
    clean = "\n".join(without_control(line) for line in lines)
    name = painted(f"{program}:", Tone.BAD if colours_allowed(sys.stderr) else None)
    TerminalText.below(sys.stderr).write(f"{name} {clean}\n")


def print_refusal(refused: click.ClickException) -> None:
    """Print why the command line cannot be used, and how the command is used."""
    context = refused.ctx if isinstance(refused, click.UsageError) else None
    lines = [refusal_text(refused)]
    if context is not None:
        usage = " ".join(context.get_usage().split()).removeprefix("Usage: ")
        lines.append(f"usage: {usage}; {context.command_path} --help explains it")
    print_failure(lines, program=context.command_path if context else _PROGRAM)


def refusal_text(refused: click.ClickException) -> str:
    """Return the defect of the command line, with a suggestion for a mistyped command or option."""
    if isinstance(refused, click.NoSuchOption):
        given = refused.option_name
        query = _QUERY_WITH_MINUS if not given.startswith("--") and _takes_query(refused.ctx) else ""
        return f"there is no option {given}. {_meant(given, _options(refused.ctx)) or query}".rstrip()
    given = getattr(refused, "command_name", "")
    if given and isinstance(refused, click.UsageError):
        return f"there is no command {given!r}. {_meant(given, _commands(refused.ctx))}".rstrip()
    message = refused.format_message()
    return f"{message[:1].lower()}{message[1:]} {_meant_choice(refused)}".rstrip()


def _meant_choice(refused: click.ClickException) -> str:
    """Suggest the choice that a mistyped value of an option means; "" where nothing is similar."""
    kind = refused.param.type if isinstance(refused, click.BadParameter) and refused.param else None
    given = _REFUSED_CHOICE.match(refused.message)
    return (
        did_you_mean(given[1], [str(each) for each in kind.choices]) if given and isinstance(kind, click.Choice) else ""
    )


def _meant(given: str, known: list[str]) -> str:
    """Suggest the meaning of an unknown word, or its name of today."""
    new = new_name(given, known)
    return f"It was renamed to {new}." if new else did_you_mean(given, known)


def _takes_query(context: click.Context | None) -> bool:
    parameters = context.command.get_params(context) if context else ()
    return any(isinstance(parameter, click.Argument) and parameter.name == "query" for parameter in parameters)


def _options(context: click.Context | None) -> list[str]:
    parameters = context.command.get_params(context) if context else ()
    return [
        name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts) if name[:1] == "-"
    ]


def _commands(context: click.Context | None) -> list[str]:
    return context.command.list_commands(context) if context and isinstance(context.command, click.Group) else []


SECTIONS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Getting started": {
        "demo": ("demo", "Show Knickpoint at work on an example repository."),
        "init": ("init:init", "Create an instance: knickpoint.toml and an embedded store."),
        "import": ("import_results", "Import results or whole histories into the store, exactly once."),
        "move-in": ("init:move_in", "Migrate the history of asv or github-action-benchmark, and find its changes."),
        "check": ("check.command", "Judge new results against the history."),
        "comment": ("comment", "Post the report of a check as the one comment of a pull request."),
        "compare": ("compare", "Build and measure two commits alternately on this machine, and judge the changes."),
        "calibrate": ("calibrate", "Measure one commit to say which changes comparisons on this machine can find."),
        "try": ("attempts", "Try commits that should be faster, and confirm those that are."),
    },
    "Results": {
        "traces": ("traces:traces", "List the traces that a query matches, with how often and when each was measured."),
        "query": ("traces:query", "Print the values of traces, or of a formula over them."),
        "plot": ("show:plot", "Draw a trace with its findings as a picture."),
        "export": ("export:export", "Write the points, one row each."),
        "publish": ("export:publish", "Write the dashboard with its data as files for any web server."),
        "detect": ("detect.command", "Find steps in series from a file or a pipe, without an instance."),
        "ingest": ("ingest", "List the files that wait or were refused, and import them again."),
        "missing": ("missing:missing", "List overdue results, and accept renames."),
    },
    "Findings": {
        "run": ("run", "Run the alerts once over the store."),
        "changes": ("changes:changes", "List changes: regressions, improvements, and changes without a direction."),
        "regressions": ("changes:regressions", "List the changes with a benchmark that got worse."),
        "explain": ("explain:explain", "Explain why there is, or is not, a finding."),
        "suspects": ("explain:suspects", "List the commits that may have caused a change, the most likely first."),
        "clusters": (
            "explain:clusters",
            "List the clusters of a change: which traces belong, which were left out, and why.",
        ),
        "triage": ("triage:triage", "Decide about findings."),
        "tickets": ("triage:tickets", "Import tickets of an issue tracker."),
        "open": ("show:open_page", "Open a change or trace in the browser."),
        "history": ("history", "Show and move the history boundary, and keep the history of a CI on a branch."),
    },
    "Locating the commit": {
        "bisect": (
            "bisect.command",
            "Find the commit that made a change, by building and measuring commits between two.",
        ),
        "profile": ("profile", "Compare profiles, and find the functions that a change costs."),
        "bisections": ("bisect.bisections", "List the searches for commits, and stop one."),
        "schedule": ("schedule", "Show which commits schedules measure, and run them."),
        "devices": ("pool:devices", "List the devices of the pool, drain them, and resume them."),
        "agent": ("pool:agent", "Lend this machine to a pool as a device."),
        "pool": ("pool:pool", "Run the scheduler of a pool of devices, and make its certificates."),
    },
    "Alerts": {
        "alerts": ("alerts", "Compare the alerts of the configuration with the applied ones, and apply them."),
        "missed": ("missed", "Mark changes that no alert found."),
        "quality": ("quality", "Measure the alerts against the decisions of people."),
        "backtest": ("backtest", "Replay an alert over the past, and compare it with what people decided."),
        "canaries": (
            "missing:canaries",
            "List results quarantined because a machine changed, and lift quarantines.",
        ),
    },
    "Messages": {
        "notify": ("notify:notify", "Send due notifications, preview them, or test a channel."),
        "deliveries": ("notify:deliveries", "List deliveries, retry them, or drop them."),
    },
    "The instance": {
        "serve": ("serve:serve", "Run an instance: the API and the dashboard, a worker, imports."),
        "mcp": ("serve:mcp", "Serve an instance to AI agents, as tools of the Model Context Protocol."),
        "worker": ("serve:worker", "Import new files, and run the alerts on new results and by schedule."),
        "doctor": ("doctor", "Check the health of the instance, its data and its alerts."),
        "backup": ("init:backup", "Copy the whole instance into one file while it is in use."),
        "restore": ("init:restore", "Restore an instance from a backup."),
        "tokens": ("access:tokens", "Create, list and revoke tokens for machines."),
        "completion": ("completion", "Print or install shell completion."),
        "audit": ("access:audit", "List the audit log: sign-ins, tokens, the configuration, decisions."),
    },
}
"""Section of the help → command → (place in ``knickpoint.cli.commands``, help); the place may be ``module:name``."""

COMMANDS: Final = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
"""Command → (place in ``knickpoint.cli.commands``, help)."""


class _Program(click.Group):
    """A group that imports a command when it runs, so that no command waits for the imports of others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(f"knickpoint.cli.commands.{module}"), name or "command")
        assert isinstance(command, click.Command)
        return _with_manners(command, ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands and options; no command is imported for its help."""
        found = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        longest = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{longest}}", help_text) for name, (_, help_text) in commands.items()])


def _with_manners(command: click.Command, context: click.Context) -> click.Command:
    """Add what all commands share to a command and to the commands within it: verbosity, completion, ``--instance``."""
    if isinstance(command, click.Group):
        within = {name: command.get_command(context, name) for name in command.list_commands(context)}
        for inner in within.values():
            assert inner is not None
            _with_manners(inner, context)
        _hand_down_instance(command, [name for name, inner in within.items() if inner and _instance_of(inner)])
    return add_completion(add_verbosity(command))


def _instance_of(command: click.Command) -> click.Parameter | None:
    """Find the option ``--instance`` of ``command``."""
    return next((parameter for parameter in command.params if "--instance" in parameter.opts), None)


def _hand_down_instance(group: click.Group, names: Sequence[str]) -> None:
    """Make ``--instance`` of a group the default of the commands ``names`` within it; a group without one gets it."""
    if not names:
        return

    def hand_down(context: click.Context, _parameter: click.Parameter, directory: str | None) -> str | None:
        if directory is not None:
            context.default_map = {name: {"instance": directory} for name in names}
        return directory

    option = _instance_of(group)
    if option is None:
        instance_option(group)
        option = group.params[-1]
        option.expose_value = False
    option.callback = hand_down


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001
    """Print the version and exit; reading the metadata of packages takes time that other commands save."""
    if wanted and not context.resilient_parsing:
        from knickpoint.version import __version__

        click.echo(f"knick {__version__}")
        context.exit()


@click.command(cls=_Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version.",
)
def knick() -> None:
    """Find the commits that changed your benchmarks.

    Start with `knick demo`, or on your own data with `knick init`, `knick import`, `knick run`, `knick serve`.
    """


knick.params += verbosity_options(hidden=False)


def main() -> NoReturn:
    """Run ``knick`` with the arguments of the process and exit."""
    sys.stdout, sys.stderr = TerminalText.over(sys.stdout), TerminalText.over(sys.stderr)
    set_verbosity(Verbosity.NORMAL)
    if VARIABLE in os.environ:
        register_shells()
    try:
        code = knick.main(prog_name="knick", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.format_message(), err=True)
        sys.exit(FAILED)
    except click.ClickException as refused:
        print_refusal(refused)
        sys.exit(FAILED)
    except (click.Abort, KeyboardInterrupt):
        print_failure(["interrupted"])
        sys.exit(INTERRUPTED)
    except KnickpointError as error:
        print_failure(str(error).split("\n"))
        sys.exit(FAILED)
    except ModuleNotFoundError as error:
        reason = explain_missing(error)
        if not reason:
            raise
        print_failure([reason])
        sys.exit(FAILED)
    except MemoryError:
        print_failure(["this takes more memory than the process may take; ask for less at a time"])
        sys.exit(FAILED)
    except BrokenPipeError:
        _end_unread()
    sys.exit(code if isinstance(code, int) else 0)


def _end_unread() -> NoReturn:
    """End as other programs do when the reader of the output went away, without a further word."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, sys.stdout.fileno())  # what is still buffered has no reader
    sys.exit(UNREAD)
