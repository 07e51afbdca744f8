"""Time detection against its peers, and print and write the table (``make bench-detect``).

Every row compares figures of a single run on one machine. Each peer runs in a separate environment on one core;
Knickpoint runs in this process with one thread unless the row names another number. Where a row compares with a
peer, both take turns, and the best time of each counts. ``python
benchmarks/detect.py PART…`` runs some parts only, and leaves the file alone.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from accuracy_series import place_of_series, read_real
from detect_worst import worst_rows
from knickpoint.detect import cluster, find_steps, find_steps_jointly, find_steps_many
from knickpoint.detect.methods.cluster.kmeans import normalise
from knickpoint.detect.window_fits.fit_skia import fit_as_skia
from knickpoint.native import COMPILED
from knickpoint.native.kmeans import Clustering, Lloyd, lloyd
from knickpoint.native.q_hat import q_hat
from peers import peer_python
from stopwatch import fastest
from table import Reach, Row, finish

_SEED: Final = 20261121
_PEERS: Final = Path(__file__).with_name("detect_peers.py")


@contextmanager
def _peer(
    peer: str, values: NDArray[Any], repeats: int, *more: NDArray[Any], room: str = ""
) -> Iterator[Callable[[], tuple[float | None, Any]]]:
    """Start the peer.

    A call returns the best of its next ``repeats`` times and what it found, None when it cannot run.
    """
    python = peer_python(room or peer)
    if python is None:
        yield lambda: (None, None)
        return
    with tempfile.TemporaryDirectory() as place:
        files = []
        for number, array in enumerate((values, *more)):
            np.save(Path(place) / f"{number}.npy", array)
            files.append(str(Path(place) / f"{number}.npy"))
        command = [str(python), str(_PEERS), peer, files[0], str(repeats), *files[1:]]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            asked, answers = process.stdin, process.stdout
            assert asked is not None
            assert answers is not None

            def ask() -> tuple[float | None, Any]:
                with suppress(BrokenPipeError):
                    asked.write("\n")
                    asked.flush()
                line = answers.readline()
                if not line:
                    print(f"{peer} failed", file=sys.stderr)
                    return None, None
                answer = json.loads(line)
                return float(answer["seconds"]), answer["found"]

            yield ask
            with suppress(BrokenPipeError):
                asked.close()


def _once(peer: str, values: NDArray[Any], *, room: str = "") -> float | None:
    with _peer(peer, values, 1, room=room) as ask:
        return ask()[0]


@dataclass(frozen=True, slots=True)
class _Race:
    """Hold the best times of both sides, in seconds, and what both found; None where the peer cannot run."""

    ours: float
    found: Any
    theirs: float | None
    points: Any


def _race(call: Callable[[], Any], repeats: int, ask: Callable[[], tuple[float | None, Any]], rounds: int) -> _Race:
    """Time both sides in turn, ``rounds`` times, so that both see the same machine, and take the best time of each."""
    turns = [(fastest(call, repeats), ask()) for _ in range(rounds)]
    times = [seconds for _, (seconds, _) in turns if seconds is not None]
    (_, found), (_, points) = turns[-1]
    return _Race(min(seconds for (seconds, _), _ in turns), found, min(times, default=None), points)


def _history(count: int, steps: int = 3) -> NDArray[np.float64]:
    """Return normal noise of 2 % with ``steps`` equally spaced steps of three sigma, up and down in turn."""
    values = np.random.default_rng([_SEED, count]).normal(100, 2, count)
    for step in range(1, steps + 1):
        values[step * count // (steps + 1) :] += 6 if step % 2 else -6
    return values


def _reference_series() -> NDArray[np.float64]:
    """Return MongoDB's series of 173 points if the reference data are available, otherwise a similar generated one."""
    place = Path(os.environ.get("KNICKPOINT_REFERENCE") or Path(__file__).resolve().parents[2] / "shared")
    file = place / "vectors" / "edivisive_spa_robust_series_173.json"
    if file.exists():
        return np.array(json.loads(file.read_text())["series"], dtype=np.float64)
    return _history(173, steps=4)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def e_divisive() -> Iterator[Row]:
    """Compare the whole procedure with MongoDB's native C."""
    for values, bound, repeats, rounds in (
        (_reference_series(), 40, 5, 9),
        (_history(1000), 150, 5, 3),
        (_history(5000), 1000, 5, 1),
    ):
        with _peer("spa", values, 1) as ask:
            race = _race(partial(find_steps, values, method="e_divisive", preset="mongodb"), repeats, ask, rounds)
        points = race.points
        ours = [step.index for step in sorted(race.found, key=lambda step: step.order)]
        same = "" if points is None else f", {len(set(ours) & set(points))} of {len(points)} points the same"
        yield Row(
            f"E-Divisive as MongoDB's, {values.size} points{same}",
            "ms",
            _milliseconds(race.ours),
            _milliseconds(race.theirs),
            "signal-processing-algorithms 2.1.6, its C",
            Reach.TIMES_LESS,
            bound,
        )


