"""Checks of a report after it was read: placeholders of commits, doubtful results, numbers too large to be exact."""

from __future__ import annotations

import dataclasses
from itertools import islice
from typing import Final

import numpy as np

from knickpoint.model.params import decode_key
from knickpoint.model.report import Outcome, Problem, Report, ResultTable, Severity
from knickpoint.model.revision import commit_name, is_placeholder
from knickpoint.model.unit import read_unit

# Remove from a report what a tool wrote in place of a commit that it did not know.


def without_placeholders(report: Report) -> Report:
    """Return ``report`` with revisions that name a commit, or are empty, and with commits that have a name."""
    if not any(is_placeholder(run.revision) for run in report.runs) and not any(
        is_placeholder(commit.hash) for commit in report.commits
    ):
        return report
    return dataclasses.replace(
        report,
        runs=tuple(dataclasses.replace(run, revision=commit_name(run.revision)) for run in report.runs),
        commits=tuple(commit for commit in report.commits if not is_placeholder(commit.hash)),
    )


# Name results that are probably not meant so: durations below zero, and names with several units or spellings.


_MARGINS: Final = frozenset({"frameOverrunMs"})
"""Metrics that say by how much a deadline was missed, and are below zero where it was met."""

_MEASURED: Final = list(Outcome).index(Outcome.MEASURED)


def negative_times(report: Report, name: str) -> tuple[Problem, ...]:
    """Return a warning where results of ``report``, which stand in the file ``name``, are durations below zero."""
    found = [text for run in report.runs for text in _of_run(run.results)]
    if not found:
        return ()
    warning = Problem(
        f"{len(found)} {'result is a duration' if len(found) == 1 else 'results are durations'} below zero "
        f"({', '.join(islice(found, 3))}{', …' if len(found) > 3 else ''})",
        where=name,
        remedy="Check the clock of the machine, and what is subtracted from the times.",
        severity=Severity.WARNING,
    )
    return (warning,)


def _of_run(results: ResultTable) -> list[str]:
    """Return the durations below zero of one run: the benchmark with its lowest sample."""
    if not results.samples.size or not (results.samples < 0).any():
        return []
    times = np.array([read_unit(unit).dimension == "time" for unit in results.units], dtype=bool)
    sizes = np.diff(results.offsets)
    owners = np.repeat(np.arange(sizes.size), sizes)
    below = np.unique(owners[results.samples < 0])
    texts = []
    for index in below[times[results.unit_codes[below]]].tolist():
        lowest = results.samples[results.offsets[index] : results.offsets[index + 1]].min()
        if decode_key(results.keys[index]).get("metric") in _MARGINS:
            continue
        texts.append(f"{_benchmark(results.keys[index])}: {lowest:g} {results.units[results.unit_codes[index]]}")
    return texts


def several_spellings(report: Report, name: str) -> tuple[Problem, ...]:
    """Return a warning where traces of ``report`` have units that do not convert, or differ in letter case only."""
    units: dict[str, dict[str, str]] = {}
    for run in report.runs:
        results = run.results
        for key, code, outcome in zip(
            results.keys, results.unit_codes.tolist(), results.outcome_codes.tolist(), strict=True
        ):
            if outcome == _MEASURED:
                unit = results.units[code]
                units.setdefault(key, {}).setdefault(read_unit(unit).dimension, unit)
    spelled: dict[str, list[str]] = {}
    for key in units:
        spelled.setdefault(key.casefold(), []).append(key)
    found = [
        f"{_benchmark(key)}: {' and '.join(unit or 'no unit' for unit in several.values())}"
        for key, several in units.items()
        if len(several) > 1
    ]
    found += [" and ".join(key.strip(",") for key in keys) for keys in spelled.values() if len(keys) > 1]
    if not found:
        return ()
    warning = Problem(
        f"{len(found)} {'name has' if len(found) == 1 else 'names have'} several units or spellings"
        f" ({'; '.join(found[:3])}{'; …' if len(found) > 3 else ''}), which make a trace each",
        where=name,
        remedy="Write one of them if they are the same benchmark.",
        severity=Severity.WARNING,
    )
    return (warning,)


def _benchmark(key: str) -> str:
    return decode_key(key).get("benchmark") or key


# Name results that are too large for each whole number to be kept: from 2^53 on, 64-bit floats have every second one.


_EXACT: Final = 2.0**53
_COUNTER: Final = 2.0**64
"""No counter of a machine reaches it, so larger numbers were fractions before they were written."""


def large_numbers(report: Report, name: str) -> tuple[Problem, ...]:
    """Return a warning where results of ``report``, which stand in the file ``name``, may be counters rounded."""
    found, example = 0, ""
    for run in report.runs:
        sizes = np.abs(run.results.samples)
        if not sizes.size or not (sizes.max() >= _EXACT):
            continue
        samples = np.flatnonzero((sizes >= _EXACT) & (sizes < _COUNTER))
        owners = np.unique(np.searchsorted(run.results.offsets, samples, side="right") - 1).tolist()
        found += len(owners)
        if owners and not example:
            key = run.results.keys[owners[0]]
            example = decode_key(key).get("benchmark") or key
    if not found:
        return ()
    warning = Problem(
        f"{found:,} {'result is' if found == 1 else 'results are'} 2^53 or more "
        f"({example}{', …' if found > 1 else ''}), from where on whole numbers are rounded to 16 digits",
        where=name,
        remedy="If the last digits count, measure less at once, or subtract what is always there.",
        severity=Severity.WARNING,
    )
    return (warning,)
