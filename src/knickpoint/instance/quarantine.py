"""Quarantine results by the rules of an instance: its canaries, its settings, and its hooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from knickpoint.instance.alert_sources import CANARY_PREFIX
from knickpoint.instance.instance import Instance
from knickpoint.model.alert import AlertKind

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.watch.quarantine.assessment import CanaryHealth, KeptWalks
    from knickpoint.watch.quarantine.rules import QuarantineRule
    from knickpoint.watch.quarantine.update import QuarantineUpdate

__all__ = ["QuarantineRounds", "canary_health", "quarantine_rule", "quarantine_suspect_results"]


def quarantine_rule(instance: Instance) -> QuarantineRule:
    """Return the rule of the instance; its canaries are those of the alerts of the kind ``canary``."""
    from knickpoint.watch.quarantine.rules import Canary, QuarantineRule

    settings = instance.config.quarantine
    return QuarantineRule(
        canaries=tuple(
            Canary(each.name.removeprefix(CANARY_PREFIX), each.query, each.repository)
            for each in instance.alerts
            if each.kind is AlertKind.CANARY
        ),
        machine=settings.machine,
        facts=settings.facts,
        minimum_effect=settings.minimum_effect,
        wait=timedelta(hours=settings.wait_hours),
        stays=settings.stays,
        facts_stay=settings.facts_stay,
    )


def quarantine_suspect_results(
    instance: Instance, *, now: datetime | None = None
) -> list[tuple[Repository, QuarantineUpdate]]:
    """Bring the quarantines of all repositories up to date; return what changed in each.

    Nothing is done where ``[quarantine] watch`` is false: results that are quarantined stay so.

    Raises:
        StoreError: the store cannot be read or written.
    """
    from knickpoint.watch.quarantine.update import update_quarantines

    if not instance.config.quarantine.watch:
        return []
    rule = quarantine_rule(instance)
    return [
        (repository, update_quarantines(instance.store, repository, rule, hooks=instance.config.hooks, now=now))
        for repository in instance.store.commits.repositories()
    ]


def canary_health(instance: Instance) -> list[CanaryHealth]:
    """Return how useful each canary is on each machine that measured it; nothing is written."""
    from knickpoint.watch.quarantine.assessment import assess_machine
    from knickpoint.watch.quarantine.machine_runs import canary_traces, read_runs

    store, rule = instance.store, quarantine_rule(instance)
    found: list[CanaryHealth] = []
    for repository in store.commits.repositories():
        if canaries := canary_traces(store, repository, rule):
            read = read_runs(store, store.commits.line(repository), canaries, rule)
            for machine, runs in sorted(read.machines.items()):
                found += assess_machine(runs, canaries, rule, machine=machine).health
    return found


@dataclass
class QuarantineRounds:
    """Does the same again and again for a worker, where something may have changed.

    That is when runs arrived or were corrected, and when a quarantine without an outcome ends.
    """

    instance: Instance
    _seen: dict[int, object] = field(default_factory=dict, init=False)
    _next_end: dict[int, datetime] = field(default_factory=dict, init=False)
    _kept: dict[int, KeptWalks] = field(default_factory=dict, init=False)
    _data: str | None = field(default=None, init=False)

    def run(self, now: datetime | None = None, *, data: str | None = None) -> list[str]:
        """Bring the quarantines up to date, and return a line about each that changed.

        Nothing is read while the store holds the same ``data``, by its name, and no quarantine ends.
        """
        from knickpoint.model.quarantine import QuarantineState
        from knickpoint.watch.quarantine.assessment import KeptWalks
        from knickpoint.watch.quarantine.update import update_quarantines

        if not self.instance.config.quarantine.watch:
            return []
        moment = now or datetime.now(UTC)
        if data is not None and data == self._data and all(moment < end for end in self._next_end.values()):
            return []
        self._data = None
        store, rule = self.instance.store, None
        lines = []
        for repository in store.commits.repositories():
            seen = store.runs.state(repository)
            ends = self._next_end.get(repository.id)
            if self._seen.get(repository.id) == seen and not (ends and moment >= ends):
                continue
            rule = rule or quarantine_rule(self.instance)
            kept = self._kept.setdefault(repository.id, KeptWalks())
            hooks = self.instance.config.hooks
            update = update_quarantines(store, repository, rule, hooks=hooks, now=moment, kept=kept)
            self._seen[repository.id] = seen
            active = store.quarantines.all(repository, states={QuarantineState.QUARANTINED})
            self._next_end.pop(repository.id, None)
            if active:
                self._next_end[repository.id] = min(each.until for each in active)
            lines += [f"quarantined: results of {each.identity}: {each.reason}" for each in update.begun]
            lines += [f"quarantine Q{each.id}: {each.state.value}; {each.outcome}" for each in update.changed]
        self._data = data
        return lines