def otava() -> Iterator[Row]:
    """Compare Otava's procedure with Otava."""
    values = _history(500)
    with _peer("otava", values, 10) as ask:
        race = _race(lambda: find_steps(values, method="e_divisive", preset="otava"), 100, ask, 10)
    ours = [step.index for step in race.found]
    same = "" if race.points is None else ", same points" if ours == race.points[0] else ", OTHER POINTS"
    yield Row(
        f"as Otava, 500 points{same}",
        "ms",
        _milliseconds(race.ours),
        _milliseconds(race.theirs),
        "apache-otava 0.8.0",
        Reach.TIMES_LESS,
        40,
    )


def scan() -> Iterator[Row]:
    """Time all Q-hat of a long series, which a matrix of distances cannot hold."""
    values = _history(50_000)
    seconds, _ = fastest(lambda: q_hat(values, 1.0, v_form=True), 15)
    yield Row(
        "one exact Q-hat scan, 50000 points",
        "ms",
        _milliseconds(seconds),
        None,
        "signal-processing-algorithms needs 20 GB for it",
        Reach.AT_MOST,
        12,
    )


def default() -> Iterator[Row]:
    """Time the default method on a thousand series."""
    frame = np.stack([np.random.default_rng([_SEED, row]).normal(100, 2, 500) for row in range(1000)])
    for row in range(0, 1000, 2):
        frame[row, 100 + row % 300 :] += 6
    single, _ = fastest(lambda: find_steps_many(frame, threads=1), 3)
    two, _ = fastest(lambda: find_steps_many(frame, threads=2), 3)
    part = _once("otava", frame[:100])
    pelt = _once("pelt", frame[:100], room="sklearn")
    named = "default method, 1000 series x 500 points"
    yield Row(
        f"{named}, one thread", "s", single, part and 10 * part, "apache-otava, 100 of them x 10", Reach.AT_MOST, 0.6
    )
    yield Row(
        f"{named}, one thread, stretch", "s", single, pelt and 10 * pelt, "ruptures PELT, 100 x 10", Reach.AT_MOST, 0.3
    )
    yield Row(f"{named}, two threads", "s", two, single, "ours, one thread")


def real() -> Iterator[Row]:
    """Time the default method and siblings, as shipped, on real series, one call for each series or group."""
    place = place_of_series()
    named = "real series, drift and modes as shipped, a series"
    if place is None:
        yield Row(named, "ms", None, None, "apache-otava", Reach.AT_MOST_TIMES, 0.3)
        return
    series = read_real(place)
    frame = np.full((len(series), max(values.size for values in series.values())), np.nan)
    for row, values in zip(frame, series.values(), strict=True):
        row[: values.size] = values
    with _peer("otava", frame, 1) as ask:
        race = _race(lambda: [find_steps(values) for values in series.values()], 1, ask, 3)
    each = 1000 / len(series)
    theirs = race.theirs and each * race.theirs
    yield Row(named, "ms", each * race.ours, theirs, "apache-otava", Reach.AT_MOST_TIMES, 0.3)
    longest = max(fastest(partial(find_steps, values), 3)[0] for values in series.values())
    yield Row(f"the longest of {len(series)} real series", "ms", 1000 * longest)

    # Series of one source and of one length are measured together.
    groups: dict[tuple[str, int], list[NDArray[np.float64]]] = {}
    for (source, _), values in series.items():
        groups.setdefault((source, values.size), []).append(values)
    frames = [np.stack(group) for group in groups.values() if len(group) > 2]
    seconds, _ = fastest(lambda: [find_steps_jointly(group, method="siblings") for group in frames], 2)
    count = sum(map(len, frames))
    yield Row(
        f"siblings, {len(frames)} groups of {count} real series, a series",
        "ms",
        1000 * seconds / count,
        theirs,
        "apache-otava",
    )


def others() -> Iterator[Row]:
    """Time the methods that work on windows and levels on a thousand series; a batch leaves out what is refused."""
    frame = np.stack([np.random.default_rng([_SEED, row]).normal(100, 2, 250) for row in range(1000)])
    frame[::2, 120:] += 10
    methods: list[tuple[str, dict[str, object]]] = [
        ("t_test", {}),
        ("step_fit", {}),
        ("step_fit", {"kind": "mann_whitney_u"}),
        ("modes", {}),
        ("threshold", {}),
        ("catapult", {}),
        ("e_divisive", {"test": "rank"}),
    ]
    for method, parameters in methods:
        seconds, _ = fastest(partial(find_steps_many, frame, method=method, threads=1, **parameters), 3)
        named = " ".join([method, *map(str, parameters.values())])
        yield Row(f"{named}, 1000 series x 250 points, one thread", "s", seconds)


