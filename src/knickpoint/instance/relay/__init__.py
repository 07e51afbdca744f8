"""Publish events on NATS JetStream, and import the files that are announced there."""

from knickpoint.instance.relay.relay import Relay, uses_nats
from knickpoint.instance.relay.session import (
    LARGEST_BYTES,
    Subjects,
    encode_event,
    listen_to_outbox,
    message_id,
    subject_name,
)

__all__ = [
    "LARGEST_BYTES",
    "Relay",
    "Subjects",
    "encode_event",
    "listen_to_outbox",
    "message_id",
    "subject_name",
    "uses_nats",
]
