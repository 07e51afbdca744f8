"""Measure how calm findings are: histories replayed commit by commit through the real pipeline (``make bench-watch``).

Each commit is imported as one results file, the alerts run, and the announcement ledger is read. The peer of each row
is the same replay with every new change announced at first sight. The parts are

- ``generated``: noise with known changes, made here; it needs nothing else;
- ``published``: the histories of ``data/histories`` in the directory that ``KNICKPOINT_REFERENCE`` names;
- ``injected``: changes of known sizes, put into quiet parts of the series of ``data/dev-series`` there;
- ``series``: single series of ``data/dev-series`` there, sampled at random with a fixed seed;
- ``members``: which traces of generated groups join a cluster (``watch_members.py``);
- ``places``: how many changes one cause makes where values are noisy (``watch_places.py``);
- ``growth``: what a file takes whose traces belong to a large change (``watch_growth.py``);
- ``machines``: how often results of generated machines are held back (``watch_machines.py``);
- ``dense`` and ``sparse``: the time of runs over large instances (``watch_load.py``);
- ``views``: what a worker's cache of views saves (``watch_views.py``);
- ``backtest``: the time and memory of a backtest (``watch_load.py``);
- ``notifications``: many findings for many recipients (``watch_notifications.py``).

``python benchmarks/watch.py PART…`` runs some parts only, and leaves the file alone; ``--quick`` is ``dense`` and
``sparse`` with fewer traces, which takes about five minutes on one core.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_series import place_of_series, read_real
from table import Reach, Row, finish
from watch_growth import growth_rows
from watch_injected import SIZES, Injected, inject, outcome
from watch_load import backtest_rows, dense_rows, sparse_rows
from watch_machines import machine_rows
from watch_members import member_rows
from watch_notifications import notification_rows
from watch_places import place_rows
from watch_replay import Replay, history_of_series, published_history, replay
from watch_views import view_rows

_SEED: Final = 20261122
_SERIES: Final = 6
_LENGTH: Final = 200
"""Newest values of each sampled series: a replay of more takes minutes."""

_EACH: Final = 4
"""Injected changes of each size."""

_PUBLISHED: Final = ("msal-dotnet", "hyper", "safetensors")
_AT_FIRST_SIGHT: Final = "each new change at first sight"
_PER_FINDING, _DELAY, _WITHIN = 1.15, 6, 20


@dataclass(frozen=True, slots=True)
class _Truth:
    """A generated series with its changes, as places of the first value at each new level."""

    values: NDArray[np.float64]
    places: tuple[int, ...]


def _rows(name: str, replays: Sequence[Replay]) -> list[Row]:
    """Return the rows about some replays together; without any, the same rows without figures."""
    final = sum(len(each.final) for each in replays)
    delays = [delay for each in replays for delay in each.delays]
    first = [delay for each in replays for delay in each.first_delays]

    def share(count: int) -> float | None:
        return count / final if final else None

    return [
        Row(
            f"{name}: changes announced for each change of the end",
            "",
            share(sum(len(each.opened) for each in replays)),
            share(sum(len(each.first_seen) for each in replays)),
            _AT_FIRST_SIGHT,
            Reach.AT_MOST,
            _PER_FINDING,
        ),
        Row(f"{name}: announcements of all kinds for each", "", share(sum(len(each.announced) for each in replays))),
        Row(
            f"{name}: median delay of what stays",
            "values",
            median(delays) if delays else None,
            median(first) if first else None,
            _AT_FIRST_SIGHT,
            Reach.AT_MOST,
            _DELAY,
        ),
        Row(
            f"{name}: longest delay of what stays",
            "values",
            max(delays, default=None),
            max(first, default=None),
            _AT_FIRST_SIGHT,
            Reach.AT_MOST,
            _WITHIN,
        ),
        Row(
            f"{name}: share of what stays that is announced within {_WITHIN} values",
            "",
            sum(delay <= _WITHIN for delay in delays) / len(delays) if delays else None,
            sum(delay <= _WITHIN for delay in first) / len(first) if first else None,
            _AT_FIRST_SIGHT,
        ),
        Row(
            f"{name}: announcements that the end contradicts",
            "",
            float(sum(len(each.contradictions) for each in replays)) if replays else None,
            reach=Reach.AT_MOST,
        ),
    ]


def _generated() -> list[_Truth]:
    """Return series of noise with a level change or none, and one of a drop that recovers."""
    random = np.random.default_rng(_SEED)
    made = []
    for places in ((), (60,), (60,), (40, 80), (50, 58), (60,)):
        size = random.uniform(0.05, 0.15)
        level = np.full(120, 100.0)
        for sign, place in zip((1, -1), places, strict=False):
            level[place:] += 100.0 * sign * size
        made.append(_Truth(level * (1 + 0.015 * random.standard_normal(120)), places))
    return made


def _generated_rows() -> list[Row]:
    """Return how often a known change is announced, and on the right commit."""
    truths = _generated()
    replays = [replay(history_of_series(each.values, name=f"generated{k}")) for k, each in enumerate(truths)]
    known = sum(len(each.places) for each in truths)
    hits = [
        sum(any(change.covers(place) for change in done.announced if change.opens) for place in truth.places)
        for truth, done in zip(truths, replays, strict=True)
    ]
    parts = [
        sum(
            change.kind == "recovered" and change.commit >= place
            for change in done.announced
            for place in truth.places[1:]
        )
        for truth, done in zip(truths, replays, strict=True)
    ]
    opened = sum(len(done.opened) for done in replays)
    return [
        Row("generated: known changes announced on their commit", "", (sum(hits) + sum(parts)) / known),
        Row(
            "generated: changes announced for each known one",
            "",
            opened / known,
            reach=Reach.AT_MOST,
            bound=_PER_FINDING,
        ),
        *_rows("generated", replays),
    ]


def _published_rows() -> list[Row]:
    rows = []
    for name in _PUBLISHED:
        place = place_of_series()
        file = place.parent / "histories" / f"{name}_data.js" if place else Path()
        rows += _rows(name, [replay(published_history(file))] if file.is_file() else [])
    return rows


def _series_rows() -> list[Row]:
    place = place_of_series()
    replays = []
    if place is not None:
        series = read_real(place)
        chosen = np.random.default_rng(_SEED).choice(len(series), _SERIES, replace=False)
        names = sorted(series)
        replays = [
            replay(history_of_series(series[names[number]][-_LENGTH:], name=f"series{number}"))
            for number in sorted(chosen.tolist())
        ]
    return _rows(f"{_SERIES} development series", replays)


def _injected_rows() -> list[Row]:
    """Return for each size how many changes are announced, how soon, and how soon a test that knows place and size would (for normal noise)."""
    place = place_of_series()
    series = read_real(place) if place else {}
    made = inject([series[name] for name in sorted(series)], _SEED, each=_EACH) if series else []
    rows: list[Row] = []
    others = 0
    for size in SIZES:
        changes = [each for each in made if each.size == size]
        done = [replay(history_of_series(each.values, name=f"injected{k}")) for k, each in enumerate(changes)]
        delays, announced, false = outcome(changes, done)
        others += false
        rows += _rows_of_size(size, changes, delays, announced)
    name = f"injected: announcements of other changes in {_EACH * len(SIZES)} histories"
    return [*rows, Row(name, "", float(others) if made else None)]


def _rows_of_size(size: float, changes: Sequence[Injected], delays: Sequence[int], announced: int) -> list[Row]:
    name = f"injected, {size:g} deviations"
    return [
        Row(f"{name}: share announced", "", len(delays) / len(changes) if changes else None),
        Row(f"{name}: announcements for each", "", announced / len(delays) if delays else None),
        Row(
            f"{name}: median delay",
            "values",
            median(delays) if delays else None,
            median(each.soonest for each in changes) if changes else None,
            "a test that knows place and size",
        ),
    ]


_PARTS: Final = {
    "generated": _generated_rows,
    "published": _published_rows,
    "injected": _injected_rows,
    "series": _series_rows,
    "members": member_rows,
    "places": place_rows,
    "growth": growth_rows,
    "machines": machine_rows,
    "dense": dense_rows,
    "sparse": sparse_rows,
    "views": view_rows,
    "backtest": backtest_rows,
    "notifications": notification_rows,
}


_QUICK: Final = {"dense": partial(dense_rows, quick=True), "sparse": partial(sparse_rows, quick=True)}


def main(only: Sequence[str]) -> None:
    """Replay the histories of the parts, and print and write the table."""
    if unknown := sorted(set(only) - set(_PARTS) - {"--quick"}):
        sys.exit(f"there is no part {unknown[0]!r}: choose from {', '.join(_PARTS)}")
    if "--quick" in only:
        chosen = [part for name, part in _QUICK.items() if only == ["--quick"] or name in only]
        finish("watch", [row for part in chosen for row in part()], only=only)
        return
    finish("watch", [row for name, part in _PARTS.items() if not only or name in only for row in part()], only=only)


if __name__ == "__main__":
    main(sys.argv[1:])
