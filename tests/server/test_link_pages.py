"""A signed link shows what it would decide, decides once on a POST, and does nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import FastAPI
from tests.server.client import Client
from tests.server.story import make_instance

from knickpoint.access.sessions import session_key
from knickpoint.access.settings import AccessSettings
from knickpoint.instance import CONFIG_FILE, Instance, open_instance
from knickpoint.model.access import AuditKind
from knickpoint.model.change_point import Status
from knickpoint.notify.links import LinkAction, LinkClaim, sign_link
from knickpoint.server import create_app
from knickpoint.watch.triage.decisions import Targets, decide, undo

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_PEOPLE = '\n[people.ann]\nmail = "ann@example.org"\nsign_in = ["afield"]\n'


class Clock:
    """A clock that a test sets."""

    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    directory = tmp_path_factory.mktemp("links") / "instance"
    make_instance(directory)
    config = directory / CONFIG_FILE
    config.write_text(config.read_text(encoding="utf-8") + _PEOPLE, encoding="utf-8")
    with open_instance(directory) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(instance: Instance, clock: Clock) -> FastAPI:
    return create_app(instance, open_port=True, clock=clock)


@pytest.fixture
def claim(instance: Instance) -> Iterator[LinkClaim]:
    """A link of Ann about a change that nobody decided about, before and after the test."""
    store = instance.store
    (first, *_) = store.findings.changes(store.commits.repositories()[0], members=0)
    yield LinkClaim(first.id, LinkAction.NOISE, "ann@example.org", "ann", NOW + timedelta(days=14))
    while undo(store, Targets((first.id,)), who="test").decisions:
        pass
    with store.transaction() as connection:
        connection.exec_driver_sql("DELETE FROM used_link")


def address(instance: Instance, claim: LinkClaim) -> str:
    return f"/link/{sign_link(claim, session_key(instance.directory, AccessSettings()))}"


def statuses(instance: Instance, claim: LinkClaim) -> set[Status]:
    return {member.effective_status for member in instance.store.findings.live_members(claim.change)}


def title(text: str) -> str:
    found = re.search(r"<h1>(.*)</h1>", text)
    return found[1] if found else ""


def test_opening_a_link_asks_and_decides_nothing(instance: Instance, app: FastAPI, claim: LinkClaim) -> None:
    shown = Client(app).get(address(instance, claim))
    assert (shown.status_code, title(shown.text)) == (200, "Mark this change as noise?")
    assert f"R{claim.change}" in shown.text
    assert "recorded as one of afield" in shown.text
    assert statuses(instance, claim) == {Status.NEW}


def test_the_button_decides_as_the_recipient_and_the_audit_log_says_so(
    instance: Instance, app: FastAPI, claim: LinkClaim
) -> None:
    form = re.search(r'<form method="post" action="([^"]+)"', Client(app).get(address(instance, claim)).text)
    assert form is not None
    done = Client(app).post(form[1])
    assert (done.status_code, title(done.text)) == (200, "The change is marked as noise")
    assert statuses(instance, claim) == {Status.HIDDEN}
    (entry,) = instance.store.audit.entries(kind=AuditKind.DECIDED, limit=1)
    assert (entry.who, entry.address) == ("afield", "127.0.0.1")
    assert f"R{claim.change}" in entry.about


@pytest.mark.parametrize(
    ("action", "status", "assignee"),
    [(LinkAction.ACKNOWLEDGE, Status.ACKNOWLEDGED, ""), (LinkAction.TAKE, Status.NEW, "afield")],
)
def test_other_links_acknowledge_and_take(
    instance: Instance, app: FastAPI, claim: LinkClaim, *, action: LinkAction, status: Status, assignee: str
) -> None:
    assert Client(app).post(address(instance, replace(claim, action=action))).status_code == 200
    members = instance.store.findings.live_members(claim.change)
    assert {(member.effective_status, member.assignee) for member in members} == {(status, assignee)}


def test_a_link_decides_once(instance: Instance, app: FastAPI, claim: LinkClaim) -> None:
    link = address(instance, claim)
    Client(app).post(link)
    undo(instance.store, Targets((claim.change,)), who="ben")
    again = Client(app).post(link)
    assert (again.status_code, title(again.text)) == (410, "This link was used before")
    assert statuses(instance, claim) == {Status.NEW}


def test_a_link_about_what_a_person_decided_meanwhile_changes_nothing(
    instance: Instance, app: FastAPI, claim: LinkClaim
) -> None:
    decide(instance.store, Targets((claim.change,)), who="ben", status=Status.ACKNOWLEDGED)
    for method in ("GET", "POST"):
        shown = Client(app).ask(method, address(instance, claim))
        assert (shown.status_code, title(shown.text)) == (410, "A person decided about this change meanwhile")
    assert statuses(instance, claim) == {Status.ACKNOWLEDGED}


def test_an_expired_link_changes_nothing(instance: Instance, app: FastAPI, clock: Clock, claim: LinkClaim) -> None:
    clock.now = claim.expires
    shown = Client(app).post(address(instance, claim))
    assert (shown.status_code, title(shown.text)) == (410, "This link has expired")
    assert statuses(instance, claim) == {Status.NEW}


def test_a_link_about_a_change_that_is_gone_says_so(instance: Instance, app: FastAPI, claim: LinkClaim) -> None:
    shown = Client(app).post(address(instance, replace(claim, change=999_999)))
    assert (shown.status_code, title(shown.text)) == (410, "This change is no longer there")


def test_a_link_that_was_not_signed_here_is_none(instance: Instance, app: FastAPI, claim: LinkClaim) -> None:
    forged = f"/link/{sign_link(claim, b'x' * 32)}"
    for method in ("GET", "POST"):
        assert Client(app).ask(method, forged).status_code == 404
    assert statuses(instance, claim) == {Status.NEW}


def test_a_link_is_no_sign_in(instance: Instance, app: FastAPI, claim: LinkClaim) -> None:
    shown = Client(app).get(address(instance, claim))
    assert "set-cookie" not in shown.headers
    assert shown.headers["cache-control"] == "no-store"
    refused = Client(app).post(
        address(instance, claim), headers={"sec-fetch-site": "cross-site", "origin": "http://x.test"}
    )
    assert refused.status_code == 403
    assert statuses(instance, claim) == {Status.NEW}


def test_the_page_needs_no_script_and_keeps_the_policy(instance: Instance, app: FastAPI, claim: LinkClaim) -> None:
    shown = Client(app).get(address(instance, claim))
    assert "<script" not in shown.text
    assert "style=" not in shown.text
    assert "form-action 'self'" in shown.headers["content-security-policy"]
