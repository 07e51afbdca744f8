/** The rows of the triage table: what is shown, where the keyboard is, what a decision is about. */

import type { Group, Member } from "../../api/client";
import { isPicked, NOTHING, oneMember, pickedOf, wholeGroup, withGroup, withMember, type Selection } from "./selection";

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
export function findingsOf(row: Row): Selection {
  return row.kind === "group" ? wholeGroup(row.group) : oneMember(row.group, row.member.id);
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
export function nextAfter(rows: readonly Row[], at: string, gone: Selection): string {
  const stays = (row: Row): boolean =>
    row.kind === "group" ? pickedOf(row.group, gone) < row.group.traces : !isPicked(row.group, row.member.id, gone);
  const from = cursorOf(rows, at);
  const after = rows.slice(from).find(stays);
  return (after ?? rows.slice(0, Math.max(from, 0)).findLast(stays))?.id ?? "";
}

export type Ticked = "all" | "some" | "none";

/** Whether all, some or none of the findings of a row are selected. */
export function tickedOf(row: Row, selected: Selection): Ticked {
  if (row.kind === "member") return isPicked(row.group, row.member.id, selected) ? "all" : "none";
  const ticked = pickedOf(row.group, selected);
  return ticked === 0 ? "none" : ticked === row.group.traces ? "all" : "some";
}

/** Select the findings of some rows, or take them out when all of them are selected already. */
export function toggle(selected: Selection, rows: readonly Row[], to?: boolean): Selection {
  const on = to ?? rows.some((row) => tickedOf(row, selected) !== "all");
  return rows.reduce(
    (next, row) =>
      row.kind === "group" ? withGroup(next, row.group, on) : withMember(next, row.group, row.member.id, on),
    selected,
  );
}

/** What a key press decides about: the selection, else the current row. */
export function aimOf(rows: readonly Row[], at: string, selected: Selection): Selection {
  if (selected.size > 0) return selected;
  const row = rows[cursorOf(rows, at)];
  return row ? findingsOf(row) : NOTHING;
}

/** Where the keyboard should be now that the row it was on may have left: that row, else the next one of `before` that is still there, else the one before. */
export function heirOf(rows: readonly Row[], at: string, before: readonly string[]): string {
  const there = new Set(rows.map((row) => row.id));
  const from = before.indexOf(at);
  if (there.has(at) || from < 0) return at;
  const still = (id: string): boolean => there.has(id);
  return before.slice(from).find(still) ?? before.slice(0, from).findLast(still) ?? "";
}
