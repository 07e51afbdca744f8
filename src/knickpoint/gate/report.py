"""The verdict about a merge: what decides, what was accepted, what fails, and the exit code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from knickpoint.model.commit import Commit
from knickpoint.model.judged_benchmark import CommonMove, JudgedBenchmark, JudgedResults, ResultKind
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.pull_request_check import Attribution, MovedEnvironment
from knickpoint.model.step import Verdict

NO_VERDICT: Final = 3
"""The exit code where there are no data to judge by, or others are needed."""

_MOST_NAMED: Final = 3
_LONGEST_NAME: Final = 60
"""Pull requests that a sentence names, and characters of the name of one."""

_ALIKE: Final = 0.25
"""Spread of what moved together over its size, up to which one number stands for all."""


class Standing(Enum):
    """What a check makes of a row: ``TOLERATED`` is a regression where ``--fail-on`` leaves regressions out."""

    FAILS = "fails"
    TOLERATED = "tolerated"
    ACCEPTED = "accepted"
    PASSES = "passes"


class Happened(Enum):
    """What the new results show, for those who read of changes only."""

    NOTHING = "nothing"
    CHANGED = "changed"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class Sides:
    """The commits of both sides, None for what is not a commit of a history.

    ``reason`` says why the base is that one, or what it is. ``measured`` counts the commits of the base that values
    come from.
    """

    base: Commit | None = None
    head: Commit | None = None
    reason: str = ""
    measured: int = 0


@dataclass(frozen=True)
class GateReport:
    """The verdict on new results: may they be merged?

    ``base`` is a sentence about what they are compared with. ``fail_on`` are the verdicts that fail the check. Exit
    code, headline and every form of report go by :meth:`standing`. Without ``complete``, measurements that were to come
    are missing, and nothing can be said to have not regressed. Without ``has_history``, nothing of the repository is
    stored yet, so that nothing was compared. ``name`` tells the report from those of other jobs of the same commit,
    such as the jobs of a matrix of machines. ``warnings`` are what a person has to know beside the verdicts, ``causes``
    what the profiles of both sides say, a sentence a benchmark.
    """

    repository: str
    base: str
    results: JudgedResults
    fail_on: frozenset[Verdict] = frozenset({Verdict.REGRESSED})
    complete: bool = True
    has_history: bool = True
    name: str = ""
    sides: Sides = Sides()
    warnings: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def benchmarks(self) -> tuple[JudgedBenchmark, ...]:
        """All benchmarks, in the order of the results."""
        return self.results.benchmarks

    @cached_property
    def worst_first(self) -> tuple[JudgedBenchmark, ...]:
        """All benchmarks, the worst first."""
        return tuple(sorted(self.benchmarks, key=lambda row: row.order))

    @cached_property
    def deciding(self) -> tuple[JudgedBenchmark, ...]:
        """Those that decide, the worst first; canaries do not, because no commit is the reason when they move."""
        return tuple(row for row in self.worst_first if row.decides)

    @cached_property
    def beside(self) -> tuple[JudgedBenchmark, ...]:
        """The statistics beside the main values, the worst first."""
        return tuple(row for row in self.worst_first if not row.decides and not row.canary)

    def standing(self, row: JudgedBenchmark) -> Standing:
        """Return the standing of ``row`` in the check."""
        if row.attribution is Attribution.ENVIRONMENT:
            return Standing.PASSES
        if not row.decides or not (row.undecided or row.verdict in self.fail_on | {Verdict.REGRESSED}):
            return Standing.PASSES
        if row.accepted is not None:
            return Standing.ACCEPTED
        if row.undecided and row.verdict not in self.fail_on:
            return Standing.PASSES
        return Standing.FAILS if row.verdict in self.fail_on else Standing.TOLERATED

    @cached_property
    def failures(self) -> tuple[JudgedBenchmark, ...]:
        """The rows for which the check fails, the worst first."""
        return self._standing(Standing.FAILS)

    @cached_property
    def tolerated(self) -> tuple[JudgedBenchmark, ...]:
        """The regressions that do not fail the check, because ``fail_on`` leaves them out, the worst first."""
        return self._standing(Standing.TOLERATED)

    @cached_property
    def accepted(self) -> tuple[JudgedBenchmark, ...]:
        """The rows that would be failures or tolerated if no commit accepted them, the worst first."""
        return self._standing(Standing.ACCEPTED)

    def _standing(self, wanted: Standing) -> tuple[JudgedBenchmark, ...]:
        return tuple(row for row in self.deciding if self.standing(row) is wanted)

    @cached_property
    def listed(self) -> tuple[JudgedBenchmark, ...]:
        """The deciding rows that a report lists: those that fail, and all that are not unchanged."""
        return tuple(
            row for row in self.deciding if row.kind is not ResultKind.UNCHANGED or self.standing(row) is Standing.FAILS
        )

    @property
    def worst(self) -> JudgedBenchmark | None:
        """The worst regression with a size, of those that are not accepted first; None without one."""
        worse = (row for row in self.deciding if row.verdict is Verdict.REGRESSED and not math.isnan(row.relative_size))
        return min(worse, key=lambda row: row.accepted is not None, default=None)

    @cached_property
    def counts(self) -> Mapping[ResultKind, int]:
        """How many of the rows that decide are of each kind."""
        found = Counter(row.kind for row in self.deciding)
        return {kind: found[kind] for kind in ResultKind}

    @property
    def judged(self) -> bool:
        """Whether there is anything to decide by."""
        return self.complete and any(row.verdict is not Verdict.NO_DATA for row in self.deciding)

    @property
    def again(self) -> bool:
        """Whether the verdict is to measure again: what moved together may be the patch or a busy machine."""
        return not self.failures and any(row.undecided and row.accepted is None for row in self.deciding)

    @property
    def happened(self) -> Happened:
        """Whether anything is worse or to be measured again, else whether anything changed."""
        if self.failures or self.tolerated or self.again:
            return Happened.WORSE
        changed = any(row.kind is ResultKind.IMPROVED for row in self.deciding)
        return Happened.CHANGED if changed or self.accepted or self.results.move.moved else Happened.NOTHING

    @property
    def condition(self) -> str:
        """What the verdict depends on: the environment, noise, another machine, or a common move; "" for nothing."""
        count = self.results.rotating
        noise = f"Noise: {counted(count, 'benchmark')} moved in one check of this commit, and not in another."
        return " ".join(filter(None, (self.environment, noise if count else "", self._common_move)))

    @property
    def environment(self) -> str:
        """The sentence about a moved environment: what moved, where else, since when, and what differs; "" for none."""
        return _environment(self.results.environment) if self.results.environment else ""

    @property
    def _common_move(self) -> str:
        move = self.results.move
        if not move.unlike:
            explained = self.results.environment and not any(row.undecided for row in self.deciding)
            if not move.moved or explained:
                return ""
            software = f", and other software was used ({move.software})" if move.software else ""
            text = f"{_moved(move)} moved together, {_sizes(move)}, by the patch or on a busy machine{software}."
            return text[:1].upper() + text[1:]
        differs = f"Other machine: {'; '.join(filter(None, (move.machine, move.software)))}"
        if move.moved:
            return f"{differs}; {_moved(move)} moved alike, {_sizes(move)}, which is attributed to it."
        return f"{differs}; the benchmarks did not move together."

    @property
    def verdict(self) -> str:
        """The verdict in a sentence, after its :attr:`condition`: also what is worse in a pass or was not judged."""
        total = counted(len(self.deciding), "benchmark")
        if self.failures:
            rest = f"; {_kinds(self.tolerated)}, which --fail-on leaves out" if self.tolerated else ""
            return f"Do not merge: {_kinds(self.failures)}, of {total}{rest}."
        if not self.has_history:
            return f"No verdict: the history is empty, so there is nothing to compare {total} with."
        if not self.judged:
            return f"No verdict: there are too few data to judge {total}."
        if self.again:
            return "Measure again."
        return f"May be merged{self._passing(total)}."

    def _passing(self, total: str) -> str:
        """Return the words of the verdict for benchmarks that pass, of which there are ``total``."""
        few = self.counts[ResultKind.NO_DATA]
        excused = sum(row.attribution is Attribution.ENVIRONMENT for row in self.deciding)
        unclear = self.counts[ResultKind.UNSTABLE] + few - excused - sum(row.undecided for row in self.accepted)
        open_ones = f"; {unclear:,} could not be judged" if unclear else ""
        if self.tolerated:
            return f" although {_kinds(self.tolerated)}, of {total}: --fail-on leaves regressions out{open_ones}"
        if self.accepted:
            noun = "regression" if all(row.verdict is Verdict.REGRESSED for row in self.accepted) else "benchmark"
            return f": {counted(len(self.accepted), noun)} accepted, of {total}{open_ones}"
        if unclear == len(self.deciding):
            hidden, rest = (
                counted(unclear - few, "benchmark"),
                f", and there are too few data for {few:,}" if few else "",
            )
            return f", but nothing could be found: the noise hides any change of {hidden}{rest}"
        return f": nothing regressed, of {total}{open_ones}"

    @property
    def exit_code(self) -> int:
        """0 if it may be merged, 1 where anything fails, 3 without data to judge by, or to be measured again."""
        return 1 if self.failures else 0 if self.judged and not self.again else NO_VERDICT


def _environment(found: MovedEnvironment) -> str:
    names = ", ".join(plain_line(name, _LONGEST_NAME) for name in found.pull_requests[:_MOST_NAMED])
    rest = len(found.pull_requests) - _MOST_NAMED
    others = f"{names}{f' and {rest:,} more' if rest > 0 else ''}"
    moved = f"all {found.judged:,}" if found.moved == found.judged else f"{found.moved:,} of {found.judged:,}"
    low, high = (f"{share * 100:+.0f} %".replace("-", "−") for share in (found.low, found.high))
    return (
        f"Moved environment: {moved} moved, {low if low == high else f'{low[:-2]} to {high}'}, as in pull requests without"
        f" a common commit ({others}) since {found.since:%Y-%m-%d %H:%M} UTC;"
        f" {found.changed or 'no stated fact of the machine changed'}."
    )


def _moved(move: CommonMove) -> str:
    """Count the benchmarks that moved together: ``all 12``, ``13 of 20``."""
    return f"all {move.judged:,}" if move.moved == move.judged else f"{move.moved:,} of {move.judged:,}"


def _sizes(move: CommonMove) -> str:
    """Return by how much: ``+48 %`` where all moved by about as much, else ``+54 to +144 %``."""
    if (1 + move.high) / (1 + move.low) - 1 <= _ALIKE * max(abs(move.relative_size), _ALIKE):
        return f"{move.relative_size * 100:+.0f} %".replace("-", "−")
    return f"{move.low * 100:+.0f} to {move.high * 100:+.0f} %".replace("-", "−")


def _kinds(rows: Sequence[JudgedBenchmark]) -> str:
    """Return the number of rows of each kind, the worst first: ``1 vanished and 2 regressed``."""
    found = Counter(row.kind for row in rows)
    return " and ".join(f"{found[kind]:,} {kind.value}" for kind in ResultKind if found[kind])
