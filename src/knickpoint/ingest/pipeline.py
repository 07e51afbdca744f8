"""Write one results file into the store: all of it in one transaction, or nothing."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from knickpoint.ingest.commit_sources.commit_names import head_commit, is_fixed_name, named_by_results, named_in_git
from knickpoint.ingest.commit_sources.git import GitCommits
from knickpoint.ingest.commit_sources.results import ResultCommits
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.commit_sources.slot_resolution import slots_from_results, slots_in_git
from knickpoint.ingest.context.file_context import CompletedRun
from knickpoint.ingest.identity import digest_run, run_identity
from knickpoint.ingest.import_summary import FileSummary, ImportState
from knickpoint.ingest.naming_rules import NamingRules, volatile_params
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import CommitOrder, Destination
from knickpoint.ingest.unmeasured import count_empty, count_outcomes, failure_warning, keys_without_trace, take_apart
from knickpoint.model.commit import Repository
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.params import decode_key
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.store import FileState, Put, Receipt, RunItem, Store
from knickpoint.watch.triage.history_boundary import drop_boundary

__all__ = ["Writer", "give_up", "quarantine_file"]

_CHANGES_SHOWN: Final = 10


@dataclass
class _Counts:
    """What the runs of one file became."""

    outcomes: dict[Put, int] = field(default_factory=lambda: dict.fromkeys(Put, 0))
    slots: set[int] = field(default_factory=set)
    new_traces: int = 0
    points: int = 0
    changes: list[str] = field(default_factory=list)
    without_direction: Counter[str] = field(default_factory=Counter)


class _DryRunError(Exception):
    """Undo the transaction of a dry run."""


class _NobodysError(Exception):
    """Leave a file alone that was found, and that is nobody's results."""


