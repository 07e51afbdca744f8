"""Every sort of change says the same on every page that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations, wait_until_loaded
from tests.server.stated_changes import World, case, make_stated_changes
from tests.server.stated_surfaces import Surfaces

from knickpoint.instance import open_instance
from knickpoint.model.statement import Basis, ChangeCondition, ChangeDirection, Statement
from knickpoint.server import serving

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Surfaces, str]]:
    directory = tmp_path_factory.mktemp("stated") / "instance"
    make_stated_changes(directory)
    with open_instance(directory) as instance, serving(instance) as found:
        yield Surfaces(instance), found.rstrip("/")


def words(said: Surfaces, stated: Statement) -> list[str]:
    """Return what a page says of a change wherever it shows it."""
    likely, present = stated.likely, stated.condition is ChangeCondition.PRESENT
    both = "slower" in stated.headline and "faster" in stated.headline
    likelihood = "likely, " if likely and likely.basis is Basis.SUSPECT else ""
    return [
        stated.headline + (", mixed" if stated.direction is ChangeDirection.MIXED and not both else ""),
        *([f"{likelihood}{likely.why}"] if likely else []),
        *([] if present else [stated.condition.value]),
        *([f"undone at {said.names[stated.undone_at][:10]}"] if not present and stated.undone_at >= 0 else []),
    ]


def opened(page: Page, address: str) -> None:
    page.goto(address)
    wait_until_loaded(page)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def wrong(text: str, wanted: list[str]) -> list[str]:
    plain = " ".join(text.replace("\u00a0", " ").split())
    return [word for word in wanted if word not in plain]


@pytest.mark.parametrize("width", [1440, 390])
def test_triage_says_what_is_stated(page: Page, stated: tuple[Surfaces, str], width: int) -> None:
    said, address = stated
    page.set_viewport_size({"width": width, "height": 900})
    shown: list[str] = []
    for tab in ("", "history", "processed", "gone"):
        for kind in ("", "informational"):
            opened(page, f"{address}/triage?tab={tab}&alerts={kind}&size=100")
            shown += [
                f"{row.get_attribute('data-hash')} {row.inner_text()}" for row in page.locator("tr.change-row").all()
            ]
    found = {}
    for key, each in said.statements.items():
        commit = said.names[each.likely.slot if each.likely else said.changes[key].suspect_range.slot]
        found[key] = min((wrong(row, words(said, each)) for row in shown if row.startswith(commit)), key=len)
    assert {f"R{key}": missing for key, missing in found.items() if missing} == {}


@pytest.mark.parametrize("width", [1440, 390])
def test_the_pages_of_commits_say_what_is_stated(page: Page, stated: tuple[Surfaces, str], width: int) -> None:
    said, address = stated
    page.set_viewport_size({"width": width, "height": 900})
    found = {}
    for key, each in said.statements.items():
        if said.is_gone(key):
            continue
        opened(page, f"{address}/commit/{said.names[said.changes[key].suspect_range.slot]}?repository=engine")
        table = page.get_by_role("table", name="What changed here")
        rows = [wrong(row.inner_text(), words(said, each)) for row in table.locator("tbody tr").all()]
        found[key] = min(rows, key=len, default=["no row"])
    assert {f"R{key}": missing for key, missing in found.items() if missing} == {}


@pytest.mark.parametrize("width", [1440, 390])
def test_the_pages_of_traces_say_what_is_stated(page: Page, stated: tuple[Surfaces, str], width: int) -> None:
    said, address = stated
    page.set_viewport_size({"width": width, "height": 900})
    found = {}
    for key, each in said.statements.items():
        if said.is_gone(key):
            continue
        (lead,) = said.instance.store.findings.points([each.lead])
        position = lead.suspect_range.slot
        opened(page, f"{address}/trace/{lead.trace_id}?commit={position}")
        row = page.locator("table.changes tr[aria-current=true]")
        found[key] = wrong(row.inner_text(), words(said, each))
    assert {f"R{key}": missing for key, missing in found.items() if missing} == {}


def test_the_overview_says_what_is_stated_and_what_is_news(page: Page, stated: tuple[Surfaces, str]) -> None:
    said, address = stated
    opened(page, address)
    largest = page.get_by_role("table", name="The worst of them").locator("tbody tr")
    expect(largest).to_have_count(6)
    for row, change in zip(largest.all(), said.overview["largest"], strict=True):
        assert wrong(row.inner_text(), words(said, said.statements[int(change["id"][1:])])) == []
    rows = page.get_by_role("region", name="News").locator("tbody tr")
    news = said.get("overview", since=(datetime.now(UTC) - timedelta(days=1)).isoformat())["news"]
    expect(rows).to_have_count(len(news))
    for row, item in zip(rows.all(), news, strict=True):
        announced = f"announced as {item['announced_size']}" if item["updated"] else ""
        assert wrong(row.inner_text(), [item["statement"]["headline"], announced]) == []
    assert violations(page) == []


def test_the_page_of_a_benchmark_says_what_each_trace_did_and_leads_to_what_is_stated(
    page: Page, stated: tuple[Surfaces, str]
) -> None:
    said, address = stated
    change = World(said.instance).change(case("mixed"))
    opened(page, f"{address}/benchmark?repository=engine&name=mixed-binary")
    table = page.get_by_role("table", name="Traces")
    expect(table).to_contain_text("with 6 other traces")
    assert violations(page) == []
    table.get_by_role("link", name="0.49 % larger, worse").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(said.statements[change.id].headline)


def test_the_trace_page_hatches_no_range_once_a_bisection_found_the_commit(
    page: Page, stated: tuple[Surfaces, str]
) -> None:
    said, address = stated
    world, bisected = World(said.instance), case("bisected")
    opened(page, f"{address}/trace/{world.trace(bisected)}?commit={bisected.place}")
    commit = page.get_by_role("region", name="Commit", exact=True)
    expect(commit.get_by_role("heading", name="A bisection found the commit")).to_be_visible()
    expect(page.locator(".legend")).not_to_contain_text("suspect range")
    expect(page.get_by_text("one of 5 commits")).to_have_count(0)
    found = commit.get_by_role("link", name="All changes at this commit").get_attribute("href")
    opened(page, f"{address}{found}")
    culprit = said.statements[world.change(bisected).id].likely
    assert culprit is not None
    expect(page.locator(f"tr[data-hash='{said.names[culprit.slot]}']")).to_be_visible()
    assert violations(page) == []


def test_triage_filters_by_the_direction_and_the_condition_of_the_change(
    page: Page, stated: tuple[Surfaces, str]
) -> None:
    said, address = stated
    opened(page, f"{address}/triage")
    page.get_by_label("Direction").select_option("Mixed")
    mixed = said.get("changes", direction="mixed")["changes"]
    expect(page.locator("tr.change-row")).to_have_count(len(mixed))
    opened(page, f"{address}/triage?q=condition:recovered")
    expect(page.locator("tr.change-row")).to_have_count(1)
    expect(page.locator("tr.change-row")).to_contain_text(case("recovered").said.headline)
