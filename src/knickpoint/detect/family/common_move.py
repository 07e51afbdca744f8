"""Separate the common move of all benchmarks, which a machine makes, from changes of single ones, which a patch makes.

A busy or another machine changes every time by about the same factor. So changes are compared as logarithms of ratios,
with rates the other way round, and their median over the benchmarks is the *common move*.

- The benchmarks *moved together* if there are five or more, if the 95 % intervals of more than half of them leave out
  no change on the same side, and if one of these would have a verdict by itself, or the common move lies beyond those
  of past commits: it is judged as one more benchmark, with the same rate of false positives. On a machine like that of
  the history it is less than five times: no machine is that busy.
- On a machine like that of the history, what moved together is *unstable*: a patch can slow everything, and so can a
  busy machine. It is to be measured again.
- On another machine, the common move is taken out of the new values, and the common moves of past commits out of the
  history. What is left is judged as usual. The noise is then that between machines, as far as the history has several.
- What stands out from a common move, or on another machine, must also lie further from it than the other benchmarks
  scatter around it. On another machine, the bar allows for how badly few benchmarks show that scatter. Machines differ
  in some benchmarks much more than in others: with fewer than three machines, the history does not show how much, and
  Student's t with three degrees of freedom describes the scatter. What lies between that bar and the one without such
  doubt is *unstable*: only measuring in turns can tell.
- A machine is like that of the history if five or more commits were measured on machines alike. Then only those count.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.family.decision import NEWEST, FamilyJudgement, judge_family
from knickpoint.detect.family.levels import exact_rows
from knickpoint.detect.family.short_history import ENORMOUS, FEWEST
from knickpoint.detect.outliers import student_quantile
from knickpoint.model.judged_benchmark import CommonMove, Judgement
from knickpoint.model.plain_text import counted
from knickpoint.model.step import Verdict
from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better

FEWEST_TOGETHER: Final = 5
"""Benchmarks from which on their common move can be told from what one of them does."""

_OF_MAD: Final = 1.4826
"""Standard deviation of normal values over their median absolute deviation."""

_POWER: Final = 0.8
"""Share of the cases in which a change is found that is stated as detectable."""

_LARGEST_MOVE: Final = 700.0

_MAD_EFFICIENCY: Final = 0.37
"""Efficiency of the median absolute deviation beside the standard deviation of normal values (Rousseeuw, Croux 1993)."""

_SEVERAL: Final = 3
"""Machines in a history from which on it shows how they differ in a benchmark."""

_POLISHES: Final = 4
"""Rounds of the median polish (Tukey 1977), which hardly changes after the second one."""

_CHANGED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MoveJudgement:
    """The verdicts on new values of many benchmarks, in the order given, and their common move.

    ``margins`` and ``commits`` are those of :class:`FamilyJudgement`. ``together`` are the benchmarks that have no
    verdict of their own, because they moved as most do.
    """

    judgements: tuple[Judgement, ...]
    margins: tuple[float, ...]
    together: tuple[bool, ...]
    move: CommonMove
    commits: int


@dataclass(frozen=True, slots=True)
class _Options:
    better: list[Better]
    kinds: Sequence[Hashable] | None
    false_positives: float
    minimum_effect: float

    def judge(self, histories: Array, samples: Sequence[Array]) -> FamilyJudgement:
        return judge_family(
            histories,
            samples,
            better=self.better,
            kinds=self.kinds,
            false_positives=self.false_positives,
            minimum_effect=self.minimum_effect,
        )


def speed_sign(unit: str, better: Better, past: ArrayLike = ()) -> int:
    """Return 1 for values that a slower machine raises, such as times, -1 for those that it lowers, 0 for others.

    Sizes and counts do not depend on the speed of a machine. An unknown unit is taken for a count if the ``past``
    values are exact, else for a time, or for a score that is better when higher.
    """
    dimension = read_unit(unit).dimension
    if dimension == "time":
        return 1
    if dimension.endswith("/time"):
        return -1
    if dimension.startswith("?") and dimension != "?%" and not exact_rows(np.atleast_2d(past))[0]:
        return -1 if better is Better.HIGHER else 1
    return 0


def judge_moves(
    histories: ArrayLike,
    samples: Sequence[ArrayLike],
    *,
    signs: Sequence[int],
    unlike: ArrayLike | None = None,
    machines: int = 1,
    better: Sequence[Better] | Better = Better.UNKNOWN,
    kinds: Sequence[Hashable] | None = None,
    false_positives: float = 0.01,
    minimum_effect: float = 0.0,
) -> MoveJudgement:
    """Judge the new values of many benchmarks by :func:`judge_family`, apart from what they do together.

    ``signs`` has the :func:`speed_sign` of each benchmark; those of 0 are judged as usual. ``unlike`` is true for the
    commits of the histories that another machine measured than the new values; None if all machines are alike or
    unknown. With five or more commits on machines alike, only those count; else the machine of the new values is
    another one than that of the history, which has results of so many different ``machines``. The other arguments, and
    the errors, are those of :func:`judge_family`.
    """
    frame = np.atleast_2d(np.asarray(histories, dtype=np.float64))[:, -NEWEST:]
    new = [np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in samples]
    ways = [better] * len(new) if isinstance(better, Better) else list(better)
    options = _Options(ways, kinds, false_positives, minimum_effect)
    alike = np.ones(frame.shape[1], dtype=bool) if unlike is None else ~np.asarray(unlike, dtype=bool)[-NEWEST:]
    known = bool(alike.all()) or int(np.count_nonzero(~np.isnan(frame[:, alike]).all(axis=0))) >= FEWEST
    if known:
        frame = frame[:, alike]
    usual = options.judge(frame, new)
    table = _MoveTable(frame, new, np.asarray(signs), usual)
    nothing = MoveJudgement(
        usual.judgements,
        usual.margins,
        (False,) * len(new),
        CommonMove(len(table.rows), unlike=not known),
        usual.commits,
    )
    if len(table.rows) < FEWEST_TOGETHER:
        return nothing if known else _too_few(nothing, table.rows)
    if known and not table.moved(usual).any():
        return nothing
    return _apart(table, options, nothing, known=known, machines=machines)


class _MoveTable:
    """The benchmarks whose values depend on the speed of the machine, as logarithms, upwards for slower.

    ``past`` are the common moves of the commits, nan where too few benchmarks were measured.
    """

    def __init__(
        self, frame: Array, samples: Sequence[Array], signs: NDArray[np.int64], usual: FamilyJudgement
    ) -> None:
        self.frame, self.samples, self.signs = frame, samples, signs
        self.rows = [
            row
            for row, judgement in enumerate(usual.judgements)
            if signs[row]
            and judgement.centre > 0
            and bool((frame[row][~np.isnan(frame[row])] > 0).all())
            and bool((samples[row] > 0).all())
        ]
        self.past = common_moves(signs[self.rows, None].astype(np.float64) * np.log(frame[self.rows]))

    def moved(self, judged: FamilyJudgement, less: float = 0.0) -> Mask:
        """Return the mask of the rows that moved the way of most, if more than half did so beyond their 95 % intervals.

        ``less`` is taken from each of the changes, as logarithm.
        """
        sizes = self.changes(judged) - less
        margins = np.array([judged.margins[row] / judged.judgements[row].centre for row in self.rows])
        beyond = np.abs(np.expm1(sizes)) > margins
        slower, faster = beyond & (sizes > 0), beyond & (sizes < 0)
        most = slower if np.count_nonzero(slower) >= np.count_nonzero(faster) else faster
        return most if 2 * np.count_nonzero(most) > len(self.rows) else np.zeros(len(self.rows), dtype=bool)

    def changes(self, judged: FamilyJudgement) -> Array:
        """Return the change of each row as logarithm, upwards for slower."""
        return np.array(
            [
                self.signs[row] * math.log(judged.judgements[row].level / judged.judgements[row].centre)
                for row in self.rows
            ]
        )

    def without_common(self) -> Array:
        """Return the histories without the common moves of their commits; those of other benchmarks as they are."""
        found = self.frame.copy()
        found[self.rows] *= np.exp(-self.signs[self.rows, None] * self.past)
        return found

    def new_without(self, move: float) -> list[Array]:
        """Return the samples without a common ``move``."""
        chosen = set(self.rows)
        return [
            values * math.exp(-self.signs[row] * move) if row in chosen else values
            for row, values in enumerate(self.samples)
        ]


def share_of(move: float) -> float:
    """Return the relative change of a move (the logarithm of a ratio); infinite where it overflows."""
    return math.expm1(move) if move < _LARGEST_MOVE else math.inf


def common_moves(table: Array) -> Array:
    """Return the common move of each column of logarithms, by median polish; nan with fewer than five values."""
    enough = np.count_nonzero(~np.isnan(table), axis=0) >= FEWEST_TOGETHER
    moves = np.where(enough, 0.0, np.nan)
    if not enough.any():
        return moves
    seen = table[:, enough]
    columns = np.zeros(seen.shape[1])
    for _ in range(_POLISHES):
        known = ~np.isnan(seen).all(axis=1)
        levels = np.zeros(len(seen))
        levels[known] = np.nanmedian(seen[known] - columns, axis=1)
        columns = np.nanmedian(seen - levels[:, None], axis=0)
    moves[enough] = columns
    return moves


def _too_few(found: MoveJudgement, rows: Sequence[int]) -> MoveJudgement:
    """Return the verdicts on another machine with too few benchmarks: a change may be the machine's."""
    text = "the machine is another one, and too few benchmarks show what it does: measure again on a similar machine"
    judgements, together = list(found.judgements), list(found.together)
    for row in rows:
        if judgements[row].verdict in _CHANGED:
            judgements[row] = replace(judgements[row], verdict=Verdict.UNSTABLE, reason=text, conditional=True)
            together[row] = True
    return replace(found, judgements=tuple(judgements), together=tuple(together))


