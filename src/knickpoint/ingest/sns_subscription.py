"""Confirm the subscription of an SNS topic: before SNS delivers over HTTP, it asks for a confirmation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from knickpoint.model.errors import InputError, ServiceError
from knickpoint.outgoing import OutgoingRule, fetch

__all__ = ["confirm_subscription", "confirmation_address", "request_confirmation"]

_HOST: Final = re.compile(r"sns\.(?P<region>[a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?")
_TOPIC: Final = re.compile(
    r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]{1,40}):[0-9]{12}:[\w-]{1,256}(?:\.fifo)?", re.ASCII
)
_SECONDS: Final = 10.0
_LARGEST_ANSWER: Final = 1 << 16


def confirm_subscription(event: Mapping[str, Any], rule: OutgoingRule) -> str | None:
    """Confirm the subscription that a message of SNS is about; return a line for people, None for other messages.

    Raises:
        InputError: the address that confirms it is not one of SNS, or ``rule`` does not allow its host; no sender may
            direct requests to other servers.
        ServiceError: SNS does not answer; it sends the message again.
    """
    kind = event.get("Type")
    if kind == "UnsubscribeConfirmation":
        return f"the subscription of {event.get('TopicArn')} has ended"
    if kind != "SubscriptionConfirmation":
        return None
    request_confirmation(confirmation_address(event), rule)
    return f"the subscription of {event['TopicArn']} is confirmed"


def confirmation_address(event: Mapping[str, Any]) -> str:
    """Return the address that confirms a subscription.

    It has to be ``https`` at SNS in the region of the topic, without a user or another port, and do nothing but confirm
    that topic.

    Raises:
        InputError: it is anything else.
    """
    address, topic = event.get("SubscribeURL"), event.get("TopicArn")
    named = _TOPIC.fullmatch(topic) if isinstance(topic, str) else None
    if named is None or not isinstance(address, str) or not address.isascii() or not address.isprintable():
        raise _refused(address, "the message names no topic of SNS, or no address that confirms it")
    try:
        parts = urlsplit(address)
        asked = parse_qs(parts.query, strict_parsing=True)
        host = _HOST.fullmatch(parts.netloc)
    except ValueError as error:
        raise _refused(address, f"the address cannot be read ({error})") from error
    if parts.scheme != "https" or host is None or host["region"] != named["region"] or parts.path not in {"", "/"}:
        raise _refused(address, "the address is not one of SNS in the region of the topic")
    if asked.get("Action") != ["ConfirmSubscription"] or asked.get("TopicArn") != [topic]:
        raise _refused(address, "the address does something else than to confirm the topic")
    return address


def _refused(address: object, why: str) -> InputError:
    return InputError(
        f"this subscription is not confirmed: {why}",
        where=str(address).partition("?")[0][:200],
        remedy="Confirm it in the console of SNS, if it is yours.",
    )


def request_confirmation(address: str, rule: OutgoingRule) -> None:
    """Request ``address`` without following redirects. Raises ``ServiceError``, and ``AddressError`` by ``rule``."""
    try:
        answer = fetch(address, rule, largest=_LARGEST_ANSWER, seconds=_SECONDS, redirects=0)
    except ServiceError as error:
        raise _unconfirmed(error.message, error.where) from error
    if not 200 <= answer.status < 300:
        raise _unconfirmed(f"it answers with status {answer.status}", address.partition("?")[0])


def _unconfirmed(reason: str, where: str) -> ServiceError:
    return ServiceError(
        f"SNS does not confirm the subscription: {reason}",
        where=where,
        remedy="SNS sends the message again; let this server reach it over HTTPS.",
    )
