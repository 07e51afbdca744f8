"""Uploads of results."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text
from tests import hostile_plugin
from tests.broken_readers import content_for
from tests.server.client import Client
from tests.server.story import TOKEN, commit_hash, history

from knickpoint.formats import FORMATS
from knickpoint.ingest import ingest_status
from knickpoint.instance import Instance, separate_import
from knickpoint.instance.separate_import import warm_up
from knickpoint.model.report import Severity
from knickpoint.server import create_app

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
    assert answer.json()["error"] == "The body is a form, not a results file."
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


def test_an_upload_is_imported_by_another_process_that_stays_for_the_next_one(
    client: Client, instance: Instance
) -> None:
    parameters = {"name": "first", "commit": commit_hash(59), "run": "first"}
    client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    before = instance.importers.call(os.getpid)
    client.post(URL, params={**parameters, "name": "second"}, content=custom(1252.0), headers=RIGHT)
    assert instance.importers.call(os.getpid) == before != os.getpid()


def test_the_process_of_a_large_file_ends_with_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separate_import, "_LARGE_BYTES", 0)
    parameters = {"name": "large", "commit": commit_hash(59), "run": "large"}
    before = set(multiprocessing.active_children())
    assert client.post(URL, params=parameters, content=custom(1.0), headers=RIGHT).json()["outcome"] == "imported"
    assert set(multiprocessing.active_children()) <= before


def end_this_process(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_where_the_process_that_imports_is_killed_nothing_is_stored(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"name": "large", "commit": commit_hash(59), "run": "large"}
    with monkeypatch.context() as patched:
        patched.setattr(separate_import, "_import", end_this_process)
        killed = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert (killed.status_code, killed.json()["where"]) == (503, "upload:large")
    again = client.post(URL, params=parameters, content=custom(1251.0), headers=RIGHT)
    assert again.json()["outcome"] == "imported"


@pytest.fixture
def hostile(instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """Return an instance whose processes have readers that fail, and one that never ends."""
    hostile_plugin.install(tmp_path / "packages")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    warm_up(instance)
    return instance


@pytest.fixture
def hurried(hostile: Instance) -> Iterator[Instance]:
    """Return such an instance that gives each import and comparison a second."""
    limits = replace(hostile.config.limits, import_seconds=1.0, request_seconds=1.0)
    made = replace(hostile, config=replace(hostile.config, limits=limits))
    warm_up(made)
    yield made
    made.importers.close()


def test_an_upload_that_takes_too_long_is_refused_kept_and_stopped_and_the_next_one_comes_in(
    hostile: Instance, hurried: Instance
) -> None:
    client, before = Client(create_app(hurried)), set(multiprocessing.active_children())
    answer = client.post(URL, params={"name": "slow"}, content=hostile_plugin.ENDLESS.encode(), headers=RIGHT)
    assert (answer.status_code, answer.json()["where"]) == (400, "upload:slow")
    assert answer.json()["error"] == "Importing it took longer than 1 seconds, and was stopped."
    (kept,) = ingest_status(hostile).refused
    assert (kept.source, kept.problems[0].message) == (
        "upload:slow",
        "importing it took longer than 1 seconds, and was stopped",
    )
    assert set(multiprocessing.active_children()) < before
    parameters = {"name": "good", "commit": commit_hash(59), "run": "good"}
    good = Client(create_app(hostile)).post(URL, params=parameters, content=custom(1.0), headers=RIGHT)
    assert good.json()["outcome"] == "imported"


def test_a_comparison_that_takes_too_long_is_stopped(hurried: Instance) -> None:
    client, before = Client(create_app(hurried)), set(multiprocessing.active_children())
    answer = client.post("/api/v1/comparison", params={"name": "slow"}, content=hostile_plugin.ENDLESS.encode())
    assert (answer.status_code, answer.json()["error"]) == (
        503,
        "The request took longer than 1 seconds and was stopped.",
    )
    assert set(multiprocessing.active_children()) < before


@pytest.mark.parametrize("path", ["/api/v1/results", "/api/v1/comparison"])
def test_a_client_that_disconnects_ends_the_process_that_reads_its_file(hostile: Instance, path: str) -> None:
    app, (child,) = create_app(hostile), hostile.importers._idle
    body = hostile_plugin.ENDLESS.encode()
    address = urlsplit(f"http://127.0.0.1:8765{path}?name=slow")
    headers = [(b"host", b"127.0.0.1:8765")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": address.query.encode(), "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 8765), "state": {},
    }  # fmt: skip

    async def ask() -> None:
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, object]:
            message = next(messages, None)
            if message is not None:
                return message
            await asyncio.to_thread(wait_until_busy, hostile)
            return {"type": "http.disconnect"}

        async def send(_message: object) -> None:
            return None

        await app(scope, receive, send)

    asyncio.run(ask())
    child.process.join(60)
    assert not child.process.is_alive()
    assert ingest_status(hostile).refused == ()


def wait_until_busy(instance: Instance) -> None:
    until = time.monotonic() + 60
    while not busy(instance):
        assert time.monotonic() < until
        time.sleep(0.01)


def busy(instance: Instance) -> bool:
    return bool(instance.importers._busy)


def test_uploads_come_in_beside_those_that_readers_fail_on(hostile: Instance) -> None:
    client = Client(create_app(hostile))
    for known in FORMATS:
        answer = client.post(URL, params={"name": known.name}, content=content_for(known.name).encode(), headers=RIGHT)
        assert (answer.status_code, answer.json()["where"]) == (400, f"upload:{known.name}")
        assert "defect of Knickpoint (RecursionError" in answer.json()["error"]
    parameters = {"name": "good", "commit": commit_hash(59), "run": "good"}
    good = client.post(URL, params=parameters, content=custom(1.0), headers=RIGHT)
    assert good.json()["outcome"] == "imported"
    refused = ingest_status(hostile).refused
    assert {file.problems[0].severity for file in refused} == {Severity.DEFECT}
    assert len(refused) == len(FORMATS)


def test_comparisons_are_answered_beside_those_that_readers_fail_on(hostile: Instance) -> None:
    client = Client(create_app(hostile))
    for known in FORMATS:
        answer = client.post("/api/v1/comparison", params={"name": "new"}, content=content_for(known.name).encode())
        assert (answer.status_code, answer.json()["where"]) == (400, "new")
        assert "defect of Knickpoint (RecursionError" in answer.json()["error"]
    assert client.post("/api/v1/comparison", params={"name": "new"}, content=custom(1.0)).status_code == 200
