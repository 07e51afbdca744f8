"""Recognise clusters from run to run by their fingerprint.

The members nearest to the centroid are the fingerprint of a cluster. A new cluster that shares keys with the fingerprint
of a known one is the same one again. The rule is that of Skia Perf's design document, for callers who keep clusters
themselves; the store keeps change points instead, for the reason in
``docs/decisions/0053-alerts-that-need-many-traces.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knickpoint.model.cluster import FINGERPRINT
from knickpoint.model.regression import Status

__all__ = ["KnownCluster", "coalesce"]


@dataclass(frozen=True, slots=True)
class KnownCluster:
    """A cluster as it is remembered: what was decided, and the best of its appearances.

    ``keys`` are trace keys by rising distance to the centroid, ``regression`` is step size over error of
    fit with its sign, ``slot`` the commit of the step. ``id`` is 0 for one that was never stored.
    """

    keys: tuple[str, ...]
    regression: float
    slot: int
    status: Status = Status.NEW
    message: str = ""
    id: int = 0


def coalesce(known: Sequence[KnownCluster], fresh: Sequence[KnownCluster]) -> list[KnownCluster]:
    """Return the known clusters, updated by better appearances, and after them the new ones.

    Each fresh cluster belongs to the known one of whose first :data:`~knickpoint.model.cluster.FINGERPRINT` keys it has
    most, the earliest of equals; without any it is new. Of all appearances of a cluster the one of largest
    |regression| is kept, the older of equals, always with the id, status and message of the known one.
    Fresh clusters are compared with what was known before, never with each other.
    """
    # Match each fresh cluster with the fingerprints of the known ones.
    fingerprints = [frozenset(cluster.keys[:FINGERPRINT]) for cluster in known]
    found = list(known)
    new: list[KnownCluster] = []
    for cluster in fresh:
        keys = frozenset(cluster.keys)
        matches = [len(fingerprint & keys) for fingerprint in fingerprints]
        most = max(matches, default=0)
        if not most:
            new.append(cluster)
            continue

        # Keep the stronger appearance under the identity and the decision of the known cluster.
        place = matches.index(most)
        held = found[place]
        if abs(cluster.regression) > abs(held.regression):
            found[place] = replace(cluster, id=held.id, status=held.status, message=held.message)
    return found + new
