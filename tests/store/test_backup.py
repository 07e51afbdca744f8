from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from knickpoint.model.access import AuditKind, Permission, Token
from knickpoint.model.errors import InputError, StoreError
from knickpoint.store import export, open_store, restore

from .conftest import Bench


def test_a_backup_restores_every_point(bench: Bench, tmp_path: Path) -> None:
    bench.put(0, Bench.report({"a": 1.0, "b": [2.0, 3.0]}), "r")
    bench.store.backup(tmp_path / "backup")
    with restore(tmp_path / "backup", tmp_path / "again.db") as again:
        assert list(export.rows(again)) == list(export.rows(bench.store))


def test_a_backup_restores_into_a_server_that_goes_on_counting(
    bench: Bench, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench.put(0, Bench.report({"a": 1.0}), "r")
    bench.store.backup(tmp_path / "backup")
    cluster = request.getfixturevalue("cluster")
    cluster.execute("DROP DATABASE IF EXISTS restored")
    cluster.execute("CREATE DATABASE restored")
    with restore(tmp_path / "backup", cluster.url("restored")) as again:
        other = Bench(again, bench.repository, bench.line)
        other.put(1, Bench.report({"a": 2.0}), "next")
        assert [row[6] for row in export.rows(again)] == [1.0, 2.0]


def test_a_backup_never_overwrites_a_file(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "backup").write_text("mine")
    with pytest.raises(StoreError, match="already exists"):
        bench.store.backup(tmp_path / "backup")


def test_a_file_that_is_no_backup_restores_nothing(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader")
    with pytest.raises(StoreError, match="not a backup"):
        restore(tmp_path / "letter.txt", tmp_path / "store.db")
    assert not (tmp_path / "store.db").exists()


def test_a_damaged_backup_restores_nothing(bench: Bench, tmp_path: Path) -> None:
    bench.store.backup(tmp_path / "backup")
    whole = (tmp_path / "backup").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError):
        restore(tmp_path / "half", tmp_path / "store.db")


def test_a_missing_store_names_knick_init(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="knick init"):
        open_store(tmp_path / "nothing.db")


def test_an_export_has_one_row_a_point_by_key_and_position(bench: Bench) -> None:
    bench.put(3, Bench.report({"b": 1.0, "a": 0.1}), "r")
    bench.put(1, Bench.report({"b": 2.0}), "q")
    found = [(row[2], row[4], row[6]) for row in export.rows(bench.store)]
    assert found == [(",name=a,", 3, 0.1), (",name=b,", 1, 2.0), (",name=b,", 3, 1.0)]


def test_a_parquet_export_reads_back_equal(bench: Bench, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    bench.put(3, Bench.report({"b": 1.0, "a": 0.1}), "r")
    export.write_parquet(export.batches(bench.store), tmp_path / "points.parquet")
    table = parquet.read_table(tmp_path / "points.parquet").to_pylist()
    assert [tuple(row[name] for name in export.COLUMNS) for row in table] == list(export.rows(bench.store))


def test_the_same_set_has_the_same_shortcut(bench: Bench) -> None:
    first = bench.store.shortcuts.add([",a=b,", "@norm(x)"])
    assert bench.store.shortcuts.add(["@norm(x)", ",a=b,", ",a=b,"]) == first
    assert bench.store.shortcuts.get(first) == (",a=b,", "@norm(x)")


def test_an_unknown_shortcut_is_an_error(bench: Bench) -> None:
    with pytest.raises(InputError, match="no shortcut"):
        bench.store.shortcuts.get("nothing")


def test_a_restored_store_accepts_no_token_and_no_session_of_the_backup(bench: Bench, tmp_path: Path) -> None:
    store, long_ago = bench.store, datetime.now(UTC) - timedelta(hours=1)
    token = Token("ci", frozenset({Permission.UPLOAD}), (), long_ago, "ada")
    store.tokens.insert(token, "ab" * 32)
    store.backup(tmp_path / "backup")
    with restore(tmp_path / "backup", tmp_path / "again.db", who="grace") as again:
        (kept,) = again.tokens.all()
        assert (kept.name, kept.is_valid(datetime.now(UTC))) == ("ci", False)
        assert again.sessions.ended("any", long_ago)
        (entry,) = again.audit.entries()
        assert (entry.kind, entry.who) == (AuditKind.RESTORED, "grace")
        assert "revoked 1 token," in entry.about


def test_a_backup_whose_tokens_withstand_revocation_is_refused(bench: Bench, tmp_path: Path) -> None:
    token = Token("ci", frozenset({Permission.UPLOAD}), (), datetime.now(UTC), "ada")
    bench.store.tokens.insert(token, "ab" * 32)
    bench.store.backup(tmp_path / "backup")
    with closing(sqlite3.connect(tmp_path / "backup")) as hostile:
        hostile.execute("CREATE TRIGGER keep BEFORE UPDATE ON token BEGIN SELECT RAISE(IGNORE); END")
        hostile.commit()
    with pytest.raises(StoreError, match="trigger 'keep'"):
        restore(tmp_path / "backup", tmp_path / "again.db")


def test_tokens_can_be_kept_and_those_that_were_revoked_stay_revoked(bench: Bench, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for number, name in enumerate(("good", "bad")):
        token = Token(name, frozenset({Permission.UPLOAD}), (), now, "ada")
        bench.store.tokens.insert(token, f"{number:064x}")
    bench.store.tokens.revoke("bad", now)
    bench.store.backup(tmp_path / "backup")
    with restore(tmp_path / "backup", tmp_path / "again.db", keep_tokens=True) as again:
        assert [token.is_valid(now) for token in again.tokens.all()] == [False, True]


def test_the_audit_log_of_a_restored_store_cannot_be_changed_either(
    bench: Bench, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bench.store.audit.append(AuditKind.SIGNED_IN, "ada", "company", time=datetime(2020, 1, 1, tzinfo=UTC))
    bench.store.audit.append(AuditKind.SIGNED_OUT, "ada", "company")
    bench.store.audit.delete_before(datetime(2021, 1, 1, tzinfo=UTC))
    bench.store.backup(tmp_path / "backup")
    cluster = request.getfixturevalue("cluster")
    cluster.execute("DROP DATABASE IF EXISTS restored_log")
    cluster.execute("CREATE DATABASE restored_log")
    for location in (str(tmp_path / "again.db"), cluster.url("restored_log")):
        with restore(tmp_path / "backup", location) as again:
            assert [entry.kind for entry in again.audit.entries()] == [AuditKind.RESTORED, AuditKind.SIGNED_OUT]
            for change in ("UPDATE audit_entry SET who = 'eve'", "DELETE FROM audit_entry"):
                with pytest.raises(StoreError, match="entries of the audit log"), again.transaction() as connection:
                    connection.execute(text(change))
