"""Measure how often a check fails unchanged pull requests, and how often it catches a change (``make bench-gate``).

Each pull request has new histories and new samples. A change of 10 % in one benchmark is added to half of them.
The parts are

- ``kinds``: 100 benchmarks, 30 commits and 3 samples, for each kind of noise, beside the rules of other tools;
- ``shapes``: other numbers of benchmarks, commits and samples;
- ``series``: stretches of the real series without change of ``data/dev-series`` in the directory that
  ``KNICKPOINT_REFERENCE`` names; each pull request leaves one source out.

- ``shared``: 20 benchmarks on shared machines (``gate_machines``): unchanged pull requests that fail, 20 % in one
  benchmark, and 10 % in all of them, beside the rule that knows no machines and those of other tools.
- ``environment``: pull requests one after another on a moved environment (``gate_environment``).
- ``stated``: the four kinds of noise that the guide states figures for, and the real stretches, at 100 x 30 x 3.

Rows are printed as they come. ``python benchmarks/gate.py PART… [--pulls N]`` runs some parts or fewer pull requests,
and leaves the file alone; ``--quick`` is ``stated`` with 150 pull requests, which takes about four minutes on one core.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from accuracy_series import Labelled, place_of_series, read_labelled
from gate_environment import environment_rows
from gate_machines import (
    WORLDS,
    Answer,
    MachinePull,
    judge,
    judge_plainly,
    known_machines_find,
    peers,
    recorded,
    this_machine,
)
from gate_noise import KINDS, SESSIONS, PullRequest, generated, of_series
from gate_references import REFERENCES
from knickpoint.detect.family import judge_family
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from table import Reach, Row, finish

_PULLS: Final = 1_000
_CHANGE: Final = 0.10
_KINDS: Final = (*KINDS, "mixed", "shared machine", *SESSIONS)
_SHAPES: Final = (
    (1, 30, 3), (10, 30, 3), (1000, 30, 3), (100, 10, 3), (100, 100, 3), (100, 30, 1), (100, 30, 10), (1, 10, 1),
)  # fmt: skip
"""Benchmarks, commits and samples."""

_SERIES_SHAPES: Final = ((100, 30, 3), (100, 30, 1), (10, 50, 3))
_OF_SHAPES: Final = ("normal", "t, 3 degrees of freedom", "log-normal", "two modes, sticky", "AR(1) 0.8", "mixed")
_CHANGED_EVERY: Final = 2
"""One in so many pull requests is judged with the change, too."""

_STATED: Final = ("normal", "t, 3 degrees of freedom", "two modes", "two modes, sticky")
_QUICK: Final = 150
_FEWER: Final = 5
"""Shapes and series take a fifth of the pull requests, as do the changes on shared machines."""

_MOST_FAILURES, _LEAST_CAUGHT = 1.0, 95.0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Whether an unchanged pull request failed, and whether the change in one benchmark was caught, by name of the rule.

    ``caught`` is empty where the change was not tried.
    """

    failed: dict[str, bool]
    caught: dict[str, bool]


def _ours(pull: PullRequest) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    found = judge_family(pull.histories, list(pull.samples), better=Better.LOWER)
    return np.array([judgement.verdict is Verdict.REGRESSED for judgement in found.judgements])


def _measure(make: Callable[[int], PullRequest], beside: bool, seed: int) -> _Outcome:  # noqa: FBT001 - for partial
    pull = make(seed)
    rules = {"": _ours, **(REFERENCES if beside else {})}
    if seed % _CHANGED_EVERY:
        return _Outcome({name: bool(rule(pull).any()) for name, rule in rules.items()}, {})
    place = seed % len(pull.histories)
    changed = pull.with_change(place, _CHANGE)
    return _Outcome(
        {name: bool(rule(pull).any()) for name, rule in rules.items()},
        {name: bool(rule(changed)[place]) for name, rule in rules.items()},
    )


