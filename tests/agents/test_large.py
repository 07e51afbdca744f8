"""Replies about an instance of 40,000 traces, with a change of 8,400 members, are as short as those about a small one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from tests.agents.client import call_here

from dashboard_instance import LARGEST, TRACES, make_instance
from knickpoint.access.local_user import local_caller
from knickpoint.agents import begin_session
from knickpoint.agents.tool import LONGEST, Session
from knickpoint.instance import open_instance

pytestmark = pytest.mark.long

_COMMITS, _CHANGES = 45, 40
_BASE: Final = f"{10:040x}"

ASKED: Final[Mapping[str, Mapping[str, Any]]] = {
    "list_repositories": {},
    "list_changes": {"which": "all"},
    "explain_change": {"change": "R1"},
    "check_evidence": {"trace": 0},
    "find_traces": {},
    "trace_values": {"trace": 0},
    "compare_commits": {"base": _BASE, "query": "config=gpu os=Linux", "changed": False},
    "list_missing": {},
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    place = tmp_path_factory.mktemp("large") / "instance"
    make_instance(place, commits=_COMMITS, changes=_CHANGES)
    with open_instance(place) as opened:
        yield begin_session(opened, local_caller(), local=True)


@pytest.mark.parametrize("name", ASKED)
def test_a_reply_about_many_traces_is_short(large: Session, name: str) -> None:
    found = call_here(large, name, **ASKED[name])
    assert not found.is_error, found.text
    assert len(found.text) <= LONGEST


@pytest.mark.parametrize(
    ("name", "total"), [("find_traces", TRACES), ("explain_change", LARGEST), ("list_changes", _CHANGES)]
)
def test_a_long_list_says_how_much_there_is_and_goes_on(large: Session, name: str, total: int) -> None:
    begun = call_here(large, name, **ASKED[name]).reply
    shown = begun["shown"].split()[2]
    assert begun["shown"] == f"1 to {shown} of {total}"
    ((argument, value),) = re.findall(r'(\w+)="?(\w+)"?\.$', begun["rest"])
    further = call_here(large, name, **ASKED[name], **{argument: int(value) if value.isdigit() else value}).reply
    assert further["shown"] != begun["shown"]
    assert "rest" in further


def test_a_comparison_of_too_many_traces_says_how_to_ask(large: Session) -> None:
    refused = call_here(large, "compare_commits", base=_BASE)
    assert refused.is_error
    assert "Select at most 2,000" in refused.text
