"""A secret in every setting: what commands and endpoints print, log, store and export has none of them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import EXAMPLE, Knick
from tests.server.client import Client

from knickpoint.instance import CONFIG_FILE, open_instance
from knickpoint.server import create_app

SECRET = "pl4nted"
SETTINGS = f"""
[server]
upload_token = "${{KNICK_TEST_UPLOAD}}"
[access]
anyone = "admin"
session_secret = "{SECRET}-session, of more than 32 characters"
[sign_in.company]
issuer = "http://127.0.0.1:1"
client_id = "knick"
client_secret = "{SECRET}-client"
[nats]
url = "nats://user:{SECRET}-nats@127.0.0.1:1"
[ingest.sources.remote]
location = "ftp://user:{SECRET}-ftp@127.0.0.1:1/results"
options = {{ password = "{SECRET}-option" }}
[repositories.main]
branch = "main"
[repositories.remote]
location = "http://user:{SECRET}-git@127.0.0.1:1/r.git?key={SECRET}-query"
"""
COMMANDS = (
    "worker --once",
    "doctor",
    "doctor --format json",
    "import {example} --repository main",
    "import {example} --repository remote",
    "run",
    "alerts plan",
    "alerts list",
    "changes",
    "changes --format json",
    "changes --format csv",
    "triage 1 --acknowledge",
    "history",
    "tickets list",
    "explain 1",
    "check {example} --repository remote",
    "ingest status",
    "ingest quarantine",
    "ingest retry",
    "tokens list",
    "audit",
    "export",
    "export --format json",
    "serve --port 99999",
    "unknown",
)


@pytest.fixture
def planted(judged: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an instance with a secret in every setting that may have one."""
    monkeypatch.setenv("KNICK_TEST_UPLOAD", f"{SECRET}-upload")
    path = judged / CONFIG_FILE
    path.write_text(path.read_text() + SETTINGS)
    return judged


def written(directory: Path) -> Iterator[Path]:
    """Yield the files with a secret, but for the configuration."""
    for path in directory.rglob("*"):
        if path.is_file() and path.name != CONFIG_FILE and SECRET.encode() in path.read_bytes():
            yield path


@pytest.mark.long
def test_no_command_prints_logs_or_stores_a_secret(
    planted: Path, knick: Knick, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    printed = {}
    for line in COMMANDS:
        ran = knick(*line.format(example=EXAMPLE).split())
        printed[line] = ran.output + ran.errors
        assert "Traceback" not in ran.errors
    assert "127.0.0.1" in printed["worker --once"]  # it did try
    assert [line for line, text in printed.items() if SECRET in text] == []
    assert SECRET not in caplog.text
    assert list(written(planted)) == []


@pytest.mark.long
def test_no_answer_and_no_log_of_the_server_has_a_secret(
    planted: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, logger="httpx")  # the client of the test names what it asks for
    with open_instance(planted) as instance:
        app = create_app(instance)
        client = Client(app)
        answers = []
        for path, methods in app.openapi()["paths"].items():
            address = path.replace("{", "").replace("}", "")
            for method in methods:
                for headers in (
                    {},
                    {"Authorization": f"Bearer {SECRET}-upload"},
                    {"Authorization": f"Bearer {SECRET}-x"},
                ):
                    query = f"?token={SECRET}-upload" if "arrivals" in path else ""
                    answers.append(client.ask(method.upper(), address + query, headers=headers, content=b"{}"))
        answers += [
            client.get(path) for path in ("/", "/triage", "/metrics", "/sign-in", "/sign-in/company", "/nowhere")
        ]
    leaking = {str(each.url) for each in answers if SECRET in each.text or SECRET in str(each.headers)}
    assert leaking == set()
    assert len(answers) > 50
    captured = capsys.readouterr()
    assert SECRET not in caplog.text + captured.out + captured.err
    assert list(written(planted)) == []


@pytest.mark.parametrize(
    "location",
    [
        f"postgresql://user:{SECRET}@127.0.0.1:1/db?password={SECRET}&sslmode=disable",
        f"postgresql://user:{SECRET}@127.0.0.1:port/db",
        f"postgresql://user:{SECRET}/{SECRET}@127.0.0.1:port/db",
        f"postgresql://user:{SECRET}@[::1/db",
        f"mysql://user:{SECRET}@127.0.0.1/db",
        f"postgresql://user:{SECRET}@127.0.0.1:1/db?options={SECRET}",
    ],
)
def test_a_store_that_does_not_open_shows_no_secret(instance: Path, knick: Knick, location: str) -> None:
    (instance / CONFIG_FILE).write_text(f'[store]\nlocation = "{location}"\n')
    for command in ("doctor", "changes", "backup b.tar"):
        ran = knick(*command.split())
        assert ran.code != 0
        assert SECRET not in ran.output + ran.errors
        assert "Traceback" not in ran.errors


@pytest.mark.usefixtures("planted")
def test_a_backup_file_that_cannot_be_restored_shows_no_secret(knick: Knick, tmp_path: Path) -> None:
    saved = knick("backup", tmp_path / "b.tar")
    assert "KNICKPOINT_SIGN_IN_COMPANY_CLIENT_SECRET" in saved.output
    assert SECRET not in (tmp_path / "b.tar").read_bytes().decode(errors="replace")
    shutil.copy(tmp_path / "b.tar", tmp_path / "cut.tar")
    (tmp_path / "cut.tar").write_bytes((tmp_path / "b.tar").read_bytes()[:4000])
    ran = knick("restore", tmp_path / "cut.tar", tmp_path / "restored")
    assert ran.code != 0
    assert SECRET not in ran.output + ran.errors
