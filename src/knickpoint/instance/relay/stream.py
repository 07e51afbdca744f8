"""Create the stream of an instance where it is missing, and add the subjects that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knickpoint.instance.relay.subjects import Subjects

if TYPE_CHECKING:
    from nats.js import JetStreamContext

__all__ = ["prepare_stream"]

_DAY_SECONDS: Final = 86_400
_KEPT_SECONDS: Final = 7 * _DAY_SECONDS
_KEPT_MESSAGES: Final = 1_000_000
_DUPLICATES_SECONDS: Final = 3600
"""How long the server recognises the id of a message; longer than a worker may hold an event."""

_EVERYTHING: Final = frozenset({"*", ">"})


async def prepare_stream(jetstream: JetStreamContext, subjects: Subjects, replicas: int = 1) -> int:
    """Create the stream where it is missing, on ``replicas`` nodes of a cluster, and add subjects that it lacks; other settings are never changed.

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
