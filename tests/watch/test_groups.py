from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knickpoint.watch.regressions.groups import Group, Member, assign_ids, group_members


def test_traces_measured_at_every_commit_group_by_the_commit() -> None:
    members = [Member(1, 9, 10), Member(2, 9, 10), Member(3, 10, 11)]
    assert group_members(members) == [Group((1, 2), 9, 10), Group((3,), 10, 11)]


def test_a_trace_measured_seldom_joins_the_place_inside_its_range() -> None:
    assert group_members([Member(1, 9, 10), Member(2, 5, 15)]) == [Group((1, 2), 9, 10)]


def test_the_range_of_a_group_is_what_all_its_members_share() -> None:
    assert group_members([Member(1, 5, 10), Member(2, 8, 12), Member(3, 2, 11)]) == [Group((1, 2, 3), 8, 10)]


def test_of_several_places_in_its_range_a_trace_joins_the_one_with_most_traces() -> None:
    members = [Member(1, 9, 10), Member(2, 19, 20), Member(3, 19, 20), Member(4, 0, 30)]
    assert group_members(members) == [Group((1,), 9, 10), Group((2, 3, 4), 19, 20)]


def test_members_set_apart_group_only_with_each_other() -> None:
    members = [Member(1, 9, 10), Member(2, 9, 10, apart=1), Member(3, 9, 10, apart=1)]
    assert [group.members for group in group_members(members)] == [(1,), (2, 3)]


def test_merged_places_are_one_group_and_a_newcomer_joins_it() -> None:
    members = [Member(1, 9, 10, together=4), Member(2, 11, 12, together=4), Member(3, 11, 12)]
    assert group_members(members) == [Group((1, 2, 3), 9, 12)]


def test_merges_that_share_a_place_are_one_group() -> None:
    members = [
        Member(1, 0, 1, together=7),
        Member(2, 2, 3, together=7),
        Member(3, 2, 3, together=8),
        Member(4, 8, 9, together=8),
    ]
    assert group_members(members) == [Group((1, 2, 3, 4), 0, 9)]


def test_no_points_make_no_groups() -> None:
    assert group_members([]) == []


ranges = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 1), st.integers(0, 2)), max_size=12)


def as_members(drawn: list[tuple[int, int, int, int]]) -> list[Member]:
    return [
        Member(k, start, start + width, apart, together) for k, (start, width, apart, together) in enumerate(drawn, 1)
    ]


@given(ranges)
def test_every_point_is_in_exactly_one_group(drawn: list[tuple[int, int, int, int]]) -> None:
    members = as_members(drawn)
    found = [member for group in group_members(members) for member in group.members]
    assert sorted(found) == [member.id for member in members]


@given(ranges, st.randoms(use_true_random=False))
def test_groups_do_not_depend_on_the_order_of_the_points(
    drawn: list[tuple[int, int, int, int]], random: object
) -> None:
    members = as_members(drawn)
    expected = group_members(members)
    random.shuffle(members)  # type: ignore[attr-defined]
    assert group_members(members) == expected


@given(ranges)
def test_unmerged_members_share_the_place_of_their_group(drawn: list[tuple[int, int, int, int]]) -> None:
    members = [Member(member.id, member.previous, member.position) for member in as_members(drawn)]
    by_id = {member.id: member for member in members}
    for group in group_members(members):
        assert group.previous < group.position
        assert all(by_id[k].previous <= group.previous < group.position <= by_id[k].position for k in group.members)


def test_a_group_keeps_the_id_most_of_its_members_had() -> None:
    groups = [Group((1, 2, 3), 0, 1), Group((4,), 5, 6)]
    assert assign_ids(groups, {1: 7, 2: 8, 3: 8, 4: 9}) == [8, 9]


def test_when_a_group_falls_apart_the_larger_part_keeps_the_id() -> None:
    groups = [Group((1,), 0, 1), Group((2, 3), 5, 6)]
    assert assign_ids(groups, {1: 7, 2: 7, 3: 7}) == [0, 7]


def test_a_group_of_new_points_has_no_id_yet() -> None:
    assert assign_ids([Group((1, 2), 0, 1)], {1: 0}) == [0]
