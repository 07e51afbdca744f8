"""Keep the clusters that a run found: recognise those of before, and tell old members from new ones.

The rule by which a cluster is one of before is that of :mod:`knickpoint.watch.alert_run.kept_clusters`. The run asks it
twice: before it writes change points, so that the points of a cluster that drifted go along with it, and at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np

from knickpoint.model.change_point import Status, SuspectRange
from knickpoint.model.cluster import FINGERPRINT, ClusterMember, FoundCluster, KeptCluster, KeptMember, MemberState
from knickpoint.model.commit import Line
from knickpoint.store import Store
from knickpoint.watch.alert_run.alert_job import AlertJob
from knickpoint.watch.detection.clusters import GroupClusters
from knickpoint.watch.identity import REACH
from knickpoint.watch.lines import Lines

# Recognise clusters from run to run by their fingerprint.
#
# The members nearest to the centroid are the fingerprint of a cluster. A new cluster that shares traces with the
# fingerprint of a known one is the same one again. :func:`match_clusters` is the rule of the alerts: the places have to
# be near each other, so that the next regression of the same traces is a new one. :func:`coalesce` is the rule of Skia
# Perf's design document to the letter. See ``docs/decisions/traces-together.md``.


DRIFT: Final = 12
"""Measured commits of its group that a cluster may drift between two runs and still be the same: a quarter of the
narrowest windows in which clusters are looked for.
"""


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
    """Match fresh clusters with known ones, as index in ``fresh`` to index in ``known``; the others are new.

    A pair may match when both move the same way, are at most :data:`DRIFT` measured commits apart, and a trace of the
    known fingerprint (its first :data:`~knickpoint.model.cluster.FINGERPRINT` traces) is in the fresh cluster. Pairs
    are taken one to one: first those at one place (at most :data:`~knickpoint.watch.identity.REACH` apart), then by
    most shared traces, least distance, and largest strength of the fresh one; what is still equal by the order of
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


_Points = Mapping[tuple[int, int], Sequence[tuple[int, int]]]
"""Trace and movement to change points: the position and the id of each."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What keeping a cluster needs: the job, the change points of the traces, and the run with its time."""

    job: AlertJob
    lines: Lines
    points: _Points
    run: int
    now: datetime


def drifted_points(
    store: Store, job: AlertJob, groups: Sequence[GroupClusters], lines: Lines
) -> dict[int, SuspectRange]:
    """Return the change points of members whose cluster is found at another place now, by id, with that place."""
    found: dict[int, SuspectRange] = {}
    if not groups:
        return found
    known = _by_group(store.findings.clusters.of_alert(lines.repository, job.alert.name, [each.key for each in groups]))
    for group in groups:
        before = known.get(group.key, [])
        for j, i in _matches(before, group, job.line).items():
            place = _suspect_range(group.clusters[j], job.line, lines)
            if place != before[i].suspect_range:
                members = {each.trace_id for each in group.clusters[j].members}
                found |= {
                    each.point_id: place for each in before[i].members if each.trace_id in members and each.point_id
                }
    return found


def keep_clusters(store: Store, job: AlertJob, groups: Sequence[GroupClusters], lines: Lines, *, run: int) -> None:
    """Write the clusters of the ``groups`` that ``job`` judged in ``run``, over those of before.

    Members are the traces whose step the alert reports. A cluster of a judged group that is not found is gone, unless
    the change points of members stay, as those before the window of the alert do. So is a cluster of which a complete
    run watches no trace any more.
    """
    table = store.findings.clusters
    judged = {group.key for group in groups}
    known = _by_group(table.of_alert(lines.repository, job.alert.name, None if job.complete else sorted(judged)))
    now = datetime.fromtimestamp(time.time(), UTC)
    kept: list[KeptCluster] = []
    for group in groups:
        before = known.get(group.key, [])
        points = _points_of(store, job.alert.name, group, before, lines)
        matches = _matches(before, group, job.line)
        context = _Context(job, lines, points, run, now)
        found = [
            _kept(cluster, before[matches[j]] if j in matches else None, context)
            for j, cluster in enumerate(group.clusters)
        ]
        fresh = [each for each in found if each]
        kept += fresh + _lost(before, fresh, points)
    if job.complete:
        kept += [
            replace(each, gone=True)
            for key in known.keys() - judged
            for each in known[key]
            if not each.gone and not np.isin([member.trace_id for member in each.members], job.trace_ids).any()
        ]
    table.put(lines.repository, kept)


def _lost(before: Sequence[KeptCluster], fresh: Sequence[KeptCluster], points: _Points) -> list[KeptCluster]:
    """Return as gone what was not found again; its members stay, so that it is recognised when it comes back."""
    found = {each.id for each in fresh}
    taken = {member.point_id for each in fresh for member in each.members}
    free = {key for several in points.values() for _, key in several} - taken
    return [
        replace(each, gone=True)
        for each in before
        if each.id not in found and not each.gone and free.isdisjoint(member.point_id for member in each.members)
    ]


