"""A change of many traces opens with its plot and with the params that its traces share."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Worker, create_instance
from knickpoint.server import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve an instance in which all 12 traces of arm step, and later back, and the 12 of x86 do not."""
    chance = random.Random(3)
    rows = ["commit,commit_time,subject,benchmark,arch,value,unit,better"]
    for number in range(46):
        commit = f"{number + 16:040x},2026-01-01T{number // 2:02d}:{number % 2 * 30:02d}:00Z,Change {number}"
        for place in range(12):
            for arch in ("arm", "x86"):
                level = 120 if arch == "arm" and 25 <= number < 36 else 100
                rows.append(f"{commit},b{place},{arch},{level + chance.gauss(0, 1):.3f},ms,lower")
    with create_instance(
        tmp_path_factory.mktemp("breakdown") / "moved", repositories={"main": ""}, as_work=True
    ) as instance:
        imported = import_data(instance, "\n".join(rows).encode(), source="rows", stated=Sidecar(repository="main"))
        assert not imported.failed
        Worker(instance).step()
        with serving(instance) as found:
            yield found.rstrip("/")


def test_a_change_of_many_traces_shows_what_they_share_and_narrows_the_list_to_it(page: Page, moved: str) -> None:
    page.goto(f"{moved}/triage")
    page.get_by_role("row").filter(has_text="Change 25").locator("button.twist").click()
    breakdown = page.locator("kp-breakdown")
    expect(breakdown).to_contain_text("12 traces of 24, by the params in which they differ from the others")
    expect(breakdown.locator("dd").first).to_contain_text("arm 100 %")
    expect(breakdown).to_contain_text("benchmark as in all traces")
    picture = breakdown.get_by_role("img", name="The leading trace, b")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 420
    assert violations(page) == []
    breakdown.get_by_role("button", name="arm").click()
    page.wait_for_url("**q=arch%3Darm*")
    expect(page.locator("tr.change-row")).to_have_count(2)


def test_a_row_says_that_later_values_are_back_at_the_level_before(page: Page, moved: str) -> None:
    page.goto(f"{moved}/triage")
    row = page.get_by_role("row").filter(has_text="Change 25")
    expect(row.locator(".tag", has_text="recovered")).to_be_visible()
    back = page.get_by_role("row").filter(has_text="Change 36")
    expect(back).to_be_visible()
    expect(back.locator(".tag", has_text="recovered")).to_have_count(0)
