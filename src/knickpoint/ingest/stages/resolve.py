"""Stage 2: resolve what the runs of a file refer to: commits and their slots, params, identities.

It has two steps. :func:`name_runs` finds the commit that each run belongs to and applies the naming rules; it may ask
git, and so takes place before the transaction. :func:`resolve_runs` finds slots and identities; it may add commits to
the store, and so takes place inside the transaction that writes the runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from knickpoint.ingest.commit_sources.git_repository import head_commit
from knickpoint.ingest.commit_sources.protocol import CommitSource
from knickpoint.ingest.commit_sources.results import USUAL_BRANCHES
from knickpoint.ingest.naming_rules import NamingRules, volatile_params
from knickpoint.ingest.results_file import ResultsFile, digest_run, file_digests, run_identity
from knickpoint.ingest.settings import CommitOrder, IngestSettings
from knickpoint.ingest.sidecar import CompletedRun, hashes_in_name
from knickpoint.ingest.stages.read import ReadResults
from knickpoint.ingest.unmeasured import keys_without_trace, take_apart
from knickpoint.model.commit import Repository, is_rounded
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.report import Problem, RunReport, Severity
from knickpoint.store import FileEntry, Store
from knickpoint.store.commit_rows import listed

_NO_BRANCH: Final = frozenset({"", "HEAD"})
"""What stands for a branch where none is named, or none is checked out."""


@dataclass(frozen=True, slots=True)
class NamedRuns:
    """The runs of a file, each with the name of its commit and the trace keys that are stored.

    ``content_hash`` is the digest by which the file is known once it is stored. ``head`` is the commit that stood in as
    HEAD, "" where something names the commits.
    """

    read: ReadResults
    runs: tuple[CompletedRun, ...]
    content_hash: str
    warnings: tuple[Problem, ...]
    notes: tuple[str, ...]
    head: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedRun:
    """A run that can be written.

    ``report`` has the results that make traces, and apart from them those without a value that would make empty ones.
    ``identity`` names the execution within its repository, ``content_hash`` is the digest of what it reports.
    """

    slot: int
    report: RunReport
    identity: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class ResolvedRuns:
    """The runs of a file, related to the commits of a repository.

    ``reports`` are all runs, ``runs`` those whose commit the repository has; ``unknown`` are the commits of the others.
    ``former`` is the newest entry of the file in the ledger, ``head`` as in :class:`NamedRuns`.
    """

    read: ReadResults
    repository: Repository
    reports: tuple[RunReport, ...]
    runs: tuple[ResolvedRun, ...]
    unknown: tuple[str, ...]
    former: FileEntry | None
    content_hash: str
    warnings: tuple[Problem, ...]
    notes: tuple[str, ...]
    head: str = ""


def resolve_commit_name(read: ReadResults, source: CommitSource) -> ReadResults:
    """Return ``read`` with the commit name that is stated beside the file replaced by what it stands for.

    Raises:
        InputError: it names no commit, or several.
    """
    file = read.file
    name = file.context.stated.commit
    if not name:
        return read
    try:
        commit = source.resolve_name(name, references=file.references)
    except HistoryError as error:
        raise InputError(error.message, where=error.where, remedy=error.remedy) from error
    return replace(read, file=replace(file, context=file.context.with_stated(commit=commit)))


def name_runs(read: ReadResults, source: CommitSource, settings: IngestSettings) -> NamedRuns:
    """Return the runs of ``read`` with their commits and params named.

    Raises:
        InputError: nothing says the commit of a run, a param is refused, or one commit is stated for several.
    """
    runs, notes, head = _with_commits(read, source)
    rounded = next((each.run.revision for each in runs if is_rounded(each.run.revision)), "")
    if rounded:
        raise InputError(
            f"the commit {rounded!r} is a number that a spreadsheet made of a hash, whose digits are lost",
            where=read.file.source,
            remedy="Write the hashes as text, and export the table again.",
        )
    renamed, warnings = _with_stored_keys(read.file, runs, settings)
    warnings = (*read.warnings, *warnings)
    if source.knows_branches:
        warnings = (*warnings, *_several_branches(read.file, renamed))
    else:
        notes = (*notes, *_branch_note(read))
    return NamedRuns(read, renamed, _content_hash(read, settings), warnings, notes, head)


def _several_branches(file: ResultsFile, runs: Sequence[CompletedRun]) -> tuple[Problem, ...]:
    """Warn of a commit with results of several branches: they are joined as re-runs."""
    branches: dict[str, list[str]] = defaultdict(list)
    for each in runs:
        if each.run.branch and each.run.branch not in branches[each.run.revision]:
            branches[each.run.revision].append(each.run.branch)
    revision, names = next(((commit, names) for commit, names in branches.items() if len(names) > 1), ("", []))
    if not names:
        return ()
    message = f"the commit {revision[:12]} has results of the branches {', '.join(names[:5])}, joined as re-runs"
    remedy = "If they are configurations, call the column param:branch: then each has a trace of its own."
    return (Problem(message, file.source, remedy, Severity.WARNING),)


def _branch_note(read: ReadResults) -> Iterator[str]:
    """Yield what the column of a table became that names another branch than a usual main branch."""
    column = read.report.branch_column
    names = dict.fromkeys(run.branch for run in read.report.runs if run.branch not in USUAL_BRANCHES)
    if column and names and not read.file.context.stated.branch:
        yield (
            f"the column {column} became the branch of the runs ({listed([*names])}), each with a line of its own; if "
            f"it is a configuration, call it param:{column}"
        )


def _refuse_second_branch(
    read: ReadResults, store: Store, repository: Repository, placed: Sequence[tuple[CompletedRun, int, str]]
) -> None:
    """Raise ``InputError`` where a commit has results of two branches: without git, they may be two configurations.

    That holds for branches from a column, an option or a sidecar. A harness or a CI names those of its checkout, where
    a commit that is merged moves from one branch to another. A file that comes again may correct the branch of its
    runs. ``placed`` are the runs with their slots and identities.
    """
    column = "" if read.file.context.stated.branch else read.report.branch_column
    if not (column or read.file.context.stated.branch):
        return
    seen: dict[int, RunReport] = {}
    for each, slot, _ in placed:
        if each.run.branch in _NO_BRANCH:
            continue
        first = seen.setdefault(slot, each.run)
        if first.branch != each.run.branch:
            raise _second_branch(each.run, first.branch, read.file.source, column)
    corrected = {(identity, read.file.source) for _, _, identity in placed}
    for slot, branch, identity, source in store.runs.branches_at(repository, sorted(seen)):
        if branch not in {*_NO_BRANCH, seen[slot].branch} and (identity, source) not in corrected:
            raise _second_branch(seen[slot], branch, read.file.source, column, earlier=source)


def _second_branch(run: RunReport, other: str, source: str, column: str, *, earlier: str = "") -> InputError:
    of_earlier = f" (from {earlier})" if earlier else ""
    return InputError(
        f"the commit {run.revision[:12]} has results of two branches, {other!r}{of_earlier} and {run.branch!r}",
        where=source,
        remedy=(
            f"If they are configurations, call the column param:{column}"
            if column
            else f"If they are configurations, use --param branch={run.branch} in place of the branch"
        )
        + ": then each has a trace of its own. If they are branches in git, name the git repository in knickpoint.toml.",
    )


def resolve_runs(named: NamedRuns, source: CommitSource, store: Store, order: CommitOrder) -> ResolvedRuns:
    """Return the runs of a file with their slots and identities; commits may join the store.

    Raises:
        HistoryError: the place of a commit is unknown, or a prefix or a number fits several commits.
        InputError: a commit has results of two branches, and no git repository says which it is on.
    """
    read, runs, repository = named.read, named.runs, source.repository
    # Slots: a run whose commit the repository does not have yet waits for it.
    commits = source.slots(runs, read.report.commits, order)
    placed = [each for each in runs if each.run.revision in commits.slots]
    slots = [commits.slots[each.run.revision] for each in placed]
    unknown = dict.fromkeys(each.run.revision for each in runs if each.run.revision not in commits.slots)
    # Identities: as the store knows the runs already, and different for each run of the file.
    former = store.ledger.latest(read.file.source)
    identities = _numbered(_identities(read.file, store, repository, placed, slots, arrived=former is not None))
    if not source.knows_branches:
        _refuse_second_branch(read, store, repository, [*zip(placed, slots, identities, strict=True)])
    # Results without a value stay apart where they would make an empty trace.
    apart = keys_without_trace(store, repository, [each.run for each in placed])
    return ResolvedRuns(
        read,
        repository,
        tuple(each.run for each in runs),
        tuple(
            ResolvedRun(slot, take_apart(each.run, apart), identity, digest_run(each.run))
            for each, slot, identity in zip(placed, slots, identities, strict=True)
        ),
        tuple(unknown),
        former,
        named.content_hash,
        (*named.warnings, *commits.warnings),
        (*named.notes, *commits.notes),
        named.head,
    )


def _with_commits(read: ReadResults, source: CommitSource) -> tuple[list[CompletedRun], tuple[str, ...], str]:
    """Return the runs, completed by what is known beside the file, by its name, or else by HEAD.

    A note about the last two, and the commit that is HEAD, follow.
    """
    file = read.file
    named = _commit_in_name(read, source)
    context = file.context.with_stated(commit=named) if named else file.context
    runs = context.complete(read.report)
    nameless = [completed.run for completed in runs if not completed.run.revision]
    if not nameless:
        note = "results without a commit: the one in the name of each file or of its directory"
        return runs, (note,) if named else (), ""
    if any(run.revision for run in read.report.runs):
        raise InputError(
            f"{counted(len(nameless), 'run')} of the file names no commit, and others do",
            where=nameless[0].entry,
            remedy="Fill in the commit of each row; HEAD takes the place of a commit only where a file names none.",
        )
    checkout = source.checkout if file.written else None
    heads = [head_commit(run, checkout, file.source, file.written) for run in nameless]
    note = f"results without a commit: HEAD {heads[0][:12]} of {source.repository.name}"
    return (
        [
            replace(completed, run=replace(completed.run, revision=completed.run.revision or heads[0]))
            for completed in runs
        ],
        (note,),
        heads[0],
    )


def _commit_in_name(read: ReadResults, source: CommitSource) -> str:
    """Return the commit that the name of the file has, "" where it has none or something else states it.

    A CI states the commit that its job measures. A file from another time that lies beside is named by its own.

    Raises:
        InputError: the name has several commits of the repository.
    """
    context = read.file.context
    if context.stated.commit or any(run.revision for run in read.report.runs):
        return ""
    top = str(source.checkout.directory) if source.checkout else ""
    for hashes in hashes_in_name(read.file.source, top=top):
        known = source.known_hashes(hashes) if hashes else frozenset()
        found = [name for name in hashes if name in known]
        if len(found) > 1:
            raise InputError(
                f"nothing says which commit was measured, and the name of the file has several: {', '.join(found)}",
                remedy="Name it with --commit, or in a sidecar.",
            )
        if found:
            return "" if context.fallback.commit.startswith(found[0]) else found[0]
    return ""


def _with_stored_keys(
    file: ResultsFile, runs: Sequence[CompletedRun], settings: IngestSettings
) -> tuple[tuple[CompletedRun, ...], tuple[Problem, ...]]:
    """Return the runs under the keys that the naming rules give them; and warnings about volatile params."""
    stated = file.context.stated.params
    rules = NamingRules(stated, settings.drop_params, settings.refuse_params, settings.renames)
    tables = [rules.apply(completed.run.results, where=file.source) for completed in runs]
    suspects = volatile_params([(each.run.revision, table) for each, (table, _) in zip(runs, tables, strict=True)])
    warnings = dict.fromkeys(problem for _, problems in tables for problem in problems)
    warnings |= dict.fromkeys(_volatile_warning(name, file.source) for name in suspects)
    renamed = tuple(
        replace(completed, run=replace(completed.run, results=table))
        for completed, (table, _) in zip(runs, tables, strict=True)
    )
    return renamed, tuple(warnings)


def _content_hash(read: ReadResults, settings: IngestSettings) -> str:
    """Return the digest of the file; it covers what takes the place of the commit, where nothing names one."""
    digests = file_digests(read.file, settings)
    lacks_commit = not read.file.context.stated.commit and any(not run.revision for run in read.report.runs)
    return digests[-1] if lacks_commit else digests[0]


def _volatile_warning(name: str, source: str) -> Problem:
    return Problem(
        f"the param {name!r} looks as if it changed with every run, which makes a new trace each time",
        where=source,
        remedy="Name it in drop_params in knickpoint.toml; a column of times is called time, one of facts of the run "
        "env:NAME.",
        severity=Severity.WARNING,
    )


def _identity(file: ResultsFile, completed: CompletedRun, slot: int) -> str:
    return run_identity(
        completed.run,
        commit=str(slot),
        source=file.source,
        ci=completed.execution,
        keys=completed.keys,
        params=file.context.stated.params,
    )


def _identities(
    file: ResultsFile,
    store: Store,
    repository: Repository,
    runs: Sequence[CompletedRun],
    slots: Sequence[int],
    *,
    arrived: bool,
) -> list[str]:
    """Return the identity of each run; one that the store has keeps the identity that it has there.

    ``arrived`` is whether the file came in before.

    A file with one run has no entries, and gets them when the next run is appended to it. Its first run has another
    identity then, but must not be stored a second time.
    """
    identities = [_identity(file, each, slot) for each, slot in zip(runs, slots, strict=True)]
    if not arrived:
        return identities
    former = {
        identity: _identity(file, replace(each, run=replace(each.run, entry="")), slot)
        for each, slot, identity in zip(runs, slots, identities, strict=True)
        if each.run.entry and not each.run.identity
    }
    known = store.runs.known(repository, [*former, *former.values()])
    kept = {new: old for new, old in former.items() if old in known and new not in known}
    return [kept.get(identity, identity) for identity in identities]


def _numbered(identities: Sequence[str]) -> list[str]:
    """Return ``identities`` with a number after each that repeats, as for documents appended to one file."""
    seen: Counter[str] = Counter()
    numbered = []
    for identity in identities:
        seen[identity] += 1
        count = seen[identity]
        numbered.append(f"{identity}~{count}" if count > 1 else identity)
    return numbered
