"""What a channel is, whatever carries its messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from knickpoint.model.errors import ServiceError
from knickpoint.model.notification import Message, Sent
from knickpoint.outgoing import OutgoingRule
from knickpoint.store import Store

__all__ = ["Channel", "ChannelContext", "DeliveryError"]


@dataclass(frozen=True, slots=True)
class ChannelContext:
    """What a channel may know of its instance.

    Attributes:
        directory: the directory of the instance.
        address: the public address of the dashboard, "" without one.
        rule: which hosts may be contacted; addresses of the configuration are allowed beside it.
        instance_name: the name of the instance, as messages show it.
        store: the store of the instance, where trackers keep their tickets; None where a channel needs none.
    """

    directory: Path
    address: str
    rule: OutgoingRule
    instance_name: str
    store: Store | None = None


class DeliveryError(ServiceError):
    """Raised when a receiver did not take a message.

    Attributes:
        lasting: whether another attempt with the same message cannot succeed, as with an address that does not exist.
        wait_seconds: how long the receiver asks to wait, 0 where it does not say.
        unclear: whether the receiver may have taken it, as when a connection breaks before the answer.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        remedy: str = "",
        lasting: bool = False,
        wait_seconds: float = 0.0,
        unclear: bool = False,
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.lasting = lasting
        self.wait_seconds = wait_seconds
        self.unclear = unclear


class Channel(Protocol):
    """Carries messages to its receivers; it may be used by one thread at a time."""

    def send(self, message: Message) -> Sent:
        """Hand ``message`` over, and return once the receiver took it.

        A message that was handed over before, as its key says, is not repeated where the receiver can say so.

        Raises:
            DeliveryError: the receiver did not take it.
        """

    def close(self) -> None:
        """End the connections that are open."""
