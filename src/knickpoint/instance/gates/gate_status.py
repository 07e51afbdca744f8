"""Say where a gate stands: what waits, what runs, whether it falls behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from knickpoint.bisect.gate import Waiting, waiting_commits
from knickpoint.bisect.settings import GateMode, GateSettings
from knickpoint.instance.gates.gated_line import GatedLine, read_gated_line
from knickpoint.instance.instance import Instance
from knickpoint.model.errors import KnickpointError
from knickpoint.store.gates import GateProbe, GateProbeState

__all__ = ["GateStatus", "describe_policy", "gate_status"]

_LATE: Final = timedelta(minutes=30)
"""How long after its time a commit may be chosen: a worker looks every few seconds."""


@dataclass(frozen=True, slots=True)
class GateStatus:
    """A gate as it stands now.

    ``new`` are the commits that are newer than the last measured one. ``counts`` has the number of its probes by state.
    ``problem`` says why it cannot be run, or that it falls behind, with what to do in ``remedy``; both "" where all is well.
    """

    settings: GateSettings
    repository: str = ""
    branch: str = ""
    new: Waiting = field(default_factory=Waiting)
    counts: Mapping[GateProbeState, int] = field(default_factory=dict)
    last: GateProbe | None = None
    problem: str = ""
    remedy: str = ""


def describe_policy(settings: GateSettings) -> str:
    """Return in words which commits a gate measures."""
    if settings.mode is GateMode.EVERY:
        return f"every {settings.commits} commits or {settings.minutes:g} min"
    return "each commit" if settings.mode is GateMode.EACH else "what findings and requests ask for"


def gate_status(instance: Instance, name: str, now: datetime) -> GateStatus:
    """Return where the gate ``name`` stands, as the last look at its repository left it."""
    settings = instance.config.gate[name]
    try:
        gated = read_gated_line(instance, name)
    except KnickpointError as error:
        return GateStatus(settings, branch=settings.branch, problem=error.message, remedy=error.remedy)
    new = waiting_commits(gated.commits, gated.answered, settings, now)
    problem, remedy = _problem(gated, new, now)
    return GateStatus(
        settings,
        gated.repository.name,
        gated.line.name,
        new,
        Counter(probe.state for probe in gated.probes),
        max((probe for probe in gated.probes if probe.ended), key=lambda probe: (probe.ended, probe.id), default=None),
        problem,
        remedy,
    )


def _problem(gated: GatedLine, new: Waiting, now: datetime) -> tuple[str, str]:
    """Return why a gate falls behind, and what to do."""
    open_probes = [probe for probe in gated.probes if not probe.state.ended]
    without_device = next((each for each in open_probes if each.reason and not each.attempts), None)
    if without_device is not None:
        remedy = f"Lend a device with knick agent, or correct params of the profile {gated.profile.name!r}."
        return without_device.reason, remedy
    patience = timedelta(minutes=max(60.0, 2 * gated.settings.minutes))
    late = [probe for probe in open_probes if now - probe.chosen > patience]
    if late:
        reason = late[0].reason or "no device is free"
        since = f"{late[0].chosen:%Y-%m-%d %H:%M} UTC"
        remedy = "Lend more devices with knick agent, or let the gate measure fewer commits."
        return f"{late[0].choice.commit[:10]} waits since {since}: {reason}", remedy
    if new.due is not None and now - new.due > _LATE:
        due = f"{new.due:%Y-%m-%d %H:%M} UTC"
        return f"a measurement was due at {due}", "Keep knick worker running, or run knick gate run --once."
    return "", ""
