"""Notice what no finding says: canaries that moved, findings that are in doubt for it, benchmarks that stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from knickpoint.instance.place import Instance
    from knickpoint.model.commit import Repository

__all__ = ["Notice", "NoticeKind", "notices_of"]

_RECENT: Final = 50
"""Commits at the end of the line within which a canary that moved is still told."""


class NoticeKind(Enum):
    """What a notice is about."""

    CANARY = "canary"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that somebody should look at.

    ``trace`` is the key, ``slot`` the commit: where the canary moved, or the last one of a trace that stopped.
    ``canary`` is the name of its section. ``regressions`` are those not dealt with that are in doubt because of it.
    """

    kind: NoticeKind
    repository: str
    trace: str
    slot: int
    commit: str
    text: str
    canary: str = ""
    regressions: tuple[int, ...] = ()


def notices_of(instance: Instance) -> list[Notice]:
    """Return what is to be noticed now, canaries first.

    Raises:
        QueryError: a query of ``[canaries]`` or ``[missing]`` cannot be read.
        StoreError: the store cannot be read.
    """
    found: list[Notice] = []
    for repository in instance.store.commits.repositories():
        found += _canaries(instance, repository)
    if instance.config.missing.watch:
        for repository in instance.store.commits.repositories():
            found += _silences(instance, repository)
    return found


def _hashes(instance: Instance, repository: Repository, slots: set[int]) -> dict[int, str]:
    return {own.slot: own.commit.hash for own in instance.store.commits.get(repository, sorted(slots))}


def _canaries(instance: Instance, repository: Repository) -> Iterator[Notice]:
    from knickpoint.store.findings import Selection
    from knickpoint.watch.canaries import canary_warnings, in_doubt

    store = instance.store
    line = store.commits.line(repository)
    for name, canary in instance.config.canaries.items():
        if canary.repository not in {"", repository.name}:
            continue
        warnings = canary_warnings(store, repository, canary.query)
        if not warnings:
            continue
        listed = store.findings.regressions(repository, processed=False, selection=Selection(history=False))
        doubts = in_doubt(store, repository, listed, warnings)
        hashes = _hashes(instance, repository, {warning.slot for warning in warnings})
        for warning in warnings:
            shaken = tuple(sorted(key for key, known in doubts.items() if warning in known))
            position = line.positions.get(warning.slot, -1)
            if not shaken and position < len(line.slots) - _RECENT:
                continue
            how = (
                f"stepped by {warning.point.relative_size:+.1%}"
                if warning.point
                else f"has a newest value that is off by {warning.judgement.relative_size:+.1%}"
                if warning.judgement
                else "moved"
            )
            told = f", {', '.join(f'R{key}' for key in shaken)} in doubt" if shaken else ""
            commit = hashes.get(warning.slot, "")
            text = f"canary {name}: {warning.trace.key} {how} at {commit[:10]}{told}"
            yield Notice(
                NoticeKind.CANARY, repository.name, warning.trace.key, warning.slot, commit, text, name, shaken
            )


def _silences(instance: Instance, repository: Repository) -> Iterator[Notice]:
    from knickpoint.watch.missing import missing_traces

    found = missing_traces(instance.store, repository, instance.config.missing.query)
    hashes = _hashes(instance, repository, {one.last_slot for one in found})
    for one in found:
        commit = hashes.get(one.last_slot, "")
        text = f"{one.trace.key} has no results at the last {one.silent:,} measured commits, since {commit[:10]}"
        yield Notice(NoticeKind.SILENCE, repository.name, one.trace.key, one.last_slot, commit, text)
