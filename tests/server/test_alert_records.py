"""What an alert did, examples of a dry run, and the settings that the editor leaves out."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from tests.server.client import Client
from tests.server.story import FASTER, SLOWER, commit_hash

from knickpoint.instance import Instance
from knickpoint.model.alert import Alert
from knickpoint.watch.alert_run.run import run_alerts

_EDITOR = Path(__file__).parent.parent.parent / "frontend" / "src" / "text" / "alert-settings.ts"


def test_the_record_of_an_alert_has_its_runs_and_findings_by_decision(reader: Client) -> None:
    found = reader.get("/api/v1/alerts/default/record").json()
    assert [(run["traces"], run["added"], run["complete"]) for run in found["runs"]] == [(4, 3, True)]
    assert found["counts"] == [{"condition": "present", "status": "new", "findings": 3}]
    assert [group["traces"] for group in found["largest"]] == [2, 1]


def test_an_unknown_alert_has_no_record(reader: Client) -> None:
    assert reader.get("/api/v1/alerts/none/record").status_code == 404


def test_a_dry_run_has_examples_of_what_it_adds_the_largest_first(client: Client, instance: Instance) -> None:
    client.post("/api/v1/alerts", json={"name": "idle", "query": "benchmark=idle", "keep_default": False})
    run_alerts(instance.store, instance.alerts)
    (found,) = client.post("/api/v1/alerts/preview", json={"name": "all"}).json()["alerts"]
    assert (found["name"], found["added"], found["complete"]) == ("all", 3, True)
    examples = [(each["trace"]["params"]["benchmark"], each["commit"]["hash"]) for each in found["examples"]]
    expected = [("parse", SLOWER), ("print", SLOWER), ("load", FASTER)]
    assert examples == [(name, commit_hash(position)) for name, position in expected]


def test_the_editor_leaves_out_what_the_program_has_by_default() -> None:
    block = re.search(r"DEFAULTS = \{(.*?)\} as const", _EDITOR.read_text(), flags=re.DOTALL)
    assert block is not None
    written = dict(re.findall(r"(\w+): (.+?),\n", block[1]))
    shown = {
        "": '""',
        (): "[]",
        "both": '"both"',
        "start": '"start"',
        "work": '"work"',
        "normal": '"normal"',
        "default": '"default"',
    }
    settings = {name: getattr(value, "value", value) for name, value in asdict(Alert("a")).items() if name != "name"}
    for name, value in settings.items():
        if isinstance(value, bool):
            assert written[name] == str(value).lower(), name
            continue
        expected = "{}" if value == {} else shown.get(value, f"{value:g}" if isinstance(value, float | int) else value)
        assert written[name] == expected, name
