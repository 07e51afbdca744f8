"""Signing in and out through a real provider, in its own process, and a served instance."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.server.client import ERROR_FIELDS
from tests.server.openid import Browser, query_of, running_provider, with_sign_in

from knickpoint.access.settings import AccessSettings, AnyoneRole, RoleSettings, SignInSettings
from knickpoint.instance import Instance, open_instance
from knickpoint.model.access import AuditKind, Role
from knickpoint.server import serving

_ALICE = {
    "sub": "248289761001",
    "email": "alice@example.org",
    "email_verified": True,
    "name": "Alice Ampère",
    "groups": ["perf"],
}
_MALLORY = {"sub": "mallory", "email": "alice@example.org", "email_verified": False, "name": "Alice Ampère"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with running_provider(_ALICE, _MALLORY) as address:
        yield address


@pytest.fixture(scope="module")
def served(
    finished_instance: Path, tmp_path_factory: pytest.TempPathFactory, issuer: str
) -> Iterator[tuple[Instance, str]]:
    directory = tmp_path_factory.mktemp("sign-in") / "instance"
    shutil.copytree(finished_instance, directory)
    ways = {
        "keycloak": SignInSettings("keycloak", title="Keycloak", issuer=issuer, client_id="knick", client_secret="word")
    }
    roles = {"perf": RoleSettings("perf", Role.EDITOR, groups=("perf",), domains=("example.org",))}
    with open_instance(directory) as opened:
        instance = with_sign_in(opened, ways, roles)
        with serving(instance) as address:
            yield instance, address


@pytest.fixture
def instance(served: tuple[Instance, str]) -> Instance:
    return served[0]


@pytest.fixture
def address(served: tuple[Instance, str]) -> str:
    return served[1]


@pytest.fixture
def browser(address: str) -> Iterator[Browser]:
    with Browser(address) as opened:
        yield opened


def _subject(claims: dict[str, object]) -> str:
    return str(claims["sub"])


def test_before_signing_in_a_person_may_read_nothing(browser: Browser) -> None:
    assert browser.get("/api/v1/changes").status_code == 401


def test_a_person_signs_in_through_the_provider_and_may_read(browser: Browser) -> None:
    answer = browser.sign_in(_subject(_ALICE))
    assert answer.status_code == 303
    assert browser.get("/api/v1/changes").status_code == 200


def test_after_signing_in_the_browser_returns_to_where_it_was(browser: Browser) -> None:
    answer = browser.sign_in(_subject(_ALICE), "/sign-in?next=%2Ftrace%2F3%3Ffrom%3D2")
    assert answer.headers["location"] == "/trace/3?from=2"


def test_the_cookie_is_kept_from_scripts_and_from_other_sites(browser: Browser) -> None:
    cookie = next(
        value for value in browser.sign_in(_subject(_ALICE)).headers.get_list("set-cookie") if "knick_session=" in value
    )
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Max-Age=43200" in cookie


def test_each_sign_in_starts_another_session_and_ends_the_one_before(browser: Browser, address: str) -> None:
    browser.sign_in(_subject(_ALICE))
    first = browser.session()
    browser.sign_in(_subject(_ALICE))
    assert browser.session() != first
    with Browser(address) as thief:
        thief.client.cookies.set("knick_session", first)
        assert thief.get("/api/v1/changes").status_code == 401


def test_a_session_that_was_planted_before_the_sign_in_is_not_the_one_after(browser: Browser) -> None:
    browser.client.cookies.set("knick_session", "planted", domain="127.0.0.1")
    browser.sign_in(_subject(_ALICE))
    assert "planted" not in browser.session()


def test_signing_out_ends_the_session_and_every_copy_of_its_cookie(browser: Browser, address: str) -> None:
    browser.sign_in(_subject(_ALICE))
    copied = browser.session()
    answer = browser.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/signed-out?provider=keycloak")
    assert browser.session() == ""
    with Browser(address) as thief:
        thief.client.cookies.set("knick_session", copied)
        assert thief.get("/api/v1/changes").status_code == 401


def test_the_page_after_signing_out_leads_to_the_sign_out_of_the_provider(browser: Browser, issuer: str) -> None:
    page = browser.get("/signed-out?provider=keycloak").text
    assert "You may still be signed in at Keycloak" in page
    assert f'href="{issuer}/oauth2/end_session?client_id=knick"' in page


def test_a_page_of_another_site_signs_no_one_out(browser: Browser) -> None:
    browser.sign_in(_subject(_ALICE))
    answer = browser.client.post(f"{browser.address}/sign-out", headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    assert browser.get("/api/v1/changes").status_code == 200


def test_a_link_signs_no_one_out(browser: Browser) -> None:
    browser.sign_in(_subject(_ALICE))
    assert browser.get("/sign-out").status_code == 405
    assert browser.get("/api/v1/changes").status_code == 200


def test_a_person_without_a_role_learns_who_they_are_signed_in_as(browser: Browser) -> None:
    answer = browser.sign_in(_subject(_MALLORY))
    assert answer.status_code == 403
    assert "You are signed in as mallory" in answer.text
    assert "/sign-out" in answer.text
    refused = browser.get("/api/v1/changes")
    assert (refused.status_code, refused.json()["error"]) == (403, "The caller mallory (keycloak) may not read.")


def test_a_mail_address_that_is_not_verified_is_no_one_s_name(browser: Browser, instance: Instance) -> None:
    browser.sign_in(_subject(_MALLORY))
    assert instance.store.audit.entries(limit=1)[0].who == "mallory (keycloak)"


def _refused(answer: httpx.Response) -> str:
    assert answer.status_code == 401, answer.headers
    return answer.text


def test_an_answer_that_arrives_in_another_browser_is_refused(browser: Browser, address: str) -> None:
    callback = browser.consent(browser.begin(), _subject(_ALICE))
    with Browser(address) as other:
        assert "started in another browser" in _refused(other.get(callback))
        assert other.session() == ""


def test_the_code_of_one_person_is_of_no_use_in_the_sign_in_of_another(browser: Browser, address: str) -> None:
    stolen = query_of(browser.consent(browser.begin(), _subject(_ALICE)))["code"]
    with Browser(address) as thief:
        state = query_of(thief.begin())["state"]
        assert "nonce" in _refused(thief.get(f"/sign-in/keycloak/callback?code={stolen}&state={state}"))
        assert thief.session() == ""


def test_an_answer_counts_once(browser: Browser) -> None:
    callback = browser.consent(browser.begin(), _subject(_ALICE))
    pending = dict(browser.client.cookies)
    assert browser.get(callback).status_code == 303
    browser.client.cookies.clear()
    browser.client.cookies.update(pending)
    assert "was already completed" in _refused(browser.get(callback))
    assert browser.session() == ""


@pytest.mark.parametrize("state", ["", "wrong", "%00", "é"])
def test_an_answer_with_another_state_is_refused(browser: Browser, state: str) -> None:
    code = query_of(browser.consent(browser.begin(), _subject(_ALICE)))["code"]
    page = _refused(browser.get(f"/sign-in/keycloak/callback?code={code}&state={state}"))
    assert "started in another browser" in page
    assert browser.session() == ""


def test_a_person_who_declines_at_the_provider_gets_a_page(browser: Browser) -> None:
    authorization = browser.begin()
    answer = browser.client.post(authorization, data={"action": "deny", "sub": "x"})
    error, state = query_of(answer.headers["location"])["error"], query_of(authorization)["state"]
    page = browser.get(f"/sign-in/keycloak/callback?error={error}&state={state}")
    assert "Keycloak did not sign you in: access_denied" in _refused(page)


def test_a_page_shows_no_error_that_an_address_made_up(browser: Browser) -> None:
    state = query_of(browser.begin())["state"]
    page = browser.get(f"/sign-in/keycloak/callback?error=Call+0800+EVIL&error_description=EVIL&state={state}")
    assert "EVIL" not in _refused(page)


def test_an_answer_of_another_provider_is_refused(browser: Browser) -> None:
    callback = browser.consent(browser.begin(), _subject(_ALICE))
    assert "another provider" in _refused(browser.get(f"{callback}&iss=https://evil.example"))


def test_a_program_gets_the_error_as_json(browser: Browser) -> None:
    answer = browser.get("/sign-in/keycloak/callback", headers={"accept": "application/json"})
    assert answer.status_code == 401
    assert set(answer.json()) == ERROR_FIELDS


def test_an_unknown_way_to_sign_in_is_not_found(browser: Browser) -> None:
    answer = browser.get("/sign-in/other")
    assert answer.status_code == 404
    assert "There is no such page" in answer.text


def test_pages_have_no_script_and_no_inline_style(browser: Browser) -> None:
    answer = browser.get("/signed-out")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert "style=" not in answer.text
    assert browser.get("/sign-in.css").headers["content-type"].startswith("text/css")


def test_the_audit_log_has_sign_ins_refusals_and_sign_outs(browser: Browser, instance: Instance) -> None:
    browser.sign_in(_subject(_ALICE))
    browser.post("/sign-out")
    browser.get("/sign-in/keycloak/callback?code=x&state=y")
    refused, out, entered = instance.store.audit.entries(limit=3)
    assert [entry.kind for entry in (entered, out, refused)] == [
        AuditKind.SIGNED_IN,
        AuditKind.SIGNED_OUT,
        AuditKind.SIGN_IN_REFUSED,
    ]
    assert (entered.who, entered.about, entered.address) == ("alice@example.org", "through keycloak", "127.0.0.1")
    assert (out.who, out.address) == ("alice@example.org", "127.0.0.1")
    assert refused.who == "anyone (127.0.0.1)"


def test_neither_log_nor_cookie_has_a_token_or_a_code(
    browser: Browser, instance: Instance, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    callback = browser.consent(browser.begin(), _subject(_ALICE))
    code = query_of(callback)["code"]
    browser.get(callback)
    entries = " ".join(f"{entry.who} {entry.about}" for entry in instance.store.audit.entries(limit=50))
    everything = " ".join(
        [*(record.getMessage() for record in caplog.records if record.name.startswith("knick")), entries]
    )
    assert code not in everything
    assert code not in browser.session()


def test_anyone_who_may_read_goes_on_without_a_role(instance: Instance, tmp_path: Path, issuer: str) -> None:
    shutil.copytree(instance.directory, tmp_path / "open")
    with open_instance(tmp_path / "open") as opened:
        ways = {"keycloak": SignInSettings("keycloak", issuer=issuer, client_id="knick", client_secret="word")}
        public = with_sign_in(opened, ways, access=AccessSettings(anyone=AnyoneRole.VIEWER))
        with serving(public) as address, Browser(address) as browser:
            assert browser.get("/api/v1/changes").status_code == 200
            assert browser.sign_in(_subject(_MALLORY)).status_code == 303


def test_with_several_providers_a_page_has_a_button_for_each(instance: Instance, tmp_path: Path, issuer: str) -> None:
    shutil.copytree(instance.directory, tmp_path / "two")
    one = SignInSettings("one", title="<b>One</b>", issuer=issuer, client_id="knick", client_secret="word")
    with open_instance(tmp_path / "two") as opened:
        served = with_sign_in(opened, {"one": one, "two": replace(one, name="two", title="")})
        with serving(served) as address, Browser(address) as browser:
            page = browser.get("/sign-in?next=/trace/3").text
            assert "Sign in through &lt;b&gt;One&lt;/b&gt;" in page
            assert 'href="/sign-in/two?next=%2Ftrace%2F3"' in page
            assert browser.sign_in(_subject(_ALICE), "/sign-in/two").status_code == 403
