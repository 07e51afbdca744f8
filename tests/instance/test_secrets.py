"""Settings with secrets: which are declared, that no ``repr`` shows them, and that no message about a mistake does."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from knickpoint.instance.config import Config, read_config
from knickpoint.model.errors import ConfigError
from knickpoint.model.plain_text import SECRET, without_secrets

_SOUNDS_SECRET = re.compile(r"secret|password|token|location|(^|_)url$|options|webhook|(^|_)key$|smtp")
_HARMLESS = {"pool.private_key", "work.private_key"}
"""Dotted names of settings that sound secret and are not: they are paths of files."""


def _fields(kind: Any, name: str = "") -> Iterator[tuple[str, dataclasses.Field[Any]]]:
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        arguments = [hint, *typing.get_args(hint)]
        sections = [each for each in arguments if dataclasses.is_dataclass(each)]
        if sections:
            for section in sections:
                yield from _fields(section, f"{name}{field.name}.")
        elif str in arguments or hint == Mapping[str, str]:
            yield f"{name}{field.name}", field


def test_a_setting_that_sounds_secret_is_declared_so() -> None:
    found = {name: field for name, field in _fields(Config) if _SOUNDS_SECRET.search(field.name)}
    assert {name for name, field in found.items() if SECRET not in field.metadata} == _HARMLESS
    assert {"server.upload_token", "access.session_secret", "sign_in.client_secret", "nats.url"} <= found.keys()


def test_no_repr_shows_a_declared_secret() -> None:
    assert [name for name, field in _fields(Config) if SECRET in field.metadata and field.repr] == []


PLANTED = """
[store]
location = "postgresql://u:pl4nted@host.example/db"
[server]
upload_token = "pl4nted"
[access]
session_secret = "pl4nted, and more than 32 characters of it"
[sign_in.x]
issuer = "https://login.example"
client_id = "knick"
client_secret = "pl4nted"
[nats]
url = "nats://u:pl4nted@host.example"
[repositories.main]
location = "https://u:pl4nted@host.example/r.git"
[ingest.sources.b]
location = "s3://u:pl4nted@bucket"
options = { secret = "pl4nted" }
"""


def test_a_configuration_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "knickpoint.toml").write_text(PLANTED)
    config = read_config(tmp_path / "knickpoint.toml")
    assert config.server.upload_token == "pl4nted"
    assert "pl4nted" not in repr(config)


@pytest.mark.parametrize(
    "text",
    [
        "[server]\nupload_token = 4711\n",
        "[server]\nupload_token = [4711]\n",
        "[nats]\nurl = 4711\n",
        '[ingest.sources.b]\nlocation = "x"\noptions = { secret = 4711 }\n',
        '[ingest.sources.b]\nlocation = "x"\noptions = 4711\n',
        "[server]\nupload_token = 4711 4711\n",
        "[server]\nupload_token = '4711\n",
    ],
)
def test_a_message_about_a_secret_does_not_show_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "knickpoint.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_config(tmp_path / "knickpoint.toml")
    assert "4711" not in str(refused.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:word@host/r.git", "https://host/r.git"),
        ("https://token@host/r.git", "https://host/r.git"),
        ("https://u:p@ss@host/", "https://host/"),
        ("https://u:p/a?s#s@w@host/r", "https://host/r"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("ssh://git:word@host/r", "ssh://git@host/r"),
        ("git@host:owner/r.git", "git@host:owner/r.git"),
        ("postgresql://u:p@a,b/db?password=x", "postgresql://a,b/db?…"),
        ("cannot reach 'https://u:p@h/x?key=1': no", "cannot reach 'https://h/x?…': no"),
        ("https://host/a@b", "https://host/a@b"),
        ("nats://u:p@one,nats://u:p@two", "nats://one,nats://two"),
        ("path/to/r", "path/to/r"),
    ],
)
def test_addresses_lose_users_passwords_and_queries(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
