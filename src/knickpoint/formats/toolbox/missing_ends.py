"""Words about output that has no end where its tool always writes one: benchmarks may be missing behind it."""

from __future__ import annotations

from knickpoint.model.report import Problem, Severity

__all__ = ["missing_end"]


def missing_end(what: str, line: int, *, remedy: str = "") -> Problem:
    """Return the warning that ``what`` is missing after ``line``: what was read is right, and may not be all."""
    return Problem(
        what,
        where=f"line {line}",
        remedy=remedy or "Look whether the benchmarks ran to their end and the file is whole, then import it again.",
        severity=Severity.WARNING,
    )
