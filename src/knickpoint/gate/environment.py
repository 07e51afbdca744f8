"""Attribute what a pull request flags to a moved environment or to noise, by earlier checks of pull requests.

- **Moved environment.** Of the newest three other pull requests that measured a benchmark, two moved by about the same
  factor, and none shares a commit with another beyond its base: no patch is the reason. What is left of the change may
  be a quarter of theirs, or what a comparison of this benchmark can find.
- **Noise.** In most other checks of the same commit a flagged benchmark moves less than half as far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from knickpoint.detect.family import speed_sign
from knickpoint.model.judged_benchmark import JudgedBenchmark, JudgedResults
from knickpoint.model.pull_request_check import Attribution, MovedEnvironment, PullRequestCheck
from knickpoint.model.quantity_text import percent_text
from knickpoint.model.step import Verdict

WINDOW: Final = timedelta(days=7)
"""How long a check of another pull request counts."""

MOST_CHECKS: Final = 100
"""Checks that are looked at, the newest ones."""

ASKED: Final = 3
_ALIKE: Final = 2
"""Of the newest three other pull requests, those that have to move alike."""

_HALF: Final = 0.5
_LEFT: Final = 0.25
"""Share of the environment's move that may be left of a change."""

_CHANGED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})


def note_check(
    results: JudgedResults, *, head: str, branch: str, commits: frozenset[str], time: datetime
) -> PullRequestCheck:
    """Sum up a check of the commit ``head``, to be compared with others and kept."""
    rows = [row for row in results.benchmarks if row.decides and row.trace_id is not None and _size(row) is not None]
    return PullRequestCheck(
        head,
        branch,
        commits,
        time,
        np.array([row.trace_id for row in rows], dtype=np.int64),
        np.array([_size(row) for row in rows], dtype=np.float64),
        np.array([_is_flagged(row) for row in rows], dtype=np.bool_),
    )


def attribute(results: JudgedResults, check: PullRequestCheck, earlier: Sequence[PullRequestCheck]) -> JudgedResults:
    """Return results whose flagged benchmarks say what else than the patch moved them.

    ``check`` is what they show, and ``earlier`` are other checks, the newest first.
    """
    again = [_Changes.of(each) for each in earlier if each.head == check.head and not _is_same(each, check)]
    others = [_Changes.of(each) for each in _independent(check, earlier)]
    found = [_attributed(row, others, again) for row in results.benchmarks]
    rows = tuple(row for row, _ in found)
    alike = {each.name: each for _, checks in found for each in checks}
    return replace(
        results,
        benchmarks=rows,
        environment=_environment(rows, alike, results.move.changed) if alike else None,
        rotating=_rotating(again, {row.trace_id: row for row in rows}),
    )


def _attributed(
    row: JudgedBenchmark, others: Sequence[_Changes], again: Sequence[_Changes]
) -> tuple[JudgedBenchmark, list[PullRequestCheck]]:
    """Return a benchmark with its attribution, and the checks of other pull requests that moved alike."""
    size = _size(row)
    if not (row.decides and _is_flagged(row)) or size is None or row.trace_id is None:
        return row, []
    asked = [each for each in others if row.trace_id in each.sizes][:ASKED]
    common = _common([each.sizes[row.trace_id] for each in asked], size)
    if common and _explains(common, size, row.detectable):
        alike = [each.check for each in asked if _reaches(each.sizes[row.trace_id], common)]
        reason = f"moved environment: {_signed(common)} in {len(alike)} of {len(asked)} other pull requests, too"
        return _excused(row, Attribution.ENVIRONMENT, reason), alike
    if _is_noise(again, row.trace_id, size):
        return _excused(
            row, Attribution.NOISE, "noise: in most other checks of this commit it moves less than half as far"
        ), []
    return row, []


def _excused(row: JudgedBenchmark, attribution: Attribution, reason: str) -> JudgedBenchmark:
    return replace(row, verdict=Verdict.UNSTABLE, reason=reason, attribution=attribution)


