"""``knick notify`` and what the doctor says of it, with a real mail server, a webhook receiver and a tracker on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.notify.conftest import Receiver, Reply, serving
from tests.notify.github_server import GitHubServer
from tests.notify.mail_servers import MailBox, serving_mail
from tests.notify.tracker_server import TOKEN
from tests.repositories import GitRepository

from knickpoint.access.sessions import session_key
from knickpoint.access.settings import AccessSettings
from knickpoint.instance import open_instance
from knickpoint.instance.notifications import Notifications
from knickpoint.notify.links import LinkAction, LinkClaim, read_link
from knickpoint.store import open_store
from knickpoint.store.tables import metadata

from .conftest import Knick, api, change_points

_CONFIG = """
[channels.team]
kind = "mail"
server = "smtp://127.0.0.1:{mail}"
sender = "knick@example.org"
to = ["perf@example.org"]

[channels.hooks]
kind = "webhook"
url = "{hooks}/knick"
signing_secret = "${{HOOK_SECRET}}"

[channels.code]
kind = "github"
server = "{tracker}"
project = "ada/textmill"
token = "${{TRACKER_TOKEN}}"
close = true

[alerts.all]
method = "threshold"
settle_share = 0
settle_least = 3
settle_most = 3
notify = ["team", "hooks", "code"]
"""

_MAIL = """
[channels.team]
kind = "mail"
server = "smtp://127.0.0.1:{mail}"
sender = "knick@example.org"
to = ["perf@example.org"]
{setting}

[alerts.all]
method = "threshold"
settle_share = 0
settle_least = 3
settle_most = 3
notify = ["team"]
"""

_SETTINGS = """
[server]
address = "https://perf.example.org"

