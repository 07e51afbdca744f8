"""Find in a git repository the commit that a name stands for, and where a commit left a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knickpoint.history.git import Git
from knickpoint.model.errors import HistoryError

__all__ = ["find_commit", "newest_contained"]

_LONGEST_REFERENCE = 1000
"""Characters of a reference; git allows file names of 255 in each of its parts."""


def find_commit(git: Git, reference: str) -> str:
    """Return the full hash of the commit that ``reference`` stands for, "" where the repository has none.

    A reference is a branch, a tag, ``HEAD~3``, a hash or a unique prefix of one. A branch that only the remote has is
    found by its plain name; for a branch that both have, :meth:`Git.branches` chooses the tip. References reach git
    through its standard input, so that it takes none for an option.

    Raises:
        HistoryError: the text cannot be a reference, or a prefix fits several commits.
    """
    if reference.startswith("-") or not reference.isprintable() or not 0 < len(reference) <= _LONGEST_REFERENCE:
        raise HistoryError(
            f"{reference[:80]!r} cannot be the name of a commit",
            remedy="Name a branch, a tag, a hash, or something like HEAD~3.",
        )
    tip = git.branches().get(reference)
    if tip is not None:
        return tip
    asked = "".join(f"{name}^{{commit}}\n" for name in (reference, f"refs/remotes/origin/{reference}"))
    answers = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked.encode()).decode().splitlines()
    if answers[0].endswith(" ambiguous"):
        raise HistoryError(
            f"{reference!r} fits more than one commit", where=str(git.directory), remedy="Give more of it."
        )
    return next((answer for answer in answers if not answer.endswith(" missing")), "")


def newest_contained(git: Git, blocks: Iterable[Sequence[str]], commit: str) -> str:
    """Return the newest commit of a line that ``commit`` is or contains, "" where there is none.

    That is the merge base of ``commit`` with the line, but always a commit of the line: where a branch began at a side
    branch that was merged later, git's merge base is on no line. A commit of the line that the repository lacks is not
    contained in one that it has. In a shallow repository, "" may also mean that the merge base is cut off.

    Args:
        git: the repository.
        blocks: the full hashes of the line by first parent, newest first, in blocks; only as many are read as are needed.
        commit: the full hash of a commit of the repository.

    Raises:
        HistoryError: git fails.
    """
    # The commits of the line that ``commit`` does not contain are read once, from the newest that the repository has.
    outside: frozenset[str] | None = None
    for block in blocks:
        known = git.resolve(block)
        for name in block:
            if name not in known:
                continue
            if outside is None:
                printed = git.run("rev-list", "--first-parent", name, f"^{commit}", "--").decode()
                outside = frozenset(printed.split())
            if name not in outside:
                return name if git.contains(commit, name) else ""
    return ""
