"""Judge the two sides of a merge: new results and history, files, stored commits, or rounds on one machine."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.gate.decision import SIDES_DIFFER, GateOptions, decide
from knickpoint.gate.environment import MOST_CHECKS, WINDOW, attribute, note_check
from knickpoint.gate.report import GateReport, Sides
from knickpoint.history import Git, SourceFiles
from knickpoint.ingest.commit_sources.git_repository import open_present_git
from knickpoint.ingest.comparison_base import ACCEPT_TRAILER, Base, find_base
from knickpoint.model.errors import HistoryError, InputError, StoreError
from knickpoint.model.judged_benchmark import JudgedResults
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.quantity_text import percent_text
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.watch.commit_comparison import LinePosition, compare_commits
from knickpoint.watch.results_check import check_files, check_results
from knickpoint.watch.results_check.sides import StoredHistory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knickpoint.bisect.comparison import ComparisonEnd, ComparisonRequest
    from knickpoint.ingest.new_results import NewResults
    from knickpoint.instance import Config, Instance
    from knickpoint.model.commit import Commit, Line, Repository, SlottedCommit
    from knickpoint.model.direction import DirectionRule
    from knickpoint.profiles import Profile
    from knickpoint.store import Store

_NO_HISTORY: Final = "there is no history yet"

_NEXT: Final = (
    "Import the results of five commits of main (knick import FILE). If main has results already, this job does not "
    "have them: check where it keeps the instance."
)
"""What to do about an empty history: a new project has no other, and a job may have lost its own."""

_ENOUGH: Final = 5
"""Runs of the base from which on their own noise is known."""

_NEWEST: Final = 50
_FEWEST_OF_NOISE: Final = 10
_NORMAL_MIDDLE: Final = 0.6745
_NORMAL_FAR: Final = 1.6449
"""The sizes that a half and nine tenths of normal values do not exceed, in standard deviations."""

_MOST_FAILURES: Final = 20
_LONGEST_SUBJECT: Final = 80


def judge_results(
    instance: Instance, read: NewResults, options: GateOptions, *, file: str, reference: str = "", line: str = ""
) -> GateReport:
    """Judge results against the history of ``line`` up to the base that ``reference`` names, "" for the merge base.

    Raises:
        HistoryError: there is no such line or commit.
        InputError: the results, of which ``file`` is the first, are incomplete or of several commits, or have no
            history.
    """
    _refuse_unfit(read, file, partial=options.partial)
    known = _repository(instance, read.repository, file)
    base = find_base(instance, known, read, requested=reference, line=line) if known else None
    report = _judge_by(instance, read, base, options, line=line)
    return _beside_others(instance.store, report, base, keep=True) if base else report


def judge_upload(
    instance: Instance, read: NewResults, options: GateOptions, *, file: str, base: LinePosition
) -> GateReport:
    """Judge results that someone sent, the file called ``file``, against the history up to ``base``.

    Raises:
        InputError: the results are incomplete or of several commits.
    """
    _refuse_unfit(read, file, partial=options.partial)
    found = _commit(instance, base)
    heads = {run.revision for run in read.runs if run.revision}
    asked, warnings = _with_branch(instance, Base(base.line, found, "the commit that was asked for"), heads)
    report = _judge_by(instance, read, asked, options, line=base.line.name, file=file, more=warnings)
    return _beside_others(instance.store, report, asked, keep=False)


def judge_files(
    config: Config,
    base: NewResults,
    read: NewResults,
    options: GateOptions,
    *,
    against: Sequence[str],
    file: str,
    directions: Sequence[DirectionRule],
    repository: str,
    named: bool = False,
) -> GateReport:
    """Judge results by those of other files, called ``against``; ``file`` is the first of the new ones.

    No store is read.

    ``named`` says that warnings need the name of their file, because nothing in them has it.

    Raises:
        InputError: results are incomplete, or the new ones are of several commits.
    """
    read.check_commit()
    if not options.partial:
        read.check_complete()
    _refuse_empty(base, against[0])
    if not options.partial:
        _refuse_empty(read, file)
    rules = options.rules(config.check)
    name = against[0] if len(against) == 1 else "the base"
    results = check_files(base.runs, read.runs, name=name, rules=rules, directions=directions, repository=repository)
    sentence = f"Base: {' '.join(against)}, {counted(len(base.runs), 'run')}."
    if results.by_samples:
        sentence += (
            " That is too few to know how runs differ, so their samples replace them, and changes are conditional: "
            f"measure both sides {_ENOUGH} times to be sure."
        )
    # What failed in the new results has a verdict.
    failures = (f"{name}: {text}" for text in islice(base.failures, _MOST_FAILURES))
    report = decide(
        results,
        options,
        config,
        repository=repository,
        base=_with_summary(sentence, rules.summary, "run"),
        sides=Sides(reason=f"--against {' '.join(against)}", measured=results.measured),
        warnings=[*_oddities(base, name if named else ""), *_oddities(read, file if named else ""), *failures],
    )
    return replace(report, causes=_given_causes(base, read, report)) if base.profiles and read.profiles else report


def judge_commits(
    instance: Instance,
    base: LinePosition,
    head: LinePosition,
    traces: Sequence[int],
    options: GateOptions,
    *,
    values: int,
    reason: str = "",
) -> GateReport:
    """Judge ``traces`` of a commit in the store by the history up to another one.

    ``values`` is how many of its newest values up to ``head``, of commits that the base does not have, stand for a
    trace. ``reason`` says why the base is that one.

    Raises:
        InputError: the base has every commit of the new side.
    """
    rules = options.rules(instance.config.check)
    results = compare_commits(
        instance.store,
        base,
        head,
        traces,
        values=values,
        summary=rules.summary,
        false_positives=rules.false_positives,
        minimum_effect=rules.minimum_effect,
    )
    old, new = (_commit(instance, each) for each in (base, head))
    before, after = old.commit, new.commit
    branch, warnings = _with_branch(instance, Base(base.line, old, reason), {after.hash})
    sentence = f"Base: {_named(before)}. New: {_named(after)}, with the newest"
    sentence += f" {counted(values, 'value')} of each benchmark that the base does not have."
    slots = base.line.slots[base.position], head.line.slots[head.position]
    report = decide(
        results,
        options,
        instance.config,
        repository=base.line.repository.name,
        base=_with_summary(sentence, rules.summary, "commit"),
        sides=Sides(before, after, reason, base.position + 1),
        accepted=branch.accepted,
        warnings=warnings,
    )
    return replace(report, causes=_causes(instance, base.line.repository, slots, report))


def judge_rounds(end: ComparisonEnd, request: ComparisonRequest, options: GateOptions, config: Config) -> GateReport:
    """Judge two commits by the rounds in which this machine measured them in turns."""
    false_positives = request.rules.false_positives
    git = Git.at(Path(request.location))
    known = git.commits([request.base, request.head])
    base, head = known[request.base], known[request.head]
    accepted = git.trailers(ACCEPT_TRAILER, head.hash, without=[base.hash]) if end.benchmarks else []
    subjects = [repr(plain_line(commit.subject, _LONGEST_SUBJECT)) for commit in (base, head)]
    sentence = (
        f"Base {base.hash[:12]} {subjects[0]}, head {head.hash[:12]} {subjects[1]}, measured in turns on this machine;"
        f" {counted(end.rounds, 'round')}: {end.reason}."
        f" At most {percent_text(false_positives)} of comparisons without a change end as regressed, over all"
        " benchmarks together."
    )
    lost = counted(len(end.failures), "round was", "rounds were")
    # Which repository this is, the configuration need not say: a canary of one repository counts if that is the only
    # one.
    names = list(config.repositories)
    report = decide(
        JudgedResults(end.benchmarks, false_positives),
        options,
        config,
        repository=names[0] if len(names) == 1 else "",
        base=sentence,
        sides=Sides(base, head, end.reason, 1),
        accepted=accepted,
        doubts=SIDES_DIFFER,
        complete=end.complete,
        warnings=[*([f"{lost} left out, because a side gave no values"] if end.failures else []), *end.needs],
    )
    return replace(report, repository="")


def known_noise(instance: Instance, location: str, base: str, keys: Collection[str]) -> dict[str, float]:
    """Read the noise of single runs, by trace key, from the history up to the commit ``base``.

    It is a relative standard deviation, from the differences of successive values: steps and drifts hardly count.
    ``location`` is the repository of git; where the configuration names none, the only one of the instance is taken for
    it. What has fewer than ten values among the last fifty measured is left out.
    """
    repositories = instance.store.commits.repositories()
    for repository in repositories:
        settings = instance.repositories.get(repository.name)
        only = not instance.repositories and len(repositories) == 1
        if only or (settings and _is_same(instance.directory / settings.location, Path(location))):
            line = instance.store.commits.line(repository, "")
            slot = instance.store.commits.find(repository, base)
            last = line.positions.get(slot.slot, len(line.slots) - 1) if slot else len(line.slots) - 1
            history = StoredHistory.read(instance.store, line, last, keys)
            return {trace.key: noise for trace, noise in zip(history.traces, map(_noise, history.values), strict=True)}
    return {}


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and first.resolve() == second.resolve()


def _noise(values: NDArray[np.float64]) -> float:
    """Return the relative standard deviation of the newest values, nan with too few, or if one is not positive."""
    known = values[~np.isnan(values)][-_NEWEST:]
    if known.size < _FEWEST_OF_NOISE or not (known > 0).all():
        return math.nan
    steps = np.abs(np.diff(np.log(known)))
    middle, far = np.quantile(steps, [0.5, 0.9]).tolist()
    return float(max(middle / _NORMAL_MIDDLE, far / _NORMAL_FAR)) / math.sqrt(2)


def _beside_others(store: Store, report: GateReport, base: Base, *, keep: bool) -> GateReport:
    """Attribute what a pull request flags by earlier checks of others and of itself; ``keep`` this one for later ones."""
    repository, now = base.line.repository, datetime.now(UTC)
    known = store.commits.find(repository, base.head) if base.head else None
    if not base.own or (known and known.slot in base.line.positions):
        return report
    commits = frozenset(map(_digest, base.own))
    check = note_check(report.results, head=base.head, branch=base.branch, commits=commits, time=now)
    earlier = store.checks.since(repository, now - WINDOW, limit=MOST_CHECKS)
    report = replace(report, results=attribute(report.results, check, earlier))
    if not keep or not check.traces.size:
        return report
    try:
        store.checks.add(repository, replace(check, environment=report.environment))
    except StoreError as error:  # the verdict holds; a job may have no right to write
        return replace(report, warnings=(*report.warnings, f"this check was not stored for later ones: {error}"))
    return report


def _digest(commit: Commit) -> str:
    """Return a digest of what a commit keeps when it is rebased."""
    return sha256(f"{commit.email}\0{commit.subject}".encode(errors="surrogatepass")).hexdigest()[:16]


def _judge_by(
    instance: Instance,
    read: NewResults,
    base: Base | None,
    options: GateOptions,
    *,
    line: str,
    file: str = "",
    more: Sequence[str] = (),
) -> GateReport:
    """Judge results by the history up to ``base``; warnings begin with the name ``file``, and ``more`` follow them."""
    rules, store = options.rules(instance.config.check), instance.store
    repository = base.line.repository if base else None
    commit = base.commit.commit if base and base.commit else None
    slot = base.commit.slot if base and base.commit else None
    results = check_results(store, repository, read.runs, base=slot, line=line, rules=rules)
    newest = ""
    if repository is not None and results.newest is not None:
        newest = store.commits.get(repository, [results.newest])[0].commit.hash
    report = decide(
        results,
        options,
        instance.config,
        repository=read.repository,
        base=_with_summary(_base_sentence(base, results, newest), rules.summary, "run"),
        sides=Sides(commit, None, base.reason if base else _NO_HISTORY, results.measured),
        accepted=base.accepted if base else (),
        has_history=base is not None,
        warnings=[*_oddities(read, file), *more],
    )
    if base is None or slot is None or slot not in base.line.positions:
        return report
    return replace(report, causes=_new_causes(instance, base.line, slot, read, report))


def _new_causes(instance: Instance, line: Line, base: int, read: NewResults, report: GateReport) -> tuple[str, ...]:
    """State causes by profiles given beside new results or stored of their commit, and the newest up to the base."""
    store, repository = instance.store, line.repository
    if not store.profiles.any(repository):
        return ()
    head = max((run.revision for run in read.runs), key=len, default="")
    from knickpoint.watch.causes import causes_of_benchmarks, newest_profiles, read_stored

    given = {each.facts.digest: each for each in read.profiles}
    after = [each.facts for each in given.values()]
    with suppress(HistoryError):
        found = store.commits.find(repository, head) if head else None
        stored = store.profiles.at(repository, [found.slot]) if found else []
        after += [each for each in stored if each.digest not in given]
    before = newest_profiles(store, line, base, {each.benchmark for each in after}) if after else []

    def content(digest: str) -> Profile:
        return given[digest].content if digest in given else read_stored(store, digest)

    return causes_of_benchmarks((before, after), report.deciding, content, _source_files(instance, repository, head))


def _causes(instance: Instance, repository: Repository, slots: tuple[int, int], report: GateReport) -> tuple[str, ...]:
    """State the causes by the profiles of two stored commits, where there are some."""
    store = instance.store
    if not store.profiles.any(repository):
        return ()
    from knickpoint.watch.causes import causes_of_benchmarks, read_stored

    sides = store.profiles.at(repository, [slots[0]]), store.profiles.at(repository, [slots[1]])
    (head,) = store.commits.get(repository, [slots[1]])
    files = _source_files(instance, repository, head.commit.hash)
    return causes_of_benchmarks(sides, report.deciding, partial(read_stored, store), files)


def _given_causes(base: NewResults, read: NewResults, report: GateReport) -> tuple[str, ...]:
    """State the causes by profiles that were given beside the results of both sides."""
    from knickpoint.watch.causes import causes_of_benchmarks

    sides = [each.facts for each in base.profiles], [each.facts for each in read.profiles]
    contents = {each.facts.digest: each.content for each in (*base.profiles, *read.profiles)}
    return causes_of_benchmarks(sides, report.deciding, contents.__getitem__, SourceFiles(()))


def _source_files(instance: Instance, repository: Repository, commit: str) -> SourceFiles:
    """Files of a commit; none where there is no git, or it lacks the commit."""
    settings = instance.repositories.get(repository.name)
    with suppress(HistoryError):
        git = open_present_git(repository.name, settings, instance.directory) if settings else None
        if git and commit:
            return SourceFiles.read(git, commit)
    return SourceFiles(())


def _with_branch(instance: Instance, base: Base, heads: Collection[str]) -> tuple[Base, list[str]]:
    """Return ``base`` with the commits and trailers up to ``heads``, and why git cannot say them."""
    name = base.line.repository.name
    settings = instance.repositories.get(name)
    try:
        git = open_present_git(name, settings, instance.directory) if settings else None
        return base.with_branch([git] if git else [], heads), []
    except HistoryError as error:
        return base, [f"what commits accept is unknown: {error}"]


def _repository(instance: Instance, name: str, file: str) -> Repository | None:
    """Return the repository of the results; None if nothing was imported yet, or nothing of a configured repository."""
    known = {repository.name: repository for repository in instance.store.commits.repositories()}
    if name not in known and known and name not in instance.repositories:
        raise InputError(
            f"there is no history of the repository {name!r}",
            where=file,
            remedy=f"Import results first, or name one with --repository: {', '.join(sorted(known))}.",
        )
    return known.get(name)


def _commit(instance: Instance, at: LinePosition) -> SlottedCommit:
    (found,) = instance.store.commits.get(at.line.repository, [at.line.slots[at.position]])
    return found


def _refuse_unfit(read: NewResults, file: str, *, partial: bool) -> None:
    """Refuse new results of several commits, and incomplete or empty ones that are not ``partial``."""
    read.check_commit()
    if not partial:
        read.check_complete()
        _refuse_empty(read, file)


def _refuse_empty(read: NewResults, file: str) -> None:
    """Refuse files without any result: nothing was measured, and a job lets "no data" pass."""
    if not any(len(run.results) for run in read.runs):
        raise InputError(
            "no file holds any result, so there is nothing to judge",
            where=file,
            remedy="Check whether a filter excluded all benchmarks; --partial takes part of a suite that may be empty.",
        )


def _oddities(read: NewResults, file: str) -> list[str]:
    """Return the oddities of results, such as values that are none; after the name of their ``file`` if it is given."""
    return [f"{file}: {problem.sentence}" if file else problem.sentence for problem in read.warnings]


def _base_sentence(base: Base | None, results: JudgedResults, newest: str) -> str:
    """Return the sentence about the base; ``newest`` is the hash of the last measured commit up to it."""
    if base is None:
        return f"Base: none, {_NO_HISTORY}. {_NEXT}"
    if base.commit is None:
        return f"Base: none, {base.reason}."
    count = counted(results.measured, "measured commit")
    history = f"{count}, the newest {newest[:12]}" if results.measured else "no results of these benchmarks"
    return f"Base: {_named(base.commit.commit)}, {base.reason}. History: {history}."


def _named(commit: Commit) -> str:
    subject = f" {commit.subject!r}" if commit.subject else ""
    return f"{commit.hash[:12]}{subject} of {commit.time:%Y-%m-%d %H:%M} UTC"


def _with_summary(sentence: str, summary: Summary, of: str) -> str:
    """Return ``sentence`` with another one about the summary that is compared, where it is not the median."""
    return sentence if summary == MEDIAN else f"{sentence} Compared: the {summary} of the samples of each {of}."
