"""Build the answer about the clusters of a change."""

from __future__ import annotations

from collections import Counter
from typing import Final

from knickpoint.model.cluster import KeptCluster, KeptMember, MemberState
from knickpoint.model.commit import Line
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.schemas.clusters import ClusterAnswer, ClusterMemberAnswer, ClustersAnswer, SharedParamAnswer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.explanations import CheckAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.lines import Lines

__all__ = ["list_clusters"]

_MOST: Final = 200
"""Traces of each state in one answer, those nearest to the centroid."""


def list_clusters(visible: VisibleRepositories, change: int) -> ClustersAnswer:
    """List the clusters that have members in a change, by id.

    Raises:
        UnknownError: there is no such change.
    """
    repository = visible.of_change(change)
    lines = Lines(visible.store, repository)
    found = visible.store.findings.clusters.of_change(change)
    slots = sorted({each.suspect_range.slot for each in found})
    commits = {each.slot: each.commit for each in visible.store.commits.get(repository, slots)}
    answers = []
    for each in found:
        line = lines.line(each.suspect_range.line)
        slot = each.suspect_range.slot
        answers.append(_cluster_answer(each, line, commit_answer(commits[slot], line.positions.get(slot))))
    return ClustersAnswer(change=change, clusters=answers)


def _cluster_answer(kept: KeptCluster, line: Line, commit: CommitAnswer) -> ClusterAnswer:
    counts = Counter(each.state for each in kept.members)
    return ClusterAnswer(
        id=kept.id,
        alert=kept.alert,
        group=list(kept.group),
        commit=commit,
        movement=kept.movement,
        regression=kept.regression,
        centroid=list(kept.centroid),
        positions=[line.positions.get(slot) for slot in kept.slots],
        shared=[
            SharedParamAnswer(name=each.name, value=each.value, members=each.members, others=each.others)
            for each in kept.shared
        ],
        others=kept.others,
        run=kept.run,
        found=kept.found,
        counts={state: counts[state] for state in MemberState},
        members=[_member_answer(each) for each in kept.members if each.rank <= _MOST],
    )


def _member_answer(kept: KeptMember) -> ClusterMemberAnswer:
    verdict = kept.verdict
    return ClusterMemberAnswer(
        trace=kept.trace_id,
        key=kept.key,
        state=kept.state,
        rank=kept.rank,
        distance=kept.distance,
        joined=kept.joined,
        run=kept.run,
        since=kept.since,
        finding=kept.point_id or None,
        size=verdict.size,
        relative_size=verdict.relative_size,
        p_value=verdict.p_value,
        reason=verdict.reason if kept.state is not MemberState.FORMER else "it was a member in an earlier run",
        checks=[CheckAnswer.of(check) for check in verdict.checks],
    )
