"""Send messages to chats through Apprise, which knows the addresses and the formats of about a hundred services.

Apprise reports whether a service took a message, and not why not: its failures are never lasting, and always unclear.
Its log lines hold addresses with their secrets, and are dropped. What its requests do otherwise than the outgoing rule
says stands in ``docs/decisions/messages.md``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Message, Sent
from knickpoint.notify.channel import ChannelContext, DeliveryError
from knickpoint.notify.markup import plain_text
from knickpoint.notify.settings import ChannelSettings

if TYPE_CHECKING:
    from apprise import Apprise

_SECONDS: Final = 60.0
_MARKDOWN_AS_TEXT: Final = frozenset({"discord", "guilded", "mattermost", "nextcloud talk", "zulip"})
"""Services that Apprise sends text to, and that show Markdown in it."""


@dataclass(frozen=True, slots=True)
class ChatChannel:
    """Hands messages to Apprise, one service a channel.

    ``service`` is its name, without its address; ``pictures`` says that it takes attachments, and ``plain`` that it
    shows a text as it comes, without any markup.
    """

    name: str
    service: str
    apprise: Apprise = field(repr=False)
    pictures: bool = False
    plain: bool = False

    def send(self, message: Message) -> Sent:
        """Send the subject as the title and the text; see :meth:`knickpoint.notify.channel.Channel.send`.

        The text is Markdown, which Apprise turns into what the service shows. Services that take attachments get the
        pictures, too.
        """
        from apprise import AppriseAttachment, NotifyFormat
        from apprise.attachment.memory import AttachMemory

        pictures = [
            AttachMemory(each.content, name=each.name, mimetype=each.media_type)  # type: ignore[no-untyped-call]
            for each in (message.attachments if self.pictures else ())
        ]
        result = self.apprise.notify(
            title=message.subject,
            body=plain_text(message.text) if self.plain else message.text,
            body_format=NotifyFormat.TEXT if self.plain else NotifyFormat.MARKDOWN,
            attach=AppriseAttachment(pictures) if pictures else None,
        )
        if not result:
            raise DeliveryError(
                f"Apprise could not hand the message to {self.service}, and does not say why",
                where=f"[channels.{self.name}]",
                remedy="Try the address with the program apprise on this machine.",
                unclear=True,
            )
        return Sent(reference=message.key)

    def close(self) -> None:
        """Do nothing: no connection outlives its message."""


def chat_channel(settings: ChannelSettings, context: ChannelContext) -> ChatChannel:
    """Open the channel that ``settings`` describe.

    Raises:
        ConfigError: Apprise is not installed, or does not know such an address.
    """
    where = f"[channels.{settings.name}]"
    try:
        from apprise import Apprise, AppriseAsset, NotifyFormat
    except ImportError as error:
        raise ConfigError(
            "chats need Apprise", where=where, remedy="Install it with pip install 'knickpoint[server]'."
        ) from error
    logging.getLogger("apprise").disabled = True
    asset = AppriseAsset(
        app_id=context.instance_name,
        async_mode=False,
        http_redirects=False,  # a redirect could lead to any host
        interpret_escapes=False,
        allow_templates=False,  # what stands in a message is not a template
        storage_mode="memory",
        service_timeout=_SECONDS,
    )
    service = Apprise.instantiate(settings.url, asset=asset) if settings.url else None
    if service is None:
        raise ConfigError(
            "Apprise knows no service with such an address" if settings.url else "url is missing",
            where=where,
            remedy="Write it as https://appriseit.com/services/ says, with the secret as in ${CHAT_TOKEN}.",
        )
    apprise = Apprise(asset=asset)
    apprise.add(service)
    name, formats = str(service.service_name), service.notify_format
    only_text = formats in (NotifyFormat.TEXT, (NotifyFormat.TEXT,))
    plain = only_text and name.lower() not in _MARKDOWN_AS_TEXT
    return ChatChannel(settings.name, name, apprise, bool(service.attachment_support), plain)
