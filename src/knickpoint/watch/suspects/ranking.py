"""The rule that ranks suspects: named weights on a logarithmic scale, held back so that measurements always win.

A commit's weight is the likelihood of its place times ``exp(score)``; its score is the sum of what speaks for and
against it, each from 0 to 1 in strength times its weight in :data:`WEIGHTS`. Half of the probability follows these
weights, the other half the likelihood of the places alone: however much speaks for a commit, it gets at most half of
the way from its share by place to certainty, and however much speaks against it, it keeps half of that share. A part of
the probability belongs to no commit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.settlement import Certainty
from knickpoint.model.suspects import Suspect
from knickpoint.watch.changes.groups import location_weight
from knickpoint.watch.suspects.commit_facts import BenchmarkWords, CommitFacts, similarities


class Feature(Enum):
    """What speaks for or against a commit."""

    PROFILE = "profile"
    PATHS = "paths"
    SUBJECT = "subject"
    SIZE = "size"
    EARLIER = "earlier"
    BUILD = "build"
    SPEED = "speed"
    REVERT = "revert"
    NO_SOURCE = "no source"
    UNMOVED = "unmoved"


WEIGHTS: Final[Mapping[Feature, float]] = {
    Feature.PROFILE: 3.0,  # 20 times as likely: it changes the file of what was seen to cost more
    Feature.PATHS: 2.0,  # 7 times as likely: benchmarks are named after what they measure
    Feature.SUBJECT: 1.0,  # 3 times: a subject is shorter than a path, and often about something else
    Feature.SIZE: 0.7,  # twice, at 1,000 lines of sources: more lines, more chances; no more, for most are moved code
    Feature.EARLIER: 0.5,  # slow places stay slow places, but a fixed one is fixed
    Feature.BUILD: 0.5,  # compilers, flags and dependencies move what no path is named after
    Feature.SPEED: 0.5,  # who writes of speed works on what benchmarks measure
    Feature.REVERT: 0.3,  # a revert brings back a level, if what it takes back moved one
    Feature.NO_SOURCE: -2.0,  # 1/7: documents, tests and CI are rarely built in, but lists of suffixes have gaps
    Feature.UNMOVED: -0.7,  # half: what it is named after is measured, and did not move
}
"""Feature → weight, as the natural logarithm of a ratio of odds.

They are chosen by these reasons, and fitted to no data.
"""

NONE: Final[Mapping[Certainty, float]] = {Certainty.SETTLED: 0.15, Certainty.PROVISIONAL: 0.40}
"""Probability that no listed commit is the cause: the machine, what no one measures, or no change at all.

