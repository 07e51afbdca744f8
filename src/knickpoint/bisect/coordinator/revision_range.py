"""Read the range of a bisection, GOOD..BAD, from a git repository: the first-parent line between two commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.history import Git, find_commit, read_touched_files
from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import plain_line
from knickpoint.model.suspects import CommitFiles
from knickpoint.watch.suspects.commit_facts import BenchmarkWords, CommitFacts, count_words
from knickpoint.watch.suspects.ranking import rank_suspects

_SHOWN = 12
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class RevisionRange:
    """The good end, and the commits after it on the first-parent line of the bad end, oldest first.

    ``note`` says what a reader may not expect, "" for nothing.
    """

    good: Commit
    commits: tuple[Commit, ...]
    note: str = ""

    @property
    def hashes(self) -> tuple[str, ...]:
        """The full hashes of the commits after the good end."""
        return tuple(commit.hash for commit in self.commits)


def read_range(git: Git, text: str) -> RevisionRange:
    """Return the range that ``text`` names, as in ``v1.2..main``.

    A merge is one commit of the line: with it, all that it brings in begins.

    Raises:
        InputError: the text is not a range, the ends are the same or swapped, or one is not an ancestor of the other.
        HistoryError: a revision is not known, or git fails.
    """
    names = _names(text)
    good, bad = (find_revision(git, name) for name in names)
    if good == bad:
        raise InputError(
            "the good and the bad end are the same commit",
            where=plain_line(text, _LONGEST),
            remedy="Name two commits, the good one first.",
        )
    if not git.contains(bad, good):
        raise _unrelated(git, names, good, bad)
    line = git.first_parents(bad, without=[good])
    first = git.commits([good])[good]
    note = ""
    if good not in line[0].parents[:1]:
        note = (
            f"{good[:_SHOWN]} is not on the first-parent line of {bad[:_SHOWN]}: the commits of that line are searched"
        )
    return RevisionRange(first, tuple(line), note)


def range_inside(git: Git, merge: Commit) -> str:
    """Return the range of the commits that a merge brings in, as :func:`read_range` takes it; "" for other commits.

    Raises:
        HistoryError: git fails.
    """
    for parent in merge.parents[1:]:
        forks = git.run("rev-list", "--first-parent", "--boundary", parent, f"^{merge.parents[0]}").decode().split()
        base = next((name[1:] for name in forks if name.startswith("-")), "")
        if base:
            return f"{base}..{parent}"
    return ""


def _names(text: str) -> Sequence[str]:
    good, dots, bad = text.partition("..")
    if not dots or not good or bad.startswith("."):
        raise InputError(
            f"{plain_line(text, _LONGEST)!r} is not a range",
            remedy="Write GOOD..BAD, as in v1.2..main, or the id of a change, such as R12.",
        )
    return good, bad or "HEAD"


def find_revision(git: Git, name: str) -> str:
    """Return the full hash of the commit that ``name`` means.

    Raises:
        HistoryError: the repository has no such commit, or git fails.
    """
    found = find_commit(git, name)
    if found:
        return found
    shallow = " The repository is shallow: git fetch --unshallow brings the rest." if git.shallow else ""
    raise HistoryError(
        f"the repository has no commit {plain_line(name, _LONGEST)!r}",
        where=str(git.directory),
        remedy=f"Name a branch, a tag or a hash of it.{shallow}",
    )


def _unrelated(git: Git, names: Sequence[str], good: str, bad: str) -> InputError:
    """Explain that the good end is not an ancestor of the bad end."""
    shown = [plain_line(name, _LONGEST) for name in names]
    if git.contains(good, bad):
        return InputError(
            f"the ends are swapped: {shown[1]} is older than {shown[0]}",
            where="..".join(shown),
            remedy=f"Write {shown[1]}..{shown[0]} if the older one is good. To find what made a value better again, "
            "name the older state first all the same.",
        )
    if git.shallow:
        remedy = "The repository is shallow: git fetch --unshallow brings the rest."
    else:
        remedy = f"Start from their merge base: git merge-base {good[:_SHOWN]} {bad[:_SHOWN]}"
    return InputError(f"{shown[0]} is not an ancestor of {shown[1]}", where="..".join(shown), remedy=remedy)


# Prior probabilities of the commits of a range, from what each of them touches and what the trace is called.


FLOOR: Final = 0.5
"""Share of the prior that all commits have alike.

So a commit of which nothing speaks keeps half of its even share, and the
evidence against it costs one measurement, never ten."""


def priors_of(git: Git, trace: str, commits: Sequence[str]) -> tuple[float, ...] | None:
    """Return the prior probability of each of the full hashes ``commits``, oldest first; they sum to 1.

    None where nothing distinguishes them: without a trace, without the files that commits touch, or for one commit.
    """
    if not trace or len(commits) < 2:
        return None
    try:
        known, files = git.commits(commits), read_touched_files(git, commits)
    except HistoryError:
        return None
    return commit_priors([known.get(name) for name in commits], [files.get(name) for name in commits], trace)


def commit_priors(
    commits: Sequence[Commit | None], files: Sequence[CommitFiles | None], trace: str
) -> tuple[float, ...] | None:
    """Return the priors of ``commits`` from their subjects and files, as for suspects; None where all are alike."""
    if not any(files):
        return None
    counted = count_words([trace])
    words = BenchmarkWords(dict.fromkeys(counted.counts, 1.0), counted.named)
    facts = [
        CommitFacts(place, place, commit.subject if commit else "", touched)
        for place, (commit, touched) in enumerate(zip(commits, files, strict=True))
    ]
    shares = {suspect.slot: suspect.probability for suspect in rank_suspects(facts, words, none=0.0)}
    return capped([shares[place] for place in range(len(facts))])


def capped(shares: Sequence[float]) -> tuple[float, ...] | None:
    """Mix shares with even ones, so that no commit has less than :data:`FLOOR` of an even share.

    None where all are alike.
    """
    total = sum(shares)
    if total <= 0 or max(shares) - min(shares) < 1e-3 / len(shares):
        return None
    even = 1.0 / len(shares)
    mixed = [(1.0 - FLOOR) * share / total + FLOOR * even for share in shares]
    return tuple(share / sum(mixed) for share in mixed)
