"""Name results that are too large for each whole number to be kept: from 2^53 on, 64-bit floats have every second one."""

from __future__ import annotations

from typing import Final

import numpy as np

from knickpoint.model.params import decode_key
from knickpoint.model.report import Problem, Report, Severity

__all__ = ["large_numbers"]

_EXACT: Final = 2.0**53
_COUNTER: Final = 2.0**64
"""No counter of a machine reaches it, so larger numbers were fractions before they were written."""


def large_numbers(report: Report, name: str) -> tuple[Problem, ...]:
    """Return a warning where results of ``report``, which stand in the file ``name``, may be counters that were rounded."""
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
        f"{found:,} {'result is' if found == 1 else 'results are'} 2^53 or more ({example}{', …' if found > 1 else ''}), from where on"
        " whole numbers are rounded to 16 digits",
        where=name,
        remedy="If the last digits count, measure less at once, or subtract what is always there.",
        severity=Severity.WARNING,
    )
    return (warning,)
