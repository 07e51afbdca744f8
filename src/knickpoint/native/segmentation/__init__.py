"""Find the candidate changes of one series and prune them by a forest: the numeric half of the default method."""

from __future__ import annotations

from knickpoint.native.segmentation.result import BARS, CERTAIN, Segmentation
from knickpoint.native.segmentation.search import segment

__all__ = ["BARS", "CERTAIN", "Segmentation", "segment"]
