"""Make unchanged pull requests: histories of many benchmarks and new samples of the same noise, seeded."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_noise import FAMILIES
from accuracy_series import Labelled

__all__ = ["KINDS", "PullRequest", "generated", "of_series"]

Array = NDArray[np.float64]

RELATIVE: Final = 0.02
"""Standard deviation of the noise over the level."""

_LEVELS: Final = 2.0
"""Standard deviation of the logarithm of the levels of the benchmarks."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Histories (benchmarks x commits) and samples of the new side (benchmarks x samples); lower is better."""

    histories: Array
    samples: Array

    def with_change(self, benchmark: int, share: float) -> PullRequest:
        """Return the same with one benchmark worse by a share of its level."""
        samples = self.samples.copy()
        samples[benchmark] *= 1 + share
        return PullRequest(self.histories, samples)


def _wild(rng: np.random.Generator, n: int) -> Array:
    return np.asarray(rng.standard_t(2, n) / 1.5)


KINDS: Final[dict[str, Callable[[np.random.Generator, int], Array]]] = {
    "normal": FAMILIES["normal"],
    "t, 3 degrees of freedom": FAMILIES["heavy-tailed"],
    "t, 2 degrees of freedom": _wild,
    "log-normal": FAMILIES["log-normal"],
    "two modes": FAMILIES["bimodal"],
    "two modes, sticky": FAMILIES["sticky modes"],
    "outliers": FAMILIES["outliers"],
    "quantised": FAMILIES["quantised"],
    "AR(1) 0.5": FAMILIES["AR(1) 0.5"],
    "AR(1) 0.8": FAMILIES["AR(1) 0.8"],
}
"""Families of noise of about unit variance; "mixed" and "shared machine" are made of them."""


SESSIONS: Final = {
    "one session": ("normal", 0.0025),
    "one session, t": ("t, 3 degrees of freedom", 0.0025),
    "one session, outliers": ("outliers", 0.0025),
    "half a session, t": ("t, 3 degrees of freedom", 0.5),
    "half a session, outliers": ("outliers", 0.5),
}
"""Samples that share the noise of one commit: its family, and the part of the variance that each sample has to itself.
"""


def _rng(*key: object) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(str(part).encode()) for part in key])


def generated(kind: str, seed: int, benchmarks: int, commits: int, samples: int) -> PullRequest:
    """Return an unchanged pull request; the samples go on where the history ends.

    "mixed" has another family for each benchmark. "shared machine" has normal noise of which half is that of the
    commit's machine. "one session" has samples that share the noise of one commit, but for a twentieth of it.
    """
    rng = _rng(kind, seed, benchmarks, commits, samples)
    length = commits + samples
    families = list(KINDS.values())
    if kind == "shared machine":
        noise = (rng.standard_normal((benchmarks, length)) + rng.standard_normal(length)) / np.sqrt(2)
    elif kind in SESSIONS:
        family, apart = SESSIONS[kind]
        noise = np.stack([KINDS[family](rng, length) for _ in range(benchmarks)])
        own = np.stack([KINDS[family](rng, samples) for _ in range(benchmarks)])
        noise[:, commits:] = np.sqrt(1 - apart) * noise[:, commits : commits + 1] + np.sqrt(apart) * own
    else:
        rows = [families[row % len(families)] if kind == "mixed" else KINDS[kind] for row in range(benchmarks)]
        noise = np.stack([family(rng, length) for family in rows])
    values = (1 + RELATIVE * noise) * np.exp(rng.normal(0, _LEVELS, benchmarks))[:, None]
    return PullRequest(values[:, :commits], values[:, commits:])


def of_series(series: list[Labelled], seed: int, benchmarks: int, commits: int, samples: int) -> PullRequest:
    """Return an unchanged pull request made of stretches of real series without a change, at random places."""
    rng = _rng("series", seed, benchmarks, commits, samples)
    length = commits + samples
    usable = [each.values for each in series if each.values.size >= length]
    stretches = []
    for pick in rng.integers(0, len(usable), benchmarks):
        start = int(rng.integers(0, usable[pick].size - length + 1))
        stretches.append(usable[pick][start : start + length])
    values = np.stack(stretches)
    return PullRequest(values[:, :commits], values[:, commits:])
