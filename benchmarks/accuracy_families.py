"""Measure families made of real noise: traces measured together, with planted steps that some or all of them share.

The noise is that of quiet stretches in the real series and histories of the reference data, cut at the same commits in
all traces of a machine or suite, so that what they have in common at a commit stays. A stretch is quiet by medians of
its parts, not by any detector. Into each family one step is planted, of so many deviations of each trace; those that
do not move are bystanders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_score import MARGIN
from accuracy_series import Traces, place_of_series, read_together
from knickpoint.detect import explain_jointly, find_steps_many
from knickpoint.detect.methods.default.siblings.found_places import OwnStep, ask_family
from knickpoint.model.settlement import FindingKind
from table import Reach, Row
from watch_replay import published_traces

__all__ = ["family_rows"]

SIZES: Final = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
"""Planted steps, in deviations of the noise of each trace."""

CLEAR: Final = 1.0
"""Deviations from which a step is expected to be found."""

LENGTH: Final = 120
"""Commits of a family."""

LATE: Final = 12
"""Commits before the end at which a late step lies."""

_FEWEST, _MOST = 5, 24
"""Traces of a family."""

_STRIDE: Final = 20
_DRAWS: Final = 4
"""Places and movers that are drawn for each quiet stretch."""

_MEASURED: Final = 0.8
"""Share of the commits at which a trace is measured at least."""

_PART: Final = 12
"""Values of the shortest part whose median is compared with that of the rest."""

_HISTORIES: Final = ("hyper", "msal-dotnet")
_PEER_EACH: Final = 6
"""One of so many families goes to a peer, which takes a hundred times as long."""

Frame = NDArray[np.float64]
Moved = NDArray[np.bool_]
Steps = Sequence[Sequence[int]]
Peer = Callable[[Sequence[Frame]], list[list[int]]]


@dataclass(frozen=True, slots=True)
class Quiet:
    """Quiet noise of one family, traces x commits in units of its deviation, and the keys of the traces."""

    noise: Frame
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """A family in which the traces ``moved`` step at the column ``place`` by ``size`` deviations."""

    frame: Frame
    keys: tuple[str, ...]
    moved: Moved
    place: int
    size: float


@dataclass(slots=True)
class Score:
    """Movers and bystanders, how many of each have a step at the place, and what else is reported.

    ``others`` are steps elsewhere, and ``places`` the places of whole families where they lie. ``off`` adds up the
    commits between what movers show and the place.
    """

    families: int = 0
    moved: int = 0
    found: int = 0
    stayed: int = 0
    swept: int = 0
    others: int = 0
    places: int = 0
    off: int = 0

    def __add__(self, other: Score) -> Score:
        """Add the counts of two sets of families."""
        return Score(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def add(self, family: Family, found: Steps) -> None:
        """Count what was ``found`` in one family."""
        elsewhere: list[int] = []
        for steps, moved in zip(found, family.moved.tolist(), strict=True):
            near = [abs(index - family.place) for index in steps if abs(index - family.place) <= MARGIN]
            elsewhere += [index for index in steps if abs(index - family.place) > MARGIN]
            self.moved, self.stayed = self.moved + moved, self.stayed + (not moved)
            self.found += bool(near) and moved
            self.swept += bool(near) and not moved
            self.off += min(near) if near and moved else 0
        self.families += 1
        self.others += len(elsewhere)
        places = sorted(elsewhere)
        self.places += bool(places) + sum(later - earlier > MARGIN for earlier, later in pairwise(places))

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision, over all steps of all traces."""
        return 2 * self.found / max(1, self.moved + self.found + self.swept + self.others)


def quiet_families(groups: Sequence[Traces]) -> list[Quiet]:
    """Cut quiet stretches out of traces that were measured together; traces that are not quiet there are left out."""
    found = []
    for group in groups:
        for first in range(0, group.values.shape[1] - LENGTH + 1, _STRIDE):
            part = group.values[:, first : first + LENGTH]
            scaled = [(row, noise) for row in range(len(part)) if (noise := _quiet(part[row])) is not None]
            if len(scaled) >= _FEWEST:
                chosen = scaled[:_MOST]
                keys = tuple(group.keys[row] for row, _ in chosen)
                found.append(Quiet(np.stack([noise for _, noise in chosen]), keys))
    return found