[notify]
digest = ["08:00"]
quiet = "22:00-09:00"
escalate_hours = 72
link_days = 3
"""

Measure = Callable[..., None]


class Clock:
    """A clock that a test sets to a time of day, in UTC, some days after its announcements."""

    def __init__(self) -> None:
        self.today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self.now = self.today

    def __call__(self) -> datetime:
        return self.now

    def set(self, day: int, hour: int, minute: int = 0) -> None:
        self.now = self.today + timedelta(days=day, hours=hour, minutes=minute)


@pytest.fixture
def mailbox() -> Iterator[MailBox]:
    with serving_mail() as box:
        yield box


@pytest.fixture
def tracker() -> Iterator[GitHubServer]:
    with serving(GitHubServer()) as server:
        yield server


@pytest.fixture
def hooks() -> Iterator[Receiver]:
    with serving(Receiver()) as receiver:
        yield receiver


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


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
    monkeypatch.setenv("HOOK_SECRET", "0123456789abcdef")


@pytest.fixture
def measured(instance: Path, measure: Measure, mailbox: MailBox, hooks: Receiver, tracker: GitHubServer) -> Measure:
    """Configure a mail channel, a webhook and a tracker, and measure thirty commits that are history."""
    with (instance / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write(_CONFIG.format(mail=mailbox.port, hooks=hooks.url, tracker=tracker.url))
    measure(30, 10.0)
    return measure


def test_a_change_its_recovery_and_its_coming_again_reach_mail_webhook_and_ticket_once(
    knick: Knick, measured: Measure, mailbox: MailBox, hooks: Receiver, tracker: GitHubServer
) -> None:
    assert knick("notify").output.startswith("0 deliveries sent")
    measured(6, 15.0)
    ran = knick("notify")
    assert (ran.code, ran.output) == (0, "3 deliveries sent, 0 failed, 0 waiting.\n")
    (mail,) = mailbox.mails
    (ticket,) = tracker.tickets.values()
    assert mail["To"] == "perf@example.org"
    assert "sort" in str(mail["Subject"])
    assert f"{31:040x}" in ticket.body
    assert ticket.open
    assert knick("notify").output.startswith("0 deliveries sent")

    # The level before the change is back: the same thread, and a comment on the same ticket, which it closes.
    measured(6, 10.0)
    assert knick("notify").output.startswith("3 deliveries sent")
    _, recovery = mailbox.mails
    assert mail["References"]
    assert recovery["References"] == mail["References"]
    (comment,) = ticket.comments
    assert "fixed" in comment.lower()
    assert (len(tracker.tickets), ticket.open) == (1, False)

    # It is worse again, which is a change of its own, with a thread and a ticket of its own.
    measured(6, 15.0)
    assert knick("notify").output.startswith("3 deliveries sent")
    assert knick("notify").output.startswith("0 deliveries sent")
    *_, again = mailbox.mails
    assert again["References"] != mail["References"]
    assert [each.open for each in tracker.tickets.values()] == [False, True]
    assert len(ticket.comments) == 1

    # The receiver of the webhook heard the same three, each under a key of its own.
    heard = [json.loads(request.body)["data"]["changes"][0]["announcements"][-1] for request in hooks.requests]
    assert heard == ["regressed", "fixed", "regressed"]
    assert len({request.headers["idempotency-key"] for request in hooks.requests}) == len(heard)
    assert len({each["Message-ID"] for each in mailbox.mails}) == len(heard)


@pytest.fixture
def scheduled(instance: Path, measured: Measure) -> Measure:
    """Configure digests, quiet hours and escalations to Eve, who owns the alert; it makes no tickets."""
    file = instance / "knickpoint.toml"
    text = file.read_text(encoding="utf-8")
    to = 'notify = ["team", "hooks", "code"]'
    file.write_text(text.replace(to, 'owners = ["eve@example.org"]\nnotify = ["team", "hooks"]') + _SETTINGS)
    return measured


@pytest.fixture
def send(knick: Knick, instance: Path, scheduled: Measure) -> Callable[[Clock], None]:
    """Return a function that plans and sends what is due at the time of a clock."""
    del scheduled
    assert knick("notify").code == 0

    def run(clock: Clock) -> None:
        with open_instance(instance) as opened:
            Notifications(opened, "test", clock=clock).drain()

    return run


def _links(text: str, words: str) -> list[LinkClaim]:
    key = session_key(Path.cwd(), AccessSettings())
    found = [read_link(each, key) for each in re.findall(rf"{words} +https://perf\.example\.org/link/(\S+)", text)]
    assert all(found)
    return [each for each in found if each]


def test_a_digest_waits_for_its_time_and_for_the_end_of_quiet_hours_and_has_only_what_is_new(
    scheduled: Measure, send: Callable[[Clock], None], mailbox: MailBox, hooks: Receiver
) -> None:
    clock = Clock()
    clock.set(1, 7, 30)
    scheduled(6, 15.0)
    send(clock)
    scheduled(6, 20.0)
    for hour, minute in ((7, 50), (8, 0), (8, 59)):
        clock.set(1, hour, minute)
        send(clock)
    assert mailbox.mails == []
    assert len(hooks.requests) == 2  # a program gets each change at once

    clock.set(1, 9)
    send(clock)
    (mail,) = mailbox.mails
    assert "2 performance changes" in str(mail["Subject"])

    # The next digest has what came since, and none that was sent.
    clock.set(1, 10)
    scheduled(8, 40.0)
    send(clock)
    clock.set(2, 9)
    send(clock)
    (body,) = [each.get_body(("plain",)) for each in mailbox.mails[1:]]
    assert body is not None
    assert body.get_content().startswith("1 performance change.")


def test_the_links_of_a_digest_are_signed_for_its_reader_and_expire_as_those_of_a_single_mail(
    scheduled: Measure, send: Callable[[Clock], None], mailbox: MailBox
) -> None:
    clock = Clock()
    clock.set(1, 7)
    scheduled(6, 15.0)
    scheduled(6, 20.0)
    send(clock)
    clock.set(1, 9)
    send(clock)
    (body,) = [each.get_body(("plain",)) for each in mailbox.mails]
    assert body is not None
    for words, action in (("noise:", LinkAction.NOISE), ("look into it:", LinkAction.TAKE)):
        links = _links(body.get_content(), words)
        assert len({each.change for each in links}) == 2
        assert {(each.action, each.address) for each in links} == {(action, "perf@example.org")}
        assert {each.expires for each in links} == {clock.now + timedelta(days=3)}


def test_what_no_person_took_goes_to_the_owner_once_and_after_quiet_hours(
    knick: Knick, scheduled: Measure, send: Callable[[Clock], None], mailbox: MailBox
) -> None:
    clock = Clock()
    clock.set(1, 12)
    scheduled(6, 15.0)
    send(clock)
    scheduled(6, 20.0)
    send(clock)
    taken, *_ = change_points(knick)
    assert knick("triage", taken["id"], "--assign", "ada").code == 0
    clock.set(2, 9)
    send(clock)
    mailbox.raw.clear()
    for hour in (1, 3, 8):
        clock.set(4, hour)
        send(clock)
    assert mailbox.mails == []
    for day in (4, 5, 6):
        clock.set(day, 9)
        send(clock)
    (mail,) = mailbox.mails
    assert mail["To"] == "eve@example.org"
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().startswith("No person has taken this change for")


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
        ("hooks", "", "change"),
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
    assert (ran.code, ran.output.splitlines()[-1]) == (1, "1 delivery sent, 2 failed, 0 waiting.")
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
    assert "2 deliveries sent, 0 failed, 1 waiting." in ran.output
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


def test_json_has_the_deliveries_of_the_api(knick: Knick, measured: Measure, instance: Path) -> None:
    knick("notify")
    measured(6, 15.0)
    knick("notify")
    found = json.loads(knick("deliveries", "list", "--change", "R1", "--format", "json").output)
    assert found == api(instance, "deliveries?change=R1")
    assert [(each["id"], each["changes"]) for each in found] == [("D3", ["R1"]), ("D2", ["R1"]), ("D1", ["R1"])]
    assert knick("deliveries", "list", "--change", "R99").code == 2


def test_a_test_message_arrives(knick: Knick, measured: Measure, mailbox: MailBox) -> None:
    del measured
    assert knick("notify", "--test", "team").output == "The channel team took a test message to perf@example.org.\n"
    (mail,) = mailbox.mails
    assert "test of the channel team" in str(mail["Subject"])


def test_a_channel_that_no_alert_names_is_pointed_out(knick: Knick, instance: Path) -> None:
    with (instance / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write('\n[channels.room]\nkind = "webhook"\nurl = "http://127.0.0.1:9/x"\nsigning_secret = "a secret"\n')
    assert 'No alert sends to room: add notify = ["room"] to an alert' in knick("notify", "--dry-run").output
    (row,) = (row for row in json.loads(knick("doctor", "--format", "json").output) if row["about"] == "channel room")
    assert (row["observed"], row["remedy"]) == ("no alert sends to it", 'Name it in an alert: notify = ["room"].')
    with (instance / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write('\n[alerts.all]\nnotify = ["room"]\n')
    assert "No alert sends" not in knick("notify", "--dry-run").output
    assert "channel room" not in knick("doctor").output


@pytest.mark.parametrize(
    ("setting", "written_to"),
    [
        ("", {"perf@example.org"}),
        ('domains = ["project.example"]', {"perf@example.org", "dev8@project.example"}),
        ("authors = true", {"perf@example.org", "dev8@project.example"}),
    ],
)
def test_no_mail_goes_to_authors_of_an_imported_public_history(
    knick: Knick, instance: Path, mailbox: MailBox, setting: str, written_to: set[str]
) -> None:
    repository = GitRepository.make(instance / "public")
    hashes = []
    for number in range(37):
        author = f"Dev {number % 11} <dev{number % 11}@project.example>"
        repository.git("commit", "--quiet", "--allow-empty", "--author", author, "-m", "Change the parser")
        hashes.append(repository.git("rev-parse", "HEAD"))
    with (instance / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write('\n[repositories.public]\nlocation = "public"\n')
        file.write(_MAIL.format(mail=mailbox.port, setting=setting))

    def measure(first: int, last: int) -> None:
        rows = [
            f"{hashes[each]},sort,ms,{(15.0 if each >= 30 else 10.0) + 0.01 * (each % 3)}"
            for each in range(first, last)
        ]
        (instance / "results.csv").write_text(
            "\n".join(["commit,benchmark,unit,value", *rows]) + "\n", encoding="utf-8"
        )
        assert knick("import", instance / "results.csv", "--repository", "public").code == 0
        assert knick("run").code == 0

    measure(0, 30)
    assert knick("notify").code == 0
    measure(30, 37)
    planned = json.loads(knick("notify", "--dry-run", "--format", "json").output)
    assert {row["recipient"] for row in planned} == written_to
