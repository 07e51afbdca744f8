"""What people do with deliveries: send failed ones again, or drop them; the audit log says who did."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from knickpoint.model.access import AuditKind
from knickpoint.model.plain_text import counted
from knickpoint.store import Store

_MOST_NAMED = 20


def retry_deliveries(store: Store, ids: Collection[int], *, who: str, now: datetime) -> int:
    """Have failed deliveries tried again, with all their attempts; return how many."""
    with store.transaction():
        count = store.notifications.send_again(ids, now)
        _record(store, "due again", ids, count, who)
    return count


def drop_deliveries(store: Store, ids: Collection[int], *, who: str) -> int:
    """Drop deliveries that wait or failed; return how many."""
    with store.transaction():
        count = store.notifications.give_up(ids, f"dropped by {who}")
        _record(store, "dropped", ids, count, who)
    return count


def _record(store: Store, what: str, ids: Collection[int], count: int, who: str) -> None:
    """Write the entry of the audit log, where anything changed."""
    if not count:
        return
    named = ", ".join(f"D{key}" for key in sorted(ids)[:_MOST_NAMED])
    further = ", …" if len(ids) > _MOST_NAMED else ""
    about = f"{what}: {counted(count, 'delivery', 'deliveries')} of {named}{further}"
    store.audit.append(AuditKind.DELIVERIES_CHANGED, who, about)
