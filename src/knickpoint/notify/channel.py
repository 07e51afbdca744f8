"""What a channel is, which kinds there are, and how receivers are asked over HTTP.

Kinds are built in, or registered by other packages as ``knickpoint.channels``. A kind is a function from the settings
and the context of a channel to the channel. The module of a kind is imported when a channel of it is opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

from knickpoint.model.errors import AddressError, ConfigError, ServiceError
from knickpoint.model.notification import Message, Sent
from knickpoint.model.plain_text import plain_line
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.outgoing import Fetched, NoAnswerError, OutgoingRule, fetch
from knickpoint.plugins import Plugin, find_plugins
from knickpoint.store import Store

# What a channel is, whatever carries its messages.


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


# Ask a receiver over HTTP, and read from its answer whether another attempt with the same message makes sense.


_LONGEST_WAIT_SECONDS: Final = 86_400.0
_FOR_NOW: Final = frozenset({408, 409, 423, 425, 429})
"""Refusals that another attempt may not get: too slow, a conflict, locked, too early, too many."""

_CREDENTIALS: Final = frozenset({401, 403, 407})
_LARGEST_ANSWER: Final = 8 << 20


class RefusedError(DeliveryError):
    """Raised when a receiver answers with another status than 2xx.

    Attributes:
        status: that status.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        where: str,
        remedy: str,
        lasting: bool = False,
        wait_seconds: float = 0.0,
        unclear: bool = False,
    ) -> None:
        super().__init__(
            message, where=where, remedy=remedy, lasting=lasting, wait_seconds=wait_seconds, unclear=unclear
        )
        self.status = status


