"""Build the answer about the suspects of a change, as they are stored: nothing is ranked while someone reads."""

from __future__ import annotations

from knickpoint.server.answers.members import commit_at
from knickpoint.server.schemas.suspects import SuspectAnswer, SuspectsAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.suspect_ranges import RangeReader

__all__ = ["list_suspects"]


def list_suspects(visible: VisibleRepositories, change: int) -> SuspectsAnswer:
    """List the suspects of a change, the most likely first.

    Raises:
        UnknownError: there is no such change.
    """
    repository = visible.of_change(change)
    found = visible.store.findings.suspects.get(change)
    if found is None:
        return SuspectsAnswer(change=change, ranked=False, none=None, facts=None, note="", machine="", suspects=[])
    reader = RangeReader(visible.store, repository)
    reader.load(slots=[suspect.slot for suspect in found.suspects])
    suspects = [
        SuspectAnswer.of(each, rank=rank, commit=commit_at(reader, found.suspect_range.line, each.slot))
        for rank, each in enumerate(found.suspects, 1)
    ]
    return SuspectsAnswer.of(found, change=change, ranked=True, suspects=suspects)
