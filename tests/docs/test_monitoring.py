"""The rules and the dashboard of monitoring ask for metrics that a server has."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from tests.repositories import GitRepository
from tests.server.client import Client
from tests.server.story import REPOSITORY, make_instance

from knickpoint.instance import CONFIG_FILE, open_instance
from knickpoint.model.notification import NotificationKind, PlannedDelivery, Purpose, Recipient
from knickpoint.server import create_app
from knickpoint.store.events import TracesChanged

_MONITORING = Path(__file__).parents[2] / "monitoring"
_NAME = re.compile(r"\b(?:knickpoint|process)_[a-z_]+")


_SCHEDULE = f"""
[bisect.quick]
repository = "{REPOSITORY}"
measure = ["true"]
results = ["out.json"]

[schedule.nightly]
recipe = "quick"
"""


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of the metrics of an instance with a schedule, in which events and messages wait, and a request was limited."""
    directory = tmp_path_factory.mktemp("monitoring") / "instance"
    make_instance(directory)
    GitRepository.make(directory.parent / "engine").commit()
    section = f'[repositories."{REPOSITORY}"]\n'
    written = (
        (directory / CONFIG_FILE).read_text(encoding="utf-8").replace(section, f'{section}location = "../engine"\n')
    )
    (directory / CONFIG_FILE).write_text(written + _SCHEDULE, encoding="utf-8")
    with open_instance(directory) as instance:
        instance.store.workers.report("one", started=1e9)
        now, recipient = datetime.now(UTC), Recipient("sheriffs", "")
        planned = PlannedDelivery("one", NotificationKind.PROBLEM, Purpose.CHANGE, recipient, (), "thread", now)
        instance.store.notifications.add([planned], now)
        instance.store.outbox.publish(TracesChanged("main", slots=(1,), runs=(1,), traces={"count": 0}))
        app = create_app(instance)
        app.state.request_metrics.count_limited("rate")
        app.state.process_metrics.work.detected("default", 0.1, 1)
        client = Client(app)
        client.get("/api/v1/version")
        text = client.get("/api/v1/metrics").text
    return {line.split("{")[0].split(" ")[0] for line in text.splitlines() if not line.startswith("#")}


def expressions() -> list[str]:
    rules = yaml.safe_load((_MONITORING / "alerts.yml").read_text(encoding="utf-8"))
    panels = json.loads((_MONITORING / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]] + [
        target["expr"] for panel in panels for target in panel["targets"]
    ]


def test_every_metric_of_rules_and_dashboard_exists(metrics: set[str]) -> None:
    assert {name for each in expressions() for name in _NAME.findall(each)} - metrics == set()


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads((_MONITORING / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)


_OF_THE_STORE = re.compile(
    r"\bknickpoint_(?:changes|events|files|alert|workers?|part|store|traces|commits|deliver|bisections|schedule|device)_?[a-z_]*"
)


def test_what_all_processes_say_of_the_store_counts_once() -> None:
    of_the_store = [each for each in expressions() if _OF_THE_STORE.search(each)]
    assert of_the_store
    assert [each for each in of_the_store if not re.search(r"\b(?:max|min) without \(instance\)", each)] == []
