from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from tests.server.client import Client
from tests.server.story import REPOSITORY

from knickpoint.access.local_user import local_caller
from knickpoint.answers.health import read_health
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import CONFIG_FILE, Instance, open_instance
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.instance.worker.heartbeat import Heartbeat
from knickpoint.model.bisection import ProbeOutcome, ProbePurpose, ProbeResult, Target
from knickpoint.model.errors import StoreError
from knickpoint.model.notification import NotificationKind, PlannedDelivery, Purpose, Recipient
from knickpoint.model.service_part import ALL_PARTS, ServicePart
from knickpoint.server import create_app
from knickpoint.store.bisections.records import BisectionRequest
from knickpoint.store.events import EventKind, FindingsDecided, TracesChanged


@pytest.fixture
def judged(instance: Instance) -> Instance:
    """Return an instance whose results wait for nothing, however long ago the run of the tests made them."""
    for event in instance.store.outbox.claim([EventKind.TRACES_CHANGED], "worker", 60, 10):
        instance.store.outbox.done(event)
    return instance


@pytest.fixture
def sick(instance: Instance) -> Iterator[Instance]:
    """Return an instance with one alert that cannot run."""
    path = instance.directory / CONFIG_FILE
    broken = '\n[alerts.sick]\nmethod = "magic"\n[alerts.well]\n'
    path.write_text(path.read_text(encoding="utf-8") + broken, encoding="utf-8")
    with open_instance(instance.directory) as opened:
        yield opened


def test_an_alert_that_cannot_run_troubles_the_instance(sick: Instance) -> None:
    health = Client(create_app(sick)).get("/api/v1/health").json()
    assert health["status"] == "troubled"
    assert health["troubles"][0].startswith("alert sick: there is no method 'magic'")


def test_alerts_are_listed_with_why_one_cannot_run(sick: Instance) -> None:
    alerts = {each["name"]: each for each in Client(create_app(sick)).get("/api/v1/alerts").json()}
    assert "magic" in alerts["sick"]["failure"]
    assert (alerts["well"]["failure"], alerts["well"]["last_run"]) == ("", None)


def test_the_last_run_of_an_alert_is_shown(reader: Client) -> None:
    (each,) = reader.get("/api/v1/alerts").json()
    assert each["name"] == "default"
    assert datetime.fromisoformat(each["last_run"]).tzinfo is not None
    assert each["traces"] > 0


def test_findings_that_would_turn_are_a_notice_until_that_is_accepted(instance: Instance) -> None:
    path = instance.directory / CONFIG_FILE
    rule = '\n[directions.all]\nquery = "benchmark=*"\nbetter = "higher"\n'
    path.write_text(path.read_text(encoding="utf-8") + rule, encoding="utf-8")
    with open_instance(instance.directory) as opened:
        client = Client(create_app(opened))

        def notices() -> list[dict[str, str]]:
            return [each for each in client.get("/api/v1/notices").json() if each["kind"] == "direction"]

        (notice,) = notices()
        assert (notice["repository"], notice["commit"]) == (REPOSITORY, "")
        assert "would turn, because another direction is better now, as in ,benchmark=" in notice["text"]
        assert notice["text"].endswith("judged by lower, now higher; knick run --turn-findings accepts")
        run_alert_round(opened, turn=True)
        assert notices() == []


def test_a_worker_that_fails_or_is_lost_is_shown(judged: Instance) -> None:
    judged.store.workers.report("one", started=1e9, failures=3, reason="the disk is full")
    judged.store.workers.report("two", started=1e9)
    visible = VisibleRepositories(judged.store, local_caller())
    assert read_health(judged, visible).troubles == ["worker one fails: the disk is full"]
    later = read_health(judged, visible, datetime.now(UTC) + timedelta(hours=1))
    assert [each.state for each in later.workers] == ["failing", "lost"]
    assert "worker two has not been seen since" in later.troubles[1]