@dataclass
class Writer:
    """Takes files in, one transaction each; files of one import share the repositories that they opened.

    With ``as_work``, nothing of the repositories that files come into is history any more.
    """

    destination: Destination
    books: CommitSources
    dry_run: bool = False
    as_work: bool = False
    order: CommitOrder = CommitOrder.TIME
    _first: dict[str, bool] = field(default_factory=dict, init=False)

    def take(self, arrival: ResultsFile) -> FileSummary:
        """Take a file in, keep it waiting, or put it into quarantine; what was stored before is never lost.

        Raises:
            StoreError: the store cannot be written.
            HistoryError: a repository cannot be opened or brought up to date.
        """
        fixed = is_fixed_name(arrival.context.told.commit)
        known = self._known(arrival) if fixed else None
        if known is not None:
            return known
        try:
            report, problems = self._read(arrival)
            errors = [problem for problem in problems if problem.severity is Severity.ERROR]
            if errors:
                return self._refuse(arrival, errors)
            name = self.books.name(arrival.context.told.repository, report.repository)
            self.books.prepare(name)
            named = self._with_commit(arrival, name)
            known = None if fixed else self._known(named)
            return known or self._write(named, report, name, problems)
        except InputError as error:
            return self._refuse(arrival, [Problem(error.message, error.where, error.remedy)])

    def finish(self) -> None:
        """End an import: of repositories that had no results before it, all that it brought belongs together.

        A worker may have run alerts between two of its files; what it took for the newest commit was not.
        """
        store = self.destination.store
        for repository in store.commits.repositories():
            if self._first.get(repository.name) and not self.dry_run:
                store.boundaries.extend(repository)

    def take_found(self, arrival: ResultsFile) -> FileSummary | None:
        """Take a file in that nobody named, as :meth:`take` does; None where it is nobody's results."""
        try:
            return self.take(replace(arrival, found=True))
        except _NobodysError:
            return None

    def _with_commit(self, arrival: ResultsFile, name: str) -> ResultsFile:
        """Return the file with the commit that was given beside it looked up in the repository ``name``."""
        text = arrival.context.told.commit
        if not text:
            return arrival
        book = self.books.git(name)
        try:
            commit = (
                named_by_results(text, self.destination.store, name)
                if book is None
                else named_in_git(text, book, references=arrival.references)
            )
        except HistoryError as error:
            raise InputError(error.message, where=error.where, remedy=error.remedy) from error
        return replace(arrival, context=arrival.context.with_told(commit=commit))

    def _known(self, arrival: ResultsFile) -> FileSummary | None:
        """Return what to say of content that is in already, None where it is not.

        The same content from another source is in already too; but a source that goes back to its former
        content is a correction.
        """
        latest = self.destination.store.ledger.latest(arrival.source)
        for digest in self._digests(arrival):
            entry = latest if latest is not None else self.destination.store.ledger.seen(digest)
            if entry is not None and entry.content_hash == digest and entry.state is FileState.STORED:
                return FileSummary(arrival.source, ImportState.UNCHANGED, format=entry.format, same=entry.runs)
        return None

    def _digests(self, arrival: ResultsFile) -> tuple[str, ...]:
        """Return the digests that the content may be known by: alone, and where something stands in for its commit.

        That is what the CI says, else HEAD: there, when the file was written belongs to it, as equal results may
        have been measured at another commit. Rules about names belong to all: under other rules, a file is worth
        reading again.
        """
        options = arrival.context.as_options()
        settings = self.destination.ingest
        rules = [list(settings.drop_params), [[dict(one.old), dict(one.new)] for one in settings.renames]]
        told = {"told": options["told"]} | ({"rules": rules} if any(rules) else {})
        alone = arrival.digest(told)
        if options["fallback"]:
            return alone, arrival.digest(told, options)
        return (alone, arrival.digest(told, {"written": arrival.written})) if arrival.written else (alone,)

    def _digest_used(self, arrival: ResultsFile, report: Report) -> str:
        digests = self._digests(arrival)
        stands_in = not arrival.context.told.commit and any(not run.revision for run in report.runs)
        return digests[-1] if stands_in else digests[0]

    def _read(self, arrival: ResultsFile) -> tuple[Report, tuple[Problem, ...]]:
        read = arrival.read(self.destination.ingest.largest_megabytes)
        if read is None:
            raise _NobodysError
        return read

    def _write(self, arrival: ResultsFile, report: Report, name: str, problems: Sequence[Problem]) -> FileSummary:
        runs = arrival.context.complete(report, lambda run: self._head(arrival, run, name))
        named, warnings = self._renamed(arrival, runs)
        outcome = FileSummary(arrival.source, ImportState.IMPORTED)
        try:
            with self.destination.store.transaction():
                outcome = self._write_runs(arrival, report, name, named, [*problems, *warnings])
                self._end()
        except _DryRunError:
            self.books.forget()
        except HistoryError as error:
            self.books.forget()
            raise InputError(error.message, where=error.where, remedy=error.remedy) from error
        except BaseException:
            self.books.forget()
            raise
        return outcome

    def _head(self, arrival: ResultsFile, run: RunReport, name: str) -> str:
        """Return HEAD of the repository ``name`` for a run without a commit. Raises ``InputError`` where that is no answer."""
        book = self.books.git(name) if arrival.written else None
        commit = head_commit(run, book.checkout if book else None, arrival.source, arrival.written)
        self.books.note(f"results without a commit: HEAD {commit[:12]} of {name}")
        return commit

    def _end(self) -> None:
        """Undo the transaction around us if this is a dry run."""
        if self.dry_run:
            raise _DryRunError

    def _write_runs(
        self, arrival: ResultsFile, report: Report, name: str, runs: Sequence[CompletedRun], problems: Sequence[Problem]
    ) -> FileSummary:
        book = self.books.book(name)
        if isinstance(book, GitCommits):
            slots, notes = slots_in_git(book, runs)
            if self.order is CommitOrder.GIVEN:
                self.books.note(f"git orders the commits of {name}: --order given changes nothing there")
        else:
            slots, notes = slots_from_results(book, report, runs, self.order)
        waiting = [one for one in runs if one.run.revision not in slots]
        self._first.setdefault(book.repository.name, not self.destination.store.runs.has_any(book.repository))
        if self.as_work:
            drop_boundary(self.destination.store, book.repository)
        counts = self._put(arrival, book, [one for one in runs if one.run.revision in slots], slots)
        unknown = tuple(dict.fromkeys(one.run.revision for one in waiting))
        self._record(arrival, report, book.repository, unknown)
        reports = [one.run for one in runs]
        failed, skipped = count_outcomes(reports)
        if failed:
            notes = [*notes, failure_warning(reports, failed, arrival.source)]
        changed = any(counts.outcomes[put] for put in Put if put is not Put.SAME)
        return FileSummary(
            arrival.source,
            ImportState.WAITING if waiting else ImportState.IMPORTED if changed else ImportState.UNCHANGED,
            repository=book.repository.name,
            format=report.format,
            new=counts.outcomes[Put.NEW],
            same=counts.outcomes[Put.SAME],
            corrected=counts.outcomes[Put.CORRECTION],
            rerun=counts.outcomes[Put.RERUN],
            waiting=len(waiting),
            commits=len(counts.slots),
            new_traces=counts.new_traces,
            without_direction=dict(counts.without_direction),
            points=counts.points,
            failed=failed,
            skipped=skipped,
            unknown=unknown,
            changes=tuple(counts.changes),
            problems=(*problems, *notes),
        )

    def _renamed(self, arrival: ResultsFile, runs: Sequence[CompletedRun]) -> tuple[list[CompletedRun], list[Problem]]:
        settings = self.destination.ingest
        naming = NamingRules(
            arrival.context.told.params, settings.drop_params, settings.refuse_params, settings.renames
        )
        renamed: list[CompletedRun] = []
        warnings: dict[Problem, None] = {}
        for one in runs:
            table, told = naming.apply(one.run.results, where=arrival.source)
            warnings.update(dict.fromkeys(told))
            renamed.append(replace(one, run=replace(one.run, results=table)))
        if renamed:
            suspects = volatile_params(renamed[0].run.results)
            for name in suspects:
                warning = Problem(
                    f"the param {name!r} looks as if it changed with every run, which makes a new trace each time",
                    where=arrival.source,
                    remedy="Name it in drop_params in knickpoint.toml.",
                    severity=Severity.WARNING,
                )
                warnings[warning] = None
        return renamed, list(warnings)

    def _put(
        self,
        arrival: ResultsFile,
        book: GitCommits | ResultCommits,
        runs: Sequence[CompletedRun],
        slots: dict[str, int],
    ) -> _Counts:
        apart = keys_without_trace(self.destination.store, book.repository, [one.run for one in runs])
        items = [self._item(arrival, one, slots[one.run.revision], apart) for one in runs]
        items = _numbered(self._as_before(arrival, book.repository, runs, items))
        counts = _Counts()
        new_traces: list[int] = []
        receipts = self.destination.store.runs.put_many(book.repository, items)
        for one, item, receipt in zip(runs, items, receipts, strict=True):
            counts.outcomes[receipt.outcome] += 1
            if receipt.outcome is not Put.SAME:
                counts.slots.add(item.slot)
            new_traces.extend(receipt.new_traces)
            counts.points += len(receipt.trace_ids) - (count_empty(item.run) if len(receipt.trace_ids) else 0)
            self._tell_changes(receipt, one, counts)
        counts.new_traces = len(new_traces)
        if new_traces:  # asked once for the whole file: a history has hundreds of runs, most without a new trace
            unknown = self.destination.store.traces.without_direction(new_traces)
            counts.without_direction.update(trace.unit for trace in unknown)
        return counts

    def _as_before(
        self, arrival: ResultsFile, repository: Repository, runs: Sequence[CompletedRun], items: Sequence[RunItem]
    ) -> list[RunItem]:
        """Return ``items``, each with the identity that its run has in the store from when the file held no other run."""
        if self.destination.store.ledger.latest(arrival.source) is None:
            return list(items)
        alone = {
            item.identity: self._identity(arrival, replace(one, run=replace(one.run, entry="")), item.slot)
            for one, item in zip(runs, items, strict=True)
            if one.run.entry and not one.run.identity
        }
        known = self.destination.store.runs.known(repository, [*alone, *alone.values()])
        before = {name: former for name, former in alone.items() if former in known and name not in known}
        return [replace(item, identity=before.get(item.identity, item.identity)) for item in items]

    @staticmethod
    def _identity(arrival: ResultsFile, one: CompletedRun, slot: int) -> str:
        return run_identity(
            one.run,
            commit=str(slot),
            source=arrival.source,
            ci=one.execution,
            keys=one.keys,
            params=arrival.context.told.params,
        )

    def _item(self, arrival: ResultsFile, one: CompletedRun, slot: int, apart: Collection[str]) -> RunItem:
        identity, digest = self._identity(arrival, one, slot), digest_run(one.run)
        return RunItem(slot, take_apart(one.run, apart), identity, digest, arrival.source, one.run.branch)

    def _tell_changes(self, receipt: Receipt, one: CompletedRun, counts: _Counts) -> None:
        changes = receipt.changes
        if not len(changes):
            return
        room = _CHANGES_SHOWN - len(counts.changes)
        traces = self.destination.store.traces.get(changes.trace_ids[: max(room, 0)])
        for trace, before, after in zip(traces, changes.before.tolist(), changes.after.tolist(), strict=False):
            name = " ".join(f"{key}={value}" for key, value in decode_key(trace.key).items())
            unit = f" {trace.unit}" if trace.unit else ""
            counts.changes.append(f"{one.run.revision[:12]} {name}: {_shown(before)} → {_shown(after)}{unit}")
        if len(changes) > room >= 0:
            counts.changes.append(f"and more: {len(changes):,} values of this run in all")

    def _record(self, arrival: ResultsFile, report: Report, repository: Repository, unknown: Sequence[str]) -> None:
        """Note in the ledger what became of the file, in the transaction that stores it."""
        ledger = self.destination.store.ledger
        digest = self._digest_used(arrival, report)
        before = ledger.latest(arrival.source)
        if before is not None and before.state is FileState.WAITING:
            for held in ledger.waiting(repository, payloads=False):
                if held.source == arrival.source:
                    ledger.release(held.id)
        if before is not None and before.state is FileState.QUARANTINED:
            for refused in ledger.quarantined(payloads=False):
                if refused.source == arrival.source:
                    ledger.discharge(refused.id)
        if unknown:
            ledger.wait(
                repository,
                unknown[0],
                zlib.compress(arrival.data, 1),
                identity=arrival.source,
                source=arrival.source,
                content_hash=digest,
                options={**arrival.as_options(report.format), "unknown": list(unknown)},
            )
            for held in ledger.waiting(payloads=False)[: -self.destination.ingest.waiting_files or None]:
                give_up(self.destination.store, held.id, "and too many files wait")
        ledger.record(
            arrival.source,
            digest,
            FileState.WAITING if unknown else FileState.STORED,
            format=report.format,
            detail=", ".join(unknown[:3]),
            runs=len(report.runs),
            size=len(arrival.data),
        )

    def _refuse(self, arrival: ResultsFile, problems: Sequence[Problem]) -> FileSummary:
        outcome = FileSummary(arrival.source, ImportState.REFUSED, problems=tuple(problems))
        if self.dry_run:
            return outcome
        quarantine_file(
            self.destination,
            arrival.source,
            self._digests(arrival)[0],
            arrival.data,
            problems,
            options=arrival.as_options(),
        )
        return outcome


