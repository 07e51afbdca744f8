"""The journal of a bisection in the store of an instance, as the coordinator writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from knickpoint.bisect.coordinator import BisectionProgress, JournalEntry
from knickpoint.bisect.search.problem import PlannedProbe
from knickpoint.model.bisection import Measured, ProbeResult, Target
from knickpoint.store.bisections import Journal

_MOST_TRACES: Final = 500
"""Traces of one probe whose values are kept with it; of more, only that of the bisection."""

_SECONDS_STEP: Final = 30.0
"""How much the estimate of the time left changes before it is written again."""


@dataclass
class StoreJournal:
    """Keeps the probes of one bisection in the store; see :class:`~knickpoint.bisect.coordinator.bisection.Journal`.

    Attributes:
        journal: the journal in the store, of the worker that coordinates the bisection.
        trace: the key of the trace that is followed, "" where probes pass or fail.
        recorded: is called after each result was written, to import it.
    """

    journal: Journal
    trace: str = ""
    recorded: Callable[[], object] = lambda: None
    _shown: tuple[object, ...] = field(default=(), init=False)

    def load(self) -> Sequence[JournalEntry]:
        """Return the probes that were asked for and not dropped, in their order."""
        return [
            JournalEntry(each.name, PlannedProbe(each.place, each.device, each.purpose), each.target, each.result)
            for each in self.journal.probes()
        ]

    def begin(self, probe: str, planned: PlannedProbe, target: Target) -> None:
        """Note a probe before it is submitted."""
        self.journal.begin(probe, place=planned.place, device=planned.device, purpose=planned.purpose, target=target)

    def record(self, result: ProbeResult) -> None:
        """Keep the result of a probe, with its results files until they are imported."""
        self.journal.record(replace(result, measured=self._kept(result.measured)))
        self.recorded()

    def drop(self, probe: str) -> None:
        """Note that a probe was cancelled."""
        self.journal.drop(probe)

    def log(self, line: str) -> None:
        """Keep a line for people."""
        self.journal.log(line)

    def state(self, progress: BisectionProgress) -> None:
        """Keep where the bisection stands; what is as it was is not written again."""
        left = progress.seconds_left
        devices = tuple(device.name for device in progress.devices)
        known = progress.posterior
        ended = sum(entry.result is not None for entry in progress.entries)
        shown = (
            ended,
            known.single.tobytes(),
            known.none,
            known.several,
            devices,
            None if left is None else round(left / _SECONDS_STEP),
        )
        if shown != self._shown:
            self.journal.state(known, devices, left)
            self._shown = shown

    def _kept(self, measured: Mapping[str, Measured]) -> Mapping[str, Measured]:
        if len(measured) <= _MOST_TRACES:
            return measured
        return {key: value for key, value in measured.items() if key == self.trace}
