"""Uploads of results."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal

import pytest
from sqlalchemy import text
from tests.server.client import Client
from tests.server.story import TOKEN, commit_hash, history

from knickpoint.instance import Instance, separate_import
from knickpoint.server import create_app
from knickpoint.server.answers import uploads

URL = "/api/v1/results"
RIGHT = {"authorization": f"Bearer {TOKEN}"}


def custom(value: float) -> bytes:
    return json.dumps([{"name": "parse", "value": value, "unit": "ns/iter"}]).encode()


def test_results_come_in_once(client: Client) -> None:
    parameters = {"name": "ci-1", "commit": commit_hash(59), "run": "ci-1"}
    first = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    again = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert (first.status_code, first.json()["outcome"], first.json()["points"]) == (200, "imported", 1)
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")


def test_a_trial_keeps_nothing(client: Client) -> None:
    parameters = {"name": "ci-2", "commit": commit_hash(59), "run": "ci-2"}
    for _ in range(2):
        answer = client.post(URL, params={**parameters, "dry_run": True}, content=custom(1.0), headers=RIGHT)
        assert answer.json()["outcome"] == "imported"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}])
def test_an_upload_from_elsewhere_without_the_token_is_refused(instance: Instance, headers: dict[str, str]) -> None:
    client = Client(create_app(instance), peer="203.0.113.7")
    answer = client.post(URL, params={"name": "x"}, content=b"[]", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_person_at_this_machine_uploads_without_a_token(client: Client) -> None:
    parameters = {"name": "mine", "commit": commit_hash(59), "run": "mine"}
    assert client.post(URL, params=parameters, content=custom(1251.0)).status_code == 200


def test_a_truncated_file_is_refused_with_its_place(client: Client) -> None:
    answer = client.post(URL, params={"name": "half"}, content=history()[:5000], headers=RIGHT)
    assert answer.status_code == 400
    assert "5000" in answer.text or "line" in answer.text


def test_a_file_that_no_format_reads_is_refused(client: Client) -> None:
    answer = client.post(URL, params={"name": "strange"}, content=b"\x00\x01", headers=RIGHT)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_an_upload_as_a_form_is_told_how_to_send_the_file(client: Client) -> None:
    headers = {**RIGHT, "content-type": "multipart/form-data; boundary=x"}
    answer = client.post(URL, params={"name": "form"}, content=b"--x\r\n\r\n[]\r\n--x--\r\n", headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"] == "The body is a form, and not a results file."
    assert answer.json()["remedy"] == "Send the file as the body, as curl --data-binary @FILE does."


def test_a_refusal_names_parameters_and_no_options(client: Client) -> None:
    nameless = client.post(URL, params={"name": "a"}, content=custom(1.0), headers=RIGHT).json()["remedy"]
    strange = client.post(URL, params={"name": "b"}, content=b"hello world\n", headers=RIGHT).json()["remedy"]
    assert nameless.startswith("Name it with the parameter commit,")
    assert strange.startswith("Say which it is with the parameter format;")


def test_a_commit_of_an_unknown_time_is_refused_and_comes_in_with_one(client: Client) -> None:
    parameters = {"name": "ci-3", "commit": "fedcba9876543210"}
    refused = client.post(URL, params=parameters, content=custom(1.0), headers=RIGHT)
    taken = client.post(URL, params={**parameters, "time": "2026-01-31T12:00:00Z"}, content=custom(1.0), headers=RIGHT)
    assert (refused.status_code, taken.status_code) == (400, 200)
    assert "--order given" in refused.json()["remedy"]


def test_a_file_without_results_is_refused_unless_it_may_hold_nothing(client: Client) -> None:
    parameters = {"name": "empty", "commit": commit_hash(59), "run": "empty"}
    refused = client.post(URL, params=parameters, content=b"benchmark,unit,value\n", headers=RIGHT)
    assert refused.status_code == 400
    assert refused.json()["error"] == "The file holds no results."
    assert "the parameter allow_empty" in refused.json()["remedy"]
    taken = client.post(
        URL, params={**parameters, "allow_empty": True}, content=b"benchmark,unit,value\n", headers=RIGHT
    )
    assert taken.status_code == 200


def test_while_the_store_cannot_be_used_an_upload_is_told_when_to_come_again(
    client: Client, instance: Instance
) -> None:
    with instance.store.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    parameters = {"name": "ci-1", "commit": commit_hash(59)}
    answer = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")


def test_a_commit_without_a_text_is_refused(client: Client) -> None:
    answer = client.post(URL, params={"name": "ci-3", "commit": ""}, content=custom(1.0), headers=RIGHT)
    assert answer.status_code == 422
    assert "commit" in answer.text


def kill_this_process(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def separately(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each upload imported in another process, as files of some size are."""
    monkeypatch.setattr(uploads, "SEPARATE_BYTES", 0)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was imported here")

    monkeypatch.setattr(uploads, "import_data", refuse)


@pytest.mark.usefixtures("separately")
def test_a_file_of_some_size_is_imported_once_by_another_process(client: Client) -> None:
    parameters = {"name": "large", "commit": commit_hash(59), "run": "large"}
    answers = [client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT).json() for _ in range(2)]
    assert [(answer["outcome"], answer["points"]) for answer in answers] == [("imported", 1), ("unchanged", 0)]


@pytest.mark.long
@pytest.mark.usefixtures("separately")
def test_a_large_file_has_a_process_that_ends_with_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_LARGE_BYTES", 0)
    parameters = {"name": "large", "commit": commit_hash(59), "run": "large"}
    before = set(multiprocessing.active_children())
    answer = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert answer.json()["outcome"] == "imported"
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.long
@pytest.mark.usefixtures("separately")
def test_another_process_refuses_a_file_with_the_same_words(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> dict[str, str]:
        answer = client.post(URL, params={"name": "half"}, content=history()[:5000], headers=RIGHT)
        assert answer.status_code == 400
        return {name: text for name, text in answer.json().items() if name != "request"}

    large = refused()
    monkeypatch.undo()
    assert large == refused()


@pytest.mark.long
@pytest.mark.usefixtures("separately")
def test_where_the_process_that_imports_is_killed_nothing_is_stored(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separate_import, "_import", kill_this_process)
    parameters = {"name": "large", "commit": commit_hash(59), "run": "large"}
    killed = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert (killed.status_code, killed.json()["where"]) == (503, "upload:large")
    monkeypatch.undo()
    again = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert again.json()["outcome"] == "imported"
