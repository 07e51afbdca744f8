"""Describe the level between two steps: count, extremes, median, mean, variance."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.regions import reference
from knickpoint.native.regions.reference import Region

__all__ = ["Region", "describe_regions", "level_medians"]

describe_regions = choose(reference.describe_regions)
level_medians = choose(reference.level_medians)
