"""``knick try``: attempts to make something faster, judged so that the luckiest of many does not count."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.commands.bisect.options import SearchOptions, measuring_options
from knickpoint.cli.options import instance_option, minimum_effect_option
from knickpoint.cli.process import interrupted_by_end
from knickpoint.cli.terminal import announcer, note
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.history import Git

_RECORD: Final = "knick-try.json"
_NOT_CONFIRMED: Final = 1

record_option = click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(_RECORD),
    show_default=True,
    metavar="FILE",
    help="The record of the session: every attempt with its values.",
)


@click.group("try")
def command() -> None:
    """Try commits that should be faster, and confirm those that are.

    Whoever tries fifty edits and keeps the luckiest has found noise. A session counts its attempts: each is measured in
    turns with the base, and one that looks faster is confirmed on fresh measurements.
    """


@command.command("start")
@click.option("--base", required=True, metavar="COMMIT", help="The commit that attempts are compared with.")
@click.option(
    "--error",
    type=click.FloatRange(0.0005, 0.2),
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="The share of sessions in which nothing is faster that may end with a confirmed attempt.",
)
@minimum_effect_option
@click.option(
    "--most-rounds",
    type=click.IntRange(2, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="Maximum number of rounds of each stage.",
)
@click.option(
    "--protect",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="A further pattern of paths that attempts must not change, as in 'tools/*'; repeatable.",
)
@record_option
@click.argument("measure", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
@measuring_options
@instance_option
def start(
    *,
    base: str,
    error: float,
    minimum_effect: float,
    most_rounds: int,
    patterns: tuple[str, ...],
    record: Path,
    options: SearchOptions,
    instance: str | None,
) -> None:
    """Begin a session: the base of all comparisons, and COMMAND, which measures as in `knick compare`."""
    from knickpoint.bisect.attempt_record import AttemptSession, write_session
    from knickpoint.bisect.attempts import SessionRules
    from knickpoint.bisect.coordinator.revision_range import find_revision
    from knickpoint.bisect.pool import machine_name
    from knickpoint.bisect.settings import PROTECTED
    from knickpoint.cli.commands.bisect.search import nearest_configuration

    if record.exists():
        raise InputError(
            "the session already exists",
            where=str(record),
            remedy="Go on with knick try attempt, or name another file with --record.",
        )
    config, _ = nearest_configuration(instance, options.repository)
    git = _git(options.repository)
    session = AttemptSession(
        location=str(git.directory),
        base=find_revision(git, base),
        recipe=replace(options.settings(config.bisect if config else {}), prebuilt=""),
        machine=machine_name(),
        started=datetime.now(UTC),
        rules=SessionRules(error=error, minimum_effect=minimum_effect, most_rounds=most_rounds),
        protected=(*(config.try_.protected if config else PROTECTED), *patterns),
        added_params=options.added_params,
    )
    write_session(record, session)
    note(f"Attempts are compared with {session.base[:12]}. Commit an edit, then: knick try attempt")


@command.command("attempt")
@click.argument("commit", default="HEAD")
@click.option("--work-tree", is_flag=True, help="Try the edits of tracked files that are not committed.")
@click.option(
    "--most-minutes",
    type=click.FloatRange(0),
    default=0.0,
    metavar="N",
    help="Time limit of this attempt; no further round begins after it. Default: no limit.",
)
@record_option
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="Directory where commits are checked out and built. Default: knickpoint/bisect in the user's cache directory.",
)
@click.option("--held", is_flag=True, hidden=True, help="The program that starts this one holds the lock.")
@instance_option
def attempt(
    *,
    commit: str,
    work_tree: bool,
    most_minutes: float,
    record: Path,
    workspace: Path | None,
    held: bool,
    instance: str | None,
) -> None:
    """Measure COMMIT, by default the one that is checked out, and judge it.

    An interrupted attempt resumes if its commit is tried again before another one.

    The exit code is 0 when it is confirmed to be faster, 1 when it is not, and 2 when the base cannot be measured.
    """
    from knickpoint.bisect.attempt_record import attempting, read_session
    from knickpoint.bisect.attempt_run import AttemptRun, choose_commit, make_attempt, store_work_tree
    from knickpoint.bisect.attempts import AttemptVerdict
    from knickpoint.cli.commands.bisect.search import local_workspace, naming_of, nearest_configuration

    with nullcontext() if held else attempting(record), interrupted_by_end():
        session = read_session(record)
        git = _git(Path(session.location))
        if work_tree:
            commit = store_work_tree(git)
        elif commit == "HEAD" and git.run("status", "--porcelain", "--untracked-files=no").strip():
            raise InputError(
                "the work tree has edits that are not committed", remedy="Commit them, or try them with --work-tree."
            )
        chosen = choose_commit(git, session, commit)
        config, _ = nearest_configuration(instance, git.directory)
        place = local_workspace(workspace, config)
        run = AttemptRun(git, session, place, naming_of(config), most_minutes, announcer(err=True))
        number, end = make_attempt(run, record, chosen, work_tree=work_tree)
    click.echo(f"Attempt {number}, {chosen[:12]}: {end.verdict.value}: {end.reason}")
    if end.verdict is not AttemptVerdict.CONFIRMED:
        raise click.exceptions.Exit(_NOT_CONFIRMED)


@command.command("report")
@record_option
def report(*, record: Path) -> None:
    """Print the session as Markdown, for a pull request. The verdicts are recomputed from the values in the record."""
    from knickpoint.bisect.attempt_record import read_session, write_report

    click.echo(write_report(read_session(record)), nl=False)


def _git(directory: Path) -> Git:
    from knickpoint.cli.commands.bisect.search import work_tree_of
    from knickpoint.history import Git

    return Git.at(work_tree_of(directory))
