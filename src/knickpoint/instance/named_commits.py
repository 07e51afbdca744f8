"""Find the commit of a line that a tag, a branch or another name of git stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.history import find_commit, newest_contained
from knickpoint.ingest.commit_sources.git_repository import open_present_git

if TYPE_CHECKING:
    from knickpoint.instance.instance import Instance
    from knickpoint.model.commit import Line

__all__ = ["named_position"]

_BLOCK: Final = 500
"""Commits of a line that are looked up at once; a release is mostly near its end."""


def named_position(instance: Instance, line: Line, name: str) -> int | None:
    """Return the position on ``line`` of the commit that git knows by ``name``; None without a clone or such a name.

    A release is often made on a branch of its own, and so is no commit of the line: it stands for the newest commit of the
    line that it contains.

    Raises:
        HistoryError: ``name`` cannot be a name, or fits several commits, or git fails.
    """
    settings = instance.repositories.get(line.repository.name)
    git = open_present_git(line.repository.name, settings, instance.directory) if settings else None
    full = find_commit(git, name) if git else ""
    if git is None or not full:
        return None
    known = instance.store.commits.find(line.repository, full)
    if known is not None and known.slot in line.positions:
        return line.positions[known.slot]
    contained = newest_contained(git, _blocks(instance, line), full)
    found = instance.store.commits.find(line.repository, contained) if contained else None
    return line.positions.get(found.slot) if found else None


def _blocks(instance: Instance, line: Line) -> Iterator[Sequence[str]]:
    """Yield the hashes of the commits of ``line``, newest first, in blocks."""
    for end in range(len(line.slots), 0, -_BLOCK):
        slots = line.slots[max(0, end - _BLOCK) : end]
        yield [each.commit.hash for each in instance.store.commits.get(line.repository, slots)][::-1]
