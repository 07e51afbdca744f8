"""Encode an event as a message of bounded size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from knickpoint.store import Event

__all__ = ["LARGEST_BYTES", "encode_event", "message_id"]

LARGEST_BYTES: Final = 256 * 1024
_IDS: Final = frozenset({"first", "wide", "steps", "chunks", "bitmaps"})
"""The members of a payload that encode trace ids; they are of use only together."""


def message_id(event: Event, instance: str) -> str:
    """Return the id by which the server recognises a second delivery of the same event.

    It includes the time, because a restored store assigns the ids since its backup again.
    """
    return f"{instance}/{event.id}/{event.created.timestamp():.6f}"


def encode_event(event: Event, instance: str, largest: int = LARGEST_BYTES) -> bytes:
    """Return an event as JSON of at most ``largest`` bytes.

    If it would be larger, it leaves out the largest members of the payload, trace ids as a whole, and names them in
    ``left_out``; a consumer reads them from the store.
    """
    # Members that leave together, smallest group first.
    members = {name: (name,) for name in event.payload}
    ids = tuple(name for name in event.payload if name in _IDS)
    groups = list({members[name] if name not in _IDS else ids: None for name in event.payload})
    groups.sort(key=lambda group: sum(len(_to_json(event.payload[name])) for name in group))
    # Leave out the largest group until the message is small enough.
    left_out: list[str] = []
    while True:
        payload = {name: value for name, value in event.payload.items() if name not in left_out}
        data = _to_json(_message(event, instance, payload, left_out))
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


def _to_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
