"""Bisection: the search for the commit that made a change, by measuring commits of its suspect range again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

from knickpoint.model.unit_names import Better

PROBE_FACT: Final = "bisection"
"""The fact of a run that names the bisections for which a probe measured it."""

SCHEDULE_FACT: Final = "schedule"
"""The fact of a run that names the schedule which had it measured."""

PROBE_RUN: Final = "bisection B"
"""How the names of the runs begin that probes of bisections become, as in ``bisection B12 probe 3``."""


class BisectionState(Enum):
    """Where a bisection stands; the values are those of ``knick bisect --format json``.

    CULPRIT names one commit with the stated probability. RANGE names the commits that are left where commits cannot be
    measured, or where several changes are open. NOT_REPRODUCIBLE: the ends of the range do not differ when they are
    measured again. GAVE_UP: the budget ended, or nothing could be measured. STOPPED: a person stopped it.
    """

    WAITING = "waiting"
    RUNNING = "running"
    CULPRIT = "culprit"
    RANGE = "range"
    NOT_REPRODUCIBLE = "not reproducible"
    GAVE_UP = "gave up"
    STOPPED = "stopped"

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self not in {BisectionState.WAITING, BisectionState.RUNNING}


class ProbePurpose(Enum):
    """Why a probe is made: to measure the ends, to search between them, to verify the culprit."""

    END = "end"
    SEARCH = "search"
    VERIFY = "verify"


class ProbeOutcome(Enum):
    """How a probe ended.

    MEASURED has results. PASSED and FAILED are the answers where a bisection asks for pass or fail. SKIPPED: the commit
    cannot be built or measured (exit code 125 of a step, or a failed prepare or build). LOST: the device died, hung or
    was cut off; the probe is made again and counts as nothing.
    """

    MEASURED = "measured"
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Target:
    """What a probe builds and measures: a commit, and the commits of the other repositories that take part.

    ``pins`` are (repository, hash), sorted by repository. Probes of one target and one recipe are interchangeable.
    """

    commit: str
    pins: tuple[tuple[str, str], ...] = ()

    def key(self, recipe: str) -> str:
        """Return the stable key of this target under the digest of a recipe, 40 hexadecimal digits."""
        text = json.dumps([recipe, self.commit, list(self.pins)], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A results file that a probe wrote: its name below the worktree, and its bytes."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a probe measured of one trace: the point (median of the samples), the samples and their unit."""

    value: float
    samples: tuple[float, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What became of one probe.

    ``probe`` is the id of the probe within its bisection or schedule. ``device`` is the name of the machine that made
    it. ``files`` are the results as the tool wrote them, to be imported like any others; ``measured`` are the values in
    them by trace key, as the configuration of the reader names the traces. ``reason`` says in one line why there is no
    value; ``output`` is the end of what the commands printed. ``built`` is false where an artefact of an earlier build
    was used. ``better`` has the direction of each trace, ``failed`` the message of each that failed, and
    ``command_seconds`` the time of each run of the measure command; they are known on the device only, and do not
    travel. So is ``declined``: a step ended with exit code 125.
    """

    probe: str
    target: Target
    device: str
    outcome: ProbeOutcome
    started: datetime
    seconds: float
    measured: Mapping[str, Measured] = field(default_factory=dict)
    files: tuple[ResultsFile, ...] = ()
    reason: str = ""
    output: str = field(default="", repr=False)
    built: bool = True
    better: Mapping[str, Better] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    command_seconds: tuple[float, ...] = ()
    declined: bool = False
