"""Bring the regressions of a repository up to date with its live change points."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from knickpoint.model.commit import Repository
from knickpoint.model.regression import Place
from knickpoint.store import Store
from knickpoint.store.findings import Membership
from knickpoint.watch.grouping import Member, assign_ids, group_members
from knickpoint.watch.lines import Lines

__all__ = ["Regrouped", "regroup"]


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Ids of regressions that are new, and of those that got other members or another place."""

    new: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()


def _members(store: Store, repository: Repository, lines: Lines) -> tuple[dict[str, list[Member]], dict[int, int]]:
    """Return the live change points by line, and the regression that each was in."""
    members: dict[str, list[Member]] = defaultdict(list)
    held: dict[int, int] = {}
    for row in store.findings.members(repository):
        line = lines.line(row["line"])
        position = line.positions.get(row["slot"])
        if position is None:
            continue
        previous = line.positions.get(row["previous"], position - 1)
        members[line.name].append(
            Member(row["id"], min(previous, position - 1), position, row["apart"], row["together"])
        )
        held[row["id"]] = row["regression_id"]
    return members, held


def regroup(store: Store, repository: Repository, *, touched: Collection[int] = ()) -> Regrouped:
    """Group the live change points of ``repository`` and write what differs, in one transaction.

    ``touched`` are change points whose numbers, condition or status changed: their regressions are counted
    and weighed anew.
    """
    lines = Lines(store, repository)
    with store.transaction():
        members, held = _members(store, repository, lines)
        sizes = Counter(held.values())
        places = store.findings.places(repository)
        changed: list[Membership] = []
        left: set[int] = set()
        taken: set[int] = set()
        for name in sorted(members):
            slots = (-1, *lines.line(name).slots)
            groups = group_members(members[name])
            known = {member.id: held[member.id] for member in members[name] if held[member.id] not in taken}
            for group, key in zip(groups, assign_ids(groups, known), strict=True):
                taken.add(key)
                place = Place(name, slots[group.previous + 1], slots[group.position + 1])
                same = all(held[member] == key for member in group.members) and sizes[key] == len(group.members)
                if key and same and places.get(key) == place:
                    continue
                changed.append(Membership(key, place, group.members))
                left |= {held[member] for member in group.members}
        ids = store.findings.set_groups(repository, changed, left=left - {0}) if changed else []
        if touched:
            store.findings.refresh(touched)
    fresh = [key for key, group in zip(ids, changed, strict=True) if not group.id]
    return Regrouped(tuple(sorted(fresh)), tuple(sorted(set(ids) - set(fresh))))
