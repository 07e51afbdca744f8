"""Uploads with the identity tokens of CI jobs: a real server, a real issuer, and real requests between them."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from tests.access.issuer import REQUEST, STRANGER, CiService, ci_service, github_claims, gitlab_claims, sign
from tests.repositories import GitRepository
from tests.server.client import error_of
from tests.server.story import TOKEN, commit_hash, make_instance

from knickpoint.access.settings import CiJobKind, CiJobSettings
from knickpoint.instance import Instance, open_instance
from knickpoint.model.errors import ConfigError
from knickpoint.server import create_app, serving
from knickpoint.store import create_store

_PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "guide" / "ci.md"
_AUDIENCE: Final = "https://perf.example.org"
_TIME: Final = "2026-01-31T12:00:00Z"
RESULTS: Final = json.dumps([{"name": "parse", "value": 1.5, "unit": "ns/iter"}]).encode()


@dataclass(frozen=True)
class Served:
    """A server that takes the tokens of a CI service."""

    instance: Instance
    address: str
    service: CiService

    def upload(self, token: str, **parameters: str) -> httpx.Response:
        return httpx.post(
            f"{self.address}api/v1/results",
            params={"name": "ci", "commit": commit_hash(1), "time": _TIME, **parameters},
            headers={"Authorization": f"Bearer {token}"},
            content=RESULTS,
        )

    def points(self, repository: str) -> int:
        found = [each for each in self.instance.store.commits.repositories() if each.name == repository]
        return self.instance.store.traces.count(found[0]) if found else 0

    def github_token(self, **changed: Any) -> str:
        return sign(github_claims(self.service.address, _AUDIENCE, time.time(), **changed))


def _with_jobs(instance: Instance, service: CiService, **server: Any) -> Instance:
    """Return ``instance`` with a section for each CI service, and two repositories of which one is for them."""
    sections = {
        "actions": CiJobSettings(
            "actions", CiJobKind.GITHUB, ("ada/engine",), issuer=service.address, repositories=("mylib",)
        ),
        "gitlab": CiJobSettings(
            "gitlab",
            CiJobKind.GITLAB,
            ("ada/tools/engine",),
            issuer=f"{service.address}/gitlab",
            repositories=("mylib",),
        ),
    }
    config = instance.config
    settings = replace(config.server, address=_AUDIENCE, **server)
    return replace(instance, config=replace(config, ci_jobs=sections, server=settings))


@pytest.fixture(scope="module")
def service() -> Iterator[CiService]:
    with ci_service() as served:
        yield served


@pytest.fixture
def served(tmp_path: Path, service: CiService) -> Iterator[Served]:
    make_instance(tmp_path / "instance", with_findings=False)
    file = tmp_path / "instance" / "knickpoint.toml"
    file.write_text(file.read_text() + '\n[repositories.mylib]\naddresses = ["https://git.example.org/ada/mylib"]\n')
    with open_instance(tmp_path / "instance") as opened:
        instance = _with_jobs(opened, service)
        with serving(instance) as address:
            yield Served(instance, address, service)


def test_a_job_uploads_to_the_repository_of_its_section(served: Served) -> None:
    answer = served.upload(served.github_token())
    assert (answer.status_code, answer.json()["outcome"]) == (200, "imported")
    assert (answer.json()["repository"], served.points("mylib")) == ("mylib", 1)


@pytest.mark.parametrize("repository", ["mylib", "https://git.example.org/ada/mylib.git"])
def test_a_job_names_its_repository_by_name_or_address(served: Served, repository: str) -> None:
    assert served.upload(served.github_token(), repository=repository).status_code == 200
    assert served.points("mylib") == 1


@pytest.mark.parametrize("repository", ["ada/engine", "new", "MYLIB", "eve/mylib"])
def test_a_job_writes_nothing_to_another_repository(served: Served, repository: str) -> None:
    answer = served.upload(served.github_token(), repository=repository)
    assert (answer.status_code, served.points(repository)) == (403, 0)
    assert error_of(answer) == error_of(served.upload(served.github_token(), repository="unknown"))


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "https://github.com/ada"},
        {"exp": 1_700_000_000},
        {"repository": "ada/fork"},
        {"event_name": "pull_request_target"},
        {"iss": "https://token.actions.githubusercontent.com"},
    ],
)
def test_a_wrong_token_writes_nothing_and_its_sender_learns_no_reason(
    served: Served, changed: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    token = served.github_token(**changed)
    with caplog.at_level(logging.WARNING):
        answer = served.upload(token)
        stranger = served.upload(sign(github_claims(served.service.address, _AUDIENCE, time.time()), STRANGER))
    assert (answer.status_code, served.points("mylib")) == (401, 0)
    assert error_of(answer) == error_of(stranger)
    assert "identity token" in caplog.text
    assert token.split(".")[1] not in caplog.text


def test_a_job_may_do_nothing_else(served: Served) -> None:
    authorization = {"Authorization": f"Bearer {served.github_token()}"}
    for method, path in (("GET", "repositories"), ("GET", "changes"), ("POST", "triage"), ("POST", "arrivals")):
        answer = httpx.request(method, f"{served.address}api/v1/{path}", headers=authorization, json={})
        assert answer.status_code == 403, path


def test_an_identity_token_in_the_address_is_none(served: Served) -> None:
    answer = httpx.post(f"{served.address}api/v1/arrivals", params={"token": served.github_token()}, json={})
    assert answer.status_code == 401


def test_an_issuer_that_does_not_answer_is_no_fault_of_the_job(served: Served, service: CiService) -> None:
    service.status = 500
    try:
        answer = served.upload(served.github_token())
    finally:
        service.status = 200
    assert (answer.status_code, served.points("mylib")) == (503, 0)


def test_other_tokens_work_beside_those_of_jobs(served: Served) -> None:
    assert served.upload(TOKEN, repository="mylib").status_code == 200


def test_without_sections_an_identity_token_is_a_token_like_others(served: Served) -> None:
    with serving(replace(served.instance, config=replace(served.instance.config, ci_jobs={}))) as address:
        answer = replace(served, address=address).upload(served.github_token())
    assert answer.status_code == 401


def test_a_server_without_the_package_for_tokens_names_it(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("joserfc", "knickpoint.access.i"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "joserfc", None)
    with pytest.raises(ConfigError, match="need the package joserfc") as caught:
        create_app(served.instance)
    assert "knickpoint[server]" in caught.value.remedy


# The page on continuous integration


def _blocks(language: str, word: str) -> list[str]:
    text = _PAGE.read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in blocks if word in block]


def _step(word: str, start: str) -> str:
    """Return the shell commands of the last step of a job on the page."""
    (block,) = _blocks("yaml", word)
    return textwrap.dedent(block.rpartition(f"- {start}|\n")[2])


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def _page_server(directory: Path, kind: str, issuer: str, repository: GitRepository) -> Iterator[tuple[Instance, str]]:
    """Serve an instance with the configuration of the page; only the addresses are those of this machine."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    (block,) = _blocks("toml", "[ci_jobs.")
    text = block.replace("https://perf.example.org", address).replace('kind = "github"', f'kind = "{kind}"')
    text = text.replace("https://github.com/ada/mylib", str(repository.directory))
    text = text.replace("[ci_jobs.main]\n", f'[ci_jobs.main]\nissuer = "{issuer}"\n')
    directory.mkdir()
    (directory / "knickpoint.toml").write_text(text, encoding="utf-8")
    create_store(str(directory / "knickpoint.db")).close()
    with open_instance(directory) as instance, serving(instance, port=port):
        yield instance, address


def _run(script: str, directory: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    (directory / "results.json").write_bytes(RESULTS.replace(b"1.5", b"2.5"))
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=directory,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def _points(instance: Instance) -> int:
    return sum(instance.store.traces.count(each) for each in instance.store.commits.repositories())


@pytest.mark.parametrize(("ref", "points"), [("refs/heads/main", 1), ("refs/heads/side", 0)])
def test_the_job_of_github_on_the_page_uploads_from_main(
    tmp_path: Path, service: CiService, ref: str, points: int
) -> None:
    repository = GitRepository.make(tmp_path / "mylib")
    with _page_server(tmp_path / "instance", "github", service.address, repository) as (instance, address):
        service.request_token = "request token of the job"
        service.make_token = lambda audience: sign(
            github_claims(service.address, audience, time.time(), repository="ada/mylib", ref=ref)
        )
        done = _run(
            _step("id-token: write", "run: "),
            tmp_path,
            {
                "SERVER": address,
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": service.request_token,
                "ACTIONS_ID_TOKEN_REQUEST_URL": f"{service.address}{REQUEST}?api-version=2.0",
                "GITHUB_REPOSITORY": "ada/mylib",
                "GITHUB_RUN_ID": "77",
                "GITHUB_RUN_ATTEMPT": "1",
                "GITHUB_SHA": repository.commit(),
                "GITHUB_REF_NAME": "main",
            },
        )
        assert (done.returncode == 0, _points(instance)) == (points == 1, points), done.stdout + done.stderr


@pytest.mark.parametrize(("audience", "points"), [("", 1), ("https://gitlab.com", 0)])
def test_the_job_of_gitlab_on_the_page_uploads_with_a_token_for_the_server(
    tmp_path: Path, service: CiService, audience: str, points: int
) -> None:
    issuer = f"{service.address}/gitlab"
    repository = GitRepository.make(tmp_path / "mylib")
    with _page_server(tmp_path / "instance", "gitlab", issuer, repository) as (instance, address):
        claims = gitlab_claims(issuer, audience or address, time.time(), project_path="ada/mylib")
        done = _run(
            _step("id_tokens:", ""),
            tmp_path,
            {
                "SERVER": address,
                "KNICKPOINT_TOKEN": sign(claims),
                "CI_PROJECT_PATH": "ada/mylib",
                "CI_JOB_ID": "77",
                "CI_COMMIT_SHA": repository.commit(),
                "CI_COMMIT_BRANCH": "main",
            },
        )
        assert (done.returncode == 0, _points(instance)) == (points == 1, points), done.stdout + done.stderr