@dataclass(frozen=True, slots=True)
class Exchange:
    """Requests to one receiver, whose address stands in the configuration.

    Attributes:
        rule: which hosts may be contacted; that of the receiver must be allowed by it.
        headers: sent with each request; they may hold secrets.
        seconds: the time that a request may take in all.
        clock: the seconds since 1970.
    """

    rule: OutgoingRule
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = 20.0
    clock: Callable[[], float] = time.time

    def ask(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Fetched:
        """Request ``url`` without following redirects, and return the answer, whatever its status.

        Raises:
            DeliveryError: there is no whole answer; ``unclear`` where a request that may change something has arrived.
        """
        try:
            return fetch(
                url,
                self.rule,
                method=method,
                headers={**self.headers, **(headers or {})},
                body=body,
                largest=_LARGEST_ANSWER,
                seconds=self.seconds,
                redirects=0,
            )
        except NoAnswerError as error:
            raise DeliveryError(
                error.message, where=error.where, remedy=error.remedy, unclear=error.sent and method != "GET"
            ) from error
        except AddressError as error:
            raise DeliveryError(error.message, where=error.where, remedy=error.remedy, lasting=True) from error


def origin_of(url: str) -> str:
    """Return scheme, host and port of ``url``: what messages show of an address whose path may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def refusal(answer: Fetched, where: str, *, now: float, detail: str = "") -> RefusedError:
    """Return the error that an answer other than 2xx stands for.

    A redirect and most of 4xx are lasting. Wrong credentials are not: when they are corrected, the message goes out.
    After 5xx the receiver may have taken the message before it failed. ``detail`` is the receiver's own word.
    """
    status = answer.status
    words = f"it answers {status}{f': {plain_line(detail, 200)}' if detail else ''}"
    if 300 <= status < 400:
        remedy = "Give the address where the redirects end; redirects are not followed."
        return RefusedError(status, words, where=where, remedy=remedy, lasting=True)
    wait = wait_seconds(answer, now)
    if status in _FOR_NOW or wait:
        unclear = status >= 500
        return RefusedError(status, words, where=where, remedy="Wait.", wait_seconds=wait, unclear=unclear)
    if status in _CREDENTIALS:
        return RefusedError(status, words, where=where, remedy="Check the secret, and what it may do.")
    if status >= 500:
        return RefusedError(status, words, where=where, remedy="Look into the log of the receiver.", unclear=True)
    remedy = "Check the address and the settings of the channel."
    return RefusedError(status, words, where=where, remedy=remedy, lasting=True)


def wait_seconds(answer: Fetched, now: float) -> float:
    """Return the seconds that an answer asks to wait, at most a day; 0 if it does not say.

    ``Retry-After`` counts, in seconds or as a date, also beside 403 and 503. Else the headers of an exhausted rate
    limit count, by their names at GitHub (``X-RateLimit-…``) and GitLab (``RateLimit-…``), with a moment in seconds
    since 1970.
    """
    headers = answer.headers
    if answer.status < 400:
        return 0.0
    wait = 0.0
    if after := headers.get("retry-after", "").strip():
        wait = float(after) if after.isascii() and after.isdigit() else _until_date(after, now)
    elif answer.status in {403, 429}:
        for prefix in ("x-ratelimit-", "ratelimit-"):
            reset = headers.get(f"{prefix}reset", "").strip()
            if headers.get(f"{prefix}remaining", "").strip() == "0" and reset.isascii() and reset.isdigit():
                wait = max(1.0, float(reset) - now)
    return min(max(wait, 0.0), _LONGEST_WAIT_SECONDS)


def _until_date(text: str, now: float) -> float:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now


ENTRY_POINTS: Final = "knickpoint.channels"
"""The group of entry points under which other packages register kinds of channels."""

ChannelMaker = Callable[[ChannelSettings, ChannelContext], Channel]
"""Makes a channel; it connects when it sends, not before."""

_BUILT_IN: Final[Mapping[str, str]] = {
    "chat": "knickpoint.notify.channels.chat:chat_channel",
    "github": "knickpoint.notify.trackers.github:github_channel",
    "gitlab": "knickpoint.notify.trackers.gitlab:gitlab_channel",
    "jira": "knickpoint.notify.trackers.jira:jira_channel",
    "mail": "knickpoint.notify.channels.mail:mail_channel",
    "webhook": "knickpoint.notify.channels.webhook:webhook_channel",
}
"""Name to module and function, as in an entry point."""


@cache
def _plugins() -> Mapping[str, Plugin]:
    return find_plugins(ENTRY_POINTS, _BUILT_IN)


def check_channel_kind(settings: ChannelSettings, where: str) -> None:
    """Check that the kind of a channel is built in, or registered by an installed package.

    Raises:
        ConfigError: it is neither; ``where`` is the section that names it.
    """
    if settings.kind is not ChannelKind.OTHER or _canonical(settings.plugin) in _plugins():
        return
    known = ", ".join(_plugins()) or "none are installed"
    remedy = f"Install the package that registers it. Kinds of other packages: {known}."
    raise ConfigError(f"plugin is {settings.plugin!r}, which no package registers", where=where, remedy=remedy)


def open_channel(settings: ChannelSettings, context: ChannelContext) -> Channel:
    """Make the channel that ``settings`` describe.

    Raises:
        ConfigError: its kind is unknown, its settings cannot be used, or a library that it needs is not installed.
        PluginError: the package that registers its kind is broken.
    """
    if settings.kind is not ChannelKind.OTHER:
        module, _, attribute = _BUILT_IN[settings.kind.value].partition(":")
        maker: ChannelMaker = getattr(import_module(module), attribute)
        return maker(settings, context)
    check_channel_kind(settings, f"[channels.{settings.name}]")
    plugin = _plugins()[_canonical(settings.plugin)]
    loaded = plugin.load()
    if not callable(loaded):
        raise plugin.error(f"{plugin.entry_point.value} is {type(loaded).__name__}, not a function")
    channel = loaded(settings, context)
    if not callable(getattr(channel, "send", None)) or not callable(getattr(channel, "close", None)):
        raise plugin.error(f"{plugin.entry_point.value} returned {type(channel).__name__}, which is not a channel")
    opened: Channel = channel
    return opened


def _canonical(name: str) -> str:
    return name.strip().replace("-", "_")
