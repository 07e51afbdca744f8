"""Cluster rows of float32 by Lloyd's k-means, and choose where it starts by k-means++."""

from __future__ import annotations

from knickpoint.native.kmeans.lloyd import Clustering, Lloyd, Packed, choose_start, lloyd, sharing

__all__ = ["Clustering", "Lloyd", "Packed", "choose_start", "lloyd", "sharing"]