def _by_group(clusters: Iterable[KeptCluster]) -> dict[tuple[str, ...], list[KeptCluster]]:
    found: dict[tuple[str, ...], list[KeptCluster]] = {}
    for each in clusters:
        found.setdefault(each.group, []).append(each)
    return found


def _matches(known: Sequence[KeptCluster], group: GroupClusters, line: Line) -> dict[int, int]:
    """Match each cluster of ``group`` with one of ``known``, by index; live ones before those that are gone."""

    def rank(slot: int) -> int | None:
        position = line.positions.get(slot)
        return None if position is None else int(np.searchsorted(group.measured, position))

    fresh = [
        ClusterFingerprint(
            tuple(each.trace_id for each in found.members), rank(found.slot), found.movement, abs(found.regression)
        )
        for found in group.clusters
    ]
    matched: dict[int, int] = {}
    for gone in (False, True):
        rows = [i for i, each in enumerate(known) if each.gone is gone]
        left = [j for j in range(len(fresh)) if j not in matched]
        fingerprints = [
            ClusterFingerprint(known[i].fingerprint, rank(known[i].suspect_range.slot), known[i].movement, 0.0)
            for i in rows
        ]
        pairs = match_clusters(fingerprints, [fresh[j] for j in left])
        matched |= {left[j]: rows[i] for j, i in pairs.items()}
    return matched


def _suspect_range(found: FoundCluster, line: Line, lines: Lines) -> SuspectRange:
    owner = lines.owner(line, line.positions[found.slot])
    return SuspectRange(owner.name, found.previous, found.slot)


def _points_of(store: Store, alert: str, group: GroupClusters, before: Sequence[KeptCluster], lines: Lines) -> _Points:
    """Return the live change points that ``alert`` sees in the traces of clusters of now and of before."""
    traces = {each.trace_id for found in group.clusters for each in found.members}
    traces |= {each.trace_id for kept in before for each in kept.members}
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for trace_id, points in store.findings.of_traces(sorted(traces)).items():
        for point in points:
            at = lines.line(point.suspect_range.line).positions.get(point.suspect_range.slot)
            if alert in point.alerts and at is not None:
                found.setdefault((trace_id, point.movement), []).append((at, point.id))
    return found


def _point_at(points: Sequence[tuple[int, int]], position: int) -> int:
    """Return the change point nearest to ``position``, at most :data:`REACH` commits away; 0 where there is none."""
    near = [(abs(at - position), key) for at, key in points if abs(at - position) <= REACH]
    return min(near, default=(0, 0))[1]


def _kept(found: FoundCluster, former: KeptCluster | None, context: _Context) -> KeptCluster | None:
    """Return the cluster as it is kept, with members and verdicts; None where the alert reports none of its members."""
    run, now = context.run, context.now
    positions = context.job.line.positions
    ids = {
        each.trace_id: _point_at(context.points.get((each.trace_id, found.movement), ()), positions[each.slot])
        for each in found.members
    }
    members = [each for each in found.members if ids[each.trace_id]]
    if not members:
        return None
    before = {each.trace_id: each for each in former.members} if former else {}

    def keep(each: ClusterMember, rank: int, state: MemberState) -> KeptMember:
        old = before.get(each.trace_id)
        same = old is not None and old.state is state
        return KeptMember(
            trace_id=each.trace_id,
            key=each.key,
            state=state,
            rank=rank,
            distance=each.distance,
            verdict=each.verdict,
            run=old.run if old and same else run,
            since=old.since if old and same else now,
            joined=False,
            point_id=ids[each.trace_id] if state is MemberState.MEMBER else 0,
        )

    here = [keep(each, rank, MemberState.MEMBER) for rank, each in enumerate(members, 1)]
    out = [keep(each, rank, MemberState.LEFT_OUT) for rank, each in enumerate(found.left_out, 1)]
    seen = {each.trace_id for each in (*here, *out)}
    left = [each for each in before.values() if each.trace_id not in seen and each.state is not MemberState.LEFT_OUT]
    return KeptCluster(
        id=former.id if former else 0,
        alert=context.job.alert.name,
        group=found.group,
        suspect_range=_suspect_range(found, context.job.line, context.lines),
        movement=found.movement,
        regression=found.regression,
        centroid=tuple(found.centroid.tolist()),
        slots=tuple(found.slots.tolist()),
        shared=found.shared,
        others=found.others,
        gone=False,
        run=former.run if former else run,
        found=former.found if former else now,
        members=(*here, *out, *_as_former(left, run, now)),
    )


def _as_former(members: Sequence[KeptMember], run: int, now: datetime) -> list[KeptMember]:
    return [
        replace(each, rank=rank)
        if each.state is MemberState.FORMER
        else replace(each, state=MemberState.FORMER, rank=rank, run=run, since=now, point_id=0, joined=False)
        for rank, each in enumerate(members, 1)
    ]
