"""Who is asking: what the header shows, what is offered, and a sign-in that ends in the middle of a decision."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect
from tests.browser.conftest import leaving, violations, wait_until_loaded
from tests.examples import in_the_long_run
from tests.server.story import make_instance

from knickpoint.instance import Instance, open_instance
from knickpoint.model.access import AuditKind
from knickpoint.server import serving

pytestmark = pytest.mark.browser

SETTINGS = """
[repositories."grace/compiler"]

[sign_in.company]
title = "Company"
issuer = "http://127.0.0.1:9/"
client_id = "knickpoint"
client_secret = "kept by the provider"

[sign_in.gate]
kind = "proxy"
networks = ["127.0.0.1/32"]
title_header = "X-Title"

[roles.viewers]
role = "viewer"
people = ["vera", "paul"]

[roles.editors]
role = "editor"
people = ["edith"]

[roles.admins]
role = "admin"
people = ["ada"]

[roles.others]
role = "editor"
people = ["paul"]
repositories = ["grace/compiler"]
"""
"""The proxy is the test itself: it names people in headers, which a server on this machine believes from 127.0.0.1."""


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an instance with people, whose findings nobody decided about."""
    directory = tmp_path_factory.mktemp("team") / "instance"
    make_instance(directory)
    file = directory / "knickpoint.toml"
    file.write_text(file.read_text() + SETTINGS)
    return directory


@pytest.fixture(scope="module")
def shared_team(configured: Path) -> Iterator[str]:
    """Serve it for tests that change nothing."""
    with open_instance(configured) as instance, serving(instance) as address:
        yield address.rstrip("/")


@pytest.fixture
def team(configured: Path, tmp_path: Path) -> Iterator[tuple[Instance, str]]:
    """Serve a copy for a test that changes it."""
    shutil.copytree(configured, tmp_path / "instance")
    with open_instance(tmp_path / "instance") as instance, serving(instance) as address:
        yield instance, address.rstrip("/")


SignIn = Callable[..., None]


@pytest.fixture
def sign_in(page: Page) -> Iterator[SignIn]:
    """Return a function that makes a person the one who asks; nobody without a name."""

    def become(name: str = "", title: str = "") -> None:
        headers = {"X-Forwarded-User": name} if name else {}
        page.set_extra_http_headers(headers | ({"X-Title": title} if title else {}))

    yield become
    page.set_extra_http_headers({})


def go(page: Page, address: str) -> None:
    page.goto(address)
    wait_until_loaded(page)


def open_panel(page: Page) -> None:
    page.get_by_role("button", name="Person").click()
    expect(page.locator("#person-panel")).to_be_visible()


# ---- Who is shown


def test_without_sign_in_the_page_names_the_local_person_and_says_who_acts_under_this_name(
    page: Page, shared_address: str
) -> None:
    go(page, f"{shared_address}/triage")
    expect(page.get_by_role("button", name="Person")).to_contain_text(getpass.getuser())
    open_panel(page)
    panel = page.locator("#person-panel")
    expect(panel).to_contain_text("Everybody who reaches this machine's loopback address acts under this name.")
    expect(panel.get_by_role("button", name="Sign out")).to_have_count(0)


def test_a_person_is_shown_with_title_name_source_and_permissions(
    page: Page, shared_team: str, sign_in: SignIn
) -> None:
    sign_in("vera", "Vera Rubin")
    go(page, f"{shared_team}/triage")
    button = page.get_by_role("button", name="Person")
    expect(button).to_contain_text("Vera Rubin")
    expect(button).to_contain_text("signed in through gate")
    open_panel(page)
    for text in ("Vera Rubin", "vera (gate)", "signed in through gate", "All repositories", "read"):
        expect(page.locator("#person-panel").get_by_text(text, exact=True).first).to_be_visible()


