"""What a provider may not do: tokens that are not for this sign-in, broken documents, and answers that never come."""

from __future__ import annotations

import base64
import hmac
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry
from tests.server.client import ERROR_FIELDS
from tests.server.openid import Browser, LoopbackProvider, query_of, with_sign_in

from knickpoint.access import openid
from knickpoint.access.settings import RoleSettings, SignInSettings
from knickpoint.instance import Instance, open_instance
from knickpoint.model.access import AuditKind, Role
from knickpoint.server import serving

_OTHER_KEY = RSAKey.generate_key(2048)
_ROLES = {"all": RoleSettings("all", Role.VIEWER, people=("*",))}


@pytest.fixture(scope="module")
def opened(finished_instance: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    directory = tmp_path_factory.mktemp("hostile") / "instance"
    shutil.copytree(finished_instance, directory)
    with open_instance(directory) as instance:
        yield instance


@pytest.fixture(scope="module")
def started() -> Iterator[LoopbackProvider]:
    with LoopbackProvider() as provider:
        yield provider


@pytest.fixture
def provider(started: LoopbackProvider, monkeypatch: pytest.MonkeyPatch) -> LoopbackProvider:
    """Return a provider that answers as it should, and whose description is read anew for each sign-in."""
    started.reset()
    monkeypatch.setattr(openid, "_FRESH_SECONDS", 0.0)
    monkeypatch.setattr(openid, "_PAUSE_SECONDS", 0.0)
    return started


@pytest.fixture(scope="module")
def address(opened: Instance, started: LoopbackProvider) -> Iterator[str]:
    with serving(with_sign_in(opened, {"local": started.settings(title="Local")}, _ROLES)) as found:
        yield found


@pytest.fixture
def browser(address: str, provider: LoopbackProvider) -> Iterator[Browser]:
    assert provider
    with Browser(address) as browser:
        yield browser


def _sign_in(browser: Browser, provider: LoopbackProvider) -> httpx.Response:
    return browser.get(provider.approve(browser.begin()))


def _refusal(browser: Browser, provider: LoopbackProvider) -> str:
    answer = _sign_in(browser, provider)
    assert answer.status_code == 401, answer.text
    assert browser.session() == ""
    return answer.text


def test_what_the_other_tests_break_works(browser: Browser, provider: LoopbackProvider) -> None:
    assert _sign_in(browser, provider).status_code == 303
    assert browser.session()


def test_a_code_is_of_no_use_without_the_verifier_of_its_challenge(
    browser: Browser, provider: LoopbackProvider
) -> None:
    stolen = query_of(provider.approve(browser.begin()))["code"]
    with Browser(browser.address) as thief:
        state = query_of(thief.begin())["state"]
        answer = thief.get(f"/sign-in/local/callback?code={stolen}&state={state}")
        assert "Local rejected the authorization code" in answer.text
        assert thief.session() == ""


def test_the_verifier_and_the_nonce_stand_in_no_cookie(browser: Browser, provider: LoopbackProvider) -> None:
    authorization = browser.begin()
    cookies = " ".join(browser.client.cookies.values())
    browser.get(provider.approve(authorization))
    payload = base64.urlsafe_b64decode(cookies.split(".")[1] + "==").decode()
    assert query_of(authorization)["state"] in payload
    assert provider.forms[0]["code_verifier"] not in payload
    assert provider.nonce not in payload


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": ["another"]},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another client"},
        {"aud": "another client", "azp": "knickpoint"},
        {"aud": ["another client"]},
        {"aud": []},
        {"aud": None},
        {"aud": ["knickpoint", "another client"]},
        {"aud": ["knickpoint", "another client"], "azp": "another client"},
        {"azp": "another client"},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"exp": "never"},
        {"exp": float("inf")},
        {"iat": None},
        {"iat": 32_503_680_000},
        {"nbf": 32_503_680_000},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "s" * 256},
        {"at_hash": "wrong"},
        {"email_verified": False, "sub": "token:ci"},
        {"email_verified": False, "sub": "ali\u202ece"},
        {"email_verified": False, "preferred_username": "a\nb"},
    ],
    ids=str,
)
def test_claims_that_are_not_for_this_sign_in_are_refused(
    browser: Browser, provider: LoopbackProvider, claims: dict[str, Any]
) -> None:
    provider.claims = claims
    _refusal(browser, provider)


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return ".".join([*(_encoded(json.dumps(part).encode()) for part in (header, claims)), ""])


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", ""])
def test_a_token_without_a_signature_is_refused(browser: Browser, provider: LoopbackProvider, algorithm: str) -> None:
    provider.document = {"id_token_signing_alg_values_supported": ["none", "RS256", algorithm]}
    provider.sign = lambda header, claims: _unsigned({**header, "alg": algorithm}, claims)
    _refusal(browser, provider)


