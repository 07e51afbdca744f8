"""Bring the changes of a repository up to date with its live change points.

:mod:`knickpoint.watch.changes.groups` says which change points belong together. This module reads them, gives each
group the id of the change that most of its members were in, and writes what differs. After a few points moved, only
what is near to them is read: change points that cannot reach one place, directly or over others, never meet in a group.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from knickpoint.model.change_point import ChangePoint, LineInterval, SuspectRange, UncertainRange
from knickpoint.model.commit import Line, Repository
from knickpoint.store import Store
from knickpoint.store.bisections import StoredBisection
from knickpoint.store.findings.groups import GroupMember, Membership
from knickpoint.watch.changes.groups import Group, Member, assign_ids, group_members, reach_of
from knickpoint.watch.lines import Lines

# What a bisection found counts for the suspect range of a change, as long as it is about the change of its traces.


def bisected_range(
    suspect_range: SuspectRange, bisection: StoredBisection | None, line: Line, members: Collection[Member]
) -> SuspectRange:
    """Return the range that ``bisection`` found in place of ``suspect_range``, which the traces of ``members`` share.

    It counts while the two are on one line, the trace that was searched is one of them, and most of them may have
    changed in what was found.
    """
    found = bisection.answer.suspect_range if bisection is not None else None
    if bisection is None or found is None or found.line != suspect_range.line:
        return suspect_range
    interval, searched = found.on(line), bisection.request.trace_id
    if (
        interval is None
        or line.positions.get(found.previous) != interval.previous
        or (searched and searched not in {member.trace for member in members})
    ):
        return suspect_range
    possible = sum(interval.overlaps(member.reach) for member in members)
    return found if 2 * possible > len(members) else suspect_range


Stretch = tuple[str, LineInterval]
"""The name of a line, and a part of it."""


@dataclass(frozen=True, slots=True)
class RegroupedChanges:
    """Ids of changes that are new, of those that got other members or another range, and of those that lost all.

    ``former`` has the change that each change point was in before, where it is in another now.
    """

    new: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    emptied: tuple[int, ...] = ()
    former: Mapping[int, int] = field(default_factory=dict)

    @property
    def ids(self) -> frozenset[int]:
        """All of them."""
        return frozenset((*self.new, *self.changed, *self.emptied))


@dataclass(frozen=True, slots=True)
class MovedPoints:
    """The change points that came, moved or went, by id, and their ranges before and now."""

    ids: frozenset[int] = frozenset()
    ranges: frozenset[UncertainRange] = frozenset()

    @classmethod
    def of(cls, points: Collection[ChangePoint]) -> MovedPoints:
        """Return ``points`` where they are now."""
        return cls(frozenset(point.id for point in points), frozenset(map(UncertainRange.of, points)))

    def __or__(self, other: MovedPoints) -> MovedPoints:
        """Return the points of both."""
        return MovedPoints(self.ids | other.ids, self.ranges | other.ranges)


def regroup(
    store: Store,
    repository: Repository,
    *,
    touched: Collection[int] = (),
    moved: MovedPoints | None = None,
    claims: Mapping[int, int] | None = None,
) -> RegroupedChanges:
    """Group the live change points of ``repository`` and write what differs, in one transaction.

    ``touched`` are change points whose numbers, condition or status changed: their changes are counted
    and weighed anew. With ``moved``, which are all points that moved since changes were last up to date, only what
    is near to them is read; the result is the same, unless commits changed their order in the meantime. ``claims`` has
    change points that belonged to another change before, by id: they count as its members when ids are given,
    unless other points hold that change in a group apart from them.
    """
    lines = Lines(store, repository)
    with store.transaction():
        # Read the points whose groups may change, and the change that each is in.
        points = store.findings.groups.members(repository) if moved is None else _near(store, lines, moved)
        members, former = _members(points, lines)

        # Group them anew; groups that are as they were need no writing.
        groups = _changed_groups(store, lines, members, former, claims or {})

        # Write the others, and count what was touched.
        left = {former[member] for group in groups for member in group.joining} - {0}
        ids = store.findings.groups.write(repository, groups, left=left) if groups else []
        if touched:
            store.findings.groups.refresh(touched)
        store.boundaries.mark(repository)
    new = {key for key, group in zip(ids, groups, strict=True) if not group.id}
    return RegroupedChanges(
        new=tuple(sorted(new)),
        changed=tuple(sorted(set(ids) - new)),
        emptied=tuple(sorted(left - set(ids))),
        former={
            member: former[member]
            for key, group in zip(ids, groups, strict=True)
            for member in group.joining
            if former[member]
        },
    )


def stretches(intervals: Iterable[LineInterval]) -> list[LineInterval]:
    """Join intervals that overlap, and return the stretches of the line that they cover, ascending.

    Change points of different stretches never meet in a group: no commit is in reach of both.
    """
    found: list[LineInterval] = []
    for each in sorted(intervals):
        if found and found[-1].overlaps(each):
            found[-1] = LineInterval(found[-1].previous, max(found[-1].position, each.position))
        else:
            found.append(each)
    return found


def _reach_on_line(lines: Lines, within: UncertainRange) -> Stretch | None:
    """Return the part of a line in which a change point may meet others, None where it is no longer on the line."""
    line = lines.line(within.suspect_range.line)
    interval = within.suspect_range.on(line)
    return None if interval is None else (line.name, reach_of(interval, within.interval, within.before, within.after))


def _near(store: Store, lines: Lines, moved: MovedPoints) -> list[GroupMember]:
    """Return the live change points whose groups may differ, because of ``moved``.

    These are all points of the stretches of the line in which a point moved, of every change that one of them was
    in, and of those that a merge joins with one of them, with the stretches of these in turn.
    """
    # Cut the lines into stretches, and note which changes lie in which.
    reaches = [
        (found, key)
        for within, key in store.findings.groups.ranges_of_changes(lines.repository)
        if (found := _reach_on_line(lines, within))
    ]
    on_line: dict[str, list[LineInterval]] = defaultdict(list)
    for (name, interval), _ in reaches:
        on_line[name].append(interval)
    atlas = {name: stretches(several) for name, several in on_line.items()}
    changes_of: dict[Stretch, set[int]] = defaultdict(set)
    stretches_of: dict[int, set[Stretch]] = defaultdict(set)
    for reach, key in reaches:
        (stretch,) = _touching(atlas, reach)
        changes_of[stretch].add(key)
        stretches_of[key].add(stretch)

    # Begin where points moved, where points are in no change yet (0), and in the changes that lost points.
    waiting = set(stretches_of[0])
    for within in moved.ranges:
        if at := _reach_on_line(lines, within):
            waiting |= set(_touching(atlas, at))
    keys = {point.change_id for point in store.findings.points(moved.ids)} | store.findings.groups.joined_with(
        moved.ids
    )
    waiting |= {stretch for key in keys for stretch in stretches_of[key]}

    # Follow changes to their other stretches, and these to their other changes.
    reached: set[Stretch] = set()
    while waiting:
        stretch = waiting.pop()
        reached.add(stretch)
        new = changes_of[stretch] - keys
        keys |= new
        waiting |= {other for key in new for other in stretches_of[key]} - reached
    return store.findings.groups.members(lines.repository, changes=keys | {0})


def _touching(atlas: Mapping[str, Sequence[LineInterval]], part: Stretch) -> list[Stretch]:
    """Return the stretches that a part of a line overlaps."""
    name, interval = part
    on_line = atlas.get(name, ())
    begin = bisect_right(on_line, interval.previous, key=lambda stretch: stretch.position)
    end = bisect_left(on_line, interval.position, key=lambda stretch: stretch.previous)
    return [(name, stretch) for stretch in on_line[begin:end]]


def _members(points: Iterable[GroupMember], lines: Lines) -> tuple[dict[str, list[Member]], dict[int, int]]:
    """Return change points by line, and the change that each was in, 0 for none."""
    members: dict[str, list[Member]] = defaultdict(list)
    former: dict[int, int] = {}
    for point in points:
        line = lines.line(point.suspect_range.line)
        interval = point.suspect_range.on(line)
        if interval is None:
            continue
        where = (point.interval, point.trace_id, point.before, point.after)
        members[line.name].append(
            Member(point.id, interval.previous, interval.position, point.apart, point.together, *where)
        )
        former[point.id] = point.change_id
    return members, former


def _changed_groups(
    store: Store,
    lines: Lines,
    members: Mapping[str, Sequence[Member]],
    former: Mapping[int, int],
    claims: Mapping[int, int],
) -> list[Membership]:
    """Return the groups that are not stored as they are, by line, each with the id that it keeps, 0 for a new one."""
    sizes = Counter(former.values())
    stored = store.findings.groups.suspect_ranges(lines.repository)
    bisected = store.bisections.found(lines.repository)
    elsewhere = stored.keys() - set(former.values())
    changed: list[Membership] = []
    taken: set[int] = set()
    by_id = {member.id: member for several in members.values() for member in several}
    for name in sorted(members):
        slots = (-1, *lines.line(name).slots)
        groups = group_members(members[name])
        votes = _votes(groups, former, claims, elsewhere)
        known = {member: key for member, key in votes.items() if key not in taken}
        for group, key in zip(groups, assign_ids(groups, known), strict=True):
            taken.add(key)
            shared = SuspectRange(name, slots[group.previous + 1], slots[group.position + 1])
            own = [by_id[member] for member in group.members]
            suspect_range = bisected_range(shared, bisected.get(key), lines.line(name), own)
            joining = tuple(member for member in group.members if not key or former[member] != key)
            same = not joining and sizes[key] == len(group.members)
            if not (same and stored.get(key) == suspect_range):
                changed.append(Membership(key, suspect_range, joining))
    return changed


def _votes(
    groups: Iterable[Group], former: Mapping[int, int], claims: Mapping[int, int], elsewhere: Collection[int]
) -> dict[int, int]:
    """Return the change that each member counts for: the one that it claims, else the one that it was in.

    A claim counts unless other points, which claim nothing, hold that change and are in no group with the member:
    then a later decision gave it to them. ``elsewhere`` are changes of members that are in none of ``groups``.
    """
    held = {key for member, key in former.items() if member not in claims}
    votes: dict[int, int] = {}
    for group in groups:
        held_here = {former[member] for member in group.members if member not in claims}
        for member in group.members:
            key = claims.get(member, 0)
            free = key not in elsewhere and (key not in held or key in held_here)
            votes[member] = key if key and free else former[member]
    return votes
