"""The list of changes, and triage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import COMMITS, FASTER, SLOWER, commit_hash, make_instance

from knickpoint.access.local_user import local_caller
from knickpoint.instance import Instance, open_instance
from knickpoint.model.change_point import PointUpdate, Transition
from knickpoint.server import create_app
from knickpoint.store.findings.tickets import Ticket
from knickpoint.watch.triage.tickets import put_tickets

URL = "/api/v1/changes"


def groups(client: Client, **parameters: Any) -> list[dict[str, Any]]:
    answer = client.get(URL, params=parameters)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["changes"]
    return found


def members(client: Client, **parameters: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/members", params=parameters)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ids(group: dict[str, Any]) -> list[int]:
    return [member["id"] for member in group["members"]]


def statuses(client: Client) -> dict[int, str]:
    found = [*groups(client), *groups(client, processed=True)]
    return {member["id"]: member["status"] for group in found for member in group["members"]}


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


def test_a_member_has_the_size_of_its_local_levels(reader: Client) -> None:
    for member in (member for group in groups(reader) for member in group["members"]):
        size = member["after_level"] - member["before_level"]
        assert member["size"] == pytest.approx(size)
        assert member["relative_size"] == pytest.approx(size / member["before_level"])
        assert member["movement"] == ("up" if size > 0 else "down")
        assert 0 < member["deviation"] < abs(size)


def test_the_lead_is_the_unprocessed_member_that_got_worse_most(client: Client) -> None:
    worst, other = groups(client)[0]["members"]
    assert worst["relative_size"] > other["relative_size"]
    assert groups(client)[0]["lead"] == worst["id"]
    decide(client, [worst["id"]], "hidden")
    assert [group["lead"] for group in groups(client, processed=True)] == [worst["id"]]
    assert other["id"] in [group["lead"] for group in groups(client)]


def test_lists_are_sorted_by_change_unless_told_otherwise(reader: Client) -> None:
    assert groups(reader) == groups(reader, sort="-change")
    assert groups(reader, sort="change") == groups(reader)[::-1]


def test_only_changes_of_some_size_are_listed(reader: Client) -> None:
    assert [group["traces"] for group in groups(reader, minimum_effect=0.24)] == [1]
    assert groups(reader, minimum_effect=0.9) == []


def test_sizes_are_filtered_in_deviations_of_single_values(reader: Client) -> None:
    everything = [member for group in groups(reader) for member in group["members"]]
    sigmas = {member["id"]: abs(member["size"]) / member["deviation"] for member in everything}
    middle = sorted(sigmas.values())[len(sigmas) // 2]
    listed = [member["id"] for group in groups(reader, minimum_sigma=middle) for member in group["members"]]
    assert set(listed) == {key for key, sigma in sigmas.items() if sigma >= middle}
    assert len(listed) < len(everything)


def test_days_bound_the_commits_of_a_list_and_both_take_part(reader: Client) -> None:
    days = sorted({group["commit"]["time"][:10] for group in groups(reader)})
    found = [group["commit"]["time"][:10] for group in groups(reader, since=days[0], until=days[0])]
    assert set(found) == {days[0]}
    assert groups(reader, until="1999-12-31") == []
    assert len(groups(reader, until="9999-12-31")) == len(groups(reader))


def test_a_finding_that_a_ticket_covers_is_processed_by_it_everywhere(client: Client, instance: Instance) -> None:
    (repository,) = instance.store.commits.repositories()
    slot = instance.store.commits.line(repository).slots[SLOWER]
    put_tickets(instance.store, repository, [Ticket("PERF-1", "benchmark=parse", slot)])
    (group,) = groups(client, processed=True)
    assert [(member["status"], member["matched_ticket"]) for member in group["members"]] == [("ticket", "PERF-1")]
    assert group["statuses"] == {"ticket": 1, "new": 1}
    assert [each["id"] for each in groups(client, processed=True, status="ticket")] == [group["id"]]
    changes = client.get(f"/api/v1/traces/{group['members'][0]['trace']['id']}/change-points").json()["change_points"]
    assert [change["status"] for change in changes] == ["ticket"]


def test_a_group_tells_its_commit_and_its_traces(reader: Client) -> None:
    group = groups(reader)[0]
    assert group["commit"]["subject"] == "Check every bracket"
    assert group["commit"]["author"] == "Ada Lovelace"
    assert group["traces"] == 2
    assert group["directions"] == {"regression": 2}
    assert group["statuses"] == {"new": 2}
    assert group["suspect_range"]["commits"] == 1


def test_commits_that_were_not_measured_are_suspects(reader: Client) -> None:
    place = groups(reader)[1]["suspect_range"]
    assert (place["previous"], place["position"], place["commits"]) == (39, FASTER, 6)
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


def test_members_beyond_the_asked_number_are_counted_and_read_by_page(reader: Client) -> None:
    group = groups(reader, members=1)[0]
    assert ids(group) == ids(group)[:1]
    assert group["traces"] == 2
    first = members(reader, change=group["id"], size=1)
    second = members(reader, change=group["id"], size=1, after=first["after"])
    assert ids(first) + ids(second) == ids(groups(reader)[0])
    assert second["after"] is None


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
        ({"condition": "present"}, [FASTER, SLOWER]),
        ({"condition": "recovered"}, []),
        ({"since": "2026-01-11"}, [FASTER]),
        ({"since": "2026-02-01"}, []),
    ],
)
def test_the_list_is_filtered_as_asked(reader: Client, filtered: dict[str, str], found: list[int]) -> None:
    hashes = {group["commit"]["hash"] for group in groups(reader, **filtered)}
    assert hashes == {commit_hash(position) for position in found}


def test_a_page_beyond_the_last_is_the_last(reader: Client) -> None:
    answer = reader.get(URL, params={"size": 1, "page": 99}).json()
    assert (answer["page"], answer["pages"], answer["total"]) == (2, 2, 2)
    assert answer["changes"][0]["commit"]["hash"] == commit_hash(FASTER)


def test_an_acknowledged_group_is_on_the_processed_list(client: Client) -> None:
    each = ids(groups(client)[0])
    assert decide(client, each, "acknowledged")["changed"] == 2
    assert [group["commit"]["hash"] for group in groups(client)] == [commit_hash(FASTER)]
    assert [ids(group) for group in groups(client, processed=True)] == [each]


def test_one_member_is_acknowledged_and_another_hidden(client: Client) -> None:
    parse, printing = ids(groups(client)[0])
    decide(client, [parse], "acknowledged")
    decide(client, [printing], "hidden")
    members = groups(client, processed=True)[0]["members"]
    assert {member["id"]: member["status"] for member in members} == {parse: "acknowledged", printing: "hidden"}


def test_a_member_that_is_left_stays_on_the_unprocessed_list(client: Client) -> None:
    parse, printing = ids(groups(client)[0])
    decide(client, [parse], "hidden")
    assert [printing] in [ids(group) for group in groups(client)]
    assert client.get(URL).json()["processed"] == 1


def test_a_decision_is_taken_back(client: Client) -> None:
    each = ids(groups(client)[0])
    decide(client, each, "acknowledged")
    decide(client, each, "hidden")
    client.post("/api/v1/triage/undo", json={"ids": each})
    assert {statuses(client)[key] for key in each} == {"acknowledged"}


def test_a_finding_is_put_back(client: Client) -> None:
    each = ids(groups(client)[0])
    decide(client, each, "hidden")
    decide(client, each, "new")
    assert len(groups(client)) == 2


def test_a_ticket_needs_its_key_and_changes_nothing_without(client: Client) -> None:
    each = ids(groups(client)[0])
    answer = client.post("/api/v1/triage", json={"ids": each, "status": "ticket"})
    assert answer.status_code == 400
    assert answer.json()["remedy"]
    assert len(groups(client)) == 2


def test_the_log_of_a_finding_tells_who_decided_what(client: Client) -> None:
    (first, *_) = ids(groups(client)[0])
    decide(client, [first], "ticket", ticket="PERF-7", note="The new check.")
    (entry,) = client.get("/api/v1/triage", params={"finding": first}).json()
    assert (entry["who"], entry["ticket"], entry["note"]) == (local_caller().name, "PERF-7", "The new check.")


@pytest.mark.parametrize(
    "path", ["/api/v1/triage", "/api/v1/triage/undo", "/api/v1/triage/split", "/api/v1/triage/merge"]
)
def test_nobody_decides_under_the_name_of_another_one(client: Client, path: str) -> None:
    answer = client.post(path, json={"ids": [1], "who": "the boss"})
    assert (answer.status_code, answer.json()["where"]) == (422, "who")


def test_an_unknown_finding_is_named(client: Client) -> None:
    known = ids(groups(client)[0])
    answer = client.post("/api/v1/triage", json={"ids": [*known, 99_999], "status": "hidden"})
    assert answer.status_code == 404
    assert "99999" in answer.json()["error"]
    assert len(groups(client)) == 2


def test_an_instance_without_results_has_an_empty_list(empty_client: Client) -> None:
    answer = empty_client.get(URL).json()
    assert (answer["changes"], answer["pages"], answer["unprocessed"]) == ([], 1, 0)


def regroup(client: Client, how: str, **what: list[int]) -> dict[str, Any]:
    answer = client.post(f"/api/v1/triage/{how}", json=what)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_trace_that_is_set_apart_makes_a_group_of_its_own(client: Client) -> None:
    first, _ = groups(client)
    answer = regroup(client, "split", ids=[ids(first)[1]])
    now = groups(client)
    assert [len(ids(group)) for group in now] == [1, 1, 1]
    assert {group["id"] for group in answer["changes"]} == {group["id"] for group in now[:2]}


def test_a_decision_whose_answer_was_lost_is_answered_alike_and_undone_at_once(client: Client) -> None:
    body = {"ids": ids(groups(client)[0]), "status": "hidden", "note": "noise"}
    lost, answer = (client.post("/api/v1/triage", json=body).json() for _ in range(2))
    assert answer["entries"] == lost["entries"]
    client.post("/api/v1/triage/undo", json={"entries": answer["entries"]})
    assert {member["status"] for member in groups(client)[0]["members"]} == {"new"}


def test_two_commits_make_one_group_until_that_is_undone(client: Client) -> None:
    before = groups(client)
    answer = regroup(client, "merge", changes=[group["id"] for group in before])
    (merged,) = groups(client)
    assert sorted(ids(merged)) == sorted(ids(before[0]) + ids(before[1]))
    assert answer["changes"] == [merged]
    assert answer["left"] == [group["id"] for group in before if group["id"] != merged["id"]]
    undone = client.post("/api/v1/triage/undo", json={"entries": answer["entries"]}).json()
    assert [ids(group) for group in groups(client)] == [ids(group) for group in before]
    assert {group["id"] for group in undone["changes"]} == {group["id"] for group in groups(client)}


@pytest.mark.parametrize(("body", "code"), [({}, 400), ({"ids": [4711]}, 404), ({"changes": [4711]}, 404)])
def test_nothing_cannot_be_merged(client: Client, body: dict[str, list[int]], code: int) -> None:
    assert client.post("/api/v1/triage/merge", json=body).status_code == code


def test_what_later_data_no_longer_show_is_history(client: Client, instance: Instance) -> None:
    repository = instance.store.commits.repositories()[0]
    group = groups(client)[0]
    member = group["members"][0]
    point = int(member["id"].removeprefix("P"))
    gone = PointUpdate(Transition.GONE, point, member["trace"]["id"], ())
    instance.store.findings.apply(repository, [gone], {})
    instance.store.findings.groups.refresh([point])
    (history,) = groups(client, gone=True)
    assert (ids(history), history["members"][0]["condition"]) == ([member["id"]], "gone")
    assert history["statuses"]
    assert client.get(URL).json()["gone"] == 1
    assert member["id"] not in [each for group in groups(client) for each in ids(group)]


def test_what_is_gone_from_a_trace_is_told_apart_and_parts_no_levels(client: Client, instance: Instance) -> None:
    member = groups(client)[0]["members"][0]
    key = member["trace"]["id"]
    gone = PointUpdate(Transition.GONE, int(member["id"].removeprefix("P")), key, ())
    instance.store.findings.apply(instance.store.commits.repositories()[0], [gone], {})
    answer = client.get(f"/api/v1/traces/{key}/change-points").json()
    assert [each["id"] for each in answer["gone"]] == [member["id"]]
    assert (answer["change_points"], len(answer["regions"])) == ([], 1)


def test_a_whole_group_is_decided_about_by_its_id(client: Client) -> None:
    group = groups(client)[0]
    answer = client.post("/api/v1/triage", json={"changes": [group["id"]], "status": "hidden"}).json()
    assert (answer["changed"], answer["left"], answer["changes"]) == (2, [group["id"]], [])
    assert (answer["unprocessed"], answer["processed"]) == (1, 1)
    assert {statuses(client)[key] for key in ids(group)} == {"hidden"}


def test_a_member_left_out_of_a_group_stays_on_the_list(client: Client) -> None:
    group = groups(client)[0]
    kept, gone = ids(group)
    body = {"changes": [group["id"]], "without": [kept], "status": "acknowledged"}
    (now,) = client.post("/api/v1/triage", json=body).json()["changes"]
    assert (ids(now), now["traces"], now["statuses"]) == ([kept], 1, {"new": 1, "acknowledged": 1})
    assert statuses(client)[gone] == "acknowledged"


def test_a_note_keeps_the_status_of_each_finding(client: Client) -> None:
    first, second = ids(groups(client)[0])
    decide(client, [first], "hidden")
    answer = client.post("/api/v1/triage", json={"ids": [first, second], "note": "seen before"})
    assert answer.status_code == 200, answer.text
    assert (statuses(client)[first], statuses(client)[second]) == ("hidden", "new")
    noted = [
        member["note"]
        for each in (False, True)
        for group in groups(client, processed=each)
        for member in group["members"]
    ]
    assert noted.count("seen before") == 2


def test_a_decision_on_a_filtered_list_is_about_the_members_that_it_shows(client: Client) -> None:
    group = groups(client)[0]
    body = {"changes": [group["id"]], "status": "hidden", "filter": {"filter": "benchmark=print"}}
    answer = client.post("/api/v1/triage", json=body).json()
    assert (answer["changed"], answer["left"], answer["unprocessed"]) == (1, [group["id"]], 0)
    assert len(groups(client)) == 2


def test_an_undo_of_a_decision_leaves_what_others_decided_since(client: Client) -> None:
    each = ids(groups(client)[0])
    first = decide(client, each, "acknowledged")
    decide(client, each[:1], "hidden")
    answer = client.post("/api/v1/triage/undo", json={"entries": first["entries"]}).json()
    assert answer["changed"] == 1
    assert (statuses(client)[each[0]], statuses(client)[each[1]]) == ("hidden", "new")
    again = client.post("/api/v1/triage/undo", json={"entries": first["entries"]})
    assert again.status_code == 400
    assert "left to undo" in again.json()["error"]


@pytest.mark.parametrize(("body", "code"), [({"changes": [4711]}, 404), ({"ids": []}, 400), ({"ids": [4711]}, 404)])
def test_a_decision_about_nothing_is_refused(client: Client, body: dict[str, list[int]], code: int) -> None:
    answer = client.post("/api/v1/triage", json={**body, "status": "hidden"})
    assert answer.status_code == code
    assert answer.json()["remedy"]


def test_the_page_of_members_goes_on_behind_a_member_that_has_left(client: Client) -> None:
    group = groups(client)[0]
    first, second = ids(group)
    decide(client, [first], "hidden")
    assert ids(members(client, change=group["id"], after=first)) == [second]


@pytest.mark.parametrize(("parameters", "code"), [({"change": 4711}, 404), ({"change": 1, "after": 4711}, 400)])
def test_members_of_what_is_not_there_are_refused(reader: Client, parameters: dict[str, int], code: int) -> None:
    answer = reader.get("/api/v1/members", params=parameters)
    assert answer.status_code == code
    assert "4711" in answer.json()["error"]


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of an instance of which everything that was found is history."""
    directory = tmp_path_factory.mktemp("years") / "instance"
    make_instance(directory, as_work=False)
    with open_instance(directory) as opened:
        yield Client(create_app(opened))