def test_a_part_that_no_process_runs_is_shown_while_others_are_at_work(judged: Instance) -> None:
    visible = VisibleRepositories(judged.store, local_caller())
    judged.store.workers.report("one", started=1e9, parts=[ServicePart.INGEST])
    health = read_health(judged, visible)
    assert health.troubles == ["no process runs the part worker: knick serve --only worker does"]
    assert [each.parts for each in health.workers] == [[ServicePart.INGEST]]
    judged.store.workers.report("two", started=1e9, parts=[ServicePart.WORKER])
    assert read_health(judged, visible).troubles == []


def test_a_server_is_not_ready_after_a_newer_version_has_migrated_its_store(instance: Instance) -> None:
    client = Client(create_app(instance))
    with instance.store.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    answer = client.get("/api/v1/ready")
    assert (answer.status_code, "has schema 9999" in answer.json()["error"]) == (503, True)


def test_metrics_name_what_monitoring_asks_for(sick: Instance) -> None:
    sick.store.workers.report("one", started=1e9, failures=2, reason="no")
    answer = Client(create_app(sick)).get("/api/v1/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["knickpoint_alert_up", "sick"] == 0
    assert samples["knickpoint_alert_up", "well"] == 1
    assert samples["knickpoint_worker_failures",] == 2
    assert samples["knickpoint_workers", "failing"] == 1
    assert samples["knickpoint_events_failed",] == 0
    assert ("knickpoint_changes_unprocessed", REPOSITORY) in samples


def test_what_programs_may_read_of_findings_does_not_count_as_waiting(instance: Instance) -> None:
    instance.store.outbox.publish(FindingsDecided("main", decided=0, changes=()))
    client = Client(create_app(instance))
    assert client.get("/api/v1/status").json()["events"] == []
    assert not re.search(r"^knickpoint_events_(waiting|oldest)", client.get("/api/v1/metrics").text, re.MULTILINE)


def test_results_that_wait_without_a_worker_trouble_the_instance(instance: Instance) -> None:
    visible = VisibleRepositories(instance.store, local_caller())
    instance.store.outbox.publish(TracesChanged("main", slots=(), runs=(), traces={"count": 0}))
    assert read_health(instance, visible).troubles == []
    later = datetime.now(UTC) + timedelta(minutes=11)
    (trouble,) = read_health(instance, visible, later).troubles
    assert "and no process runs them: knick serve --only worker does" in trouble
    instance.store.workers.report("one", started=1e9)
    assert read_health(instance, visible).troubles == []


@pytest.mark.parametrize("parts", [ALL_PARTS, {ServicePart.WORKER}])
def test_prometheus_finds_the_metrics_where_it_asks_by_default(
    instance: Instance, parts: Collection[ServicePart]
) -> None:
    usual, api = (Client(create_app(instance, parts=parts)).get(path) for path in ("/metrics", "/api/v1/metrics"))
    assert (usual.status_code, usual.headers["cache-control"]) == (200, "no-store")
    names = [set(re.findall(r"^# TYPE (\S+)", answer.text, re.MULTILINE)) for answer in (usual, api)]
    assert "knickpoint_store_bytes" in names[0] <= names[1]


def test_the_usual_address_of_metrics_needs_the_same_permission(instance: Instance) -> None:
    visitor = Client(create_app(instance, open_port=True), peer="203.0.113.7")
    assert [visitor.get(path).status_code for path in ("/metrics", "/api/v1/metrics")] == [401, 401]


def test_metrics_count_the_workers_of_each_part_where_none_is_left_too(instance: Instance) -> None:
    client = Client(create_app(instance))
    parts = ('knickpoint_part_workers{part="worker"}', 'knickpoint_part_workers{part="ingest"}')
    assert all(f"{each} 0.0" in client.get("/api/v1/metrics").text for each in parts)
    instance.store.workers.report("one", started=1e9, parts=[ServicePart.INGEST])
    found = client.get("/api/v1/metrics").text
    assert [f"{each} 1.0" in found for each in parts] == [False, True]


def test_metrics_count_messages_by_channel_searches_by_state_and_probes_by_device(instance: Instance) -> None:
    store, now = instance.store, datetime.now(UTC)
    planned = PlannedDelivery("a", NotificationKind.PROBLEM, Purpose.CHANGE, Recipient("team"), (), "t", now)
    store.notifications.add([planned], now)
    repository = store.commits.repository(REPOSITORY)
    slots = tuple(store.commits.line(repository).slots[:3])
    asked = store.bisections.ask(BisectionRequest(repository.id, "main", slots, "quick", "d", "ann", now))
    store.bisections.claim("worker", now, 300.0)
    journal = store.bisections.journal(asked.id, "worker")
    journal.begin("probe-1", place=1, device="board-1", purpose=ProbePurpose.SEARCH, target=Target("11" * 20))
    journal.record(ProbeResult("probe-1", Target("11" * 20), "board-1", ProbeOutcome.MEASURED, now, 12.5))
    found = Client(create_app(instance)).get("/api/v1/metrics").text
    for line in (
        'knickpoint_deliveries{channel="team",state="waiting"} 1.0',
        f'knickpoint_bisections{{repository="{REPOSITORY}",state="running"}} 1.0',
        f'knickpoint_bisections{{repository="{REPOSITORY}",state="culprit"}} 0.0',
        'knickpoint_device_probes{device="board-1"} 1.0',
        'knickpoint_device_probes_lost{device="board-1"} 0.0',
    ):
        assert line in found


def test_metrics_have_the_machine_of_the_process(instance: Instance) -> None:
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(Client(create_app(instance)).get("/api/v1/metrics").text)
        for sample in family.samples
        if sample.name.startswith("knickpoint_host")
    }
    assert samples["knickpoint_host_processors",] == os.cpu_count()
    assert samples["knickpoint_host_load",] >= 0
    assert samples["knickpoint_host_disk_bytes", "total"] == shutil.disk_usage(instance.directory).total
    assert 0 < samples["knickpoint_host_memory_bytes", "available"] <= samples["knickpoint_host_memory_bytes", "total"]


