"""Name what explains the modes of a trace that flips between levels: a fact of its runs, such as the machine or the runner.

Each value belongs to the mode that is nearest to it. A fact explains the modes when knowing it removes at least half of the
errors in guessing the mode: the measure lambda of Goodman and Kruskal, "Measures of association for cross classifications",
JASA 49 (1954).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.frame import Frame
from knickpoint.model.step import Flipping
from knickpoint.store import Store
from knickpoint.store.points.environments import environments_at

__all__ = ["FactMode", "ModeCause", "find_mode_cause", "modes_of", "read_mode_cause"]

_LEAST_LAMBDA: Final = 0.5
"""Share of the errors that knowing a fact has to remove."""

_FEWEST: Final = 5
"""Values that each text of a fact needs on average: what is another one at every run explains everything, and nothing."""


@dataclass(frozen=True, slots=True)
class FactMode:
    """The values measured where a fact had a ``text``: a ``share`` of these ``count`` values lies in one ``mode``, by number."""

    text: str
    mode: int
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class ModeCause:
    """The ``fact`` that explains the modes, with the mode of each of its texts; a ``share`` of all values lies where it says."""

    fact: str
    share: float
    texts: tuple[FactMode, ...]


def modes_of(values: NDArray[np.float64], stretch: Flipping) -> NDArray[np.int64]:
    """Return the number of the nearest mode of ``stretch`` for each of ``values``."""
    distances = np.abs(values[:, None] - np.array(stretch.levels))
    return np.asarray(distances.argmin(axis=1), dtype=np.int64)


def find_mode_cause(modes: Sequence[int], facts: Sequence[Mapping[str, str]]) -> ModeCause | None:
    """Return the fact that explains ``modes`` best, None where none removes half of the errors of guessing.

    ``facts`` are those of the run of each value. Of equal facts the first by name counts.
    """
    if not modes:
        return None
    found = [each for name in sorted({name for each in facts for name in each}) if (each := _cause(name, modes, facts))]
    return max(found, key=lambda cause: cause.share, default=None)


def _cause(name: str, modes: Sequence[int], facts: Sequence[Mapping[str, str]]) -> ModeCause | None:
    by_text: dict[str, Counter[int]] = defaultdict(Counter)
    for mode, each in zip(modes, facts, strict=True):
        by_text[each.get(name, "")][mode] += 1
    if len(by_text) < 2 or len(modes) < _FEWEST * len(by_text):
        return None
    guessed = Counter(modes).most_common(1)[0][1]
    texts = []
    for text, counts in sorted(by_text.items()):
        mode, right = max(sorted(counts.items()), key=lambda pair: pair[1])
        texts.append(FactMode(text, mode, counts.total(), right / counts.total()))
    known = sum(round(each.share * each.count) for each in texts)
    errors = len(modes) - guessed
    if not errors or (known - guessed) / errors < _LEAST_LAMBDA:
        return None
    return ModeCause(name, known / len(modes), tuple(texts))


def read_mode_cause(store: Store, frame: Frame, values: NDArray[np.float64], stretch: Flipping) -> ModeCause | None:
    """Return what explains the modes of a ``stretch`` of the first trace of ``frame``.

    ``values`` (nan for missing) are those that ``stretch`` counts by: the columns of the frame.
    """
    columns = np.flatnonzero(~np.isnan(values[stretch.first : stretch.last + 1])) + stretch.first
    measured = frame.slots[columns].tolist()
    facts = environments_at(store.runs, frame.line, frame.traces[0].id, measured)
    return find_mode_cause(modes_of(values[columns], stretch).tolist(), [facts.get(slot, {}) for slot in measured])