def test_history_has_a_list_of_its_own_and_is_not_counted_as_unprocessed(years: Client) -> None:
    answer = years.get(URL).json()
    assert (answer["unprocessed"], answer["history"], answer["changes"]) == (0, 2, [])
    listed = groups(years, history=True)
    assert [group["history"] for group in listed] == [True, True]
    assert {member["history"] for group in listed for member in group["members"]} == {True}


def test_changes_of_a_trace_say_that_they_are_history(years: Client) -> None:
    member = groups(years, history=True)[0]["members"][0]
    changes = years.get(f"/api/v1/traces/{member['trace']['id']}/change-points").json()["change_points"]
    assert [change["history"] for change in changes] == [True]


def test_the_boundary_of_history_is_told_with_what_lies_on_either_side(years: Client) -> None:
    (answer,) = years.get("/api/v1/history").json()
    assert answer["commit"]["hash"] == commit_hash(COMMITS - 1)
    assert (answer["history"], answer["work"], answer["history_changes"], answer["who"]) == (3, 0, 2, "")


def test_where_nothing_is_history_there_is_no_boundary(reader: Client) -> None:
    (answer,) = reader.get("/api/v1/history").json()
    assert (answer["commit"], answer["history"], answer["work"]) == (None, 0, 3)


def test_history_that_was_decided_about_is_processed_until_it_is_undone(tmp_path: Path) -> None:
    make_instance(tmp_path / "instance", as_work=False)
    with open_instance(tmp_path / "instance") as opened:
        client = Client(create_app(opened))
        group = groups(client, history=True)[0]
        decided = decide(client, ids(group), "hidden")
        assert [each["id"] for each in groups(client, processed=True)] == [group["id"]]
        assert groups(client, processed=True)[0]["history"]
        client.post("/api/v1/triage/undo", json={"entries": decided["entries"]})
        assert len(groups(client, history=True)) == 2