@pytest.mark.parametrize("offered", [["HS256"], ["HS256", "RS256"], ["RS256"], [], None])
@pytest.mark.parametrize("form", ["pem", "der", "secret"])
def test_a_token_that_is_signed_with_what_everyone_knows_is_refused(
    browser: Browser, provider: LoopbackProvider, offered: list[str] | None, form: str
) -> None:
    public = {
        "pem": provider.key.as_pem(private=False),
        "der": provider.key.as_der(private=False),
        "secret": b"its secret, which is long enough for a key",
    }[form]
    provider.document = {"id_token_signing_alg_values_supported": offered}

    def sign(header: dict[str, Any], claims: dict[str, Any]) -> str:  # the library does not sign with such keys
        signed = _unsigned({**header, "alg": "HS256"}, claims).rstrip(".")
        return f"{signed}.{_encoded(hmac.digest(public, signed.encode(), 'sha256'))}"

    provider.sign = sign
    _refusal(browser, provider)


def test_a_token_with_another_asymmetric_algorithm_than_the_provider_names_is_refused(
    browser: Browser, provider: LoopbackProvider
) -> None:
    provider.header = {"alg": "RS512"}
    assert "not allowed" in _refusal(browser, provider)


@pytest.mark.parametrize("kid", ["one", "other", "", None, 7])
def test_a_token_of_another_key_is_refused_whatever_key_it_names(
    browser: Browser, provider: LoopbackProvider, kid: object
) -> None:
    def sign(header: dict[str, Any], claims: dict[str, Any]) -> str:
        signature = jwt.encode(header, claims, _OTHER_KEY).rpartition(".")[2]
        return _unsigned({**header, "kid": kid}, claims) + signature

    provider.sign = sign
    _refusal(browser, provider)


def test_a_key_that_the_token_brings_itself_is_not_used(browser: Browser, provider: LoopbackProvider) -> None:
    brought = {"jwk": _OTHER_KEY.as_dict(private=False), "jku": "https://evil.example/jwks"}

    def sign(header: dict[str, Any], claims: dict[str, Any]) -> str:
        registry = JWSRegistry(algorithms=["RS256"], strict_check_header=False)
        return jwt.encode({**header, **brought}, claims, _OTHER_KEY, registry=registry)

    provider.sign = sign
    _refusal(browser, provider)


@pytest.mark.parametrize("token", [None, "", "a.b.c", "é", 7, ["x"], "x" * 200_000])
def test_what_is_no_token_is_refused(browser: Browser, provider: LoopbackProvider, token: object) -> None:
    provider.answers["/token"] = lambda: (
        200,
        json.dumps({"access_token": "x", "token_type": "Bearer", "id_token": token}).encode(),
    )
    _refusal(browser, provider)


def test_user_info_of_another_person_is_refused(browser: Browser, provider: LoopbackProvider) -> None:
    provider.user_info = {"sub": "boss", "name": "Boss", "groups": ["admins"]}
    assert "name different people" in _refusal(browser, provider)


def test_groups_of_the_user_info_count(opened: Instance, provider: LoopbackProvider) -> None:
    provider.user_info = {"sub": "alice", "groups": ["perf"]}
    roles = {"perf": RoleSettings("perf", Role.VIEWER, groups=("perf",))}
    instance = with_sign_in(opened, {"local": provider.settings()}, roles)
    with serving(instance) as address, Browser(address) as browser:
        assert _sign_in(browser, provider).status_code == 303


def test_the_claim_of_the_configuration_names_the_person(opened: Instance, provider: LoopbackProvider) -> None:
    provider.claims = {"upn": "ALICE@example.org"}
    roles = {"alice": RoleSettings("alice", Role.VIEWER, people=("alice@example.org",))}
    instance = with_sign_in(opened, {"local": provider.settings(name_claim="upn")}, roles)
    with serving(instance) as address, Browser(address) as browser:
        assert _sign_in(browser, provider).status_code == 303
    assert opened.store.audit.entries(limit=1)[0].who == "ALICE@example.org"


def test_a_user_name_that_looks_like_a_mail_address_gives_no_role(opened: Instance, provider: LoopbackProvider) -> None:
    provider.claims = {"preferred_username": "boss@example.org", "email": "boss@example.org", "email_verified": False}
    roles = {"boss": RoleSettings("boss", Role.ADMIN, people=("boss@example.org",), domains=("example.org",))}
    instance = with_sign_in(opened, {"local": provider.settings()}, roles)
    with serving(instance) as address, Browser(address) as browser:
        assert _sign_in(browser, provider).status_code == 403
    assert opened.store.audit.entries(limit=1)[0].who == "alice (local)"


def test_a_public_client_sends_no_secret(opened: Instance, provider: LoopbackProvider) -> None:
    settings = SignInSettings("local", issuer=provider.issuer, client_id="knickpoint")
    with serving(with_sign_in(opened, {"local": settings}, _ROLES)) as address, Browser(address) as browser:
        assert _sign_in(browser, provider).status_code == 303
    assert provider.forms[0]["client_id"] == "knickpoint"
    assert "client_secret" not in provider.forms[0]


