from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ingest.conftest import Lab
from tests.repositories import GitRepository

from knickpoint.ingest import ImportState, retry_refused
from knickpoint.ingest.bucket_events import bucket_event_urls, import_bucket_event, quarantine_bucket_event
from knickpoint.ingest.file_import import WatchedSource
from knickpoint.ingest.file_sources import Bucket, may_hold_results
from knickpoint.model.errors import InputError, ServiceError
from knickpoint.model.report import Problem

A, B = "1000001", "1000002"

NewRepository = Callable[[str], GitRepository]


def old(path: Path) -> Path:
    """Make a file look as if it was written long ago."""
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def watched(lab: Lab, settings: str = 'location = "../results"') -> WatchedSource:
    lab.configure(f"[ingest.sources.nightly]\n{settings}\n")
    return WatchedSource(lab.instance, "nightly", lab.instance.ingest.sources["nightly"])


def test_a_folder_is_read_once_and_then_for_what_is_new(lab: Lab) -> None:
    source = watched(lab)
    old(lab.skia("results/a.json", A, sort=1))
    first = source.poll()
    old(lab.skia("results/deep/b.json", B, sort=2))
    second = source.poll()
    assert [len(summary.files) for summary in (first, second, source.poll())] == [1, 1, 0]
    assert lab.values() == {A: {"sort": 1}, B: {"sort": 2}}