def test_metrics_count_history_apart(years: Client) -> None:
    text = years.get("/api/v1/metrics").text
    assert 'knickpoint_changes_unprocessed{repository="ada/engine"} 0' in text
    assert 'knickpoint_changes_history{repository="ada/engine"} 2' in text


def test_the_newest_entry_of_the_log_grows_with_each_decision_and_undo(client: Client) -> None:
    def newest() -> int:
        return int(client.get("/api/v1/triage/last").json()["entry"])

    point = client.get("/api/v1/changes").json()["changes"][0]["members"][0]["id"]
    entries = [newest()]
    for address, body in (("", {"status": "hidden"}), ("/undo", {})):
        assert client.post(f"/api/v1/triage{address}", json={"ids": [point], **body}).status_code == 200
        entries.append(newest())
    assert entries[0] == 0
    assert entries == sorted(set(entries))


def test_the_list_of_all_has_what_is_decided_about_and_what_is_not(client: Client) -> None:
    decide(client, ids(groups(client)[0]), "hidden")
    found = groups(client, all=True, sort="-date", alert="default")
    assert [group["commit"]["hash"] for group in found] == [commit_hash(FASTER), commit_hash(SLOWER)]
    assert [group["statuses"] for group in found] == [{"new": 1}, {"hidden": 2}]
    assert client.get(URL).json()["all"] == 2
    assert [group["commit"]["hash"] for group in groups(client, all=True, status="new")] == [commit_hash(FASTER)]
    assert client.get("/api/v1/changes", params={"all": True, "alert": "another"}).status_code == 400


