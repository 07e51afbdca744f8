"""Stage 3: write the runs of a file into the store, and record the file in its ledger."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from knickpoint.ingest.held_files import hold_until_known, release_former
from knickpoint.ingest.import_summary import FileSummary, ImportState
from knickpoint.ingest.settings import Destination
from knickpoint.ingest.stages.resolve import ResolvedRun, ResolvedRuns
from knickpoint.ingest.unmeasured import count_empty, count_outcomes, failure_warning
from knickpoint.model.commit import Repository
from knickpoint.model.errors import ParamsError
from knickpoint.model.frame import Trace
from knickpoint.model.params import benchmark_text, decode_key, encode_key, values_in_key
from knickpoint.model.plain_text import counted
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit_names import Better
from knickpoint.store import FileState, Receipt, RunKind, RunWrite, Store
from knickpoint.store.points.environments import machine_difference

# Name the new traces that probably go on with older ones: the same benchmark in another unit, or in another spelling.


_SEPARATORS: Final = " _-./:"
_WITHOUT_SEPARATORS: Final = str.maketrans("", "", _SEPARATORS)
_BETWEEN_DIGITS: Final = re.compile(rf"(?<=\d)[{re.escape(_SEPARATORS)}]+(?=\d)")
_MOST_SPELLINGS: Final = 10
"""Spellings of one name; names that have more differ in what looks like separators."""

_NAMED: Final = 3
"""Benchmarks that a warning names."""


def changed_names(
    store: Store,
    repository: Repository,
    runs: Sequence[RunReport],
    new: Sequence[Trace],
    *,
    other_units: Collection[int],
    source: str,
) -> Iterator[Problem]:
    """Yield a warning about the ``new`` traces in other units than before, and one about those in other spellings.

    Args:
        store: has the new traces already.
        repository: of the traces.
        runs: the runs of the file ``source``; a benchmark that they have under both spellings is two.
        new: the traces that the file is the first to have.
        other_units: the ids of those whose keys have older traces, in units that do not convert.
        source: the file.
    """
    if not new or len(new) == store.traces.count(repository):
        return
    ids = {trace.id for trace in new}
    units = [trace for trace in new if trace.id in other_units]
    texts = [
        f"{benchmark_text(trace.key)} ({before.unit or 'no unit'} before, {trace.unit or 'no unit'} now)"
        for trace, before in zip(units, _older(store, repository, [trace.key for trace in units], ids), strict=True)
        if before is not None
    ]
    yield from _warning(
        texts,
        "in another unit",
        source,
        "Write the former unit if the measurement is the same; until then they are traces of their own.",
    )
    pairs = _spelled_otherwise(
        store,
        [trace for trace in new if trace.id not in other_units],
        {key for run in runs for key in run.results.keys},
    )
    texts = [
        f"{benchmark_text(key)} ({benchmark_text(before.key)} before)"
        for (key, _), before in zip(pairs, _older(store, repository, [former for _, former in pairs], ids), strict=True)
        if before is not None
    ]
    yield from _warning(
        texts,
        "in another spelling",
        source,
        "Write the former name, or let the new traces continue the old ones with knick missing rename.",
    )


def _warning(texts: Iterable[str], how: str, source: str, remedy: str) -> Iterator[Problem]:
    found = list(dict.fromkeys(texts))
    if found:
        message = (
            f"{counted(len(found), 'benchmark comes', 'benchmarks come')} {how} than before:"
            f" {', '.join(found[:_NAMED])}{', …' if len(found) > _NAMED else ''}"
        )
        yield Problem(message, source, remedy, Severity.WARNING)


def _older(store: Store, repository: Repository, keys: Sequence[str], new: Collection[int]) -> list[Trace | None]:
    """Return the newest trace of each key that is not ``new``, None without any."""
    found = store.traces.find_ids(repository, keys)
    older = {key: max((trace for trace in ids if trace not in new), default=-1) for key, ids in found.items()}
    traces = {trace.id: trace for trace in store.traces.get([number for number in older.values() if number >= 0])}
    return [traces.get(older.get(key, -1)) for key in keys]


def _spelled_otherwise(store: Store, new: Iterable[Trace], arrived: Collection[str]) -> list[tuple[str, str]]:
    """Return the keys of ``new`` traces, each with that of the benchmark in another spelling, which need not exist.

    Spellings differ in the case of letters and in separators; between digits there is one or none. ``arrived`` are the
    keys of the file.
    """
    keys = {trace.key: values_in_key(trace.key, ["benchmark"])[0] for trace in new}
    known = store.traces.param_values("benchmark")
    folded: dict[str, set[str]] = {}
    fresh = set(map(_folded, set(keys.values())))
    for value, text in zip(known.split("\n"), _folded(known).split("\n"), strict=True):
        if text in fresh:
            folded.setdefault(text, set()).add(value)
    pairs = []
    for key, name in keys.items():
        others = folded.get(_folded(name), set())
        for other in sorted(others - {name}) if len(others) <= _MOST_SPELLINGS else ():
            if _folded(_BETWEEN_DIGITS.sub("\n", name)) != _folded(_BETWEEN_DIGITS.sub("\n", other)):
                continue
            with suppress(ParamsError):  # the other key would be too long
                pairs.append((key, encode_key({**decode_key(key), "benchmark": other})))
    return [(key, former) for key, former in pairs if former not in arrived]


def _folded(text: str) -> str:
    return text.casefold().translate(_WITHOUT_SEPARATORS)


_CHANGES_SHOWN: Final = 10
"""Changed values that the summary of a file names."""


def write_runs(destination: Destination, resolved: ResolvedRuns) -> FileSummary:
    """Write the runs of a file, and record in the ledger whether it is stored or waits for commits.

    The caller opens the transaction around it.

    Raises:
        InputError: a sample is not finite, or a key breaks the rules.
        StoreError: the store cannot be written.
    """
    source = resolved.read.file.source
    receipts = destination.store.runs.write(
        resolved.repository,
        [
            RunWrite(run.slot, run.report, run.identity, run.content_hash, source, run.report.branch)
            for run in resolved.runs
        ],
    )
    record_file(destination, resolved)
    return _summary(destination.store, resolved, receipts)


def record_file(destination: Destination, resolved: ResolvedRuns) -> None:
    """Record the file in the ledger, in place of what was held of it before."""
    read, store = resolved.read, destination.store
    file, report, unknown = read.file, read.report, resolved.unknown
    release_former(store, resolved.repository, resolved.former, {run.revision for run in resolved.reports})
    if unknown:
        hold_until_known(
            destination,
            resolved.repository,
            file,
            unknown,
            format="" if read.profile else report.format,
            content_hash=resolved.content_hash,
        )
    store.ledger.record(
        file.source,
        resolved.content_hash,
        FileState.WAITING if unknown else FileState.STORED,
        format=report.format,
        detail=", ".join(unknown[:3]),
        runs=len(report.runs),
        size=len(file.data),
    )


def _summary(store: Store, resolved: ResolvedRuns, receipts: Sequence[Receipt]) -> FileSummary:
    """Sum up the receipts of the runs."""
    source = resolved.read.file.source
    kinds = Counter(receipt.kind for receipt in receipts)
    written = [run for run, receipt in zip(resolved.runs, receipts, strict=True) if receipt.kind is not RunKind.SAME]
    new = store.traces.get([trace for receipt in receipts for trace in receipt.new_traces.tolist()])
    other_units = {trace for receipt in receipts for trace in receipt.other_units.tolist()}
    reports = [run.report for run in resolved.runs]
    changed = changed_names(store, resolved.repository, reports, new, other_units=other_units, source=source)
    failed, skipped = count_outcomes(resolved.reports)
    failures = (failure_warning(resolved.reports, failed, source),) if failed else ()
    other_machine = tuple(_machine_warning(store, resolved, receipts))
    repeated, sampled = _count_repeated(resolved.read.report)
    state = ImportState.IMPORTED if written else ImportState.UNCHANGED
    return FileSummary(
        source,
        ImportState.WAITING if resolved.unknown else state,
        repository=resolved.repository.name,
        format=resolved.read.report.format,
        new=kinds[RunKind.NEW],
        same=kinds[RunKind.SAME],
        corrected=kinds[RunKind.CORRECTION],
        rerun=kinds[RunKind.RERUN],
        waiting=len(resolved.reports) - len(resolved.runs),
        commits=len({run.slot for run in written}),
        new_traces=len(new),
        without_direction=_count_directionless(store, new),
        points=sum(_count_points(run, receipt) for run, receipt in zip(resolved.runs, receipts, strict=True)),
        repeated=repeated,
        sampled_points=sampled,
        failed=failed,
        skipped=skipped,
        unknown=resolved.unknown,
        changes=tuple(_changed_values(store, resolved.runs, receipts)),
        problems=(*resolved.warnings, *failures, *changed, *other_machine),
        notes=resolved.notes,
        head=resolved.head,
    )


def _machine_warning(store: Store, resolved: ResolvedRuns, receipts: Sequence[Receipt]) -> Iterator[Problem]:
    """Yield a warning if the last run of a file comes from another machine than its traces did so far."""
    arrived = [pair for pair in zip(resolved.runs, receipts, strict=True) if pair[1].kind is not RunKind.SAME]
    if not arrived:
        return
    run, receipt = arrived[-1]
    known = np.setdiff1d(receipt.trace_ids, receipt.new_traces)
    if not known.size:
        return
    written = {each.run_id for each in receipts}
    facts = run.report.environment
    found = machine_difference(store.runs, resolved.repository, facts, int(known[0]), written)
    if found:
        changes = ", ".join(f"{name} {before} → {now}" for name, (before, now) in found.items())
        yield Problem(
            f"{counted(known.size, 'trace comes', 'traces come')} from another machine than before: {changes}",
            where=resolved.read.file.source,
            remedy="If both continue, tell them apart by a param, as in --param machine=NAME.",
            severity=Severity.WARNING,
        )


def _count_points(run: ResolvedRun, receipt: Receipt) -> int:
    """Return the number of points of a run: one for each of its traces that has a value."""
    return len(receipt.trace_ids) - count_empty(run.report) if len(receipt.trace_ids) else 0


def _count_repeated(report: Report) -> tuple[Mapping[str, int], int]:
    """Return benchmark → rows of the file that became samples, the most first.

    And the number of points of these samples.
    """
    keys: Counter[str] = Counter()
    for run in report.runs:
        for place, count in run.results.repeated.items():
            keys[run.results.keys[place]] += count
    rows: Counter[str] = Counter()
    for key, count in keys.items():
        rows[benchmark_text(key)] += count
    return dict(rows.most_common()), sum(len(run.results.repeated) for run in report.runs)


def _count_directionless(store: Store, new: Sequence[Trace]) -> Mapping[str, int]:
    """Return unit → how many of the new traces have no direction."""
    unknown = [trace for trace in new if trace.better is Better.UNKNOWN]
    return dict(Counter(trace.unit for trace in unknown if not store.traces.has_configured_direction(trace)))


def _changed_values(store: Store, runs: Sequence[ResolvedRun], receipts: Sequence[Receipt]) -> Iterator[str]:
    """Yield lines that name the values that corrections changed, and one more where there are too many to name."""
    room = _CHANGES_SHOWN
    for run, receipt in zip(runs, receipts, strict=True):
        changes = receipt.changes
        if not len(changes):
            continue
        traces = store.traces.get(changes.trace_ids[:room])
        for trace, before, after in zip(traces, changes.before.tolist(), changes.after.tolist(), strict=False):
            name = " ".join(f"{key}={value}" for key, value in decode_key(trace.key).items())
            unit = f" {trace.unit}" if trace.unit else ""
            yield f"{run.report.revision[:12]} {name}: {_shown(before)} → {_shown(after)}{unit}"
        if len(changes) > room:
            yield f"and more: {len(changes):,} values of this run in all"
            return
        room -= len(changes)


def _shown(value: float) -> str:
    return "nothing" if math.isnan(value) else f"{value:.6g}"