@pytest.mark.parametrize(
    ("person", "pages"), [("ada", ["Missing", "Quality", "Tokens", "Audit log"]), ("vera", ["Missing", "Quality"])]
)
def test_on_a_phone_the_panel_has_the_pages_that_the_header_has_no_room_for(
    page: Page, shared_team: str, sign_in: SignIn, person: str, pages: list[str]
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    sign_in(person)
    go(page, f"{shared_team}/triage")
    open_panel(page)
    links = page.locator("#person-panel").get_by_role("navigation").get_by_role("link")
    expect(links).to_have_text(pages)
    links.first.click()
    expect(page.get_by_role("heading", name="Missing data")).to_be_visible()
    expect(page.locator("#person-panel")).to_be_hidden()


def test_escape_closes_the_panel_and_keeps_the_selection(page: Page, shared_team: str, sign_in: SignIn) -> None:
    sign_in("edith")
    go(page, f"{shared_team}/triage")
    page.keyboard.press("x")
    expect(page.get_by_role("region", name="Selection")).to_be_visible()
    open_panel(page)
    page.keyboard.press("Escape")
    expect(page.locator("#person-panel")).to_be_hidden()
    expect(page.get_by_role("region", name="Selection")).to_be_visible()


@pytest.mark.core
def test_a_page_that_needs_sign_in_leads_there_and_back(page: Page, shared_team: str) -> None:
    page.goto(f"{shared_team}/triage?q=parse")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    link = page.get_by_role("main").get_by_role("link", name="Sign in")
    expect(link).to_have_attribute("href", "/sign-in?next=%2Ftriage%3Fq%3Dparse")
    expect(page.get_by_role("navigation", name="Views")).to_have_count(0)


def test_a_person_without_a_role_is_told_whom_to_ask(page: Page, shared_team: str, sign_in: SignIn) -> None:
    sign_in("stranger")
    page.goto(f"{shared_team}/triage")
    expect(page.get_by_role("heading", name="You may not read this instance")).to_be_visible()
    expect(page.get_by_text("Ask the operator")).to_be_visible()


def test_a_port_that_is_open_without_sign_in_says_so_on_every_page(page: Page, tmp_path: Path) -> None:
    make_instance(tmp_path / "open")
    file = tmp_path / "open" / "knickpoint.toml"
    file.write_text(file.read_text() + '\n[access]\nanyone = "admin"\n')
    with open_instance(tmp_path / "open") as instance, serving(instance, "0.0.0.0") as printed, leaving(page):
        address = f"http://127.0.0.1:{printed.rstrip('/').rpartition(':')[2]}/"
        for path in ("triage", "trace/0", "explore", "missing", "quality", "tokens", "audit"):
            go(page, address + path)
            expect(page.get_by_role("note", name="Open port")).to_contain_text("without sign-in")


# ---- What is offered


@pytest.mark.core
def test_a_viewer_is_offered_no_decision(page: Page, shared_team: str, sign_in: SignIn) -> None:
    sign_in("vera")
    posts: list[str] = []

    def on_request(request: Request) -> None:
        if request.method != "GET":
            posts.append(request.url)

    page.on("request", on_request)
    for path in ("/triage", "/triage?open=R1", "/triage?tab=processed", "/trace/0?commit=30"):
        go(page, shared_team + path)
        for name in ("Acknowledge", "Hide", "Put back", "Undo the last"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        expect(page.get_by_role("checkbox")).to_have_count(0)
        for key in ("x", "a", "h", "t", "n", "s", "m", "u", "r"):
            page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("?")
        for text in ("acknowledge", "hide as noise", "undo", "select the row"):
            expect(page.get_by_role("dialog").get_by_text(text)).to_have_count(0)
        page.keyboard.press("Escape")
    page.remove_listener("request", on_request)
    assert posts == []


def test_an_editor_of_another_repository_is_told_why_a_key_does_nothing(
    page: Page, shared_team: str, sign_in: SignIn
) -> None:
    sign_in("paul")
    go(page, f"{shared_team}/triage")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    expect(page.locator("tbody").get_by_role("checkbox")).to_have_count(0)
    page.keyboard.press("a")
    expect(page.get_by_text("You may read the changes of ada/engine, but not decide about them.")).to_be_visible()


@pytest.mark.parametrize("path", ["/tokens", "/audit"])
def test_pages_of_admins_are_not_offered_to_others_and_say_so_when_they_are_opened(
    page: Page, shared_team: str, sign_in: SignIn, path: str
) -> None:
    sign_in("edith")
    go(page, shared_team + path)
    expect(page.get_by_role("heading", name="for admins")).to_be_visible()
    expect(page.locator(f'a[href="{path}"]')).to_have_count(0)


def test_a_role_that_was_taken_meanwhile_is_a_clear_message_and_the_buttons_go(
    page: Page, team: tuple[Instance, str], sign_in: SignIn, expected_errors: list[str]
) -> None:
    expected_errors.append("403 (Forbidden)")
    sign_in("edith")
    go(page, f"{team[1]}/triage")
    sign_in("vera")
    page.keyboard.press("a")
    expect(page.get_by_role("status").get_by_text("Nothing was recorded")).to_contain_text("may not decide")
    expect(page.locator("tr.change-row")).to_have_count(2)
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)


# ---- A sign-in that ends


def test_a_sign_in_that_ends_in_the_middle_of_a_decision_loses_no_word(
    page: Page, team: tuple[Instance, str], sign_in: SignIn, expected_errors: list[str]
) -> None:
    expected_errors.append("401 (Unauthorized)")
    sign_in("edith", "Edith Clarke")
    go(page, f"{team[1]}/triage?q=bracket&open=R1")
    page.keyboard.press("n")
    note = page.get_by_role("dialog").get_by_label("Note")
    note.fill("half a thought")
    sign_in()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    error = page.get_by_role("dialog").get_by_role("alert")
    expect(error).to_contain_text("your sign-in has ended")
    link = error.get_by_role("link", name="Sign in")
    expect(link).to_have_attribute("href", "/sign-in?next=%2Ftriage%3Fq%3Dbracket%26open%3DR1")
    expect(link).to_have_attribute("target", "_blank")
    expect(note).to_have_value("half a thought")
    expect(page.get_by_text("The sign-in of Edith Clarke has ended.")).to_be_visible()
    sign_in("edith", "Edith Clarke")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("Wrote a note on 2 change points.")).to_be_visible()
    page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    expect(page.get_by_text("The sign-in of Edith Clarke has ended.")).to_have_count(0)
    entry = team[0].store.audit.entries(kind=AuditKind.DECIDED)[0]
    assert entry.who == "edith (gate)"
    page.get_by_text("half a thought").first.wait_for(state="attached")


