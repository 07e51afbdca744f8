"""Build the answer about the clusters of a change."""

from __future__ import annotations

from collections import Counter

from knickpoint.model.cluster import KeptCluster, KeptMember, MemberState
from knickpoint.model.commit import Line
from knickpoint.model.step import Movement
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.schemas.clusters import ClusterAnswer, ClusterMemberAnswer, ClustersAnswer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.lines import Lines

__all__ = ["list_clusters"]


def list_clusters(visible: VisibleRepositories, change: int, *, most: int | None = None) -> ClustersAnswer:
    """List the clusters that have members in a change, by id; ``most`` limits the traces of each state.

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
        answers.append(_cluster_answer(each, line, commit_answer(commits[slot], line.positions.get(slot)), most))
    return ClustersAnswer(change=change, clusters=answers)


def _cluster_answer(kept: KeptCluster, line: Line, commit: CommitAnswer, most: int | None) -> ClusterAnswer:
    counts = Counter(each.state for each in kept.members)
    return ClusterAnswer.of(
        kept,
        commit=commit,
        movement=Movement.of(kept.movement),
        positions=[line.positions.get(slot) for slot in kept.slots],
        counts={state: counts[state] for state in MemberState},
        members=[_member_answer(each) for each in kept.members if most is None or each.rank <= most],
    )


def _member_answer(kept: KeptMember) -> ClusterMemberAnswer:
    former = kept.state is MemberState.FORMER
    return ClusterMemberAnswer.of(
        kept,
        kept.verdict,
        trace=kept.trace_id,
        finding=kept.point_id or None,
        reason="it was a member in an earlier run" if former else kept.verdict.reason,
    )
