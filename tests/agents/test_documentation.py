"""The guide that agents search, and the page about agents."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.agents.client import call_here

from knickpoint.agents import read_instructions
from knickpoint.agents.server import TOOLS
from knickpoint.agents.tool import Session

GUIDE: Final = Path(__file__).resolve().parents[2] / "docs" / "guide" / "agents.md"


def test_the_section_that_is_about_the_words_comes_first(reading: Session) -> None:
    found = call_here(reading, "search_documentation", words="history boundary").reply
    assert "boundary" in (found["sections"][0]["section"] + found["sections"][0]["text"]).lower()


def test_words_that_occur_nowhere_find_nothing(reading: Session) -> None:
    assert call_here(reading, "search_documentation", words="zzzz qqqq").reply["sections"] == []


def test_the_guide_names_every_tool() -> None:
    text = GUIDE.read_text()
    assert [name for name in TOOLS if f"`{name}`" not in text] == []


def test_the_instructions_name_tools_that_exist() -> None:
    text = read_instructions()
    assert len(text) < 5_000
    assert all(f"`{name}`" in text for name in ("list_changes", "explain_change", "compare_commits", "judge_results"))
