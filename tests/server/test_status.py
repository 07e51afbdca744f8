"""The status of an instance, and trying files and events again."""

from __future__ import annotations

from tests.server.client import Client
from tests.server.story import COMMITS, REPOSITORY

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.held_files import remove_runs
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance


def test_the_status_has_files_events_workers_and_the_store(reader: Client) -> None:
    found = reader.get("/api/v1/status").json()
    assert found["files"]["counts"] == {"stored": 1, "waiting": 0, "quarantined": 0, "removed": 0}
    assert [(file["source"], file["state"]) for file in found["files"]["recent"]] == [("history", "stored")]
    assert (found["workers"], found["devices"], found["dead_events"]) == ([], [], [])
    assert (found["store"]["traces"], found["store"]["commits"]) == (4, COMMITS)


def test_a_refused_file_is_listed_with_its_reason_and_can_be_tried_again(client: Client, instance: Instance) -> None:
    import_data(instance, b"no results", source="ci 7", stated=Sidecar(repository=REPOSITORY))
    (refused,) = client.get("/api/v1/status").json()["files"]["refused"]
    assert (refused["source"], refused["attempts"]) == ("ci 7", 1)
    assert "format" in refused["error"]
    answer = client.post("/api/v1/status/retry", json={"files": [refused["id"]]}).json()
    assert [file["source"] for file in answer["files"]] == ["ci 7"]
    assert "refused" in answer["files"][0]["lines"][0]
    (again,) = client.get("/api/v1/status").json()["files"]["refused"]
    assert again["attempts"] == 2


def test_a_file_whose_runs_were_removed_is_listed_as_removed(client: Client, instance: Instance) -> None:
    (repository,) = instance.store.commits.repositories()
    runs = [run for run, _ in instance.store.runs.newest(repository, source="history")]
    remove_runs(instance.store, repository, runs, who="ada")
    files = client.get("/api/v1/status").json()["files"]
    assert (files["counts"]["removed"], files["counts"]["stored"]) == (1, 0)
    assert [(file["source"], file["state"]) for file in files["recent"]] == [("history", "removed")]


def test_a_file_that_is_not_there_cannot_be_tried_again(client: Client) -> None:
    answer = client.post("/api/v1/status/retry", json={"files": [77]})
    assert (answer.status_code, "77" in answer.json()["error"]) == (400, True)
