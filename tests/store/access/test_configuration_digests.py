from __future__ import annotations

from sqlalchemy import select

from knickpoint.store import Store
from knickpoint.store.access import SectionChanges
from knickpoint.store.tables.access import configuration_digest

SECTIONS = {"name": '"lab"', "server": '{"port": 1}', "alerts.a": "{}"}


def test_before_the_first_record_nothing_is_known(store: Store) -> None:
    assert store.configuration.changes(SECTIONS) is None


def test_what_was_recorded_has_not_changed(store: Store) -> None:
    store.configuration.record(SECTIONS)
    assert store.configuration.changes(SECTIONS) == SectionChanges()


def test_sections_are_added_changed_and_removed(store: Store) -> None:
    store.configuration.record(SECTIONS)
    changes = store.configuration.changes({"name": '"lab"', "server": '{"port": 2}', "alerts.b": "{}"})
    assert changes == SectionChanges(("alerts.b",), ("server",), ("alerts.a",))
    assert str(changes) == "added: alerts.b; changed: server; removed: alerts.a"


def test_a_later_record_replaces_the_one_before(store: Store) -> None:
    store.configuration.record(SECTIONS)
    store.configuration.record({"name": '"other"'})
    assert store.configuration.changes({"name": '"other"'}) == SectionChanges()


def test_stored_are_short_digests_and_no_contents(store: Store) -> None:
    store.configuration.record(SECTIONS)
    with store.database.reading() as connection:
        rows = {row.section: row.digest for row in connection.execute(select(configuration_digest))}
    salt = rows.pop("")
    assert len(salt) == 32
    assert {len(digest) for digest in rows.values()} == {8}
    assert rows.keys() == SECTIONS.keys()
