"""The list of regressions, and triage."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.asking import Client
from tests.server.story import FASTER, SLOWER, commit_hash

from knickpoint.instance import Instance
from knickpoint.model.regression import Change, PointChange

URL = "/api/v1/regressions"


def groups(client: Client, **parameters: Any) -> list[dict[str, Any]]:
    answer = client.get(URL, params=parameters)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["groups"]
    return found


def decide(client: Client, ids: list[int], status: str, **more: str) -> dict[str, Any]:
    answer = client.post("/api/v1/triage", json={"ids": ids, "status": status, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_findings_are_grouped_by_commit_with_the_strongest_first(reader: Client) -> None:
    first, second = groups(reader)
    assert first["commit"]["hash"] == commit_hash(SLOWER)
    assert second["commit"]["hash"] == commit_hash(FASTER)
    assert abs(first["hazard"]) > abs(second["hazard"])


def test_a_group_tells_its_commit_and_its_traces(reader: Client) -> None:
    group = groups(reader)[0]
    assert group["commit"]["subject"] == "Check every bracket"
    assert group["commit"]["author"] == "Ada Lovelace"
    assert group["traces"] == 2
    assert group["directions"] == {"regression": 2}
    assert group["statuses"] == {"new": 2}
    assert group["place"]["suspects"] == 1


def test_commits_that_were_not_measured_are_suspects(reader: Client) -> None:
    place = groups(reader)[1]["place"]
    assert (place["previous"], place["position"], place["suspects"]) == (39, FASTER, 6)
    assert place["previous_hash"] == commit_hash(39)


def test_a_member_tells_its_levels_with_their_unit(reader: Client) -> None:
    member = groups(reader)[0]["members"][0]
    assert member["trace"]["params"]["benchmark"] == "parse"
    assert member["trace"]["unit"] == "ns/iter"
    assert member["before"]["mean"] == pytest.approx(1000, rel=0.01)
    assert member["after"]["mean"] == pytest.approx(1250, rel=0.01)
    assert member["relative_size"] == pytest.approx(0.25, abs=0.01)


def test_a_sparkline_breaks_where_the_new_level_begins(reader: Client) -> None:
    spark = groups(reader)[0]["members"][0]["sparkline"]
    before, after = spark["values"][: spark["split"]], spark["values"][spark["split"] :]
    assert len(before) == len(after) == 24
    assert max(before) < min(after)


def test_members_beyond_the_asked_number_are_told_by_id_only(reader: Client) -> None:
    group = groups(reader, members=1)[0]
    assert len(group["members"]) == 1
    assert len(group["ids"]) == 2


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("-hazard", SLOWER),
        ("hazard", FASTER),
        ("-date", FASTER),
        ("date", SLOWER),
        ("-traces", SLOWER),
        ("author", SLOWER),
        ("subject", SLOWER),
        ("-subject", FASTER),
    ],
)
def test_the_list_is_sorted_as_asked(reader: Client, sort: str, first: int) -> None:
    assert groups(reader, sort=sort)[0]["commit"]["hash"] == commit_hash(first)


@pytest.mark.parametrize(
    ("filtered", "found"),
    [
        ({"filter": "bracket"}, [SLOWER]),
        ({"filter": "GRACE"}, [FASTER]),
        ({"filter": "benchmark=load"}, [FASTER]),
        ({"filter": "bracket load"}, []),
        ({"direction": "regression"}, [SLOWER]),
        ({"direction": "improvement"}, [FASTER]),
        ({"minimum_hazard": 0.222}, [FASTER, SLOWER]),
        ({"minimum_hazard": 0.5}, []),
    ],
)
def test_the_list_is_filtered_as_asked(reader: Client, filtered: dict[str, str], found: list[int]) -> None:
    hashes = {group["commit"]["hash"] for group in groups(reader, **filtered)}
    assert hashes == {commit_hash(position) for position in found}


def test_a_page_beyond_the_last_is_the_last(reader: Client) -> None:
    answer = reader.get(URL, params={"size": 1, "page": 99}).json()
    assert (answer["page"], answer["pages"], answer["groups_total"]) == (2, 2, 2)
    assert answer["groups"][0]["commit"]["hash"] == commit_hash(FASTER)


def test_an_acknowledged_group_is_on_the_processed_list(client: Client) -> None:
    ids = groups(client)[0]["ids"]
    assert decide(client, ids, "acknowledged")["changed"] == 2
    assert [group["commit"]["hash"] for group in groups(client)] == [commit_hash(FASTER)]
    assert [group["ids"] for group in groups(client, processed=True)] == [ids]


def test_one_member_is_acknowledged_and_another_hidden(client: Client) -> None:
    parse, printing = groups(client)[0]["ids"]
    decide(client, [parse], "acknowledged")
    decide(client, [printing], "hidden")
    members = groups(client, processed=True)[0]["members"]
    assert {member["id"]: member["status"] for member in members} == {parse: "acknowledged", printing: "hidden"}


def test_a_member_that_is_left_stays_on_the_unprocessed_list(client: Client) -> None:
    parse, printing = groups(client)[0]["ids"]
    decide(client, [parse], "hidden")
    assert [printing] in [group["ids"] for group in groups(client)]
    assert client.get(URL).json()["processed"] == 1


def test_a_decision_is_taken_back(client: Client) -> None:
    ids = groups(client)[0]["ids"]
    decide(client, ids, "acknowledged")
    decide(client, ids, "hidden")
    answer = client.post("/api/v1/triage/undo", json={"ids": ids}).json()
    assert set(answer["statuses"].values()) == {"acknowledged"}


def test_a_finding_is_put_back(client: Client) -> None:
    ids = groups(client)[0]["ids"]
    decide(client, ids, "hidden")
    decide(client, ids, "new")
    assert len(groups(client)) == 2


def test_a_ticket_needs_its_key_and_changes_nothing_without(client: Client) -> None:
    ids = groups(client)[0]["ids"]
    answer = client.post("/api/v1/triage", json={"ids": ids, "status": "ticket"})
    assert answer.status_code == 400
    assert answer.json()["remedy"]
    assert len(groups(client)) == 2


def test_the_log_of_a_finding_tells_who_decided_what(client: Client) -> None:
    (first, *_) = groups(client)[0]["ids"]
    decide(client, [first], "ticket", ticket="PERF-7", note="The new check.", who="ada")
    (entry,) = client.get("/api/v1/triage", params={"finding": first}).json()
    assert (entry["who"], entry["ticket"], entry["note"]) == ("ada", "PERF-7", "The new check.")


def test_an_unknown_finding_is_named(client: Client) -> None:
    known = groups(client)[0]["ids"]
    answer = client.post("/api/v1/triage", json={"ids": [*known, 99_999], "status": "hidden"})
    assert answer.status_code == 400
    assert "99999" in answer.json()["error"]
    assert len(groups(client)) == 2


def test_an_instance_without_results_has_an_empty_list(empty_client: Client) -> None:
    answer = empty_client.get(URL).json()
    assert (answer["groups"], answer["pages"], answer["unprocessed"]) == ([], 1, 0)


def regroup(client: Client, how: str, **what: list[int]) -> dict[str, Any]:
    answer = client.post(f"/api/v1/triage/{how}", json=what)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_trace_that_is_set_apart_makes_a_group_of_its_own(client: Client) -> None:
    first, _ = groups(client)
    answer = regroup(client, "split", ids=[first["ids"][1]])
    assert [len(group["ids"]) for group in groups(client)] == [1, 1, 1]
    assert answer["regressions"] != {str(first["ids"][1]): first["id"]}


def test_two_commits_make_one_group_until_that_is_undone(client: Client) -> None:
    before = groups(client)
    answer = regroup(client, "merge", regressions=[group["id"] for group in before])
    (merged,) = groups(client)
    assert sorted(merged["ids"]) == sorted(before[0]["ids"] + before[1]["ids"])
    assert set(answer["regressions"].values()) == {merged["id"]}
    client.post("/api/v1/triage/undo", json={"ids": merged["ids"]})
    assert [group["ids"] for group in groups(client)] == [group["ids"] for group in before]


@pytest.mark.parametrize("body", [{}, {"ids": [4711]}, {"regressions": [4711]}])
def test_nothing_cannot_be_merged(client: Client, body: dict[str, list[int]]) -> None:
    assert client.post("/api/v1/triage/merge", json=body).status_code == 400


def test_what_later_data_no_longer_show_is_history(client: Client, instance: Instance) -> None:
    repository = instance.store.commits.repositories()[0]
    group = groups(client)[0]
    member = group["members"][0]
    gone = PointChange(Change.GONE, member["id"], member["trace"]["id"], ())
    instance.store.findings.apply(repository, [gone], {})
    instance.store.findings.refresh([member["id"]])
    (history,) = groups(client, gone=True)
    assert (history["ids"], history["members"][0]["condition"]) == ([member["id"]], "gone")
    assert history["statuses"]
    assert client.get(URL).json()["gone"] == 1
    assert member["id"] not in [own for group in groups(client) for own in group["ids"]]


def test_what_is_gone_from_a_trace_is_told_apart_and_parts_no_levels(client: Client, instance: Instance) -> None:
    member = groups(client)[0]["members"][0]
    key = member["trace"]["id"]
    gone = PointChange(Change.GONE, member["id"], key, ())
    instance.store.findings.apply(instance.store.commits.repositories()[0], [gone], {})
    answer = client.get(f"/api/v1/traces/{key}/changes").json()
    assert [own["id"] for own in answer["gone"]] == [member["id"]]
    assert (answer["changes"], len(answer["regions"])) == ([], 1)
