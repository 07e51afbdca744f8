"""Turn rows of the delivery ledger into deliveries, and planned deliveries into rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from knickpoint.model.notification import Delivery, DeliveryState, NotificationKind, PlannedDelivery, Recipient
from knickpoint.store.array_codec import stored_json
from knickpoint.store.timestamps import moment

__all__ = ["delivery_of", "listed_ids", "new_row", "part_key"]


def delivery_of(row: Mapping[Any, Any]) -> Delivery:
    """Return the delivery of a row."""
    return Delivery(
        id=row["id"],
        key=row["key"],
        kind=NotificationKind(row["kind"]),
        recipient=Recipient(row["channel"], row["address"], row["person"]),
        repository_id=row["repository_id"],
        announcements=tuple(stored_json(row["announcements"])),
        thread=row["thread"],
        created=moment(row["created"]),
        due=moment(row["due"]),
        state=DeliveryState(row["state"]),
        attempts=row["attempts"],
        answer=row["answer"],
        sent=None if row["sent"] is None else moment(row["sent"]),
        reference=row["reference"],
        link=row["link"],
    )


def listed_ids(ids: tuple[int, ...]) -> str:
    """Return the ids of announcements as a row keeps them."""
    return json.dumps(ids, separators=(",", ":"))


def part_key(key: str, ids: tuple[int, ...]) -> str:
    """Return the key of a delivery that has some of the announcements of the one with ``key``."""
    return hashlib.sha256(f"{key} {listed_ids(ids)}".encode()).hexdigest()[:40]


def new_row(key: int, planned: PlannedDelivery, now: datetime) -> dict[str, Any]:
    """Return the row of a planned delivery that gets the id ``key``."""
    repositories = {each.repository_id for each in planned.announcements}
    return {
        "id": key,
        "key": planned.key,
        "kind": planned.kind.value,
        "channel": planned.recipient.channel,
        "address": planned.recipient.address,
        "person": planned.recipient.person,
        "repository_id": repositories.pop() if len(repositories) == 1 else 0,
        "announcements": listed_ids(tuple(each.id for each in planned.announcements)),
        "thread": planned.thread,
        "created": now.timestamp(),
        "due": planned.due.timestamp(),
        "state": DeliveryState.WAITING.value,
        "holder": "",
        "attempts": 0,
        "answer": "",
        "sent": None,
        "reference": "",
        "link": "",
    }
