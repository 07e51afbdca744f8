"""The subjects, the stream and the messages of an instance on NATS."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from knickpoint.model.errors import ConfigError
from knickpoint.store import Event, EventKind

if TYPE_CHECKING:
    from nats.js import JetStreamContext


# The names of the subjects, the stream and the consumer of an instance on NATS.


_APP: Final = "knickpoint"
_LONGEST: Final = 64
_OTHER: Final = re.compile(r"[^a-z0-9]+")

RELAYED: Final = (EventKind.TRACES_CHANGED, EventKind.CHANGES_UPDATED)
"""The kinds of events that are published."""


def subject_name(instance: str) -> str:
    """Return the name of an instance as part of a subject.

    Accents are dropped, letters become lower case, each run of other characters becomes one hyphen, and 64 characters
    are kept: ``Lab München/2`` is ``lab-munchen-2``.

    Raises:
        ConfigError: no character is left.
    """
    plain = unicodedata.normalize("NFKD", instance).encode("ascii", "ignore").decode().lower()
    name = _OTHER.sub("-", plain).strip("-")[:_LONGEST].strip("-")
    if not name:
        raise ConfigError(
            f"the instance's name {instance!r} has no letter from a to z and no digit, which subjects of NATS need",
            remedy="Give the instance another name in knickpoint.toml.",
        )
    return name


@dataclass(frozen=True, slots=True)
class Subjects:
    """The names of one instance: ``<app>-<function>-<instance>``, each a single token."""

    instance: str
    stream: str

    @classmethod
    def of(cls, instance: str, stream: str = "") -> Self:
        """Return the names for an instance; without ``stream``, the stream belongs to this instance only.

        Raises:
            ConfigError: the name of the instance cannot be part of a subject.
        """
        name = subject_name(instance)
        return cls(name, stream or f"{_APP}-{name}")

    def of_kind(self, kind: EventKind) -> str:
        """Return the subject of events of a kind."""
        return self._subject(kind.value)

    @property
    def files_arrived(self) -> str:
        """The subject under which files are announced."""
        return self._subject("files-arrived")

    @property
    def consumer(self) -> str:
        """The durable consumer of announced files, which all workers of the instance share."""
        return self.files_arrived

    @property
    def all(self) -> tuple[str, ...]:
        """Every subject of the instance."""
        return (*(self.of_kind(kind) for kind in RELAYED), self.files_arrived)

    def _subject(self, function: str) -> str:
        return f"{_APP}-{function}-{self.instance}"


# Encode an event as a message of bounded size.


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


# Create the stream of an instance where it is missing, and add the subjects that it lacks.


_DAY_SECONDS: Final = 86_400
_KEPT_SECONDS: Final = 7 * _DAY_SECONDS
_KEPT_MESSAGES: Final = 1_000_000
_DUPLICATES_SECONDS: Final = 3600
"""How long the server recognises the id of a message; longer than a worker may hold an event."""

_EVERYTHING: Final = frozenset({"*", ">"})


async def prepare_stream(jetstream: JetStreamContext, subjects: Subjects, replicas: int = 1) -> int:
    """Create the stream where it is missing, on ``replicas`` nodes of a cluster, and add subjects that it lacks.

    Other settings are never changed.

    Returns:
        the size in bytes of the largest message that it accepts, -1 for no limit.

    Raises:
        nats.errors.Error, OSError, TimeoutError: the server refuses, or does not answer.
    """
    from nats.js.api import StorageType, StreamConfig
    from nats.js.errors import NotFoundError

    try:
        info = await jetstream.stream_info(subjects.stream)
    except NotFoundError:
        info = await jetstream.add_stream(
            StreamConfig(
                name=subjects.stream,
                subjects=list(subjects.all),
                max_age=_KEPT_SECONDS,
                max_msgs=_KEPT_MESSAGES,
                duplicate_window=_DUPLICATES_SECONDS,
                storage=StorageType.FILE,
                num_replicas=replicas,
            )
        )
    known = info.config.subjects or []
    missing = [subject for subject in subjects.all if subject not in known]
    if missing and _EVERYTHING.isdisjoint(known):
        info = await jetstream.update_stream(info.config.evolve(subjects=[*known, *missing]))
    return info.config.max_msg_size or -1
