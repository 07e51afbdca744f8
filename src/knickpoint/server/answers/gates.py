"""Build the answer about gates: what they measure, what waits, what filling may still take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.instance import Instance
from knickpoint.instance.gates import GateStatus, describe_policy, gate_status
from knickpoint.model.commit import Repository
from knickpoint.server.schemas.gates import GateAnswer, GateProbeAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store.gates import GateProbe

__all__ = ["list_gates"]

_MOST_PROBES: Final = 20


def list_gates(instance: Instance, visible: VisibleRepositories) -> list[GateAnswer]:
    """List the gates of the configuration whose repository the caller may read, by name."""
    now = datetime.now(UTC)
    repositories = {each.name: each for each in visible.all()}
    answers = []
    for name, settings in sorted(instance.config.gate.items()):
        status = gate_status(instance, name, now)
        # A gate that cannot be run has no line, and the repository that its profile names.
        repository = repositories.get(status.repository or instance.config.bisect[settings.profile].repository)
        if repository is not None:
            answers.append(_answer(instance, name, status, repository, now))
    return answers


def _answer(instance: Instance, name: str, status: GateStatus, repository: Repository, now: datetime) -> GateAnswer:
    gates = instance.store.gates
    probes = sorted(gates.of_gate(repository, name), key=lambda probe: -probe.id)[:_MOST_PROBES]
    return GateAnswer(
        name=name,
        repository=repository.name,
        branch=status.branch,
        policy=describe_policy(status.settings),
        new=len(status.new.commits),
        due=status.new.due,
        states={state.value: count for state, count in status.counts.items()},
        fill_hours=status.settings.fill_hours if status.settings.fill else 0.0,
        fill_spent_hours=gates.fill_seconds(name, now - timedelta(days=1)) / 3600.0,
        problem=status.problem,
        remedy=status.remedy,
        newest=[_probe(probe) for probe in probes],
    )


def _probe(probe: GateProbe) -> GateProbeAnswer:
    return GateProbeAnswer(
        commit=probe.choice.commit,
        purpose=probe.choice.purpose.value,
        change=probe.choice.change,
        state=probe.state.value,
        device=probe.device,
        seconds=probe.seconds,
        chosen=probe.chosen,
        reason=probe.reason,
    )
