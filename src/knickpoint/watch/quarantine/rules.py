"""What quarantine goes by: which traces are canaries, which facts count, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["MACHINE_FACTS", "WATCHED_FACTS", "Canary", "QuarantineRule"]

MACHINE_FACTS = ("machine", "host", "hostname", "node")
"""Facts of a run, else params of its canaries, that name its machine; the first of them that is there counts."""

WATCHED_FACTS = ("kernel", "cpu", "cpu_governor", "governor", "microcode", "compiler", "os")
"""Facts of a machine whose change makes its results suspect where no canary was measured."""


@dataclass(frozen=True, slots=True)
class Canary:
    """Traces that no commit should change: a section of the configuration, or an alert of the kind ``canary``."""

    name: str
    query: str
    repository: str = ""


@dataclass(frozen=True, slots=True)
class QuarantineRule:
    """How quarantine decides.

    Attributes:
        canaries: which traces are canaries.
        machine: facts that name the machine of a run; the first that it states counts.
        facts: facts whose change makes results suspect where no canary was measured.
        minimum_effect: canaries that move by less, as a share of their level, have not moved.
        wait: after this time without an outcome, results count.
        stays: so many commits in a row with a moved canary are a new level of the machine.
        facts_stay: the same for changed facts without canaries.
    """

    canaries: tuple[Canary, ...] = ()
    machine: tuple[str, ...] = MACHINE_FACTS
    facts: tuple[str, ...] = WATCHED_FACTS
    minimum_effect: float = 0.02
    wait: timedelta = timedelta(hours=48)
    stays: int = 5
    facts_stay: int = 3
