"""Create an instance, take the whole history of another tool into it, and look for changes in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from knickpoint.history import Git
from knickpoint.ingest import ImportState, ImportSummary
from knickpoint.ingest.pipeline import ImportPipeline
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.instance.config import CONFIG_FILE
from knickpoint.instance.instance import Instance, create_instance, open_instance
from knickpoint.instance.move_in.origins import Origin, find_local_origin, find_published_origin
from knickpoint.instance.work_tree import repository_around
from knickpoint.model.plain_text import counted
from knickpoint.outgoing import OutgoingRule
from knickpoint.watch.alert_run.run_summary import RunSummary

_LARGEST_MEGABYTES: Final = 512
_MOST_REASONS: Final = 5

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MoveInSummary:
    """What came in from another tool.

    Attributes:
        tool: the other tool.
        place: where its history was found.
        directory: the directory of the instance.
        created: whether the instance is new.
        files: how many files had results.
        commits: commits with points in the instance.
        traces: traces in the instance.
        points: points that were written.
        findings: changes in the history that this move found.
        failed: results without a value, because the benchmark failed or was skipped.
        incomplete: whether a file was refused, or waits for a commit that the git repository does not have.
        left: what did not come in, and why, one line each.
        remarks: lines about the import as a whole.
    """

    tool: str
    place: str
    directory: Path
    created: bool
    files: int
    commits: int
    traces: int
    points: int
    findings: int
    failed: int
    incomplete: bool
    left: tuple[str, ...]
    remarks: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the summary for people."""
        made = "Made" if self.created else "Used"
        lines = [
            f"Found the history of {self.tool} in {self.place}: {counted(self.files, 'results file')}.",
            (
                f"{made} the instance in {self.directory}: {counted(self.traces, 'trace')} over"
                f" {counted(self.commits, 'commit')}."
            ),
        ]
        if self.points:
            lines.append(
                f"{counted(self.points, 'point')} came in; {counted(self.findings, 'change')} found in the history."
            )
        elif self.incomplete or not self.traces:
            lines.append("No point came in." if self.incomplete else "No point came in: the history is empty.")
        else:
            lines.append("Nothing new: everything is already imported.")
        if self.failed:
            lines.append(f"{counted(self.failed, 'result')} had no value: the benchmark failed or was skipped.")
        lines += [f"Not taken: {line.removesuffix('.')}." for line in self.left]
        return lines + [f"{line.removesuffix('.')}." for line in self.remarks]


def move_in(source: str, directory: Path, *, with_git: bool = True, progress: Progress | None = None) -> MoveInSummary:
    """Take the history at ``source`` into the instance in ``directory``, which is created where there is none.

    Where the measured git repository is on this machine, and whole, it gives the order of the commits; elsewhere their
    times do, as the other tool kept them. A second move changes nothing, and takes what came in between.

    Args:
        source: a directory, a file, or an ``http(s)://`` address.
        directory: the directory of the instance.
        with_git: whether to take commits from the git repository of ``source``.
        progress: is called with (done, total) while a published site is fetched.

    Raises:
        InputError: there is no history of a known tool.
        FormatError: the index of a published site cannot be read.
        ServiceError: the host of ``source`` does not answer.
        ConfigError, StoreError, HistoryError: the instance, its store or the repository cannot be used.
    """
    if source.startswith(("http://", "https://")):
        origin = find_published_origin(source, OutgoingRule(), _LARGEST_MEGABYTES, progress)
    else:
        origin = find_local_origin(Path(source).expanduser())
    created = not (directory / CONFIG_FILE).is_file()
    with _create(origin, directory, with_git=with_git) if created else open_instance(directory) as instance:
        summary = _import(instance, origin)
        found = run_alert_round(instance) if summary.points else RunSummary()
        instance.store.seal()
        store = instance.store
        repositories = store.commits.repositories()
        return MoveInSummary(
            origin.tool,
            origin.place,
            instance.directory,
            created,
            len(summary.files),
            sum(len(store.runs.slots(repository)) for repository in repositories),
            sum(store.traces.count(repository) for repository in repositories),
            summary.points,
            len(found.new_changes) + found.history_changes,
            sum(file.failed + file.skipped for file in summary.files),
            summary.failed,
            (*origin.left, *_refusals(summary)),
            summary.remarks,
        )


def _create(origin: Origin, directory: Path, *, with_git: bool) -> Instance:
    """Create an instance that takes its commits from git where the whole repository is here."""
    repositories: dict[str, str] = {}
    if with_git and origin.work_tree is not None:
        if Git(origin.work_tree).shallow:
            origin.left.append("the order of commits in git: the clone is shallow, so their times order them")
        else:
            repositories = repository_around(origin.work_tree, directory)
    if not repositories and origin.project:
        repositories = {origin.project: ""}
    return create_instance(directory, repositories=repositories)


def _import(instance: Instance, origin: Origin) -> ImportSummary:
    pipeline = ImportPipeline(instance, allow_empty=True)
    summaries = [
        pipeline.import_file(ResultsFile(file.source, file.data, companions=file.companions)) for file in origin.files()
    ]
    pipeline.finish()
    return ImportSummary.of(summaries, pipeline.commit_sources.notes())


def _refusals(summary: ImportSummary) -> list[str]:
    """Return the reasons for which files, or runs of files, were refused; the first ones of many."""
    reasons = [
        line
        for file in summary.files
        if file.state not in {ImportState.IMPORTED, ImportState.UNCHANGED} or file.waiting
        for line in file.lines()
    ]
    more = len(reasons) - _MOST_REASONS
    return reasons[:_MOST_REASONS] + ([f"{more:,} more; knick ingest lists them"] if more > 0 else [])
