"""Decide which findings are new, moved, unchanged, gone or back.

``reconciliation`` decides, for the change points of one trace; it takes the sightings of all alerts together.
``point_matching`` has the rule by which a change point of today is one of yesterday, and ``cluster_fingerprints`` that of
clusters.
"""
