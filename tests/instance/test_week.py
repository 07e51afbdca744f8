"""A week passes in seconds: schedules, digests, leases, expiry and retention follow the clock."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.instance.disturbance import live, results, values
from tests.instance.moved_clock import MovedClock
from tests.instance.test_worker import Clock, pending
from tests.notify.mail_servers import MailBox, serving_mail

from knickpoint.access.tokens import create_token, verify_token
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, open_instance
from knickpoint.model.access import Permission
from knickpoint.model.errors import KnickpointError
from knickpoint.store import EventKind

_BEGIN = datetime(2026, 3, 2, 6, 30, tzinfo=UTC)
_STEPS = 7 * 12
_CHANGE = 45
_CONFIGURATION = """
[ingest.sources.here]
location = "results"
repository = "main"
[worker]
every_seconds = 21600
lease_seconds = 7200
[retention]
values_commits = 60
every_hours = 24
[access]
audit_days = 3
[notify]
digest = ["08:00", "16:00"]
quiet = "22:00-07:00"
[channels.mails]
kind = "mail"
server = "smtp://127.0.0.1:{port}"
sender = "knick@example.org"
to = ["list@example.org"]
[alerts.all]
notify = ["mails"]
"""


@pytest.fixture
def box() -> Iterator[MailBox]:
    with serving_mail() as made:
        yield made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    moved = MovedClock(_BEGIN)
    moved.install(monkeypatch)
    return moved


@pytest.fixture
def instance(tmp_path: Path, box: MailBox) -> Iterator[Instance]:
    create_instance(tmp_path, repositories={"main": ""}, as_work=True).close()
    with (tmp_path / CONFIG_FILE).open("a", encoding="utf-8") as config:
        config.write(_CONFIGURATION.format(port=box.port))
    (tmp_path / "results").mkdir()
    with open_instance(tmp_path) as opened:
        yield opened


class Week:
    """A worker that works each second hour of a week, or less often, while a file arrives each time."""

    def __init__(self, instance: Instance, clock: MovedClock, box: MailBox) -> None:
        self.instance, self.clock, self.box = instance, clock, box
        self.mailed: list[int] = []
        self._worker = Worker(instance, clock=clock, name="w")
        self._steps = iter(range(_STEPS))

    def go_on(self, steps: int = _STEPS, hours: float = 2) -> None:
        """Let time pass; the hours of mails are kept."""
        for number, _ in zip(self._steps, range(steps), strict=False):
            file = self.instance.directory / "results" / f"{number}.json"
            file.write_bytes(results(number - _CHANGE + 20))
            os.utime(file, (self.clock.now.timestamp() - 3600,) * 2)
            before = len(self.box.mails)
            self._worker.once()
            self.mailed += [self.clock.now.hour] * (len(self.box.mails) - before)
            self.clock.advance(hours)

    def count(self, what: str) -> int:
        with self.instance.store.database.reading() as connection:
            return int(connection.execute(text(f"SELECT count(*) FROM {what}")).scalar_one())


@pytest.fixture
def week(instance: Instance, clock: MovedClock, box: MailBox) -> Week:
    return Week(instance, clock, box)


@pytest.mark.long
def test_a_week_runs_by_schedule_mails_by_day_and_forgets_what_is_old(week: Week) -> None:
    week.go_on()
    assert week.count("alert_run") == _STEPS + _STEPS // 3  # what changed, and everything each six hours
    assert [trace for trace, _ in live(week.instance)] == [f",benchmark={name},unit=ms," for name in "abc"]
    assert len(week.mailed) == 1
    assert week.mailed[0] in (8, 16)
    rows = values(week.instance)
    assert [math.isnan(row[0]) for row in rows] == [True] * 6
    assert not any(math.isnan(value) for row in rows for value in row[-60:])


def test_what_expires_is_good_until_then(week: Week) -> None:
    store = week.instance.store
    secret = create_token(store, "ci", [Permission.UPLOAD], by="ada", expires=_BEGIN + timedelta(days=3)).secret
    store.sessions.end("one", _BEGIN + timedelta(days=2))
    store.workers.report("dead", started=_BEGIN.timestamp())
    week.go_on(2, hours=11)
    assert verify_token(store, secret).name == "token:ci"
    assert (store.sessions.ended("one"), [each.name for each in store.workers.all()]) == (True, ["dead"])
    week.go_on(6, hours=8)
    assert verify_token(store, secret).name == "token:ci"
    assert (store.sessions.ended("one"), store.workers.all()) == (False, [])
    kept = week.count("audit_entry WHERE about LIKE 'token ci:%'")
    week.go_on(2, hours=10)
    with pytest.raises(KnickpointError):
        verify_token(store, secret)
    assert (kept, week.count("audit_entry WHERE about LIKE 'token ci:%'")) == (1, 0)


def test_events_of_a_worker_that_died_are_judged_after_their_lease(week: Week) -> None:
    week.go_on(5)
    import_data(week.instance, results(-100), source="upload:late", stated=Sidecar(repository="main"))
    assert len(week.instance.store.outbox.claim([EventKind.TRACES_CHANGED], "dead", 3 * 3600, 10)) == 1
    waiting = []
    for _ in range(3):
        week.go_on(1)
        waiting.append(pending(week.instance).get(EventKind.TRACES_CHANGED, 0))
    assert waiting == [1, 1, 0]


@pytest.mark.long
def test_workers_whose_clocks_differ_by_more_than_a_lease_find_the_same_once(
    instance: Instance, clock: MovedClock, tmp_path: Path
) -> None:
    workers = [(Worker(instance, clock=clock, name=name), hours) for name, hours in (("late", -5.0), ("early", 5.0))]
    for number in range(40):
        import_data(instance, results(number), source=f"upload:{number}", stated=Sidecar(repository="main"))
        (claimed,) = instance.store.outbox.claim([EventKind.TRACES_CHANGED], "slow", 7200, 10)
        for worker, hours in workers:
            clock.advance(hours)
            worker.step()
            clock.advance(-hours)
        instance.store.outbox.done(claimed)  # the slow one comes to its end after another one took over
    with create_instance(tmp_path / "calm", repositories={"main": ""}, as_work=True) as calm:
        for number in range(40):
            import_data(calm, results(number), source=f"upload:{number}", stated=Sidecar(repository="main"))
        Worker(calm, clock=Clock()).step()
        assert (values(instance), live(instance)) == (values(calm), live(calm))
        assert len(live(instance)) == 3
    assert EventKind.TRACES_CHANGED not in pending(instance)
