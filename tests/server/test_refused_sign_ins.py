"""Anyone can have sign-ins refused; the audit log keeps a bounded number of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.server.client import Client
from tests.server.openid import with_sign_in

from knickpoint.access.settings import SignInSettings
from knickpoint.instance import Instance
from knickpoint.model.access import AuditKind
from knickpoint.server import create_app
from knickpoint.server.sign_in import RefusalCount

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_an_hour_has_a_bounded_number_of_entries_and_the_last_says_so() -> None:
    count = RefusalCount(most=3)
    remarks = [count.remark(NOW + timedelta(minutes=number)) for number in range(5)]
    assert (remarks[:2], remarks[3:]) == (["", ""], [None, None])
    assert "not recorded" in (remarks[2] or "")


def test_the_next_hour_has_entries_again_and_so_has_a_clock_that_was_put_back() -> None:
    count = RefusalCount(most=2)
    for _ in range(3):
        count.remark(NOW)
    assert count.remark(NOW + timedelta(hours=1)) == ""
    assert count.remark(NOW - timedelta(days=1)) == ""


@pytest.mark.long
def test_callbacks_from_many_addresses_do_not_fill_the_audit_log(instance: Instance) -> None:
    ways = {
        "keycloak": SignInSettings("keycloak", issuer="http://127.0.0.1:9", client_id="knick", client_secret="word")
    }
    signing = with_sign_in(instance, ways)
    app = create_app(signing, clock=lambda: NOW)
    for number in range(250):
        client = Client(app, peer=f"203.0.113.{number}")
        assert client.get("/sign-in/keycloak/callback?state=x&code=y").status_code == 401
    refused = signing.store.audit.entries(kind=AuditKind.SIGN_IN_REFUSED, limit=1000)
    assert len(refused) == 200
    assert "not recorded" in refused[0].about