def _run(
    pool: ProcessPoolExecutor, label: str, make: Callable[[int], PullRequest], pulls: int, *, beside: bool, goal: bool
) -> Iterator[Row]:
    """Yield the rows of one kind of pull requests; ``goal`` says whether the change of 10 % has to be caught."""
    outcomes = list(pool.map(partial(_measure, make, beside), range(pulls), chunksize=10))

    def share(name: str, *, caught: bool) -> float:
        answers = [each.caught if caught else each.failed for each in outcomes]
        return 100 * float(np.mean([answer[name] for answer in answers if answer]))

    failed, found = share("", caught=False), share("", caught=True)
    names = list(outcomes[0].failed)[1:] or [""]
    for number, name in enumerate(names):
        reach = Reach.AT_MOST if not number else Reach.SHOWN
        peer = share(name, caught=False) if name else None
        yield Row(f"{label}: unchanged that fail", "%", failed, peer, name, reach, _MOST_FAILURES)
    for number, name in enumerate(names):
        reach = Reach.AT_LEAST if goal and not number else Reach.SHOWN
        peer = share(name, caught=True) if name else None
        yield Row(f"{label}: +10 % in one caught", "%", found, peer, name, reach, _LEAST_CAUGHT)


def _of_kinds(pool: ProcessPoolExecutor, pulls: int, kinds: Sequence[str] = _KINDS) -> Iterator[Row]:
    for kind in kinds:
        make = partial(_generated, kind, (100, 30, 3))
        yield from _run(pool, f"{kind}, 100 x 30 x 3", make, pulls, beside=True, goal=kind == "normal")