def test_a_change_tells_its_newest_decision_until_that_is_undone(client: Client) -> None:
    first, second = ids(groups(client)[0])
    decide(client, [first], "hidden", note="noise")
    decide(client, [second], "ticket", ticket="PERF-7", note="The new check.")
    last, none = groups(client, all=True)[0]["decided"], groups(client, all=True)[1]["decided"]
    told = (last["finding"], last["status"], last["ticket"], last["note"], last["who"])
    assert told == (second, "ticket", "PERF-7", "The new check.", local_caller().name)
    assert none is None
    client.post("/api/v1/triage/undo", json={"ids": [second]})
    assert groups(client, all=True)[0]["decided"]["note"] == "noise"
    client.post("/api/v1/triage/undo", json={"ids": [first]})
    assert groups(client, all=True)[0]["decided"] is None


def test_a_decision_on_the_list_of_all_keeps_the_change_there(client: Client) -> None:
    group = groups(client, all=True)[0]
    body = {"changes": [group["id"]], "status": "acknowledged", "filter": {"all": True}}
    answer = client.post("/api/v1/triage", json=body).json()
    assert (answer["changed"], answer["left"], answer["all"]) == (2, [], 2)
    assert answer["changes"][0]["statuses"] == {"acknowledged": 2}


def test_a_change_says_what_it_is_by_its_statement(reader: Client) -> None:
    group = groups(reader)[0]
    statement = group["statement"]
    assert (statement["direction"], statement["condition"], statement["lead"]) == (
        "regression",
        "present",
        group["lead"],
    )
    assert statement["headline"] == "2 slower by up to 25 %"
    assert (statement["worse"], statement["better"], statement["undirected"]) == (2, 0, 0)


@pytest.mark.parametrize(
    ("word", "text", "remedy"),
    [
        ("alert", "defualt", "Did you mean 'default'?"),
        ("ticket", "PERF-999", "There is none yet."),
        ("assignee", "grcae", "Did you mean 'grace'?"),
    ],
)
def test_a_filter_by_a_name_that_nothing_has_is_refused_with_the_nearest(
    client: Client, word: str, text: str, remedy: str
) -> None:
    [first, *_] = ids(groups(client)[0])
    decide(client, [first], "acknowledged", assignee="grace")
    answer = client.get("/api/v1/changes", params={word: text})
    assert answer.status_code == 400
    found = answer.json()
    assert (found["error"], found["where"], found["remedy"]) == (f"No change has the {word} {text!r}.", word, remedy)
    assert client.get("/api/v1/changes", params={"assignee": "grace", "kind": "drift"}).json()["total"] == 0
