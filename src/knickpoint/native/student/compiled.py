"""Compute p-values of Student's t in C."""

from __future__ import annotations

from knickpoint.native.binding import lib


def student_p_value(t: float, freedom: float) -> float:
    """Return the two-sided p-value of Student's t; see the reference."""
    return float(lib.kp_student(t, freedom))
