"""Ask a git repository which commit a name means, and where a commit left a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knickpoint.history.git import Git
from knickpoint.model.errors import HistoryError

__all__ = ["find_commit", "newest_contained"]

_LONGEST_REFERENCE = 1000
"""Characters of a reference; git allows file names of 255 in each of its parts."""


def find_commit(git: Git, reference: str) -> str:
    """Return the full hash of the commit that ``reference`` means, "" where the repository has none of that name.

    A reference is what git takes: a branch, a tag, ``HEAD~3``, a hash or a unique prefix of one. A branch that only the
    remote has is found by its plain name; of a branch that both have, :meth:`Git.branches` chooses the tip. References
    reach git through its standard input, so that none can be taken for an option.

    Raises:
        HistoryError: the text can be no reference, or a prefix fits several commits.
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

    That is the merge base of ``commit`` with the line, as a commit of the line itself: where a branch left a side
    branch that was merged later, the merge base of git is on no line. Commits of the line that this repository does not
    have are in none that it has, unless it is shallow: then "" may mean that the place was cut off.

    Args:
        git: the repository.
        blocks: the full hashes of the line by first parent, newest first, in blocks; read only as far as needed.
        commit: the full hash of a commit of the repository.

    Raises:
        HistoryError: git fails.
    """
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
