"""Write an event as a message of bounded size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from knickpoint.store import Event

__all__ = ["LARGEST_BYTES", "encode_event", "message_id"]

LARGEST_BYTES: Final = 256 * 1024
_IDS: Final = frozenset({"first", "wide", "steps", "chunks", "bitmaps"})
"""The members of a payload that together hold trace ids; none is of use without the others."""


def message_id(event: Event, instance: str) -> str:
    """Return what the server knows the message by: the same for each delivery of one event, and for no other.

    The time is part of it, because a store that was restored gives out the ids since its backup again.
    """
    return f"{instance}/{event.id}/{event.created.timestamp():.6f}"


def encode_event(event: Event, instance: str, largest: int = LARGEST_BYTES) -> bytes:
    """Return an event as JSON of at most ``largest`` bytes.

    Where it would be larger, the largest members of the payload are left out, trace ids as a whole, and named
    in ``left_out``; who needs them reads them from the store.
    """
    members = {name: (name,) for name in event.payload}
    ids = tuple(name for name in event.payload if name in _IDS)
    groups = list({members[name] if name not in _IDS else ids: None for name in event.payload})
    groups.sort(key=lambda group: sum(len(_packed(event.payload[name])) for name in group))
    left_out: list[str] = []
    while True:
        payload = {name: value for name, value in event.payload.items() if name not in left_out}
        data = _packed(_message(event, instance, payload, left_out))
        if len(data) <= largest or not groups:
            return data
        left_out += groups.pop()


def _message(event: Event, instance: str, payload: Mapping[str, Any], left_out: list[str]) -> dict[str, Any]:
    message = {
        "id": event.id,
        "kind": event.kind.value,
        "instance": instance,
        "created": event.created.isoformat(),
        "payload": payload,
    }
    return message | ({"left_out": sorted(left_out)} if left_out else {})


def _packed(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
