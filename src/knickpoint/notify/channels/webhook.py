"""Send messages as JSON to an address, signed, so that the receiver knows who sends and notices a repetition.

The body and the headers are described in ``docs/guide/webhooks.md``; :data:`PAYLOAD_VERSION` grows when a field
changes its meaning or goes away. A further field does not change it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Message, Sent
from knickpoint.notify.channel import ChannelContext, Exchange, origin_of, refusal
from knickpoint.notify.settings import ChannelSettings

PAYLOAD_VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class WebhookChannel:
    """Posts each message to ``url``. A receiver takes it with a status of 2xx; redirects are not followed."""

    url: str = field(repr=False)
    secret: str = field(repr=False)
    instance: str
    exchange: Exchange

    def send(self, message: Message) -> Sent:
        """Post ``message``; see :meth:`knickpoint.notify.channel.Channel.send`."""
        body = json.dumps(payload(message, self.instance), ensure_ascii=False, separators=(",", ":")).encode()
        now = self.exchange.clock()
        timestamp = str(int(now))
        answer = self.exchange.ask(
            self.url,
            method="POST",
            headers={
                "Content-Type": "application/json",
                "Idempotency-Key": message.key,
                "X-Knickpoint-Timestamp": timestamp,
                "X-Knickpoint-Signature": signature(self.secret, timestamp, body),
            },
            body=body,
        )
        if not 200 <= answer.status < 300:
            raise refusal(answer, origin_of(self.url), now=now)
        return Sent(reference=message.key)

    def close(self) -> None:
        """Do nothing: no connection outlives its request."""


def webhook_channel(settings: ChannelSettings, context: ChannelContext) -> WebhookChannel:
    """Open the channel that ``settings`` describe.

    Raises:
        ConfigError: the address or the secret is missing, or the address is not of the web.
    """
    where = f"[channels.{settings.name}]"
    if urlsplit(settings.url).scheme not in {"http", "https"}:
        raise ConfigError(
            "url is not an http or https address", where=where, remedy="Give the address of the receiver."
        )
    if not settings.signing_secret:
        raise ConfigError(
            "signing_secret is missing",
            where=where,
            remedy='Make one, as with openssl rand -hex 32, and name its variable: signing_secret = "${WEBHOOK_SECRET}".',
        )
    exchange = Exchange(context.rule.also(settings.url))
    return WebhookChannel(settings.url, settings.signing_secret, context.instance_name, exchange)


def payload(message: Message, instance: str) -> dict[str, object]:
    """Return the body of a webhook as JSON values. Images and HTML are left out; ``data`` has the numbers."""
    return {
        "version": PAYLOAD_VERSION,
        "instance": instance,
        "key": message.key,
        "thread": message.thread,
        "recipient": message.recipient.address,
        "person": message.recipient.person,
        "subject": message.subject,
        "text": message.text,
        "address": message.address,
        "data": dict(message.data),
    }


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return ``v1=`` and the HMAC-SHA256 in hexadecimal of the timestamp, a full stop and the body."""
    signed = timestamp.encode() + b"." + body
    return f"v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"
