"""Find the candidate changes of one series and prune them by a forest: the numeric half of the default method."""

from __future__ import annotations

from knickpoint.native.segmentation.constants import BARS, CERTAIN
from knickpoint.native.segmentation.feature_names import FEATURE_NAMES
from knickpoint.native.segmentation.search import Segmentation, Segmentations, segment, segment_many

__all__ = ["BARS", "CERTAIN", "FEATURE_NAMES", "Segmentation", "Segmentations", "segment", "segment_many"]