def test_a_refused_token_is_an_entry_of_the_audit_log_without_the_token(
    browser: Browser, provider: LoopbackProvider, opened: Instance
) -> None:
    provider.claims = {"nonce": "another"}
    _refusal(browser, provider)
    entry = opened.store.audit.entries(limit=1)[0]
    assert (entry.kind, entry.who) == (AuditKind.SIGN_IN_REFUSED, "anyone (127.0.0.1)")
    assert "nonce" in entry.about
    assert "eyJ" not in entry.about


def _outage(answer: httpx.Response) -> str:
    assert answer.status_code == 503, answer.text
    assert "Signing in does not work at the moment" in answer.text
    assert "<script" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return answer.text


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"authorization_endpoint": None},
        {"token_endpoint": None},
        {"token_endpoint": 7},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "ftp://127.0.0.1/"},
        {"authorization_endpoint": "https://[broken"},
        {"id_token_signing_alg_values_supported": "RS256"},
    ],
    ids=str,
)
def test_a_document_that_cannot_be_used_gives_a_page_with_the_remedy(
    browser: Browser, provider: LoopbackProvider, document: dict[str, Any]
) -> None:
    provider.document = document
    assert "Local cannot sign anyone in at the moment" in _outage(browser.get("/sign-in"))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"{}"),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b"\xff"),
        (302, b""),
        (200, b"[" * 100_000),
        (200, b" " * 600_000),
    ],
    ids=["error", "html", "list", "bytes", "redirect", "deep", "large"],
)
def test_a_broken_document_gives_a_page(browser: Browser, provider: LoopbackProvider, status: int, body: bytes) -> None:
    provider.answers["/.well-known/openid-configuration"] = lambda: (status, body)
    _outage(browser.get("/sign-in"))


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"{}"), (502, b"<html>"), (200, b"<html>"), (200, b"[]"), (404, b"gone"), (200, b" " * 600_000)],
    ids=["error", "gateway", "html", "list", "gone", "large"],
)
def test_a_broken_answer_to_the_code_gives_a_page(
    browser: Browser, provider: LoopbackProvider, status: int, body: bytes
) -> None:
    provider.answers["/token"] = lambda: (status, body)
    _outage(_sign_in(browser, provider))


def test_keys_that_cannot_be_fetched_give_a_page(opened: Instance, provider: LoopbackProvider) -> None:
    provider.answers["/jwks"] = lambda: (500, b"")
    with serving(with_sign_in(opened, {"local": provider.settings()})) as address, Browser(address) as browser:
        _outage(_sign_in(browser, provider))


def test_a_provider_that_is_down_gives_a_page_and_json_for_a_program(opened: Instance) -> None:
    with LoopbackProvider() as stopped:
        instance = with_sign_in(opened, {"local": stopped.settings(title="Local")}, _ROLES)
    with serving(instance) as address, Browser(address) as browser:
        page = _outage(browser.get("/sign-in?next=/trace/3"))
        assert 'href="/sign-in/local?next=%2Ftrace%2F3"' in page
        answer = browser.get("/sign-in", headers={"accept": "*/*"})
        assert (answer.status_code, set(answer.json())) == (503, ERROR_FIELDS)


def test_a_provider_that_came_back_signs_people_in_again(browser: Browser, provider: LoopbackProvider) -> None:
    provider.answers["/.well-known/openid-configuration"] = lambda: (500, b"")
    _outage(browser.get("/sign-in"))
    provider.answers.clear()
    assert _sign_in(browser, provider).status_code == 303


def test_a_provider_that_never_answers_is_given_up(
    browser: Browser, provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openid, "_FETCH_SECONDS", 0.2)
    done = threading.Event()

    def hang() -> tuple[int, bytes]:
        done.wait(60)  # longer than the browser waits
        return 200, b"{}"

    provider.answers["/.well-known/openid-configuration"] = hang
    try:
        _outage(browser.get("/sign-in"))
    finally:
        done.set()


def test_no_more_people_wait_for_a_slow_provider_than_the_server_can_spare(
    opened: Instance, provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openid, "_MOST_AT_ONCE", 1)
    asked, done = threading.Event(), threading.Event()

    def hang() -> tuple[int, bytes]:
        asked.set()
        done.wait(60)
        return 500, b"{}"

    provider.answers["/token"] = hang
    with serving(with_sign_in(opened, {"local": provider.settings()})) as address, Browser(address) as browser:
        waiting = threading.Thread(target=_sign_in, args=[browser, provider])
        waiting.start()
        try:
            assert asked.wait(20)
            with Browser(address) as other:
                assert "too many people are signing in right now" in _outage(other.get("/sign-in"))
        finally:
            done.set()
            waiting.join()


def test_the_end_of_the_provider_s_session_is_offered_only_where_it_has_one(
    browser: Browser, provider: LoopbackProvider
) -> None:
    _sign_in(browser, provider)
    page = browser.client.post(
        f"{browser.address}/sign-out", headers={"origin": browser.address}, follow_redirects=True
    ).text
    assert "You may still be signed in at Local" in page
    assert "Sign out of Local" not in page