def _quiet(values: Frame) -> Frame | None:
    """Return the values around their median in their deviation, None where they are not quiet."""
    held = values[~np.isnan(values)]
    if held.size < _MEASURED * values.size:
        return None
    median = float(np.median(held))
    deviation = float(np.median(np.abs(held - median))) / 0.6745
    if deviation <= 0 or deviation > 0.25 * abs(median) or np.median(np.abs(np.diff(held))) <= 0:
        return None
    around = (held - median) / deviation
    splits = range(_PART, held.size - _PART + 1)
    apart = max(abs(float(np.median(around[split:]) - np.median(around[:split]))) for split in splits)
    parts = np.array([np.median(part) for part in np.array_split(around, held.size // _PART)])
    spreads = [float(np.std(np.clip(part, -4, 4))) for part in np.array_split(around, 2)]
    trend = abs(float(np.corrcoef(np.arange(held.size), np.clip(around, -4, 4))[0, 1]))
    if apart > 1.0 or np.abs(parts).max() > 1.2 or trend > 0.25 or max(spreads) > 2.2 * min(spreads):
        return None
    return (values - median) / deviation


def planted(quiet: Sequence[Quiet], size: float, share: float, *, late: bool = False, samples: int = 1) -> list[Family]:
    """Plant a step of ``size`` deviations into a ``share`` of the traces of each family, the same way in all.

    With several ``samples`` a commit, each scatters by one deviation around the value of its commit, as alerts get
    them: by their median.
    """
    families = []
    for number, each in enumerate(each for each in quiet for _ in range(_DRAWS)):
        rng = np.random.default_rng([20261129, number, int(10 * size), int(100 * share)])
        traces, commits = each.noise.shape
        frame = each.noise.copy()
        if samples > 1:
            frame += np.median(rng.normal(size=(samples, traces, commits)), axis=0)
        moved = np.zeros(traces, dtype=np.bool_)
        moved[rng.permutation(traces)[: max(2, round(share * traces)) if share else 0]] = True
        place = commits - LATE if late else int(rng.integers(commits // 5, 4 * commits // 5))
        frame[moved, place:] += size * rng.choice([-1.0, 1.0])
        families.append(Family(100 + frame, each.keys, moved, place, size))
    return families


def _alone(family: Family) -> Steps:
    return [[step.index for step in steps] for steps in find_steps_many(family.frame)]


def _with_members(family: Family) -> Steps:
    """Return what an alert keeps: the steps of each trace, and those that it has at the places of others."""
    alone = find_steps_many(family.frame)
    own = [
        OwnStep(row, step.index, 1 if step.size > 0 else -1)
        for row, steps in enumerate(alone)
        for step in steps
        if step.kind is FindingKind.STEP
    ]
    found = [[step.index for step in steps] for steps in alone]
    for joined in ask_family(dict(enumerate(family.frame)), family.keys, own):
        found[joined.row].append(joined.column)
    return found


def _siblings(family: Family) -> Steps:
    found = explain_jointly(family.frame, family.keys, method="siblings")
    return [[step.index for step in each.steps] for each in found]


def _of_peer(peer: Peer, family: Family) -> Steps:
    """Return what a peer finds, which knows no missing values."""
    found = []
    for row in family.frame:
        held = np.flatnonzero(~np.isnan(row))
        found.append([int(held[index]) for index in peer([row[held]])[0]])
    return found


_OURS: Final[Mapping[str, Callable[[Family], Steps]]] = {
    "default with members": _with_members,
    "siblings": _siblings,
}

_KINDS: Final = (
    ("all moved", 1.0, False, 1),
    ("half moved", 0.5, False, 1),
    ("a fifth moved", 0.2, False, 1),
    ("half moved late", 0.5, True, 1),
    ("half moved, 5 samples a commit", 0.5, False, 5),
)
_WITH_PEER: Final = "half moved"


def family_rows(peer: Peer | None, name: str) -> list[Row]:
    """Return the rows of families; without the reference data there are none."""
    place = place_of_series()
    if place is None:
        return []
    quiet = quiet_families(_groups(place))
    rows: list[Row] = []
    for what, share, late, samples in _KINDS:
        sets = [planted(quiet, size, share, late=late, samples=samples) for size in SIZES]
        scores = {method: [_score(detect, each) for each in sets] for method, detect in _OURS.items()}
        beside = {"alone": [_score(_alone, each) for each in sets]}
        if peer and what == _WITH_PEER:
            beside[name] = [_score(partial(_of_peer, peer), each[::_PEER_EACH]) for each in sets]
        for least in (0.0, CLEAR):
            chosen = [number for number, size in enumerate(SIZES) if size >= least]
            for method, rival in product(scores, beside):
                ours, theirs = (
                    sum((each[number] for number in chosen), Score()) for each in (scores[method], beside[rival])
                )
                sizes = f"{SIZES[chosen[0]]:g} to {SIZES[-1]:g} sigma"
                rows += _rows(f"families, {what} {sizes}, {method}", ours, theirs, rival)
    unchanged = planted(quiet, 0.0, 0.0)
    commits = sum(family.frame.size for family in unchanged) / 1000
    alone = _score(_alone, unchanged).others / commits
    for method, detect in _OURS.items():
        false = _score(detect, unchanged).others / commits
        rows.append(Row(f"families without a change, {method}: steps", "/1000", false, alone, "alone"))
    return rows


def _groups(place: Path) -> list[Traces]:
    histories = place.parent / "histories"
    published = [published_traces(histories / f"{name}_data.js") for name in _HISTORIES]
    return [*read_together(place), *(group for groups in published for group in groups)]


def _score(detect: Callable[[Family], Steps], families: Sequence[Family]) -> Score:
    score = Score()
    for family in families:
        score.add(family, detect(family))
    return score


def _rows(title: str, ours: Score, theirs: Score, rival: str) -> Iterator[Row]:
    yield Row(f"{title}: F1", "", ours.f1, theirs.f1, rival)
    yield Row(f"{title}: found", "share", ours.found / ours.moved, theirs.found / theirs.moved, rival)
    if ours.stayed:
        swept, before = ours.swept / ours.stayed, theirs.swept / theirs.stayed
        yield Row(f"{title}: bystanders swept along", "share", swept, before, rival, Reach.AT_MOST, 0.02)
    places, before = ours.places / ours.families, theirs.places / theirs.families
    yield Row(f"{title}: other places", "a family", places, before, rival)
    yield Row(f"{title}: commits off", "", ours.off / max(1, ours.found), theirs.off / max(1, theirs.found), rival)
