"""``knick bisect``: find the commit that made a change, by building and measuring commits between two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

import click

from knickpoint.bisect.runner.probe import CANNOT_START
from knickpoint.cli.commands.bisect.options import SearchOptions, profiler_options, search_options
from knickpoint.cli.commands.bisect.simulate import WithSimulation
from knickpoint.cli.exit_codes import INTERRUPTED
from knickpoint.cli.options import instance_option
from knickpoint.cli.output import OutputFormat, format_option
from knickpoint.cli.process import interrupted_by_end
from knickpoint.cli.terminal import note as print_note
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from knickpoint.bisect.coordinator import BisectionAnswer
    from knickpoint.bisect.profiling import Profiler
    from knickpoint.cli.commands.bisect.answer import LiveView
    from knickpoint.cli.commands.bisect.search import Search

_SHORT: Final = 10
_CHANGE: Final = re.compile(r"R[0-9]{1,15}", re.IGNORECASE)


@click.command("bisect", cls=WithSimulation)
@click.argument("search", metavar="GOOD..BAD|R12")
@click.argument("measure", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
@click.option("--resume", is_flag=True, help="Continue the same search after it was interrupted or killed.")
@click.option("--dry-run", is_flag=True, help="Estimate the cost; run nothing.")
@profiler_options
@instance_option
@format_option
@search_options
def command(
    search: str,
    *,
    options: SearchOptions,
    profiler: str,
    profiles: Path | None,
    resume: bool,
    dry_run: bool,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Find the commit that made a change, between two commits or in the range of the change R12.

    Commits are checked out in worktrees of the command's own, built, and measured with COMMAND; the checkout of the
    user is not touched. COMMAND writes results in any format that knick import reads, or its exit code is the answer: 0
    is good, 125 skips the commit, everything else is bad. Values count with their noise, and no threshold is needed.

    The exit code is 0 with a culprit, 1 without, 2 when the command failed.
    """
    if profiler and options.also:
        raise InputError(
            "--profiler needs a search of one repository",
            where=search,
            remedy="Leave --also out, or profile both ends by hand: knick profile diff compares the files.",
        )
    from knickpoint.bisect.profiling import profiled_ends, read_profiler

    tool = read_profiler(profiler) if profiler else None
    if _CHANGE.fullmatch(search):
        if options.also:
            raise InputError("--also needs a range", where=search, remedy="Run: knick bisect GOOD..BAD --also …")
        if profiles is not None:
            raise InputError(
                "the instance keeps the profiles of a change",
                where="--profiles",
                remedy="Leave it out; knick export --profiles DIR writes them.",
            )
        from knickpoint.cli.commands.bisect.bisections import bisect_change, change_cost

        if dry_run:
            click.echo(change_cost(search, options, instance, output), nl=False)
            return
        bisect_change(search, options, instance, output, profiler=profiler, resume=resume)
    from knickpoint.cli.commands.bisect.search import prepare_search

    planned = prepare_search(search, options, instance)
    if dry_run:
        from knickpoint.cli.commands.bisect.search import render_dry_run

        click.echo(render_dry_run(planned.planned, output), nl=False)
        return
    answer = _bisect_range(planned, output, resume=resume)
    if tool is not None:
        _profile(planned, profiled_ends(answer), tool, profiles, err=output is not OutputFormat.TEXT)
    raise click.exceptions.Exit(0 if answer.state is BisectionState.CULPRIT else 1)


def _profile(
    search: Search, ends: Sequence[tuple[int, int]], profiler: Profiler, keep: Path | None, *, err: bool
) -> None:
    """Profile what was found and the commits before it, on this machine."""
    from knickpoint.bisect.comparison import Comparison, ComparisonRequest
    from knickpoint.bisect.pool import machine_name
    from knickpoint.bisect.runner import Workspace
    from knickpoint.cli.commands.profile import EndsProfiler

    places = search.bisection.places
    workspace = Workspace(search.workspace, search.pool.space_megabytes)
    for first, last in ends:
        found = places[last][:_SHORT]
        request = ComparisonRequest(
            search.bisection.locations[""], places[first], places[last], search.bisection.recipe
        )
        kept = keep / found if keep and len(ends) > 1 else keep
        profiled = EndsProfiler(profiler, Comparison(request, workspace, machine_name()), kept)
        if sentence := profiled.compare():
            click.echo(f"{found}: {sentence}" if len(ends) > 1 else sentence, err=err)
            profiled.name_kept(err=err)


def _bisect_range(search: Search, output: OutputFormat, *, resume: bool) -> BisectionAnswer:
    from knickpoint.cli.commands.bisect.answer import render_answer

    if search.options.also:
        from knickpoint.cli.commands.bisect.two_repositories import bisect_two

        bisect_two(search, output, resume=resume)
    answer = _run(search, resume=resume)
    _check_command(answer)
    commits = (search.range.good, *search.range.commits)
    found = answer.state is BisectionState.CULPRIT
    reproduce = search.check_line(answer.places[0]) if found else ""
    inside = search.inside_line(answer.places[0]) if found else ""
    note = "; ".join(filter(None, (search.range.note, search.known)))
    click.echo(render_answer(answer, commits, output, reproduce=reproduce, inside=inside, note=note), nl=False)
    return answer


def _check_command(answer: BisectionAnswer) -> None:
    """Refuse an answer that only says that the command cannot be started.

    Raises:
        InputError: it cannot; no commit can be judged then.
    """
    results = [entry.result for entry in answer.entries if entry.result is not None]
    reason = results[-1].reason if results else ""
    if answer.state is BisectionState.GAVE_UP and not answer.places and CANNOT_START in reason:
        raise InputError(
            f"{answer.reason}",
            where=results[-1].target.commit[:10],
            remedy="Check the command: it runs without a shell, at the top of a worktree of the commit.",
        )


def _run(search: Search, *, resume: bool) -> BisectionAnswer:
    """Run a search to its end; where it is interrupted, say how to go on."""
    from knickpoint.bisect.coordinator import FileJournal, coordinate
    from knickpoint.cli.commands.bisect.answer import LiveView

    view = LiveView((search.range.good, *search.range.commits))
    if resume and not search.journal.exists():
        print_note("Nothing to resume: starting a new search.", err=True)
    with _closing_view(view), FileJournal(search.journal, search.about, resume=resume) as journal:
        try:
            with (
                interrupted_by_end(),
                closing(search.open_pool(search.bisection.recipe, view.step)) as pool,
            ):
                return coordinate(search.bisection, pool, journal, progress=view)
        except KeyboardInterrupt:
            view.close()
            kept = sum(entry.result is not None for entry in journal.load())
            click.echo(
                f"Interrupted; kept: {counted(kept, 'finished probe')}. To resume:\n  {search.command_line(resume=True)}",
                err=True,
            )
            raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def _closing_view(view: LiveView) -> Iterator[None]:
    try:
        yield
    finally:
        view.close()
