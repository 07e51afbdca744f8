"""What the configuration refuses about sign-in, sessions, roles and proxies."""

from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.instance import CONFIG_FILE, Config, read_config
from knickpoint.model.errors import ConfigError

_OPENID = """
[sign_in.keycloak]
issuer = "https://id.example.org/realms/lab"
client_id = "knickpoint"
"""
_PROXY = """
[sign_in.gate]
kind = "proxy"
networks = ["10.1.2.3"]
"""


def _read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / CONFIG_FILE
    path.write_text(text, encoding="utf-8")
    return read_config(path)


def _refusal(tmp_path: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        _read(tmp_path, text)
    assert caught.value.remedy
    return caught.value


def test_a_complete_configuration_is_read(tmp_path: Path) -> None:
    config = _read(
        tmp_path,
        _OPENID
        + _PROXY
        + """
        [server]
        address = "https://perf.example.org"
        proxies = ["10.0.0.0/8", "fd00::/8"]
        [repositories.engine]
        [roles.perf]
        role = "editor"
        groups = ["perf"]
        sign_in = ["keycloak"]
        repositories = ["engine"]
        """,
    )
    assert list(config.sign_in) == ["keycloak", "gate"]


@pytest.mark.parametrize("issuer", ["http://localhost:9000", "http://127.0.0.1:9000/realm", "http://[::1]:9000"])
def test_a_provider_on_this_machine_may_go_without_https(tmp_path: Path, issuer: str) -> None:
    config = _read(tmp_path, f'[sign_in.local]\nissuer = "{issuer}"\nclient_id = "knickpoint"\n')
    assert config.sign_in["local"].issuer == issuer


@pytest.mark.parametrize(
    "issuer",
    [
        "http://id.example.org",
        "http://127.0.0.1.example.org",
        "id.example.org",
        "ftp://id.example.org",
        "https://id.example.org?x=1",
        "https://id.example.org#x",
        "https://user:word@id.example.org",
        "https://id.example.org:port",
    ],
)
def test_another_issuer_than_an_https_address_is_refused(tmp_path: Path, issuer: str) -> None:
    error = _refusal(tmp_path, f'[sign_in.keycloak]\nissuer = "{issuer}"\nclient_id = "knickpoint"\n')
    assert error.message.startswith("issuer is ")
    assert error.where.endswith("knickpoint.toml, [sign_in.keycloak]")


@pytest.mark.parametrize(
    ("text", "section", "message"),
    [
        ('[sign_in.k]\nclient_id = "x"', "sign_in.k", "'issuer' is missing"),
        ('[sign_in.k]\nissuer = "https://id.example.org"', "sign_in.k", "'client_id' is missing"),
        (_OPENID + 'scopes = ["email"]', "sign_in.keycloak", "scopes lacks 'openid'"),
        (
            '[sign_in."a/b"]\nkind = "proxy"\nnetworks = ["10.1.2.3"]',
            "sign_in.a/b",
            "'a/b' cannot be part of an address",
        ),
        ('[sign_in.gate]\nkind = "proxy"', "sign_in.gate", "'networks' is missing"),
        ('[sign_in.gate]\nkind = "proxy"\nnetworks = ["10.1.2.3/8"]', "sign_in.gate", "has host bits set"),
        (
            '[sign_in.gate]\nkind = "proxy"\nnetworks = ["gate.example"]',
            "sign_in.gate",
            "'gate.example', which is not a network",
        ),
        ('[sign_in.gate]\nkind = "proxy"\nnetworks = ["0.0.0.0/0"]', "sign_in.gate", "every address there is"),
        ('[sign_in.gate]\nkind = "proxy"\nnetworks = ["::/0"]', "sign_in.gate", "every address there is"),
        (_PROXY + 'user_header = ""', "sign_in.gate", "user_header is ''"),
        (_PROXY + 'groups_header = "a b"', "sign_in.gate", "groups_header is 'a b'"),
        ('[server]\nproxies = ["0.0.0.0/0"]', "server", "every address there is"),
        ('[server]\nupload_token = "schlüssel"', "server", "upload_token has characters"),
        ('[server]\naddress = "perf.example.org"', "server", "address is 'perf.example.org'"),
        ('[server]\naddress = "https://example.org/perf"', "server", "address is 'https://example.org/perf'"),
        ('[server]\nembed = ["*"]', "server", "embed has '*'"),
        ('[server]\nembed = ["wiki.example.org"]', "server", "embed has 'wiki.example.org'"),
        ('[server]\nembed = ["https://wiki.example.org/page"]', "server", "embed has 'https://wiki.example.org/page'"),
        ('[server]\nembed = ["https://wiki.example.org; script-src *"]', "server", "embed has 'https://wiki"),
        ("[access]\nsession_hours = 0", "access", "session_hours is 0"),
        ("[access]\nsession_hours = inf", "access", "session_hours is inf"),
        ("[access]\nsession_hours = nan", "access", "session_hours is nan"),
        ('[access]\nsession_secret = "short"', "access", "session_secret has fewer than 32 characters"),
        ('[roles.a]\nrole = "viewer"', "roles.a", "the section matches nobody"),
        ('[roles.a]\nrole = "viewer"\ndomains = ["@example.org"]', "roles.a", "domains has '@example.org'"),
        (
            _OPENID + '[roles.a]\nrole = "viewer"\npeople = ["*"]\nsign_in = ["gitlab"]',
            "roles.a",
            "sign_in names 'gitlab'",
        ),
        (
            '[repositories.engine]\n[roles.a]\nrole = "viewer"\npeople = ["*"]\nrepositories = ["motor"]',
            "roles.a",
            "repositories names 'motor'",
        ),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_with_its_section(
    tmp_path: Path, text: str, section: str, message: str
) -> None:
    error = _refusal(tmp_path, text)
    assert message in error.message
    assert error.where.endswith(f"knickpoint.toml, [{section}]")


def test_a_role_may_name_a_repository_that_results_make(tmp_path: Path) -> None:
    config = _read(tmp_path, '[roles.a]\nrole = "viewer"\npeople = ["*"]\nrepositories = ["motor"]')
    assert config.roles["a"].repositories == ("motor",)


def test_a_short_secret_is_not_shown(tmp_path: Path) -> None:
    assert "hunter2" not in str(_refusal(tmp_path, '[access]\nsession_secret = "hunter2"'))
