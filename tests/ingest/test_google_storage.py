"""Buckets of Google Cloud Storage, on an emulator of it on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.ingest.conftest import Lab

from knickpoint.ingest import ImportState
from knickpoint.ingest.bucket_events import import_bucket_event
from knickpoint.ingest.file_import import WatchedSource

A, B = "1000001", "1000002"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start the server with a bucket ``bench``, and return its files with their address."""
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # it asks over gRPC, which the emulator has not
    emulator = pytest.importorskip("gcp_storage_emulator.server")
    gcsfs = pytest.importorskip("gcsfs")
    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="bench")
    server.start()
    address = f"http://127.0.0.1:{server._api._httpd.server_port}"
    yield gcsfs.GCSFileSystem(token="anon", project="test", endpoint_url=address, skip_instance_cache=True), address
    server.stop()


def in_bucket(lab: Lab, bucket: Any) -> WatchedSource:
    options = f'{{ token = "anon", project = "test", endpoint_url = "{bucket[1]}" }}'
    lab.configure(f'[ingest.sources.lab]\nlocation = "gs://bench/nightly"\noptions = {options}\n')
    return WatchedSource(lab.instance, "lab", lab.instance.ingest.sources["lab"])


def put(bucket: Any, name: str, commit: str, value: float) -> None:
    results = [{"key": {"benchmark": "sort", "unit": "ms"}, "measurement": value}]
    bucket[0].pipe_file(f"bench/{name}", json.dumps({"version": 1, "git_hash": commit, "results": results}).encode())


@pytest.mark.long
def test_a_bucket_of_google_is_read_once_and_then_for_what_is_new(lab: Lab, bucket: Any) -> None:
    source = in_bucket(lab, bucket)
    put(bucket, "nightly/2026/a b.json", A, 1)
    put(bucket, "elsewhere/b.json", B, 2)
    assert [file.source for file in source.poll().files] == ["gs://bench/nightly/2026/a b.json"]
    assert source.poll().files == ()
    put(bucket, "nightly/2026/a b.json", A, 3)
    assert source.poll().files[0].corrected == 1
    assert lab.values() == {A: {"sort": 3}}


@pytest.mark.parametrize(
    "event",
    [
        {
            "message": {
                "attributes": {"bucketId": "bench", "objectId": "nightly/a.json", "eventType": "OBJECT_FINALIZE"}
            }
        },
        {"type": "google.cloud.storage.object.v1.finalized", "data": {"bucket": "bench", "name": "nightly/a.json"}},
        {"url": "gcs://bench/nightly/a.json"},
    ],
    ids=["pubsub", "cloudevent", "url"],
)
def test_a_notification_of_google_brings_a_file_in_once(lab: Lab, bucket: Any, event: object) -> None:
    in_bucket(lab, bucket)
    put(bucket, "nightly/a.json", A, 1)
    body = json.dumps(event).encode()
    states = [import_bucket_event(lab.instance, body).files[0].state for _ in range(2)]
    assert states == [ImportState.IMPORTED, ImportState.UNCHANGED]


def test_an_object_of_google_that_is_gone_is_nothing(lab: Lab, bucket: Any) -> None:
    in_bucket(lab, bucket)
    assert import_bucket_event(lab.instance, b'{"url": "gs://bench/nightly/a.json"}').files == ()
