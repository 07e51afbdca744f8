"""Read the labelled series of the reference data: real noise with injected steps, and resampled noise without.

They lie in ``data/dev-series`` of the directory that ``KNICKPOINT_REFERENCE`` names.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Labelled", "Traces", "place_of_series", "read_labelled", "read_real", "read_together"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Hold a series with known truth.

    ``places`` are the first points of the new levels, ``sizes`` the signed jumps, ``strengths`` their sizes over the
    noise. ``source`` and ``series`` name where the noise comes from, and ``start`` its first row there.
    """

    kind: str
    source: str
    series: str
    start: int
    values: Array
    places: tuple[int, ...]
    sizes: tuple[float, ...]
    strengths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces of one suite that are measured at the same commits: traces x commits, ``nan`` for missing."""

    keys: tuple[str, ...]
    values: Array


def place_of_series() -> Path | None:
    """Return the directory of the labelled series, None where there is none."""
    named = os.environ.get("KNICKPOINT_REFERENCE")
    reference = Path(named) if named else Path(__file__).resolve().parent.parent.parent / "shared"
    place = reference / "data" / "dev-series"
    return place if (place / "injected.labels.json").is_file() else None


def _columns(path: Path, key: tuple[str, ...]) -> dict[tuple[str, ...], Array]:
    """Return the values of each series of a long CSV, in the order of the file."""
    found: dict[tuple[str, ...], list[float]] = {}
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(tuple(row[name] for name in key), []).append(float(row["value"] or "nan"))
    return {name: np.array(values) for name, values in found.items()}


def read_labelled(place: Path, name: str) -> list[Labelled]:
    """Read ``name``, "injected" or "null", from the directory ``place``."""
    values = _columns(place / f"{name}.csv.gz", ("id",))
    return [
        Labelled(
            kind=label["kind"],
            source=label["source"],
            series=label["series"],
            start=int(label.get("start", 0)),
            values=values[label["id"],],
            places=tuple(label["cps"]),
            sizes=tuple(label.get("sizes", ())),
            strengths=tuple(label.get("snr", ())),
        )
        for label in json.loads((place / f"{name}.labels.json").read_text())
    ]


def read_real(place: Path) -> dict[tuple[str, ...], Array]:
    """Read the real series, unlabelled: (source, series) to values in the order of the commits."""
    return _columns(place / "real.csv.gz", ("source", "series"))


def read_together(place: Path) -> list[Traces]:
    """Read the real series of each suite that were measured together, in the order of the longest of them."""
    suites: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    with gzip.open(place / "real.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            suite = suites.setdefault((row["source"], row["series"].partition("::")[0]), {})
            suite.setdefault(row["series"], {})[row["commit"]] = float(row["value"] or "nan")
    return [group for series in suites.values() for group in _together(series)]


def _together(series: dict[str, dict[str, float]]) -> list[Traces]:
    """Divide series by the commits that they share with the longest one that is left; a series alone is left out."""
    left, found = dict(series), []
    while left:
        commits = max(left.values(), key=len)
        chosen = [name for name, values in left.items() if 2 * len(values.keys() & commits.keys()) >= len(values)]
        if len(chosen) > 1:
            rows = [[left[name].get(commit, float("nan")) for commit in commits] for name in chosen]
            keys = tuple(f",benchmark={name.replace(',', ';').replace('=', ':')}," for name in chosen)
            found.append(Traces(keys, np.array(rows)))
        left = {name: values for name, values in left.items() if name not in chosen}
    return found