def _of_shapes(pool: ProcessPoolExecutor, pulls: int) -> Iterator[Row]:
    for shape in _SHAPES:
        for kind in _OF_SHAPES:
            label = f"{kind}, {' x '.join(map(str, shape))}"
            fewer = pulls if shape[0] == 1 else max(10, pulls // _FEWER)
            make = partial(_generated, kind, shape)
            yield from _run(pool, label, make, fewer, beside=False, goal=False)


def _generated(kind: str, shape: tuple[int, int, int], seed: int) -> PullRequest:
    return generated(kind, seed, *shape)


def _without(series: Sequence[Labelled], sources: Sequence[str], shape: tuple[int, int, int], seed: int) -> PullRequest:
    """Leave one source out of each pull request, another one each time."""
    left_out = sources[seed % len(sources)]
    return of_series([each for each in series if each.source != left_out], seed, *shape)


def _of_series(
    pool: ProcessPoolExecutor,
    pulls: int,
    shapes: Sequence[tuple[int, int, int]] = _SERIES_SHAPES,
    *,
    real: bool = False,
) -> Iterator[Row]:
    """Yield the rows of stretches of series; with ``real`` not of those that are resampled."""
    place = place_of_series()
    if place is None:
        yield Row("stretches of real series: unchanged that fail", "%", None, reach=Reach.AT_MOST, bound=_MOST_FAILURES)
        return
    quiet = [each for each in read_labelled(place, "injected") if each.kind == "zero"]
    resampled = [] if real else [("resampled stretches", read_labelled(place, "null"))]
    for name, series in [("real stretches", quiet), *resampled]:
        sources = sorted({each.source for each in series})
        for shape in shapes:
            label = f"{name}, {' x '.join(map(str, shape))}"
            make = partial(_without, series, sources, shape)
            yield from _run(pool, label, make, pulls, beside=shape[2] == 3 and shape[0] == 100, goal=False)


def _stated(pool: ProcessPoolExecutor, pulls: int) -> Iterator[Row]:
    yield from _of_kinds(pool, pulls, _STATED)
    yield from _of_series(pool, pulls, _SERIES_SHAPES[:1], real=True)


_ALL_BY: Final = 0.10
_ONE_BY: Final = 0.20
_MOST_PASSED, _LEAST_FOUND = 5.0, 80.0
_PLAIN: Final = "without machines"


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers of each rule to a pull request: unchanged, with a change in the benchmark ``at``, and in all.

    Both changes are None where they were not tried.
    """

    unchanged: dict[str, Answer]
    at: int
    one: dict[str, Answer] | None
    whole: dict[str, Answer] | None


def _answers(make: Callable[[int], MachinePull], seed: int) -> _Answers:
    made = make(seed)
    at = seed // _FEWER % len(made.pull.histories)

    def answers(pull: MachinePull) -> dict[str, Answer]:
        return {"": judge(pull), _PLAIN: judge_plainly(pull), **peers(pull)}

    if seed % _FEWER:
        return _Answers(answers(made), at, None, None)
    changed = (answers(made.with_change(place, by)) for place, by in ((at, _ONE_BY), (None, _ALL_BY)))
    return _Answers(answers(made), at, *changed)


def _of_world(
    pool: ProcessPoolExecutor, label: str, make: Callable[[int], MachinePull], pulls: int, *, alone: bool
) -> Iterator[Row]:
    """Yield the rows of one world; ``alone`` says that there is one machine, on which 10 % in all must not pass."""
    found = list(pool.map(partial(_answers, make), range(pulls), chunksize=5))
    changed = [(each.at, each.one, each.whole) for each in found if each.one and each.whole]

    def rows(what: str, share: Callable[[str], float], reach: Reach, bound: float) -> Iterator[Row]:
        for number, name in enumerate(list(found[0].unchanged)[1:]):
            goal = (reach, bound) if not number else (Reach.SHOWN, 0.0)
            yield Row(f"{label}: {what}", "%", share(""), share(name), name, *goal)

    def mean(values: Iterator[bool]) -> float:
        return 100 * float(np.mean(list(values)))

    yield from rows(
        "unchanged that fail",
        lambda name: mean(bool(each.unchanged[name].worse.any()) for each in found),
        Reach.AT_MOST,
        _MOST_FAILURES,
    )
    again = mean(each.unchanged[""].again for each in found)
    yield Row(f"{label}: unchanged to be measured again", "%", again)
    # What moved by 50 to 140 % on a busy machine hides 20 %, and a machine never seen may do as much by itself.
    yield from rows(
        "+20 % in one found",
        lambda name: mean(bool(one[name].worse[at]) for at, one, _ in changed),
        Reach.SHOWN if "busy" in label or "another" in label else Reach.AT_LEAST,
        _LEAST_FOUND,
    )
    named = mean(
        bool(one[""].worse[at] or (one[""].doubtful is not None and one[""].doubtful[at])) for at, one, _ in changed
    )
    yield Row(f"{label}: +20 % in one found, or named as unstable", "%", named)
    yield from rows(
        "+20 % in one found, and no other blamed",
        lambda name: mean(bool(one[name].worse[at]) and one[name].worse.sum() == 1 for at, one, _ in changed),
        Reach.SHOWN,
        0.0,
    )
    if alone:
        yield from rows(
            "+10 % in all that passes",
            lambda name: mean(whole[name].passes for _, _, whole in changed),
            Reach.AT_MOST,
            _MOST_PASSED,
        )


def _shared(pool: ProcessPoolExecutor, pulls: int) -> Iterator[Row]:
    for world, kinds in WORLDS.items():
        for kind, make in kinds.items():
            yield from _of_world(pool, f"{world}, {kind}", make, pulls, alone=world == "one machine")
    for failing in (0.01, 0.05, 0.08):
        label = f"another machine, the best rule that fails {100 * failing:g} % of unchanged ones: +20 % in one found"
        yield Row(label, "%", 100 * known_machines_find(_ONE_BY, failing))
    runs = recorded()
    for name, disturbed in (("quiet", False), ("disturbed", True)):
        make_recorded = partial(this_machine, runs, disturbed=disturbed)
        fewer = max(10, pulls // _FEWER)
        yield from _of_world(pool, f"this machine, {name}", make_recorded, fewer, alone=not disturbed)


_PARTS: Final[dict[str, Callable[[ProcessPoolExecutor, int], Iterator[Row]]]] = {
    "kinds": _of_kinds,
    "shapes": _of_shapes,
    "series": _of_series,
    "shared": _shared,
    "environment": lambda pool, pulls: environment_rows(pool, max(10, pulls // _FEWER)),
    "stated": _stated,
}


def main() -> None:
    """Run the parts that the command line names, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help=", ".join(_PARTS))
    parser.add_argument("--pulls", type=int, default=_PULLS)
    parser.add_argument("--quick", action="store_true", help=f"the part stated, with {_QUICK} pull requests")
    given = parser.parse_args()
    if given.quick:
        given.parts, given.pulls = ["stated"], min(given.pulls, _QUICK)
    if unknown := set(given.parts) - set(_PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    with ProcessPoolExecutor() as pool:
        # What is stated is part of the others.
        for name in given.parts or [name for name in _PARTS if name != "stated"]:
            for row in _PARTS[name](pool, given.pulls):
                rows.append(row)
                beside = f", {row.peer_name} {row.peer:.1f} %" if row.peer is not None else ""
                print(f"{row.measure}: {'–' if row.ours is None else f'{row.ours:.1f} %'}{beside}", flush=True)
    partial_run = list(given.parts) or ([f"{given.pulls} pull requests"] if given.pulls != _PULLS else [])
    finish("gate", rows, only=partial_run)


if __name__ == "__main__":
    main()
