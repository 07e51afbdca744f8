from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.instance import CONFIG_FILE, Worker, create_instance, open_instance
from knickpoint.instance.relay import LARGEST_BYTES, Subjects, encode_event, message_id, subject_name
from knickpoint.instance.relay.relay import servers_shown
from knickpoint.model.errors import ConfigError
from knickpoint.store import Event, EventKind, pack_ids, unpack_ids

_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def event(payload: dict[str, Any], number: int = 7, created: datetime = _MOMENT) -> Event:
    return Event(number, EventKind.TRACES_CHANGED, payload, created, 1, "w", "nats")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Knickpoint", "knickpoint"),
        ("Lab München/2", "lab-munchen-2"),
        ("a.b*c>d", "a-b-c-d"),
        ("  --x--  ", "x"),
        ("n" * 80, "n" * 64),
    ],
)
def test_names_of_instances_fit_into_subjects(name: str, expected: str) -> None:
    assert subject_name(name) == expected


@given(st.text())
def test_every_name_becomes_one_token_or_is_refused(name: str) -> None:
    try:
        subject = Subjects.of(name).files_arrived
    except ConfigError:
        return
    assert not set(subject) & set(". *>\t/\\")
    assert subject.isascii()


def test_a_name_without_letters_is_refused() -> None:
    with pytest.raises(ConfigError, match="another name"):
        subject_name("…")


def test_subjects_say_app_function_and_instance() -> None:
    subjects = Subjects.of("Lab")
    assert subjects.all == (
        "knickpoint-traces-changed-lab",
        "knickpoint-changes-updated-lab",
        "knickpoint-files-arrived-lab",
    )


def test_a_message_says_the_event_and_where_it_is_from() -> None:
    payload = {"repository": "main", "slots": [1], **pack_ids(np.arange(3, dtype=np.int64))}
    message = json.loads(encode_event(event(payload), "lab"))
    assert (message["id"], message["kind"], message["instance"]) == (7, "traces-changed", "lab")
    assert unpack_ids(message["payload"]).tolist() == [0, 1, 2]
    assert "left_out" not in message


def test_a_large_message_leaves_the_ids_out() -> None:
    ids = np.sort(np.random.default_rng(1).choice(10**9, 200_000, replace=False)).astype(np.int64)
    data = encode_event(event({"repository": "main", "slots": [4], **pack_ids(ids)}), "lab")
    message = json.loads(data)
    assert len(data) <= LARGEST_BYTES
    assert message["left_out"] == ["first", "steps", "wide"]
    assert message["payload"] == {"repository": "main", "slots": [4], "count": 200_000}


def test_a_message_with_many_runs_keeps_its_ids() -> None:
    payload = {"runs": list(range(10**6, 10**6 + 50_000)), "slots": [4], **pack_ids(np.arange(9, dtype=np.int64))}
    message = json.loads(encode_event(event(payload), "lab"))
    assert message["left_out"] == ["runs"]
    assert unpack_ids(message["payload"]).tolist() == list(range(9))


@given(
    st.dictionaries(st.sampled_from(["a", "first", "steps", "chunks", "bitmaps", "slots"]), st.text(max_size=200)),
    st.integers(200, 2000),
)
def test_no_message_is_larger_than_it_may_be(payload: dict[str, Any], largest: int) -> None:
    assert len(encode_event(event(payload), "lab", largest)) <= largest


def test_ids_of_messages_differ_after_a_restored_store_counts_again() -> None:
    later = datetime(2026, 1, 2, tzinfo=UTC)
    assert message_id(event({}), "lab") == message_id(event({"x": 1}), "lab")
    assert message_id(event({}), "lab") != message_id(event({}, created=later), "lab")


def test_addresses_are_shown_without_secrets() -> None:
    shown = servers_shown("nats://me:secret@one:4222, tls://token@two,nats://three,token@four:4222")
    assert shown == "nats://one:4222, tls://two, nats://three, nats://four:4222"


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knickpoint.instance.relay.relay.find_spec", lambda _name: None)
    create_instance(tmp_path).close()
    (tmp_path / CONFIG_FILE).write_text('[nats]\nurl = "nats://127.0.0.1:1"\n', encoding="utf-8")
    with open_instance(tmp_path) as instance, pytest.raises(ConfigError, match=r"knickpoint\[nats\]"):
        Worker(instance)


def test_missing_credentials_are_named(tmp_path: Path) -> None:
    create_instance(tmp_path).close()
    (tmp_path / CONFIG_FILE).write_text(
        '[nats]\nurl = "nats://127.0.0.1:1"\ncredentials = "lab.creds"\n', encoding="utf-8"
    )
    with open_instance(tmp_path) as instance, pytest.raises(ConfigError, match=r"lab\.creds"):
        Worker(instance)