def _frame() -> NDArray[np.float32]:
    draw = np.random.default_rng(_SEED)
    shapes = np.zeros((60, 250))
    for shape in shapes[1:]:
        shape[draw.integers(20, 230) :] += draw.choice([-3.0, 3.0]) * draw.random()
    rows = shapes[draw.integers(0, 60, 40_000)] + draw.normal(size=(40_000, 250))
    return (1000 + 20 * rows).astype(np.float32)


@contextmanager
def _busy() -> Iterator[None]:
    """Keep one core busy."""
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        spinner.kill()
        spinner.wait()


def k_means() -> Iterator[Row]:
    """Compare normalise + k-means + step fit with scikit-learn, and an iteration with one sgemm."""
    frame = _frame()
    shapes = normalise(frame)
    start = shapes[np.random.default_rng(_SEED).choice(len(shapes), 50, replace=False)].copy()

    def whole(threads: int) -> Clustering:
        found = lloyd(normalise(frame), start, threads=threads)
        fit_as_skia(found.centroids, "original", 0.0, floor=0.0)
        return found

    with _peer("sklearn", frame, 1, start) as ask:
        race = _race(lambda: whole(1), 1, ask, 3)
    single, found, theirs = race.ours, race.found, race.theirs
    two, _ = fastest(lambda: whole(2), 3)
    named = f"normalise + k-means (k=50, {found.iterations} iterations) + step fit, 40000 x 250"
    yield Row(
        f"{named}, one thread", "s", single, theirs, "scikit-learn, same start, one thread", Reach.TIMES_LESS, 1.0
    )
    yield Row(f"{named}, two threads", "s", two, theirs, "scikit-learn, same start, one thread", Reach.TIMES_LESS, 1.7)
    with _busy():
        pairs = [(fastest(lambda: whole(1), 1)[0], fastest(lambda: whole(2), 1)[0]) for _ in range(5)]
    alone, both = (median(side) for side in zip(*pairs, strict=True))
    yield Row(
        "the same, one core busy, two threads, median",
        "s",
        both,
        alone,
        "ours, one thread, one core busy",
        Reach.AT_MOST_TIMES,
        1.1,
    )
    clustered, _ = fastest(lambda: cluster(frame, k=50, threads=2), 1)
    yield Row("cluster(k=50) with its own start, two threads", "s", clustered)

    state = Lloyd(shapes, 50)
    centroids = start
    turns, products = [], []
    turned = np.ascontiguousarray(start.T)
    for _ in range(found.iterations):
        begin = time.perf_counter()
        state.assign(centroids)
        centroids = state.means(centroids)
        turns.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        _ = shapes @ turned
        products.append(time.perf_counter() - begin)
    yield Row(
        "one k-means iteration, 40000 x 250, k=50, median",
        "ms",
        1000 * median(turns),
        1000 * median(products),
        "one sgemm of the same shape, one thread",
        Reach.AT_MOST_TIMES,
        1.3,
    )


def command() -> Iterator[Row]:
    """Time ``knick detect`` on a small CSV, from the start of the process."""
    values = _history(200)
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "series.csv"
        file.write_text("value\n" + "".join(f"{value}\n" for value in values))
        knick = Path(sys.executable).with_name("knick")
        for _ in range(7):
            begin = time.perf_counter()
            outcome = subprocess.run([knick, "detect", file, "--format", "csv"], capture_output=True, check=False)
            seconds.append(time.perf_counter() - begin)
            if outcome.returncode:
                print(f"knick detect failed: {outcome.stderr.decode()[-300:]}", file=sys.stderr)
                seconds.clear()
                break
    yield Row(
        "knick detect, 200 points, from process start, median",
        "s",
        median(seconds) if seconds else None,
        reach=Reach.AT_MOST,
        bound=0.35,
    )


PARTS: Final = {
    "e_divisive": e_divisive,
    "otava": otava,
    "scan": scan,
    "default": default,
    "real": real,
    "worst": worst_rows,
    "others": others,
    "k_means": k_means,
    "command": command,
}


def main() -> None:
    """Run the parts that the command line names, or all."""
    chosen = sys.argv[1:]
    unknown = set(chosen) - set(PARTS)
    if unknown:
        sys.exit(f"There is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}.")
    busy = os.getloadavg()[0]
    if busy > 0.5:
        print(f"The machine is busy (load {busy:.1f}): times are too long, and ratios uncertain.", file=sys.stderr)
    if not COMPILED:
        print("The kernels are not compiled: these are the times of NumPy.", file=sys.stderr)
    finish("detect", [row for name in chosen or PARTS for row in PARTS[name]()], only=chosen)


if __name__ == "__main__":
    main()
