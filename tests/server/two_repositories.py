"""An instance with sign-in and two repositories, one of which is closed to most callers, and a client for each caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from tests.server.story import REPOSITORY, TOKEN, commit_hash, history

from knickpoint.access.sessions import Session, new_session, session_cookie, session_key, sign_session
from knickpoint.access.tokens import create_token, revoke_token
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.model.access import Permission, SignedIn, Token
from knickpoint.store import Store
from knickpoint.watch.alert_run.run import run_alerts

__all__ = ["CLOSED", "HIDDEN", "PEOPLE", "Closed", "credentials", "find_closed", "make_two_repositories", "sign_in"]

CLOSED: Final = "grace/vault"
PEOPLE: Final = ("viewer", "editor", "admin", "neighbour")
"""Viewer, editor and admin of both repositories, and a viewer of the other one.

There are also `partner`, an editor of the other one,
and `half`, who is that and a viewer of both."""

HIDDEN: Final = ("vault", "buried")
"""Words that occur in everything about the closed repository, and nowhere else."""

_SETTINGS: Final = f"""
[server]
upload_token = "{TOKEN}"

[access]
session_secret = "{"0123456789abcdef" * 4}"

[limits]
requests_per_minute = 1000000
sign_ins_per_minute = 1000000

[sign_in.company]
issuer = "https://127.0.0.1:1"
client_id = "knickpoint"
client_secret = "of the test"

[sign_in.partners]
issuer = "https://127.0.0.1:1/partners"
client_id = "knickpoint"
client_secret = "of the test"

[roles.viewers]
role = "viewer"
people = ["viewer", "half"]

[roles.editors]
role = "editor"
people = ["editor"]

[roles.admins]
role = "admin"
people = ["admin"]

[roles.half_editors]
role = "editor"
people = ["half", "partner"]
repositories = ["{REPOSITORY}"]

[roles.neighbours]
role = "viewer"
people = ["neighbour"]
repositories = ["{REPOSITORY}"]

[alerts.all]
query = ""

[alerts.of_the_vault]
query = ""
repository = "{CLOSED}"
"""


@dataclass(frozen=True)
class Closed:
    """What requests name of the closed repository, by id.

    ``decided`` is a finding of another change, to decide about.
    """

    trace: int
    change: int
    finding: int
    decided: int
    short_id: str
    commit: str


def make_two_repositories(directory: Path) -> None:
    """Make an instance in ``directory`` with the same history in both repositories.

    The benchmarks of one are hidden.
    """
    create_instance(directory, repositories={REPOSITORY: "", CLOSED: ""}).close()
    file = directory / "knickpoint.toml"
    file.write_text(file.read_text() + _SETTINGS)
    hidden = history().replace(b'"name": "', b'"name": "buried ')
    with open_instance(directory) as instance:
        for repository, data in ((REPOSITORY, history()), (CLOSED, hidden)):
            summary = import_data(instance, data, source=repository, stated=Sidecar(repository=repository))
            assert not summary.failed, summary.lines()
        run_alerts(instance.store, instance.alerts, as_work=True)


def find_closed(store: Store) -> Closed:
    """Return what the closed repository has."""
    repository = store.commits.repository(CLOSED)
    change, other = store.findings.changes(repository)[:2]
    (trace,) = store.traces.get([change.members[0].trace_id])
    short_id = store.shortcuts.add([trace.key])
    return Closed(trace.id, change.id, change.members[0].id, other.members[0].id, short_id, commit_hash(3))


def credentials(instance: Instance) -> Mapping[str, Mapping[str, str]]:
    """Return caller → the headers that it sends."""
    now = datetime.now(UTC)
    key = session_key(instance.directory, instance.config.access)
    sent = {person: sign_in(instance, person) for person in PEOPLE}
    sent |= {f"token {scope.value}": _bearer(_token(instance, scope.value, scope)) for scope in Permission}
    secret = _token(instance, "revoked", Permission.ADMIN)
    revoke_token(instance.store, "revoked", by="test")
    old = _session("admin", now - timedelta(days=1))
    return {
        "no one": {},
        **sent,
        "foreign cookie": _cookie(sign_session(_session("admin", now), b"another key" * 4)),
        "expired session": _cookie(sign_session(old, key)),
        "expired token": _bearer(_expired_token(instance, now)),
        "revoked token": _bearer(secret),
        "wrong token": _bearer("knick_" + "A" * 43),
    }


def sign_in(instance: Instance, person: str) -> Mapping[str, str]:
    """Return the headers of a person in a new session."""
    key = session_key(instance.directory, instance.config.access)
    return _cookie(sign_session(_session(person, datetime.now(UTC)), key))


def _session(person: str, now: datetime) -> Session:
    return new_session(_person(person), issuer="https://127.0.0.1:1", hours=1, now=now)


def _person(name: str) -> SignedIn:
    return SignedIn("company", name)


def _cookie(value: str) -> Mapping[str, str]:
    return {"cookie": f"{session_cookie(https=False)}={value}"}


def _bearer(secret: str) -> Mapping[str, str]:
    return {"authorization": f"Bearer {secret}"}


def _token(instance: Instance, name: str, scope: Permission) -> str:
    return create_token(instance.store, name, [scope], by="test").secret


def _expired_token(instance: Instance, now: datetime) -> str:
    """Return the secret of a token that was valid until yesterday."""
    secret, yesterday = "knick_" + "B" * 43, now - timedelta(days=1)
    token = Token("expired", frozenset({Permission.ADMIN}), (), yesterday, "test", yesterday, None, None)
    instance.store.tokens.insert(token, sha256(secret.encode()).hexdigest())
    return secret
