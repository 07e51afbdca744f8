from __future__ import annotations

from datetime import UTC, datetime, timedelta

from knickpoint.store import Store

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_a_session_that_was_ended_stays_ended(store: Store) -> None:
    store.sessions.end("one", NOW)
    store.sessions.end("one", NOW)
    assert (store.sessions.ended("one"), store.sessions.ended("two")) == (True, False)


def test_a_session_is_forgotten_when_its_cookie_has_expired(store: Store) -> None:
    store.sessions.end("one", NOW)
    store.sessions.end("two", NOW + timedelta(hours=2))
    assert store.sessions.forget(NOW + timedelta(hours=1)) == 1
    assert (store.sessions.ended("one"), store.sessions.ended("two")) == (False, True)


def test_all_sessions_that_began_before_a_moment_can_be_ended(store: Store) -> None:
    store.sessions.end_all(NOW)
    store.sessions.forget(NOW + timedelta(days=999))
    assert store.sessions.ended("old", NOW - timedelta(seconds=1))
    assert not store.sessions.ended("new", NOW + timedelta(seconds=1))
