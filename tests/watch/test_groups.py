from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from knickpoint.watch.changes.groups import Group, Member, assign_ids, group_members


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


def at(number: int, position: int, interval: int, *, trace: int = 0) -> Member:
    return Member(number, position - 1, position, interval=interval, trace=trace)


def test_blurred_points_join_the_place_that_most_hold() -> None:
    members = [at(1, 20, 1), at(2, 20, 2), at(3, 20, 3), at(4, 17, 5), at(5, 23, 4), at(6, 21, 2)]
    assert group_members(members) == [Group((1, 2, 3, 4, 5, 6), 19, 20)]


def test_a_certain_point_anchors_what_is_blurred_around_it() -> None:
    members = [at(1, 20, 0), *(at(number, 22, 4) for number in range(2, 6))]
    assert [group.members for group in group_members(members)] == [(1, 2, 3, 4, 5)]


def test_certain_points_at_neighbouring_commits_stay_two_causes_whatever_is_blurred_around_them() -> None:
    members = [at(1, 20, 0), at(2, 20, 0), at(3, 21, 0), at(4, 21, 0), at(5, 19, 6), at(6, 24, 6)]
    groups = group_members(members)
    assert [(group.previous, group.position) for group in groups] == [(19, 20), (20, 21)]
    assert [set(group.members) >= held for group, held in zip(groups, [{1, 2}, {3, 4}], strict=True)] == [True, True]


def test_one_of_many_joins_them_a_little_outside_of_its_interval_and_two_of_few_do_not() -> None:
    many = [at(number, 20, 2) for number in range(3, 200)]
    assert len(group_members([at(1, 23, 2), *many])) == 1
    assert len(group_members([at(1, 23, 2), at(2, 20, 2)])) == 2


def test_the_interval_counts_commits_that_are_measured() -> None:
    members = [Member(1, 12, 16), Member(2, 12, 16), Member(3, 20, 24, interval=2, before=8, after=8)]
    assert group_members(members) == [Group((1, 2, 3), 12, 16)]


def test_a_wide_suspect_range_does_not_carry_a_point_across_commits_that_were_measured() -> None:
    members = [Member(1, 39, 40, interval=1), Member(2, 51, 67, interval=1, before=1, after=2)]
    assert [group.members for group in group_members(members)] == [(1,), (2,)]


def test_beyond_the_interval_each_commit_counts_as_measured() -> None:
    many = [at(number, 20, 0) for number in range(3, 2000)]
    assert len(group_members([Member(1, 31, 41, interval=1, before=11, after=10), *many])) == 1
    assert len(group_members([Member(1, 31, 41, interval=1, before=9, after=10), *many])) == 2


def test_two_points_of_one_trace_have_two_causes_however_blurred_they_are() -> None:
    assert len(group_members([at(1, 20, 8, trace=1), at(2, 24, 8, trace=1)])) == 2
    assert len(group_members([at(1, 20, 8, trace=1), at(2, 24, 8, trace=2)])) == 1


def test_blurred_points_that_were_set_apart_stay_apart() -> None:
    members = [at(1, 20, 3), at(2, 20, 3), replace(at(3, 21, 3), apart=1)]
    assert [group.members for group in group_members(members)] == [(1, 2), (3,)]


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


blurred = st.builds(
    lambda start, width, interval, trace, apart: (start, start + width, interval, trace, apart),
    *(st.integers(0, 40), st.sampled_from([1, 1, 1, 4]), st.sampled_from([0, 0, 1, 2, 5]), st.integers(0, 6)),
    st.sampled_from([0, 0, 0, 1]),
)


def as_blurred(drawn: list[tuple[int, int, int, int, int]]) -> list[Member]:
    return [
        Member(key, previous, position, apart, interval=interval, trace=trace)
        for key, (previous, position, interval, trace, apart) in enumerate(drawn, 1)
    ]


@given(st.lists(blurred, max_size=20), st.randoms(use_true_random=False))
def test_blurred_groups_do_not_depend_on_the_order_of_the_points(
    drawn: list[tuple[int, int, int, int, int]], random: object
) -> None:
    members = as_blurred(drawn)
    expected = group_members(members)
    random.shuffle(members)  # type: ignore[attr-defined]
    assert group_members(members) == expected


@given(st.lists(blurred, max_size=20))
def test_certain_points_without_a_common_commit_are_never_in_one_group(
    drawn: list[tuple[int, int, int, int, int]],
) -> None:
    members = as_blurred(drawn)
    by_id = {member.id: member for member in members}
    found = [key for group in group_members(members) for key in group.members]
    assert sorted(found) == sorted(by_id)
    for group in group_members(members):
        certain = [by_id[key] for key in group.members if not by_id[key].interval]
        if certain:
            assert max(member.previous for member in certain) < min(member.position for member in certain)


@given(st.lists(blurred, max_size=20))
def test_points_out_of_reach_concern_no_group(drawn: list[tuple[int, int, int, int, int]]) -> None:
    members = as_blurred(drawn)
    far = [
        replace(member, id=member.id + 100, previous=member.previous + 500, position=member.position + 500)
        for member in members
    ]
    moved = [
        Group(tuple(key + 100 for key in group.members), group.previous + 500, group.position + 500)
        for group in group_members(members)
    ]
    assert group_members([*members, *far]) == [*group_members(members), *moved]


@given(st.lists(blurred, min_size=1, max_size=20))
def test_the_range_of_a_group_lies_in_the_suspect_range_of_a_member(
    drawn: list[tuple[int, int, int, int, int]],
) -> None:
    members = as_blurred(drawn)
    by_id = {member.id: member for member in members}
    for group in group_members(members):
        several = [by_id[key] for key in group.members]
        assert any(each.previous <= group.previous < group.position <= each.position for each in several)


def test_a_group_keeps_the_id_most_of_its_members_had() -> None:
    groups = [Group((1, 2, 3), 0, 1), Group((4,), 5, 6)]
    assert assign_ids(groups, {1: 7, 2: 8, 3: 8, 4: 9}) == [8, 9]


def test_when_a_group_falls_apart_the_larger_part_keeps_the_id() -> None:
    groups = [Group((1,), 0, 1), Group((2, 3), 5, 6)]
    assert assign_ids(groups, {1: 7, 2: 7, 3: 7}) == [0, 7]


def test_a_group_of_new_points_has_no_id_yet() -> None:
    assert assign_ids([Group((1, 2), 0, 1)], {1: 0}) == [0]
