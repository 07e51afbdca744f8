"""Repositories, lines, commits, and what the server says of itself."""

from __future__ import annotations

import numpy as np
import pytest
from tests.server.client import Client
from tests.server.story import COMMITS, FASTER, REPOSITORY, SLOWER, UNMEASURED, commit_hash

from knickpoint.instance import Instance
from knickpoint.store.commit_rows import Release


def test_a_repository_tells_its_size(reader: Client) -> None:
    (repository,) = reader.get("/api/v1/repositories").json()
    assert (repository["name"], repository["commits"], repository["traces"]) == (REPOSITORY, COMMITS, 4)


def test_the_default_line_has_all_commits(reader: Client) -> None:
    (line,) = reader.get("/api/v1/lines").json()
    assert line["commits"] == COMMITS


def test_commits_come_by_position(reader: Client) -> None:
    answer = reader.get("/api/v1/commits", params={"first": 58, "limit": 10}).json()
    assert (answer["total"], answer["first"]) == (COMMITS, 58)
    assert [commit["position"] for commit in answer["commits"]] == [58, 59]


@pytest.mark.parametrize("revision", [commit_hash(7), commit_hash(7)[:39]])
def test_a_commit_is_found_by_its_hash_or_a_prefix(reader: Client, revision: str) -> None:
    assert reader.get(f"/api/v1/commits/{revision}").json()["position"] == 7


def test_times_come_as_binary_numbers(reader: Client) -> None:
    times = np.frombuffer(reader.get("/api/v1/commits/times").content, dtype="<f8")
    assert len(times) == COMMITS
    assert set(np.diff(times)) == {7 * 3600.0}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("commits/ffffffff", 404),
        ("commits?repository=nobody/nothing", 404),
        ("commits?line=nowhere", 404),
        ("commits?first=-1", 422),
        ("commits?limit=lots", 422),
        ("changes?sort=colour", 400),
        ("nothing", 404),
    ],
)
def test_every_error_has_one_shape(reader: Client, path: str, code: int) -> None:
    answer = reader.get(f"/api/v1/{path}")
    assert answer.status_code == code
    assert set(answer.json()) == {"error", "where", "remedy", "request"}
    assert answer.json()["remedy"]


def test_an_instance_without_results_says_how_to_get_some(empty_client: Client) -> None:
    answer = empty_client.get("/api/v1/commits")
    assert answer.status_code == 404
    assert "knick import" in answer.json()["remedy"]


def test_an_instance_without_results_is_healthy(empty_client: Client) -> None:
    health = empty_client.get("/api/v1/health").json()
    assert health == {"status": "ok", "repositories": 0, "workers": [], "troubles": []}


def test_the_server_tells_its_version(reader: Client) -> None:
    assert reader.get("/api/v1/version").json()["name"] == "knickpoint"


def test_the_reference_can_be_read_from_the_server(reader: Client) -> None:
    assert "## GET /api/v1/changes" in reader.get("/api/v1/reference").text


@pytest.mark.parametrize("number", ["-1", "9" * 30, "1e3", "NaN", "%00", "\U0001f40c"])
@pytest.mark.parametrize(
    "path",
    [
        "traces/{}",
        "traces/{}/change-points",
        "traces/0/runs?commit={}",
        "values?traces={}",
        "values?traces=0&first={}",
        "commits?first={}",
        "commits/{}",
        "changes?page={}",
        "changes?minimum_hazard={}",
        "changes?filter={}",
        "triage?finding={}",
        "traces?query={}",
    ],
)
def test_strange_input_is_answered_without_a_defect(reader: Client, path: str, number: str) -> None:
    answer = reader.get(f"/api/v1/{path.format(number)}")
    assert answer.status_code < 500, answer.text


def test_the_report_of_a_commit_has_what_changed_there_and_its_runs(reader: Client) -> None:
    found = reader.get(f"/api/v1/commits/{commit_hash(SLOWER)}/report").json()
    assert [group["traces"] for group in found["changes"]] == [2]
    assert (found["around"], found["verdicts"], found["quarantines"]) == ([], [], [])
    assert (found["previous"]["position"], found["next"]["position"]) == (SLOWER - 1, SLOWER + 1)
    assert (found["points"], found["runs_total"], [run["source"] for run in found["runs"]]) == (4, 1, ["history"])
    assert found["compare"].endswith(f"/ada/engine/compare/{commit_hash(SLOWER - 1)}...{commit_hash(SLOWER)}")


def test_a_commit_within_a_suspect_range_names_the_change_that_may_have_begun_there(reader: Client) -> None:
    within = reader.get(f"/api/v1/commits/{commit_hash(UNMEASURED[2])}/report").json()
    assert (within["changes"], [group["commit"]["hash"] for group in within["around"]]) == ([], [commit_hash(FASTER)])
    outside = reader.get(f"/api/v1/commits/{commit_hash(FASTER + 1)}/report").json()
    assert (outside["changes_total"], outside["around_total"]) == (0, 0)


def test_the_report_of_an_unknown_commit_is_refused(reader: Client) -> None:
    assert reader.get("/api/v1/commits/0000000000/report").status_code == 404


def test_releases_come_newest_first_with_the_commit_that_they_contain(client: Client, instance: Instance) -> None:
    store = instance.store
    (repository,) = store.commits.repositories()
    slots = store.commits.line(repository).slots
    tags = {"v1.10": slots[30], "v1.9": slots[20], "elsewhere": -1}
    store.releases.replace(repository, {name: Release("0" * 40, slot) for name, slot in tags.items()})
    found = client.get("/api/v1/releases", params={"repository": REPOSITORY}).json()
    assert [(each["name"], each["position"]) for each in found] == [("v1.10", 30), ("v1.9", 20), ("elsewhere", None)]
    assert [each["name"] for each in client.get("/api/v1/releases", params={"limit": 1}).json()] == ["v1.10"]
    assert client.get("/api/v1/releases", params={"repository": "nobody/nothing"}).status_code == 404
