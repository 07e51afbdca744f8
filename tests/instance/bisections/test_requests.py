"""Ask for bisections: only recipes of the configuration run, and only where they measure what moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.instance.bisections.bisectable import BAD, GOOD, PARSE, Bisectable, recipe

from knickpoint.bisect.coordinator import Bisection
from knickpoint.history import Git
from knickpoint.instance import Instance
from knickpoint.instance.bisections import fitting_recipes, plan_bisection, request_bisection, stop_bisection
from knickpoint.instance.bisections.requests import bisectable_members, known_change
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import AlertKind
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.errors import InputError


def test_a_request_searches_the_suspect_range_with_what_the_finding_says(slowed: Bisectable) -> None:
    asked = request_bisection(slowed.with_recipes(recipe()), slowed.change, who="ann")
    assert asked.request.slots == tuple(range(GOOD, BAD + 1))
    assert (asked.request.trace_key, asked.request.recipe, asked.request.who) == (PARSE, "quick", "ann")
    assert asked.request.facts["movement"] == 1
    assert "before" not in asked.request.facts


def test_levels_of_the_history_count_only_where_the_machine_is_the_same(slowed: Bisectable) -> None:
    instance = slowed.with_recipes(recipe(same_machine=True))
    facts = request_bisection(instance, slowed.change, who="ann").request.facts
    assert facts["before"][0] == pytest.approx(100, rel=0.01)  # type: ignore[index]
    assert facts["after"][0] == pytest.approx(130, rel=0.01)  # type: ignore[index]


def ranged(instance: Instance, first: int, last: int, key: str = ",benchmark=parse,") -> Bisection:
    """Return a search that a person makes for commits of the repository."""
    location = instance.repositories["project"].location
    hashes = [each.hash for each in Git.at(Path(location)).first_parents("main")]
    settings = instance.config.bisect["quick"]
    return Bisection("search", {"": location}, hashes[first], tuple(hashes[first + 1 : last + 1]), settings, key)


def test_a_search_of_a_range_takes_the_levels_of_the_only_change_in_it(slowed: Bisectable) -> None:
    instance = slowed.with_recipes(recipe(same_machine=True))
    location = instance.repositories["project"].location
    found = known_change(instance, location, ranged(instance, GOOD - 2, BAD + 3))
    assert found is not None
    assert (round(found.before.mean), round(found.after.mean), found.movement) == (100, 130, 1)
    assert found.text == "the levels before and after are those of P1 of instance"


@pytest.mark.parametrize(
    ("first", "last", "key", "elsewhere"),
    [
        (GOOD + 1, BAD + 3, ",benchmark=parse,", ""),  # the change began before the good end
        (GOOD - 9, GOOD, ",benchmark=parse,", ""),
        (GOOD, BAD, ",benchmark=render,", ""),
        (GOOD, BAD, ",benchmark=parse,kind=q,", ""),
        (GOOD, BAD, ",benchmark=parse,", "/another/repository"),
    ],
)
def test_a_search_of_a_range_knows_nothing_where_the_store_has_no_such_change(
    slowed: Bisectable, *, first: int, last: int, key: str, elsewhere: str
) -> None:
    instance = slowed.with_recipes(recipe(same_machine=True))
    location = elsewhere or instance.repositories["project"].location
    assert known_change(instance, location, ranged(instance, first, last, key)) is None


def test_a_plan_of_a_bisection_writes_nothing(slowed: Bisectable) -> None:
    instance = slowed.with_recipes(recipe())
    planned = plan_bisection(instance, slowed.change, who="ann")
    assert planned.slots == tuple(range(GOOD, BAD + 1))
    assert instance.store.bisections.newest() == []


def test_a_request_and_a_stop_are_in_the_audit_log(slowed: Bisectable) -> None:
    instance = slowed.with_recipes(recipe())
    asked = request_bisection(instance, slowed.change, who="ann")
    request_bisection(instance, slowed.change, who="bob")
    stopped = stop_bisection(instance, asked.id, who="bob")
    assert stopped.state is BisectionState.STOPPED
    newest = [(each.kind, each.who, each.about) for each in instance.store.audit.entries()][:2]
    assert newest == [
        (AuditKind.BISECTION_STOPPED, "bob", "B1"),
        (AuditKind.BISECTION_ASKED, "ann", f"B1: R{slowed.change} with the recipe quick"),
    ]


@pytest.mark.parametrize(
    ("named", "recipes", "message"),
    [
        ("nightly", [recipe()], "there is no recipe 'nightly'"),
        ("", [], "no recipe measures change"),
        ("", [recipe(), recipe(name="other")], "several recipes measure change"),
        ("quick", [recipe(query="benchmark=render")], "'quick' measures no trace of change"),
        ("quick", [recipe(repository="elsewhere")], "'quick' measures no trace of change"),
        ("quick", [recipe(params={"kind": "x"})], "'quick' measures no trace of change"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(
    slowed: Bisectable, named: str, recipes: list[object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        request_bisection(slowed.with_recipes(*recipes), slowed.change, named, who="ann")  # type: ignore[arg-type]


def test_params_that_only_choose_devices_do_not_name_the_trace(slowed: Bisectable) -> None:
    instance = slowed.with_recipes(recipe(params={"kind": "p", "gpu": "yes"}))
    assert request_bisection(instance, slowed.change, who="ann").request.facts["added_params"] == {"kind": "p"}


def test_recipes_that_fit_are_listed(slowed: Bisectable) -> None:
    instance = slowed.with_recipes(recipe(name="b"), recipe(name="a"), recipe(name="c", query="benchmark=render"))
    assert fitting_recipes(instance, slowed.change) == ["a", "b"]


def test_an_unknown_change_is_refused(slowed: Bisectable) -> None:
    with pytest.raises(InputError, match="change 99"):
        request_bisection(slowed.with_recipes(recipe()), 99, who="ann")


def test_canaries_and_held_findings_are_not_bisected(slowed: Bisectable) -> None:
    (member,) = slowed.instance.store.findings.live_members(slowed.change)
    members: list[ChangePoint] = [replace(member, alert_kind=AlertKind.CANARY), replace(member, held="canary moved")]
    assert bisectable_members(members) == []
    assert bisectable_members([*members, member]) == [member]
