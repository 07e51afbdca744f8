"""``knick tokens`` and ``knick audit``, and whom decisions on the command line name."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from knickpoint.access.local_user import local_caller
from knickpoint.access.tokens import verify_token
from knickpoint.instance import open_instance
from knickpoint.model.access import Permission

from .conftest import Knick


def listed(knick: Knick, *arguments: str) -> list[dict[str, Any]]:
    """Return what a command prints as JSON."""
    ran = knick(*arguments, "--format", "json")
    assert ran.code == 0, ran.errors
    found = json.loads(ran.output)
    assert isinstance(found, list)
    return found


@pytest.mark.usefixtures("instance")
def test_a_script_captures_the_secret_alone(knick: Knick) -> None:
    ran = knick("tokens", "create", "ci", "--scope", "upload,read", "--repository", "main", "--expires", "90d")
    secret = ran.output.removesuffix("\n")
    assert secret.startswith("knick_")
    assert secret.split() == [secret]
    assert "not shown again" in ran.errors
    assert secret not in ran.errors
    with open_instance() as opened:
        grants = verify_token(opened.store, secret).grants
    assert grants.repositories == {"main": {Permission.UPLOAD, Permission.READ}}


@pytest.mark.usefixtures("instance")
@pytest.mark.parametrize("output", ["json", "csv"])
def test_the_secret_comes_in_other_formats_too(knick: Knick, output: str) -> None:
    ran = knick("tokens", "create", "ci", "--scope", "read", "--scope", "decide", "--format", output)
    if output == "json":
        made = json.loads(ran.output)
        name, secret = made["token"]["name"], made["secret"]
    else:
        row = next(csv.DictReader(ran.output.splitlines()))
        name, secret = row["token.name"], row["secret"]
    assert name == "ci"
    with open_instance() as opened:
        assert verify_token(opened.store, secret).name == "token:ci"


@pytest.mark.usefixtures("instance")
def test_the_list_says_what_each_token_is_good_for_and_never_its_secret(knick: Knick) -> None:
    secret = knick("tokens", "create", "ci", "--scope", "upload", "--expires", "2099-05-31").output.strip()
    knick("tokens", "create", "old", "--scope", "admin")
    revoked = listed(knick, "tokens", "revoke", "old")
    first, second = listed(knick, "tokens", "list")
    assert [second] == revoked
    assert (first["state"], second["state"]) == ("valid", "revoked")
    assert (first["scopes"], first["repositories"], first["last_used"]) == (["upload"], [], None)
    assert first["expires"] == "2099-06-01T00:00:00Z"
    assert first["created_by"] == local_caller().name
    for output in ("text", "json", "csv"):
        assert secret not in knick("tokens", "list", "--format", output).output


@pytest.mark.usefixtures("instance")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bad name", "--scope", "read"), "not a name for a token"),
        (("\u202etfel", "--scope", "read"), r"\u202e"),
        (("x" * 400, "--scope", "read"), "1 to 64"),
        (("ci", "--scope", "write"), "'write' is not a scope"),
        (("ci", "--scope", ","), "needs a scope"),
        (("ci", "--scope", "read", "--expires", "0d"), "not in the future"),
        (("ci", "--scope", "read", "--expires", "2020-01-01"), "not in the future"),
        (("ci", "--scope", "read", "--expires", "soon"), "'soon' is neither a date nor a number of days"),
        (("ci", "--scope", "read", "--expires", "2027-02-30"), "'2027-02-30' is neither a date"),
        (("ci", "--scope", "read", "--expires", "99999d"), "more than 100 years"),
        (("ci", "--scope", "read", "--repository", "a\nb"), "not the name of a repository"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(knick: Knick, arguments: tuple[str, ...], message: str) -> None:
    ran = knick("tokens", "create", *arguments)
    assert ran.code == 2
    assert message in ran.errors
    assert ran.errors.strip().isprintable()
    assert listed(knick, "tokens", "list") == []


@pytest.mark.usefixtures("instance")
def test_revoking_what_is_unknown_or_revoked_fails_and_revokes_nothing(knick: Knick) -> None:
    knick("tokens", "create", "ci", "--scope", "read")
    assert "no token 'other'" in knick("tokens", "revoke", "ci", "other").errors
    assert [row["state"] for row in listed(knick, "tokens", "list")] == ["valid"]
    assert knick("tokens", "revoke", "ci").code == 0
    again = knick("tokens", "revoke", "ci")
    assert (again.code, "was revoked at" in again.errors) == (2, True)


@pytest.mark.usefixtures("instance")
def test_the_audit_log_lists_what_was_asked_for(knick: Knick) -> None:
    knick("tokens", "create", "ci", "--scope", "read")
    knick("tokens", "revoke", "ci")
    newest, oldest = listed(knick, "audit")
    assert (newest["kind"], oldest["kind"]) == ("token-revoked", "token-created")
    assert oldest["who"] == local_caller().name
    assert listed(knick, "audit", "--kind", "token-created") == [oldest]
    assert listed(knick, "audit", "--limit", "1") == [newest]
    assert listed(knick, "audit", "--who", "another") == []
    assert listed(knick, "audit", "--since", "1d") == [newest, oldest]
    assert listed(knick, "audit", "--since", "2999-01-01") == []
    assert "token ci: read" in knick("audit").output


@pytest.mark.usefixtures("instance")
def test_an_audit_log_without_entries_says_so(knick: Knick) -> None:
    assert "No matching entries" in knick("audit").output


def test_a_decision_names_the_user_of_the_operating_system(
    knick: Knick, judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged.is_dir()
    for variable in ("KNICKPOINT_USER", "USER", "LOGNAME"):
        monkeypatch.setenv(variable, "mallory")
    finding = listed(knick, "changes")[0]["id"]
    decided = listed(knick, "triage", str(finding), "--as", "hidden")
    assert {row["who"] for row in decided} == {local_caller().name}
    assert "there is no option --by" in knick("triage", str(finding), "--undo", "--by", "mallory").errors


@pytest.mark.usefixtures("instance")
def test_a_message_about_a_hostile_name_does_not_control_the_terminal(knick: Knick, tmp_path: Path) -> None:
    ran = knick("restore", tmp_path / "\x1b[2J\u202etfel.tar", tmp_path / "again")
    assert (ran.code, "�[2J�tfel.tar" in ran.errors) == (2, True)
    assert ran.errors.strip().isprintable()


@pytest.mark.usefixtures("judged")
def test_a_message_of_several_lines_keeps_them(knick: Knick) -> None:
    assert len(knick("explain", "unit!=x").errors.splitlines()) > 3


def test_the_doctor_goes_on_after_a_token_that_cannot_be_read(knick: Knick, instance: Path) -> None:
    assert knick("tokens", "create", "ci", "--scope", "read").code == 0
    with closing(sqlite3.connect(instance / "knickpoint.db")) as connection, connection:
        connection.execute("UPDATE token SET scopes = '[\"everything\"]'")
    assert "the token 'ci' has a value that cannot be read" in knick("tokens", "list").errors
    rows = json.loads(knick("doctor", "--format", "json").output)
    (found,) = (row for row in rows if row["about"] == "tokens")
    assert "the token 'ci'" in found["observed"]
