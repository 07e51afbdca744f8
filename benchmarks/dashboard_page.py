"""Time the pages of a large instance, the triage page most closely, and print and write the table (``make bench-dashboard``).

    python benchmarks/dashboard_page.py             # 40,000 traces × 250 commits, 2,000 changes; two minutes
    python benchmarks/dashboard_page.py requests    # without the browser
    python benchmarks/dashboard_page.py views       # each page: first paint with data, answers, longest task, axe
    python benchmarks/dashboard_page.py peers       # published pages beside those of asv and github-action-benchmark

The server runs in this process and is asked over HTTP, answers compressed as a browser gets them. How long the page
stands still is the longest task of a real Chromium, in processor time: while 2,500 members of the largest change are
loaded, while the keyboard walks among them, while they are scrolled, and from the key of a decision until its row has
left.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from browser_tasks import traced
from dashboard_instance import LARGEST, make_instance
from dashboard_peers import peer_pages
from dashboard_views import javascript, views
from knickpoint.instance import open_instance
from knickpoint.server import serving
from table import Reach, Row, finish

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_ROUNDS: Final = 20
_MEMBERS: Final = 2_500
_DECISIONS: Final = 5
_LARGE: Final = f"a change of {LARGEST:,}"
_CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")

_COMMITS: Final = 50
_SHOWN: Final = "(rows) => document.querySelector('table.findings')?.ariaRowCount >= rows"
_STILL: Final = f"page stands still, {_MEMBERS:,} members:"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: seconds until it was whole, bytes on the wire, and what it says."""

    seconds: float
    size: int
    content: Any


class Client:
    """Ask the API of one server."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, path: str, body: object = None) -> Answer:
        """Get ``path``, or post ``body`` to it."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "accept-encoding": "gzip"}
        request = urllib.request.Request(f"{self.address}api/v1/{path}", data=data, headers=headers)  # noqa: S310
        start = time.perf_counter()
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            raw = answer.read()
        seconds = time.perf_counter() - start
        return Answer(seconds, len(raw), _decoded(raw))


def _decoded(raw: bytes) -> Any:
    return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)


def _percentiles(measure: str, answers: list[Answer], bound: float) -> list[Row]:
    """Return the rows of p50, p95 and bytes of some answers; ``bound`` milliseconds are to hold for p95."""
    times = [answer.seconds * 1e3 for answer in answers]
    p50, p95 = (float(value) for value in np.percentile(times, [50, 95]))
    size = max(answer.size for answer in answers) / 1e3
    return [
        Row(f"{measure}, p50", "ms", p50),
        Row(f"{measure}, p95", "ms", p95, reach=Reach.AT_MOST, bound=bound),
        Row(f"{measure}, most on the wire", "kB", size),
    ]


def _lists(client: Client) -> list[Row]:
    sorts = ("-change", "-traces", "-date", "author", "-hazard")
    paths = [f"changes?sort={sort}&page={page}" for page in range(1, 5) for sort in sorts]
    client.ask(paths[0])
    listed = [client.ask(paths[number % len(paths)]) for number in range(_ROUNDS)]
    filtered = [client.ask(f"changes?filter=draw_rect_{number}") for number in range(_ROUNDS)]
    return [*_percentiles("triage list", listed, 300), *_percentiles("filtered list", filtered, 300)]


def _members(client: Client, key: str) -> list[Row]:
    pages: list[Answer] = []
    after = ""
    for _ in range(_ROUNDS):
        pages.append(client.ask(f"members?change={key}{after}"))
        after = f"&after={pages[-1].content['after']}"
    return _percentiles(f"200 members of {_LARGE}", pages, 300)


def _round_trip(client: Client, measure: str, target: dict[str, Any], rounds: int, bound: float) -> list[Row]:
    decided: list[Answer] = []
    undone: list[Answer] = []
    for _ in range(rounds):
        decided.append(client.ask("triage", {**target, "status": "acknowledged"}))
        undone.append(client.ask("triage/undo", {"entries": decided[-1].content["entries"]}))
    return [
        *_percentiles(f"decision about {measure}", decided, bound),
        *_percentiles(f"its undo: {measure}", undone, 2 * bound),
    ]


def requests(client: Client) -> list[Row]:
    """Measure what scripts and the page ask for."""
    (largest, *_) = client.ask("changes?sort=-traces&size=1").content["changes"]
    member = largest["members"][0]["id"]
    return [
        *_lists(client),
        *_members(client, largest["id"]),
        *_round_trip(client, "a member", {"ids": [member]}, _ROUNDS, 300),
        *_round_trip(client, _LARGE, {"changes": [largest["id"]]}, 3, 2000),
    ]


