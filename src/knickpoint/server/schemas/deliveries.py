"""Deliveries of notifications."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.notification import DeliveryState, NotificationKind
from knickpoint.server.schemas.base import Answer, ChangeId, DeliveryId

__all__ = ["DeliveriesRequest", "DeliveryAnswer", "DeliveryChange"]


class DeliveryAnswer(Answer):
    """One delivery: a message to one recipient, and how far it is."""

    id: DeliveryId
    kind: NotificationKind
    state: DeliveryState
    channel: str = Field(description="Name of the channel.")
    address: str = Field(description="Address within the channel; empty where it has one receiver.")
    person: str = Field(description="Name of the person in `[people]`; empty for others, lists and rooms.")
    changes: list[ChangeId] = Field(description="The changes that it is about.")
    created: datetime
    due: datetime = Field(description="When the next attempt may start.")
    attempts: int = Field(description="How many attempts were started.")
    answer: str = Field(description="Why it failed or was dropped; empty where it did not.")
    sent: datetime | None = None
    link: str = Field(description="Page of the message at its receiver, such as a ticket; empty without one.")


class DeliveriesRequest(Answer):
    """Which deliveries to change."""

    ids: list[DeliveryId] = Field(max_length=10_000)


class DeliveryChange(Answer):
    """How many deliveries a request changed; others were in a state in which it does nothing."""

    changed: int
