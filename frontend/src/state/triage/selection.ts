/** What is selected: some members of a group, or the whole group but some, so that members that are not loaded can be selected. */

import type { Group, ListFilter, Targets } from "../../api/client";

export interface Picked {
  /** Whether the whole group is meant, and `members` are left out of it. */
  readonly whole: boolean;
  readonly members: ReadonlySet<number>;
}

/** By id of the group. */
export type Selection = ReadonlyMap<number, Picked>;

export const NOTHING: Selection = new Map();

export function wholeGroup(group: Group): Selection {
  return new Map([[group.id, { whole: true, members: new Set<number>() }]]);
}

export function oneMember(group: Group, member: number): Selection {
  return new Map([[group.id, { whole: false, members: new Set([member]) }]]);
}

/** How many members of a group are selected. */
export function pickedOf(group: Group, selection: Selection): number {
  const picked = selection.get(group.id);
  if (!picked) return 0;
  return picked.whole ? Math.max(group.traces - picked.members.size, 0) : picked.members.size;
}

export function countOf(groups: readonly Group[], selection: Selection): number {
  return groups.reduce((sum, group) => sum + pickedOf(group, selection), 0);
}

export function isPicked(group: Group, member: number, selection: Selection): boolean {
  const picked = selection.get(group.id);
  return picked !== undefined && picked.whole !== picked.members.has(member);
}

/** The selection with a whole group added, or taken out. */
export function withGroup(selection: Selection, group: Group, on: boolean): Selection {
  const next = new Map(selection);
  if (on) next.set(group.id, { whole: true, members: new Set() });
  else next.delete(group.id);
  return next;
}

/** The selection with one member added, or taken out. */
export function withMember(selection: Selection, group: Group, member: number, on: boolean): Selection {
  const before = selection.get(group.id) ?? { whole: false, members: new Set<number>() };
  const members = new Set(before.members);
  if (on === before.whole) members.delete(member);
  else members.add(member);
  const picked = { whole: before.whole, members };
  const number = pickedOf(group, new Map([[group.id, picked]]));
  if (number === 0 || number === group.traces) return withGroup(selection, group, number > 0);
  return new Map([...selection, [group.id, picked]]);
}

/** What stays selected once the findings `gone` have left. */
export function withoutSelection(selection: Selection, gone: Selection): Selection {
  const next = new Map(selection);
  for (const [id, { whole, members }] of gone) {
    const before = selection.get(id);
    const left = before && !before.whole && !whole ? [...before.members].filter((member) => !members.has(member)) : [];
    if (left.length > 0) next.set(id, { whole: false, members: new Set(left) });
    else next.delete(id);
  }
  return next;
}

/** The groups that a selection touches: whole ones, and those of which it has a part. */
export function groupsOf(groups: readonly Group[], selection: Selection): { whole: Group[]; parts: Group[] } {
  const touched = groups.filter((group) => pickedOf(group, selection) > 0);
  const whole = touched.filter((group) => pickedOf(group, selection) === group.traces);
  return { whole, parts: touched.filter((group) => !whole.includes(group)) };
}

/** What of a selection lies in some groups. */
export function within(selection: Selection, groups: readonly Group[]): Selection {
  const there = new Set(groups.map((group) => group.id));
  return new Map([...selection].filter(([id]) => there.has(id)));
}

/** A selection as the server takes it. */
export function targetsOf(selection: Selection, filter: ListFilter): Targets {
  const all = [...selection];
  const members = (whole: boolean): number[] =>
    all.filter(([, picked]) => picked.whole === whole).flatMap(([, picked]) => [...picked.members]);
  return {
    ids: members(false),
    regressions: all.filter(([, picked]) => picked.whole).map(([id]) => id),
    without: members(true),
    filter,
  };
}
