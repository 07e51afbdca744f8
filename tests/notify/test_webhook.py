"""Webhooks: what a receiver gets, how it checks that, and what its answers mean."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from tests.notify.conftest import Receiver, Reply

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import Message, Recipient
from knickpoint.notify.channel import Channel, ChannelContext, DeliveryError
from knickpoint.notify.channels.webhook import WebhookChannel, payload, webhook_channel
from knickpoint.notify.settings import ChannelKind, ChannelSettings

SECRET = "0123456789abcdef"
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "webhooks.md"
MESSAGE = Message(
    key="a1b2",
    thread="change/7",
    recipient=Recipient("hooks", person="ada"),
    subject="clean_text is 12 % slower",
    text="clean_text is 12 % slower.\n",
    html="<p>clean_text is 12 % slower.</p>",
    data={"changes": [{"id": "R7"}]},
    address="https://perf.example.org/changes/7",
)


def channel_to(url: str, context: ChannelContext) -> WebhookChannel:
    settings = ChannelSettings("hooks", ChannelKind.WEBHOOK, url=url, signing_secret=SECRET)
    return webhook_channel(settings, context)


@pytest.fixture
def channel(receiver: Receiver, context: ChannelContext) -> WebhookChannel:
    return channel_to(f"{receiver.url}/knick", context)


def failure_of(channel: Channel) -> DeliveryError:
    with pytest.raises(DeliveryError) as failed:
        channel.send(MESSAGE)
    return failed.value


def test_the_receiver_gets_the_message_as_json(receiver: Receiver, channel: WebhookChannel) -> None:
    assert channel.send(MESSAGE).reference == "a1b2"
    (request,) = receiver.requests
    assert (request.method, request.target) == ("POST", "/knick")
    assert json.loads(request.body) == payload(MESSAGE, "Textmill")


def test_the_idempotency_key_is_the_key_of_the_message(receiver: Receiver, channel: WebhookChannel) -> None:
    channel.send(MESSAGE)
    assert receiver.requests[0].headers["idempotency-key"] == "a1b2"


def test_the_body_has_the_fields_that_the_guide_lists() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \|", GUIDE.read_text().partition("## The body")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert rows == list(payload(MESSAGE, "Textmill"))


def _block(language: str) -> str:
    found = re.search(
        rf"```{language}\n(.*?)```", GUIDE.read_text().partition("## Checking the signature")[2], re.DOTALL
    )
    assert found
    return found[1]


def _verified_by_python(headers: dict[str, str], body: bytes, now: float) -> bool:
    names: dict[str, object] = {}
    exec(_block("python"), names)
    is_genuine = names["is_genuine"]
    assert callable(is_genuine)
    timestamp, signature = headers["x-knickpoint-timestamp"], headers["x-knickpoint-signature"]
    return bool(is_genuine(SECRET, timestamp, signature, body, now=now))


def test_the_python_of_the_guide_accepts_what_was_sent(receiver: Receiver, channel: WebhookChannel) -> None:
    channel.send(MESSAGE)
    request = receiver.requests[0]
    assert _verified_by_python(request.headers, request.body, float(request.headers["x-knickpoint-timestamp"]))


@pytest.mark.parametrize(("changed", "later"), [(b" ", 0.0), (b"", 301.0)], ids=["another body", "too late"])
def test_the_python_of_the_guide_refuses(
    receiver: Receiver, channel: WebhookChannel, changed: bytes, later: float
) -> None:
    channel.send(MESSAGE)
    request = receiver.requests[0]
    now = float(request.headers["x-knickpoint-timestamp"]) + later
    assert not _verified_by_python(request.headers, request.body + changed, now)


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_lasting(receiver: Receiver, channel: WebhookChannel, status: int) -> None:
    receiver.replies = [Reply(status, (("Location", "/elsewhere"),))]
    assert failure_of(channel).lasting
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("status", [400, 404, 410, 413, 422])
def test_a_refusal_of_the_message_is_lasting(receiver: Receiver, channel: WebhookChannel, status: int) -> None:
    receiver.replies = [Reply(status)]
    failed = failure_of(channel)
    assert (failed.lasting, failed.unclear) == (True, False)


@pytest.mark.parametrize("status", [401, 403, 408, 409, 425, 429])
def test_what_may_pass_is_tried_again(receiver: Receiver, channel: WebhookChannel, status: int) -> None:
    receiver.replies = [Reply(status)]
    failed = failure_of(channel)
    assert (failed.lasting, failed.unclear) == (False, False)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_after_a_failure_of_the_server_it_is_unclear(receiver: Receiver, channel: WebhookChannel, status: int) -> None:
    receiver.replies = [Reply(status)]
    failed = failure_of(channel)
    assert (failed.lasting, failed.unclear) == (False, True)


@pytest.mark.parametrize(
    ("after", "wait"),
    [("120", 120.0), ("Sun, 22 Nov 2026 12:01:00 GMT", 60.0), ("soon", 0.0), ("-5", 0.0), ("999999999", 86_400.0)],
)
def test_the_receiver_says_how_long_to_wait(
    receiver: Receiver, channel: WebhookChannel, after: str, wait: float
) -> None:
    noon = replace(channel, exchange=replace(channel.exchange, clock=lambda: 1_795_348_800.0))
    receiver.replies = [Reply(429, (("Retry-After", after),))]
    assert failure_of(noon).wait_seconds == wait


def test_half_an_answer_is_unclear(receiver: Receiver, channel: WebhookChannel) -> None:
    receiver.replies = [Reply(200, body=b"half", half=True)]
    assert failure_of(channel).unclear


def test_no_answer_in_time_is_unclear(receiver: Receiver, channel: WebhookChannel) -> None:
    receiver.replies = [Reply(silent=True)]
    hasty = replace(channel, exchange=replace(channel.exchange, seconds=0.2))
    assert failure_of(hasty).unclear


def test_a_receiver_that_is_not_there_did_not_take_it(context: ChannelContext) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    failed = failure_of(channel_to(f"http://127.0.0.1:{port}/", context))
    assert (failed.lasting, failed.unclear) == (False, False)


def test_an_error_names_the_host_alone(receiver: Receiver, context: ChannelContext) -> None:
    receiver.replies = [Reply(404)]
    failed = failure_of(channel_to(f"{receiver.url}/path-with-secret?token=hidden", context))
    assert "secret" not in str(failed)
    assert "hidden" not in str(failed)


def test_neither_address_nor_secret_is_in_its_repr(channel: WebhookChannel) -> None:
    assert "knick" not in repr(channel).replace("knickpoint", "")
    assert SECRET not in repr(channel)


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1/", "hooks.example/knick"])
def test_another_address_than_of_the_web_is_refused(context: ChannelContext, url: str) -> None:
    with pytest.raises(ConfigError, match=r"\[channels.hooks\]: url is not an http or https address"):
        channel_to(url, context)


def test_a_missing_secret_is_refused(context: ChannelContext) -> None:
    with pytest.raises(ConfigError, match="signing_secret is missing"):
        webhook_channel(ChannelSettings("hooks", ChannelKind.WEBHOOK, url="https://hooks.example"), context)
