"""The trace page shows results that are quarantined as rings, outside of levels, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from knickpoint.instance import CONFIG_FILE, create_instance, open_instance, quarantine_suspect_results
from knickpoint.model.commit import Commit
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.server import serving
from knickpoint.store import RunWrite

pytestmark = pytest.mark.browser

_COMMITS = 21
_RING = """() => {
    const canvas = document.querySelector("kp-chart canvas"), legend = document.querySelector(".key-quarantined");
    if (!canvas?.width || !legend) return undefined;
    const colour = getComputedStyle(legend).borderTopColor.match(/\\d+/g).map(Number);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const same = (at) => colour.every((part, number) => Math.abs(data[4 * at + number] - part) < 12);
    const found = [...Array(data.length / 4).keys()].filter((at) => data[4 * at + 3] > 60 && same(at));
    if (found.length === 0) return undefined;
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const x = mean(found.map((at) => at % canvas.width)), y = mean(found.map((at) => Math.floor(at / canvas.width)));
    const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
    const hollow = !same(Math.round(y) * canvas.width + Math.round(x));
    return [box.x + x / scale, box.y + y / scale, hollow];
}"""
"""Where the ring is on the page, and whether it is hollow: the middle of what has its colour in the legend."""


@pytest.fixture(scope="module")
def slow_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an instance whose machine was slow at the newest commit, which its canary shows."""
    directory: Path = tmp_path_factory.mktemp("quarantine") / "instance"
    create_instance(directory).close()
    (directory / CONFIG_FILE).write_text('[canaries.loop]\nquery = "name=loop"\n', encoding="utf-8")
    with open_instance(directory) as instance:
        now = datetime.now(UTC)
        repository = instance.store.commits.add_repository("main")
        commits = [Commit(f"{number + 1:040x}", "Ada", "", now, f"Change {number}") for number in range(_COMMITS)]
        slots = list(instance.store.commits.add(repository, commits).values())
        instance.store.commits.set_line(repository, "main", slots)
        writes = []
        for place, slot in enumerate(slots):
            value = (13.0 if place == _COMMITS - 1 else 10.0) + 0.01 * (place * 7 % 5)
            results = [Result({"name": name}, (scale * value,), "ms") for name, scale in (("parse", 10), ("loop", 1))]
            run = RunReport(ResultTable.of(results), environment={"machine": "bench-1"}, time=now)
            writes.append(RunWrite(slot, run, f"run-{place}", f"content {place}", "test"))
        instance.store.runs.write(repository, writes)
        quarantine_suspect_results(instance)
        with serving(instance) as found:
            yield found.rstrip("/")


def test_a_quarantined_value_is_a_ring_with_its_reason(page: Page, slow_machine: str) -> None:
    (trace,) = page.request.get(f"{slow_machine}/api/v1/traces?query=name%3Dparse").json()["traces"]
    page.goto(f"{slow_machine}/trace/{trace['id']}")
    expect(page.get_by_text("quarantined, in no level")).to_be_visible()
    plot = page.get_by_role("img", name="Values of parse")
    assert "1 value quarantined" in (plot.get_attribute("aria-label") or "")
    across, down, hollow = page.wait_for_function(_RING).json_value()
    assert hollow
    page.mouse.move(across, down)
    expect(page.locator(".tip-note")).to_contain_text("130 ms is quarantined: canary loop moved by +29.7 %")
