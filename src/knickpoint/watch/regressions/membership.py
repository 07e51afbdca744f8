"""Bring the regressions of a repository up to date with its live change points."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from knickpoint.model.commit import Repository
from knickpoint.model.regression import SuspectRange
from knickpoint.store import Store
from knickpoint.store.findings.groups import GroupMember, Membership
from knickpoint.watch.lines import Lines
from knickpoint.watch.regressions.groups import Group, Member, assign_ids, group_members

__all__ = ["Moves", "Regrouped", "regroup", "stretches"]

Range = tuple[int, int]
"""Positions (previous, position] of a line."""

Stretch = tuple[str, Range]
"""The name of a line, and a range of it."""


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Ids of regressions that are new, of those that got other members or another place, and of those that lost all.

    ``former`` has the regression that each change point was in before, where it is in another now.
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
class Moves:
    """The change points that came, moved or went, by id, and where they were before and are now."""

    ids: frozenset[int] = frozenset()
    places: frozenset[SuspectRange] = frozenset()


def stretches(ranges: Iterable[Range]) -> list[Range]:
    """Join ranges that overlap, and return the stretches of the line that they cover, ascending.

    Change points of different stretches have nothing to do with each other: no place lies in the ranges of both.
    """
    found: list[Range] = []
    for previous, position in sorted(ranges):
        if found and previous < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], position))
        else:
            found.append((previous, position))
    return found


def _range(lines: Lines, suspects: SuspectRange) -> Stretch | None:
    """Return where a suspect range lies, None where its commit is not on the line any more."""
    line = lines.line(suspects.line)
    position = line.positions.get(suspects.slot)
    if position is None:
        return None
    return line.name, (min(line.positions.get(suspects.previous, position - 1), position - 1), position)


def _concerned(store: Store, repository: Repository, lines: Lines, moves: Moves) -> Sequence[GroupMember]:
    """Return the live change points whose groups may be others than before, because of ``moves``.

    These are all points of the stretches of the line in which one of the places lies, of every regression that one of
    them was in, and of those that a merge joins with one of them, with the stretches of these in turn.
    """
    spans = [
        (found, occupied.regression_id)
        for occupied in store.findings.groups.occupied_ranges(repository)
        if (found := _range(lines, occupied.suspect_range))
    ]
    ranges: dict[str, list[Range]] = defaultdict(list)
    for (name, span), _ in spans:
        ranges[name].append(span)
    atlas = {name: stretches(own) for name, own in ranges.items()}
    keys_of: dict[Stretch, set[int]] = defaultdict(set)
    stretches_of: dict[int, set[Stretch]] = defaultdict(set)
    for found, key in spans:
        (stretch,) = _touching(atlas, found)
        keys_of[stretch].add(key)
        stretches_of[key].add(stretch)
    waiting = set(stretches_of[0])
    for place in moves.places:
        if at := _range(lines, place):
            waiting |= set(_touching(atlas, at))
    keys = {point.regression_id for point in store.findings.points(moves.ids)} | store.findings.groups.joined_with(
        moves.ids
    )
    waiting |= {stretch for key in keys for stretch in stretches_of[key]}
    taken: set[Stretch] = set()
    while waiting:
        stretch = waiting.pop()
        taken.add(stretch)
        new = keys_of[stretch] - keys
        keys |= new
        waiting |= {other for key in new for other in stretches_of[key]} - taken
    return store.findings.groups.members(repository, regressions=keys | {0})


def _touching(atlas: Mapping[str, Sequence[Range]], found: Stretch) -> list[Stretch]:
    """Return the stretches that a range of the line overlaps."""
    name, (previous, position) = found
    own = atlas.get(name, ())
    begin = bisect_right(own, previous, key=lambda stretch: stretch[1])
    end = bisect_left(own, position, key=lambda stretch: stretch[0])
    return [(name, stretch) for stretch in own[begin:end]]


def _members(points: Iterable[GroupMember], lines: Lines) -> tuple[dict[str, list[Member]], dict[int, int]]:
    """Return change points by line, and the regression that each was in."""
    members: dict[str, list[Member]] = defaultdict(list)
    held: dict[int, int] = {}
    for point in points:
        found = _range(lines, point.suspect_range)
        if found is None:
            continue
        name, (previous, position) = found
        members[name].append(Member(point.id, previous, position, point.apart, point.together))
        held[point.id] = point.regression_id
    return members, held


def regroup(
    store: Store,
    repository: Repository,
    *,
    touched: Collection[int] = (),
    moves: Moves | None = None,
    claims: Mapping[int, int] | None = None,
) -> Regrouped:
    """Group the live change points of ``repository`` and write what differs, in one transaction.

    ``touched`` are change points whose numbers, condition or status changed: their regressions are counted
    and weighed anew. With ``moves``, which are all there were since regressions were last up to date, only what is near
    to them is read, and the outcome is the same, unless commits changed their order in the meantime. ``claims`` has
    change points that belonged to another regression before, by id: they count as its members when ids are given,
    unless others hold that one apart from them.
    """
    lines = Lines(store, repository)
    with store.transaction():
        if moves is None:
            points: Sequence[GroupMember] = store.findings.groups.members(repository)
        else:
            points = _concerned(store, repository, lines, moves)
        members, held = _members(points, lines)
        sizes = Counter(held.values())
        known_places = store.findings.groups.suspect_ranges(repository)
        elsewhere = known_places.keys() - set(held.values())
        changed: list[Membership] = []
        left: set[int] = set()
        taken: set[int] = set()
        for name in sorted(members):
            slots = (-1, *lines.line(name).slots)
            groups = group_members(members[name])
            votes = _votes(groups, held, claims or {}, elsewhere)
            known = {member: key for member, key in votes.items() if key not in taken}
            for group, key in zip(groups, assign_ids(groups, known), strict=True):
                taken.add(key)
                place = SuspectRange(name, slots[group.previous + 1], slots[group.position + 1])
                same = all(held[member] == key for member in group.members) and sizes[key] == len(group.members)
                if key and same and known_places.get(key) == place:
                    continue
                changed.append(Membership(key, place, group.members))
                left |= {held[member] for member in group.members}
        ids = store.findings.groups.write(repository, changed, left=left - {0}) if changed else []
        if touched:
            store.findings.groups.refresh(touched)
        store.boundaries.mark(repository)
    fresh = [key for key, group in zip(ids, changed, strict=True) if not group.id]
    former = {
        member: held[member]
        for key, group in zip(ids, changed, strict=True)
        for member in group.members
        if held[member] not in {0, key}
    }
    return Regrouped(
        tuple(sorted(fresh)),
        tuple(sorted(set(ids) - set(fresh))),
        tuple(sorted(left - set(ids) - {0})),
        former,
    )


def _votes(
    groups: Iterable[Group], held: Mapping[int, int], claims: Mapping[int, int], elsewhere: Collection[int]
) -> dict[int, int]:
    """Return the regression that each member counts for: the one that it claims, else the one that it is in.

    A claim counts unless others, who claim nothing, hold that regression and are in none of the same group: then a
    later decision gave it to them. ``elsewhere`` are regressions of members that are in none of ``groups``.
    """
    holders: dict[int, set[int]] = defaultdict(set)
    for member, key in held.items():
        if member not in claims:
            holders[key].add(member)
    votes: dict[int, int] = {}
    for group in groups:
        for member in group.members:
            key = claims.get(member, 0)
            others = holders.get(key, set())
            free = key not in elsewhere and (not others or not others.isdisjoint(group.members))
            votes[member] = key if key and free else held[member]
    return votes
