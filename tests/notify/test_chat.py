"""Chats through Apprise: the real library, with a receiver on loopback."""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import replace

import pytest
from tests.notify.conftest import Receiver, Reply

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Attachment, Message, Recipient
from knickpoint.notify.channel import ChannelContext, DeliveryError
from knickpoint.notify.channels.chat import ChatChannel, chat_channel
from knickpoint.notify.settings import ChannelKind, ChannelSettings

pytest.importorskip("apprise")
pytestmark = pytest.mark.filterwarnings(
    "ignore:'imghdr' is deprecated:DeprecationWarning"
)  # one of its plugins uses it

MESSAGE = Message("a1b2", "change/7", Recipient("room"), "clean_text is slower", "By 12 %. {{ 1 }} stays.")


def channel_to(url: str, context: ChannelContext) -> ChatChannel:
    return chat_channel(ChannelSettings("room", ChannelKind.CHAT, url=url), context)


@pytest.fixture
def channel(receiver: Receiver, context: ChannelContext) -> ChatChannel:
    return channel_to(f"json://user:hidden@127.0.0.1:{receiver.port}/room", context)


@pytest.mark.long
def test_a_chat_gets_subject_and_text(receiver: Receiver, channel: ChatChannel) -> None:
    channel.send(MESSAGE)
    posted = json.loads(receiver.requests[0].body)
    assert (posted["title"], posted["message"]) == (MESSAGE.subject, MESSAGE.text)


def test_a_service_that_takes_attachments_gets_the_picture(receiver: Receiver, channel: ChatChannel) -> None:
    channel.send(replace(MESSAGE, attachments=(Attachment("change-7.png", "image/png", b"PNG"),)))
    (attached,) = json.loads(receiver.requests[0].body)["attachments"]
    assert (attached["filename"], base64.b64decode(attached["base64"])) == ("change-7.png", b"PNG")


_MARKDOWN = "**clean\\_text\\_ is slower.** 19.95 ms, see [the page](https://x.example/1)"


@pytest.mark.parametrize(
    ("service", "field", "shown"),
    [
        ("mmost://127.0.0.1:{port}/abcd0123", "text", _MARKDOWN),
        ("gotify://127.0.0.1:{port}/abcd0123?format=markdown", "message", _MARKDOWN),
        (
            "ntfy://127.0.0.1:{port}/room",
            "message",
            "clean_text_ is slower. 19.95 ms, see the page (https://x.example/1)",
        ),
        (
            "json://127.0.0.1:{port}/room?format=html",
            "message",
            '<p><strong>clean_text_ is slower.</strong> 19.95 ms, see <a href="https://x.example/1">the page</a></p>',
        ),
    ],
)
def test_each_service_gets_the_markup_that_it_shows(
    receiver: Receiver, context: ChannelContext, service: str, field: str, shown: str
) -> None:
    channel = channel_to(service.format(port=receiver.port), context)
    channel.send(replace(MESSAGE, text=_MARKDOWN))
    assert shown in json.loads(receiver.requests[0].body)[field]


@pytest.mark.parametrize(
    "reply", [Reply(404), Reply(500), Reply(429), Reply(200, body=b"x", half=True)], ids=["404", "500", "429", "half"]
)
def test_a_failure_is_unclear_and_never_lasting(receiver: Receiver, channel: ChatChannel, reply: Reply) -> None:
    receiver.replies = [reply]
    with pytest.raises(DeliveryError, match=r"\[channels.room\]: Apprise could not hand the message to") as failed:
        channel.send(MESSAGE)
    assert (failed.value.lasting, failed.value.unclear) == (False, True)


def test_a_redirect_is_not_followed(receiver: Receiver, channel: ChatChannel) -> None:
    receiver.replies = [Reply(307, (("Location", f"{receiver.url}/elsewhere"),))]
    with pytest.raises(DeliveryError):
        channel.send(MESSAGE)
    assert len(receiver.requests) == 1


def test_the_address_is_neither_logged_nor_shown(
    receiver: Receiver, channel: ChatChannel, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.replies = [Reply(500)]
    with caplog.at_level(logging.DEBUG), pytest.raises(DeliveryError) as failed:
        channel.send(MESSAGE)
    assert "hidden" not in caplog.text + str(failed.value) + repr(channel)


@pytest.mark.parametrize("url", ["", "nonsense", "unknown://hidden@host"])
def test_an_address_that_apprise_does_not_know_is_refused(context: ChannelContext, url: str) -> None:
    with pytest.raises(ConfigError, match=r"\[channels.room\]") as failed:
        channel_to(url, context)
    assert "hidden" not in str(failed.value)