Mozilla's sheriffs mark 7 % of the alerts that they triage as invalid, and correct the commit that they blamed in 8 % of
the reports. Chrome counts on 60 % of the alerts that it bisects at once to be reproduced.
"""

PRIOR_SHARE: Final = 0.5
"""Share of the probability that the rule distributes; the places alone distribute the rest."""

_MANY_LINES: Final = 1_000
_SOME_LINES: Final = 30
"""Lines from which the size of a change is named as a reason."""
_DIGITS: Final = 6
_MOST_REASONS: Final = 4
_LONGEST_NAME: Final = 80
_CLEAR: Final = 0.1
"""Strength of paths below which what did not move counts."""


def largest_share(commits: int) -> float:
    """Return the share of the probability that no commit of a range of so many exceeds, whatever speaks for it."""
    return PRIOR_SHARE + (1.0 - PRIOR_SHARE) / commits


@dataclass(frozen=True, slots=True)
class _Argument:
    """One thing that speaks for or against a commit, with its strength in [0, 1].

    ``reason`` is "" for what is usual.
    """

    feature: Feature
    strength: float
    reason: str

    @property
    def score(self) -> float:
        return WEIGHTS[self.feature] * self.strength


def rank_suspects(
    commits: Sequence[CommitFacts],
    benchmarks: BenchmarkWords,
    *,
    none: float,
    interval: int = 0,
    earlier: Collection[str] = (),
    slower: Mapping[str, str] = MappingProxyType({}),
) -> list[Suspect]:
    """Return ``commits`` as suspects, the most likely first; of equal ones, the earlier on the line.

    Args:
        commits: the candidates, in any order. One whose files are unknown weighs as much as the others on average.
        benchmarks: the words of what moved and of what did not.
        none: the probability that none of them is the cause.
        interval: half width of the detector's interval of location, in measured commits.
        earlier: paths that the causes of earlier confirmed findings touch.
        slower: file of a function that profiles name as a cause → the function, those that explain most first.
    """
    if not commits:
        return []
    ordered = sorted(commits, key=lambda commit: commit.position)
    arguments = _arguments(ordered, benchmarks, earlier, slower)

    # The share by place, and the share by place and rule.
    places = [location_weight(commit.distance, interval) for commit in ordered]
    odds = _odds(ordered, arguments)
    ruled = [place * each for place, each in zip(places, odds, strict=True)]
    by_place, by_rule = math.fsum(places), math.fsum(ruled)
    shares = [
        PRIOR_SHARE * rule / by_rule + (1.0 - PRIOR_SHARE) * place / by_place
        for place, rule in zip(places, ruled, strict=True)
    ]
    suspects = [
        (commit.position, Suspect(commit.slot, _rounded((1.0 - none) * share), _reasons(several, commit)))
        for commit, share, several in zip(ordered, shares, arguments, strict=True)
    ]
    return [suspect for _, suspect in sorted(suspects, key=lambda pair: (-pair[1].probability, pair[0]))]


def _odds(commits: Sequence[CommitFacts], arguments: Sequence[Sequence[_Argument]]) -> list[float]:
    """Return exp(score) of each commit, and the mean of the others where its files are unknown; 1 if all are."""
    odds = [math.exp(math.fsum(sorted(argument.score for argument in several))) for several in arguments]
    known = [each for each, commit in zip(odds, commits, strict=True) if commit.files is not None]
    usual = math.fsum(sorted(known)) / len(known) if known else 1.0
    return [usual if commit.files is None else each for each, commit in zip(odds, commits, strict=True)]


def _rounded(probability: float) -> float:
    """Round down, so that probabilities never come to more than 1."""
    return math.floor(probability * 10**_DIGITS) / 10**_DIGITS


def _reasons(arguments: Sequence[_Argument], commit: CommitFacts) -> tuple[str, ...]:
    """Return the strongest reasons in words, the strongest first; then the place of the commit, if not in the range."""
    strongest = sorted(arguments, key=lambda argument: (-abs(argument.score), argument.feature.value))
    reasons = _joined([argument.reason for argument in strongest if argument.reason][:_MOST_REASONS])
    if commit.distance:
        side = "before" if commit.distance < 0 else "after"
        reasons.append(
            f"{counted(abs(commit.distance), 'measured commit')} {side} the suspect range, within the interval of "
            "location"
        )
    if commit.files is None:
        reasons.append("its files are unknown")
    return tuple(reasons)


def _joined(reasons: Sequence[str]) -> list[str]:
    """Join reasons that begin alike, such as two about one touched file, so that the beginning is said once."""
    joined: dict[str, str] = {}
    for reason in reasons:
        begin, separator, rest = reason.partition(", and ")
        if separator and begin in joined:
            joined[begin] += separator + rest
        else:
            joined[begin if separator else reason] = reason
    return list(joined.values())


# What speaks for and against the commits of a list.


def _arguments(
    commits: Sequence[CommitFacts], benchmarks: BenchmarkWords, earlier: Collection[str], slower: Mapping[str, str]
) -> list[list[_Argument]]:
    paths = _Matches.of([commit.words.keys() for commit in commits], benchmarks)
    subjects = _Matches.of([commit.subject_words for commit in commits], benchmarks)
    usual = _usual_paths(commits)
    found: list[list[_Argument]] = []
    for commit in commits:
        if commit.files is None:
            found.append([])
            continue
        by_path = _path_argument(commit, paths, benchmarks)
        several = [by_path, _subject_argument(commit, subjects, benchmarks), _size_argument(commit)]
        several += [_earlier_argument(commit, earlier, usual), *_plain_arguments(commit)]
        several.append(_profile_argument(commit, slower))
        if by_path is None or by_path.strength < _CLEAR:
            several.append(_unmoved_argument(commit, benchmarks))
        found.append([argument for argument in several if argument and argument.strength > 0])
    return found


@dataclass(frozen=True, slots=True)
class _Matches:
    """How well the words of commits match those of benchmarks.

    ``alike`` is word of a benchmark → the words like it. ``rarity`` is the share of the commits without a word, by
    word: what every commit touches says nothing about any of them.
    """

    alike: Mapping[str, Mapping[str, float]]
    rarity: Mapping[str, float]

    @classmethod
    def of(cls, words: Sequence[Collection[str]], benchmarks: BenchmarkWords) -> _Matches:
        counts = Counter(word for each in words for word in each)
        rarity = {word: 1.0 - (count - 1) / len(words) for word, count in counts.items()}
        return cls(similarities(benchmarks.moved.keys(), counts.keys()), rarity)

    def best(self, words: Collection[str], benchmarks: BenchmarkWords) -> tuple[float, str, str]:
        """Return the strength in [0, 1], and the pair of words that counts most: of the commit, of a benchmark.

        Each word of a benchmark counts once, by the word that is most like it. A further word never lowers the
        strength.
        """
        total, best = 0.0, (0.0, "", "")
        for benchmark, weight in sorted(benchmarks.moved.items()):
            similar = self.alike[benchmark]
            found = max(
                ((similar[word] * self.rarity[word], word) for word in sorted(similar) if word in words), default=None
            )
            if found:
                total += weight * found[0]
                best = max(best, (weight * found[0], found[1], benchmark), key=lambda pair: pair[0])
        return min(total, 1.0), best[1], best[2]


def _path_argument(commit: CommitFacts, matches: _Matches, benchmarks: BenchmarkWords) -> _Argument | None:
    strength, word, benchmark = matches.best(commit.words.keys(), benchmarks)
    if not word:
        return None
    path = plain_line(commit.words[word], _LONGEST_NAME)
    return _Argument(Feature.PATHS, strength, f"touches {path}, and {_named(benchmarks, benchmark)} moved")


def _subject_argument(commit: CommitFacts, matches: _Matches, benchmarks: BenchmarkWords) -> _Argument | None:
    strength, word, benchmark = matches.best(commit.subject_words, benchmarks)
    if not word:
        return None
    return _Argument(Feature.SUBJECT, strength, f'"{word}" in the subject, and {_named(benchmarks, benchmark)} moved')


def _named(benchmarks: BenchmarkWords, word: str) -> str:
    return plain_line(benchmarks.named[word], _LONGEST_NAME)


def _size_argument(commit: CommitFacts) -> _Argument:
    strength = min(math.log1p(commit.lines) / math.log1p(_MANY_LINES), 1.0)
    reason = f"changes {counted(commit.lines, 'line')} of sources" if commit.lines >= _SOME_LINES else ""
    return _Argument(Feature.SIZE, strength, reason)


def _profile_argument(commit: CommitFacts, slower: Mapping[str, str]) -> _Argument | None:
    """Return the argument that it touches the file of a function that profiles name, half as strong for a later one."""
    for place, (file, function) in enumerate(slower.items()):
        path = next((path for path in sorted(commit.paths) if is_same_file(path, file)), "")
        if path:
            named, touched = plain_line(function, _LONGEST_NAME), plain_line(path, _LONGEST_NAME)
            reason = f"touches {touched}, and profiles show the change in {named}"
            return _Argument(Feature.PROFILE, 1.0 if place == 0 else 0.5, reason)
    return None


def is_same_file(path: str, file: str) -> bool:
    """Return True if a path of a repository and the file in a profile end alike, as far as the shorter one goes."""
    first, second = (tuple(part for part in name.replace("\\", "/").split("/") if part) for name in (path, file))
    shorter = min(len(first), len(second))
    return bool(shorter) and first[-shorter:] == second[-shorter:]


def _usual_paths(commits: Sequence[CommitFacts]) -> frozenset[str]:
    """Return the paths that more than half of several commits touch."""
    counts = Counter(path for commit in commits for path in commit.paths)
    return frozenset(path for path, count in counts.items() if len(commits) > 1 and count > len(commits) / 2)


def _earlier_argument(commit: CommitFacts, earlier: Collection[str], usual: Collection[str]) -> _Argument | None:
    known = sorted(path for path in commit.paths if path in earlier and path not in usual)
    if not known:
        return None
    path = plain_line(known[0], _LONGEST_NAME)
    return _Argument(Feature.EARLIER, 1.0, f"touches {path}, as the cause of an earlier confirmed finding does")


def _plain_arguments(commit: CommitFacts) -> list[_Argument]:
    """Return the arguments that a commit gives by itself."""
    found = []
    build = next(commit.build_files, "")
    if build:
        found.append(
            _Argument(Feature.BUILD, 1.0, f"changes the build or dependencies: {plain_line(build, _LONGEST_NAME)}")
        )
    if commit.speaks_of_speed:
        found.append(_Argument(Feature.SPEED, 1.0, f'"{commit.speaks_of_speed}" in the subject'))
    if commit.is_revert and not commit.changes_no_source:
        found.append(_Argument(Feature.REVERT, 1.0, "takes an earlier commit back"))
    if commit.changes_no_source:
        touched = "documents, tests or CI only" if commit.files and commit.files.files else "no file"
        found.append(_Argument(Feature.NO_SOURCE, 1.0, f"touches {touched}"))
    return found


def _unmoved_argument(commit: CommitFacts, benchmarks: BenchmarkWords) -> _Argument | None:
    word = min(commit.words.keys() & benchmarks.unmoved, default="")
    if not word:
        return None
    path = plain_line(commit.words[word], _LONGEST_NAME)
    return _Argument(Feature.UNMOVED, 1.0, f'touches {path}, and no trace with "{word}" in its name moved')
