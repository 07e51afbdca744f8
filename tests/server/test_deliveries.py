"""Send deliveries again, and drop them, through the API."""

from __future__ import annotations

import pytest
from tests.server.client import Client
from tests.store.notifications.test_notifications import LEASE, NOW, announced, planned

from knickpoint.instance import Instance
from knickpoint.model.access import AuditKind
from knickpoint.model.notification import Delivery, DeliveryState


@pytest.fixture
def failed(instance: Instance) -> Delivery:
    """A delivery whose only attempt failed for good."""
    notifications = instance.store.notifications
    notifications.switch(on=True)
    cursor = notifications.cursor() or 0
    notifications.plan([planned(announced(10**6))], before=cursor, after=cursor + 1, now=NOW)
    (claimed,) = notifications.claim(NOW, LEASE, 1, holder="test")
    notifications.fail(claimed.id, "test", "no such mailbox")
    return claimed


def entries(instance: Instance) -> list[str]:
    return [each.about for each in instance.store.audit.entries(kind=AuditKind.DELIVERIES_CHANGED)]


def state(instance: Instance, delivery: Delivery) -> DeliveryState:
    (found,) = instance.store.notifications.get([delivery.id])
    return found.state


@pytest.mark.parametrize(
    ("action", "expected"),
    [("retry", (DeliveryState.WAITING, "due again")), ("drop", (DeliveryState.DROPPED, "dropped"))],
)
def test_what_a_person_does_with_a_delivery_is_in_the_audit_log(
    instance: Instance, client: Client, failed: Delivery, action: str, expected: tuple[DeliveryState, str]
) -> None:
    answer = client.post(f"/api/v1/deliveries/{action}", json={"ids": [failed.id]})
    assert answer.json() == {"changed": 1}
    assert state(instance, failed) is expected[0]
    assert entries(instance) == [f"{expected[1]}: 1 delivery of D{failed.id}"]


def test_what_changes_nothing_is_not_in_the_audit_log(instance: Instance, client: Client, failed: Delivery) -> None:
    instance.store.notifications.give_up([failed.id], "before")
    assert client.post("/api/v1/deliveries/retry", json={"ids": [failed.id]}).json() == {"changed": 0}
    assert not entries(instance)


def test_a_delivery_that_does_not_exist_is_refused(client: Client) -> None:
    assert client.post("/api/v1/deliveries/drop", json={"ids": [10**6]}).status_code == 404
