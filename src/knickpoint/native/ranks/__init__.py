"""Compare many pairs of samples by the Mann-Whitney U test."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.ranks import reference
from knickpoint.native.ranks.reference import LARGEST_TIED

__all__ = ["LARGEST_TIED", "compare_ranks"]

compare_ranks = choose(reference.compare_ranks)