def _environment(
    rows: Sequence[JudgedBenchmark], alike: Mapping[str, PullRequestCheck], changed: str
) -> MovedEnvironment:
    """Sum up what moved with the environment, as in the checks of ``alike`` pull requests."""
    sizes = [size for row in rows if row.decides and (size := _size(row)) is not None]
    moved = [
        (speed_sign(row.unit, row.better) or 1) * size
        for row in rows
        if row.attribution is Attribution.ENVIRONMENT and (size := _size(row)) is not None
    ]
    low, high = math.expm1(min(moved)), math.expm1(max(moved))
    since = min(each.time for each in alike.values())
    return MovedEnvironment(len(moved), len(sizes), low, high, tuple(alike), since, changed)


@dataclass(frozen=True, slots=True)
class _Changes:
    """A check with its changes by trace."""

    check: PullRequestCheck
    sizes: Mapping[int, float]
    flagged: frozenset[int]

    @classmethod
    def of(cls, check: PullRequestCheck) -> _Changes:
        sizes = dict(zip(check.traces.tolist(), check.sizes.tolist(), strict=True))
        return cls(check, sizes, frozenset(check.traces[check.flagged].tolist()))


def _independent(check: PullRequestCheck, earlier: Iterable[PullRequestCheck]) -> list[PullRequestCheck]:
    """Choose the newest checks of other pull requests, of which no two share a commit; each needs to know its own."""
    chosen: list[PullRequestCheck] = []
    if not check.commits:
        return chosen
    for other in earlier:
        if other.commits and not any(other.shares_commits(each) for each in (check, *chosen)):
            chosen.append(other)
    return chosen


def _common(sizes: Sequence[float], size: float) -> float:
    """Return the change that two of the others reach in the direction of ``size``, 0 where they do not."""
    sign = math.copysign(1.0, size)
    ordered = sorted((sign * each for each in sizes), reverse=True)
    reached = ordered[_ALIKE - 1] if len(ordered) >= _ALIKE else 0.0
    return sign * reached if reached > 0 else 0.0


def _explains(common: float, size: float, detectable: float) -> bool:
    """Return True if nothing that could be found is left of a change without what the others have in common."""
    found = math.log1p(detectable) if detectable >= 0 else 0.0
    left = abs(size) - abs(common)
    return abs(common) >= _HALF * abs(size) and left <= max(found, _LEFT * abs(common))


def _reaches(size: float, common: float) -> bool:
    return size * common > 0 and abs(size) >= abs(common)


def _is_same(one: PullRequestCheck, other: PullRequestCheck) -> bool:
    """Return True for the same results, judged twice."""
    return np.array_equal(one.traces, other.traces) and np.array_equal(one.sizes, other.sizes)


def _is_noise(again: Sequence[_Changes], trace: int, size: float) -> bool:
    """Return True if most other checks of the commit show less than half of a change."""
    sizes = [each.sizes[trace] for each in again if trace in each.sizes]
    less = sum(each * math.copysign(1.0, size) < _HALF * abs(size) for each in sizes)
    return 2 * less > len(sizes)


def _rotating(again: Sequence[_Changes], rows: Mapping[int | None, JudgedBenchmark]) -> int:
    """Count the benchmarks that one check of the commit flags, and that move less than half as far in another."""
    noise = {trace for trace, row in rows.items() if row.attribution is Attribution.NOISE}
    for each in again:
        for trace in each.flagged & rows.keys():
            now, then = _size(rows[trace]), each.sizes[trace]
            if now is not None and now * math.copysign(1.0, then) < _HALF * abs(then):
                noise.add(trace)
    return len(noise)


def _is_flagged(row: JudgedBenchmark) -> bool:
    return row.verdict in _CHANGED or row.undecided


def _size(row: JudgedBenchmark) -> float | None:
    """Return the change as the logarithm of a ratio, None without one."""
    if not (0 < row.before < math.inf and 0 < row.after < math.inf):
        return None
    return math.log(row.after / row.before)


def _signed(size: float) -> str:
    share = math.expm1(size)
    return f"{'+' if share > 0 else '−'}{percent_text(abs(share))}"