def test_a_poll_leaves_what_is_beyond_its_share_for_the_next_one(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knickpoint.ingest.file_import._AT_A_TIME", 2)
    source = watched(lab)
    for number in range(3):
        old(lab.skia(f"results/{number}.json", A, **{f"sort{number}": number}))
    polls = [(len(source.poll().files), source.unfinished) for _ in range(3)]
    assert polls == [(2, True), (1, False), (0, False)]


def test_after_a_start_nothing_comes_in_twice(lab: Lab) -> None:
    old(lab.skia("results/a.json", A, sort=1))
    watched(lab).poll()
    assert [file.state for file in watched(lab).poll().files] == [ImportState.UNCHANGED]


def test_a_file_that_is_still_written_is_left_for_later(lab: Lab) -> None:
    source = watched(lab)
    path = lab.write("results/a.json", '{"version": 1, ')
    assert source.poll().files == ()
    old(path)
    assert [file.state for file in source.poll().files] == [ImportState.REFUSED]


def test_only_names_of_the_pattern_are_taken(lab: Lab) -> None:
    source = watched(lab, 'location = "../results"\npattern = "**/bench-*.json"')
    old(lab.skia("results/bench-1.json", A, sort=1))
    old(lab.skia("results/other.json", B, sort=1))
    assert [Path(file.source).name for file in source.poll().files] == ["bench-1.json"]


def test_what_the_source_says_holds_for_its_files(lab: Lab) -> None:
    source = watched(lab, 'location = "../results"\nparams = { machine = "m1" }\nrepository = "lib"')
    old(lab.skia("results/a.json", A, sort=1))
    source.poll()
    store = lab.instance.store
    assert store.traces.find(store.commits.repository("lib"), ",benchmark=sort,machine=m1,unit=ms,")


def test_sidecars_are_read_and_not_imported(lab: Lab) -> None:
    source = watched(lab)
    old(lab.write("results/a.csv", "benchmark,value\nsort,1\n"))
    old(lab.write("results/knick.sidecar.json", {"commit": B, "environment": {"cpu": "fast"}}))
    old(lab.write("results/a.csv.sidecar.json", {"commit": A}))
    assert len(source.poll().files) == 1
    assert lab.values() == {A: {"sort": 1}}


def test_a_sidecar_that_comes_after_its_file_counts_at_the_next_poll(lab: Lab) -> None:
    source = watched(lab)
    old(lab.write("results/a.csv", "benchmark,value\nsort,3\n"))
    first = source.poll()
    old(lab.write("results/a.csv.sidecar.json", {"commit": A}))
    second = source.poll()
    states = [summary.files[0].state for summary in (first, second)]
    assert states == [ImportState.REFUSED, ImportState.IMPORTED]
    assert source.poll().files == ()


def test_a_folder_that_is_missing_is_reported(lab: Lab) -> None:
    with pytest.raises(ServiceError, match="cannot be read"):
        watched(lab).poll()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start an S3-compatible server on loopback and return a client of it."""
    moto = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    pytest.importorskip("s3fs")
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
    client.create_bucket(Bucket="bench")
    yield client
    client.close()
    urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
    server.stop()


def in_bucket(lab: Lab, client: Any, more: str = "") -> WatchedSource:
    return watched(
        lab, f'location = "s3://bench/nightly"\noptions = {{ endpoint_url = "{client.meta.endpoint_url}" }}\n{more}'
    )


def skia(commit: str, value: float) -> bytes:
    results = [{"key": {"benchmark": "sort", "unit": "ms"}, "measurement": value}]
    return json.dumps({"version": 1, "git_hash": commit, "results": results}).encode()


@pytest.mark.long
def test_a_bucket_is_read_once_and_then_for_what_is_new(lab: Lab, bucket: Any) -> None:
    source = in_bucket(lab, bucket)
    bucket.put_object(Bucket="bench", Key="nightly/2026/a.json", Body=skia(A, 1))
    bucket.put_object(Bucket="bench", Key="elsewhere/b.json", Body=skia(B, 2))
    assert [file.source for file in source.poll().files] == ["s3://bench/nightly/2026/a.json"]
    assert source.poll().files == ()
    bucket.put_object(Bucket="bench", Key="nightly/2026/a.json", Body=skia(A, 3))
    assert source.poll().files[0].corrected == 1
    assert lab.values() == {A: {"sort": 3}}


def failing(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Let the bucket fail to give the objects called so, until the list that is returned is emptied."""
    broken = list(names)
    read = Bucket.read

    def fail(bucket: Bucket, name: str, limit: int) -> bytes | None:
        if name in broken:
            raise ServiceError("the bucket does not answer as it should: 500", where=name)
        return read(bucket, name, limit)

    monkeypatch.setattr(Bucket, "read", fail)
    return broken


def test_an_object_that_cannot_be_read_does_not_keep_others_from_coming_in(
    lab: Lab, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = in_bucket(lab, bucket)
    bucket.put_object(Bucket="bench", Key="nightly/a.json", Body=skia(A, 1))
    bucket.put_object(Bucket="bench", Key="nightly/b.json", Body=skia(B, 2))
    broken = failing(monkeypatch, "a.json")
    assert [file.state for file in source.poll().files] == [ImportState.UNREADABLE, ImportState.IMPORTED]
    assert source.poll().files == ()
    broken.clear()
    assert [file.state for file in source.poll().files] == [ImportState.IMPORTED]


def test_a_place_that_stops_answering_is_left_for_the_next_poll(
    lab: Lab, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = in_bucket(lab, bucket)
    names = [f"{number}.json" for number in range(8)]
    for number, name in enumerate(names):
        bucket.put_object(Bucket="bench", Key=f"nightly/{name}", Body=skia(str(number + 1), 1))
    broken = failing(monkeypatch, *names)
    assert len(source.poll().files) == 5
    broken.clear()
    assert [file.state for file in source.poll().files] == [ImportState.IMPORTED] * 8


def test_an_event_with_a_file_that_cannot_be_read_brings_the_others_in(
    lab: Lab, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_bucket(lab, bucket)
    bucket.put_object(Bucket="bench", Key="nightly/a.json", Body=skia(A, 1))
    bucket.put_object(Bucket="bench", Key="nightly/b.json", Body=skia(B, 2))
    failing(monkeypatch, "a.json")
    records = [json.loads(s3_event(f"nightly/{name}.json"))["Records"][0] for name in "ab"]
    with pytest.raises(ServiceError, match="does not answer"):
        import_bucket_event(lab.instance, json.dumps({"Records": records}).encode())
    assert lab.values() == {B: {"sort": 2}}


def test_a_repository_that_cannot_be_read_does_not_stop_a_poll(lab: Lab, new_repository: NewRepository) -> None:
    made = new_repository("good")
    commit = made.commit()
    lab.configure(
        '[repositories.good]\nlocation = "../good"\n[repositories.gone]\nlocation = "../gone"\n'
        '[ingest.sources.a]\nlocation = "../results"\n'
    )
    source = WatchedSource(lab.instance, "a", lab.instance.ingest.sources["a"])
    for number, repository in enumerate(("gone", "good")):
        old(lab.write(f"results/{number}/a.json", skia(commit, 1)))
        old(lab.write(f"results/{number}/knick.sidecar.json", {"repository": repository}))
    found = {file.state: file.lines()[0] for file in source.poll().files}
    assert found.keys() == {ImportState.UNREADABLE, ImportState.IMPORTED}
    assert "there is no such directory" in found[ImportState.UNREADABLE]


def test_a_notification_brings_a_file_in_and_a_second_delivery_changes_nothing(lab: Lab, bucket: Any) -> None:
    in_bucket(lab, bucket)
    bucket.put_object(Bucket="bench", Key="nightly/a b.json", Body=skia(A, 1))
    event = s3_event("nightly/a+b.json")
    states = [import_bucket_event(lab.instance, event).files[0].state for _ in range(2)]
    assert states == [ImportState.IMPORTED, ImportState.UNCHANGED]


def test_a_file_that_is_gone_when_its_notification_arrives_is_nothing(lab: Lab, bucket: Any) -> None:
    in_bucket(lab, bucket)
    assert import_bucket_event(lab.instance, s3_event("nightly/a.json")).files == ()


def test_a_bucket_that_is_missing_holds_nothing(lab: Lab, bucket: Any) -> None:
    source = watched(lab, f'location = "s3://nowhere/x"\noptions = {{ endpoint_url = "{bucket.meta.endpoint_url}" }}')
    assert source.poll().files == ()


def s3_event(key: str, name: str = "ObjectCreated:Put") -> bytes:
    record = {"eventName": name, "s3": {"bucket": {"name": "bench"}, "object": {"key": key}}}
    return json.dumps({"Records": [record]}).encode()


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (json.loads(s3_event("x/a%2Bb.json")), ["s3://bench/x/a+b.json"]),
        (json.loads(s3_event("x/a.json", "s3:ObjectCreated:Put")), ["s3://bench/x/a.json"]),
        (json.loads(s3_event("x/a.json", "ObjectRemoved:Delete")), []),
        ({"Message": s3_event("a.json").decode()}, ["s3://bench/a.json"]),
        ({"Event": "s3:TestEvent"}, []),
        (
            {"message": {"attributes": {"bucketId": "b", "objectId": "a.json", "eventType": "OBJECT_FINALIZE"}}},
            ["gs://b/a.json"],
        ),
        ({"message": {"attributes": {"bucketId": "b", "objectId": "a.json", "eventType": "OBJECT_DELETE"}}}, []),
        (
            {"type": "google.cloud.storage.object.v1.finalized", "data": {"bucket": "b", "name": "a.json"}},
            ["gs://b/a.json"],
        ),
        ({"url": "s3://bench/a.json"}, ["s3://bench/a.json"]),
    ],
)
def test_events_of_buckets_name_the_files_that_arrived(event: object, names: list[str]) -> None:
    assert bucket_event_urls(json.dumps(event).encode()) == names


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"Records": [{"eventName": "ObjectCreated:Put"}]}', b"[" * 9999])
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(InputError):
        bucket_event_urls(body)


@pytest.mark.parametrize("url", ["s3://other/a.json", "s3://bench/nightly/../secret.json", "/etc/passwd", "file:///x"])
def test_files_outside_of_every_source_are_refused(lab: Lab, url: str) -> None:
    lab.configure('[ingest.sources.a]\nlocation = "s3://bench/nightly"\n[ingest.sources.b]\nlocation = "/etc"\n')
    with pytest.raises(InputError, match="no source"):
        import_bucket_event(lab.instance, json.dumps({"url": url}).encode())


def test_an_event_in_quarantine_brings_its_file_in_once_its_source_is_known(lab: Lab) -> None:
    lab.skia("results/a.json", A, sort=1)
    place = f"file://{lab.directory}/results"
    body = json.dumps({"url": f"{place}/a.json"}).encode()
    quarantine_bucket_event(lab.instance, body, "somewhere", Problem("no source"))
    assert [file.state for file in retry_refused(lab.instance).files] == [ImportState.REFUSED]
    lab.configure(f'[ingest.sources.a]\nlocation = "{place}"\n')
    assert [file.state for file in retry_refused(lab.instance).files] == [ImportState.IMPORTED]
    assert lab.values() == {A: {"sort": 1}}
    assert lab.instance.store.ledger.quarantined() == []


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("a.json", "**/*", True),
        ("a.jsonl", "**/*", True),
        ("x/y/a.json.gz", "**/*", True),
        ("x/.hidden/a.json", "**/*", False),
        ("a.json.sidecar.json", "**/*", False),
        ("knick.sidecar.json", "**/*", False),
        ("README.md", "**/*", False),
        ("a.csv", "**/*.json", False),
        ("x/a.json", "**/*.json", True),
        ("a.json", "**/*.json", True),
    ],
)
def test_names_tell_what_may_hold_results(name: str, pattern: str, *, expected: bool) -> None:
    assert may_hold_results(name, pattern) is expected
