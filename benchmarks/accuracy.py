"""Measure how well the default method finds changes, beside its peers, all figures for one setting.

::

    python benchmarks/accuracy.py             # everything: generated noise, labelled series, peers
    python benchmarks/accuracy.py generated   # only what needs no reference data
    python benchmarks/accuracy.py labelled
    python benchmarks/accuracy.py drift       # generated slow changes
    python benchmarks/accuracy.py sizes       # intervals of sizes, on generated noise
    python benchmarks/accuracy.py samples     # several samples of a commit
    python benchmarks/accuracy.py noise       # changes of the noise
    python benchmarks/accuracy.py siblings    # weak changes that related traces share
    python benchmarks/accuracy.py families    # planted steps in real noise of traces measured together
    python benchmarks/accuracy.py rates       # false alarms by length of the series, and in other repositories
    python benchmarks/accuracy.py past        # what changes long ago when something new happens
    python benchmarks/accuracy.py --forests F # labelled series, each by the forest that never saw its repository

The labelled series are in the directory that ``KNICKPOINT_REFERENCE`` names; without it their rows are not measured.
``train_default.py --forests F`` writes the forests.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from accuracy_drift import drift_rows
from accuracy_families import family_rows
from accuracy_noise import INDEPENDENT, Known, bump, flip, noise, rare, step
from accuracy_past import past_rows
from accuracy_rates import elsewhere_rows, length_rows
from accuracy_samples import sample_rows
from accuracy_score import (
    REPEATS,
    WATCHED,
    Counts,
    Detector,
    Online,
    count,
    f1,
    false_per_1000,
    interval,
    looks,
    match,
    median_delay,
    online,
    within,
)
from accuracy_series import Labelled, place_of_series, read_labelled
from accuracy_siblings import sibling_rows
from accuracy_sizes import size_rows
from accuracy_spread import spread_rows
from knickpoint.detect import find_steps
from knickpoint.detect.methods.default.acceptance import search
from knickpoint.detect.methods.default.model import FALSE_ALARMS
from knickpoint.native.forest import Forest
from peers import peer_python
from table import Reach, Row, finish

Array = NDArray[np.float64]

SERIES: Final = 1000
"""Generated series of each family."""

PEER_SERIES: Final = 200
"""How many of them a peer gets, which takes a hundred times as long."""

_PARTS: Final = ("generated", "drift", "sizes", "samples", "noise", "siblings", "families", "past", "rates", "labelled")

_ALONE: Final = {
    "sizes": size_rows,
    "samples": sample_rows,
    "noise": spread_rows,
    "siblings": sibling_rows,
    "past": past_rows,
}
"""Parts that are measured without a peer."""

SCRIPT: Final = Path(__file__).resolve().parent / "accuracy_peers.py"


def ours(series: Sequence[Array], _: str) -> list[list[int]]:
    """Find steps by the default method at its default setting."""
    return [[found.index for found in find_steps(values)] for values in series]


@dataclass(frozen=True, slots=True)
class Peer:
    """Hold a running peer; ``detect`` asks it about series."""

    name: str
    process: subprocess.Popen[str]

    def detect(self, series: Sequence[Array], _: str) -> list[list[int]]:
        """Return the places that the peer finds in each series."""
        assert self.process.stdin
        assert self.process.stdout
        found = []
        for values in series:
            self.process.stdin.write(json.dumps(values.tolist()) + "\n")
            self.process.stdin.flush()
            found.append(json.loads(self.process.stdout.readline()))
        return found


def start_peer(environment: str, name: str, title: str) -> Peer | None:
    """Start a peer in its environment; None where that cannot be set up."""
    python = peer_python(environment)
    if python is None:
        return None
    command = [str(python), str(SCRIPT), name]
    return Peer(title, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))


def _found_share(detect: Detector, known: Iterable[Known]) -> float:
    """Return the share, in percent, of series with any report."""
    return 100 * float(np.mean([bool(found) for found in detect([series.values for series in known], "generated")]))


def _located_share(detect: Detector, known: Sequence[Known], margin: int) -> float:
    """Return the share, in percent, of series in which every true place was found."""
    runs = detect([series.values for series in known], "generated")
    hits = [
        len(match(found, series.places, margin)) == len(series.places)
        for found, series in zip(runs, known, strict=True)
    ]
    return 100 * float(np.mean(hits))


def generated(detect: Detector, peer: Peer | None) -> list[Row]:
    """Measure on generated noise of known truth, 200 points a series."""
    name = peer.name if peer else ""
    seeds = range(SERIES)

    def both(measure: Any, known: Sequence[Known], *options: int) -> tuple[float, float | None]:
        other = measure(peer.detect, known[:PEER_SERIES], *options) if peer else None
        return measure(detect, known, *options), other

    rows = []
    for family in (*INDEPENDENT, "AR(1) 0.5"):
        quiet = [noise(family, seed) for seed in seeds]
        measured, other = both(_found_share, quiet)
        bound = 1.5 if family in INDEPENDENT else 10.0
        rows.append(Row(f"{family}: series reported without change", "%", measured, other, name, Reach.AT_MOST, bound))
    short = [bump("normal", 3, 5, seed) for seed in seeds]
    measured, other = both(_located_share, short, 2)
    rows.append(Row("3 sigma reverted after 5: both ends found", "%", measured, other, name, Reach.AT_LEAST, 60.0))
    spikes = []
    for seed in seeds:
        values = noise("normal", seed + SERIES).values.copy()
        values[-1] += 20.0
        spikes.append(Known(values, ()))
    measured, other = both(_found_share, spikes)
    rows.append(Row("10 sigma spike on the newest point: reported", "%", measured, other, name, Reach.AT_MOST, 1.5))
    for size in (1.0, 2.0, 3.0):
        steps = [step("normal", size, seed) for seed in seeds]
        measured, other = both(_located_share, steps, 5)
        rows.append(Row(f"normal: step of {size:g} sigma found", "%", measured, other, name))
    return rows + flipping(detect)


def flipping(detect: Detector) -> list[Row]:
    """Measure on series that flip between levels 5 % apart: flips are not findings, a shift of all levels is one."""
    two, three, four = (100.0, 105.0), (100.0, 105.0, 110.0), (100.0, 105.0, 110.0, 115.0)
    unequal = (0.9, 0.1)
    rows = []
    for title, levels, shares, bound in (
        ("two levels", two, (), 95.0),
        ("three levels", three, (), 90.0),
        ("four levels", four, (), 85.0),
        ("two levels, one a tenth of the time", two, unequal, 90.0),
    ):
        still = [flip(levels, seed, shares=shares) for seed in range(PEER_SERIES)]
        quiet = 100 - _found_share(detect, still)
        rows.append(Row(f"flips between {title}: no finding", "%", quiet, None, "", Reach.AT_LEAST, bound))
    for title, levels, shift in (("two levels", two, 0.03), ("two levels", two, 0.01), ("three levels", three, 0.03)):
        shifted = [flip(levels, seed, shift=shift) for seed in range(PEER_SERIES)]
        found = _located_share(detect, shifted, 5)
        measure = f"flips between {title}, all shift by {100 * shift:g} %: found within 5"
        rows.append(Row(measure, "%", found, None, "", Reach.AT_LEAST, 90.0))
    for share in (0.1, 0.2):
        visited = [rare(two, 115.0, share, seed) for seed in range(PEER_SERIES)]
        measure = f"flips between two levels, {100 * share:g} % visit a new one: found within 25"
        rows.append(Row(measure, "%", _located_share(detect, visited, 25)))
    return rows


@dataclass(frozen=True, slots=True)
class Labels:
    """The scores of one detector on the labelled series."""

    every: list[Counts]
    clear: list[Counts]
    quiet: list[Counts]
    by_source: list[tuple[str, Counts]]
    resampled: list[Counts]
    variance: list[Counts]
    bumps: list[Counts]
    online: dict[int, Online]


def _false(counts: Sequence[Counts]) -> float:
    return 1000 * sum(count.false for count in counts) / max(1, sum(count.points for count in counts))


def _worst(quiet: Sequence[tuple[str, Counts]]) -> float:
    """Return the false alarms per 1,000 commits of the worst repository."""
    sources = {source for source, _ in quiet}
    return max(_false([each for name, each in quiet if name == source]) for source in sources)


def _alarmed(counts: Sequence[Counts]) -> float:
    return 100 * float(np.mean([count.false > 0 for count in counts]))


def _recall(counts: Sequence[Counts]) -> float:
    return sum(count.hits for count in counts) / max(1, sum(count.hits + count.missed for count in counts))


def score(detect: Detector, injected: Sequence[Labelled], resampled: Sequence[Labelled]) -> Labels:
    """Run a detector over all labelled series."""
    pairs = [(item, detect([item.values], item.source)[0]) for item in injected]
    nulls = [(item, detect([item.values], item.source)[0]) for item in resampled]
    return Labels(
        every=[count(item, found) for item, found in pairs],
        clear=[count(item, found, 1.0) for item, found in pairs],
        quiet=[count(item, found) for item, found in pairs if not item.places],
        by_source=[(item.source, count(item, found)) for item, found in pairs if not item.places],
        resampled=[count(item, found) for item, found in nulls],
        variance=[count(item, found) for item, found in pairs if item.kind == "variance"],
        bumps=[count(item, found) for item, found in pairs if item.kind == "drop-recover"],
        online=online(injected, detect),
    )


def _range(series: Sequence[Any], figure: Any) -> str:
    low, high = interval(series, figure)
    return f" (95 %: {low:.3g} to {high:.3g})"


def _online_rows(measured: Labels | None, peer: Labels | None, name: str) -> list[Row]:
    """Return the rows of runs at every commit; what must come again before it counts is shown without a reach."""
    table: list[tuple[str, str, str, Any, Reach, float]] = [
        ("median delay", "commits", "delays", median_delay, Reach.AT_MOST, 4),
        ("found within 10", "", "delays", within(10), Reach.AT_LEAST, 0.96),
        ("false alarms", "/1000", "false", false_per_1000, Reach.AT_MOST, 0.5),
    ]
    rows = []
    for repeats in REPEATS:
        when = "run at every commit" if repeats == 1 else f"once {repeats} runs in a row report it"
        for measure, unit, part, figure, reach, bound in table:
            mine = getattr(measured.online[repeats], part) if measured else None
            other = getattr(peer.online[repeats], part) if peer else None
            rows.append(
                Row(
                    f"{when}: {measure}" + (_range(mine, figure) if mine else ""),
                    unit,
                    figure(mine) if mine else None,
                    figure(other) if other else None,
                    name,
                    *((reach, bound) if repeats == 1 else ()),
                )
            )
    return rows


_LOOKS: Final = {1: 1.3, 3: 1.0, 5: 0.7}
"""False alarms per 1,000 commits that are wanted at most, by the commits from one run to the next."""


def _look_rows(series: Sequence[Labelled]) -> list[Row]:
    """Measure runs of the default method after each so many commits: first sights beside what stays."""
    rows = []
    for commits, seen in looks(series, ours).items():
        when = f"run after each {commits} commits" if commits > 1 else "run after each commit"
        false, new, settled = map(false_per_1000, (seen.first_sights, seen.new, seen.settled))
        rows += [
            Row(
                f"{when}, all unchanged series: first sights", "/1000", false, None, "", Reach.AT_MOST, _LOOKS[commits]
            ),
            Row(f"{when}, all unchanged series: first sights up to {WATCHED} values after", "/1000", new),
            Row(f"{when}, all unchanged series: settled", "/1000", settled),
            Row(f"{when}: found within 10", "", within(10)(seen.delays)),
            Row(f"{when}: median delay", "commits", median_delay(seen.delays)),
        ]
    return rows


def labelled_rows(measured: Labels | None, peer: Labels | None, name: str) -> list[Row]:
    """Return the rows of the labelled series, with bootstrap intervals of ours beside the measure."""
    table: list[tuple[str, str, Any, Any, Reach, float]] = [
        ("F1, all changes", "", f1, "every", Reach.AT_LEAST, 0.70),
        ("F1, changes of a sigma or more", "", f1, "clear", Reach.AT_LEAST, 0.83),
        ("false alarms on unchanged real series", "/1000", _false, "quiet", Reach.AT_MOST, 0.4),
        ("false alarms on unchanged real series, worst repository", "/1000", _worst, "by_source", Reach.AT_MOST, 1.0),
        ("false alarms on resampled noise", "/1000", _false, "resampled", Reach.AT_MOST, 0.05),
        ("unchanged series with any alarm", "%", _alarmed, "quiet", Reach.AT_MOST, 3.0),
        ("only the variance changes: false alarms", "/1000", _false, "variance", Reach.AT_MOST, 1.0),
        ("drop and recovery within 3 to 8: recall", "", _recall, "bumps", Reach.AT_LEAST, 0.30),
    ]
    rows = [
        Row(
            measure + (_range(getattr(measured, part), figure) if measured else ""),
            unit,
            figure(getattr(measured, part)) if measured else None,
            figure(getattr(peer, part)) if peer else None,
            name,
            reach,
            bound,
        )
        for measure, unit, figure, part, reach, bound in table
    ]
    return rows + _online_rows(measured, peer, name)


def _read_forests(path: Path) -> dict[str, Forest]:
    arrays = np.load(path)
    sources = {key.rsplit(" ", 1)[0] for key in arrays}
    names = ("root", "feature", "below", "above", "bound", "value")
    return {
        source: Forest(float(arrays[f"{source} base"]), *(arrays[f"{source} {name}"] for name in names))
        for source in sources
    }


def held_back(path: Path) -> Detector:
    """Return a detector that judges each repository by the forest that never saw it."""
    forests = _read_forests(path)

    def detect(series: Sequence[Array], source: str) -> list[list[int]]:
        runs = [search(np.ascontiguousarray(values), forests[source], FALSE_ALARMS)[0] for values in series]
        return [sorted(run.indices[run.rounds < 0].tolist()) for run in runs]

    return detect


def _labelled(peer: Peer | None) -> list[Row]:
    measured = other = None
    if place := place_of_series():
        injected, resampled = read_labelled(place, "injected"), read_labelled(place, "null")
        measured = score(ours, injected, resampled)
        other = score(peer.detect, injected, resampled) if peer else None
    rows = labelled_rows(measured, other, peer.name if peer else "")
    return rows + (_look_rows(injected) if place else [])


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(_PARTS)}; all unless named")
    parser.add_argument("--forests", type=Path, help="labelled series by held-back forests, from train_default.py")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(_PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(_PARTS)}")
    if chosen.forests:
        place = place_of_series()
        if place is None:
            parser.error("no labelled series: set KNICKPOINT_REFERENCE to a directory that holds data/dev-series")
        labels = score(held_back(chosen.forests), read_labelled(place, "injected"), read_labelled(place, "null"))
        finish("accuracy", labelled_rows(labels, None, ""), only=["held-back forests"])
        return
    parts = chosen.parts or _PARTS
    rows: list[Row] = []
    peer = start_peer("sklearn", "pelt", "PELT rbf, tuned") if {*parts} - {*_ALONE} else None
    if "generated" in parts:
        rows += generated(ours, peer)
    for part, beside in (("drift", drift_rows), ("families", family_rows)):
        if part in parts:
            rows += beside(partial(peer.detect, _=part), peer.name) if peer else beside(None, "")
    for part, measure in _ALONE.items():
        rows += measure() if part in parts else []
    if "rates" in parts:
        place = place_of_series()
        rows += length_rows() + elsewhere_rows(place.parent / "histories" if place else None)
    if "labelled" in parts:
        rows += _labelled(peer)
    finish("accuracy", rows, only=chosen.parts)


if __name__ == "__main__":
    main()
