"""Find the commit that made a change where two repositories moved between the good and the bad end.

The four combinations of old and new say which repository made the change, or whether both did. Then the commits of that
repository are searched, with the other one pinned: at its new commit, where the change was seen; where each repository
moves the value by itself, at its old one, so that the other change does not cover this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from knickpoint.bisect.coordinator.bisection import (
    Bisection,
    BisectionAnswer,
    BisectionProgress,
    Journal,
    JournalEntry,
    read_evidence,
)
from knickpoint.bisect.coordinator.coordinate import coordinate
from knickpoint.bisect.job import DevicePool
from knickpoint.bisect.search.attribution import Attribution, CellValue, attribute, attribution_of, next_cell
from knickpoint.bisect.search.problem import Level, PlannedProbe
from knickpoint.model.bisection import ProbePurpose, Target

_WAIT_SECONDS: Final = 0.5
_MOST_PER_CELL: Final = 12
_CELLS: Final = 4
_NAMES: Final = ("old with old", "new main with old other", "old main with new other", "new with new")


@dataclass(frozen=True, slots=True)
class OtherRange:
    """The range of the second repository: its name, the old commit, and the commits after it, oldest first."""

    repository: str
    good: str
    commits: tuple[str, ...]

    @property
    def bad(self) -> str:
        """The new commit."""
        return self.commits[-1]


@dataclass(frozen=True, slots=True)
class TwoRepositoriesAnswer:
    """Which repository made the change, and the commit in it.

    ``attribution`` is None where the combinations could not decide it; then ``reason`` says why. ``probabilities`` has
    that of each answer. ``main`` and ``other`` are the answers of the searches in the two repositories, None where none
    was needed. ``cells`` are the probes of the combinations.
    """

    attribution: Attribution | None
    probability: float
    probabilities: dict[Attribution, float]
    cells: tuple[JournalEntry, ...]
    main: BisectionAnswer | None = None
    other: BisectionAnswer | None = None
    reason: str = ""


def coordinate_two(
    bisection: Bisection,
    other: OtherRange,
    pool: DevicePool,
    journal_of: Callable[[str], Journal],
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[BisectionProgress], None] = lambda _: None,
) -> TwoRepositoriesAnswer:
    """Decide which of two repositories made a change, and search the commit there.

    Args:
        bisection: the search in the main repository; its pins are those of further repositories.
        other: the range of the second repository, whose location is among those of ``bisection``.
        pool: the devices. All combinations are measured on one of them, so that devices cannot differ.
        journal_of: returns the journal of a part: ``cells``, ``main``, ``other``.
        stop: is asked at least twice a second.
        progress: is called after each change of a search.

    Raises:
        StoreError: a journal cannot be written, or another process took the bisection over.
    """
    cells = _Cells(bisection, other, pool, journal_of("cells"))
    try:
        found = cells.measure(stop)
    finally:
        cells.cancel()
    if found is None or found[0] is Attribution.NEITHER:
        reason = cells.reason if found is None else "no combination differs from the good ends"
        return TwoRepositoriesAnswer(
            found[0] if found else None, found[1] if found else 0.0, cells.probabilities, cells.done, reason=reason
        )
    attribution, probability = found
    answers: dict[str, BisectionAnswer] = {}
    for part in ("main", "other"):
        if attribution.value in {part, Attribution.BOTH.value, Attribution.INTERACTION.value}:
            search = _search(bisection, other, attribution, part)
            answers[part] = coordinate(search, pool, journal_of(part), stop=stop, progress=progress)
    return TwoRepositoriesAnswer(
        attribution, probability, cells.probabilities, cells.done, answers.get("main"), answers.get("other")
    )


def _search(bisection: Bisection, other: OtherRange, attribution: Attribution, part: str) -> Bisection:
    """Return the search in one repository, with the other pinned."""
    old = attribution is Attribution.BOTH
    # What the history knows of the bad end is the level with both changes; one of two alone has another.
    after = Level() if old else bisection.after
    pinned = dict(bisection.pins)
    if part == "main":
        pins = tuple(sorted({**pinned, other.repository: other.good if old else other.bad}.items()))
        return replace(bisection, id=f"{bisection.id}-main", pins=pins, after=after)
    return replace(
        bisection,
        id=f"{bisection.id}-other",
        good=other.good,
        commits=other.commits,
        varied=other.repository,
        fixed=bisection.good if old else bisection.commits[-1],
        priors=None,
        after=after,
    )


@dataclass
class _Cells:
    """The measurements of the four combinations, in the order in which they began."""

    bisection: Bisection
    other: OtherRange
    pool: DevicePool
    journal: Journal
    entries: dict[str, JournalEntry] = field(default_factory=dict)
    reason: str = ""

    @property
    def done(self) -> tuple[JournalEntry, ...]:
        """The probes with a result."""
        return tuple(entry for entry in self.entries.values() if entry.result is not None)

    @property
    def probabilities(self) -> dict[Attribution, float]:
        """The probability of each answer now."""
        asked = self.bisection
        return attribute(self._values(), before=asked.before, after=asked.after, error=asked.error)

    def measure(self, stop: Callable[[], bool]) -> tuple[Attribution, float] | None:
        """Measure until one answer is sure; None, with a reason, where that does not happen."""
        asked = self.bisection
        self.entries = {entry.probe: entry for entry in self.journal.load()}
        for entry in self._under_way():
            self.pool.submit(self.bisection.job(entry))
        while True:
            found = attribution_of(
                self._values(),
                before=asked.before,
                after=asked.after,
                error=asked.error,
                probability=asked.recipe.probability,
            )
            self.reason = self._obstacle(stopped=stop())
            if found is not None or self.reason:
                return found
            self._begin()
            for result in self.pool.wait(_WAIT_SECONDS):
                if result.probe in self.entries:
                    self.journal.record(result)
                    self.entries[result.probe] = replace(self.entries[result.probe], result=result)

    def cancel(self) -> None:
        """Cancel what is still under way."""
        for entry in self._under_way():
            self.pool.cancel(entry.probe)
            self.journal.drop(entry.probe)
            del self.entries[entry.probe]

    def _begin(self) -> None:
        """Begin with as many probes as the chosen device makes at once, in the order of what is missing most."""
        device, slots = self._device()
        for _ in range(slots - len(self._under_way())):
            cell = next_cell(self._begun())
            if cell is None:
                return
            planned = PlannedProbe(cell, device, ProbePurpose.END)
            entry = JournalEntry(f"{self.bisection.id}-cells-{len(self.entries) + 1}", planned, self._target(cell))
            self.journal.begin(entry.probe, planned, entry.target)
            self.entries[entry.probe] = entry
            self.pool.submit(self.bisection.job(entry))

    def _begun(self) -> list[int]:
        """Return the combinations of probes that count: lost ones are made again."""
        evidence = self._evidence_places()
        return [*evidence, *(entry.planned.place for entry in self._under_way())]

    def _device(self) -> tuple[str, int]:
        """Return the device that makes these probes, the one that began while it is there, and its slots.

        0 for none.
        """
        like = self.bisection.job(JournalEntry("", PlannedProbe(0), self._target(0)))
        fitting = {device.name: device.slots for device in self.pool.devices() if device.fits(like)}
        used = next((entry.result.device for entry in self.done if entry.result), "")
        name = used if used in fitting else min(fitting, default="")
        return name, fitting.get(name, 0)

    def _under_way(self) -> list[JournalEntry]:
        return [entry for entry in self.entries.values() if entry.result is None]

    def _evidence_places(self) -> list[int]:
        return [observation.place for observation in read_evidence(self.bisection, self.done).observations]

    def _values(self) -> Sequence[CellValue]:
        observations = read_evidence(self.bisection, self.done).observations
        return [CellValue(bool(o.place & 1), bool(o.place & 2), o.value, o.passed) for o in observations]

    def _obstacle(self, *, stopped: bool) -> str:
        """Return the reason to measure nothing more, "" if something can be measured."""
        if stopped:
            return "stopped"
        for cell, why in sorted(read_evidence(self.bisection, self.done).reasons.items()):
            return f"{_NAMES[cell]} cannot be measured: {why}"
        counts = Counter(self._evidence_places())
        if min(counts[cell] for cell in range(_CELLS)) >= _MOST_PER_CELL:
            return f"{_MOST_PER_CELL} measurements of each combination do not decide it"
        most = self.bisection.recipe.most_probes
        return f"the budget of {most} probes is spent" if most and len(self.done) >= most else ""

    def _target(self, cell: int) -> Target:
        main = self.bisection.commits[-1] if cell & 1 else self.bisection.good
        pins = {**dict(self.bisection.pins), self.other.repository: self.other.bad if cell & 2 else self.other.good}
        return Target(main, tuple(sorted(pins.items())))
