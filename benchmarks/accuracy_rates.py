"""Measure whether the rate of false alarms holds: at each length on generated noise, and in each repository on real series.

The real series are quiet stretches, found by :func:`train_series.quiet_stretches`. Those of ``data/histories`` are of
repositories that took no part in learning. Stretches of one series may overlap.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_noise import FAMILIES, LEVEL, autocorrelated
from knickpoint.detect import find_steps_many
from knickpoint.detect.methods.default.model import FALSE_ALARMS
from knickpoint.model.distribution import MAD
from table import Reach, Row
from train_series import quiet_stretches

__all__ = ["LENGTHS", "NOISES", "elsewhere_rows", "length_rows", "read_histories"]

Array = NDArray[np.float64]

LENGTHS: Final = (10, 16, 20, 24, 32, 48, 60, 72, 88, 100, 128, 300, 450, 1000, 5000)
_VALUES: Final = 250_000
"""Generated values of each noise and length; with fewer than 25,000 series, at most these."""

_MOST: Final = 10_000

NOISES: Final[Mapping[str, Callable[[np.random.Generator, int], Array]]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "log-normal": FAMILIES["log-normal"],
    "two modes": FAMILIES["bimodal"],
    "AR(1) 0.2": lambda rng, n: autocorrelated(rng, n, 0.2),
    "AR(1) 0.3": lambda rng, n: autocorrelated(rng, n, 0.3),
    "AR(1) 0.5": lambda rng, n: autocorrelated(rng, n, 0.5),
}

_NEVER_LEARNT: Final = ("hyper", "msal-dotnet")
_STRETCHES: Final = 20
"""Quiet stretches of a series, at most."""

_BESIDE: Final = 12
_FARTHEST: Final = 0.78
"""Values on either side of a stretch whose median is at its level: at most so many standard deviations off, as for
twelve values within it.
"""


def false_alarms(noise: str, length: int) -> float:
    """Return the findings per 1,000 values of generated series without change."""
    rng = np.random.default_rng([7, zlib.crc32(f"{noise} {length}".encode())])
    count = min(_MOST, _VALUES // length)
    frame = np.array([LEVEL + 2 * NOISES[noise](rng, length) for _ in range(count)])
    found = find_steps_many(frame, threads=1)
    return 1000 * sum(len(steps) for steps in found) / frame.size


def length_rows() -> list[Row]:
    """Measure each noise at each length; for normal noise the promised rate is wanted."""
    rows = []
    for noise, length in product(NOISES, LENGTHS):
        reach = (Reach.AT_MOST, FALSE_ALARMS) if noise == "normal" else ()
        title = f"{noise}, {length} commits: false alarms"
        rows.append(Row(title, "/1000", false_alarms(noise, length), None, "", *reach))
    return rows


def read_histories(place: Path) -> dict[tuple[str, str], Array]:
    """Return the series of repositories that took no part in learning, by repository and name; a value a commit."""
    found: dict[tuple[str, str], list[float]] = {}
    for repository in _NEVER_LEARNT:
        text = (place / f"{repository}_data.js").read_text()
        entries = json.loads(text[text.index("{") :].rstrip().rstrip(";"))["entries"]
        for suite, runs in entries.items():
            first = {run["commit"]["id"]: run for run in reversed(runs)}
            for run in reversed(first.values()):
                for bench in run["benches"]:
                    found.setdefault((repository, f"{suite}/{bench['name']}"), []).append(float(bench["value"]))
    return {name: np.array(values) for name, values in found.items()}


def elsewhere_rows(place: Path | None) -> list[Row]:
    """Measure repositories that took no part in learning; ``place`` is ``data/histories``, None where it is missing."""
    stretches: Mapping[str, list[Array]] = {}
    surrounded: Mapping[str, list[Array]] = {}
    if place is not None:
        histories = read_histories(place)
        quiet = quiet_stretches(np.random.default_rng(5), histories, _STRETCHES)
        stretches = _by_repository(quiet)
        surrounded = _by_repository([each for each in quiet if _is_surrounded(each[1], histories)])
    counts = {name: _counted(several) for name, several in sorted(stretches.items())}
    rates = {name: 1000 * sum(found) / points for name, (found, points) in counts.items()}
    rows = [Row(f"unchanged series of {name}: false alarms", "/1000", rate) for name, rate in rates.items()]
    every = [each for found, _ in counts.values() for each in found]
    points = sum(points for _, points in counts.values())
    mean = 1000 * sum(every) / points if points else None
    alarmed = 100 * float(np.mean([each > 0 for each in every])) if every else None
    worst = max(rates.values(), default=None)
    rows += [
        Row(
            f"{name}, {len(several)} of {len(stretches[name])} stretches that lie within a level: false alarms",
            "/1000",
            1000 * sum(found) / points,
        )
        for name, several in sorted(surrounded.items())
        for found, points in [_counted(several)]
    ]
    return [
        *rows,
        Row("elsewhere: false alarms on unchanged real series", "/1000", mean, None, "", Reach.AT_MOST, 0.4),
        Row("elsewhere: false alarms, worst repository", "/1000", worst, None, "", Reach.AT_MOST, 1.0),
        Row("elsewhere: unchanged series with any alarm", "%", alarmed, None, "", Reach.AT_MOST, 3.0),
    ]


def _is_surrounded(stretch: Array, histories: Mapping[tuple[str, str], Array]) -> bool:
    """Return whether the values right before and after ``stretch``, wherever it was cut from, lie at its level.

    A stretch may begin a few values before a level ends: then a change at its border is none of its noise.
    """
    level, deviation = float(np.median(stretch)), MAD * float(np.median(np.abs(stretch - np.median(stretch))))
    for values in histories.values():
        if values.size < stretch.size:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(values, stretch.size)
        for first in np.flatnonzero((windows == stretch).all(axis=1)).tolist():
            sides = values[max(0, first - _BESIDE) : first], values[first + stretch.size :][:_BESIDE]
            if any(side.size and abs(float(np.median(side)) - level) > _FARTHEST * deviation for side in sides):
                return False
    return True


def _by_repository(stretches: Sequence[tuple[str, Array]]) -> dict[str, list[Array]]:
    found: dict[str, list[Array]] = {}
    for repository, values in stretches:
        found.setdefault(repository, []).append(values)
    return found


def _counted(series: Sequence[Array]) -> tuple[list[int], int]:
    """Return the findings in each series, and how many values they have together."""
    found = [len(find_steps_many(values[None, :], threads=1)[0]) for values in series]
    return found, sum(values.size for values in series)
