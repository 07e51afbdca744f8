"""Every endpoint, and what each caller gets there: the table is complete, and real requests agree with it.

All requests are about the closed repository of :mod:`tests.server.two_repositories`. The columns of the table are
callers: no one; the people ``viewer``, ``editor`` and ``admin`` of all repositories, and ``neighbour``, a viewer of the
other repository only; tokens with the scopes read, upload, decide and admin; and, after the bar, credentials that are
not valid: a foreign cookie, an expired session, an expired, a revoked and a wrong token.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from tests.server.client import Client
from tests.server.story import commit_hash
from tests.server.two_repositories import (
    CLOSED,
    HIDDEN,
    PEOPLE,
    Closed,
    credentials,
    find_closed,
    make_two_repositories,
    sign_in,
)

from knickpoint.access.tokens import create_token
from knickpoint.instance import Instance, open_instance
from knickpoint.instance.alert_definition import set_alert
from knickpoint.model.access import Permission
from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.quarantine import Quarantine, QuarantineState
from knickpoint.server import create_app
from knickpoint.server.dashboard import STATIC
from knickpoint.server.routes import routers
from knickpoint.server.routes.instance import agents_router
from knickpoint.store import Store
from knickpoint.store.bisections import BisectionRequest
from knickpoint.store.quarantines import StoredQuarantine
from knickpoint.watch.missed_changes import mark_missed

TABLE: Final = """\
GET    /                                      200
GET    /triage                                200
GET    /explore                               200
GET    /trace/{number}                        200
GET    /change/{name}                         200
GET    /commit/{name:path}                    200
GET    /benchmark                             200
GET    /alerts                                200
GET    /status                                200
GET    /missing                               200
GET    /quality                               200
GET    /compare                               200
GET    /clusters                              200
GET    /settings                              200
GET    /tokens                                200
GET    /audit                                 200
GET    /icon.svg                              200
GET    /assets                                307
GET    /sign-in                               200
GET    /sign-in.css                           200
GET    /sign-in/{name}                        503
GET    /sign-in/{name}/callback               401
POST   /sign-out                              303
GET    /signed-out                            200
GET    /link/{text}                           404
POST   /link/{text}                           404
GET    /docs                                  200
GET    /docs.css                              200
POST   /mcp                                   401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/openapi.json                   200
GET    /api/v1/me                             200 200 200 200 200 200 200 200 200 | 200 200 401 401 401
GET    /api/v1/me/settings                    200 200 200 200 200 200 200 200 200 | 401 401 401 401 401
PUT    /api/v1/me/settings/{name}             401 200 200 200 200 400 400 400 400 | 401 401 401 401 401
GET    /api/v1/views                          200 200 200 200 200 200 200 200 200 | 401 401 401 401 401
PUT    /api/v1/views                          401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
DELETE /api/v1/views                          401 403 404 404 403 403 403 404 404 | 401 401 401 401 401
GET    /api/v1/overview                       401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/trends                         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/version                        200 200 200 200 200 200 200 200 200 | 401 401 401 401 401
GET    /api/v1/reference                      200 200 200 200 200 200 200 200 200 | 401 401 401 401 401
GET    /api/v1/health                         200 200 200 200 200 200 200 200 200 | 401 401 401 401 401
GET    /api/v1/ready                          200 200 200 200 200 200 200 200 200 | 401 401 401 401 401
GET    /api/v1/status                         401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/status/retry                   401 403 403 200 403 403 403 403 200 | 401 401 401 401 401
GET    /api/v1/repositories                   401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/changes                    401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/history                        401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/alerts                         401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/notices                        401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/quarantines                    401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/quarantined       401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/quarantines/{quarantine}/lift  401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
GET    /api/v1/bisections                     401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/bisections/{bisection}         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/bisections/{bisection}/flame   401 404 404 404 404 404 403 404 404 | 401 401 401 401 401
GET    /api/v1/schedules                      401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/remeasured        401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/bisections/{bisection}/stop    401 403 200 200 403 403 403 403 200 | 401 401 401 401 401
GET    /api/v1/changes/{change}/recipes 401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/changes/{change}/bisection 401 403 400 400 403 403 403 403 400 | 401 401 401 401 401
GET    /api/v1/metrics                        401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/lines                          401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/releases                       401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/commits                        401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/comparison                     401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/comparison/flame               401 404 404 404 404 404 403 404 404 | 401 401 401 401 401
POST   /api/v1/comparison                     401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/clustering                     401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/commits/times                  401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/commits/{revision}             401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/commits/{revision}/report      401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/changes/{change}/breakdown 401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/changes/{change}/clusters 401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/changes/{change}               401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/changes/{change}/flame    401 404 404 404 404 404 403 404 404 | 401 401 401 401 401
GET    /api/v1/changes/{change}/suspects 401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/triage/last                    401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/members                        401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/triage                         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces                         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/facets                         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/values                         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/tickets                        401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/ticket-marks                   401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/marks                          401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/trackers                       401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}                   401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/change-points           401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/runs              401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/without-value     401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/patterns          401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/environments      401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/explanation       401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/badge.svg         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/plot.png          401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/traces/{key}/plot.svg          401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/never-measured                 401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/formulas                       401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/shortcuts/{name}               401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/shortcuts                      401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/points                         401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/grafana                        401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/grafana/search                 401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/grafana/metrics                401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/grafana/query                  401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/grafana/annotations            401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/triage                         401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
POST   /api/v1/triage/undo                    401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
POST   /api/v1/triage/split                   401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
POST   /api/v1/triage/merge                   401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
GET    /api/v1/deliveries                     401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
POST   /api/v1/deliveries/retry               401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
POST   /api/v1/deliveries/drop                401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
GET    /api/v1/alert-quality                  401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/alert-quality/proposals        401 403 403 400 403 403 403 403 400 | 401 401 401 401 401
DELETE /api/v1/alert-quality/proposals/{decision} 401 403 403 404 403 403 403 403 404 | 401 401 401 401 401
GET    /api/v1/missed                         401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/missed                         401 403 201 201 403 403 403 201 201 | 401 401 401 401 401
DELETE /api/v1/missed/{key}                   401 403 200 200 403 403 403 200 200 | 401 401 401 401 401
POST   /api/v1/results                        401 403 403 200 403 403 200 403 200 | 401 401 401 401 401
POST   /api/v1/arrivals                       401 403 403 400 403 403 400 403 400 | 401 401 401 401 401
GET    /api/v1/tokens                         401 403 403 200 403 403 403 403 200 | 401 401 401 401 401
POST   /api/v1/tokens                         401 403 403 201 403 403 403 403 201 | 401 401 401 401 401
DELETE /api/v1/tokens/{name}                  401 403 403 200 403 403 403 403 200 | 401 401 401 401 401
POST   /api/v1/alerts                         401 403 403 201 403 403 403 403 201 | 401 401 401 401 401
POST   /api/v1/alerts/preview                 401 403 403 200 403 403 403 403 200 | 401 401 401 401 401
PUT    /api/v1/alerts/{name}                  401 403 403 200 403 403 403 403 200 | 401 401 401 401 401
DELETE /api/v1/alerts/{name}                  401 403 403 200 403 403 403 403 200 | 401 401 401 401 401
GET    /api/v1/missing                        401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
POST   /api/v1/missing/renames                401 403 400 400 403 403 403 400 400 | 401 401 401 401 401
POST   /api/v1/missing/renames/undo           401 403 400 400 403 403 403 400 400 | 401 401 401 401 401
GET    /api/v1/alerts/{name}/record           401 200 200 200 404 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/alerts/files                   401 200 200 200 200 200 403 200 200 | 401 401 401 401 401
GET    /api/v1/audit                          401 403 403 200 403 403 403 403 200 | 401 401 401 401 401
"""
"""One status is that of all callers. 400 is an upload that was let in: the event names no source. 503 and 401 are pages of
sign-in, whose provider is not there. /assets is a directory."""

_ALWAYS: Final = {"from": "1970-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}

CALLERS: Final = (
    "no one", "viewer", "editor", "admin", "neighbour", "token read", "token upload", "token decide", "token admin",
    "foreign cookie", "expired session", "expired token", "revoked token", "wrong token",
)  # fmt: skip


def read_table() -> Mapping[str, tuple[int, ...]]:
    """Return endpoint → the status for each caller; one status is that of all callers."""
    lines = [line.replace("|", " ").split() for line in TABLE.splitlines()]
    codes = {f"{method} {path}": [int(code) for code in rest] for method, path, *rest in lines}
    return {endpoint: tuple(found * len(CALLERS) if len(found) == 1 else found) for endpoint, found in codes.items()}


def endpoints(app: FastAPI) -> set[str]:
    """Return the endpoints that ``app`` has: those of the API, and all others that are routes of their own."""
    found = {
        f"{method} {prefix}{route.path}"
        for prefix, router in [*(("/api/v1", each) for each in routers()), ("", agents_router)]
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    for route in app.routes:
        path = getattr(route, "path", None)
        if path is not None:
            methods: set[str] = getattr(route, "methods", None) or {"GET"}
            found |= {f"{method} {path}" for method in methods - {"HEAD"}}
    return found


def quarantine_of(store: Store) -> int:
    """Quarantine a run of the closed repository, and return the id."""
    repository = store.commits.repository(CLOSED)
    slot = store.commits.line(repository).slots[0]
    state, now = QuarantineState.QUARANTINED, datetime(2026, 3, 1, tzinfo=UTC)
    made = Quarantine(0, repository.id, "nightly", 0, slot, "bench-1", state, now, now)
    store.quarantines.put([StoredQuarantine(made, "content", np.empty(0, dtype=np.int64))])
    return store.quarantines.all(repository)[0].id


def bisection_of(store: Store) -> int:
    """Let a bisection of the closed repository wait, and return its id."""
    repository = store.commits.repository(CLOSED)
    slots = tuple(store.commits.line(repository).slots[:3])
    asked = datetime(2026, 3, 1, tzinfo=UTC)
    return store.bisections.ask(BisectionRequest(repository.id, "main", slots, "quick", "d", "ann", asked)).id


@dataclass(frozen=True)
class Served:
    """A server of the two repositories, and what is known of the closed one."""

    instance: Instance
    app: FastAPI
    closed: Closed
    credentials: Mapping[str, Mapping[str, str]]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    """Tells requests apart that create or revoke tokens."""

    def ask(self, endpoint: str, caller: str) -> httpx.Response:
        """Send the request of ``caller`` to an endpoint."""
        method, path = endpoint.split()
        options = self._options(endpoint, caller)
        if endpoint == "DELETE /api/v1/tokens/{name}":
            create_token(self.instance.store, options["name"], [Permission.READ], by="test")
        headers = self.credentials[caller]
        if path.startswith("/api/v1/alerts/{name}"):
            set_alert(self.instance, Alert(options["name"], repository=CLOSED), who="test")
        if endpoint == "POST /sign-out" and caller in PEOPLE:
            headers = sign_in(self.instance, caller)  # which the request ends
        filled = path.replace(":path", "").format(
            key=self._marked(method) if "missed" in path else self.closed.trace,
            revision=self.closed.commit,
            name=options.pop("name", "company"),
            number=self.closed.trace,
            change=self.closed.change,
            quarantine=quarantine_of(self.instance.store) if "{quarantine}" in path else 0,
            decision=0,
            bisection=bisection_of(self.instance.store) if "{bisection}" in path else 0,
            text="no-link",
        )
        return Client(self.app).ask(method, filled, follow=False, headers=headers, **options)

    def _marked(self, method: str) -> int:
        """Take all marks of missed changes back; for the request that removes one, make it and return its id."""
        store = self.instance.store
        repository = store.commits.repository(CLOSED)
        for change in store.findings.missed.all(repository):
            store.findings.missed.remove(change.id)
        if method != "DELETE":
            return 0
        (trace,) = store.traces.get([self.closed.trace])
        return mark_missed(store, repository, trace, self.closed.commit, AlertDirection.DOWN, who="test").id

    def _options(self, endpoint: str, caller: str) -> dict[str, Any]:
        closed = self.closed
        of_closed = {"params": {"repository": CLOSED}}
        column = f"{CALLERS.index(caller)}-{next(self.numbers)}"
        options: Mapping[str, dict[str, Any]] = {
            "PUT /api/v1/me/settings/{name}": {"name": "views", "json": {"value": "[]"}},
            "PUT /api/v1/views": {"json": {"name": "shared", "url": f"/explore?repository={CLOSED}"}},
            "DELETE /api/v1/views": {"params": {"name": "no such view"}},
            "GET /api/v1/overview": {"params": {"repository": CLOSED, "since": "1970-01-01T00:00:00Z"}},
            "GET /commit/{name:path}": {"name": closed.commit},
            "GET /api/v1/commits/{revision}": of_closed,
            "GET /api/v1/commits/{revision}/report": of_closed,
            "GET /api/v1/shortcuts/{name}": {"name": closed.short_id, **of_closed},
            "GET /api/v1/members": {"params": {"change": closed.change}},
            "GET /api/v1/triage": {"params": {"finding": closed.finding}},
            "GET /api/v1/values": {"params": {"traces": str(closed.trace)}},
            "GET /api/v1/tickets": of_closed,
            "GET /api/v1/ticket-marks": {"params": {"traces": str(closed.trace)}},
            "GET /api/v1/marks": {"params": {"traces": str(closed.trace)}},
            "GET /api/v1/traces/{key}/runs": {"params": {"commit": closed.commit}},
            "GET /api/v1/formulas": {"params": {"formula": 'filter("")', **of_closed["params"]}},
            "POST /api/v1/grafana/query": {"json": {"range": _ALWAYS, "targets": [{"target": "a=b"}]}, **of_closed},
            "POST /api/v1/grafana/annotations": {"json": {"range": _ALWAYS}, **of_closed},
            **{f"POST /api/v1/grafana/{name}": {"json": {}, **of_closed} for name in ("search", "metrics")},
            "POST /api/v1/shortcuts": {"json": {"keys": [",a=b,"]}},
            "POST /api/v1/triage": {"json": {"ids": [closed.decided], "status": "acknowledged"}},
            "POST /api/v1/triage/undo": {"json": {"ids": [closed.decided]}},
            "POST /api/v1/triage/split": {"json": {"ids": [closed.decided]}},
            "POST /api/v1/triage/merge": {"json": {"ids": [closed.decided]}},
            "POST /api/v1/deliveries/retry": {"json": {"ids": []}},
            "POST /api/v1/deliveries/drop": {"json": {"ids": []}},
            "POST /api/v1/alert-quality/proposals": {"json": {"name": "none:raise", "accept": True}},
            "POST /api/v1/status/retry": {"json": {"events": True}},
            "POST /api/v1/missed": {"json": {"trace": closed.trace, "commit": closed.commit, "direction": "down"}},
            "POST /api/v1/tokens": {"json": {"name": f"new-{column}", "scopes": ["read"]}},
            "DELETE /api/v1/tokens/{name}": {"name": f"spare-{column}"},
            "POST /api/v1/results": {
                "params": {"name": "ci", "commit": commit_hash(59), "repository": CLOSED, "dry_run": "true"},
                "content": json.dumps([{"name": "buried parse", "value": 1.0, "unit": "ns/iter"}]),
            },
            "POST /api/v1/alerts": {"json": {"name": f"new-{column}", "repository": CLOSED}},
            "POST /api/v1/alerts/preview": {"json": {"name": f"new-{column}", "repository": CLOSED, "seconds": 0}},
            "GET /api/v1/alerts/{name}/record": {"name": "closed alert"},
            "PUT /api/v1/alerts/{name}": {"name": f"spare-{column}", "json": {"repository": CLOSED}},
            "DELETE /api/v1/alerts/{name}": {"name": f"spare-{column}"},
            "POST /mcp": {"json": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}},
            "GET /api/v1/missing": of_closed,
            "GET /api/v1/comparison": {"params": {"repository": CLOSED, "base": commit_hash(20)}},
            "GET /api/v1/comparison/flame": {"params": {"repository": CLOSED, "base": commit_hash(20)}},
            "POST /api/v1/comparison": {
                "params": {"repository": CLOSED, "name": "mine.json"},
                "content": json.dumps([{"name": "buried parse", "value": 1.0, "unit": "ns/iter"}]),
            },
            "POST /api/v1/missing/renames": {"json": {"old": closed.trace, "new": closed.trace}},
            "POST /api/v1/missing/renames/undo": {"json": {"old": closed.trace, "new": closed.trace}},
            "POST /api/v1/quarantines/{quarantine}/lift": {"json": {"reason": "the machine is fine"}},
            "POST /api/v1/changes/{change}/bisection": {"json": {"recipe": "none of this name"}},
            "POST /api/v1/arrivals": {"json": {"url": "memory://elsewhere/a.json"}},
        }
        whole = {"GET /api/v1/lines", "GET /api/v1/commits", "GET /api/v1/commits/times", "GET /api/v1/traces"}
        whole |= {
            "GET /api/v1/clustering",
            "GET /api/v1/trends",
            "GET /api/v1/points",
            "GET /api/v1/facets",
            "GET /api/v1/never-measured",
        }
        return dict(options.get(endpoint, of_closed if endpoint in whole else {}))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("two") / "instance"
    make_two_repositories(directory)
    with open_instance(directory) as instance:
        closed = find_closed(instance.store)
        yield Served(instance, create_app(instance), closed, credentials(instance))


Answers = Mapping[str, Mapping[str, httpx.Response]]


@pytest.fixture(scope="module")
def answers(served: Served) -> Answers:
    """Return what each caller gets at each endpoint."""
    return {endpoint: {caller: served.ask(endpoint, caller) for caller in CALLERS} for endpoint in STATUSES}


PAGES: Final = {
    "GET /",
    "GET /triage",
    "GET /explore",
    "GET /trace/{number}",
    "GET /commit/{name:path}",
    "GET /icon.svg",
    "GET /assets",
}
BUILT: Final = (STATIC / "assets").is_dir()
STATUSES: Final = {endpoint: found for endpoint, found in read_table().items() if BUILT or endpoint not in PAGES}


def test_every_endpoint_has_a_line_and_every_line_has_an_endpoint(served: Served) -> None:
    present = endpoints(served.app)
    assert present - read_table().keys() == set(), "write what each caller gets there into the table"
    assert STATUSES.keys() - present == set(), "these lines are about endpoints that do not exist"


def test_every_line_has_a_status_for_each_caller() -> None:
    assert {endpoint: len(found) for endpoint, found in read_table().items() if len(found) != len(CALLERS)} == {}


def test_a_new_endpoint_is_noticed(served: Served) -> None:
    app = FastAPI()
    app.add_api_route("/new", lambda: None, methods=["PUT"])
    app.mount("/files", FastAPI())
    assert endpoints(app) - endpoints(served.app) >= {"PUT /new", "GET /files"}


@pytest.mark.long
def test_each_caller_gets_what_the_table_says(answers: Answers) -> None:
    found = {endpoint: tuple(answer.status_code for answer in each.values()) for endpoint, each in answers.items()}
    wrong = {endpoint: (got, STATUSES[endpoint]) for endpoint, got in found.items() if got != STATUSES[endpoint]}
    assert wrong == {}, f"what {', '.join(CALLERS)} got, and what the table says"


@pytest.mark.long
def test_no_answer_tells_a_stranger_of_the_closed_repository(answers: Answers) -> None:
    told = [
        (endpoint, caller, word)
        for endpoint, each in answers.items()
        for caller in ("neighbour", "no one")
        for word in HIDDEN
        if each[caller].is_success and word in each[caller].text.lower()  # an error names what was asked for
    ]
    assert told == []


@pytest.mark.long
def test_the_words_that_a_stranger_must_not_see_are_in_what_others_see(answers: Answers) -> None:
    seen = {endpoint: each["viewer"].text.lower() for endpoint, each in answers.items()}
    naming = {endpoint for endpoint, text in seen.items() if any(word in text for word in HIDDEN)}
    assert naming >= {f"GET /api/v1/{name}" for name in ("repositories", "changes", "history", "alerts", "metrics")}


def test_settings_belong_to_the_person_who_signed_in(served: Served) -> None:
    client, address = Client(served.app), "/api/v1/me/settings"
    for value in ("light", "dark"):
        client.ask("PUT", f"{address}/theme", headers=served.credentials["viewer"], json={"value": value})
    mine, theirs = (client.get(address, headers=served.credentials[who]).json() for who in ("viewer", "editor"))
    assert (mine["kept"], mine["values"]["theme"]) == (True, "dark")
    assert "theme" not in theirs["values"]


@pytest.mark.long
def test_a_refusal_says_what_to_do(answers: Answers) -> None:
    wrong = [
        (endpoint, caller, answer.text)
        for endpoint, each in answers.items()
        if endpoint.startswith(("GET /api", "POST /api"))
        for caller, answer in each.items()
        if answer.status_code in {401, 403}
        if answer.json().keys() != {"error", "where", "remedy", "request"}
        or not answer.json()["remedy"]
        or ("www-authenticate" in answer.headers) is not (answer.status_code == 401)
    ]
    assert wrong == []
