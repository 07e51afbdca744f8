"""The panel "Find the commit" in a real browser, beside a worker that searches."""

from __future__ import annotations

import getpass
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import violations
from tests.instance.bisections.bisectable import (
    BAD,
    CULPRIT,
    Bisectable,
    QuickPool,
    bisectable,
    make_instance,
    make_repository,
)

from knickpoint.bisect.job import ProbeJob
from knickpoint.history import Git
from knickpoint.instance import Instance, open_instance
from knickpoint.instance.bisections import run_bisection
from knickpoint.server import serving

pytestmark = pytest.mark.browser

_RECIPE = """
[bisect.quick]
measure = ["./bench"]
results = ["out.csv"]
query = "benchmark=parse"
same_machine = true
"""
_POLL_MS = 2_000


class Searched:
    """An instance that is served, its change, and the device on which its bisections run."""

    def __init__(self, made: Bisectable, instance: Instance, address: str, commits: list[str]) -> None:
        self.made = made
        self.instance = instance
        self.address = address
        self.pool = QuickPool(commits)

    def path(self) -> str:
        """Return the page of the change."""
        return f"{self.address}/trace/{self.made.world.trace('parse')}?commit={BAD}"

    @contextmanager
    def worker(self, pause_after: int = 0) -> Iterator[None]:
        """Run the bisection that waits, beside the block; the device falls silent after some probes."""

        def count(_job: ProbeJob) -> None:
            if pause_after and len(self.pool.jobs) >= pause_after:
                self.pool.silent.set()

        self.pool.before = count
        (waiting,) = self.instance.store.bisections.newest(limit=1)
        thread = threading.Thread(
            target=run_bisection, args=(self.instance, waiting, self.pool), kwargs={"worker": "test"}, daemon=True
        )
        thread.start()
        yield
        thread.join()


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    base = tmp_path_factory.mktemp("searched")
    project = make_repository(base / "project")
    make_instance(base / "template", project)
    commits = [each.hash for each in Git.at(project.directory).first_parents("main")]
    with bisectable(base / "template", base / "instance") as made:
        with Path(base / "instance" / "knickpoint.toml").open("a") as file:
            file.write(_RECIPE)
        with open_instance(base / "instance") as instance, serving(instance) as found:
            yield Searched(made, instance, found.rstrip("/"), commits)


@pytest.fixture
def panel(page: Page, searched: Searched) -> Callable[[int], Locator]:
    """Open the page of the change in a window of some width; the clock of the page is in the test's hand."""

    def go(width: int) -> Locator:
        page.set_viewport_size({"width": width, "height": 900})
        page.clock.install()
        page.goto(searched.path())
        return page.get_by_role("region", name="Find the commit")

    return go


def asks_again(panel: Locator) -> Locator:
    """Let the page ask the server for what is new, and return the line with the state."""
    panel.page.clock.run_for(_POLL_MS)
    return panel.locator(".bisection-state")


def replay_by_keyboard(panel: Locator) -> None:
    """Step to the start of the ended search, to the first probe, and let the rest play."""
    replay = panel.get_by_role("group", name="Replay of the search")
    probes = panel.locator("svg.dots circle").count()
    replay.get_by_role("slider").press("Home")
    expect(replay).to_contain_text("Before the first probe:")
    expect(panel.locator("svg.dots circle")).to_have_count(0)
    whole = panel.locator("svg.dots rect.range").bounding_box()
    replay.get_by_role("slider").press("ArrowRight")
    expect(replay).to_contain_text(f"Probe 1 of {probes}, an end of the range.")
    expect(panel.locator("svg.dots circle")).to_have_count(1)
    replay.get_by_role("button", name="Replay").press("Enter")
    panel.page.clock.run_for(1000 * probes)
    expect(panel.locator("svg.dots circle")).to_have_count(probes)
    expect(replay).to_contain_text(re.compile(r"Afterwards:\s+1 of [0-9]+ commits left"))
    left = panel.locator("svg.dots rect.range").bounding_box()
    assert whole is not None
    assert left is not None
    assert left["width"] < whole["width"] / 2


def test_the_search_is_started_beside_the_list_of_changes(page: Page, searched: Searched) -> None:
    page.goto(f"{searched.address}/triage")
    row = page.locator("tr.change-row").first
    row.get_by_role("button", name="Find the commit").click()
    panel = page.get_by_role("complementary", name="The current change")
    expect(panel.get_by_role("button", name="Find the commit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(panel.get_by_role("button", name="Stop")).to_be_visible()
    panel.get_by_role("button", name="Stop").click()
    expect(panel).to_contain_text("Stopped")


@pytest.mark.core
def test_a_person_starts_a_search_watches_it_and_stops_it(panel: Callable[[int], Locator], searched: Searched) -> None:
    find = panel(1440)
    find.get_by_role("button", name="again").or_(find.get_by_role("button", name="Find the commit")).last.click()
    expect(find.locator(".bisection-state")).to_have_text("Waiting. It begins as soon as a worker is free.")
    with searched.worker(pause_after=2):
        searched.pool.silent.wait()
        expect(asks_again(find)).to_contain_text("Running.")
        expect(find.locator("svg.bars rect")).to_have_count(BAD - CULPRIT + 3)
        expect(find.locator("svg.dots circle")).to_have_count(2)
        find.get_by_role("button", name="Stop").click()
        searched.pool.silent.clear()
    expect(asks_again(find)).to_have_text(f"Stopped. {getpass.getuser()} stopped it.")
    expect(find.get_by_role("button", name="Stop")).to_have_count(0)


def test_the_commit_is_named_with_bars_log_and_values_on_the_plot(
    panel: Callable[[int], Locator], searched: Searched
) -> None:
    find = panel(390)
    searched.pool.silent.clear()
    find.get_by_role("button", name="again").or_(find.get_by_role("button", name="Find the commit")).last.click()
    expect(find.locator(".bisection-state")).to_contain_text("Waiting.")
    with searched.worker():
        pass
    expect(asks_again(find)).to_contain_text("Commit found.")
    expect(find.locator("svg.bars rect.culprit")).to_have_count(1)
    replay_by_keyboard(find)
    find.get_by_text("Log", exact=True).click()
    expect(find.locator(".bisection-log li").last).to_contain_text("Ends: ")
    page = find.page
    expect(page.locator(".legend").get_by_text("re-measured by a bisection")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    page.goto(searched.path())
    commit = page.get_by_role("region", name="Commit", exact=True)
    expect(commit.get_by_role("heading", name="A bisection found the commit")).to_be_visible()
    expect(commit.locator("ol.suspects li")).to_have_text([re.compile(searched.pool.commits[CULPRIT][:8])])
    page.goto(f"{searched.address}/triage")
    names = re.compile(
        f"^Bisection B[0-9]+: commit found: {searched.pool.commits[CULPRIT][:10]} Change number {CULPRIT},"
    )
    expect(page.get_by_role("link", name="found by bisection")).to_have_attribute("title", names)
