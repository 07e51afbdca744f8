"""Compute p-values of Student's t."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.student import reference

__all__ = ["student_p_value"]

student_p_value = choose(reference.student_p_value)
