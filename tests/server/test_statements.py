"""Every sort of change is stated as it was made, and every surface says what is stated."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.server.stated_changes import CASES, Case, World, case, make_stated_changes
from tests.server.stated_surfaces import STRUCTURED, TEXTS, Surfaces, contradictions

from knickpoint.instance import open_instance
from knickpoint.model.statement import ChangeCondition, ChangeDirection

EVERYTHING = {"alert_kind": "any", "members": 100, "size": 500}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("stated") / "instance"
    make_stated_changes(made)
    return made


@pytest.fixture(scope="module")
def said(directory: Path) -> Iterator[Surfaces]:
    with open_instance(directory) as instance:
        surfaces = Surfaces(instance)
        assert surfaces.published  # all cases share the published pages: they are part of the world, not of one test
        yield surfaces


@pytest.fixture(scope="module")
def planted(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    """Return an instance whose statements say what nobody can derive from its data."""
    copied = tmp_path_factory.mktemp("planted") / "instance"
    shutil.copytree(directory, copied)
    with open_instance(copied) as instance:
        with instance.store.transaction() as connection:
            for row in connection.execute(text("SELECT change_id, body FROM statement")).all():
                key = row.change_id
                body = json.loads(row.body) | {
                    "headline": f"{key} planted by {key} %",
                    "size": f"{key} % planted",
                    "worse": 700 + key,
                    "better": 800 + key,
                    "undirected": 900 + key,
                    "undone_at": 17 + key,
                    "likely": {"slot": 3 + key, "basis": ("bisected", "only", "suspect")[key % 3], "probability": 0.41},
                    "machine": f"machine {key}",
                    "decision": "hidden",
                    "ticket": f"PLANT-{key}",
                }
                values = {"key": key, "body": json.dumps(body), "condition": ("fixed", "present")[key % 2]}
                change = "UPDATE statement SET body = :body, condition = :condition, direction = 'mixed' WHERE change_id = :key"
                connection.execute(text(change), values)
        yield Surfaces(instance)


@pytest.mark.parametrize("chosen", CASES, ids=lambda chosen: chosen.name)
def test_a_change_is_stated_as_it_was_made(said: Surfaces, chosen: Case) -> None:
    world, expected = World(said.instance), chosen.said
    change = world.change(chosen)
    stated = said.statements[change.id]

    def distance(slot: int) -> int:
        return world.slots.index(slot) - chosen.place

    assert stated.headline == expected.headline
    assert (stated.direction, stated.kind) == (expected.direction, expected.kind)
    assert (stated.worse, stated.better, stated.undirected) == expected.counts
    assert (stated.likely and (stated.likely.basis, distance(stated.likely.slot))) == expected.likely
    assert (stated.condition, stated.certainty) == (expected.condition, expected.certainty)
    assert (None if stated.undone_at < 0 else distance(stated.undone_at)) == expected.undone
    assert (stated.decision, stated.ticket) == (expected.decision, expected.ticket)
    assert (bool(stated.machine), stated.held) == (expected.machine, expected.held)


@pytest.mark.thorough
@pytest.mark.parametrize("chosen", CASES, ids=lambda chosen: chosen.name)
def test_every_surface_says_what_is_stated(said: Surfaces, chosen: Case) -> None:
    assert contradictions(said, World(said.instance).change(chosen).id) == {}


@pytest.mark.long
def test_no_surface_derives_what_a_change_is(planted: Surfaces) -> None:
    found = {key: contradictions(planted, key, texts=key % 4 == 0) for key in planted.statements}
    assert {f"R{key}": other for key, other in found.items() if other} == {}


@pytest.mark.parametrize("surface", [*STRUCTURED, *TEXTS])
def test_each_surface_shows_changes(said: Surfaces, surface: str) -> None:
    assert sum(said.read(surface, key) is not None for key in said.statements) >= 6


@pytest.mark.parametrize("direction", ChangeDirection)
def test_a_list_is_filtered_by_the_direction_of_the_change(said: Surfaces, direction: ChangeDirection) -> None:
    found = said.get("changes", all=True, direction=direction.value, **EVERYTHING)["changes"]
    assert {each["id"] for each in found} == {
        f"R{key}" for key, stated in said.statements.items() if stated.direction is direction and not said.is_gone(key)
    }


@pytest.mark.parametrize("condition", ChangeCondition)
def test_a_list_is_filtered_by_the_condition_of_the_change(said: Surfaces, condition: ChangeCondition) -> None:
    gone = condition is ChangeCondition.GONE
    found = said.get("changes", all=not gone, gone=gone, condition=condition.value, **EVERYTHING)
    expected = {f"R{key}" for key, stated in said.statements.items() if stated.condition is condition}
    assert {each["id"] for each in found["changes"]} == expected
    assert found["total"] == len(expected)


def test_a_mixed_change_is_listed_with_all_its_members(said: Surfaces) -> None:
    change = said.objects[f"R{World(said.instance).change(case('mixed')).id}"]
    assert change["directions"] == {"improvement": 6, "regression": 1}
    assert len(change["members"]) == 7


def test_the_overview_lists_the_largest_that_are_present_and_counts_directions(said: Surfaces) -> None:
    waiting = said.get("changes", members=100, size=500)["changes"]
    directions = Counter(each["statement"]["direction"] for each in waiting)
    assert (said.overview["waiting"], said.overview["waiting_directions"]) == (len(waiting), dict(directions))
    largest = [each["id"] for each in waiting if each["statement"]["condition"] == "present"][:6]
    assert [each["id"] for each in said.overview["largest"]] == largest


def test_regressions_are_changes_that_are_worse_or_mixed(said: Surfaces) -> None:
    found = json.loads(said.knick("regressions", "--format", "json"))
    chosen = said.knick("changes", "--direction", "regression", "--direction", "mixed", "--format", "json")
    assert found == json.loads(chosen) != []
    assert {each["statement"]["direction"] for each in found} == {"regression", "mixed"}
