"""What a caller may not read does not exist: its ids give the errors of unused ids, and decisions are all or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.server.client import Client, error_of
from tests.server.story import REPOSITORY, TOKEN
from tests.server.two_repositories import CLOSED, Closed, find_closed, make_two_repositories, sign_in

from knickpoint.access.tokens import create_token
from knickpoint.instance import Instance, open_instance
from knickpoint.model.access import Permission
from knickpoint.server import create_app

UNUSED = 9_999_999


@dataclass(frozen=True)
class Served:
    """A server of two repositories, what the closed one has, and a finding of the other one."""

    instance: Instance
    client: Client
    closed: Closed
    finding: int

    def get(self, person: str, path: str, **parameters: object) -> httpx.Response:
        return self.client.get(f"/api/v1/{path}", params=parameters, headers=sign_in(self.instance, person))

    def post(self, person: str, path: str, **body: Any) -> httpx.Response:
        return self.client.post(f"/api/v1/{path}", json=body, headers=sign_in(self.instance, person))

    def decisions(self, finding: int) -> list[tuple[str, str]]:
        return [(entry.action.value, entry.who) for entry in self.instance.store.findings.triage.entries([finding])]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("visible") / "instance"
    make_two_repositories(directory)
    with open_instance(directory) as instance:
        store = instance.store
        other = store.findings.changes(store.commits.repository(REPOSITORY))[0]
        yield Served(instance, Client(create_app(instance)), find_closed(store), other.members[0].id)


def outcome(answer: httpx.Response, *ids: object) -> tuple[int, str]:
    """Return the status and the text of an answer without the ids that it repeats."""
    text = str(error_of(answer)) if answer.is_error else answer.text
    for each in ids:
        text = text.replace(str(each), "ID")
    return answer.status_code, text


@pytest.mark.parametrize(
    ("path", "parameters", "kind"),
    [
        ("traces/ID", {}, "trace"),
        ("traces/ID/change-points", {}, "trace"),
        ("traces/ID/explanation", {}, "trace"),
        ("values", {"traces": "ID"}, "trace"),
        ("members", {"change": "ID"}, "change"),
        ("triage", {"finding": "ID"}, "finding"),
        ("shortcuts/ID", {}, "short_id"),
        ("formulas", {"formula": 'shortcut("ID")'}, "short_id"),
        ("changes", {"repository": "ID"}, "name"),
        ("history", {"repository": "ID"}, "name"),
        ("traces", {"repository": "ID"}, "name"),
        ("commits/0000000", {"repository": "ID"}, "name"),
    ],
)
def test_what_is_closed_gives_the_error_of_what_is_not_there(
    served: Served, path: str, parameters: Mapping[str, str], kind: str
) -> None:
    wanted, unused = (CLOSED, "grace/nothing") if kind == "name" else (getattr(served.closed, kind), UNUSED)
    answers = []
    for each in (wanted, unused):
        filled = {name: value.replace("ID", str(each)) for name, value in parameters.items()}
        answers.append(outcome(served.get("partner", path.replace("ID", str(each)), **filled), each))
    assert answers[0] == answers[1]
    assert answers[0][0] in {400, 404}


@pytest.mark.parametrize("path", ["triage", "triage/undo", "triage/split", "triage/merge"])
def test_who_may_not_see_a_finding_cannot_decide_about_it_beside_others(served: Served, path: str) -> None:
    status = {"status": "hidden"} if path == "triage" else {}
    before = served.decisions(served.finding)
    answers = [
        outcome(served.post("partner", path, ids=[served.finding, each], **status), each)
        for each in (served.closed.finding, UNUSED)
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == 404
    assert (served.decisions(served.finding), served.decisions(served.closed.finding)) == (before, [])


def test_a_decision_about_several_repositories_needs_the_permission_in_each(served: Served) -> None:
    before = served.decisions(served.finding)
    refused = served.post("half", "triage", ids=[served.finding, served.closed.finding], status="hidden")
    assert refused.status_code == 403
    assert CLOSED in refused.json()["error"]
    assert (served.decisions(served.finding), served.decisions(served.closed.finding)) == (before, [])


def test_a_decision_is_logged_under_the_name_of_the_person(served: Served) -> None:
    assert served.post("half", "triage", ids=[served.finding], status="hidden").status_code == 200
    assert served.decisions(served.finding)[-1] == ("decide", "half (company)")


def test_an_undo_leaves_alone_what_is_not_visible(served: Served) -> None:
    ids = [served.finding, served.closed.decided]
    entries = served.post("admin", "triage", ids=ids, status="acknowledged").json()["entries"]
    assert served.post("partner", "triage/undo", entries=entries).json()["changed"] == 1
    assert served.decisions(served.finding)[-1] == ("undo", "partner (company)")
    assert served.decisions(served.closed.decided)[-1] == ("decide", "admin (company)")
    again = served.post("partner", "triage/undo", entries=entries)
    assert "nothing of this decision is left" in again.text.lower()


def test_a_page_of_members_does_not_go_on_behind_a_finding_that_is_not_visible(served: Served) -> None:
    (group, *_) = served.get("partner", "changes").json()["changes"]
    behind = [
        outcome(served.get("partner", "members", change=group["id"], after=each), each)
        for each in (served.closed.finding, UNUSED)
    ]
    assert behind[0] == behind[1]


def test_an_upload_does_not_touch_a_file_of_its_name_in_another_repository(served: Served) -> None:
    store = served.instance.store
    limited = create_token(store, "limited", [Permission.UPLOAD], by="test", repositories=[REPOSITORY]).secret
    for token, repository in ((TOKEN, CLOSED), (limited, REPOSITORY)):
        answer = served.client.post(
            "/api/v1/results",
            params={"name": "nightly", "repository": repository},
            content=f"not results, of {repository}",
            headers={"authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 400
    refused = [held.source for held in store.ledger.quarantined(payloads=False)]
    assert refused == ["upload:nightly", f"upload:{REPOSITORY}:nightly"]


def test_lists_and_counts_are_those_of_the_repositories_that_are_visible(served: Served) -> None:
    counts = ("unprocessed", "processed", "history", "gone", "total")
    of_both = served.get("viewer", "changes").json()
    of_one = served.get("viewer", "changes", repository=REPOSITORY).json()
    seen = served.get("neighbour", "changes").json()
    assert [seen[name] for name in counts] == [of_one[name] for name in counts] != [of_both[name] for name in counts]
    assert {group["repository"] for group in seen["changes"]} == {REPOSITORY}
    assert [each["name"] for each in served.get("neighbour", "repositories").json()] == [REPOSITORY]
    assert served.get("neighbour", "health").json()["repositories"] == 1


def test_the_only_visible_repository_need_not_be_named(served: Served) -> None:
    assert served.get("neighbour", "traces").json()["traces"][0]["repository"] == REPOSITORY
    asked = served.get("viewer", "traces")
    assert (asked.status_code, CLOSED in asked.json()["remedy"]) == (400, True)


def test_a_run_of_an_alert_for_all_repositories_does_not_tell_its_size(served: Served) -> None:
    counted = {each["name"]: each["traces"] for each in served.get("viewer", "alerts").json()}
    seen = {each["name"]: each["traces"] for each in served.get("neighbour", "alerts").json()}
    assert counted["all"] == 4
    assert seen == {"all": None}


def test_the_reason_why_a_worker_fails_is_for_who_may_read_everything(served: Served) -> None:
    served.instance.store.workers.report("one", started=1e9, failures=1, reason=f"{CLOSED} cannot be read")
    assert CLOSED in served.get("viewer", "health").text
    assert CLOSED not in served.get("neighbour", "health").text
    assert served.client.get("/api/v1/health").json()["workers"] == []


def test_metrics_have_no_series_of_a_closed_repository_and_count_events_for_who_reads_all(served: Served) -> None:
    viewer, neighbour = (served.get(person, "metrics").text for person in ("viewer", "neighbour"))
    assert f'knickpoint_traces{{repository="{CLOSED}"}} 4.0' in viewer
    assert f'knickpoint_traces{{repository="{REPOSITORY}"}} 4.0' in neighbour
    assert "knickpoint_events_failed" in viewer
    assert "knickpoint_events_failed" not in neighbour


def test_a_short_id_of_visible_traces_is_there(served: Served) -> None:
    trace = served.get("neighbour", "traces").json()["traces"][0]["key"]
    name = served.post("neighbour", "shortcuts", keys=[trace]).json()["id"]
    assert served.get("neighbour", f"shortcuts/{name}").json()["keys"] == [trace]
