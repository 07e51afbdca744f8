"""Name results that are probably not meant so: durations below zero, and names with several units or spellings."""

from __future__ import annotations

from itertools import islice
from typing import Final

import numpy as np

from knickpoint.model.params import decode_key
from knickpoint.model.report import Outcome, Problem, Report, ResultTable, Severity
from knickpoint.model.unit import read_unit

__all__ = ["negative_times", "several_spellings"]

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
        remedy="Look at the clock of the machine, and at what is subtracted from the times.",
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
    """Return a warning where traces of ``report`` have units that do not convert, or differ only in the case of letters."""
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
