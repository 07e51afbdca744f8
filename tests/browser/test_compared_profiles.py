"""The flame graphs of two commits in a real browser: on the page of a comparison, and below a bisection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.server.story import make_instance

from knickpoint.instance import open_instance
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import SuspectRange
from knickpoint.profiles import ProfileBuilder, ValueKind, pack_profile
from knickpoint.server import serving
from knickpoint.store import Store
from knickpoint.store.bisections import BisectionAnswer, BisectionRequest
from knickpoint.store.profiles import ProfileWrite
from knickpoint.watch.bisections import put_on_finding

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Profiled:
    """A served instance that has profiles of two commits, and a bisection of a change that found the second one."""

    address: str
    change: str
    base: str
    head: str


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profiled]:
    directory = tmp_path_factory.mktemp("profiled") / "instance"
    make_instance(directory)
    with open_instance(directory) as instance, serving(instance) as address:
        store = instance.store
        key, place = _profile(store)
        _find(store, key, place)
        commits = store.commits.get(store.commits.repositories()[0], [place.previous, place.slot])
        yield Profiled(address.rstrip("/"), f"R{key}", *(each.commit.hash for each in commits))


def _profile(store: Store) -> tuple[int, SuspectRange]:
    repository = store.commits.repositories()[0]
    key, place = min(store.findings.groups.suspect_ranges(repository).items())
    for slot, cost in ((place.previous, 60.0), (place.slot, 90.0)):
        for benchmark in ("load", "parse"):
            builder = ProfileBuilder()
            main, own = builder.frame("main", "src/main.py", 1), builder.frame(f"{benchmark}_row", "src/row.py", 12)
            builder.add_path([main], 40.0)
            builder.add_path([main, own], cost)
            content = pack_profile(builder.build("made", ValueKind.INSTRUCTIONS, "instructions"))
            name = f"{benchmark}:{slot}"
            write = ProfileWrite(slot, name, benchmark, "", content, "made", "instructions", "instructions", name, 1)
            store.profiles.write(repository, write)
    return key, place


def _find(store: Store, key: int, place: SuspectRange) -> None:
    """End a search that found the last commit of the suspect range of a change."""
    repository, now = store.commits.repositories()[0], datetime(2026, 4, 1, tzinfo=UTC)
    slots = (place.previous, place.slot)
    request = BisectionRequest(repository.id, place.line, slots, "quick", "d", "ann", now, change_id=key)
    asked = store.bisections.ask(request)
    store.bisections.claim("worker", now, 60.0)
    found = SuspectRange(place.line, *slots)
    put_on_finding(store, asked, BisectionAnswer(BisectionState.CULPRIT, "", slots[1:], found, 0.98), "worker", now=now)


def compare_url(profiled: Profiled) -> str:
    return f"{profiled.address}/compare?base={profiled.base}&head={profiled.head}"


def test_a_comparison_draws_where_the_cost_changed_and_its_address_keeps_the_view(
    page: Page, profiled: Profiled
) -> None:
    page.goto(compare_url(profiled))
    region = page.get_by_role("region", name="Where the cost changed")
    expect(region).to_contain_text("+30 instructions of +30 instructions in load_row (src/row.py:12).")
    region.get_by_label("Benchmark").select_option("parse")
    expect(region).to_contain_text("in parse_row")
    region.get_by_role("button", name="After", exact=True).click()
    expect(page).to_have_url(re.compile(r"flame=view%3Dafter.*benchmark%3Dparse"))
    page.reload()
    expect(region).to_contain_text("in parse_row")
    expect(region.get_by_role("button", name="After", exact=True)).to_have_attribute("aria-pressed", "true")


def test_a_bisection_draws_what_its_commit_costs_more_than_the_one_before(page: Page, profiled: Profiled) -> None:
    page.goto(f"{profiled.address}/change/{profiled.change}")
    panel = page.get_by_role("region", name="Find the commit")
    panel.get_by_text("Profiles of the commit and the one before it").click()
    expect(panel).to_contain_text("+30 instructions of +30 instructions in load_row")
    panel.get_by_label("Benchmark").select_option("parse")
    expect(panel).to_contain_text("in parse_row")
    expect(panel.locator("#graph canvas")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_a_comparison_with_profiles_fits_and_is_accessible(page: Page, profiled: Profiled, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(compare_url(profiled))
    region = page.get_by_role("region", name="Where the cost changed")
    expect(region.locator("#graph canvas")).to_be_visible()
    functions = region.get_by_role("region", name="Functions")
    assert functions.evaluate("({ scrollWidth, clientWidth }) => scrollWidth - clientWidth") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