def test_a_server_that_cannot_read_its_store_is_not_ready_and_still_says_its_version(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(create_app(instance))
    assert client.get("/api/v1/ready").json() == {"ready": True, "parts": ["api", "worker", "ingest"]}

    def gone() -> None:
        raise StoreError("the database does not answer")

    monkeypatch.setattr(instance.store.commits, "repositories", gone)
    assert client.get("/api/v1/ready").status_code == 503
    assert client.get("/api/v1/version").status_code == 200


def test_what_is_to_be_noticed_is_listed(instance: Instance) -> None:
    path = instance.directory / CONFIG_FILE
    canaries = '\n[canaries.all]\nquery = ""\n'
    path.write_text(path.read_text(encoding="utf-8") + canaries, encoding="utf-8")
    with open_instance(instance.directory) as opened:
        notices = Client(create_app(opened)).get("/api/v1/notices").json()
    assert {each["canary"] for each in notices if each["kind"] == "canary"} == {"all"}
    assert all(each["text"] and each["trace"] for each in notices)


def test_a_worker_that_is_slowed_down_is_shown_and_is_no_trouble(instance: Instance) -> None:
    clock = iter([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    heartbeat = Heartbeat(instance.store, "one", lambda: next(clock))
    client = Client(create_app(instance))

    def seen() -> tuple[str, str, str, bool]:
        health = client.get("/api/v1/health").json()
        (worker,) = client.get("/api/v1/status").json()["workers"]
        slowed = "knickpoint_workers_slowed 1.0" in client.get("/api/v1/metrics").text
        return health["status"], worker["state"], worker["slowed"], slowed

    heartbeat.beat({})
    assert seen() == ("ok", "working", "", False)
    heartbeat.beat({}, "there is no store here")
    assert seen() == ("ok", "working", "there is no store here", True)
    heartbeat.beat({})
    assert seen() == ("ok", "working", "", False)


def test_a_failure_that_is_over_keeps_its_reason_and_slows_nothing_down(instance: Instance) -> None:
    instance.store.workers.report("one", started=1e9, failures=1, reason="the disk is full")
    instance.store.workers.report("one", started=1e9)
    (worker,) = instance.store.workers.all()
    assert (worker.failures, worker.reason, worker.slowed) == (0, "the disk is full", "")
