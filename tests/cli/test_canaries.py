"""``knick canaries``, its answers in the HTTP API, and what ``knick doctor`` says of canaries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as CliResult
from tests.server.client import Client

from knickpoint.access.local_user import local_caller
from knickpoint.cli.program import knick as program
from knickpoint.instance import (
    CONFIG_FILE,
    Instance,
    canary_health,
    create_instance,
    open_instance,
    quarantine_suspect_results,
)
from knickpoint.model.access import AuditKind
from knickpoint.model.commit import Commit
from knickpoint.model.quarantine import QuarantineState
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.server import create_app
from knickpoint.store import RunWrite

NOW = datetime.now(UTC)
CANARY = '[canaries.loop]\nquery = "name=loop"\n'
ALERT = '[alerts.machine]\nquery = "name=loop"\nkind = "canary"\n'
SLOW_AT_THE_END = [10.0] * 20 + [13.0]
"""Twenty calm commits; then the machine is slow at the newest one."""

FLAKY = [10.0] * 12 + [13.0, 10.0, 10.0, 10.0] * 6
"""It moves at every fourth commit, and comes back."""


def made(directory: Path, loop: list[float], text: str = CANARY) -> Instance:
    """Return an instance with one machine that measured a benchmark and a canary at each commit."""
    create_instance(directory).close()
    (directory / CONFIG_FILE).write_text(text, encoding="utf-8")
    instance = open_instance(directory)
    repository = instance.store.commits.add_repository("main")
    commits = [Commit(f"{number + 1:040x}", "", "", NOW, "") for number in range(len(loop))]
    slots = list(instance.store.commits.add(repository, commits).values())
    instance.store.commits.set_line(repository, "main", slots)
    writes = []
    for place, (slot, value) in enumerate(zip(slots, loop, strict=True)):
        noise = 0.01 * (place * 7 % 5)
        parse = Result({"name": "parse"}, (10 * value + noise,), "ms")
        results = ResultTable.of([parse, Result({"name": "loop"}, (value + noise,), "ms")])
        report = RunReport(results, environment={"machine": "bench-1"}, time=NOW)
        writes.append(RunWrite(slot, report, f"run-{place}", f"content {place}", "test"))
    instance.store.runs.write(repository, writes)
    quarantine_suspect_results(instance)
    return instance


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Instance]:
    with made(tmp_path, SLOW_AT_THE_END) as instance:
        yield instance


def knick(instance: Instance, *words: str) -> CliResult:
    return CliRunner().invoke(program, [*words, "--instance", str(instance.directory)])


def rows(instance: Instance, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(knick(instance, *words, "--format", "json").output)
    return found


def states(instance: Instance) -> list[QuarantineState]:
    (repository,) = instance.store.commits.repositories()
    return [each.state for each in instance.store.quarantines.all(repository)]


def test_the_list_says_which_results_are_quarantined_and_why(slow: Instance) -> None:
    (row,) = rows(slow, "canaries")
    assert (row["id"], row["machine"], row["state"], row["traces"]) == ("Q1", "bench-1", "quarantined", 1)
    assert row["reason"].startswith("canary loop moved by +29.7 %")


def test_lifted_results_leave_the_list_and_the_audit_log_has_the_reason(slow: Instance) -> None:
    result = knick(slow, "canaries", "lift", "Q1", "--reason", "the canary was rebuilt")
    assert (result.exit_code, rows(slow, "canaries")) == (0, [])
    (row,) = rows(slow, "canaries", "--all")
    assert row["state"] == "lifted"
    assert (row["outcome"], row["who"]) == ("the canary was rebuilt", local_caller().name)
    entry = next(each for each in slow.store.audit.entries() if each.kind is AuditKind.QUARANTINE_LIFTED)
    assert "Q1, run run-20 of main" in entry.about


@pytest.mark.parametrize(
    ("number", "message"), [("Q9", "there is no quarantine 9"), ("first", "is not an id of a quarantine")]
)
def test_what_is_no_quarantine_cannot_be_lifted(slow: Instance, number: str, message: str) -> None:
    result = knick(slow, "canaries", "lift", number, "--reason", "because")
    assert result.exit_code != 0
    assert message in str(result.exception or "") + result.output


def test_health_says_how_often_a_canary_moved(slow: Instance) -> None:
    (row,) = rows(slow, "canaries", "health")
    assert (row["canary"], row["machine"], row["moved"], row["useless"]) == ("loop", "bench-1", 1, "")


def test_an_alert_of_the_kind_canary_quarantines_results_as_a_section_does(tmp_path: Path) -> None:
    with made(tmp_path, SLOW_AT_THE_END, ALERT) as instance:
        (row,) = rows(instance, "canaries")
        assert row["reason"].startswith("canary machine moved by")


def test_a_canary_that_moves_all_the_time_is_named_by_doctor_and_takes_nothing_out(tmp_path: Path) -> None:
    with made(tmp_path, FLAKY) as instance:
        (health,) = canary_health(instance)
        output = knick(instance, "doctor", "--format", "json").output
        assert (states(instance), health.episodes) == ([], 6)
        assert "is ignored: it moved and came back 6 times" in output


def test_the_api_lists_quarantines_and_the_values_that_are_out(slow: Instance) -> None:
    client = Client(create_app(slow))
    (listed,) = client.get("/api/v1/quarantines").json()
    assert rows(slow, "canaries") == [listed]
    (repository,) = slow.store.commits.repositories()
    (trace,) = slow.store.traces.find(repository, ",name=parse,")
    (value,) = client.get(f"/api/v1/traces/{trace.id}/quarantined").json()
    assert (listed["state"], listed["run"], listed["commit"]["hash"]) == ("quarantined", "run-20", f"{21:040x}")
    assert (value["position"], round(value["value"]), value["quarantine"]["id"]) == (20, 130, listed["id"])


def test_the_api_lifts_with_an_entry_in_the_audit_log(slow: Instance) -> None:
    answer = Client(create_app(slow)).post("/api/v1/quarantines/Q1/lift", json={"reason": "the machine is fine"})
    assert (answer.status_code, answer.json()["state"], states(slow)) == (200, "lifted", [QuarantineState.LIFTED])
    assert any(each.kind is AuditKind.QUARANTINE_LIFTED for each in slow.store.audit.entries())