def _numbered(items: Sequence[RunItem]) -> list[RunItem]:
    """Return ``items`` with a number after each identity that repeats, as of documents appended to one file."""
    seen: Counter[str] = Counter()
    numbered = []
    for item in items:
        seen[item.identity] += 1
        count = seen[item.identity]
        numbered.append(replace(item, identity=f"{item.identity}~{count}") if count > 1 else item)
    return numbered


def quarantine_file(
    destination: Destination,
    source: str,
    digest: str,
    data: bytes,
    problems: Sequence[Problem],
    *,
    options: Mapping[str, object],
) -> None:
    """Put what was refused into quarantine, where the oldest makes room for it."""
    ledger = destination.store.ledger
    with destination.store.transaction():
        ledger.quarantine(source, digest, zlib.compress(data, 1), problems, options=options)
        for oldest in ledger.quarantined(payloads=False)[: -destination.ingest.quarantine_files or None]:
            ledger.discharge(oldest.id)
        detail = problems[0].message if problems else ""
        ledger.record(source, digest, FileState.QUARANTINED, detail=detail, size=len(data))


def give_up(store: Store, number: int, why: str) -> None:
    """Put a waiting file into quarantine, with what it waited for."""
    with store.transaction():
        for held in store.ledger.waiting(number=number):
            problem = Problem(
                f"no repository has its commit {held.revision[:12]} {why}",
                where=held.source,
                remedy="Fetch the commit, then try again with knick ingest retry.",
            )
            store.ledger.quarantine(held.source, held.content_hash, held.payload, [problem], options=held.options)
            store.ledger.record(
                held.source, held.content_hash, FileState.QUARANTINED, detail=problem.message, size=len(held.payload)
            )
            store.ledger.release(held.id)


def _shown(value: float) -> str:
    return "nothing" if math.isnan(value) else f"{value:.6g}"
