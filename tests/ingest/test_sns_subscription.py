from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.ingest.conftest import Lab

from knickpoint.ingest import bucket_events as subscription
from knickpoint.ingest.bucket_events import (
    confirm_subscription,
    confirmation_address,
    import_bucket_event,
    request_confirmation,
)
from knickpoint.model.errors import AddressError, InputError, ServiceError
from knickpoint.outgoing import OutgoingRule

TOPIC = "arn:aws:sns:eu-west-1:123456789012:results"
ADDRESS = f"https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37"


def message(**facts: object) -> dict[str, object]:
    plain: dict[str, object] = {
        "Type": "SubscriptionConfirmation",
        "TopicArn": TOPIC,
        "Message": "You have chosen to subscribe to the topic.",
        "SubscribeURL": ADDRESS,
    }
    return plain | facts


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that are requested from now on; SNS itself is out of reach of a test."""
    addresses: list[str] = []
    monkeypatch.setattr(subscription, "request_confirmation", lambda address, _: addresses.append(address))
    return addresses


def test_a_subscription_is_confirmed_at_the_address_that_sns_gave(asked: list[str]) -> None:
    assert confirm_subscription(message(), OutgoingRule()) == f"the subscription of {TOPIC} is confirmed"
    assert asked == [ADDRESS]


def test_other_messages_confirm_nothing(asked: list[str]) -> None:
    assert confirm_subscription({"Type": "Notification", "Message": "{}"}, OutgoingRule()) is None
    assert asked == []


@pytest.mark.parametrize(
    "address",
    [
        ADDRESS.replace("https", "http"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "169.254.169.254"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "localhost"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "sns.eu-west-1.amazonaws.com.evil.example"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "evil.example/sns.eu-west-1.amazonaws.com"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "sns.eu-west-1.amazonaws.com@evil.example"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "sns.eu-west-1.amazonaws.com:8080"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "bucket.s3.eu-west-1.amazonaws.com"),
        ADDRESS.replace("sns.eu-west-1.amazonaws.com", "sns.us-east-1.amazonaws.com"),
        ADDRESS.replace("ConfirmSubscription", "Publish"),
        ADDRESS.replace("results", "another"),
        ADDRESS.replace("/?", "/elsewhere?"),
        ADDRESS + "&Action=Publish",
        ADDRESS.replace("https://", "https://\\t"),
        "https://[::1/?Action=ConfirmSubscription",
        "",
        None,
        7,
    ],
)
def test_no_other_address_is_requested(address: object) -> None:
    with pytest.raises(InputError, match="not confirmed"):
        confirmation_address(message(SubscribeURL=address))


@pytest.mark.parametrize("topic", [None, "results", "arn:aws:s3:::bucket", TOPIC + "\n"])
def test_a_message_without_a_topic_of_sns_confirms_nothing(topic: object) -> None:
    with pytest.raises(InputError, match="not confirmed"):
        confirmation_address(message(TopicArn=topic))


def test_an_event_that_asks_for_confirmation_takes_no_file(lab: Lab, asked: list[str]) -> None:
    summary = import_bucket_event(lab.instance, json.dumps(message()).encode())
    assert (summary.files, summary.notes, asked) == ((), (f"the subscription of {TOPIC} is confirmed",), [ADDRESS])


def test_the_end_of_a_subscription_is_reported(lab: Lab) -> None:
    summary = import_bucket_event(lab.instance, json.dumps(message(Type="UnsubscribeConfirmation")).encode())
    assert summary.notes == (f"the subscription of {TOPIC} has ended",)


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        code = int(self.path.strip("/"))
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/200")
        self.end_headers()

    def log_message(self, *_facts: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


LOOPBACK = OutgoingRule(("127.0.0.1",))


def test_an_address_is_asked_once(address: str) -> None:
    request_confirmation(f"{address}/200", LOOPBACK)


@pytest.mark.parametrize("code", [302, 403, 500])
def test_redirections_are_not_followed_and_failures_are_reported(address: str, code: int) -> None:
    with pytest.raises(ServiceError, match=f"does not confirm the subscription: it answers with status {code}"):
        request_confirmation(f"{address}/{code}", LOOPBACK)


def test_a_server_that_is_not_there_is_reported() -> None:
    with pytest.raises(ServiceError, match="does not confirm"):
        request_confirmation("http://127.0.0.1:1/", LOOPBACK)


def test_a_host_that_is_not_allowed_is_not_asked(address: str) -> None:
    with pytest.raises(AddressError, match="loopback"):
        request_confirmation(f"{address}/200", OutgoingRule())


def test_the_message_about_a_refused_address_has_no_token_of_sns() -> None:
    with pytest.raises(InputError) as refused:
        confirmation_address(message(SubscribeURL=ADDRESS.replace("sns.", "other.")))
    assert "2336412f37" not in str(refused.value)
