"""Open published pages of the same history in a real Chromium: ours, asv's, and the charts of github-action-benchmark.

    python benchmarks/dashboard_page.py peers

100 traces × 1,000 commits are published by each tool, and served as files. asv's page and the charts load their scripts
from other servers; here they come from the npm registry, by the versions that the pages name, so that no network
counts. No registry has the page of github-action-benchmark: put the ``index.html`` that it writes at
``build/peers/pages/chart.html``, else its rows are not measured.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peers import peer_python
from published_history import TRACES, History, history, make_instance, publish_site
from table import Reach, Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Response, Route

__all__ = ["peer_pages"]

_ROOM: Final = Path(__file__).resolve().parent.parent / "build" / "peers" / "pages"
_CHART_PAGE: Final = _ROOM / "chart.html"
_VISITS: Final = 3

_SCRIPTS: Final = {
    "jquery-3.3.1.min.js": ("jquery@3.3.1", "dist/jquery.min.js"),
    "jquery.flot.min.js": ("flot@0.8.3", "jquery.flot.js"),
    "jquery.flot.time.min.js": ("flot@0.8.3", "jquery.flot.time.js"),
    "jquery.flot.selection.min.js": ("flot@0.8.3", "jquery.flot.selection.js"),
    "jquery.flot.categories.min.js": ("flot@0.8.3", "jquery.flot.categories.js"),
    "jquery.flot.orderBars.js": ("flot-orderbars@1.0.0", "js/jquery.flot.orderBars.js"),
    "stupidtable.min.js": ("stupid-table-plugin@1.1.3", "stupidtable.min.js"),
    "md5.min.js": ("blueimp-md5@2.19.0", "js/md5.min.js"),
    "bootstrap.min.js": ("bootstrap@3.1.1", "dist/js/bootstrap.min.js"),
    "bootstrap.min.css": ("bootstrap@3.1.1", "dist/css/bootstrap.min.css"),
    "Chart.min.js": ("chart.js@2.9.2", "dist/Chart.min.js"),
}
"""The last part of the address of a script of a peer's page → the package of the npm registry that has it, and where.
"""

_WATCH: Final = """
window.longest = 0;
new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
}).observe({ type: "longtask", buffered: true });
"""


@dataclass(frozen=True, slots=True)
class _Opened:
    """What opening a page took: milliseconds until it showed data and of the longest task, bytes of all files compressed."""

    shown: float
    longest: float
    size: float


class _Files(SimpleHTTPRequestHandler):
    """Serve files, and write no log."""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the name of the base class
        """Stay silent."""


def peer_pages(browser: Browser) -> list[Row]:
    """Return the rows of the pages with all benchmarks, and of those with the plot of one."""
    made = history()
    with tempfile.TemporaryDirectory(prefix="knickpoint-bench-") as scratch:
        place = Path(scratch)
        make_instance(place / "instance", made.chart_data())
        publish_site(place / "instance", place / "web" / "ours")
        asv = _publish_asv(made, place, place / "web" / "asv")
        charts = _publish_charts(made, place / "web" / "charts")
        with _served(place / "web") as address:
            all_canvases = f"() => document.querySelectorAll('canvas').length >= {TRACES}"
            ours = _open(browser, f"{address}ours/", "() => document.querySelector('.overview-sum')")
            one = _open(browser, f"{address}ours/#/trace/1", "() => document.querySelector('kp-chart canvas')")
            grid = plot = chart = None
            if asv:
                drawn = "() => document.querySelectorAll('#summarygrid-display canvas').length > 0"
                grid = _open(browser, f"{address}asv/", drawn)
                plot = _open(browser, f"{address}asv/#case_1", "() => document.querySelector('#main-graph canvas')")
            if charts:
                chart = _open(browser, f"{address}charts/", all_canvases)
    return [
        *_rows("first page", ours, grid, "asv, its grid"),
        *_rows("first page", ours, chart, "github-action-benchmark"),
        *_rows("plot of one benchmark", one, plot, "asv"),
    ]


def _rows(page: str, ours: _Opened, peer: _Opened | None, name: str) -> Iterator[Row]:
    measure = f"published {TRACES} × 1,000, {page}"
    shown, longest, size = (peer.shown, peer.longest, peer.size) if peer else (None, None, None)
    yield Row(f"{measure}: first paint with data", "ms", ours.shown, shown, name, Reach.TIMES_LESS, 1)
    yield Row("… longest task", "ms", ours.longest, longest, name)
    yield Row("… files asked for, compressed", "kB", ours.size, size, name)


def _open(browser: Browser, address: str, shows: str) -> _Opened:
    """Open a page as a browser does that has seen none, several times; return the medians."""
    opened = []
    for _ in range(_VISITS):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.add_init_script(_WATCH)
        page.route(re.compile(r"^https://"), _answer_script)
        answers: list[Response] = []
        page.on("response", partial(_note, answers))
        page.goto(address, wait_until="commit")
        page.wait_for_function(shows, timeout=180_000)
        shown = float(page.evaluate("() => performance.now()"))
        page.wait_for_load_state("networkidle")
        size = sum(len(gzip.compress(each.body())) for each in answers) / 1e3
        opened.append(_Opened(shown, float(page.evaluate("() => window.longest")), size))
        context.close()
    return _Opened(
        *(statistics.median(getattr(each, name) for each in opened) for name in ("shown", "longest", "size"))
    )


def _note(answers: list[Response], answer: Response) -> None:
    answers.append(answer)


def _answer_script(route: Route) -> None:
    """Answer the request of a page for a script of another server with the file of the registry."""
    wanted = _SCRIPTS.get(route.request.url.rpartition("/")[2])
    if wanted is None:
        route.abort()
        return
    package, path = wanted
    kind = "text/css" if path.endswith(".css") else "text/javascript"
    route.fulfill(body=_file_of(package, path), content_type=kind, headers={"access-control-allow-origin": "*"})


def _file_of(package: str, path: str) -> bytes:
    """Return a file of a package of the npm registry, which is fetched when it is first asked for."""
    kept = _ROOM / package.replace("/", "_") / Path(path).name
    if not kept.exists():
        npm = shutil.which("npm")
        assert npm is not None, "npm is missing: run make setup-dev with build/stamps/node on the PATH"
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([npm, "pack", "--silent", package], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
            (packed,) = Path(scratch).glob("*.tgz")
            with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as archive:
                found = archive.extractfile(f"package/{path}")
                assert found is not None, f"{package} has no {path}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(found.read())
    return kept.read_bytes()


def _publish_charts(made: History, site: Path) -> bool:
    """Write the page of github-action-benchmark with the data of ``made``; return whether there is one."""
    if not _CHART_PAGE.exists():
        print(f"github-action-benchmark is not measured: {_CHART_PAGE} is missing", file=sys.stderr)
        return False
    site.mkdir(parents=True)
    (site / "index.html").write_bytes(_CHART_PAGE.read_bytes())
    (site / "data.js").write_bytes(made.chart_data())
    return True


def _publish_asv(made: History, place: Path, site: Path) -> bool:
    """Have asv publish ``made``; return whether it could."""
    python = peer_python("asv")
    if python is None:
        return False
    hashes = made.write_git(place / "git")
    results = place / "results"
    (results / "bench").mkdir(parents=True)
    names = [f"case_{trace}" for trace in range(TRACES)]
    shared = {"code": "", "param_names": [], "params": [], "timeout": 60, "type": "time", "unit": "seconds"}
    benchmarks = {name: {**shared, "name": name, "version": "1"} for name in names}
    _write(results / "benchmarks.json", {**benchmarks, "version": 2})
    machine = {"machine": "bench", "arch": "x86_64", "cpu": "", "num_cpu": "2", "os": "Linux", "ram": ""}
    _write(results / "bench" / "machine.json", {**machine, "version": 1})
    for position, name in enumerate(hashes):
        values = {
            case: [[value / 1e9], [], "1"] for case, value in zip(names, made.values[:, position].tolist(), strict=True)
        }
        outcome = {
            "commit_hash": name,
            "env_name": "virtualenv-py3.11",
            "date": int(made.times[position].timestamp() * 1000),
            "params": {**machine, "python": "3.11"},
            "python": "3.11",
            "requirements": {},
            "env_vars": {},
            "result_columns": ["result", "params", "version"],
            "results": values,
            "durations": {},
            "version": 2,
        }
        _write(results / "bench" / f"{name[:8]}-virtualenv-py3.11.json", outcome)
    settings = {
        "version": 1,
        "project": "engine",
        "project_url": "https://example.org",
        "repo": str(place / "git"),
        "branches": ["main"],
        "environment_type": "virtualenv",
        "results_dir": str(results),
        "html_dir": str(site),
        "benchmark_dir": str(place / "benchmarks"),
    }
    (place / "benchmarks").mkdir()
    _write(place / "asv.conf.json", settings)
    command = [str(python), "-m", "asv", "publish", "--config", str(place / "asv.conf.json")]
    done = subprocess.run(command, cwd=place, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"asv could not publish: {(done.stdout + done.stderr).strip()[-400:]}", file=sys.stderr)
        return False
    # The checksums of the scripts are those of other servers.
    page = site / "index.html"
    page.write_text(re.sub(r' integrity="[^"]*"', "", page.read_text(encoding="utf-8")), encoding="utf-8")
    return True


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


@contextmanager
def _served(directory: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()
