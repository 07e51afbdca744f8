"""An alert that fails is one message to its owners, and one more when it works again, by a real mail server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.notify.mail_servers import MailBox, serving_mail

from knickpoint.instance import CONFIG_FILE, Instance, create_instance, open_instance
from knickpoint.instance.notifications import Notifications
from knickpoint.model.notification import DeliveryState, NotificationKind
from knickpoint.notify.planner import newest_failure
from knickpoint.store.findings.alert_definitions import AlertRun


@pytest.fixture
def box() -> Iterator[MailBox]:
    with serving_mail() as found:
        yield found


@pytest.fixture
def instance(tmp_path: Path, box: MailBox) -> Iterator[Instance]:
    create_instance(tmp_path).close()
    with (tmp_path / CONFIG_FILE).open("a", encoding="utf-8") as file:
        file.write(
            f'\n[channels.mails]\nkind = "mail"\nserver = "smtp://127.0.0.1:{box.port}"\nsender = "knick@example.org"\n'
            'to = ["list@example.org"]\n[people.ann]\nmail = "ann@example.org"\n'
            '[alerts.owned]\nmethod = "threshold"\nnotify = ["mails"]\nowners = ["ann"]\n'
            '[alerts.listed]\nmethod = "threshold"\nnotify = ["mails"]\n'
        )
    with open_instance(tmp_path) as opened:
        opened.store.notifications.switch(on=True)
        yield opened


def ran(instance: Instance, alert: str, *reasons: str, repository: int = 1) -> None:
    """Record runs of an alert, each with the reason of its failure, "" without one."""
    for reason in reasons:
        run = AlertRun(alert, datetime.now(UTC), 0.1, True, 1, 0, 0, 0, failure=reason, repository_id=repository)
        instance.store.findings.alert_runs.record([run])


def step(instance: Instance) -> None:
    """Plan and send as a process that begins now does."""
    Notifications(instance, "test").drain()


def test_an_alert_that_fails_twice_is_one_mail_to_its_owner_however_often_it_fails(
    instance: Instance, box: MailBox
) -> None:
    ran(instance, "owned", "the method raised")
    step(instance)
    assert box.recipients == []
    for _ in range(3):
        ran(instance, "owned", "the method raised")
        step(instance)
    assert box.recipients == ["ann@example.org"]
    assert b"The alert owned fails" in box.raw[0]
    assert b"the method raised" in box.raw[0]


def test_one_mail_in_the_same_thread_says_that_it_works_again(instance: Instance, box: MailBox) -> None:
    ran(instance, "owned", "broken", "broken")
    step(instance)
    ran(instance, "owned", "")
    step(instance)
    step(instance)
    first, second = (next(line for line in raw.splitlines() if line.startswith(b"References")) for raw in box.raw)
    assert b"works again" in box.raw[1]
    assert first == second


def test_without_owners_the_recipients_of_its_channels_hear_of_it(instance: Instance, box: MailBox) -> None:
    ran(instance, "listed", "broken", "broken")
    step(instance)
    assert box.recipients == ["list@example.org"]


def test_a_failure_that_comes_again_is_a_problem_of_its_own(instance: Instance, box: MailBox) -> None:
    for _ in range(2):
        ran(instance, "owned", "broken", "broken")
        step(instance)
        ran(instance, "owned", "")
        step(instance)
    assert len(box.raw) == 4


def test_a_problem_that_is_over_before_it_was_sent_is_not_mentioned(instance: Instance, box: MailBox) -> None:
    ran(instance, "owned", "broken", "broken")
    Notifications(instance, "one").plan()
    ran(instance, "owned", "")
    step(instance)
    assert box.raw == []
    assert {state for _, state in instance.store.notifications.counts()} == {DeliveryState.DROPPED}


def test_two_planners_and_one_that_died_open_a_problem_once(instance: Instance) -> None:
    ran(instance, "owned", "broken", "broken")
    planners = [Notifications(instance, name) for name in ("one", "two")]
    assert [each.plan() for each in planners] == [1, 0]
    ran(instance, "listed", "broken", "broken")
    with suppress(KeyboardInterrupt), instance.store.transaction():
        assert planners[0].plan() == 1
        raise KeyboardInterrupt
    assert list(instance.store.problems.open()) == ["owned"]
    assert [Notifications(instance, "next").plan() for _ in range(2)] == [1, 0]


def test_a_dry_run_shows_the_problem_and_writes_nothing(instance: Instance) -> None:
    ran(instance, "owned", "broken", "broken")
    (planned,) = Notifications(instance, "test").preview()
    assert planned.kind is NotificationKind.PROBLEM
    assert instance.store.problems.open() == {}


def test_runs_over_another_repository_do_not_end_a_failure() -> None:
    def run(repository: int, failure: str) -> AlertRun:
        return AlertRun("a", datetime.now(UTC), 0.1, True, 1, 0, 0, 0, failure=failure, repository_id=repository)

    newest_first = [run(2, ""), run(1, "broken"), run(2, ""), run(1, "broken"), run(1, "")]
    assert newest_failure(newest_first, in_a_row=2) == "broken"
    assert newest_failure(newest_first, in_a_row=3) == ""
