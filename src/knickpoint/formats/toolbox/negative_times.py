"""Name results below zero in a unit of time, which no duration is: the measurement or the file is wrong."""

from __future__ import annotations

from itertools import islice
from typing import Final

import numpy as np

from knickpoint.model.params import decode_key
from knickpoint.model.report import Problem, Report, ResultTable, Severity
from knickpoint.model.unit import read_unit

__all__ = ["negative_times"]
_MARGINS: Final = frozenset({"frameOverrunMs"})
"""Metrics that say by how much a deadline was missed, and are below zero where it was met."""


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
        params = decode_key(results.keys[index])
        if params.get("metric") in _MARGINS:
            continue
        benchmark = params.get("benchmark") or results.keys[index]
        texts.append(f"{benchmark}: {lowest:g} {results.units[results.unit_codes[index]]}")
    return texts
