"""Write a line of commits: find rewritten commits again, move what refers to them, and announce what changed place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from knickpoint.history import Authorship, changed_order, match_rewritten
from knickpoint.model.commit import Line, Repository, SlottedCommit
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.store import Store

AuthorTimes = Callable[[Sequence[str]], dict[str, int]]
"""Return hash → author date, in seconds since 1970, for those commits of which it is known."""


def write_line(
    store: Store,
    repository: Repository,
    line: Line,
    slots: Sequence[int],
    *,
    base: str = "",
    merge_base: int = -1,
    author_times: AuthorTimes | None = None,
) -> str:
    """Set the order of ``line`` to ``slots``, all in one transaction.

    Where commits left the line and others came (a rebase, an inserted commit, a force-push), those that are the same
    are matched, and findings and the history boundary move along. Traces with results at commits that left, came or
    changed places are announced at once.

    Args:
        store: where the line is kept.
        repository: whose line it is.
        line: the line before, empty where it is new.
        slots: its commits now, oldest first.
        base: the line that it leaves, "" for none.
        merge_base: the last position that it shares with ``base``.
        author_times: returns author dates; None where commits are never rewritten.

    Returns:
        A text for people where history was rewritten, "" otherwise.
    """
    note = ""
    with store.transaction():
        store.commits.set_line(repository, line.name, slots, base=base, merge_base=merge_base)
        # What left the line, and what joined it, each in the order of the line.
        changed = changed_order(line.slots, slots)
        gone, new = changed.difference(slots), changed.difference(line.slots)
        left, joined = [slot for slot in line.slots if slot in gone], [slot for slot in slots if slot in new]
        # Commits that left under one hash and came back under another.
        successors: dict[int, int] = {}
        if left and joined and author_times is not None:
            successors = _successors(store, repository, left, joined, author_times)
            store.rewrites.record(repository, line.name, successors, joined=joined)
            note = (
                f"history of {repository.name}, branch {line.name}, was rewritten:"
                f" {counted(len(left), 'commit')} left it,"
                + (
                    f" {len(successors):,} of them recognised under new hashes; findings there moved along"
                    if successors
                    else " none of them recognised under a new hash; their results no longer count there"
                )
            )
        # The history boundary follows its commits, and alerts run again over what changed place.
        if left:
            store.boundaries.follow(repository, line, slots, successors)
        if changed:
            store.boundaries.mark(repository)
            store.rewrites.announce(repository, changed)
    return note


def _successors(
    store: Store, repository: Repository, left: Sequence[int], joined: Sequence[int], author_times: AuthorTimes
) -> dict[int, int]:
    """Return slot → slot for the commits that ``left`` a line and ``joined`` it again with another hash."""
    commits = store.commits.get(repository, [*left, *joined])
    times = author_times([slotted.commit.hash for slotted in commits])
    old, new = commits[: len(left)], commits[len(left) :]
    pairs = match_rewritten(
        [_authorship(slotted, times) for slotted in old], [_authorship(slotted, times) for slotted in new]
    )
    return {old[before].slot: new[after].slot for before, after in pairs.items()}


def _authorship(slotted: SlottedCommit, times: dict[str, int]) -> Authorship:
    commit = slotted.commit
    return Authorship(commit.author, commit.email, commit.subject, times.get(commit.hash))
