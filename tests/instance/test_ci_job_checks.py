"""Sections of CI jobs that would let in nothing, or too much, are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.access.settings import CiJobKind, CiJobSettings
from knickpoint.instance.config import CONFIG_FILE, Config, read_config
from knickpoint.model.errors import ConfigError

_SERVER = '[server]\naddress = "https://perf.example.org"\n'
_SECTION = '[ci_jobs.main]\nkind = "github"\nprojects = ["ada/engine"]\n'


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / CONFIG_FILE
    path.write_text(text, encoding="utf-8")
    return read_config(path)


@pytest.mark.parametrize(
    ("kind", "issuer"),
    [("github", "https://token.actions.githubusercontent.com"), ("gitlab", "https://gitlab.com")],
)
def test_the_issuer_of_a_section_is_that_of_its_service(tmp_path: Path, kind: str, issuer: str) -> None:
    config = read(tmp_path, f'{_SERVER}[ci_jobs.main]\nkind = "{kind}"\nprojects = ["ada/engine"]\n')
    assert config.ci_jobs["main"] == CiJobSettings("main", CiJobKind(kind), ("ada/engine",))
    assert config.ci_jobs["main"].issuer_or_default == issuer


@pytest.mark.parametrize(
    "more",
    [
        'issuer = "https://github.example.org/_services/token"',
        'issuer = "http://127.0.0.1:8000"',
        'issuer = "http://[::1]:8000"',
        'refs = ["refs/heads/main", "refs/tags/v*"]\nprotected = true',
        'repositories = ["engine"]\n[repositories.engine]\nlocation = ""',
    ],
)
def test_a_sensible_section_is_accepted(tmp_path: Path, more: str) -> None:
    assert read(tmp_path, f"{_SERVER}{_SECTION}{more}\n").ci_jobs


def test_an_audience_takes_the_place_of_the_address(tmp_path: Path) -> None:
    assert read(tmp_path, f'{_SECTION}audience = "knickpoint"\n').ci_jobs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_SECTION, "no audience is given"),
        (f'{_SERVER}[ci_jobs.main]\nkind = "github"\nprojects = []\n', "projects is empty"),
        (f'{_SERVER}[ci_jobs.main]\nkind = "github"\nprojects = ["engine"]\n', "'engine' is not a project"),
        (f'{_SERVER}[ci_jobs.main]\nkind = "github"\nprojects = ["ada/*"]\n', "'ada/\\*' is not a project"),
        (
            f'{_SERVER}[ci_jobs.main]\nkind = "github"\nprojects = ["https://a.b/c"]\n',
            "'https://a.b/c' is not a project",
        ),
        (
            f'{_SERVER}[ci_jobs.main]\nkind = "jenkins"\nprojects = ["a/b"]\n',
            "expected one of 'github', 'gitlab', got 'jenkins'",
        ),
        (
            f'{_SERVER}{_SECTION}refs = ["main"]\n',
            "'main' is not a full ref. Give the full name, as in refs/heads/main",
        ),
        (
            f'{_SERVER}{_SECTION}repositories = ["engin"]\n[repositories.engine]\n',
            "'engin' is not a repository of this file",
        ),
        (f'{_SERVER}{_SECTION}issuer = "http://gitlab.internal"\n', "is not an https address"),
        (f'{_SERVER}{_SECTION}issuer = "http://localhost.evil.example"\n', "is not an https address"),
        (f'{_SERVER}{_SECTION}issuer = "gitlab.com"\n', "is not an https address"),
        (f'{_SERVER}{_SECTION}issuer = "https://[::1"\n', "is not an https address"),
        (f'{_SERVER}{_SECTION}issuer = "https://a.example/?b=c"\n', "is not an https address"),
        (
            (
                f'{_SERVER}{_SECTION}[ci_jobs.other]\nkind = "gitlab"\nprojects = ["a/b"]\n'
                'issuer = "https://token.actions.githubusercontent.com"\n'
            ),
            r"\[ci_jobs.main\] uses this issuer with the kind github",
        ),
    ],
)
def test_a_section_that_would_not_do_what_is_meant_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.remedy
    assert CONFIG_FILE in str(caught.value)