@contextmanager
def _chromium() -> Iterator[Browser | None]:
    """Start Chromium; None where it or Playwright is missing."""
    executable = next((found for name in _CHROMIUM if (found := shutil.which(name))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        executable = None
    if executable is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def page(client: Client) -> list[Row]:
    """Measure how long the page stands still; not measured without Chromium and Playwright."""
    (largest,) = client.ask("changes?sort=-traces&size=1").content["changes"]
    with _chromium() as browser:
        if browser is None:
            return [Row(f"{_STILL} loaded", "ms", None, reach=Reach.AT_MOST, bound=100)]
        window = browser.new_page(viewport={"width": 1440, "height": 900})
        start = time.perf_counter()
        window.goto(f"{client.address}triage?sort=-traces&size={_COMMITS}&open={largest['id']}")
        window.wait_for_function(_SHOWN, arg=_COMMITS + 200)
        opened = (time.perf_counter() - start) * 1e3
        with traced(window) as loaded:
            window.keyboard.press("j")
            window.keyboard.press("j")
            for number in range(400, _MEMBERS + 200, 200):
                window.keyboard.press("ArrowRight")
                window.wait_for_function(_SHOWN, arg=_COMMITS + number)
        with traced(window) as walked:
            for key in (*"jjjjjjjj", "J", *"kkkkkkkk"):
                window.keyboard.press(key)
        with traced(window) as scrolled:
            for place in (0, 0.3, 0.31, 0.32, 0.9, 0.5):
                window.evaluate("(place) => scrollTo(0, place * document.documentElement.scrollHeight)", place)
                window.wait_for_timeout(100)
        with traced(window) as decided:
            trips = [_decide(window) for _ in range(_DECISIONS)]
    return [
        Row(f"page with {_LARGE} opened", "ms", opened),
        Row("key press until the row has left", "ms", float(np.median(trips))),
        *(
            Row(f"{_STILL} {what}", "ms", tasks.longest, reach=Reach.AT_MOST, bound=100)
            for what, tasks in (("loaded", loaded), ("walked", walked), ("scrolled", scrolled), ("decided", decided))
        ),
    ]


def all_views(client: Client) -> list[Row]:
    """Measure every page; only the JavaScript without Chromium and Playwright."""
    (largest,) = client.ask("changes?sort=-traces&size=1").content["changes"]
    member = largest["members"][0]
    with _chromium() as browser:
        if browser is None:
            return javascript()
        commit, trace = largest["commit"]["hash"], member["trace"]["id"]
        return views(browser, client.address, largest=largest["id"], commit=commit, trace=trace)


def page_rows(address: str) -> list[Row]:
    """Measure every page of a server that runs at ``address``."""
    return all_views(Client(address))


def _decide(window: Any) -> float:
    """Acknowledge the current member; return the milliseconds until its row has left and the server has answered."""
    current = window.locator('tr[aria-current="true"]').get_attribute("data-row")
    start = time.perf_counter()
    with window.expect_response("**/api/v1/triage"):
        window.keyboard.press("a")
        window.wait_for_function("(id) => !document.querySelector(`tr[data-row='${id}']`)", arg=current)
        left = (time.perf_counter() - start) * 1e3
    window.wait_for_timeout(200)
    return left


def published_pages() -> list[Row]:
    """Measure published pages beside those of peers; nothing without Chromium and Playwright."""
    with _chromium() as browser:
        return peer_pages(browser) if browser is not None else []


_PARTS: Final[dict[str, Callable[[Client], list[Row]]]] = {"requests": requests, "page": page, "views": all_views}
_PEERS: Final = "peers"


@contextmanager
def served() -> Iterator[Client]:
    """Serve the large instance from a directory that is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="knickpoint-bench-"))
    try:
        make_instance(place / "large")
        with open_instance(place / "large") as instance, serving(instance) as address:
            yield Client(address)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main() -> None:
    """Run the parts that were asked for, or all."""
    wanted = sys.argv[1:] or [*_PARTS, _PEERS]
    unknown = [name for name in wanted if name not in {*_PARTS, _PEERS}]
    if unknown:
        sys.exit(f"There is no part {unknown[0]!r}; there are {', '.join((*_PARTS, _PEERS))}.")
    rows: list[Row] = []
    if served_parts := [name for name in wanted if name != _PEERS]:
        with served() as client:
            rows = [row for name in served_parts for row in _PARTS[name](client)]
    if _PEERS in wanted:
        rows += published_pages()
    finish("dashboard", rows, only=sys.argv[1:])


if __name__ == "__main__":
    main()
