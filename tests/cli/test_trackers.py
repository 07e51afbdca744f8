"""``knick triage --create`` and ``knick tickets sync``, with a tracker on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.notify.conftest import Reply, serving
from tests.notify.github_server import GitHubServer
from tests.notify.tracker_server import TOKEN

from knickpoint.instance import Worker, open_instance

from .conftest import Knick, api


@pytest.fixture
def tracker(judged: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHubServer]:
    """Serve a tracker, and configure it as the channel ``code``."""
    monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
    with serving(GitHubServer()) as server:
        section = (
            f'\n[channels.code]\nkind = "github"\nserver = "{server.url}"\nproject = "ada/textmill"\n'
            'token = "${TRACKER_TOKEN}"\n'
        )
        with (judged / "knickpoint.toml").open("a", encoding="utf-8") as file:
            file.write(section)
        yield server


def first_change(knick: Knick) -> str:
    row = json.loads(knick("changes", "--format", "json").output)[0]
    return str(row["id"])


def test_a_decision_makes_its_ticket(knick: Knick, tracker: GitHubServer) -> None:
    ran = knick("triage", first_change(knick), "--as", "ticket", "--create", "code", "--format", "json")
    assert ran.code == 0, ran.errors
    (ticket,) = tracker.tickets.values()
    assert {row["ticket"] for row in json.loads(ran.output)} == {"ada/textmill#1"}
    assert "First failing revision" in ticket.body


def test_a_change_with_an_open_ticket_gets_no_second_one(knick: Knick, tracker: GitHubServer) -> None:
    change = first_change(knick)
    for _ in range(2):
        assert knick("triage", change, "--create", "code", "--all").code == 0
    assert len(tracker.tickets) == 1


def test_a_ticket_whose_answer_was_lost_is_found_again(knick: Knick, tracker: GitHubServer) -> None:
    change = first_change(knick)
    tracker.replies = [Reply(500, after=True)]
    assert knick("triage", change, "--create", "code").code != 0
    assert knick("triage", change, "--create", "code").code == 0
    assert len(tracker.tickets) == 1


def test_nothing_is_decided_where_the_tracker_refuses(knick: Knick, tracker: GitHubServer) -> None:
    change = first_change(knick)
    tracker.replies = [Reply(422, body=b'{"message": "Validation Failed"}')]
    ran = knick("triage", change, "--create", "code")
    assert "Validation Failed" in ran.errors
    assert first_change(knick) == change


@pytest.mark.usefixtures("tracker")
@pytest.mark.parametrize("options", [("--as", "hidden"), ("--ticket", "T-1"), ("--undo",)])
def test_only_the_decision_for_a_ticket_makes_one(knick: Knick, options: tuple[str, ...]) -> None:
    ran = knick("triage", "R1", "--create", "code", *options)
    assert "--create makes the ticket of a decision" in ran.errors


@pytest.mark.usefixtures("tracker")
def test_an_unknown_tracker_is_refused_with_the_known_ones(knick: Knick) -> None:
    assert "The trackers are: code." in knick("triage", first_change(knick), "--create", "jira").errors


def test_a_sync_brings_back_what_people_changed(judged: Path, knick: Knick, tracker: GitHubServer) -> None:
    knick("triage", first_change(knick), "--create", "code")
    tracker.touch(tracker.tickets[1], title="Sorting is slow", assignee="ada")
    assert knick("tickets", "sync").output == "code: 1 ticket changed.\n"
    (judged / "tickets.csv").write_text("name,commit\nPERF-1,73106d259b\n", encoding="utf-8")
    knick("tickets", "put", "tickets.csv")
    row, imported = listed = json.loads(knick("tickets", "list", "--format", "json").output)
    assert listed == api(judged, "tickets")
    assert (imported["name"], imported["title"]) == ("PERF-1", "")
    assert (row["name"], row["title"], row["assignee"], row["open"]) == (
        "ada/textmill#1",
        "Sorting is slow",
        "ada",
        True,
    )


def test_the_worker_syncs_too(judged: Path, knick: Knick, tracker: GitHubServer) -> None:
    knick("triage", first_change(knick), "--create", "code")
    tracker.touch(tracker.tickets[1], title="Sorting is slow")
    with open_instance(judged) as opened:
        Worker(opened).once(threading.Event())
        (ticket,) = opened.store.findings.tracker_tickets.all()
    assert ticket.title == "Sorting is slow"


def test_without_a_tracker_a_sync_says_what_to_do(knick: Knick, instance: Path) -> None:
    assert instance.is_dir()
    assert "Add [channels.NAME] to knickpoint.toml." in knick("tickets", "sync").errors


def test_a_ticket_of_a_tracker_is_not_removed_here(knick: Knick, tracker: GitHubServer) -> None:
    knick("triage", first_change(knick), "--create", "code")
    assert "is a ticket of the tracker 'code'" in knick("tickets", "remove", "ada/textmill#1").errors
    assert len(tracker.tickets) == 1


def test_what_people_do_with_tickets_is_in_the_audit_log(judged: Path, knick: Knick, tracker: GitHubServer) -> None:
    change = first_change(knick)
    knick("triage", change, "--create", "code")
    (judged / "tickets.csv").write_text("name,commit\nPERF-1,73106d259b\n", encoding="utf-8")
    knick("tickets", "put", "tickets.csv")
    knick("tickets", "remove", "PERF-1")
    rows = json.loads(knick("audit", "--kind", "tickets-changed", "--format", "json").output)
    assert sorted(row["about"] for row in rows) == [
        "imported 1 ticket",
        f"made ada/textmill#1 in code for {change}",
        "removed PERF-1",
    ]
    assert len(tracker.tickets) == 1
