"""Confirm the subscription of an SNS topic: before SNS delivers over HTTP, it asks for a confirmation."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable, Mapping
from typing import IO, Any, Final
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit

from knickpoint.model.errors import InputError, ServiceError

__all__ = ["confirm_subscription", "confirmation_address", "fetch"]

_HOST: Final = re.compile(r"sns\.(?P<region>[a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?")
_TOPIC: Final = re.compile(
    r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]{1,40}):[0-9]{12}:[\w-]{1,256}(?:\.fifo)?", re.ASCII
)
_SECONDS: Final = 10.0
_LARGEST_ANSWER: Final = 1 << 16

Fetch = Callable[[str], None]


def confirm_subscription(event: Mapping[str, Any], fetch_: Fetch | None = None) -> str | None:
    """Confirm the subscription that a message of SNS is about; return a line for people, None for other messages.

    Raises:
        InputError: the address that confirms it is not one of SNS; no sender may direct requests to other servers.
        ServiceError: SNS does not answer; it sends the message again.
    """
    kind = event.get("Type")
    if kind == "UnsubscribeConfirmation":
        return f"the subscription of {event.get('TopicArn')} has ended"
    if kind != "SubscriptionConfirmation":
        return None
    (fetch_ or fetch)(confirmation_address(event))
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
        where=str(address)[:200],
        remedy="Confirm it in the console of SNS, if it is yours.",
    )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], *facts: Any) -> None:
        """Follow no redirection."""


def fetch(address: str) -> None:
    """Request ``address`` without following redirections. Raises ``ServiceError``."""
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(address, timeout=_SECONDS) as answer:
            answer.read(_LARGEST_ANSWER)
    except (URLError, OSError) as error:
        raise ServiceError(
            f"SNS does not confirm the subscription: {error}",
            where=address.partition("?")[0],
            remedy="SNS sends the message again; let this server reach it over HTTPS.",
        ) from error
