"""``knick notify`` and what the doctor says of it, with a real mail server and a tracker on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.notify.conftest import Reply, serving
from tests.notify.github_server import GitHubServer
from tests.notify.mail_servers import MailBox, serving_mail
from tests.notify.tracker_server import TOKEN

from knickpoint.store import open_store
from knickpoint.store.tables import metadata

from .conftest import Knick

_CONFIG = """
[channels.team]
kind = "mail"
server = "smtp://127.0.0.1:{mail}"
sender = "knick@example.org"
to = ["perf@example.org"]

[channels.code]
kind = "github"
server = "{tracker}"
project = "ada/textmill"
token = "${{TRACKER_TOKEN}}"

[alerts.all]
method = "threshold"
settle_share = 0
settle_least = 3
settle_most = 3
notify = ["team", "code"]
"""

Measure = Callable[..., None]


@pytest.fixture
def mailbox() -> Iterator[MailBox]:
    with serving_mail() as box:
        yield box


@pytest.fixture
def tracker() -> Iterator[GitHubServer]:
    with serving(GitHubServer()) as server:
        yield server


@pytest.fixture
def measure(knick: Knick, instance: Path) -> Measure:
    """Return a function that imports commits with a value each, after those before, and runs the alerts."""
    taken: list[str] = []

    def take(count: int, value: float) -> None:
        for _ in range(count):
            number = len(taken)
            time = f"2026-01-{1 + number // 24:02}T{number % 24:02}:00:00Z"
            taken.append(f"{number + 1:040x},{time},sort,ms,{value + 0.01 * (number % 3)}")
        file = instance / f"{len(taken)}.csv"
        file.write_text("\n".join(["commit,time,benchmark,unit,value", *taken[-count:]]) + "\n", encoding="utf-8")
        assert knick("import", file).code == 0
        assert knick("run").code == 0

    return take


@pytest.fixture
def measured(
    instance: Path, measure: Measure, mailbox: MailBox, tracker: GitHubServer, monkeypatch: pytest.MonkeyPatch
) -> Measure:
    """Configure a mail channel and a tracker, and measure thirty commits that are history."""
    monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
    with (instance / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write(_CONFIG.format(mail=mailbox.port, tracker=tracker.url))
    measure(30, 10.0)
    return measure


def test_a_change_and_its_recovery_reach_mail_and_ticket_once(
    knick: Knick, measured: Measure, mailbox: MailBox, tracker: GitHubServer
) -> None:
    assert knick("notify").output.startswith("0 deliveries sent")
    measured(6, 15.0)
    ran = knick("notify")
    assert (ran.code, ran.output) == (0, "2 deliveries sent, 0 failed, 0 waiting.\n")
    (mail,) = mailbox.mails
    (ticket,) = tracker.tickets.values()
    assert mail["To"] == "perf@example.org"
    assert "sort" in str(mail["Subject"])
    assert f"{31:040x}" in ticket.body
    assert knick("notify").output.startswith("0 deliveries sent")

    # The level before the change is back: the same thread, and a comment on the same ticket.
    measured(6, 10.0)
    assert knick("notify").output.startswith("2 deliveries sent")
    _, recovery = mailbox.mails
    assert mail["References"]
    assert recovery["References"] == mail["References"]
    assert recovery["Message-ID"] != mail["Message-ID"]
    (comment,) = ticket.comments
    assert "fixed" in comment.lower()
    assert (len(tracker.tickets), ticket.open) == (1, True)


def test_a_dry_run_prints_what_would_go_to_whom_and_writes_nothing(
    knick: Knick, instance: Path, measured: Measure, mailbox: MailBox, tracker: GitHubServer
) -> None:
    def rows() -> dict[str, list[object]]:
        with open_store(instance / "knickpoint.db") as store, store.database.reading() as connection:
            tables = metadata.tables.values()
            return {table.name: [tuple(row) for row in connection.execute(select(table))] for table in tables}

    knick("notify")
    measured(6, 15.0)
    before = rows()
    printed = json.loads(knick("notify", "--dry-run", "--format", "json").output)
    assert [(row["channel"], row["recipient"], row["kind"]) for row in printed] == [
        ("team", "perf@example.org", "change"),
        ("code", "", "change"),
    ]
    assert rows() == before
    assert (mailbox.mails, tracker.tickets) == ([], {})


def test_a_delivery_that_fails_shows_in_the_exit_code_and_at_the_doctor(
    knick: Knick, measured: Measure, mailbox: MailBox, tracker: GitHubServer
) -> None:
    knick("notify")
    measured(6, 15.0)
    mailbox.refused = {"perf@example.org": "550 no such user"}
    tracker.replies = [Reply(422, body=b'{"message": "Validation Failed"}')]
    ran = knick("notify")
    assert (ran.code, ran.output.splitlines()[-1]) == (1, "0 deliveries sent, 2 failed, 0 waiting.")
    examined = knick("doctor")
    assert examined.code != 0
    for name, reason in (("team", "550 no such user"), ("code", "Validation Failed")):
        (line,) = [line for line in examined.output.splitlines() if f"channel {name}" in line]
        assert "1 delivery failed for good" in line
        assert reason in line


def test_what_waits_for_a_receiver_shows_in_the_exit_code(knick: Knick, measured: Measure, mailbox: MailBox) -> None:
    knick("notify")
    measured(6, 15.0)
    mailbox.refused = {"perf@example.org": "451 try again later"}
    ran = knick("notify")
    assert ran.code == 1
    assert "1 delivery sent, 0 failed, 1 waiting." in ran.output
    assert "451 try again later" in ran.output


@pytest.mark.usefixtures("instance")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "there is no channel"),
        (("--test", "team"), "there is no channel 'team'"),
        (("--dry-run", "--test", "team"), "exclude each other"),
    ],
)
def test_what_cannot_be_sent_at_all_is_an_error_of_the_command(
    knick: Knick, arguments: tuple[str, ...], reason: str
) -> None:
    ran = knick("notify", *arguments)
    assert ran.code == 2
    assert reason in ran.errors


def test_a_test_message_arrives(knick: Knick, measured: Measure, mailbox: MailBox) -> None:
    del measured
    assert knick("notify", "--test", "team").output == "The channel team took a test message to perf@example.org.\n"
    (mail,) = mailbox.mails
    assert "test of the channel team" in str(mail["Subject"])
