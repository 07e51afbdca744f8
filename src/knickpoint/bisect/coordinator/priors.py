"""Prior probabilities of the commits of a range, from what each of them touches and what the trace is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from knickpoint.history import Git, read_touched_files
from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError
from knickpoint.model.suspects import CommitFiles
from knickpoint.watch.suspects.benchmark_words import BenchmarkWords, count_words
from knickpoint.watch.suspects.commit_facts import CommitFacts
from knickpoint.watch.suspects.ranking import rank_suspects

__all__ = ["FLOOR", "capped", "commit_priors", "priors_of"]

FLOOR: Final = 0.5
"""Share of the prior that all commits have alike. So a commit of which nothing speaks keeps half of its even share, and the
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
    """Return the priors of ``commits`` from their subjects and files by the rule of the suspects, None where all are alike."""
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
    """Mix shares with even ones, so that no commit has less than :data:`FLOOR` of an even share; None where all are alike."""
    total = sum(shares)
    if total <= 0 or max(shares) - min(shares) < 1e-3 / len(shares):
        return None
    even = 1.0 / len(shares)
    mixed = [(1.0 - FLOOR) * share / total + FLOOR * even for share in shares]
    return tuple(share / sum(mixed) for share in mixed)
