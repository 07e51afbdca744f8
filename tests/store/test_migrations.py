"""Bring stores of older versions up to date, with what is in them."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from alembic import op
from sqlalchemy import inspect, text

from knickpoint.model.audit import AuditKind
from knickpoint.model.change_point import ChangePoint, Direction, Status
from knickpoint.model.errors import StoreError
from knickpoint.store import open_store
from knickpoint.store.database import Database
from knickpoint.store.schedules import ChosenCommit
from knickpoint.store.schema import HEAD, current_revision, migrate
from knickpoint.store.tables import metadata
from knickpoint.store.timestamps import moment

_RENAMED = {"regression": "change", "regression_id": "change_id"}
"""Tables and columns by their names in older revisions."""


def write_old(database: Database, **rows: dict[str, Any]) -> None:
    """Insert a row of each table; a column that is not given is 0, or an empty text."""
    with database.transaction() as connection:
        for name, row in rows.items():
            there = connection.execute(text(f"SELECT * FROM {name}")).keys()
            now = metadata.tables[_RENAMED.get(name, name)].columns
            kinds = {key: now[_RENAMED.get(key, key)] for key in there}
            blank = {key: kinds[key].type.python_type() for key in there if not kinds[key].nullable}
            marks = ", ".join(f":{key}" for key in blank | row)
            statement = text(f"INSERT INTO {name} ({', '.join(blank | row)}) VALUES ({marks})")
            connection.execute(statement, blank | row)


def old_point(**values: Any) -> dict[str, Any]:
    """Return a change point as revision 0005 has it: its means went up by 5 %, its medians went down."""
    region = {"count": 10, "minimum": 1.0, "maximum": 9.0, "mean": 100.0, "variance": 4.0}
    regions = {f"{side}_{name}": value for side in ("before", "after") for name, value in region.items()}
    step = {"slot": 10, "previous": 9, "line": "main", "movement": 1, "size": 5.0, "relative_size": 0.05}
    state = {"id": 1, "trace_id": 7, "trace_key": ",name=a,", "unit": "ms", "alerts": '["a"]', "method": "m"}
    decided = {"status": "hidden", "condition": "present", "direction": "regression", "note": "noise"}
    return {**regions, **step, **state, **decided, "before_median": 100.0, "after_median": 90.0, **values}


def upgraded(location: str, **values: Any) -> ChangePoint:
    """Return what the newest version makes of a change point of revision 0005."""
    database = Database(location)
    migrate(database, "0005")
    point = old_point(**values)
    seen = {name: value for name, value in point.items() if name not in {"id", "trace_key", "unit", "alerts"}}
    seen = {name: value for name, value in seen.items() if name not in {"status", "note"}}
    write_old(database, change_point=point, sighting={**seen, "change_point_id": 1, "alert": "a"})
    database.close()
    with open_store(location) as store:
        (found,) = store.findings.points([1])
        (sighting,) = store.findings.sightings.of_traces([7])[7]
        assert (sighting.numbers.size, sighting.direction) == (found.numbers.size, found.direction)
    return found


_OPENING = """
import sys
from knickpoint.store import open_store
sys.stdin.readline()
open_store(sys.argv[1]).close()
"""


@pytest.mark.long
@pytest.mark.alike
def test_processes_that_open_an_older_store_at_the_same_time_migrate_it_once(empty_location: str) -> None:
    database = Database(empty_location)
    migrate(database, "0032")
    command = [sys.executable, "-c", _OPENING, empty_location]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [(process.communicate()[1], process.returncode) for process in processes] == [(b"", 0)] * 2
    with database.reading() as connection:
        assert current_revision(connection) == HEAD
    database.close()


def test_a_migration_that_breaks_in_the_middle_leaves_the_older_store_as_it_was(
    empty_location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(empty_location)
    migrate(database, "0032")
    add_column = op.add_column
    added: list[str] = []

    def add_one_column(table: str, column: Any) -> None:
        if added:
            raise RuntimeError("the machine is gone")
        added.append(column.name)
        add_column(table, column)

    with monkeypatch.context() as patch:
        patch.setattr(op, "add_column", add_one_column)
        with pytest.raises(RuntimeError, match="the machine is gone"):
            migrate(database)
    with database.reading() as connection:
        columns = {each["name"] for each in inspect(connection).get_columns("worker")}
        assert (current_revision(connection), added[0] in columns) == ("0032", False)
    migrate(database)
    database.close()


def test_a_migrator_that_waited_for_a_newer_version_refuses_what_that_left(empty_location: str) -> None:
    database = Database(empty_location)
    migrate(database)
    with database.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="has schema 9999, this version of Knickpoint knows up to"):
        migrate(database)
    database.close()


def test_medians_stand_for_the_local_levels_of_older_findings(empty_location: str) -> None:
    found = upgraded(empty_location)
    numbers = found.numbers
    assert (numbers.before_level, numbers.after_level, numbers.size, numbers.relative_size) == (
        100.0,
        90.0,
        -10.0,
        -0.1,
    )
    assert numbers.deviation == pytest.approx(2.0)


def test_an_older_finding_whose_word_flips_keeps_its_identity_and_its_decision(empty_location: str) -> None:
    found = upgraded(empty_location)
    assert found.direction is Direction.IMPROVEMENT
    assert (found.id, found.movement, found.status, found.note) == (1, 1, Status.HIDDEN, "noise")


def test_an_older_finding_with_equal_medians_changed_nothing(empty_location: str) -> None:
    found = upgraded(empty_location, after_median=100.0)
    assert (found.numbers.size, found.direction, found.severity) == (0.0, Direction.UNKNOWN, 0.0)


def test_an_older_finding_that_came_from_nothing_is_infinite(empty_location: str) -> None:
    found = upgraded(empty_location, before_median=0.0)
    assert (found.numbers.relative_size, found.direction) == (math.inf, Direction.REGRESSION)


def test_what_an_older_store_found_or_looked_at_stays_work(empty_location: str) -> None:
    database = Database(empty_location)
    migrate(database, "0007")
    for number, name in enumerate(["found", "quiet", "later"], 1):
        write_old(
            database,
            repository={"id": number, "name": name, "default_line": "main", "next_slot": 1},
            run={"id": number, "repository_id": number, "created": 100.0 * number},
        )
    write_old(
        database,
        alert_run={"id": 1, "alert": "a", "complete": 1, "started": 250.0},
        change_point=old_point(repository_id=1, regression_id=1),
        regression={"id": 1, "repository_id": 1, "traces": 1},
    )
    database.close()
    with open_store(empty_location) as store:
        boundaries = [store.boundaries.get(repository) for repository in store.commits.repositories()]
        assert [known and known.slots for known in boundaries] == [frozenset(), None, frozenset()]
        assert [point.history for point in store.findings.points([1])] == [False]


def test_an_older_store_gets_an_audit_log_that_cannot_be_changed(empty_location: str) -> None:
    database = Database(empty_location)
    migrate(database, "0010")
    database.close()
    with open_store(empty_location) as store:
        entry = store.audit.append(AuditKind.SIGNED_IN, "ada", "company")
        with pytest.raises(StoreError, match="entries of the audit log"), store.transaction() as connection:
            connection.execute(text("DELETE FROM audit_entry"))
        assert (store.audit.entries(), store.tokens.all()) == ([entry], [])


def test_a_change_of_an_older_store_is_stated_with_the_decision_about_it(empty_location: str) -> None:
    database = Database(empty_location)
    migrate(database, "0043")
    change = {"id": 3, "repository_id": 1, "line": "main", "previous": 9, "slot": 10}
    state = {"status": "ticket", "ticket": "PERF-7", "condition": "present", "direction": "regression", "kind": "step"}
    point = {"id": 5, "change_id": 3, "trace_key": ",name=a,", "certainty": "settled", "alert_kind": "work"}
    sizes = {"size": 2.0, "relative_size": 0.2, "before_level": 10.0}
    stated = {"change_id": 3, "condition": "present", "side": "regression", "body": "{}"}
    write_old(database, change=change, change_point={**point, **state, **sizes}, statement=stated)
    database.close()
    with open_store(empty_location) as store:
        found = store.findings.statements.of_changes([3])[3]
    assert (found.decision, found.ticket) == (Status.TICKET, "PERF-7")


def test_what_gates_measured_in_an_older_store_belongs_to_schedules(empty_location: str) -> None:
    database = Database(empty_location)
    migrate(database, "0038")
    row = {"id": 4, "repository_id": 1, "gate": "nightly", "commit_hash": "a" * 40, "pins": "[]", "purpose": "new"}
    rest = "regression_id, state, attempts, worker, due, chosen, ended, device, seconds, reason"
    values = ", ".join(f":{name}" for name in row)
    statement = f"INSERT INTO gate_probe ({', '.join(row)}, {rest}) VALUES ({values}, 0, 'measured', 1, '', 0, 0, 9, 'x', 5, '')"
    with database.transaction() as connection:
        connection.execute(text(statement), row)
    database.close()
    with open_store(empty_location) as store:
        repository = store.commits.add_repository("lib", "main")
        store.schedules.add(repository, "nightly", [ChosenCommit("b" * 40)], moment(10.0))
        found = [
            (probe.id, probe.choice.commit, probe.seconds)
            for probe in store.schedules.of_schedule(repository, "nightly")
        ]
        assert found == [(4, "a" * 40, 5.0), (5, "b" * 40, 0.0)]
