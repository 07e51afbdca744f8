/** The rows of the triage table: what is shown, where the keyboard is, what a decision is about. */

import type { Group, Member } from "../api/client";

export interface GroupRow {
  kind: "group";
  id: string;
  group: Group;
  opened: boolean;
}

export interface MemberRow {
  kind: "member";
  id: string;
  group: Group;
  member: Member;
}

export type Row = GroupRow | MemberRow;

/** The name of the row of a group; rows of members are called by their number. */
export function groupRow(group: Group): string {
  return `c${group.id}`;
}

/** Lay the groups out as rows; the members of an opened group follow it. */
export function layRows(groups: readonly Group[], open: readonly string[]): Row[] {
  const rows: Row[] = [];
  for (const group of groups) {
    const id = groupRow(group);
    const opened = open.includes(id);
    rows.push({ kind: "group", id, group, opened });
    if (!opened) continue;
    for (const member of group.members) rows.push({ kind: "member", id: String(member.id), group, member });
  }
  return rows;
}

/** The findings that a row stands for. */
export function findingsOf(row: Row): number[] {
  return row.kind === "group" ? row.group.ids : [row.member.id];
}

/** Where the keyboard is; the first row when its row has gone. */
export function cursorOf(rows: readonly Row[], at: string): number {
  if (rows.length === 0) return -1;
  const found = rows.findIndex((row) => row.id === at);
  return Math.max(found, 0);
}

/** The row `by` steps away, without leaving the table. */
export function move(rows: readonly Row[], at: string, by: number): string {
  const from = rows.findIndex((row) => row.id === at);
  const to = from < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(from + by, 0), rows.length - 1);
  return rows[to]?.id ?? "";
}

/** The row that should be current once the findings `gone` have left: the next one that stays, else the one before. */
export function nextAfter(rows: readonly Row[], at: string, gone: ReadonlySet<number>): string {
  const stays = (row: Row): boolean => findingsOf(row).some((id) => !gone.has(id));
  const from = cursorOf(rows, at);
  const after = rows.slice(from).find(stays);
  return (after ?? rows.slice(0, Math.max(from, 0)).findLast(stays))?.id ?? "";
}

export type Ticked = "all" | "some" | "none";

/** Whether all, some or none of the findings of a row are selected. */
export function tickedOf(row: Row, selected: ReadonlySet<number>): Ticked {
  const ids = findingsOf(row);
  const ticked = ids.filter((id) => selected.has(id)).length;
  return ticked === 0 ? "none" : ticked === ids.length ? "all" : "some";
}

/** Select the findings of some rows, or take them out when all of them are selected already. */
export function toggle(selected: ReadonlySet<number>, rows: readonly Row[], to?: boolean): Set<number> {
  const next = new Set(selected);
  const add = to ?? rows.some((row) => tickedOf(row, selected) !== "all");
  for (const id of rows.flatMap(findingsOf)) {
    if (add) next.add(id);
    else next.delete(id);
  }
  return next;
}

/** The groups that a selection touches: whole ones, and those of which it has a part. */
export function groupsOf(groups: readonly Group[], ids: readonly number[]): { whole: Group[]; parts: Group[] } {
  const wanted = new Set(ids);
  const touched = groups.filter((group) => group.ids.some((id) => wanted.has(id)));
  const whole = touched.filter((group) => group.ids.every((id) => wanted.has(id)));
  return { whole, parts: touched.filter((group) => !whole.includes(group)) };
}

/** What a key press decides about: the selection, else the current row. */
export function aimOf(rows: readonly Row[], at: string, selected: ReadonlySet<number>): number[] {
  if (selected.size > 0) return [...selected];
  const row = rows[cursorOf(rows, at)];
  return row ? findingsOf(row) : [];
}

/** Where the keyboard should be now that the row it was on may have left: that row, else the next one of `before` that is still there, else the one before. */
export function heirOf(rows: readonly Row[], at: string, before: readonly string[]): string {
  const there = new Set(rows.map((row) => row.id));
  const from = before.indexOf(at);
  if (there.has(at) || from < 0) return at;
  const still = (id: string): boolean => there.has(id);
  return before.slice(from).find(still) ?? before.slice(0, from).findLast(still) ?? "";
}

/** The groups, each as the object that it was before where nothing about it has changed, so that its rows need not be drawn again. */
export function sameAsBefore(groups: readonly Group[], before: readonly Group[]): Group[] {
  const known = new Map(before.map((group) => [group.id, group]));
  return groups.map((group) => {
    const old = known.get(group.id);
    return old && JSON.stringify(old) === JSON.stringify(group) ? old : group;
  });
}

/** The groups without some findings, and without the groups that have no others. */
export function withoutFindings(groups: readonly Group[], left: ReadonlySet<number>): Group[] {
  return groups.flatMap((group) => {
    if (!group.ids.some((id) => left.has(id))) return [group];
    const ids = group.ids.filter((id) => !left.has(id));
    if (ids.length === 0) return [];
    const members = group.members.filter((member) => !left.has(member.id));
    return [{ ...group, ids, members, traces: ids.length, lead: ids.includes(group.lead) ? group.lead : (ids[0] ?? group.lead) }];
  });
}
