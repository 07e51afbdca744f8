"""Count what finding a commit takes, beside references that know the noise, and beside Pinpoint (``make bench-bisect``).

Every search sees the same answers as its reference. The parts are

- ``noiseless``: rounds with exact answers, beside the optimum, for every cell of the table;
- ``pass_fail``: tests with answers that are wrong at times, beside a posterior that knows how often;
- ``measured``: tests with measured values, beside a likelihood that knows both levels and the deviation;
- ``pinpoint``: tests and wrong culprits beside the rules of Pinpoint; it needs ``KNICKPOINT_REFERENCE`` for their
  thresholds;
- ``calibration``: wrong culprits among those stated with 0.95, for seven kinds of noise;
- ``without_change``: culprits named, and tests taken, in ranges where no commit made a change;
- ``contention``: wrong culprits, culprits stated and median tests on machines that do other work, without a history;
- ``planning``: the time to plan one batch.

In ``pass_fail`` and ``measured`` both sides take one culprit and the ends for certain, and are counted until a
candidate has 0.95; the rows "from the ends to the verification" count all that a search takes by default, without a
bound. Values are measured on the machine of the history, as the references take it. The second reference of a measured
row knows no levels, only what the same history says of them: it shows how much of the first ratio a search can save.
Rows for another machine, and a longer history, have no bound either. Each row is printed as it comes, and all of them
as a table at the end. ``python benchmarks/bisection.py PART…`` (or ``make bench-bisect BISECT_ARGS="PART…"``) runs some
parts only; ``--quick`` runs fewer cells with fewer searches, about five minutes in all on one core. Both leave the file
alone.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np

from bisection_answers import CONTENTION, Noise
from bisection_ours import Cell, Played, play_all, worst_rounds
from bisection_pinpoint import PinpointSearch, Thresholds, search_pinpoint, thresholds
from bisection_planning import seconds_to_plan
from bisection_references import (
    Searches,
    optimal_rounds,
    search_measured,
    search_pass_fail,
    search_with_history,
)
from knickpoint.bisect.search.problem import ConclusionKind
from table import Reach, Row, finish, one_line

_SEED: Final = 20261122
_CANDIDATES: Final = (16, 32, 64, 128, 256, 512, 1024)
_DEVICES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15)
_ERRORS: Final = (0.05, 0.1, 0.2, 0.3)
_DELTAS: Final = (3.0, 2.0, 1.0, 0.5)
_TESTS: Final = 12_000
"""Tests that a cell of ours takes, more or less: cells of long searches have fewer of them."""

_PER_TEST: Final = {"certain": 1.05, "measured": 1.15, "pinpoint": 0.5}
_LONG: Final = 10
"""A long history has so many times the values of the shortest one in which the change shows."""

_WRONG, _WITHOUT_CHANGE, _PLANNING = 0.05, 0.01, 1_000.0
_REFERENCE_REPEATS: Final = 4_000


@dataclass(frozen=True, slots=True)
class _Run:
    """The processes of a run, whether it makes a fifteenth of the searches, and whether it leaves costly cells out."""

    executor: Executor
    quick: bool = False
    fewer_cells: bool = False

    def searches(self, usual: int, least: int = 20) -> int:
        """Return how many searches to make where a whole run makes ``usual``; a quick one makes ``least`` at least."""
        return max(least, usual // 15) if self.quick else usual


def _history(delta: float) -> int:
    """Return how many values a history has on each side: enough that the change shows with t = 4, and 20 at least."""
    return max(20, round(32 / delta**2))


def _noiseless(run: _Run) -> Iterator[Row]:
    cells = list(product(_CANDIDATES, _DEVICES))
    found = run.executor.map(worst_rounds, *zip(*cells, strict=True), chunksize=7)
    for (n, d), rounds in zip(cells, found, strict=True):
        measure = f"noiseless, {n} candidates, {d} devices: most rounds"
        yield Row(measure, "", float(rounds), float(optimal_rounds(n, d)), "optimum", Reach.AT_MOST_TIMES, 1.0)


def _culprits(cell: Cell, repeats: int) -> np.ndarray:
    return np.array([cell.culprit(search) for search in range(repeats)])


def _reference(cell: Cell, repeats: int) -> Searches:
    search = search_measured if cell.error is None else search_pass_fail
    return search(cell.candidates, cell.devices, cell.answers, _culprits(cell, repeats))


def _mean_tests(played: Sequence[Played], cell: Cell) -> tuple[float, float]:
    """Return the mean tests of ours, and of the reference.

    What the same searches have in common is taken off the noise.

    The reference is cheap, so its mean is that of many more searches. Ours is its mean times the ratio over the same
    searches.
    """
    many = _reference(cell, _REFERENCE_REPEATS).tests
    same = many[: len(played)]
    ours = float(np.mean([each.tests for each in played]))
    return ours * float(many.mean() / same.mean()), float(many.mean())


def _against_reference(name: str, cells: Sequence[Cell], bound: float, run: _Run) -> Iterator[Row]:
    for cell in cells:
        repeats = run.searches(int(np.clip(_TESTS / _reference(cell, 200).tests.mean(), 100, 400)))
        for kind, what in _kinds(cell)[: 1 if run.quick else None]:
            played = play_all([kind], repeats if kind is cell else repeats // 4, run.executor)[0]
            ours, peer = _mean_tests(played, cell)
            label = f"{name.format(cell=cell)}, {cell.candidates} candidates, d = {cell.devices}: {what}"
            reach = Reach.AT_MOST_TIMES if kind is cell else Reach.SHOWN
            yield Row(label, "tests", ours, peer, "knows the noise", reach, bound if kind is cell else 0)
            if kind is cell and cell.error is None:
                yield _against_the_same_history(label, cell, played, bound, run)


def _against_the_same_history(label: str, cell: Cell, played: Sequence[Played], bound: float, run: _Run) -> Row:
    """Compare with a posterior that knows the deviation, and of the levels only what the history of ours says."""
    parts = [(cell, begin, min(begin + 10, len(played))) for begin in range(0, len(played), 10)]
    tests = np.concatenate(list(run.executor.map(_search_part_with_history, parts)))
    ours, peer = float(np.mean([each.tests for each in played])), float(tests.mean())
    return Row(label, "tests", ours, peer, "knows the deviation and the history", Reach.AT_MOST_TIMES, bound)


def _search_part_with_history(part: tuple[Cell, int, int]) -> np.ndarray:
    cell, begin, end = part
    problems = [cell.problem(search) for search in range(begin, end)]
    means = np.array([(problem.before.mean, problem.after.mean) for problem in problems])
    culprits = np.array([cell.culprit(search) for search in range(begin, end)])
    return search_with_history(
        cell.candidates, cell.devices, cell.answers, culprits, means=means, count=cell.history, first=begin
    ).tests


def _kinds(cell: Cell) -> list[tuple[Cell, str]]:
    """Return what is compared with the reference: the cell itself, with the bound, and others that are shown beside it."""
    kinds = [(cell, "mean tests"), (replace(cell, certain=False), "from the ends to the verification")]
    if cell.error is None:
        long = replace(cell, history=_LONG * cell.history)
        kinds[1:1] = [
            (replace(cell, same_machine=False), "another machine than the history"),
            (long, f"history of {long.history} + {long.history} values"),
        ]
    return kinds


def _pass_fail(run: _Run) -> Iterator[Row]:
    cells = [
        Cell(_SEED, candidates, devices, error=error, certain=True)
        for error, devices, candidates in product(_ERRORS, (1, 3), (16, 64, 256, 1024))
        if not run.fewer_cells or candidates in {16, 256}
    ]
    return _against_reference("pass/fail, error {cell.error:g}", cells, _PER_TEST["certain"], run)


def _measured(run: _Run) -> Iterator[Row]:
    cells = [
        Cell(_SEED, candidates, devices, delta=delta, history=_history(delta), certain=True, same_machine=True)
        for delta, devices, candidates in product(_DELTAS, (1, 3), (16, 64, 256))
        if (devices == 1 or candidates == 64) and not (run.fewer_cells and (delta < 1 or devices > 1))
    ]
    return _against_reference("measured, {cell.delta:g} deviations", cells, _PER_TEST["measured"], run)


def _pinpoint_part(task: tuple[Cell, int, int, Thresholds]) -> list[PinpointSearch]:
    cell, begin, end, table = task
    return [
        search_pinpoint(cell.candidates, cell.answers, search, cell.culprit(search), table)
        for search in range(begin, end)
    ]


def _pinpoint(run: _Run) -> Iterator[Row]:
    table = thresholds()
    for delta, candidates in product(_DELTAS, (16, 64, 256)):
        if run.fewer_cells and (delta < 1 or candidates == 256):
            continue
        cell = Cell(_SEED, candidates, delta=delta, history=_history(delta))
        repeats = run.searches(120 if delta >= 1 else 40)
        ours = play_all([cell], repeats, run.executor)[0]
        theirs: list[PinpointSearch] = []
        if table:
            parts = [(cell, begin, min(begin + 10, repeats), table) for begin in range(0, repeats, 10)]
            theirs = [each for part in run.executor.map(_pinpoint_part, parts) for each in part]
        culprits = _culprits(cell, repeats).tolist()
        pairs = list(zip(theirs, culprits, strict=False))
        wrong = _share([any(place != culprit for place in each.culprits) for each, culprit in pairs])
        found = _share([culprit in each.culprits for each, culprit in pairs])
        name = f"{delta:g} deviations, {candidates} candidates"
        tests, peer_tests = (_share([each.tests for each in searches]) for searches in (ours, theirs))
        yield Row(
            f"{name}: mean tests, ends and verification included",
            "tests",
            tests,
            peer_tests,
            "Pinpoint",
            Reach.AT_MOST_TIMES,
            _PER_TEST["pinpoint"],
        )
        measure = f"{name}: searches that name a wrong culprit"
        named = _share([each.wrong for each in ours]) if table else None
        yield Row(measure, "", named, wrong, "Pinpoint", Reach.AT_MOST, wrong or 0.0)
        yield Row(f"{name}: searches that name the culprit", "", _share([e.found for e in ours]), found, "Pinpoint")


def _share(each: Sequence[float]) -> float | None:
    return float(np.mean(each)) if len(each) else None


def _calibration(run: _Run) -> Iterator[Row]:
    """Yield how often a stated culprit is wrong, for each kind of noise and for answers."""
    for name, cells, searches in _calibrated_kinds():
        played = _played(cells, run.searches(searches, 15), run)
        stated = [each for each in played if each.kind is ConclusionKind.CULPRIT]
        measure = f"{name}: wrong among {len(stated)} culprits stated with 0.95"
        yield Row(measure, "", _share([each.wrong for each in stated]), reach=Reach.AT_MOST, bound=_WRONG)
        yield Row(f"{name}: searches that state one commit", "", len(stated) / len(played))
        yield Row(f"{name}: mean tests", "tests", _share([each.tests for each in played]))


def _without_change(run: _Run) -> Iterator[Row]:
    """Yield how often a culprit is named where no commit made a change, for each kind of noise and for answers."""
    total: list[Played] = []
    for name, cells, searches in _calibrated_kinds():
        kept = [cell for cell in cells if not run.fewer_cells or cell.error is not None or cell.delta >= 2]
        without = [replace(cell, change=False, moved=moved) for cell in kept for moved in (False, True)]
        played = _played(without, run.searches(searches * 13 // 20, 13), run)
        measure = f"{name}: culprits named in {len(played)} ranges without a change"
        named = _share([bool(each.named) for each in played])
        yield Row(measure, "", named, reach=Reach.AT_MOST, bound=_WITHOUT_CHANGE)
        ended = [each.kind is ConclusionKind.NOT_REPRODUCIBLE for each in played]
        yield Row(f"{name}: ranges without a change that are called not reproducible", "", _share(ended))
        yield Row(f"{name}: mean tests of a range without a change", "tests", _share([e.tests for e in played]))
        total += played
    measure = f"culprits named in all {len(total)} ranges without a change"
    yield Row(measure, "", _share([bool(e.named) for e in total]), reach=Reach.AT_MOST, bound=_WITHOUT_CHANGE)


def _played(cells: Sequence[Cell], searches: int, run: _Run) -> list[Played]:
    return [each for part in play_all(cells, searches, run.executor) for each in part]


def _calibrated_kinds() -> Iterator[tuple[str, list[Cell], int]]:
    """Yield the kinds of ranges whose stated probability is checked, their cells, and how often each is searched.

    A clean history has normal noise of deviation 1, so that it knows nothing of the noise of the search.
    """
    shapes = [(3.0, 16, 1), (3.0, 64, 3), (2.0, 64, 1)]
    measured = [(2.0, 256, 3), (1.0, 16, 1)]
    for noise in Noise:
        if noise in CONTENTION:
            continue
        for clean in (False, True) if noise is not Noise.NORMAL else (False,):
            cells = [
                Cell(_SEED + k, candidates, devices, delta=delta, history=_history(delta), noise=noise, clean=clean)
                for k, (delta, candidates, devices) in enumerate(shapes + (measured if noise is Noise.NORMAL else []))
            ]
            yield f"{noise.value}{', clean history' if clean else ''}", cells, 200
    answers = [(0.05, 64, 1), (0.1, 64, 3), (0.2, 16, 1), (0.2, 256, 3)]
    passing = [
        Cell(_SEED + 10 + k, candidates, devices, error=error) for k, (error, candidates, devices) in enumerate(answers)
    ]
    yield "pass/fail", passing, 200


_BEFORE: Final[dict[tuple[Noise, float], float]] = {
    (Noise.NORMAL, 5.0): 10.0,
    (Noise.BURSTS_5, 10.0): 10.0,
    (Noise.BURSTS_5, 50.0): 10.0,
    (Noise.BURSTS_10, 10.0): 12.5,
    (Noise.BURSTS_10, 50.0): 10.0,
    (Noise.BURSTS_20, 10.0): 12.5,
    (Noise.BURSTS_20, 50.0): 24.0,
}
"""Median tests of the search that took noise for normal until it stated a culprit (dcfc5bc3), by noise and movement."""


def _contention(run: _Run) -> Iterator[Row]:
    """Yield how machines that do other work are searched: movements of 5 deviations (5 %) in modes, of 10 and 50 in bursts."""
    for noise in (Noise.NORMAL, *CONTENTION):
        for delta in (10.0, 50.0) if "bursts" in noise.value else (5.0,):
            cells = [
                Cell(_SEED + 20 + k, candidates, delta=delta, noise=noise, known=False)
                for k, candidates in enumerate((16, 64))
            ]
            played = _played(cells, run.searches(150, 15), run)
            stated = [each for each in played if each.named]
            missed = [each for each in played if not each.named and each.excluded < delta / 100]
            unstated = [each for each in played if not each.named and math.isinf(each.excluded)]
            name = f"{noise.value}, a change of {delta:g} %"
            yield Row(
                f"{name}: wrong among {len(stated)} culprits stated",
                "",
                _share([each.wrong for each in stated]),
                reach=Reach.AT_MOST,
                bound=_WRONG,
            )
            above = len(stated) + len(missed) + len(unstated)
            yield Row(f"{name}: stated, of changes above what is excluded", "", len(stated) / above if above else None)
            median = float(np.median([each.tests for each in played]))
            yield Row(f"{name}: median tests", "tests", median, _BEFORE.get((noise, delta)), "before")


def _planning(_run: _Run) -> Iterator[Row]:
    for name, seconds in seconds_to_plan(10_000, 16):
        measure = f"plan one batch, 10,000 candidates, 16 devices, {name}"
        yield Row(measure, "ms", 1e3 * seconds, reach=Reach.AT_MOST, bound=_PLANNING)


_PARTS: Final[dict[str, Callable[[_Run], Iterator[Row]]]] = {
    "noiseless": _noiseless,
    "pass_fail": _pass_fail,
    "measured": _measured,
    "pinpoint": _pinpoint,
    "calibration": _calibration,
    "without_change": _without_change,
    "contention": _contention,
    "planning": _planning,
}


def main() -> None:
    """Measure the parts that the command line names, all by default, and print each row as it comes."""
    parser = argparse.ArgumentParser(description="Count what finding a commit takes, beside references and Pinpoint.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"parts to run: {', '.join(_PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer cells and searches: about five minutes on one core")
    parser.add_argument("--all-cells", action="store_true", help="with --quick: all cells, with fewer searches each")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="processes that search at a time")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.parts if name not in _PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}; the parts are {', '.join(_PARTS)}")
    rows: list[Row] = []
    with ProcessPoolExecutor(chosen.processes) as executor:
        run = _Run(executor, chosen.quick, chosen.quick and not chosen.all_cells)
        for name in chosen.parts or _PARTS:
            begin = time.perf_counter()
            for row in _PARTS[name](run):
                print(one_line(row), flush=True)
                rows.append(row)
            print(f"-- {name}: {time.perf_counter() - begin:.0f} s", flush=True)
    finish("bisect", rows, only=[*chosen.parts, *(["--quick"] if chosen.quick else [])])


if __name__ == "__main__":
    main()