def _apart(table: _MoveTable, options: _Options, usual: MoveJudgement, *, known: bool, machines: int) -> MoveJudgement:
    """Return the verdicts apart from the common move; ``known`` says that the machine is like that of the history."""
    # Levels without the common moves of the past; then the move of the new values, and what is left without it.
    levelled = table.without_common()
    first = options.judge(levelled, table.samples)
    if not all(first.judgements[row].centre > 0 for row in table.rows):
        return usual if known else _too_few(usual, table.rows)
    changes = table.changes(first)
    common = float(np.median(changes))
    past = table.past[~np.isnan(table.past)]
    reference = float(np.median(past))
    moved = table.moved(first, reference)
    failing = any(usual.judgements[row].verdict in _CHANGED for row in itertools.compress(table.rows, moved))
    busy = moved.any() and abs(common - reference) < math.log(ENORMOUS)
    if known and not (busy and (failing or _beyond_past(past, common, options))):
        moved[:] = False
    if known and not moved.any():
        return usual
    scatter = _scatter(changes - common)
    furthest = doubtful = _furthest(scatter, changes.size, options.false_positives)
    if not known:
        furthest = _furthest(scatter, changes.size, options.false_positives, _MAD_EFFICIENCY)
        furthest *= _heavier(options.false_positives / changes.size) if machines < _SEVERAL else 1.0
    left = options.judge(levelled, table.new_without(common)).judgements
    apart = np.array([left[row].verdict in _CHANGED for row in table.rows]) & (np.abs(changes - common) > doubtful)
    parts = _Parts(
        left,
        _described(changes - reference, moved & ~apart, unlike=not known),
        doubtful,
        furthest,
        student_quantile(_POWER, changes.size - 1) * scatter,
        known=known,
    )
    # On another machine, what does not depend on its speed is conditional, too.
    judgements = list(usual.judgements if known else map(_conditional, usual.judgements))
    together = list(usual.together)
    for row, distance, moves in zip(table.rows, (changes - common).tolist(), moved.tolist(), strict=True):
        sign = int(table.signs[row])
        judgements[row], together[row] = parts.verdict(row, usual.judgements[row], sign, distance, moves=moves)
    return replace(usual, judgements=tuple(judgements), together=tuple(together), move=parts.move)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the new values do together, and the verdicts on what is ``left`` without it.

    All distances are logarithms: up to ``least`` the scatter of the others hides what is left, up to ``certain`` it may
    be the machine, and a change that exceeds the bars by ``power`` lies beyond them in four cases of five. The machine
    is like that of the history if it is ``known``.
    """

    left: Sequence[Judgement]
    move: CommonMove
    least: float
    certain: float
    power: float
    known: bool

    def verdict(
        self, row: int, before: Judgement, sign: int, distance: float, *, moves: bool
    ) -> tuple[Judgement, bool]:
        """Return the verdict on a benchmark, and whether it is that of most others: it ``moves`` with them, or does not.

        It lies at a ``distance`` from the common move, as logarithm, upwards for slower; ``sign`` is -1 for rates.
        """
        found = self._left(before, self.left[row], sign, distance)
        changed = found.verdict in _CHANGED
        if not self.known:
            return _conditional(found), moves and not changed and found.verdict is not Verdict.UNSTABLE
        if not self.move.moved or (changed and found.verdict is before.verdict):
            return found, False
        if moves or before.verdict in _CHANGED:
            others = counted(self.move.moved - moves, "other benchmark")
            reason = f"moved together with {others}: measure again"
            return replace(before, verdict=Verdict.UNSTABLE, reason=reason, conditional=True), True
        return before, False

    def _left(self, before: Judgement, left: Judgement, sign: int, distance: float) -> Judgement:
        """Return the verdict on what is left, with the levels as they were measured."""
        verdict, reason, conditional = left.verdict, left.reason, left.conditional
        if self.move.moved:
            own, common = (math.expm1(sign * move) for move in (distance, math.log1p(self.move.relative_size)))
            reason = f"{_percent(own)} beside the common move of {_percent(common)}: {reason}"
        if verdict in _CHANGED and not abs(distance) > self.least:
            verdict = Verdict.UNCHANGED
            reason += f"; the others scatter around it, and more than {_percent(share_of(self.least))} would count"
        elif verdict in _CHANGED and not abs(distance) > self.certain:
            verdict, conditional = Verdict.UNSTABLE, True
            reason += (
                f"; the history has no machine like it, and a machine may do up to {_percent(share_of(self.certain))}"
            )
        # The history does not show how far the level of another machine is off; the scatter of the others does.
        reach = (left.high if sign > 0 else left.low) / left.centre - 1
        bar = max(math.log1p(sign * reach), self.certain)
        found_from = max(left.detectable_relative, share_of(bar + self.power))
        return replace(
            before,
            verdict=verdict,
            reason=reason,
            conditional=conditional,
            detectable=max(left.detectable, found_from * abs(before.centre)),
            detectable_relative=found_from,
            p_value=left.p_value,
            evidence=left.evidence,
        )


def _scatter(distances: Array) -> float:
    """Return the standard deviation of distances from the common move, by the median of their sizes."""
    return _OF_MAD * float(np.median(np.abs(distances)))


def _furthest(scatter: float, count: int, false_positives: float, efficiency: float = 1.0) -> float:
    """Return the distance from the common move that the furthest of so many benchmarks has by their own scatter.

    A scatter that was estimated with an ``efficiency`` is known as well as by so much fewer benchmarks.
    """
    return student_quantile(1 - false_positives / count, efficiency * (count - 1)) * scatter


def _heavier(share: float) -> float:
    """Quantile of heavy tails over that of normal ones with the same median, which a ``share`` exceeds."""
    tails, normal = (student_quantile(1 - share, freedom) / student_quantile(0.75, freedom) for freedom in (3, 10_000))
    return tails / normal


def _beyond_past(past: Array, common: float, options: _Options) -> bool:
    """Return True if a common move lies beyond those of past commits, judged as one more benchmark.

    With too few commits for that, it has to lie beyond the prediction interval of a normal distribution.
    """
    found = judge_family(
        np.exp(past)[None, :],
        [[math.exp(common)]],
        false_positives=options.false_positives,
        minimum_effect=options.minimum_effect,
    )
    verdict = found.judgements[0].verdict
    if verdict in _CHANGED or verdict is Verdict.UNCHANGED or past.size < FEWEST:
        return verdict in _CHANGED
    scatter = float(past.std(ddof=1)) * math.sqrt(1 + 1 / past.size)
    furthest = student_quantile(1 - options.false_positives / 2, past.size - 1) * scatter
    return abs(common - float(np.median(past))) > max(furthest, math.log1p(options.minimum_effect))


def _described(changes: Array, moved: Mask, *, unlike: bool) -> CommonMove:
    """Return the common move of those that ``moved``."""
    if not moved.any():
        return CommonMove(changes.size, unlike=unlike)
    low, middle, high = np.expm1(np.quantile(changes[moved], [0, 0.5, 1])).tolist()
    return CommonMove(changes.size, int(np.count_nonzero(moved)), middle, low, high, unlike=unlike)


def _conditional(found: Judgement) -> Judgement:
    return replace(found, conditional=True) if found.verdict in _CHANGED else found


def _percent(share: float) -> str:
    return f"{share * 100:+.1f} %".replace("-", "−") if math.isfinite(share) else "∞"
