"""``knick changes``: filters, order, limit and suspects."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from .conftest import Knick, api
from .conftest import change_points as listed


@pytest.mark.usefixtures("judged")
def test_the_worst_worsening_comes_first_and_improvements_last(knick: Knick) -> None:
    ranks = {"regression": 0, "unknown": 1, "improvement": 2}
    leads = list({row["change"]: row for row in reversed(listed(knick))}.values())[::-1]
    assert [ranks[row["direction"]] for row in leads] == sorted(ranks[row["direction"]] for row in leads)
    sizes = [abs(row["relative_size"]) for row in leads if row["direction"] == "regression"]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.usefixtures("judged")
def test_the_size_is_that_of_the_local_levels(knick: Knick) -> None:
    for row in listed(knick):
        change = row["after_level"] - row["before_level"]
        assert row["relative_size"] == pytest.approx(change / abs(row["before_level"]))
        assert row["deviation"] >= 0


@pytest.mark.usefixtures("judged")
def test_the_hazard_level_is_an_order_of_its_own(knick: Knick) -> None:
    strongest: dict[str, float] = {}
    for row in listed(knick, "--sort", "hazard"):
        strongest[row["change"]] = max(strongest.get(row["change"], 0.0), abs(row["hazard"]))
    assert list(strongest.values()) == sorted(strongest.values(), reverse=True)


@pytest.mark.usefixtures("judged")
def test_a_limit_says_how_many_more_there_are(knick: Knick) -> None:
    total = len(listed(knick))
    found = knick("changes", "--limit", "2", "--format", "json")
    shown = [change["members"] for change in json.loads(found.output)]
    left = total - sum(map(len, shown))
    assert len(shown) == 2
    assert found.errors == f"{left} more of {total} change points: raise --limit, or filter.\n"
    assert knick("changes", "--limit", str(total)).errors == ""


def _watched(instance: Path, knick: Knick, measured: Mapping[str, int]) -> None:
    """Watch traces that double at commit 60 of 120 unless they are steady, each measured at every n-th commit."""
    lines = ["commit,commit_time,author,subject,benchmark,value"]
    for number in range(120):
        commit = hashlib.sha1(str(number).encode()).hexdigest()
        time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
        noise = (0.01, 0.03, 0.0, 0.02)[number % 4]
        level = {"steady": 10} if number >= 59 else dict.fromkeys(measured, 10)
        names = [name for name, every in measured.items() if number % every == 0]
        lines += [
            f"{commit},{time.isoformat()},author {number % 2},Change {number},{name},{level.get(name, 20) + noise}"
            for name in names
        ]
    (instance / "results.csv").write_text("\n".join(lines) + "\n")
    assert knick("import", "results.csv").code == 0
    assert knick("run").code == 0


@pytest.fixture
def seldom(instance: Path, knick: Knick) -> None:
    """Watch a trace that is measured always, and one that is measured at every third commit."""
    _watched(instance, knick, {"always": 1, "seldom": 3})


@pytest.fixture
def alone(instance: Path, knick: Knick) -> None:
    """Watch a trace that is measured at every third commit, and one that does not change."""
    _watched(instance, knick, {"steady": 1, "seldom": 3})


@pytest.mark.usefixtures("seldom")
def test_the_suspect_range_is_all_commits_since_the_last_measured_one(knick: Knick) -> None:
    always, seldom = sorted(listed(knick), key=lambda row: str(row["trace"]["key"]))
    assert [each["suspect_range"]["commits"] for each in (always, seldom)] == [1, 3]
    assert [each["commit"]["subject"] for each in (always, seldom)] == ["Change 59", "Change 60"]


@pytest.mark.usefixtures("alone")
def test_text_names_the_authors_of_several_suspects_and_blames_none(knick: Knick) -> None:
    text = knick("changes").output
    assert "3 suspects: author 0, author 1  " in text
    first, last = (hashlib.sha1(str(number).encode()).hexdigest()[:10] for number in (58, 60))
    assert f"  {first}…{last}  " in text
    assert "Change 60" not in text


@pytest.mark.usefixtures("seldom")
def test_text_has_a_row_for_each_change_with_its_statement_and_the_members_below(knick: Knick) -> None:
    change, *members = knick("changes").output.splitlines()[1:]
    commit = hashlib.sha1(b"59").hexdigest()[:10]
    assert "  2 higher by up to 100 %  " in change
    assert f"  {commit} (only commit)  author 1  Change 59  " in change
    assert [row.split()[:2] for row in members] == [["R1", "P1"], ["R1", "P2"]]
    assert all(commit not in row for row in members)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("lost", [(57,), (59,), (58, 59, 60)])
def test_a_commit_that_the_store_lost_is_still_a_suspect(instance: Path, knick: Knick, lost: tuple[int, ...]) -> None:
    hashes = [hashlib.sha1(str(number).encode()).hexdigest() for number in lost]
    with closing(sqlite3.connect(instance / "knickpoint.db")) as store, store:
        store.executemany("DELETE FROM commit_ WHERE hash = ?", [[each] for each in hashes])
    text = knick("changes").output
    (change,) = json.loads(knick("changes", "--format", "json").output)
    assert "3 suspects" in text
    assert change["suspect_range"]["commits"] == 3
    assert (change["commit"]["subject"] == "(unknown commit)") is (60 in lost)
    assert (change["suspect_range"]["previous_hash"] == "") is (57 in lost)


@pytest.mark.usefixtures("alone")
def test_a_commit_that_the_store_lost_stays_on_the_list_of_suspects(instance: Path, knick: Knick) -> None:
    with closing(sqlite3.connect(instance / "knickpoint.db")) as store, store:
        store.execute("DELETE FROM commit_ WHERE hash = ?", [hashlib.sha1(b"59").hexdigest()])
    answer = api(instance, "changes/R1/suspects")
    assert sum(each["commit"]["subject"] == "(unknown commit)" for each in answer["suspects"]) == 1
    assert knick("suspects", "R1").output.count("(unknown commit)") == 1


@pytest.mark.usefixtures("judged")
def test_json_has_the_objects_of_the_api(judged: Path, knick: Knick) -> None:
    found = json.loads(knick("changes", "--work", "--format", "json").output)
    assert found == api(judged, "changes?members=100&size=500")["changes"] != []
    assert {change["id"][0] for change in found} == {"R"}


@pytest.mark.usefixtures("judged")
def test_csv_has_the_names_of_json_and_a_row_a_change_point(knick: Knick) -> None:
    changes = json.loads(knick("changes", "--format", "json").output)
    rows = list(csv.DictReader(io.StringIO(knick("changes", "--format", "csv").output)))
    assert [(row["id"], row["statement.headline"], row["members.id"], row["members.trace.key"]) for row in rows] == [
        (change["id"], change["statement"]["headline"], point["id"], point["trace"]["key"])
        for change in changes
        for point in change["members"]
    ]


@pytest.mark.usefixtures("judged")
def test_filters_keep_what_they_ask_for(knick: Knick) -> None:
    rows = listed(knick)
    some = rows[0]
    name = dict(pair.split("=") for pair in some["trace"]["key"].strip(",").split(","))["benchmark"]
    assert {row["trace"]["key"] for row in listed(knick, "--query", f"benchmark={name}")} == {
        row["trace"]["key"] for row in rows if f"benchmark={name}," in row["trace"]["key"]
    }
    least = listed(knick, "--minimum-effect", "0.2")
    assert {row["id"] for row in least} == {row["id"] for row in rows if abs(row["relative_size"]) >= 0.2}
    assert 0 < len(least) < len(rows)
    day = sorted(row["commit"]["time"][:10] for row in rows)[len(rows) // 2]
    assert {row["change"] for row in listed(knick, "--since", day)} >= {
        row["change"] for row in rows if row["commit"]["time"][:10] > day
    }
    assert listed(knick, "--since", "2999-01-01") == []
    assert listed(knick, "--until", "1999-01-01") == []
    assert listed(knick, "--until", "2999-01-01") == rows
    assert len(listed(knick, "--repository", some["trace"]["repository"], "--alert", some["alerts"][0])) == len(rows)


@pytest.mark.usefixtures("judged")
def test_changes_are_filtered_by_their_size_in_deviations(knick: Knick) -> None:
    assert listed(knick, "--minimum-sigma", "0.1") == listed(knick)
    assert listed(knick, "--minimum-sigma", "1e6") == []


@pytest.mark.usefixtures("judged")
def test_an_assignee_has_a_list(knick: Knick) -> None:
    target = listed(knick)[0]["id"]
    knick("triage", target, "--assign", "ada")
    assert [row["id"] for row in listed(knick, "--assignee", "ada")] == [target]


@pytest.mark.parametrize("option", ["--repository", "--alert"])
@pytest.mark.usefixtures("judged")
def test_an_unknown_name_is_refused_with_the_names_there_are(knick: Knick, option: str) -> None:
    found = knick("changes", option, "nope")
    assert found.code == 2
    assert f"there is no {option[2:]} 'nope'. The " in found.errors


@pytest.mark.usefixtures("judged")
def test_a_finding_that_a_ticket_covers_is_listed_as_processed_by_it(knick: Knick, judged: Path) -> None:
    row = listed(knick)[0]
    (judged / "tickets.csv").write_text(f"name,commit,query\nPERF-9,{row['commit']['hash']},\n")
    assert knick("tickets", "put", "tickets.csv").code == 0
    covered = [each for each in listed(knick, "--status", "processed") if each["id"] == row["id"]]
    assert [(each["status"], each["matched_ticket"]) for each in covered] == [("ticket", "PERF-9")]


def test_rows_of_several_repositories_say_which_they_are_of(instance: Path, knick: Knick) -> None:
    for name in ("alpha", "beta"):
        lines = ["repository,commit,commit_time,benchmark,value,unit"]
        for number in range(40):
            commit = hashlib.sha1(f"{name}{number}".encode(), usedforsecurity=False).hexdigest()
            time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
            level = 10 + number % 3 / 10 + (5 if number >= 20 else 0)
            lines.append(f"{name},{commit},{time:%Y-%m-%dT%H:%M:%SZ},sort,{level},ms")
        path = instance / f"{name}.csv"
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        knick("import", path)
    knick("run")
    header, *found = knick("changes", "--history").output.splitlines()
    assert header.split()[:3] == ["change", "repository", "id"]
    assert {row.split()[1] for row in found} == {"alpha", "beta"}
    only = knick("changes", "--history", "--repository", "beta").output.splitlines()
    assert only[0].split()[:2] == ["change", "id"]
