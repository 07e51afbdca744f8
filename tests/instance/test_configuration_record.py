from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.access.local_user import local_caller
from knickpoint.instance import CONFIG_FILE, create_instance, open_instance
from knickpoint.model.access import AuditKind
from knickpoint.store import open_store


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make an instance and return its directory."""
    create_instance(tmp_path / "lab").close()
    return tmp_path / "lab"


def write(place: Path, text: str) -> None:
    (place / CONFIG_FILE).write_text(f'name = "lab"\n[store]\nlocation = "knickpoint.db"\n{text}', encoding="utf-8")


def recorded(place: Path) -> list[str]:
    """Open the instance, and return what the audit log says about its configuration, the newest first."""
    with open_instance(place) as instance:
        entries = instance.store.audit.entries(kind=AuditKind.CONFIGURATION_CHANGED)
    assert {entry.who for entry in entries} <= {local_caller().name}
    return [entry.about for entry in entries]


def test_a_new_instance_has_no_entry_however_often_it_is_opened(place: Path) -> None:
    assert recorded(place) == []
    assert recorded(place) == []


def test_an_entry_names_the_sections_that_changed_once(place: Path) -> None:
    write(place, "[server]\nport = 9000\n[alerts.render]\nquery = 'a=b'\n")
    assert recorded(place) == ["added: alerts.render, server"]
    write(place, "[server]\nport = 9001\n")
    assert recorded(place) == ["changed: server; removed: alerts.render", "added: alerts.render, server"]
    assert len(recorded(place)) == 2


def test_a_change_of_comments_and_order_is_none(place: Path) -> None:
    write(place, "[server]\nport = 9000\nhost = '127.0.0.1'\n")
    before = recorded(place)
    write(place, "# the same\n[server]\nhost = '127.0.0.1'\nport = 9000\n")
    assert recorded(place) == before


def test_no_value_reaches_the_log(place: Path) -> None:
    write(place, "[server]\nupload_token = 'hunter2hunter2hunter2hunter2'\n")
    (about,) = recorded(place)
    assert about == "added: server"


def test_the_value_of_a_variable_is_no_part_of_the_configuration(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPLOADS", "one-one-one-one-one-one-one-one-one")
    write(place, "[server]\nupload_token = '${UPLOADS}'\n")
    before = recorded(place)
    monkeypatch.setenv("UPLOADS", "two-two-two-two-two-two-two-two-two")
    assert recorded(place) == before


def test_a_change_during_an_import_is_recorded_later(place: Path) -> None:
    write(place, "[server]\nport = 9000\n")
    with open_store(place / "knickpoint.db") as other, other.transaction():
        assert recorded(place) == []
    assert recorded(place) == ["added: server"]
