"""Agents start bisections with recipes of the configuration, see how they stand, and stop them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agents.client import call_here
from tests.instance.bisections.bisectable import Bisectable, bisectable, make_instance, make_repository, recipe

from knickpoint.access.local_user import local_caller
from knickpoint.agents import begin_session
from knickpoint.agents.tool import Session
from knickpoint.model.access import Permission


@pytest.fixture
def slowed(tmp_path: Path) -> Iterator[Bisectable]:
    make_instance(tmp_path / "template", make_repository(tmp_path / "project"))
    with bisectable(tmp_path / "template", tmp_path / "instance") as found:
        yield found


def measuring(slowed: Bisectable, *names: str) -> Session:
    instance = slowed.with_recipes(*(recipe(name=name) for name in names))
    return begin_session(instance, local_caller(), {Permission.MEASURE}, local=True)


def test_a_bisection_is_proposed_started_shown_and_stopped(slowed: Bisectable) -> None:
    session, change = measuring(slowed, "quick"), f"R{slowed.change}"
    proposed = call_here(session, "explain_change", change=change).reply["next"]
    assert f"start_bisection(change={change!r}, recipe='quick')" in proposed
    started = call_here(session, "start_bisection", change=change).reply
    assert (started["bisection"], started["state"], started["change"]) == ("B1", "waiting", change)
    assert call_here(session, "start_bisection", change=change).reply["bisection"] == "B1"
    (listed,) = call_here(session, "list_bisections", unfinished=True).reply["bisections"]
    assert listed["by"] == f"«{local_caller().name}»"
    assert call_here(session, "show_bisection", bisection="B1").reply["commits"] == started["commits"]
    assert call_here(session, "stop_bisection", bisection="B1").reply["state"] == "stopped"
    assert call_here(session, "stop_bisection", bisection="B1").is_error
    assert call_here(session, "list_bisections", unfinished=True).reply["bisections"] == []


def test_only_a_recipe_of_the_configuration_is_run(slowed: Bisectable) -> None:
    for session, name in ((measuring(slowed, "quick"), "touch /tmp/x"), (measuring(slowed), "quick")):
        refused = call_here(session, "start_bisection", change=slowed.change, recipe=name)
        assert refused.is_error
    assert call_here(measuring(slowed, "quick"), "list_bisections").reply["bisections"] == []
