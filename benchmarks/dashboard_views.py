"""Open every page of the dashboard in a real Chromium: how soon it shows data, what it asks for, how long it stands still."""

from __future__ import annotations

import gzip
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from browser_tasks import traced
from knickpoint.server.dashboard import STATIC
from table import Reach, Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

__all__ = ["javascript", "views"]

_VISITS: Final = 3
_WATCH: Final = """
(([shows, says]) => {
    const isShown = (element) => element.getClientRects().length > 0 && element.textContent.includes(says);
    const look = () => {
        if ([...document.querySelectorAll(shows)].some(isShown))
            requestAnimationFrame(() => setTimeout(() => (window.shownAt = performance.now())));
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})"""
"""Note when the browser has painted an element, by the clock of the page, which began when it was asked for.

Playwright itself looks for an element less and less often, and after a quarter of a second every 500 ms.
"""
_AXE: Final = Path(__file__).resolve().parent.parent / "frontend" / "node_modules" / "axe-core" / "axe.min.js"


@dataclass(frozen=True, slots=True)
class View:
    """A page, and an element that it has once it shows data.

    Attributes:
        name: what the page is called in the table.
        path: its address.
        shows: CSS selector of the element.
        says: a text in it.
        still: whether the longest task of the page has a bound.
    """

    name: str
    path: str
    shows: str
    says: str = ""
    still: bool = False


@dataclass(slots=True)
class Visit:
    """What one visit took: milliseconds until data, processor time of the longest task.

    Bytes of each answer on the wire, and of the JavaScript that the page loads, with gzip.
    """

    shown: float
    longest: float = 0.0
    answers: list[int] = field(default_factory=list)
    scripts: int = 0


def views(browser: Browser, address: str, *, largest: str, commit: str, trace: int) -> list[Row]:
    """Return the rows of all pages of the server at ``address``.

    Args:
        browser: a Chromium that is running.
        address: where the dashboard is, with a slash at its end.
        largest: the change with most members.
        commit: the hash of a commit with findings.
        trace: a trace with a finding.
    """
    visits: dict[View, Sequence[Visit]] = {}
    broken: list[str] = []
    for view in _views(largest, commit, trace):
        visits[view] = [_visit(browser, address, view, broken if number == 0 else None) for number in range(_VISITS)]
    return [
        *(
            Row(
                f"first paint with data: {view.name}",
                "ms",
                statistics.median(visit.shown for visit in made),
                reach=Reach.AT_MOST,
                bound=1000,
            )
            for view, made in visits.items()
        ),
        *(
            Row(
                f"longest task while it opens: {view.name}",
                "ms",
                statistics.median(visit.longest for visit in made),
                reach=Reach.AT_MOST,
                bound=100,
            )
            for view, made in visits.items()
            if view.still
        ),
        *_answers(visits),
        Row(
            f"rules of axe that pages break{': ' if broken else ''}{', '.join(sorted(set(broken)))}",
            "",
            len(set(broken)),
            reach=Reach.AT_MOST,
            bound=0,
        ),
        Row(
            "JavaScript of the first page that loads most, gzip",
            "kB",
            max(visit.scripts for made in visits.values() for visit in made) / 1e3,
            reach=Reach.AT_MOST,
            bound=150,
        ),
        *javascript(),
    ]


def javascript() -> list[Row]:
    """Return the size of the JavaScript of all pages together, each file compressed: with gzip, and with Brotli."""
    zipped = sum(_zipped(path.read_bytes()) for path in STATIC.rglob("*.js"))
    sent = sum(path.stat().st_size for path in STATIC.rglob("*.js.br"))
    return [
        Row("JavaScript of all pages, gzip", "kB", zipped / 1e3),
        Row("JavaScript of all pages, Brotli as served", "kB", sent / 1e3),
    ]


def _zipped(script: bytes) -> int:
    return len(gzip.compress(script, 9))


def _views(largest: str, commit: str, trace: int) -> Iterator[View]:
    yield View("overview", "", ".overview-sum")
    yield View("triage", "triage", "tr.change-row", still=True)
    yield View("triage, largest open", f"triage?sort=-traces&open={largest}", "tr.finding-row", still=True)
    yield View("change, largest", f"change/{largest}", "kp-chart canvas", still=True)
    yield View("trace", f"trace/{trace}", "kp-chart canvas", still=True)
    yield View("explore", "explore", "tr[data-trace]", still=True)
    yield View("explore, 1,000 lines", "explore?plot=*", ".crowd-layer", still=True)
    yield View("explore, 1,000 lines, smoothed", "explore?plot=*&smooth=51", ".crowd-layer", still=True)
    yield View("commit", f"commit/{commit}", "main table tbody tr")
    yield View("benchmark", "benchmark?param=benchmark&name=draw_rect_7", "main table tbody tr")
    yield View("alerts", "alerts", "main table tbody tr")
    yield View("status", "status", "main h2", says="Results files")
    yield View("missing", "missing", "main .notice:not(.failure) h2, main section[aria-label]")
    yield View("quality", "quality", "table.quality")
    yield View("compare", f"compare?base={commit}&query=benchmark%3Ddraw_rect_7", "main .compare-summary")
    yield View("settings", "settings", "main h2")


def _visit(browser: Browser, address: str, view: View, broken: list[str] | None) -> Visit:
    """Open a page as a browser does that has seen none; add what breaks a rule of axe to ``broken``."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer) if "/api/" in answer.url else None)
    scripts: list[Response] = []
    page.on("response", lambda answer: scripts.append(answer) if answer.url.endswith(".js") else None)
    page.add_init_script(f"{_WATCH}({json.dumps([view.shows, view.says])})")
    with traced(page) as tasks:
        page.goto(address + view.path, wait_until="commit")
        page.wait_for_function("() => window.shownAt", timeout=60_000)
        visit = Visit(float(page.evaluate("() => window.shownAt")))
        page.wait_for_load_state("networkidle")
    visit.longest = tasks.longest
    visit.answers = [answer.request.sizes()["responseBodySize"] for answer in answers]
    visit.scripts = sum(_zipped(script.body()) for script in scripts)
    if broken is not None:
        broken += [f"{rule} ({view.name})" for rule in _violations(page)]
    context.close()
    return visit


def _answers(visits: dict[View, Sequence[Visit]]) -> Iterator[Row]:
    """Yield the largest answers: a plot of 1,000 lines may have more than the others."""
    for crowd, bound in ((False, 100), (True, 1200)):
        sizes = [
            size
            for view, made in visits.items()
            if ("1,000 lines" in view.name) is crowd
            for visit in made
            for size in visit.answers
        ]
        measure = "largest answer, a plot of 1,000 lines" if crowd else "largest answer, all other pages"
        yield Row(measure, "kB", max(sizes) / 1e3, reach=Reach.AT_MOST, bound=bound)


def _violations(page: Page) -> list[str]:
    if not _AXE.is_file():
        return ["axe is missing: run npm ci in frontend"]
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    return [str(rule) for rule in page.evaluate("async () => (await axe.run()).violations.map((each) => each.id)")]