def test_a_page_whose_sign_in_ended_keeps_its_rows_and_goes_on_after_the_next(
    page: Page, team: tuple[Instance, str], sign_in: SignIn, expected_errors: list[str]
) -> None:
    expected_errors.append("401 (Unauthorized)")
    sign_in("edith")
    go(page, f"{team[1]}/triage")
    sign_in()
    page.keyboard.press("a")
    expect(page.get_by_text("The sign-in of edith (gate) has ended.")).to_be_visible()
    expect(page.locator("tr.change-row")).to_have_count(2)
    sign_in("edith")
    page.evaluate("() => window.dispatchEvent(new Event('focus'))")
    expect(page.get_by_text("The sign-in of edith (gate) has ended.")).to_have_count(0)
    page.keyboard.press("a")
    expect(page.locator("tr.change-row")).to_have_count(1)


# ---- Names from elsewhere

HOSTILE = ("<img src=x onerror=alert(1)>", "W" * 200, "</bdi><script>alert(1)</script>", "אבג (ada) דהו")


@pytest.mark.parametrize("title", HOSTILE)
def test_a_title_is_text_and_fits(page: Page, shared_team: str, sign_in: SignIn, title: str) -> None:
    sign_in("vera", title if title.isascii() else title.encode().decode("latin-1"))
    go(page, f"{shared_team}/triage")
    open_panel(page)
    panel = page.locator("#person-panel")
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("(width) => innerWidth === width", arg=width)
        assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        box = panel.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert panel.evaluate("(element) => element.scrollWidth <= element.clientWidth")
    assert panel.locator("img, script").count() == 0


@pytest.mark.parametrize("scheme", ["dark", *in_the_long_run("light")])
def test_panel_and_sign_in_are_accessible(page: Page, shared_team: str, sign_in: SignIn, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(f"{shared_team}/triage")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert violations(page) == []
    sign_in("ada", "Ada Lovelace")
    go(page, f"{shared_team}/triage")
    open_panel(page)
    assert violations(page) == []
