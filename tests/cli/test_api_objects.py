"""The lists of commands as JSON: the objects that the API answers with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.server.client import Client

from knickpoint.instance import CONFIG_FILE, open_instance
from knickpoint.server import create_app

from .conftest import Knick, change_points

_LISTS = {
    "tokens list": ("tokens", ""),
    "audit": ("audit", ""),
    "alerts list": ("alerts?shadowed=true", ""),
    "quality audit": ("alert-quality", "doubts"),
    "quality audit acknowledged-without-ticket": ("alert-quality", "doubts.0.newest"),
    "quality traces": ("alert-quality", "noisiest"),
    "quality proposals": ("alert-quality", "proposals"),
    "quality decisions": ("alert-quality", "decisions"),
}
"""Command → the address that answers with the same list, and where in the answer it is."""


@pytest.fixture(scope="module")
def busy_instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the place of the instance that :func:`busy` makes, once."""
    return tmp_path_factory.mktemp("busy") / "instance"


@pytest.fixture
def busy(judged: Path, busy_instance: Path, knick: Knick, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to an instance that has something for each list; no test changes it."""
    if not busy_instance.exists():
        _make_busy(judged, knick)
        shutil.copytree(judged, busy_instance)
    monkeypatch.chdir(busy_instance)
    return busy_instance


def _make_busy(place: Path, knick: Knick) -> None:
    for name in ("ci", "old"):
        assert knick("tokens", "create", name, "--scope", "upload", "--expires", "90d").code == 0
    assert knick("tokens", "revoke", "old").code == 0
    points = {point["id"]: abs(point["relative_size"]) < 0.35 for point in change_points(knick)}
    for status, is_small in (("hidden", True), ("acknowledged", False)):
        chosen = [point for point, small in points.items() if small is is_small]
        assert knick("triage", *chosen, "--as", status).code == 0
    assert knick("quality", "reject", "default:raise").code == 0
    for name, made in (("default", "render"), ("render", "other")):  # the file shadows what a command made
        with (place / CONFIG_FILE).open("a", encoding="utf-8") as file:
            file.write(f"[alerts.{name}]\n")
        assert knick("alerts", "set", made, "group_by=Branch").code == 0


def test_a_list_of_alerts_has_those_that_another_shadows(busy: Path, knick: Knick) -> None:
    rows = json.loads(knick("alerts", "list", "--format", "json").output)
    assert [(row["name"], row["state"], row["warning"][:8]) for row in rows] == [
        ("default", "added", ""),
        ("other", "added", "group_by"),
        ("render", "added", ""),
        ("render", "shadowed", "group_by"),
    ]
    with open_instance(busy) as opened:
        names = [alert["name"] for alert in Client(create_app(opened)).get("/api/v1/alerts").json()]
    assert names == ["default", "other", "render"]


@pytest.mark.parametrize("command", _LISTS)
def test_a_list_has_the_objects_of_the_api(busy: Path, knick: Knick, command: str) -> None:
    address, place = _LISTS[command]
    ran = knick(*command.split(), "--format", "json")
    with open_instance(busy) as opened:
        answer = Client(create_app(opened)).get(f"/api/v1/{address}").json()
    for name in filter(None, place.split(".")):
        answer = answer[int(name) if name.isdecimal() else name]
    assert json.loads(ran.output) == answer != []


def test_the_table_of_alerts_ends_with_the_total_of_the_api(busy: Path, knick: Knick) -> None:
    found = json.loads(knick("quality", "--format", "json").output)
    with open_instance(busy) as opened:
        answer = Client(create_app(opened)).get("/api/v1/alert-quality").json()
    assert found == [*answer["alerts"], answer["total"]]


def test_a_measured_trace_has_the_fields_of_a_trace_and_its_newest_commit(judged: Path, knick: Knick) -> None:
    found = json.loads(knick("traces", "--format", "json").output)
    with open_instance(judged) as opened:
        client = Client(create_app(opened))
        traces = {trace["id"]: trace for trace in client.get("/api/v1/traces").json()["traces"]}
        commits = {commit["hash"]: commit for commit in client.get("/api/v1/commits").json()["commits"]}
    own = {"line", "values", "newest", "commit"}
    assert {each["id"]: {name: value for name, value in each.items() if name not in own} for each in found} == traces
    assert [each["commit"] for each in found] == [commits[each["commit"]["hash"]] for each in found]
