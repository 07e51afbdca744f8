"""Cluster rows of float32 by Lloyd's k-means, and choose where it starts by k-means++."""

from __future__ import annotations

from knickpoint.native.kmeans.lloyd import Clustering, Lloyd, lloyd
from knickpoint.native.kmeans.packing import Packed
from knickpoint.native.kmeans.sharing import sharing
from knickpoint.native.kmeans.start import choose_start

__all__ = ["Clustering", "Lloyd", "Packed", "choose_start", "lloyd", "sharing"]
