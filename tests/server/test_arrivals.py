"""Notifications that files have arrived."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest
from tests.server.client import Client
from tests.server.story import TOKEN, commit_hash, history

from knickpoint.instance import CONFIG_FILE, open_instance
from knickpoint.server import create_app

URL = "/api/v1/arrivals"
RIGHT = {"authorization": f"Bearer {TOKEN}"}
EVENT = {"url": "memory://bench/nightly.json"}


@pytest.fixture
def watching(finished_instance: Path, tmp_path: Path) -> Iterator[Client]:
    """Return a client of an instance that has a bucket as a source."""
    directory = tmp_path / "instance"
    shutil.copytree(finished_instance, directory)
    settings = '\n[ingest.sources.bucket]\nlocation = "memory://bench"\nrepository = "ada/engine"\n'
    file = directory / CONFIG_FILE
    file.write_text(file.read_text() + settings)
    with open_instance(directory) as opened:
        yield Client(create_app(opened))


@pytest.fixture
def bucket() -> Iterator[Any]:
    """Return a bucket in memory, empty."""
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/bench", recursive=True)


def results() -> bytes:
    key = {"benchmark": "fresh", "unit": "ms"}
    return json.dumps({"version": 1, "git_hash": commit_hash(5), "results": [{"key": key, "measurement": 7}]}).encode()


def test_a_file_that_arrived_comes_in_once(watching: Client, bucket: Any) -> None:
    bucket.pipe("/bench/nightly.json", results())
    answers = [watching.post(URL, json=EVENT, headers=RIGHT) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert [answer.json()["files"][0]["outcome"] for answer in answers] == ["imported", "unchanged"]


def test_a_sender_without_headers_shows_the_token_in_the_address(watching: Client, bucket: Any) -> None:
    bucket.pipe("/bench/nightly.json", results())
    assert watching.post(URL, params={"token": TOKEN}, json=EVENT).status_code == 200


def test_a_refused_file_does_not_ask_for_another_delivery(watching: Client, bucket: Any) -> None:
    bucket.pipe("/bench/nightly.json", history()[:3000])
    answer = watching.post(URL, json=EVENT, headers=RIGHT)
    assert answer.status_code == 200
    assert answer.json()["files"][0]["outcome"] == "refused"


def test_a_wrong_token_takes_nothing_even_on_this_machine(watching: Client) -> None:
    assert watching.post(URL, params={"token": "wrong"}, json=EVENT).status_code == 401


def test_a_file_of_no_source_is_refused(watching: Client) -> None:
    answer = watching.post(URL, json={"url": "memory://other/a.json"}, headers=RIGHT)
    assert answer.status_code == 400
    assert "[ingest.sources]" in answer.json()["remedy"]


def test_what_is_no_notification_is_refused(watching: Client) -> None:
    assert watching.post(URL, content=b"<html>", headers=RIGHT).status_code == 400
