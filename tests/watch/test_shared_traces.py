"""Earlier changes of the traces of a change."""

from __future__ import annotations

from knickpoint.answers.change_pages import read_change_page
from knickpoint.answers.visible_repositories import VisibleRepositories

from .conftest import QUICK, World, levels


def test_earlier_changes_are_those_that_share_traces_the_ones_with_most_first(world: World) -> None:
    world.measure(
        {
            "parse": levels((10, 20.0), (10, 25.0), (10, 20.0), (10, 26.0)),
            "print": levels((10, 8.0), (10, 8.0), (10, 6.0), (10, 8.0)),
            "read": levels((20, 5.0), (20, 3.0)),
        }
    )
    world.run(QUICK)
    latest = max(world.points("parse"), key=lambda point: point.suspect_range.slot).change_id
    found = read_change_page(VisibleRepositories.to_local_user(world.store), latest)
    positions = [each.commit.position for each in found.earlier]
    assert positions == [20, 10]
    assert [each.suspect_range.position for each in found.earlier] == positions
    assert read_change_page(VisibleRepositories.to_local_user(world.store), found.earlier[-1].id).earlier == []
