"""Accept a rename, and take it back: the new trace continues the old one, and no stored value changes.

From then on every reader of values sees one history: plots, detection, verdicts. The findings of the old trace, with their
decisions, become findings of the new one. See ``docs/decisions/missing-data-quarantine-canaries.md``.
"""

from __future__ import annotations

import numpy as np

from knickpoint.model.audit import AuditKind
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.store import Store
from knickpoint.store.events.packed_ids import pack_ids
from knickpoint.store.events.payloads import TracesChanged

__all__ = ["accept_rename", "withdraw_rename"]


def accept_rename(store: Store, repository: Repository, old: Trace, new: Trace, *, who: str) -> None:
    """Let ``new`` continue ``old``. Both are judged again, as one trace, by the next run.

    Raises:
        InputError: they are one trace, have different units or values at the same commits, or one of them is part of another
            rename in the same role.
    """
    with store.transaction():
        _check(store, repository, old, new)
        points = [point.id for points in store.findings.known([old.id]).values() for point in points]
        store.traces.renames.add(repository, old.id, new.id, who=who)
        store.findings.move_to_trace(points, new)
        _judge_again(store, repository, new)
        store.audit.append(AuditKind.RENAME_ACCEPTED, who, f"{repository.name}: {old.key} → {new.key}")


def withdraw_rename(store: Store, repository: Repository, old: Trace, new: Trace, *, who: str) -> None:
    """Take back that ``new`` continues ``old``: findings up to the last value of the old trace go back to it.

    Raises:
        InputError: there is no such rename.
    """
    with store.transaction():
        if (old.id, new.id) not in {(each.old, each.new) for each in store.traces.renames.all(repository)}:
            raise InputError(
                f"{new.key} does not continue {old.key}", remedy="knick missing renames lists the renames."
            )
        store.traces.renames.remove(old.id)
        first = _positions(store, repository, new)
        begin = first[0] if first.size else np.inf
        line = store.commits.line(repository)
        known = store.findings.known([new.id]).get(new.id, [])
        points = [point.id for point in known if line.positions.get(point.suspect_range.slot, -1) < begin]
        store.findings.move_to_trace(points, old)
        _judge_again(store, repository, old, new)
        store.audit.append(AuditKind.RENAME_WITHDRAWN, who, f"{repository.name}: {old.key} → {new.key}")


def _positions(store: Store, repository: Repository, trace: Trace) -> np.typing.NDArray[np.int64]:
    values = store.frames.values(store.commits.line(repository), [trace.id])[0]
    return np.flatnonzero(~np.isnan(values))


def _check(store: Store, repository: Repository, old: Trace, new: Trace) -> None:
    where = f"{old.key} → {new.key}"
    if old.id == new.id:
        raise InputError("both are the same trace", where=where, remedy="Name the old and the new one.")
    if old.unit != new.unit:
        raise InputError(
            f"their units are {old.unit!r} and {new.unit!r}", where=where, remedy="Give the results one unit."
        )
    renames = store.traces.renames.all(repository)
    if any(each.old == old.id for each in renames):
        raise InputError(
            "another trace continues the old one", where=where, remedy="Take that back first, with --undo."
        )
    if any(each.new == new.id for each in renames):
        raise InputError(
            "the new one continues another trace", where=where, remedy="Take that back first, with --undo."
        )
    shared = np.intersect1d(_positions(store, repository, old), _positions(store, repository, new))
    if shared.size:  # this excludes circles, too: a trace that continues another has its values
        raise InputError(
            f"both have values at {shared.size:,} commits", where=where, remedy="They are two benchmarks, no rename."
        )


def _judge_again(store: Store, repository: Repository, *traces: Trace) -> None:
    """Let every alert judge ``traces`` at its next run, and publish that they changed."""
    for name in store.findings.alerts_in_force.all():
        store.findings.digests.forget(name)
    ids = pack_ids(np.array(sorted(trace.id for trace in traces), dtype=np.int64))
    store.outbox.publish(TracesChanged(repository.name, slots=(), runs=(), traces=ids))
