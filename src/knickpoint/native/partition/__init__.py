"""Divide sorted numbers into groups with the least squared error, one group more at a time."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.partition import reference

__all__ = ["extend_partition"]

extend_partition = choose(reference.extend_partition)
