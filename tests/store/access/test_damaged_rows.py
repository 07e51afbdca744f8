"""Rows of tokens and of the audit log that something else wrote, as into the database of a backup."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine

from knickpoint.model.errors import StoreError
from knickpoint.store import create_store, open_store
from knickpoint.store.tables.access import audit_entry, token

_ENTRY: dict[str, object] = {"time": 1.0, "kind": "decided", "who": "ada", "about": "R1: hidden", "address": ""}
_TOKEN: dict[str, object] = {
    "name": "ci",
    "digest": "d",
    "scopes": '["read"]',
    "repositories": "[]",
    "created": 1.0,
    "created_by": "ada",
}


def _written(directory: Path, table: str, row: dict[str, object]) -> str:
    """Return the address of a store into which a program that is not Knickpoint has written ``row``."""
    path = directory / "store.db"
    create_store(str(path)).close()
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
    engine.dispose()
    return str(path)


@pytest.mark.parametrize(
    "damage",
    [
        {"time": -1e300},
        {"time": float("-inf")},
        {"time": "noon"},
        {"kind": "forged"},
        {"who": b"\xff"},
        {"about": b"\xff"},
        {"address": b""},
    ],
    ids=str,
)
def test_an_entry_of_the_audit_log_that_cannot_be_read_is_named(tmp_path: Path, damage: dict[str, object]) -> None:
    location = _written(tmp_path, audit_entry.name, _ENTRY | damage)
    with open_store(location) as store, pytest.raises(StoreError, match="entry 1 of the audit log"):
        store.audit.entries()


@pytest.mark.parametrize(
    "damage",
    [
        {"scopes": '["everything"]'},
        {"scopes": '"read"'},
        {"scopes": "["},
        {"scopes": "[" * 100_000},
        {"repositories": "5"},
        {"repositories": '"engine"'},
        {"repositories": "[1]"},
        {"created": -1e300},
        {"created_by": b"\xff"},
        {"expires": "never"},
        {"last_used": float("-inf")},
        {"revoked": -1e300},
    ],
    ids=lambda damage: str(damage)[:40],
)
def test_a_token_that_cannot_be_read_is_named_and_lets_no_one_in(tmp_path: Path, damage: dict[str, object]) -> None:
    with open_store(_written(tmp_path, token.name, _TOKEN | damage)) as store:
        with pytest.raises(StoreError, match="the token 'ci'"):
            store.tokens.all()
        with pytest.raises(StoreError, match="the token 'ci'"):
            store.tokens.find("d")


def test_a_token_whose_name_is_no_text_is_named(tmp_path: Path) -> None:
    location = _written(tmp_path, token.name, _TOKEN | {"name": b"\x1b[2J"})
    with open_store(location) as store, pytest.raises(StoreError, match="cannot be read"):
        store.tokens.all()
