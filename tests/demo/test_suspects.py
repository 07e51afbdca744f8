"""The demonstration knows its causes: they rank first among the commits around them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from knickpoint.demo.history import CHANGES, Change, plan
from knickpoint.demo.measurement import make_repository
from knickpoint.demo.textmill import BENCHMARKS
from knickpoint.history import Git, read_touched_files
from knickpoint.watch.suspects.commit_facts import CommitFacts, contrast, count_words
from knickpoint.watch.suspects.ranking import rank_suspects


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, CommitFacts]:
    """Return the facts about every commit of textmill, by position."""
    directory = tmp_path_factory.mktemp("textmill") / "repository"
    make_repository(directory, plan())
    git = Git.at(directory)
    commits = git.first_parents("main")
    files = read_touched_files(git, [commit.hash for commit in commits])
    return {k: CommitFacts(k, k, commit.subject, files[commit.hash]) for k, commit in enumerate(commits)}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.subject)
def test_the_cause_ranks_first_if_every_fourth_commit_is_measured(
    change: Change, facts: Mapping[int, CommitFacts]
) -> None:
    begin = change.position - change.position % 4
    moved = count_words(f",benchmark={name}," for name in change.benchmarks)
    words = contrast(moved, count_words(f",benchmark={name}," for name in BENCHMARKS))
    ranked = rank_suspects([facts[position] for position in range(begin, begin + 4)], words, none=0.15)
    assert ranked[0].slot == change.position
