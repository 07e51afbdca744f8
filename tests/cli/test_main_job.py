"""The main job on the command line: results in, findings out, decisions that stay."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from tests.cli.conftest import EXAMPLE, Knick, change_points


@pytest.mark.usefixtures("instance")
def test_importing_a_second_time_changes_nothing_and_says_so(knick: Knick) -> None:
    knick("import", EXAMPLE)
    again = knick("import", EXAMPLE)
    assert (again.code, "nothing new" in again.output) == (0, True)


@pytest.mark.usefixtures("instance")
def test_a_dry_run_imports_nothing(knick: Knick) -> None:
    assert knick("import", EXAMPLE, "--dry-run").code == 0
    assert "imported" in knick("import", EXAMPLE).output


@pytest.mark.usefixtures("judged")
def test_a_second_run_finds_nothing_new(knick: Knick) -> None:
    assert "nothing new" in knick("run").output


@pytest.mark.usefixtures("judged")
def test_the_findings_of_the_example_are_those_that_are_true(knick: Knick) -> None:
    rows = change_points(knick)
    subjects = {row["commit"]["subject"] for row in rows}
    assert {
        "Compile the slug pattern once",
        "Allow commas inside quoted fields",
        "Let Counter do the counting",
        "Refuse prefixes that are no words",
        "Collapse runs of white space while cleaning",
        "Keep two rows of the edit matrix",
    } <= subjects


@pytest.mark.usefixtures("judged")
def test_a_finding_among_commits_without_results_names_the_measured_ones(knick: Knick) -> None:
    rows = change_points(knick, "--match", "wrap_text comma")
    assert [(row["suspect_range"]["previous_hash"][:10], row["commit"]["hash"][:10]) for row in rows] == [
        ("91d7d0bd8f", "440239b99d")
    ]


@pytest.mark.usefixtures("judged")
def test_what_was_acknowledged_stays_acknowledged_after_another_run(knick: Knick) -> None:
    knick("triage", "--commit", "73106d259b", "--as", "acknowledged", "--note", "wanted")
    knick("run")
    rows = change_points(knick, "--status", "processed")
    assert {(row["commit"]["hash"][:10], row["status"], row["note"]) for row in rows} == {
        ("73106d259b", "acknowledged", "wanted")
    }


@pytest.mark.usefixtures("judged")
def test_undo_brings_a_finding_back_to_the_list(knick: Knick) -> None:
    before = knick("changes").output
    knick("triage", "--commit", "73106d259b", "--as", "hidden")
    knick("triage", "--commit", "73106d259b", "--undo")
    assert knick("changes").output == before


@pytest.mark.usefixtures("judged")
def test_undo_without_an_id_takes_back_your_last_decision_that_counts(knick: Knick) -> None:
    first = knick("triage", "--commit", "73106d259b", "--as", "acknowledged", "--format", "json").output
    second = knick("triage", "P1", "--as", "hidden", "--format", "json").output
    for done in (second, first):
        undone = json.loads(knick("triage", "--undo", "--format", "json").output)
        assert [entry["id"] for entry in undone] == [entry["id"] for entry in json.loads(done)]
        assert {entry["status"] for entry in undone} == {"new"}
    ran = knick("triage", "--undo")
    assert (ran.code, ran.output.strip()) == (0, "Nothing changed: there is no decision to undo.")


@pytest.mark.usefixtures("judged")
def test_text_json_and_csv_list_the_same_findings(knick: Knick) -> None:
    as_json = change_points(knick)
    as_csv = knick("changes", "--format", "csv").output.splitlines()
    in_text = [
        line
        for line in knick("changes").output.splitlines()
        if f" {line.split()[1]} " in line and line.split()[1][0] == "P"
    ]
    assert len(as_json) == len(as_csv) - 1 == len(in_text)


def test_a_command_without_an_instance_names_init(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = knick("run")
    assert (ran.code, ran.errors.count("\n"), "knick init" in ran.errors) == (2, 1, True)


def test_an_unknown_format_is_refused_in_one_line(knick: Knick, instance: Path) -> None:
    (instance / "x.bin").write_bytes(b"\x00\x01\x02")
    ran = knick("import", instance / "x.bin")
    assert (ran.code, ran.output.count("\n"), "--as" in ran.output) == (2, 1, True)


def test_an_empty_file_is_refused_in_one_line(knick: Knick, instance: Path) -> None:
    (instance / "x.json").touch()
    ran = knick("import", instance / "x.json")
    assert (ran.code, ran.output.count("\n"), "empty" in ran.output) == (2, 1, True)


@pytest.mark.usefixtures("instance")
def test_a_file_that_is_not_there_is_named(knick: Knick) -> None:
    ran = knick("import", "no-such-file.json")
    assert (ran.code, "no-such-file.json" in ran.output) == (2, True)


@pytest.mark.usefixtures("instance")
def test_a_port_in_use_is_named_with_a_remedy(knick: Knick) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = knick("serve", "--port", str(port))
    assert (ran.code, str(port) in ran.errors, "--port" in ran.errors) == (2, True, True)


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("triage", "X", "--as", "hidden"), "'X'"),
        (("triage", "R99", "--as", "hidden"), "99"),
        (("triage", "R1"), "changes nothing"),
        (("triage", "R1", "--as", "hidden", "--undo"), "exclude"),
        (("triage", "--commit", "0000000000", "--as", "hidden"), "0000000000"),
        (("run", "--alert", "nobody"), "'nobody'"),
        (("import",), "PATH"),
        (("import", "--param", "x", "y.json"), "'x'"),
        (("changes", "--status", "odd"), "odd"),
        (("nonsense",), "nonsense"),
    ],
)
def test_a_wrong_argument_is_named_and_the_exit_code_is_two(
    knick: Knick, arguments: tuple[str, ...], named: str
) -> None:
    ran = knick(*arguments)
    assert (ran.code, named in ran.errors, "Traceback" in ran.errors) == (2, True, False)
