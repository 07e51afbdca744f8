"""Everything has its place in the documentation, and every page its way from the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import knickpoint
from knickpoint.detect import METHODS
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Status

_TOP = Path(__file__).parent.parent.parent
_DOCS = _TOP / "docs"
_DECISIONS = sorted(_DOCS.glob("decisions/[0-9]*.md"))
_PARTS = ["Context", "Decision", "Consequences"]
_MOST_LINES = 60


def _text(page: str) -> str:
    return (_DOCS / page).read_text(encoding="utf-8")


def _unnamed(page: str, names: set[str]) -> set[str]:
    text = _text(page)
    return {name for name in names if f"`{name}`" not in text}


def _linked(page: Path) -> set[Path]:
    links = re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in links if "://" not in link}


def test_every_page_is_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = {_DOCS / "README.md"}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        waiting |= {one for one in _linked(page) if one.exists()} - reached
    assert sorted(str(page.relative_to(_DOCS)) for page in set(_DOCS.rglob("*.md")) - reached) == []


def test_the_index_of_the_guide_lists_every_page() -> None:
    guide = _DOCS / "guide"
    assert set(guide.rglob("*.md")) - _linked(guide / "README.md") == {guide / "README.md"}


@pytest.mark.parametrize("page", _DECISIONS, ids=lambda page: page.stem)
def test_a_decision_record_has_the_form_of_all_and_fits_a_page(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(f"# {page.name[:4]} ")
    assert re.fullmatch(r"\*\*Status\*\*: (accepted|superseded by \[\d{4}\]\(.+\))", lines[2])
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == _PARTS
    assert len(lines) <= _MOST_LINES


def test_no_two_decision_records_share_a_number() -> None:
    numbers = [page.name[:4] for page in _DECISIONS]
    assert sorted(set(numbers)) == numbers


def test_every_method_has_a_guide_page() -> None:
    pages = {path.stem for path in _DOCS.glob("guide/detect/*.md")}
    assert pages == {*METHODS, "judge", "samples"} - {"e_divisive_joint"}


def test_every_setting_of_an_alert_is_explained() -> None:
    assert _unnamed("guide/alerts.md", set(Alert.__dataclass_fields__) - {"name"}) == set()


def test_every_status_and_condition_is_explained() -> None:
    assert _unnamed("guide/triage.md", {status.value for status in Status}) == set()
    assert _unnamed("guide/watch.md", {condition.value for condition in Condition}) == set()


def test_every_room_has_a_layer_and_is_on_the_map() -> None:
    rooms = {path.parent.name for path in Path(knickpoint.__file__).parent.glob("*/__init__.py")}
    picture = (_DOCS / "architecture.svg").read_text(encoding="utf-8")
    assert {room for room in rooms if f">{room}</text>" not in picture} == set()
