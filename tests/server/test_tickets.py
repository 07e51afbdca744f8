"""Tickets of traces, and decisions that make one in a tracker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.notify.conftest import Reply, serving
from tests.notify.github_server import GitHubServer
from tests.notify.tracker_server import TOKEN
from tests.server.client import Client
from tests.server.story import FASTER, SLOWER

from knickpoint.instance import Instance
from knickpoint.model.notification import FixVerdict, TrackerTicket
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.server import create_app
from knickpoint.store.findings.tickets import Ticket


@pytest.fixture
def tracker() -> Iterator[GitHubServer]:
    with serving(GitHubServer()) as server:
        yield server


@pytest.fixture
def tracked(instance: Instance, tracker: GitHubServer) -> Client:
    """Return a client of an instance with the tracker ``code``."""
    channel = ChannelSettings("code", ChannelKind.GITHUB, server=tracker.url, token=TOKEN, project="ada/textmill")
    config = replace(instance.config, channels={"code": channel})
    return Client(create_app(replace(instance, config=config)))


def put(instance: Instance, name: str, query: str, position: int, url: str = "") -> None:
    (repository,) = instance.store.commits.repositories()
    slot = instance.store.commits.line(repository).slots[position]
    instance.store.findings.tickets.put(repository, [Ticket(name, query, slot, url)])


def trace_id(client: Client, benchmark: str) -> int:
    (trace,) = client.get("/api/v1/traces", params={"query": f"benchmark={benchmark}"}).json()["traces"]
    return int(trace["id"])


def marks(client: Client, *traces: int) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/ticket-marks", params={"traces": ",".join(map(str, traces))})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def test_a_ticket_is_listed_also_where_no_change_is(instance: Instance, client: Client) -> None:
    put(instance, "PERF-1", "benchmark=idle", 10, "https://t.example/1")
    (mark,) = marks(client, trace_id(client, "idle"))
    assert (mark["name"], mark["position"], mark["url"]) == ("PERF-1", 10, "https://t.example/1")


def test_a_ticket_names_those_of_the_traces_that_it_is_about(instance: Instance, client: Client) -> None:
    put(instance, "PERF-1", "benchmark=parse", SLOWER)
    parse, load = trace_id(client, "parse"), trace_id(client, "load")
    (mark,) = marks(client, load, parse)
    assert mark["traces"] == [parse]
    assert marks(client, load) == []


def test_a_ticket_of_a_tracker_has_what_came_back_from_there(instance: Instance, client: Client) -> None:
    put(instance, "a/b#1", "benchmark=parse", SLOWER)
    (repository,) = instance.store.commits.repositories()
    line = instance.store.commits.line(repository)
    (fix,) = instance.store.commits.get(repository, [line.slots[FASTER]])
    url = "https://t.example/1"
    ticket = TrackerTicket("code", "a/b#1", url, "Slow", open=False, assignee="ada", fixed=fix.commit.hash)
    instance.store.findings.tracker_tickets.put(replace(ticket, verdict=FixVerdict.NOT_FIXED))
    (mark,) = marks(client, trace_id(client, "parse"))
    assert mark | {"position": SLOWER, "fixed_position": FASTER, "verdict": "not-fixed", "open": False} == mark
    assert (mark["title"], mark["assignee"], mark["url"]) == ("Slow", "ada", url)


def test_the_trackers_are_listed_without_their_secrets(tracked: Client) -> None:
    answer = tracked.get("/api/v1/trackers")
    assert answer.json() == [{"name": "code", "kind": "github", "project": "ada/textmill"}]


def first_finding(client: Client) -> str:
    return str(client.get("/api/v1/changes").json()["changes"][0]["members"][0]["id"])


def decide(client: Client, **more: object) -> tuple[int, dict[str, Any]]:
    answer = client.post("/api/v1/triage", json={"ids": [first_finding(client)], "create": "code", **more})
    found: dict[str, Any] = answer.json()
    return answer.status_code, found


def test_a_decision_makes_its_ticket_and_links_it(instance: Instance, tracked: Client, tracker: GitHubServer) -> None:
    finding = first_finding(tracked)
    assert decide(tracked)[0] == 200
    (point,) = instance.store.findings.points([int(finding.removeprefix("P"))])
    assert (point.status.value, point.ticket) == ("ticket", "ada/textmill#1")
    assert len(tracker.tickets) == 1


def test_nothing_is_decided_where_the_tracker_refuses(
    instance: Instance, tracked: Client, tracker: GitHubServer
) -> None:
    finding = first_finding(tracked)
    tracker.replies = [Reply(422, body=b'{"message": "Validation Failed"}')]
    status, answer = decide(tracked)
    assert status == 503
    assert "Validation Failed" in str(answer)
    (point,) = instance.store.findings.points([int(finding.removeprefix("P"))])
    assert point.status.value == "new"


@pytest.mark.parametrize("more", [{"status": "hidden"}, {"ticket": "T-1"}, {"create": "another"}])
def test_another_decision_makes_no_ticket(tracked: Client, tracker: GitHubServer, more: dict[str, str]) -> None:
    assert decide(tracked, **more)[0] in {400, 422}
    assert tracker.tickets == {}
