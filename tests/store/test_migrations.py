"""Bring older stores up to date; refuse those that are older than the first migration."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from knickpoint.model.errors import StoreError
from knickpoint.store import Store, migrations, open_store, schema
from knickpoint.store.database import Database
from knickpoint.store.schema import FIRST, HEAD, current_revision, migrate

_NEXT = f"{int(HEAD) + 1:04d}"

_MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{_NEXT}"
down_revision = "{HEAD}"


def upgrade() -> None:
    op.add_column("worker", sa.Column("region", sa.Text, nullable=False, server_default=""))
"""

_OPENING = """
import sys
from pathlib import Path
from knickpoint.store import open_store, schema
schema._MIGRATIONS, schema.HEAD = Path(sys.argv[2]), sys.argv[3]
sys.stdin.readline()
open_store(sys.argv[1]).close()
"""


def newer_migrations(folder: Path, then: str = "") -> Path:
    """Copy the migrations, and add one that ends with the statement ``then``."""
    copy = folder / "migrations"
    shutil.copytree(Path(migrations.__path__[0]), copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "versions" / f"{_NEXT}_region.py").write_text(f"{_MIGRATION}    {then}\n")
    return copy


def state(database: Database) -> tuple[str, bool]:
    """Return the revision, and whether the table of workers has the column of the next one."""
    with database.reading() as connection:
        columns = {each["name"] for each in inspect(connection).get_columns("worker")}
        return current_revision(connection), "region" in columns


@pytest.mark.long
@pytest.mark.alike
def test_processes_that_open_an_older_store_at_the_same_time_migrate_it_once(location: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPENING, location, str(newer_migrations(tmp_path)), _NEXT]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [(process.communicate()[1], process.returncode) for process in processes] == [(b"", 0)] * 2
    database = Database(location)
    assert state(database) == (_NEXT, True)
    database.close()


def test_a_migration_that_breaks_in_the_middle_leaves_the_older_store_as_it_was(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(location)
    monkeypatch.setattr(schema, "HEAD", _NEXT)
    monkeypatch.setattr(schema, "_MIGRATIONS", newer_migrations(tmp_path, "raise RuntimeError('the machine is gone')"))
    with pytest.raises(RuntimeError, match="the machine is gone"):
        migrate(database)
    assert state(database) == (HEAD, False)
    monkeypatch.setattr(schema, "_MIGRATIONS", newer_migrations(tmp_path / "repaired"))
    migrate(database)
    assert state(database) == (_NEXT, True)
    database.close()


def test_a_migrator_that_waited_for_a_newer_version_refuses_what_that_left(location: str) -> None:
    database = Database(location)
    with database.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="has schema 9999, this version of Knickpoint knows up to"):
        migrate(database)
    database.close()


def test_a_store_older_than_the_first_migration_is_refused_and_left_as_it_is(store: Store, location: str) -> None:
    with store.transaction() as connection:
        connection.execute(text("DROP TABLE statement"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with pytest.raises(
        StoreError, match=f"has schema 0001, this version of Knickpoint knows {FIRST} and later"
    ) as found:
        open_store(location)
    assert "knick doctor upgrades a store" in found.value.remedy
    with store.database.reading() as connection:
        assert (current_revision(connection), inspect(connection).has_table("statement")) == ("0001", False)
