"""A real browser that signs in and out, at a real provider, through a real proxy with TLS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import violations, wait_until_loaded
from tests.server.openid import running_provider, with_sign_in
from tests.server.proxy import find_nginx, free_port, make_certificate, nginx_of_guide, running_nginx
from tests.server.story import make_instance

from knickpoint.access.settings import RoleSettings, SignInSettings
from knickpoint.instance import open_instance
from knickpoint.model.access import Role
from knickpoint.server import serving

_ADA = {"sub": "ada", "email": "ada@example.org", "email_verified": True, "name": "Ada Lovelace"}
_EVE = {"sub": "eve", "email": "eve@example.com", "email_verified": True}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an instance with a provider behind nginx, and give its public address."""
    find_nginx()
    directory = tmp_path_factory.mktemp("nginx")
    make_instance(directory / "instance")
    certificate, port = make_certificate(directory), free_port()
    address = f"https://localhost:{port}"
    with running_provider(_ADA, _EVE) as issuer, open_instance(directory / "instance") as opened:
        way = SignInSettings("company", title="Company", issuer=issuer, client_id="knick", client_secret="word")
        roles = {"all": RoleSettings("all", Role.EDITOR, domains=("example.org",))}
        server = replace(opened.config.server, address=address, proxies=("127.0.0.1",))
        with serving(with_sign_in(opened, {"company": way}, roles, server=server)) as inner:
            text = nginx_of_guide(0, port=port, server=inner, certificate=certificate)
            with running_nginx(directory, text, port):
                yield address


@pytest.fixture
def visitor(browser: Browser, secured: str) -> Iterator[Page]:
    """Return a window without cookies at the instance."""
    assert secured
    with browser.new_context(ignore_https_errors=True) as context:
        context.set_default_timeout(15_000)
        yield context.new_page()


def _sign_in(page: Page, address: str, subject: str) -> None:
    page.goto(f"{address}/sign-in?next=/explore")
    page.get_by_role("button", name=subject, exact=True).click()
    page.wait_for_url(f"{address}/**")


@pytest.mark.core
def test_a_person_signs_in_and_out_from_the_dashboard(visitor: Page, secured: str) -> None:
    _sign_in(visitor, secured, "ada")
    assert visitor.url.startswith(f"{secured}/explore")
    wait_until_loaded(visitor)
    me = visitor.evaluate("async () => (await fetch('/api/v1/me')).json()")
    assert (me["kind"], me["name"], me["title"]) == ("person", "ada@example.org", "Ada Lovelace")
    cookie = next(each for each in visitor.context.cookies() if each["name"].endswith("knick_session"))
    assert (cookie["name"], cookie["secure"], cookie["httpOnly"]) == ("__Host-knick_session", True, True)
    assert "knick_session" not in visitor.evaluate("() => document.cookie")
    visitor.get_by_role("button", name="Person: Ada Lovelace").click()
    visitor.get_by_role("button", name="Sign out").click()
    visitor.wait_for_url(f"{secured}/signed-out?provider=company")
    assert [each for each in visitor.context.cookies() if each["name"].endswith("knick_session")] == []


def test_the_page_without_a_role_signs_out_by_its_button(visitor: Page, secured: str) -> None:
    _sign_in(visitor, secured, "eve")
    assert "You are signed in as eve@example.com" in visitor.inner_text("main")
    assert violations(visitor) == []
    visitor.get_by_role("button", name="Sign out").click()
    visitor.wait_for_url(f"{secured}/signed-out?provider=company")
    assert "Your session in this browser has ended" in visitor.inner_text("main")
    assert violations(visitor) == []
    assert [each for each in visitor.context.cookies(secured) if "knick_session" in each["name"]] == []
    assert visitor.get_by_role("link", name="Sign out of Company as well").is_visible()


def test_a_person_who_declines_gets_a_page_with_a_way_on(visitor: Page, secured: str) -> None:
    visitor.goto(f"{secured}/sign-in")
    visitor.get_by_placeholder("sub").fill("x")
    visitor.get_by_role("button", name="Deny").click()
    visitor.wait_for_url(f"{secured}/**")
    assert visitor.inner_text("h1") == "You are not signed in"
    visitor.get_by_role("link", name="Try again").click()
    visitor.get_by_role("button", name="ada", exact=True).click()
    visitor.wait_for_url(f"{secured}/**")
    assert visitor.evaluate("async () => (await fetch('/api/v1/me')).json()")["name"] == "ada@example.org"
