"""Older programs go on with a newer store where its migrations only added to it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import op
from alembic.script import ScriptDirectory
from sqlalchemy import text

from knickpoint.model.errors import StoreError
from knickpoint.store import Store, migrations, open_store
from knickpoint.store.schema import HEAD

_ADDS = {"create_table", "create_index", "add_column"}
_NOTE = "CREATE TRIGGER data_changed AFTER"


def newer(store: Store, since: str) -> None:
    """Do to the store what a newer version does that adds a column."""
    with store.transaction() as connection:
        connection.execute(text("ALTER TABLE worker ADD COLUMN region TEXT NOT NULL DEFAULT ''"))
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(text("UPDATE schema_support SET revision = '9999', since = :since"), {"since": since})


def test_an_older_program_goes_on_where_a_newer_one_says_so(store: Store, location: str) -> None:
    newer(store, HEAD)
    store.check_schema()
    with open_store(location) as other:
        other.commits.add_repository("main")
        other.workers.report("one", started=1.0)
    assert [each.name for each in store.commits.repositories()] == ["main"]


def test_an_older_program_stops_where_a_newer_one_changed_what_it_needs(store: Store, location: str) -> None:
    newer(store, "9998")
    for use in (store.check_schema, lambda: open_store(location)):
        with pytest.raises(StoreError, match="has schema 9999, this version of Knickpoint knows up to"):
            use()


def test_an_older_program_that_still_runs_writes_nothing_after_such_a_change(store: Store) -> None:
    newer(store, "9998")
    with pytest.raises(StoreError, match="has schema 9999, this version of Knickpoint knows up to"):
        store.commits.add_repository("main")
    assert store.commits.repositories() == []
    store.workers.report(
        "one", started=1.0, failures=1, reason="the store has schema 9999"
    )  # so that health can say so


def test_an_older_program_stops_where_it_is_not_known_who_may_go_on(store: Store) -> None:
    newer(store, HEAD)
    with store.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999b'"))
    with pytest.raises(StoreError, match="has schema 9999b"):
        store.check_schema()


@pytest.mark.parametrize("location", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)
def test_an_older_program_writes_no_backup_without_what_it_does_not_know(store: Store, tmp_path: Path) -> None:
    newer(store, HEAD)
    with pytest.raises(StoreError, match="has schema 9999"):
        store.backup(tmp_path / "half.backup")
    assert list(tmp_path.iterdir()) == []


def beyond_additions(upgrade: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a migration does, beside additions that a program need not know which reads and writes the old tables."""
    found: list[str] = []

    def record(name: str) -> Callable[..., None]:
        def call(*arguments: Any, unique: bool = False, **_: Any) -> None:
            columns = [each for each in arguments if isinstance(each, sa.Column)] if name == "add_column" else []
            needed = [each.name for each in columns if not each.nullable and each.server_default is None]
            if name == "execute" and str(arguments[0]).strip().startswith(_NOTE):
                return  # the server notes which transaction it was, whoever writes
            if name not in _ADDS or unique or needed:
                found.append(name)

        return call

    with monkeypatch.context() as patch:
        for name, function in inspect.getmembers(op, callable):
            if not name.startswith("_") and inspect.isfunction(function):
                patch.setattr(op, name, record(name))
        patch.setattr(op, "get_bind", lambda: sa.create_mock_engine("postgresql+psycopg://", lambda *_: None))
        upgrade()
    return found


def gentle() -> Iterator[Any]:
    """Yield the migrations that older programs survive."""
    folder = Path(next(iter(migrations.__path__)))
    for script in ScriptDirectory(str(folder)).walk_revisions():
        if getattr(script.module, "OLDER_PROGRAMS_GO_ON", False):
            yield pytest.param(script.module.upgrade, id=script.revision)


@pytest.mark.parametrize("upgrade", [*gentle(), pytest.param(lambda: None, id="none")])
def test_a_migration_that_older_programs_survive_only_adds(
    upgrade: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert beyond_additions(upgrade, monkeypatch) == []


@pytest.mark.parametrize(
    ("upgrade", "found"),
    [
        (lambda: op.drop_column("run", "source"), ["drop_column"]),
        (lambda: op.execute("UPDATE run SET slot = 0"), ["execute"]),
        (lambda: op.execute("CREATE TRIGGER refused BEFORE DELETE ON run"), ["execute"]),
        (lambda: op.add_column("run", sa.Column("x", sa.Text, nullable=False)), ["add_column"]),
        (lambda: op.create_index("i", "run", ["slot"], unique=True), ["create_index"]),
        (lambda: op.add_column("run", sa.Column("x", sa.Text, nullable=False, server_default="")), []),
    ],
)
def test_what_older_programs_do_not_survive_is_recognised(
    upgrade: Callable[[], None], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert beyond_additions(upgrade, monkeypatch) == found
