"""Everything has its place in the documentation, and every page its way from the index."""

from __future__ import annotations

import re
from pathlib import Path

import knickpoint
from knickpoint.detect import METHODS
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Status

_TOP = Path(__file__).parent.parent.parent
_DOCS = _TOP / "docs"


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


def test_the_page_of_objects_has_what_commands_print_as_the_api_answers_it() -> None:
    commands = (_TOP / "src" / "knickpoint" / "cli" / "commands").rglob("*.py")
    printed = {name for each in commands for name in re.findall(r"show_answers\(\s*(\w+)", each.read_text("utf-8"))}
    objects = dict(re.findall(r'^    "(\w+Answer)": "(.*)",$', _text("objects.py"), flags=re.MULTILINE))
    assert {name for name in printed if not objects.get(name)} == set() != printed


def test_the_index_of_the_guide_lists_every_page() -> None:
    guide = _DOCS / "guide"
    assert set(guide.rglob("*.md")) - _linked(guide / "README.md") == {guide / "README.md"}


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
