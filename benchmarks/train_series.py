"""Make series to learn from: steps injected into noise, real and generated, and noise without steps.

Real noise is what the reference data has of quiet stretches: the labelled series with their injected steps taken out
again, and stretches of the real series in which no split shows a change. New steps, spikes and changes of variance go
in with fresh random numbers. Without reference data everything is generated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from accuracy_noise import FAMILIES, autocorrelated
from accuracy_series import Labelled, read_labelled, read_real
from knickpoint.model.distribution import MAD

__all__ = ["Example", "examples", "quiet_stretches"]

Array = NDArray[np.float64]
Base = tuple[str, Array]

_KINDS: Final = ("none", "one", "recent", "one and spikes", "two", "bump", "spikes", "variance")
_REAL_SHARES: Final = (0.18, 0.34, 0.08, 0.07, 0.13, 0.08, 0.06, 0.06)
_GENERATED_SHARES: Final = (0.52, 0.18, 0.05, 0.03, 0.06, 0.1, 0.02, 0.04)
_SITUATIONS: Final = ("real", "generated", "unchanged", "many", "newest")
_SITUATION_SHARES: Final = (0.33, 0.22, 0.27, 0.07, 0.11)
_FAMILIES: Final = (*FAMILIES, "normal", "heavy-tailed", "AR(1) weak", "log-normal")


@dataclass(frozen=True, slots=True)
class Example:
    """Hold a series to learn from; ``source`` is the repository of its noise, "generated" where there is none."""

    values: Array
    places: tuple[int, ...]
    kind: str
    source: str


def _deviation(values: Array) -> float:
    return MAD * float(np.median(np.abs(values - np.median(values))))


def _without_steps(series: list[Labelled]) -> list[Base]:
    """Return the longest stretch of noise for each place that labelled series were made from."""
    found: dict[tuple[str, str, int], Array] = {}
    for item in series:
        if item.kind not in {"zero", "one", "two", "recent", "drop-recover"}:
            continue
        values = item.values.copy()
        for place, size in zip(item.places, item.sizes, strict=True):
            values[place:] -= size
        key = (item.source, item.series, item.start)
        if key not in found or found[key].size < values.size:
            found[key] = values
    return [(key[0], values) for key, values in found.items()]


def _is_quiet(values: Array) -> bool:
    """Say whether halves, quarters, splits and dozens of values agree in level, and halves in noise."""
    n, deviation = values.size, _deviation(values)
    step = MAD * float(np.median(np.abs(np.diff(values)))) / np.sqrt(2)
    if not (deviation > 0 and step > 0 and deviation < 0.25 * abs(float(np.median(values))) and deviation < 1.5 * step):
        return False
    for parts, bound in ((2, 0.5), (4, 0.9)):
        if np.ptp([np.median(part) for part in np.array_split(values, parts)]) > bound * deviation:
            return False
    for place in range(12, n - 11, 3):
        bound = 0.6 * max(1.0, 1.3 * np.sqrt(12 / min(place, n - place)))
        if abs(np.median(values[:place]) - np.median(values[place:])) > bound * deviation:
            return False
    dozens = [np.median(values[first : first + 12]) for first in range(0, n - 11, 4)]
    halves = sorted((_deviation(values[: n // 2]), _deviation(values[n // 2 :])))
    return bool(np.ptp(dozens) <= 2.2 * deviation and halves[0] > 0 and halves[1] < 2.2 * halves[0])


def quiet_stretches(rng: np.random.Generator, real: Mapping[Any, Array], per_series: int = 4) -> list[Base]:
    """Return up to ``per_series`` stretches without apparent change of each series, with the repository."""
    found: list[Base] = []
    for (source, _), values in real.items():
        quiet: list[Base] = []
        for _ in range(40):
            n = int(rng.choice([60, 70, 80, 100, 120, 150, 200, 250]))
            if n > values.size or len(quiet) == per_series:
                continue
            first = int(rng.integers(0, values.size - n + 1))
            stretch = values[first : first + n]
            if np.isfinite(stretch).all() and _is_quiet(stretch):
                quiet.append((source, stretch))
        found += quiet
    return found


def _generate(rng: np.random.Generator, n: int) -> Array:
    family = _FAMILIES[rng.integers(len(_FAMILIES))]
    weak = family == "AR(1) weak"
    noise = autocorrelated(rng, n, rng.uniform(0.1, 0.5)) if weak else FAMILIES[family](rng, n)
    sign = float(rng.choice([-1.0, 1.0]))
    return 100 + 2 * sign * noise


def _resample(rng: np.random.Generator, values: Array, n: int) -> Array:
    """Return ``n`` values in blocks of 5 to 30 of the given ones."""
    blocks: list[Array] = []
    while sum(block.size for block in blocks) < n:
        size = int(rng.choice([5, 10, 20, 30]))
        first = int(rng.integers(0, max(1, values.size - size)))
        blocks.append(values[first : first + size])
    return np.concatenate(blocks)[:n]


def _size(rng: np.random.Generator, values: Array) -> float:
    relative = rng.random() < 0.5
    size = (
        abs(float(np.median(values))) * rng.choice([0.01, 0.02, 0.05, 0.1, 0.2])
        if relative
        else _deviation(values) * rng.choice([0.5, 1, 1.5, 2, 3, 5])
    )
    return float(size * rng.choice([-1.0, 1.0]))


def _spikes(rng: np.random.Generator, values: Array, count: int) -> None:
    deviation = _deviation(values)
    for _ in range(count):
        sign = 1 if rng.random() < 0.7 else -1
        values[rng.integers(0, values.size)] += deviation * rng.uniform(5, 20) * sign


def _inject(rng: np.random.Generator, base: Array, kind: str, *, plain: bool) -> tuple[Array, tuple[int, ...]]:
    """Return ``base`` with what ``kind`` says, and the places of its steps."""
    values, n = base.copy(), base.size
    places: list[int] = []
    sizes = [_size(rng, base), _size(rng, base)]
    if kind in {"one", "one and spikes"}:
        places = [int(rng.integers(12, n - 11))]
    elif kind == "recent":
        places = [n - int(rng.integers(3, 13))]
    elif kind == "two":
        first = int(rng.integers(12, n - 27))
        places = [first, int(rng.integers(first + 15, n - 11))]
    elif kind == "bump":
        width = int(rng.integers(3, 9))
        first = int(rng.integers(12, n - 12 - width))
        places = [first, first + width]
        if plain and rng.random() < 0.6:
            sizes[0] = _deviation(base) * rng.choice([2, 2.5, 3, 3, 4, 5]) * rng.choice([-1.0, 1.0])
        sizes[1] = -sizes[0]
    elif kind == "variance":
        place, centre = int(rng.integers(n // 4, 3 * n // 4)), float(np.median(values))
        values[place:] = centre + (values[place:] - centre) * rng.uniform(2, 4)
    for place, size in zip(places, sizes, strict=False):
        values[place:] += size
    if "spikes" in kind:
        _spikes(rng, values, int(rng.integers(1, 4)))
    return values, tuple(places)


def _newest(rng: np.random.Generator, base: Array) -> tuple[Array, tuple[int, ...]]:
    """Return a history that ends 3 to 24 values after its only step."""
    place = int(rng.integers(12, base.size - 11))
    strong = _deviation(base) * rng.choice([2, 2.5, 3, 4, 5, 7, 10]) * rng.choice([-1.0, 1.0])
    values = base.copy()
    values[place:] += strong if rng.random() < 0.5 else _size(rng, base)
    stop = place + int(rng.integers(3, 25))
    first = max(0, stop - 150)
    return values[first:stop], (place - first,)


def _many(rng: np.random.Generator, base: Array) -> tuple[Array, tuple[int, ...]]:
    """Return a long history with many steps, some of them bumps."""
    n = int(rng.integers(100, 800))
    values = _resample(rng, base, n)
    deviation = _deviation(base)
    most = int(rng.integers(2, max(3, n // 30)))
    places: list[int] = []
    sizes: list[float] = []
    place = int(rng.integers(8, 40))
    while place < n - 8 and len(places) < most:
        places.append(place)
        back = bool(sizes) and rng.random() < 0.3
        size = deviation * np.exp(rng.uniform(np.log(0.7), np.log(15))) * rng.choice([-1.0, 1.0])
        sizes.append(-sizes[-1] if back else float(size))
        short = rng.random() < 0.15
        place += int(rng.integers(4, 12)) if short else int(rng.integers(12, 2 * n // most + 14))
    for start, size in zip(places, sizes, strict=True):
        values[start:] += size
    if rng.random() < 0.3:
        _spikes(rng, values, int(rng.integers(1, 8)))
    return values, tuple(places)


def _young(rng: np.random.Generator, base: Array) -> Array:
    """Return a stretch of 30 to 125 values, wherever it begins."""
    n = int(rng.integers(30, min(base.size, 125) + 1))
    first = int(rng.integers(0, base.size - n + 1))
    return base[first : first + n]


def _shorten(rng: np.random.Generator, values: Array) -> Array:
    if rng.random() >= 0.3 or values.size <= 70:
        return values
    n = int(rng.integers(60, values.size + 1))
    first = int(rng.integers(0, values.size - n + 1))
    return values[first : first + n]


def _unchanged(rng: np.random.Generator, values: Array, source: str) -> Example:
    if rng.random() < 0.35:
        return Example(_resample(rng, values, int(rng.integers(60, 250))), (), "resampled", source)
    if rng.random() < 0.15:
        values, source = _generate(rng, 200), "generated"
    return Example(_young(rng, values), (), "young", source)


def _example(rng: np.random.Generator, base: Base) -> Example:
    source, values = base[0], _shorten(rng, base[1])
    situation = str(rng.choice(_SITUATIONS, p=_SITUATION_SHARES))
    if situation == "unchanged":
        return _unchanged(rng, values, source)
    if situation == "real":
        kind = str(rng.choice(_KINDS, p=_REAL_SHARES))
        return Example(*_inject(rng, values, kind, plain=False), kind, source)
    made_up = {"generated": 1.0, "many": 0.35, "newest": 0.2}[situation]
    if rng.random() < made_up:
        sizes = (60, 100, 150) if situation == "newest" else (60, 80, 100, 150, 200, 200, 200, 300)
        values, source = _generate(rng, int(rng.choice(sizes))), "generated"
    if situation == "many":
        return Example(*_many(rng, values), situation, source)
    if situation == "newest":
        return Example(*_newest(rng, values), situation, source)
    kind = str(rng.choice(_KINDS, p=_GENERATED_SHARES))
    return Example(*_inject(rng, values, kind, plain=True), kind, source)


def examples(place: Path | None, seed: int, count: int) -> list[Example]:
    """Make ``count`` examples from the labelled series in ``place``, or from generated noise alone."""
    rng = np.random.default_rng(seed)
    by_source: dict[str, list[Array]] = {}
    if place is None:
        by_source["generated"] = [_generate(rng, int(rng.choice([60, 80, 120, 200]))) for _ in range(500)]
    else:
        labelled = _without_steps(read_labelled(place, "injected"))
        for source, values in [*labelled, *labelled, *quiet_stretches(rng, read_real(place))]:
            if _deviation(values) > 0:
                by_source.setdefault(source, []).append(values)
    sources = sorted(by_source)
    weights = np.array([len(by_source[source]) for source in sources]) ** 0.7
    found = []
    for _ in range(count):
        source = sources[rng.choice(len(sources), p=weights / weights.sum())]
        pool = by_source[source]
        found.append(_example(rng, (source, pool[rng.integers(len(pool))])))
    return found
