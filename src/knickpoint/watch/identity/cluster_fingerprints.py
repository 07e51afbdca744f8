"""Recognise clusters from run to run by their fingerprint.

The members nearest to the centroid are the fingerprint of a cluster. A new cluster that shares traces with the fingerprint
of a known one is the same one again. :func:`match_clusters` is the rule of the alerts: the places have to be near each
other, so that the next regression of the same traces is a new one. :func:`coalesce` is the rule of Skia Perf's design
document to the letter. See ``docs/decisions/traces-together.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from knickpoint.model.change_point import Status
from knickpoint.model.cluster import FINGERPRINT
from knickpoint.watch.identity.point_matching import REACH

__all__ = ["DRIFT", "ClusterFingerprint", "KnownCluster", "coalesce", "match_clusters"]

DRIFT: Final = 12
"""Measured commits of its group that a cluster may drift between two runs and still be the same: a quarter of the narrowest
windows in which clusters are looked for."""


@dataclass(frozen=True, slots=True)
class ClusterFingerprint:
    """What a cluster is recognised by: ids of traces by rising distance to the centroid, and where it steps.

    ``rank`` counts the measured commits of the group before the step, None where its commit is no longer on the line.
    ``strength`` is the regression without its sign.
    """

    traces: tuple[int, ...]
    rank: int | None
    movement: int
    strength: float


def match_clusters(known: Sequence[ClusterFingerprint], fresh: Sequence[ClusterFingerprint]) -> dict[int, int]:
    """Return which known cluster each fresh one is, as index in ``fresh`` to index in ``known``; the others are new.

    A pair may match when both move the same way, are at most :data:`DRIFT` measured commits apart, and a trace of the
    known fingerprint (its first :data:`~knickpoint.model.cluster.FINGERPRINT` traces) is in the fresh cluster. Pairs are
    taken one to one: first those at one place (at most :data:`~knickpoint.watch.identity.point_matching.REACH` apart), then
    by most shared traces, least distance, and largest strength of the fresh one; what is still equal by the order of
    ``known``, and of ``fresh``.
    """
    pairs: list[tuple[bool, int, int, float, int, int]] = []
    members = [frozenset(cluster.traces) for cluster in fresh]
    for i, old in enumerate(known):
        for j, new in enumerate(fresh):
            if old.rank is None or new.rank is None or old.movement != new.movement:
                continue
            shared = sum(trace in members[j] for trace in old.traces[:FINGERPRINT])
            distance = abs(old.rank - new.rank)
            if shared and distance <= DRIFT:
                pairs.append((distance > REACH, -shared, distance, -new.strength, i, j))
    matched: dict[int, int] = {}
    for *_, i, j in sorted(pairs):
        if j not in matched and i not in matched.values():
            matched[j] = i
    return matched


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
